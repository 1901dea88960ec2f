/* Every input that tests/fuzz has kept for this target, as a plain test. */
#include "../../fuzz/fuzz_durations.c"
#include "../../fuzz/replay.h"

REPLAY("durations")
