/* The keeper's thread as one file, beside those of the core and the client, so that a program that
 * does not call it links no threads. Only the functions of redlock_keeper.h are visible outside.
 * tools/amalgamate makes the file for vendoring from this one. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#define NET_API static

#include "../net/net_thread.c"
#include "keeper_thread.c"
