// Generated from the .lua file beside it by "npm run lua".
export default `-- sliding-log: never more than \`limit\` in any \`window\`. The twin of step in sliding-log.ts.
--
-- ARGV[a]      limit
-- ARGV[a + 1]  window in ms
-- value        a list: minus a time in ms; then, for each unit, how many ms after it the unit was taken, the oldest
--              first (short numbers, which take half the bytes of times, and are never below 0)
-- reading      units in the window, ms until the one leaves after which more remains, ms until the last leaves, ms until
--              a denied cost fits in

local limit, window = ARGV[a] + 0, ARGV[a + 1] + 0
a = a + 2

local horizon = now - window -- what was taken then or before has left the window
local size = redis.call('LLEN', key) - 1
local base = size > 0 and -redis.call('LINDEX', key, 0) or now
local function taken_at(index) -- from 1
  return base + redis.call('LINDEX', key, index)
end
local newest = size > 0 and taken_at(size) or horizon
local foreign = newest > now

-- The first that is still in the window: in steps that double, because mostly few have left, and then by halves.
local first, beyond, stride = 1, size + 1, 1
if newest <= horizon then
  first = beyond
end
while first + stride <= beyond do
  if taken_at(first + stride - 1) > horizon then
    beyond = first + stride - 1
    break
  end
  first = first + stride
  stride = stride * 2
end
while first < beyond do
  local middle = (first + beyond - (first + beyond) % 2) / 2
  if taken_at(middle) > horizon then
    beyond = middle
  else
    first = middle + 1
  end
end
local live = size > 0 and size + 1 - first or 0

local next_leaves, last_leaves, fits = 0, 0, 0
if live > 0 then
  ttl = math.min(newest, now) - horizon
  if limit > 0 then
    next_leaves = math.min(taken_at(first + (live > limit and live - limit or 0)), now) - horizon
    last_leaves = ttl
  end
end
allowed = cost <= 0 or cost <= limit - live
if not allowed and cost <= limit then
  fits = math.min(taken_at(first + live + cost - limit - 1), now) - horizon
end
reply[n + 1] = live
reply[n + 2] = next_leaves
reply[n + 3] = last_leaves
reply[n + 4] = fits
n = n + 4

if cost < 0 then
  if at > horizon then
    commit = function()
      redis.call('LREM', key, cost, at - base)
    end
  end
elseif allowed and cost > 0 or not allowed and foreign then
  local units = 0
  if allowed then
    units = cost
    ttl = window
  end
  local expiry = ttl + margin
  commit = function()
    local added = {}
    if live == 0 or foreign or now - base >= 2147483648 then
      -- Anew, because there is nothing yet, the clock stepped back, or the numbers have become long. What lies in the
      -- future was taken now.
      local old = live > 0 and redis.call('LRANGE', key, first, -1) or {}
      if size >= 0 then -- not otherwise: Valkey refuses new keys when its memory is full only before the first write
        redis.call('DEL', key)
      end
      local new_base = live > 0 and math.min(base + old[1], now) or now
      redis.call('RPUSH', key, -new_base)
      for i = 1, #old do
        added[i] = math.min(base + old[i], now) - new_base
      end
      base = new_base
    elseif first > 1 then
      redis.call('LPOP', key, first)
      redis.call('LPUSH', key, -base)
    end
    for i = 1, units do
      added[#added + 1] = now - base
    end
    for i = 1, #added, 1000 do
      redis.call('RPUSH', key, unpack(added, i, math.min(i + 999, #added)))
    end
    redis.call('PEXPIRE', key, expiry)
  end
end
`;
