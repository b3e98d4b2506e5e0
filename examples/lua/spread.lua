-- Distributes the threads over several servers, in turn.
--
--   SERVERS="localhost:8081 localhost:8082" weir -s examples/lua/spread.lua -t2 http://localhost:8080
--
-- SERVERS holds names or addresses with ports; the default is all addresses of the URL's host.
-- Addresses that accept no connection are left out. A thread has one server, so use as many threads
-- as servers, or a multiple. Also runs on wrk.
--
-- setup() runs before the words after the URL are known, hence the variable.

local servers = {}

local function add(host, service)
  for _, address in ipairs(wrk.lookup(host, service)) do
    if wrk.connect(address) then servers[#servers + 1] = address end
  end
end

local function find()
  local named = os.getenv("SERVERS")
  if not named then add(wrk.host, wrk.port or wrk.scheme) end
  for host, port in (named or ""):gmatch("%[?([^%s%]]+)%]?:(%d+)") do add(host, port) end
  if #servers == 0 then error("no server accepts connections") end
end

local threads = 0

function setup(thread)
  if threads == 0 then find() end
  thread.addr = servers[threads % #servers + 1]
  threads = threads + 1
end
