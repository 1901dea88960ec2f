-- The node's clock, and the same in ms, in which the ends of readers and of places in a queue are stored. Uses call.
local clock = call('time')
local now_ms = clock[1] * 1000 + math.floor(clock[2] / 1000)
