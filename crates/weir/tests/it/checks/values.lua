-- Hands values of any kind to wrk's API, as the bytes in wrk.path say. Looks nothing up, opens
-- nothing, and ends: every loop is bounded.

local bytes = wrk.path:gsub('..', function(hex) return string.char(tonumber(hex, 16)) end)
local at = 0

local function byte()
  at = at + 1
  return bytes:byte(at) or 0
end

local numbers = {
  0, -0.0, 1, -1, 0.5, 99.999, 100, 2 ^ 31, 2 ^ 32, 2 ^ 53, 2 ^ 63, 2 ^ 64, 1e308, 5e-324,
  1 / 0, -1 / 0, 0 / 0,
}
local open = {}

local function value()
  local kind = byte() % 18
  if kind == 0 then return nil end
  if kind == 1 then return true end
  if kind == 2 then return false end
  if kind == 3 then return numbers[byte() % #numbers + 1] end
  if kind == 4 then return byte() - 128 end
  if kind == 5 then
    local length = byte() % 32
    at = at + length
    return bytes:sub(at - length + 1, at)
  end
  if kind == 6 then return ('x'):rep(2 ^ (byte() % 24)) end
  if kind == 7 and #open < 5 then
    local made = {}
    open[#open + 1] = made
    for _ = 1, byte() % 4 do
      local key = value()
      if key == nil or key ~= key then key = #made + 1 end
      made[key] = value()
    end
    open[#open] = nil
    return made
  end
  if kind == 8 then return open[1] end
  if kind == 9 then return print end
  if kind == 10 then return coroutine.create(print) end
  if kind == 11 then return wrk.thread end
  if kind == 12 then return setmetatable({}, { __index = error, __tostring = error }) end
  if kind == 13 then
    local nested = {}
    for _ = 1, byte() do nested = { nested } end
    return nested
  end
  if kind == 14 then return require('ffi').new('int[2]') end
  if kind == 15 then return 'GET / HTTP/1.1\r\nHost: a\r\n\r\n' end
  if kind == 16 then return bytes end
  error(open[1] or byte(), 0)
end

-- An error in one use must not keep the others from being made.
local function try(use)
  if byte() % 8 == 0 then return use() end
  local _, result = pcall(use)
  return result
end

local fields = { 'method', 'path', 'headers', 'body', 'scheme', 'host', 'port', 'thread', 'x' }
for _ = 1, byte() % 3 do
  local field = fields[byte() % #fields + 1]
  try(function() wrk[field] = value() end)
end
for _ = 1, byte() % 3 do
  try(function() wrk.headers[value()] = value() end)
end

local threads = {}
local callbacks = byte()

function setup(thread)
  threads[#threads + 1] = thread
  for _ = 1, byte() % 4 do
    try(function() thread:set(value(), value()) end)
    try(function() return thread:get(value()) end)
  end
  if byte() % 4 == 0 then try(function() thread.addr = value() end) end
  if byte() % 4 == 0 then try(function() thread[value()] = value() end) end
end

local function answer()
  local way = byte() % 4
  if way == 0 then return wrk.format(value(), value(), value(), value()) end
  if way == 1 then return wrk.request() end
  return value()
end

if callbacks % 2 == 0 then
  function init(args)
    if byte() % 2 == 0 then wrk.init(args) end
    try(function() args[value()] = value() end)
  end
end
if callbacks % 4 < 2 then
  function request(connection) return try(answer) end
end
if callbacks % 8 < 4 then
  function delay() return try(value) end
end
if callbacks % 16 < 8 then
  function response(status, headers, body, connection)
    local length = #body + status
    for name, field in pairs(headers) do length = length + #name + #field end
    if byte() % 8 == 0 then wrk.thread:stop() end
    return try(value)
  end
end

function teardown() try(value) end

function done(summary, latency, requests)
  for _, statistics in ipairs({ latency, requests }) do
    try(function() return statistics:percentile(value()) end)
    try(function() return statistics(value()) end)
    try(function() return statistics[value()] end)
    try(function() return #statistics + statistics.min + statistics.max + statistics.mean end)
  end
  for _, thread in ipairs(threads) do
    try(function() return thread:get(value()) end)
    try(function() thread:set(value(), value()) end)
  end
  try(function() summary[value()] = value() end)
end
