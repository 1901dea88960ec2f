/* The exit statuses of both commands. exits.h says how an operation ends in one of them. */
#ifndef EXIT_STATUS_H
#define EXIT_STATUS_H

enum {
    EXIT_NO_LEADER = 1,         /* leader: there is none. */
    EXIT_WARNING = 1,           /* doctor: there are warnings, */
    EXIT_UNSAFE = 2,            /* or worse, */
    EXIT_UNREACHED = 3,         /* or no quorum of nodes can be reached. */
    EXIT_ALREADY = 121,         /* It has run in this period already. */
    EXIT_NO_QUORUM = 122,       /* No quorum of nodes could vote, or answered. */
    /* The lock is not held, or no longer; run: the command was ended. */
    EXIT_LOST = 123,
    EXIT_NOT_ACQUIRED = 124,    /* Somebody else has it; --busy-exit says otherwise. */
    EXIT_TROUBLE = 125,         /* Bad usage, or redlock itself failed. */
    EXIT_NOT_EXECUTABLE = 126,  /* run */
    EXIT_NOT_FOUND = 127,
    EXIT_SIGNAL = 128           /* And the signal's number. */
};

#endif
