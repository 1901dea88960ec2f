-- Does a server refuse a key because its slot is on its way to another one, or because no server has it now? "ERR Script attempted to
-- access a non local key in a cluster node", "... access keys of a slot that is not served", "... while the cluster is down". The
-- error is a table since Redis 7.0.
local function is_of_moving_slot(err)
    local words = type(err) == 'table' and err.err or err
    return words:find(' cluster ', 1, true) or words:find('not served', 1, true)
end
