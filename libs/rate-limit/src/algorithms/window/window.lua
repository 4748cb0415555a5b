-- The counter of fixed-window and quota: at most `limit` until the window ends. The twin of step in window.ts.
--
-- ARGV[a]           limit
-- ARGV[a + 1]       length of the windows in ms, which follow the clock; or 0, and then
-- ARGV[a + 2 .. 5]  when the window before, this one, the next and the one after it begin, by the caller's clock
-- value             13 digits: when the counted window ends, in ms; then the count
-- reading           count, ms left of the window

local limit, length = ARGV[a] + 0, ARGV[a + 1] + 0
a = a + 2

local start, ending
if length > 0 then
  start = now - now % length
  ending = start + length
else
  start, ending = ARGV[a] + 0, ARGV[a + 1] + 0
  for i = a + 2, a + 3 do
    if ending <= now then
      start, ending = ending, ARGV[i] + 0
    end
  end
  a = a + 4
  -- A caller's clock that is further off: periods as long as the last. Never a window that is not now's.
  local drift = now - start
  local period = ending - start
  drift = drift - drift % period
  start, ending = start + drift, ending + drift
end
local left = ending - now
local count, misplaced = 0, false
local value = redis.call('GET', key)
if value then
  local counted_end = string.sub(value, 1, 13) + 0
  if counted_end > now then
    count = string.sub(value, 14) + 0
    misplaced = counted_end ~= ending
  end
end
reply[n + 1] = count
reply[n + 2] = left
n = n + 2

allowed = cost <= 0 or cost <= limit - count
if cost < 0 and at < start then
  cost = 0
end
if allowed then
  count = math.max(0, count + cost)
end
if count > 0 then
  ttl = left
end
if allowed and cost ~= 0 or not allowed and misplaced then
  keep = string.format('%013.0f%.0f', ending, count)
end
