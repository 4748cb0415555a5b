import { algorithms } from '../../algorithms/index.js';
import { type Script, toScript } from './scripts.js';

/**
 * The one script that decides any number of attempts, all or nothing, assembled from the Lua twins of the algorithms.
 *
 * It has no `#!lua` line: with one, a server whose memory is full would refuse denials too, which only read. The
 * algorithms stand inline in an if-chain, because functions and dispatch tables would be built anew at each call.
 *
 * What an algorithm finds: `key`, `now`, `margin` (to be added to every expiry), `cost`, `at` (where cost is below 0:
 * when it was taken), and `a`, the index in ARGV of its first parameter, which it moves behind its last. What it leaves:
 * `allowed`; its reading in `reply`, with `n` moved to the last integer; `ttl`, how long the state can matter from now;
 * and, if something is to be written, either `keep`, the new value of a string, or `commit`, a function that writes.
 */
export function assembleScript(): Script {
  const idsByLua = new Map<string, string[]>();
  for (const { lua, id } of Object.values(algorithms)) idsByLua.set(lua, [...(idsByLua.get(lua) ?? []), id]);
  const branches = [...idsByLua].map(([lua, ids]) => {
    return `if ${ids.map((id) => `algorithm == '${id}'`).join(' or ')} then\n${lua}`;
  });
  return toScript(FRAME.replace('--ALGORITHMS--', () => `${branches.join('\nelse')}\nend`));
}

const FRAME = `-- nestjs-valkey-rate-limit: decides attempts, all or nothing.
-- KEYS[i]   where the state of attempt i is kept
-- ARGV[1]   the time in ms, or '' for the server's own
-- ARGV[2..] for each attempt: the algorithm's id; the cost; if it is below 0, when it was taken, or '' for now; then the
--           algorithm's parameters
-- reply     the time in ms; then the algorithms' readings, the first integer of a denied attempt as -1 - integer
local now = ARGV[1]
local margin = 0
if now == '' then
  local t = redis.call('TIME')
  now = t[1] * 1000 + (t[2] - t[2] % 1000) / 1000
else
  now = now + 0
  margin = 3600000 -- keys expire by the server's clock, which is not the one that was handed in: let them outlive it
end

local reply, refused, keeps, commits, ttls = { now }, {}, {}, {}, {}
local a, n = 2, 1
local denied = false
for i = 1, #KEYS do
  local key, algorithm, cost = KEYS[i], ARGV[a], ARGV[a + 1] + 0
  a = a + 2
  local at = now
  if cost < 0 then
    at = ARGV[a] == '' and now or ARGV[a] + 0
    a = a + 1
  end
  local first = n + 1
  local allowed, keep, commit
  local ttl = 0
  --ALGORITHMS--
  if not allowed then
    denied = true
    refused[i] = true
    reply[first] = -1 - reply[first]
  end
  keeps[i] = keep
  commits[i] = commit
  ttls[i] = ttl
end

for i = 1, #KEYS do
  if not denied then
    if commits[i] then
      commits[i]()
    elseif keeps[i] then
      if ttls[i] > 0 then
        redis.call('SET', KEYS[i], keeps[i], 'PX', ttls[i] + margin)
      else
        redis.call('DEL', KEYS[i])
      end
    end
  elseif refused[i] then
    -- Nothing is taken, but a state that would make the promised wait untrue is mended. If it can't be (no memory, a
    -- replica), the denial stands.
    if commits[i] then
      pcall(commits[i])
    elseif keeps[i] then
      redis.pcall('SET', KEYS[i], keeps[i], 'PX', ttls[i] + margin)
    elseif ttls[i] > 0 and redis.call('PTTL', KEYS[i]) < ttls[i] then
      redis.pcall('PEXPIRE', KEYS[i], ttls[i] + margin)
    end
  end
end
return reply
`;
