/* The client as one file, with sockets, and the two faces over them. Only the functions of
 * redlock_client.h are visible outside. tools/amalgamate makes the file for vendoring
 * from this one. */
#ifndef _GNU_SOURCE
/* Linux: CLOCK_BOOTTIME. It must come before the first header of the system. */
#define _GNU_SOURCE
#endif
#ifndef _FILE_OFFSET_BITS
/* On 32 bits fstat refuses a file whose number has more bits, for instance /dev/urandom. */
#define _FILE_OFFSET_BITS 64
#endif
#define NET_API static
#define REDLOCK_PRIVATE static

#include "../net/net_address.c"
#include "../net/net_resolve.c"
#include "../net/net_socket.c"
#include "../net/net_system.c"
#include "client_system.c"
#include "client_connect.c"
#include "client_sentinel.c"
#include "client_loop.c"
#include "client_open.c"
#include "client_parted.c"
#include "client_block.c"
#include "reentrant.c"
