// Generated from the .lua file beside it by "npm run lua".
export default `-- fixed-window: at most \`limit\` in each window, windows aligned to the clock. The twin of step in fixed-window.ts.
--
-- ARGV[a]      limit
-- ARGV[a + 1]  window in ms
-- value        13 digits: when the counted window ends, in ms; then the count
-- reading      count, ms left of the window

local limit, window = ARGV[a] + 0, ARGV[a + 1] + 0
a = a + 2

local left = window - now % window
local ending = now + left
local count, misplaced = 0, false
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

allowed = cost == 0 or cost <= limit - count
if allowed then
  count = count + cost
end
if count > 0 then
  ttl = left
end
if allowed and cost > 0 or not allowed and misplaced then
  keep = string.format('%013.0f%.0f', ending, count)
end
`;
