// Generated from the .lua file beside it by "npm run lua".
export default `-- Blocks a key that was refused too often in a row. The twin of judge in penalty.ts; stands behind the algorithm, whose
-- outcome it changes, and before anything is written.
--
-- asked        the cost, as the algorithm may have changed its own
-- ARGV[p]      after: how many refusals in a row
-- ARGV[p + 1]  how long the first block is, in ms
-- ARGV[p + 2]  how many times as long the next one is
-- ARGV[p + 3]  how long the longest is, in ms
-- KEYS[i + 1]  four numbers: the level of the last block, when it ends, how many refusals came in a row, and when the
--              last of them did, in ms
-- reading      behind the algorithm's: ms left of the block, whether the limit allows it

local block, growth, longest = ARGV[p + 1] + 0, ARGV[p + 2] + 0, ARGV[p + 3] + 0
local level, ending, strikes, struck = 0, 0, 0, 0
local value = redis.call('GET', KEYS[i + 1])
if value then
  level, ending, strikes, struck = string.match(value, '(%d+) (%d+) (%d+) (%d+)')
  level, ending, strikes, struck = level + 0, ending + 0, strikes + 0, struck + 0
end

local function block_of(wanted)
  local length = block
  for _ = 2, wanted do
    length = math.min(length * growth, longest)
  end
  return length
end

local left, changed = 0, false
if ending > now then
  left = math.min(ending - now, block_of(level))
  if asked > 0 and now + left ~= ending then
    changed = true
    ending, strikes, struck = now + left, 0, 0
  end
elseif asked > 0 then
  local row = 0
  if math.abs(now - struck) < block then
    row = strikes
  end
  if allowed then
    if row > 0 then
      changed = true
      strikes, struck = 0, 0
    end
  elseif row + 1 < ARGV[p] + 0 then
    changed = true
    strikes, struck = row + 1, now
  else
    changed = true
    local since = now - ending
    while level > 0 and since >= block_of(level) do
      since = since - block_of(level)
      level = level - 1
    end
    if level == 0 or block_of(level) ~= longest then
      level = level + 1
    end
    left = block_of(level)
    ending, strikes, struck = now + left, 0, 0
  end
end

reply[n + 1] = left
reply[n + 2] = allowed and 1 or 0
n = n + 2
if allowed and asked > 0 and left > 0 then
  allowed, keep, commit = false, nil, nil
end

-- What makes no difference any more goes as soon as something is asked for.
if changed or value and asked ~= 0 then
  local till = 0
  if strikes > 0 then
    till = struck + block
  end
  if level > 0 then
    local clean = ending
    for each = 1, level do
      clean = clean + block_of(each)
    end
    till = math.max(till, clean)
  end
  if changed or till <= now then
    standings, standing_ttls = standings or {}, standing_ttls or {}
    standings[i] = string.format('%.0f %.0f %.0f %.0f', level, ending, strikes, struck)
    standing_ttls[i] = till - now
  end
end
`;
