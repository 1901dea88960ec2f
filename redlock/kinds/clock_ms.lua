-- The node's clock, and the same in ms: the ends of readers and of places in a queue are told by that. Uses call.
local clock = call('time')
local now_ms = clock[1] * 1000 + math.floor(clock[2] / 1000)
