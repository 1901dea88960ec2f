-- S15: a node refuses a ticket that is further ahead of its own clock than two wall clocks may differ.
-- Uses clock, ticket and skew_ms.
if ticket > clock[1] * 1e6 + clock[2] + skew_ms * 1e3 then
    return { err = 'AHEAD of the clock of this node: ' .. clock[1] }
end
