-- S7: gives the key a longer life, never a shorter one. A key without a TTL keeps none.
-- Uses call, key and ttl_ms.
local left_ms = call('pttl', key)
if left_ms >= 0 and left_ms < ttl_ms + 0 then call('pexpire', key, ttl_ms) end
