-- Sends 100 requests in turn, each made anew.
local counter = 0

function request()
  counter = counter % 100 + 1
  return wrk.format("GET", "/item/" .. counter)
end
