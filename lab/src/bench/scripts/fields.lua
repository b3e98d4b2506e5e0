-- Looks at a field and at the body of each answer.
local bytes = 0

function response(status, headers, body)
  if headers["Content-Type"] == "text/plain" then bytes = bytes + #body end
end
