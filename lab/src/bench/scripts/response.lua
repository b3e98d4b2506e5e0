-- Looks at the status of each answer.
local good = 0

function response(status)
  if status == 200 then good = good + 1 end
end
