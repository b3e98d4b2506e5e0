-- Prints the whole latency spectrum as comma-separated values behind the report: each value that
-- occurred, how often, how many were not above it, and what percentage that is.
--
--   weir -s scripts/csv.lua -t2 -c10 -d10s http://localhost:8080/
--
-- With weir's flag -q the table is all that is printed. Runs on wrk, too, with the values that wrk
-- makes up for its own delays among them.

function done(_, latency)
  -- weir says it in one way whatever drives the load; on wrk, # is the number of distinct values.
  local distinct = tonumber(latency.distinct) or #latency
  local samples = 0
  for index = 1, distinct do
    local _, count = latency(index)
    samples = samples + count
  end
  print("latency_us,count,cumulated,percentage")
  local cumulated = 0
  for index = 1, distinct do
    local value, count = latency(index)
    cumulated = cumulated + count
    print(("%d,%d,%d,%.6f"):format(value, count, cumulated, cumulated / samples * 100))
  end
end
