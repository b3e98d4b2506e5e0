-- Ends the run early, once each thread has received a number of responses.
--
--   weir -s examples/lua/enough.lua -t2 -c10 -d60s --warmup 0 http://localhost:8080/ 500
--
-- The word after the URL is the number of responses. Those of the warm-up count as well, hence
-- --warmup 0. Responses in flight when a thread stops are still awaited. Also runs on wrk, which has
-- no warm-up, stops its threads as well, and then waits for the end of -d.
--
-- To change: the condition. For a number of requests alone, weir -n is enough.

local left

function init(args)
  left = tonumber(args[1] or 500)
end

function response()
  left = left - 1
  if left == 0 then wrk.thread:stop() end
end
