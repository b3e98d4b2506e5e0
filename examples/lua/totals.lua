-- Counts responses in each thread, and adds up the counts after the run.
--
--   weir -s examples/lua/totals.lua -t2 -c10 -d10s http://localhost:8080/
--
-- Shows how to distinguish threads and collect their results: they share no variable, so setup()
-- keeps the thread objects, and done() reads the globals of each. Warm-up and tail are counted as
-- well, so the sums are greater than the report's. Also runs on wrk.

local threads = {}

function setup(thread)
  threads[#threads + 1] = thread
  thread:set("id", #threads)
end

-- Globals, since thread:get() sees no others.
function init()
  good, bad = 0, 0
end

function response(status)
  if status < 400 then good = good + 1 else bad = bad + 1 end
end

function done()
  local all_good, all_bad = 0, 0
  for _, thread in ipairs(threads) do
    local id, good, bad = thread:get("id"), thread:get("good"), thread:get("bad")
    print(("thread %d: %d good, %d bad"):format(id, good, bad))
    all_good, all_bad = all_good + good, all_bad + bad
  end
  print(("all threads: %d good, %d bad"):format(all_good, all_bad))
end
