-- Prints the results as one JSON object on one line, after the report.
--
--   weir -s examples/lua/json.lua -t2 -c10 -d10s http://localhost:8080/
--
-- With weir's flag -q only the object is printed. weir's own document (-o FILE) has far more; this
-- script is for other formats. Also runs on wrk.
--
-- To change: the object in done().

local escapes = { ['"'] = '\\"', ["\\"] = "\\\\", ["\n"] = "\\n", ["\r"] = "\\r", ["\t"] = "\\t" }

local function escape(character)
  return escapes[character] or ("\\u%04x"):format(character:byte())
end

-- A value as JSON; tables with a first element are arrays, other tables objects.
local function json(value)
  local kind = type(value)
  if kind == "string" then return '"' .. value:gsub('[%c"\\]', escape) .. '"' end
  if kind == "boolean" then return tostring(value) end
  if kind == "number" then
    -- Neither NaN nor an infinity is JSON.
    if value ~= value or math.abs(value) == math.huge then return "null" end
    return (value % 1 == 0 and "%.0f" or "%.14g"):format(value)
  end
  if kind ~= "table" then return "null" end
  local parts = {}
  if value[1] ~= nil then
    for index, element in ipairs(value) do parts[index] = json(element) end
    return "[" .. table.concat(parts, ",") .. "]"
  end
  for key, element in pairs(value) do
    parts[#parts + 1] = json(tostring(key)) .. ":" .. json(element)
  end
  table.sort(parts)
  return "{" .. table.concat(parts, ",") .. "}"
end

local function described(statistics, percentages)
  local percentiles = {}
  for index, p in ipairs(percentages) do
    percentiles[index] = { p = p, value = statistics:percentile(p) }
  end
  return {
    min = statistics.min,
    max = statistics.max,
    mean = statistics.mean,
    stdev = statistics.stdev,
    percentiles = percentiles,
  }
end

function done(summary, latency, requests)
  print(json({
    host = wrk.host,
    path = wrk.path,
    duration_us = summary.duration,
    requests = summary.requests,
    bytes = summary.bytes,
    requests_per_s = summary.requests / summary.duration * 1e6,
    errors = summary.errors,
    latency_us = described(latency, { 50, 75, 90, 99, 99.9, 99.99 }),
    thread_requests_per_s = described(requests, { 1, 50, 99 }),
  }))
end
