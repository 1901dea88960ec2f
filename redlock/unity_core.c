/* The core as one file: RESP and everything of the lock that does no I/O. Only the functions of redlock.h are visible
 * outside. tools/amalgamate makes the file for vendoring from this one. */
#define RESP_API static
#define REDLOCK_PRIVATE static

#include "../resp/resp_encode.c"
#include "../resp/resp_parse.c"
#include "quorum.c"
#include "round.c"
#include "queue.c"
#include "wire.c"
#include "node.c"
#include "stake.c"
#include "lock.c"
#include "keeper.c"
#include "waiter.c"
#include "operations.c"
#include "engine.c"
