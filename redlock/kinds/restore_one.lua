-- The first half of a restore of one key. It finds whether the key may be ours, and makes a smaller counter the ticket.
-- Uses call, key, token, ticket, ticket_text, life_ms and skew_ms.
local value, counter = call('get', key), key .. '#ticket'
if value and value ~= token then return 'taken' end
if ticket > 0 and ticket > tonumber(call('get', counter) or 0) then
    local clock = call('time')
    --@include ahead.lua
    call('set', counter, ticket_text, 'px', life_ms)
end
