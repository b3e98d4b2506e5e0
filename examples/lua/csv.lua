-- Prints the whole latency spectrum as comma-separated values after the report: each value that
-- occurred, its count, the number of values up to it, and their percentage.
--
--   weir -s examples/lua/csv.lua -t2 -c10 -d10s http://localhost:8080/
--
-- With weir's flag -q only the table is printed. Also runs on wrk, whose spectrum includes the
-- values that wrk computes for its own delays.

function done(_, latency)
  -- weir has .distinct in every mode; in wrk, # is the number of distinct values.
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
