-- Sends a mix of requests, drawn by weight from a list.
--
--   weir -s examples/lua/mix.lua -t2 -c10 -d10s http://localhost:8080 examples/lua/mix.txt
--
-- The word after the URL is the list; mix.txt describes its format. Also runs on wrk.

local threads = 0

-- Each thread has its own seed, the same in every run.
function setup(thread)
  threads = threads + 1
  thread:set("seed", threads)
end

local requests, bounds, total = {}, {}, 0

local function read(file)
  for line in io.lines(file) do
    local weight, method, path, body = line:match("^%s*([%d.]+)%s+(%u+)%s+(%S+)%s*(.-)%s*$")
    if weight then
      total = total + tonumber(weight)
      bounds[#bounds + 1] = total
      requests[#requests + 1] = wrk.format(method, path, nil, body ~= "" and body or nil)
    elseif not line:match("^%s*#") and line:match("%S") then
      error(file .. ": not WEIGHT METHOD PATH [BODY]: " .. line)
    end
  end
  if total == 0 then error(file .. " lists no request") end
end

function init(args)
  math.randomseed(seed)
  read(args[1] or "examples/lua/mix.txt")
end

function request()
  local drawn = math.random() * total
  local index = 1
  while bounds[index] <= drawn do index = index + 1 end
  return requests[index]
end
