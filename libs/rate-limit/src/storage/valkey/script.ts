import { algorithms } from '../../algorithms/index.js';
import penalty from '../../algorithms/penalty/penalty.lua.js';
import { type Script, toScript } from './scripts.js';

/**
 * The scripts, assembled from the Lua twins of the algorithms: one for each algorithm, which decides one attempt with
 * nothing around it, and one that decides any number of requests with any number of attempts each.
 *
 * They have no `#!lua` line: with one, a server whose memory is full would refuse denials too, which only read. The
 * algorithms stand inline in an if-chain, because functions and dispatch tables would be built anew at each call.
 *
 * What an algorithm finds: `key`, `now`, `margin` (to be added to every expiry), `cost`, `at` (where cost is below 0:
 * when it was taken), and `a`, the index in ARGV of its first parameter, which it moves behind its last. What it leaves:
 * `allowed`; its reading in `reply`, with `n` moved to the last integer; `ttl`, how long the state can matter from now;
 * and, if something is to be written, either `keep`, the new value of a string, or `commit`, a function that writes.
 */
export interface DecidingScripts {
  /** By the algorithm's id. */
  readonly one: ReadonlyMap<string, Script>;
  readonly many: Script;
}

export function assembleScripts(): DecidingScripts {
  const all = Object.values(algorithms);
  const one = new Map(all.map(({ id, lua }) => [id, toScript(fill(ONE, lua))]));
  const idsByLua = new Map<string, string[]>();
  for (const { lua, id } of all) idsByLua.set(lua, [...(idsByLua.get(lua) ?? []), id]);
  const branches = [...idsByLua].map(([lua, ids]) => {
    return `if ${ids.map((id) => `algorithm == '${id}'`).join(' or ')} then\n${lua}`;
  });
  const many = fill(MANY, `${branches.join('\nelse')}\nend`).replace('--PENALTY--', () => penalty);
  return { one, many: toScript(many) };
}

/** What stands in front of an attempt's algorithm where the script has to know more of it. */
export const MARKS = { shadow: '~', penalty: '!' } as const;

function fill(frame: string, lua: string): string {
  return frame.replace('--NOW--', () => NOW).replace('--ALGORITHM--', () => lua);
}

const NOW = `local now = ARGV[1]
local margin = 0
if now == '' then
  local t = redis.call('TIME')
  now = t[1] * 1000 + (t[2] - t[2] % 1000) / 1000
else
  now = now + 0
  margin = 3600000 -- keys expire by the server's clock, which is not the one that was handed in: let them outlive it
end`;

const ONE = `-- nestjs-valkey-rate-limit: decides one attempt.
-- KEYS[1]   where its state is kept
-- ARGV[1]   the time in ms, or '' for the server's own
-- ARGV[2..] the cost; if it is below 0, when it was taken, or '' for now; then the algorithm's parameters
-- reply     the time in ms; then the algorithm's reading, the first integer of a denied attempt as -1 - integer
--NOW--
local key, cost, at, a = KEYS[1], ARGV[2] + 0, now, 3
if cost < 0 then
  if ARGV[3] ~= '' then
    at = ARGV[3] + 0
  end
  a = 4
end
local reply, n, ttl = { now }, 1, 0
local allowed, keep, commit
--ALGORITHM--
if allowed then
  if commit then
    commit()
  elseif keep then
    if ttl > 0 then
      redis.call('SET', key, keep, 'PX', ttl + margin)
    else
      redis.call('DEL', key)
    end
  end
else
  reply[2] = -1 - reply[2]
  -- Nothing is taken, but a state that would make the promised wait untrue is mended. If it can't be (no memory, a
  -- replica), the denial stands.
  if commit then
    pcall(commit)
  elseif keep then
    redis.pcall('SET', key, keep, 'PX', ttl + margin)
  elseif ttl > 0 and redis.call('PTTL', key) < ttl then
    redis.pcall('PEXPIRE', key, ttl + margin)
  end
end
return reply
`;

const MANY = `-- nestjs-valkey-rate-limit: decides requests one after the other, the attempts of each all or nothing.
-- KEYS[i]   where the state of each attempt is kept; behind it, of one with a penalty, where that is
-- ARGV[1]   the time in ms, or '' for the server's own
-- ARGV[2..] for each request: how many keys it has; how many arguments its attempts have together; and for each attempt:
--           '~' if it is in shadow, and denies none of the others; '!' and four numbers if it has a penalty; the
--           algorithm's id; the cost; if it is below 0, when it was taken, or '' for now; then the algorithm's parameters
-- reply     the time in ms; then the algorithms' readings, the first integer of a denied attempt as -1 - integer. In the
--           place of the readings of a request that could not be decided: why, as a text
--NOW--
local a, k = 2, 1
local reply, n = { now }, 1

local function decide(from, last)
  local refused, keeps, commits, ttls = {}, {}, {}, {}
  local denied, standings, standing_ttls = false
  local i = from
  while i <= last do
    local key, algorithm = KEYS[i], ARGV[a]
    local shadow, p = false, nil
    if algorithm == '~' then
      shadow, a = true, a + 1
      algorithm = ARGV[a]
    end
    if algorithm == '!' then
      p, a = a + 1, a + 5
      algorithm = ARGV[a]
    end
    local asked = ARGV[a + 1] + 0
    local cost = asked
    a = a + 2
    local at = now
    if cost < 0 then
      if ARGV[a] ~= '' then
        at = ARGV[a] + 0
      end
      a = a + 1
    end
    local first = n + 1
    local allowed, keep, commit
    local ttl = 0
    --ALGORITHM--
    if p then
      --PENALTY--
    end
    if not allowed then
      denied = denied or not shadow
      refused[i] = true
      reply[first] = -1 - reply[first]
    end
    keeps[i] = keep
    commits[i] = commit
    ttls[i] = ttl
    i = i + (p and 2 or 1)
  end

  for i = from, last do
    if refused[i] then
      -- As in the script for one attempt.
      if commits[i] then
        pcall(commits[i])
      elseif keeps[i] then
        redis.pcall('SET', KEYS[i], keeps[i], 'PX', ttls[i] + margin)
      elseif ttls[i] > 0 and redis.call('PTTL', KEYS[i]) < ttls[i] then
        redis.pcall('PEXPIRE', KEYS[i], ttls[i] + margin)
      end
    elseif not denied then
      if commits[i] then
        commits[i]()
      elseif keeps[i] then
        if ttls[i] > 0 then
          redis.call('SET', KEYS[i], keeps[i], 'PX', ttls[i] + margin)
        else
          redis.call('DEL', KEYS[i])
        end
      end
    end
    if standings and standings[i] and (refused[i] or not denied) then
      if standing_ttls[i] > 0 then
        redis.pcall('SET', KEYS[i + 1], standings[i], 'PX', standing_ttls[i] + margin)
      else
        redis.pcall('DEL', KEYS[i + 1])
      end
    end
  end
end

while k <= #KEYS do
  local last, behind, before = k + ARGV[a] - 1, a + 2 + ARGV[a + 1], n
  a = a + 2
  local ok, problem = pcall(decide, k, last)
  if not ok then
    for i = before + 2, #reply do
      reply[i] = nil
    end
    n = before + 1
    reply[n] = type(problem) == 'table' and problem.err or tostring(problem)
    a = behind
  end
  k = last + 1
end
return reply
`;
