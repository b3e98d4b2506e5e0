-- The statistics objects of `done`.
--
-- Argument: distinct values, ascending; how often each occurred; mean; standard deviation; and
-- whether `#` means samples (wrk2) or distinct values (wrk). Returns the object.

local values, counts, mean, stdev, length_is_samples = ...

local ceil, error, floor, max, min = math.ceil, error, math.floor, math.max, math.min
local tonumber, type = tonumber, type

local distinct = #values

-- How many samples are not above the value of the same index.
local cumulated = {}
local samples = 0
for index = 1, distinct do
  samples = samples + counts[index]
  cumulated[index] = samples
end

-- The value of the sample of this rank, from 1; the nearest rank there is.
local function ranked(rank)
  if samples == 0 then return 0 end
  rank = max(1, min(samples, rank))
  local low, high = 1, distinct
  while low < high do
    local middle = floor((low + high) / 2)
    if cumulated[middle] < rank then low = middle + 1 else high = middle end
  end
  return values[low]
end

local fields = {
  min = values[1] or 0,
  max = values[distinct] or 0,
  mean = mean,
  stdev = stdev,
  count = samples,
  distinct = distinct,
}

function fields.percentile(_, percentage)
  local number = tonumber(percentage)
  if not number then
    error("percentile takes a number from 0 to 100, not a " .. type(percentage), 2)
  end
  return ranked(ceil(number / 100 * samples))
end

local object = newproxy(true)
local meta = getmetatable(object)

function meta.__index(_, key)
  if type(key) == "number" then return ranked(ceil(key)) end
  local field = fields[key]
  -- wrk's answer to an unknown field is its name.
  if field == nil then return key end
  return field
end

-- wrk's answer out of range is 0 and the number of distinct values.
function meta.__call(_, index)
  local value = values[index]
  if not value then return 0, distinct end
  return value, counts[index]
end

function meta.__len()
  return length_is_samples and samples or distinct
end

return object
