// Generated from the .lua file beside it by "npm run lua".
export default `-- The bucket of token-bucket and leaky-bucket. The twin of step in bucket.ts.
--
-- ARGV[a]      capacity in units
-- ARGV[a + 1]  units of one token
-- ARGV[a + 2]  units that flow in each ms
-- value        13 digits: since when tokens were missing, in ms; 1 digit: how many digits of a fraction of a ms follow,
--              by which it was earlier; these digits; then how many tokens were missing
-- reading      units that are missing

local capacity, token, rate = ARGV[a] + 0, ARGV[a + 1] + 0, ARGV[a + 2] + 0
a = a + 3

local used, foreign = 0, false
local value = redis.call('GET', key)
if value then
  local elapsed = now - string.sub(value, 1, 13)
  local digits = string.sub(value, 14, 14) + 0
  if elapsed < 0 then
    elapsed = 0
    foreign = true
  end
  used = string.sub(value, 15 + digits) * token - elapsed * rate
  if digits > 0 then
    local fraction = string.sub(value, 15, 14 + digits) * rate
    local scale = 10 ^ digits
    used = used - (fraction - fraction % scale) / scale
  end
  if used < 0 then
    used = 0
  elseif used > capacity then
    used = capacity
    foreign = true
  end
end
n = n + 1
reply[n] = used

local change = cost * token
allowed = cost <= 0 or used + change <= capacity
if cost < 0 then
  if at < now then
    change = change + (now - at) * rate
  end
  if change > 0 then
    change = 0
  end
end
if allowed then
  used = used + change
  if used < 0 then
    used = 0
  end
end
if used > 0 then
  ttl = used + rate - 1
  ttl = (ttl - ttl % rate) / rate
end
if allowed and change ~= 0 or not allowed and foreign and used > 0 then
  local missing = used + token - 1
  missing = (missing - missing % token) / token
  local flowed = missing * token - used
  local fraction = flowed % rate
  local since = now - (flowed - fraction) / rate
  if rate == 1 then
    keep = string.format('%013.0f0%.0f', since, missing)
  else
    local digits, scale = 0, 1
    while scale < rate do
      digits = digits + 1
      scale = scale * 10
    end
    fraction = fraction * scale + rate - 1
    fraction = (fraction - fraction % rate) / rate
    keep = string.format('%013.0f%d%0' .. digits .. '.0f%.0f', since, digits, fraction, missing)
  end
end
`;
