-- Think time: each connection pauses between a response and its next request.
--
--   weir -s examples/lua/think.lua -t2 -c10 -d10s http://localhost:8080/ 50 150
--
-- The words after the URL are the shortest and the longest pause in milliseconds; all between are
-- equally likely. The rate is then about connections / (mean pause + response time). Also runs on
-- wrk; wrk2 has no delay().

local least, greatest

local threads = 0

-- Without a seed of its own, each thread of wrk would pause in step with the others.
function setup(thread)
  threads = threads + 1
  thread:set("seed", threads)
end

function init(args)
  math.randomseed(seed)
  least, greatest = tonumber(args[1] or 50), tonumber(args[2] or 150)
end

function delay()
  return math.random(least, greatest)
end
