/* The process that writes: what goes to stderr, the log and the metrics of a command that holds a
 * lock or waits for one. It alone may be kept waiting, by a pipe that nobody reads, a terminal that
 * is halted, a file system that hangs (S29).
 *
 *      redlock ---\
 *                   outbox ---> writer ---> stderr, log, metrics
 *      guardian --/
 *
 * It ends when both have, and it has written what they told. Until then no signal but SIGKILL ends
 * it, which loses words, but no lock. It keeps words that nobody reads for ten minutes more, unless
 * a signal ends it. */
#ifndef WRITER_H
#define WRITER_H

#include "settings.h"

/* Begins it, while there is neither a connection nor a lock. Returns 0 or an errno. */
int writer_begin(const struct settings *settings);

/* Nothing is held any longer: waits until all is written, but not for long. (What is not written
 * then, it goes on to write.) */
void writer_end(void);

#endif
