-- For fair locks, tell(queue) tells the first in the queue that hears it. Returns 1, or 0 if none does.
--
-- A token and the name of an engine always have as many digits, so the parts of a member, "token:engine:number", are known by their
-- places.
local function tell(queue)
    for _, member in ipairs(redis.pcall('zrange', queue, 0, 15)) do
        local heard = redis.pcall('publish', 'redlock:' .. member:sub(42, 57), member:sub(59))
        if type(heard) == 'table' then return 0 end
        if heard > 0 then return 1 end
    end
    return 0
end
