/* The guardian: a small process between redlock and the command, which ends the command when
 * redlock no longer can.
 *
 *      redlock ---- guardian ---- command ---- what it begins
 *              orders -->              (a group of its own)
 *              <-- reports
 *
 * It is told each new end of the validity, and by itself ends the command and all that is below it
 * before the last one that it was told: so it does when redlock is stopped. When redlock is killed,
 * the pipe of orders closes, and it begins to end the command at once. It has no connection, no
 * lock and no password. It is the parent of the command and, on Linux, of each process below whose
 * own parent has ended, so that it finds what has left the command's group, as daemons do.
 *
 * From the start of the command to its end the guardian makes no call that can wait but poll()
 * (S28): what it tells it hands to the writer (see writer.h), and of files it reads those in /proc
 * that name children, which the kernel has in memory.
 *
 * It is a process group of its own, so that no signal of the keyboard and none to redlock's group
 * reaches it, but not a session of its own: a group whose parents are all in other sessions cannot
 * be stopped by the terminal.
 *
 * Redlock looks after it in turn: it continues a guardian that was stopped, and ends the command
 * itself when the guardian was killed. */
#ifndef GUARDIAN_H
#define GUARDIAN_H

#include "holding.h"
#include "ward.h"

struct guardian {
    pid_t pid;
    int orders, reports;        /* Our ends of the pipes. */
    /* As it was reported; when the guardian was killed this process looks after it. */
    struct ward ward;
    bool has_started;           /* The command runs, or cannot: */
    /* the errno of what failed, then nothing runs; ECANCELED: the validity had ended.
     * 0: it runs. */
    int start_error;
    /* The command has ended, and, if it was ended, all that was below it. */
    bool is_gone;
    bool was_killed;            /* The guardian. */
    /* Could not be sent to the command; 0: none. Cleared by the caller. */
    int refused_signal, refused_error;
};

/* Begins the process, which then waits; opens all that it will need. To be called while there is
 * neither a connection nor a lock; it wipes the passwords that the settings have in its own memory.
 * Returns 0, or an errno: then nothing is left. */
int guardian_start(struct guardian *guardian, struct settings *settings,
                   const struct holding *holding, uint32_t margin_ms);

/* Sets a variable in the environment that the command will have: "NAME=VALUE", of up to
 * ORDER_TEXT_MAX bytes; up to ORDER_SET_MAX variables. */
enum { ORDER_TEXT_MAX = 127, ORDER_SET_MAX = 4 };
void guardian_set(struct guardian *guardian, const char *format, ...) PRINT_LIKE(2, 3);

/* Lets the command begin; guardian_look() finds out that it has, however long a file system lets
 * its exec() wait. False: the guardian was killed, and nothing runs. */
bool guardian_run(struct guardian *guardian, uint64_t valid_until);

/* Tells a new end of the validity. */
void guardian_extend(struct guardian *guardian, uint64_t valid_until);

/* Lets it send a signal to the command's group. */
void guardian_signal(struct guardian *guardian, int number);

/* Lets it end the command. */
void guardian_end(struct guardian *guardian);

/* Finds out what happened, without waiting; to be called when guardian->reports can be read, and at
 * guardian_next(). All children of this process that have ended are reaped. */
void guardian_look(struct guardian *guardian);

uint64_t guardian_next(const struct guardian *guardian, uint64_t now_us);

/* Ends the process, when the command is gone or was never begun. */
void guardian_close(struct guardian *guardian);

#endif
