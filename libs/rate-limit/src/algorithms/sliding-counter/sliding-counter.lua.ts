// Generated from the .lua file beside it by "npm run lua".
export default `-- sliding-counter: the counts of this window of the clock and of the one before, weighted. The twin of step in
-- sliding-counter.ts.
--
-- ARGV[a]      limit
-- ARGV[a + 1]  window in ms
-- value        1 digit u; 13 - u digits: when the counted window ends, in 10^u ms; then the previous and the current
--              count, with as many digits each
-- reading      previous count, current count, ms left of the window

local limit, window = ARGV[a] + 0, ARGV[a + 1] + 0
a = a + 2

local start = now - now % window
local ending = start + window
local left = ending - now
local previous, current, misplaced = 0, 0, false
local value = redis.call('GET', key)
if value then
  local unit = string.sub(value, 1, 1) + 0
  local counted_end = string.sub(value, 2, 14 - unit) * 10 ^ unit
  if counted_end > start - window then
    local digits = (#value - 14 + unit) / 2
    previous = string.sub(value, 15 - unit, 14 - unit + digits) + 0
    current = string.sub(value, 15 - unit + digits) + 0
    if counted_end == start then
      previous, current = current, 0
    elseif counted_end ~= ending then
      misplaced = true
      previous = math.min(previous + current, limit)
      current = 0
      if counted_end > start then
        previous, current = 0, previous
      end
    end
  end
end
reply[n + 1] = previous
reply[n + 2] = current
reply[n + 3] = left
n = n + 3

local used = previous * left + current * window
used = (used - used % window) / window
allowed = cost <= 0 or cost <= limit - used
local changed = false
if allowed and cost ~= 0 then
  if cost > 0 or at >= start then
    local after = math.max(0, current + cost)
    changed = after ~= current
    current = after
  elseif at >= start - window then
    local after = math.max(0, previous + cost)
    changed = after ~= previous
    previous = after
  end
end
if current > 0 then
  ttl = left + window
elseif previous > 0 then
  ttl = left
end
if changed or not allowed and misplaced then
  local unit, scale = 0, 1
  while unit < 8 and ending % (scale * 10) == 0 do
    unit = unit + 1
    scale = scale * 10
  end
  local digits = #string.format('%.0f', math.max(previous, current))
  local count = '%0' .. digits .. '.0f'
  keep = string.format('%d%0' .. 13 - unit .. '.0f' .. count .. count, unit, ending / scale, previous, current)
end
`;
