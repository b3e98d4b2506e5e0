-- Makes each connection a user: it logs in under its own name, and then sends its own cookie.
--
--   weir -s examples/lua/sessions.lua -t2 -c10 -d10s http://localhost:8080/items /login
--
-- The word after the URL is the path of the login. Runs on weir only: in wrk a script cannot
-- distinguish connections.
--
-- To change: the login. A user keeps the session when the server closes the connection; to log in
-- once for each socket, delete the cookie when connection.opened has changed.

local login_path

function init(args)
  login_path = args[1] or "/login"
end

function request(connection)
  if connection.call then return connection.call end
  local headers = { ["Content-Type"] = "application/x-www-form-urlencoded" }
  local body = ("user=bench-%d-%d&password=bench"):format(connection.thread, connection.id)
  return wrk.format("POST", login_path, headers, body)
end

local function cookie(headers)
  for name, value in pairs(headers) do
    if name:lower() == "set-cookie" then return value:match("^[^;]+") end
  end
end

function response(status, headers, _, connection)
  if connection.call then return end
  local session = status < 400 and cookie(headers)
  if session then
    wrk.headers["Cookie"] = session
    connection.call = wrk.format()
  else
    -- One write, so that the lines of several threads stay whole.
    io.stderr:write("the login was answered " .. status .. " without a cookie\n")
    wrk.thread:stop()
  end
end
