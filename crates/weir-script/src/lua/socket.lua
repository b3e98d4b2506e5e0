-- The module `socket` for scripts that need only `gettime` and `sleep` of LuaSocket. A module of
-- that name that can be found and loaded takes precedence.
--
-- Arguments: functions written in Rust, which never raise.

local native = ...

local error, globals, loaders, pcall, rawget = error, _G, package.loaders, pcall, rawget
local setmetatable, tonumber, tostring, type = setmetatable, tonumber, tostring, type

local socket = {}

function socket.gettime()
  return native.time_us() / 1e6
end

function socket.sleep(seconds)
  local number = tonumber(seconds)
  if not number then error("socket.sleep takes seconds, not a " .. type(seconds), 2) end
  native.sleep(number)
end

setmetatable(socket, {
  __index = function(_, name)
    local problem = "weir's socket has only gettime and sleep, not " .. tostring(name)
    error(problem .. "; install LuaSocket for LuaJIT to use it", 2)
  end,
})

-- LuaSocket 2 sets the global of this name too, and scripts for it use that.
local function built_in()
  if rawget(globals, "socket") == nil then globals.socket = socket end
  return socket
end

-- LuaSocket without its part in C: not installed, or this build of weir is static and loads none.
local function lacks_core(problem)
  return type(problem) == "string" and problem:find("module 'socket.core'", 1, true)
end

-- Loads what another loader found, or the built-in module if that lacks its part in C.
local function loaded(found, name)
  local worked, module = pcall(found, name)
  if worked then return module end
  if lacks_core(module) then return built_in() end
  error(module, 0)
end

-- Goes before the other loaders, since one that finds a file may fail to load it.
table.insert(loaders, 2, function(name)
  if name ~= "socket" then return nil end
  for index = 3, #loaders do
    local found = loaders[index](name)
    if type(found) == "function" then
      return function(...)
        return loaded(found, ...)
      end
    end
  end
  return built_in
end)
