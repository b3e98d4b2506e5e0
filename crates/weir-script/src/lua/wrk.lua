-- The global `wrk`, and what Rust calls in a state. Runs once per state, before the script.
--
-- Arguments: functions written in Rust, which never raise (they return a problem as text, or nil,
-- and then the value); and what the command line said. Returns the table of what Rust calls.
--
-- A script may replace any global and any field of `wrk`, so what is needed later is kept in
-- locals.

local native, given = ...

local concat, debug, error, getmetatable, globals = table.concat, debug, error, getmetatable, _G
local ipairs, loadfile, loadstring, newproxy = ipairs, loadfile, loadstring, newproxy
local next, pairs, package = next, pairs, package
local rawget, setmetatable, tonumber = rawget, setmetatable, tonumber
local tostring, type, xpcall, max = tostring, type, xpcall, math.max
local getinfo, traceback = debug.getinfo, debug.traceback

-- Positions: an error of `raise` names the line of the script that called our function.
local function raise(problem)
  error(problem, 3)
end

local function global_function(name)
  local value = rawget(globals, name)
  return type(value) == "function" and value or nil
end

-- Address objects -------------------------------------------------------------------------------

-- Each proxy's address as Rust writes it.
local texts = setmetatable({}, { __mode = "k" })

local address_prototype = newproxy(true)

getmetatable(address_prototype).__tostring = function(address)
  return (texts[address]:gsub("[%[%]]", ""))
end

local function address_of(text)
  local address = newproxy(address_prototype)
  texts[address] = text
  return address
end

local function addresses_of(list)
  local addresses = {}
  for index, text in ipairs(list) do
    addresses[index] = address_of(text)
  end
  return addresses
end

-- Thread objects --------------------------------------------------------------------------------

-- `its` are the functions that reach the thread's state.
local function thread_of(its)
  local methods = {}

  function methods.get(_, name)
    local problem, value = its.get(tostring(name))
    if problem then raise(problem) end
    return value
  end

  function methods.set(_, name, value)
    local problem = its.set(tostring(name), value)
    if problem then raise(problem) end
  end

  function methods.stop()
    local problem = its.stop()
    if problem then raise(problem) end
  end

  local thread = newproxy(true)
  local meta = getmetatable(thread)

  function meta.__index(_, key)
    if key == "addr" then
      local problem, text = its.address()
      if problem then raise(problem) end
      return text and address_of(text)
    end
    -- wrk's answer to an unknown field is its name.
    return methods[key] or key
  end

  function meta.__newindex(_, key, value)
    if key ~= "addr" then raise("cannot set '" .. type(value) .. "' on thread") end
    local text = texts[value]
    if not text then raise("thread.addr takes an address object, not a " .. type(value)) end
    local problem = its.assign(text)
    if problem then raise(problem) end
  end

  return thread
end

-- The global table ------------------------------------------------------------------------------

local wrk = {
  scheme = given.scheme,
  host = given.host,
  port = given.port,
  method = "GET",
  path = given.path,
  headers = given.headers,
  time_us = native.time_us,
}
globals.wrk = wrk
-- In wrk the table is a module, so scripts may require it.
package.loaded.wrk = wrk
-- DeathStarBench's wrk2 defines this global.
globals.url = given.url

function wrk.lookup(host, service)
  local problem, list = native.lookup(tostring(host), tostring(service or 0))
  if problem then raise(problem) end
  return addresses_of(list)
end

function wrk.connect(address)
  local text = texts[address]
  if not text then raise("wrk.connect takes an address object, not a " .. type(address)) end
  return native.connect(text)
end

-- Refused connections are counted and reported by the run, so if no address accepts,
-- all are kept rather than none.
function wrk.resolve(host, service)
  local all = wrk.lookup(host, service)
  local accepting = {}
  for _, address in ipairs(all) do
    if wrk.connect(address) then accepting[#accepting + 1] = address end
  end
  wrk.addrs = accepting[1] and accepting or all
end

function wrk.setup(thread)
  local first = wrk.addrs and wrk.addrs[1]
  if first then thread.addr = first end
  local setup = global_function("setup")
  if setup then setup(thread) end
end

local function host_field()
  local host = wrk.host
  if host:find(":", 1, true) then host = "[" .. host .. "]" end
  return wrk.port and host .. ":" .. wrk.port or host
end

-- A request with two Host fields is invalid (RFC 9112 §3.2), so other spellings become Host.
local function host_of(headers)
  local host = headers.Host
  for name, value in pairs(headers) do
    if name ~= "Host" and type(name) == "string" and name:lower() == "host" then
      headers[name] = nil
      host = host or value
    end
  end
  return host or host_field()
end

-- In older versions of wrk this was the default of `init`, so scripts call it in theirs.
local in_init = false

function wrk.init(args)
  wrk.headers.Host = host_of(wrk.headers)
  local init = global_function("init")
  if init and not in_init then
    in_init = true
    init(args)
    in_init = false
  end
  local request = wrk.format()
  function wrk.request()
    return request
  end
end

-- The pieces of the request being made; `table.concat` on one table that stays is compiled by the
-- JIT, and takes half the time of a string buffer.
local pieces = { "GET", " ", "/", " HTTP/1.1\r\n" }

-- Puts the fields that follow `before` behind piece `last`, and returns the number of pieces. Calls
-- itself because a loop here would be compiled first, and then keep the JIT from compiling the
-- functions around it, the script's request() among them.
local function put_fields(last, headers, before)
  local name, value = next(headers, before)
  if name == nil then return last end
  if name ~= "Host" then
    local kind = type(value)
    if kind ~= "string" and kind ~= "number" then value = tostring(value) end
    pieces[last + 1], pieces[last + 2] = name, ": "
    pieces[last + 3], pieces[last + 4] = value, "\r\n"
    last = last + 4
  end
  return put_fields(last, headers, name)
end

function wrk.format(method, path, headers, body)
  headers = headers or wrk.headers
  body = body or wrk.body
  if type(body) == "number" then body = tostring(body) end
  local host
  -- A lower-case `host` in the table replaces Host.
  if not headers.host then
    host = headers.Host or wrk.headers.Host
    headers.Host = host
  end
  -- A message with a transfer coding has no length (RFC 9112 §6.2); wrk sends both.
  local coding = headers["Transfer-Encoding"] or headers["transfer-encoding"]
  local has_length = body and (not coding or given.sends_both)
  headers["Content-Length"] = has_length and #body or nil

  pieces[1], pieces[3] = method or wrk.method, path or wrk.path
  local last = 4
  -- Host goes first (RFC 9112 §3.2); the order of the others is that of `pairs`.
  if host then
    pieces[5], pieces[6], pieces[7], last = "Host: ", host, "\r\n", 7
  end
  last = put_fields(last, headers, nil)
  pieces[last + 1], pieces[last + 2] = "\r\n", body or ""
  -- Not in one line: the JIT cannot compile a return from the library straight to Rust.
  local request = concat(pieces, "", 1, last + 2)
  return request
end

-- What Rust calls -------------------------------------------------------------------------------

local hooks = {}

-- Level 2 is where the problem arose. No tail call: level 1 has to be this function.
function hooks.explain(problem)
  local text = traceback(tostring(problem), 2)
  return text
end

function hooks.guard(called, ...)
  return xpcall(called, hooks.explain, ...)
end

-- `source` is the content of a file that can be read only once.
function hooks.load(file, source)
  local script, problem
  if source then
    script, problem = loadstring(source, "@" .. file)
  else
    script, problem = loadfile(file)
  end
  if not script then error(problem, 0) end
  script()
end

function hooks.resolve(host, service)
  wrk.resolve(host, service)
  local list = {}
  for index, address in ipairs(type(wrk.addrs) == "table" and wrk.addrs or {}) do
    list[index] = texts[address]
    if not list[index] then
      error("wrk.addrs holds a " .. type(address) .. ", not only address objects", 0)
    end
  end
  if not list[1] then error("unable to connect to " .. host .. ":" .. service, 0) end
  return list
end

function hooks.set_addresses(list)
  wrk.addrs = addresses_of(list)
end

function hooks.setup(its)
  wrk.setup(thread_of(its))
end

function hooks.own_thread(its)
  wrk.thread = thread_of(its)
  wrk.body_cut = its.body_cut
end

-- How many arguments a callback gets: those it declares, and where it takes any, wrk's.
local function arity(callback, of_wrk)
  if not callback then return 0 end
  local shape = getinfo(callback, "u")
  return shape.isvararg and max(shape.nparams, of_wrk) or shape.nparams
end

function hooks.init(args)
  wrk.init(args)
  local request = global_function("request")
  local delay, response = global_function("delay"), global_function("response")
  local static = type(wrk.request) == "function" and wrk.request() or nil
  if not request and type(static) ~= "string" then
    error("there is no global request(), and wrk.request() gives no string", 0)
  end
  return static, request, arity(request, 0), delay, arity(delay, 0), response, arity(response, 3)
end

-- Connections by number, from 1: tables in which a script may keep what it likes.
hooks.connections = {}

local function connection(number)
  local known = hooks.connections[number]
  if not known then
    known = { id = number, thread = given.number, opened = 0 }
    hooks.connections[number] = known
  end
  return known
end

hooks.connection = connection

function hooks.opened(number)
  local known = connection(number)
  known.opened = (tonumber(known.opened) or 0) + 1
end

function hooks.teardown()
  local teardown = global_function("teardown")
  if teardown then teardown() end
end

function hooks.has_done()
  return global_function("done") ~= nil
end

function hooks.done(summary, latency, requests)
  local done = global_function("done")
  if done then done(summary, latency, requests) end
end

return hooks
