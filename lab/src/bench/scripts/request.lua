-- Makes each request anew.
local counter = 0

function request()
  counter = counter + 1
  return wrk.format(nil, "/" .. counter)
end
