/* What a program needs before it opens anything, pipes, and to write all of something. */
#ifndef DESCRIPTORS_H
#define DESCRIPTORS_H

#include <stdbool.h>
#include <stddef.h>

/* A careless parent closes descriptors 0 to 2. The first that is opened would get their numbers:
 * messages would go to a server, or a token into a pipe of our own. What is printed on a closed
 * stdout is still lost, and said to be: nothing can be written to what is opened there. */
void occupy_descriptors(void);

/* Opens a pipe of which nobody inherits an end and no end waits. False: errno says why, and nothing
 * is open. */
bool open_pipe(int ends[2]);

/* Writes to a descriptor that blocks, however many signals come, as long as it takes more within
 * patience_ms (-1: for ever). Returns how many bytes it took. If they are fewer than size, errno
 * says why, EAGAIN that it took nothing for so long. Async-signal-safe. */
size_t write_patiently(int fd, const char *bytes, size_t size, int patience_ms);

/* The same, and waits as long as it takes. False: errno says why. */
bool write_all(int fd, const char *bytes, size_t size);

#endif
