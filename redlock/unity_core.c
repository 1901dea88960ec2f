/* The core as one file: RESP and everything of the lock that does no I/O. Only the functions of redlock.h are visible
 * outside. tools/amalgamate makes the file for vendoring from this one. */
#define RESP_API static
#define REDLOCK_PRIVATE static

#include "../resp/resp_encode.c"
#include "../resp/resp_parse.c"
#include "quorum.c"
#include "round.c"
#include "queue.c"
#include "random.c"
#include "wire.c"
#include "names.c"
#include "node.c"
#include "lock_state.c"
#include "ticket.c"
#include "stake.c"
#include "outcome.c"
#include "retry.c"
#include "acquire.c"
#include "extend.c"
#include "release.c"
#include "inspect.c"
#include "waiter.c"
#include "keeper.c"
#include "lock.c"
#include "operations.c"
#include "engine.c"
#include "ask.c"
