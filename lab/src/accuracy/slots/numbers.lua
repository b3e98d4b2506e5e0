-- Numbers requests; each thread starts at its own multiple of 10¹².
local threads = 0
function setup(thread)
  thread:set("number", string.format("%d", threads * 1000000))
  threads = threads + 1
end
local sent = 0
function request()
  local slot = number .. string.format("%06d", sent)
  sent = sent + 1
  return wrk.format("GET", "/", { ["x-slot"] = slot })
end
