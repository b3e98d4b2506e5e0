-- Makes each request anew, and looks at the status of each answer.
local counter, good = 0, 0

function request()
  counter = counter + 1
  return wrk.format(nil, "/" .. counter)
end

function response(status)
  if status == 200 then good = good + 1 end
end
