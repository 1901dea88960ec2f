/* Signals as numbers in a pipe, so that one poll() waits for them and for the nodes. Knows what is
 * caught, not what for. */
#ifndef SIGNALS_H
#define SIGNALS_H

#include <stdbool.h>

/* Makes the pipe, catches what asks a program to end (those of them that were not ignored before,
 * as nohup(1) does), also where it was blocked, and ignores SIGPIPE and SIGTTOU: a stderr that
 * nobody reads, or a terminal that is another's, must not end or stop a program that holds a lock.
 * False: errno says why. */
bool signals_open(void);

/* Puts all back as it was. */
void signals_close(void);

/* Catches also what is passed on to a child or tells of it. */
void signals_catch_more(void);

/* Readable when there is a signal. */
int signals_fd(void);

/* The next signal that came, or 0. */
int signals_next(void);

/* True for those that ask a program to end. */
bool signal_ends(int number);

/* To be called around fork(): no signal is taken by the child in the parent's place. */
void signals_block(void);
void signals_unblock(void);

/* In the child: everything as it was when the program began, what was blocked then included. */
void signals_restore(void);

/* Sends the signal to the process group of this program, as a terminal does, and does here what it
 * does when nobody catches it. */
void signals_obey(int number);

#endif
