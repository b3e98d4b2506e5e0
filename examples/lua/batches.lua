-- Pipelining: sends several requests at once on each connection, and the next ones once all
-- responses are complete.
--
--   weir -s examples/lua/batches.lua -t2 -c10 -d10s http://localhost:8080/ /first /second /third
--
-- The words after the URL are the paths of one batch. weir measures each response; to measure
-- batches, as wrk2 -B does, use --compat wrk2 -B. Also runs on wrk.

local batch

function init(args)
  local requests = {}
  for index, path in ipairs(args) do requests[index] = wrk.format(nil, path) end
  if #requests == 0 then requests = { wrk.format(), wrk.format(), wrk.format() } end
  batch = table.concat(requests)
end

function request()
  return batch
end
