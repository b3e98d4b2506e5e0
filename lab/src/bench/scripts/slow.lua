-- Takes 200 µs for each request.
local counter = 0

function request()
  local until_us = wrk.time_us() + 200
  while wrk.time_us() < until_us do end
  counter = counter + 1
  return wrk.format(nil, "/" .. counter)
end
