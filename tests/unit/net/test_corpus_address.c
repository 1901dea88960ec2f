/* Every input that tests/fuzz has kept for this target, as a plain test. */
#include "../../fuzz/fuzz_address.c"
#include "../../fuzz/replay.h"

REPLAY("address")
