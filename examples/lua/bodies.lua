-- Posts bodies of random sizes with random content.
--
--   weir -s examples/lua/bodies.lua -t2 -c10 -d10s http://localhost:8080/upload 100 20000
--
-- The words after the URL are the smallest and the largest size in bytes; all sizes between are
-- equally likely. Also runs on wrk.

local least, greatest, text

local threads = 0

function setup(thread)
  threads = threads + 1
  thread:set("seed", threads)
end

function init(args)
  math.randomseed(seed)
  least, greatest = tonumber(args[1] or 100), tonumber(args[2] or 20000)
  wrk.method = "POST"
  wrk.headers["Content-Type"] = "text/plain"

  -- Twice the greatest body: each body is a piece of it from a random place, which takes less
  -- time than drawing every byte anew.
  local letters = {}
  for index = 1, 2 * greatest do letters[index] = string.char(math.random(97, 122)) end
  text = table.concat(letters)
end

function request()
  local size = math.random(least, greatest)
  local from = math.random(1, greatest)
  return wrk.format(nil, nil, nil, text:sub(from, from + size - 1))
end
