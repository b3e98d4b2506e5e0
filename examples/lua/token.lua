-- Logs in, and sends every further request with the token from the response.
--
--   weir -s examples/lua/token.lua -t2 -c10 -d10s http://localhost:8080/items /login
--
-- The word after the URL is the path of the login. Each thread has its own token; until it has one,
-- each of its connections logs in. sessions.lua has one session for each connection. Also runs on
-- wrk.
--
-- To change: the posted data, and the place of the token in the response.

local credentials = "user=bench&password=bench"
local token_field = "x-auth-token"

local login, call

function init(args)
  local headers = { ["Content-Type"] = "application/x-www-form-urlencoded" }
  login = wrk.format("POST", args[1] or "/login", headers, credentials)
end

function request()
  return call or login
end

local function field(headers, wanted)
  for name, value in pairs(headers) do
    if name:lower() == wanted then return value end
  end
end

function response(status, headers)
  if call then return end
  local token = status < 400 and field(headers, token_field)
  if token then
    wrk.headers["Authorization"] = "Bearer " .. token
    call = wrk.format()
  else
    -- One write, so that the lines of several threads stay whole.
    io.stderr:write("the login was answered " .. status .. " without a token\n")
    wrk.thread:stop()
  end
end
