-- concurrency: at most `limit` places at once, held as leases that end by themselves. The twin of step in
-- concurrency.ts.
--
-- ARGV[a]      limit
-- ARGV[a + 1]  lease in ms
-- ARGV[a + 2]  the lease's id
-- ARGV[a + 3]  1 to renew the lease instead of taking places
-- value        a sorted set: for each place id:number, with when its lease ends, in ms
-- reading      places held, ms until the lease ends after which more remains, ms until the last ends, ms until a denied
--              cost fits in

local limit, lease, id, renews = ARGV[a] + 0, ARGV[a + 1] + 0, ARGV[a + 2], ARGV[a + 3] == '1'
a = a + 4

local function ends(index) -- no lease can end later than one that began now
  local found = redis.call('ZRANGE', key, index, index, 'WITHSCORES')
  return math.min(found[2], now + lease) - now
end
local ended = redis.call('ZCOUNT', key, '-inf', string.format('%.0f', now))
local held = redis.call('ZCARD', key) - ended
local newest = held > 0 and redis.call('ZRANGE', key, -1, -1, 'WITHSCORES')[2] + 0 or 0
local foreign = newest > now + lease

local next_ends, last_ends, fits = 0, 0, 0
if held > 0 then
  ttl = math.min(newest - now, lease)
  if limit > 0 then
    next_ends = ends(ended + (held > limit and held - limit or 0))
    last_ends = ttl
  end
end
allowed = cost <= 0 or cost <= limit - held
local own = 0 -- places of the lease that is renewed
if renews then
  local score = redis.call('ZSCORE', key, id .. ':1')
  while score and score - now > 0 do
    own = own + 1
    score = redis.call('ZSCORE', key, id .. ':' .. own + 1)
  end
  allowed = own > 0
elseif not allowed and cost <= limit then
  fits = ends(ended + held + cost - limit - 1)
end
reply[n + 1] = held
reply[n + 2] = next_ends
reply[n + 3] = last_ends
reply[n + 4] = fits
n = n + 4

if allowed and cost > 0 then
  ttl = lease
end
if cost < 0 then
  commit = function()
    if ended > 0 then
      redis.call('ZREMRANGEBYSCORE', key, '-inf', string.format('%.0f', now))
    end
    local place = 1 -- a lease is given back whole
    while redis.call('ZREM', key, id .. ':' .. place) == 1 do
      place = place + 1
    end
  end
elseif allowed and cost > 0 or not allowed and foreign then
  local places = renews and own or allowed and cost or 0
  local clock_stepped_back = foreign
  local expiry = ttl + margin
  commit = function()
    if ended > 0 then -- not otherwise: Valkey refuses new places when its memory is full only before the first write
      redis.call('ZREMRANGEBYSCORE', key, '-inf', string.format('%.0f', now))
    end
    if clock_stepped_back then
      local late = redis.call('ZRANGEBYSCORE', key, string.format('(%.0f', now + lease), '+inf')
      for i = 1, #late do
        redis.call('ZADD', key, now + lease, late[i])
      end
    end
    for i = 1, places do
      redis.call('ZADD', key, now + lease, id .. ':' .. i)
    end
    redis.call('PEXPIRE', key, expiry)
  end
end
