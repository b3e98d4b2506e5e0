-- Numbers the requests, in the path and in a header field, so that no two are equal: no
-- response comes from a cache, and each request can be found in the server's log.
--
--   weir -s examples/lua/counter.lua -t2 -c10 -d10s http://localhost:8080/item
--
-- Numbers count from 1 in each thread and begin with the thread's number: /item?n=2-17. Also runs
-- on wrk, where the first thread begins at 2: wrk makes one request and discards it.

local threads = 0

function setup(thread)
  threads = threads + 1
  thread:set("id", threads)
end

local number, prefix = 0, nil

function init()
  local separator = wrk.path:find("?", 1, true) and "&" or "?"
  prefix = wrk.path .. separator .. "n=" .. id .. "-"
end

function request()
  number = number + 1
  wrk.headers["X-Request-Number"] = number
  return wrk.format(nil, prefix .. number)
end
