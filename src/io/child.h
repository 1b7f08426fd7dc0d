/* SPDX-License-Identifier: BSD-3-Clause
 * Forked children: processes that see a snapshot of the parent's memory, write it out and end; or
 * that execute another program.
 *
 * At most one exclusive child lives at a time, whatever its kind. A kind that neither saves nor
 * lasts long is not exclusive: its children live beside all others (struct child_kind). A child
 * reports its progress and its copied memory to the parent by a pipe. The parent's loop notices
 * that a child has ended; the parent waits for a child only in child_kill_and_wait.
 *
 * Rules in a child:
 *  - It begins with one thread, and may start threads of its own (io/pipeline). io/background runs
 *    a job in its caller. A child watches no descriptor, starts no timer and answers no client.
 *  - No lock is held that another thread of the parent had at the fork. The allocator takes its own
 *    locks over the fork, and base/log takes the log's; memory's classes have no lock. A new lock
 *    that a child may want must be taken over the fork in the same way (pthread_atfork).
 *  - SIGUSR1 ends the child on purpose, which is no error. The child ignores SIGINT, SIGTERM and
 *    SIGHUP, because the parent decides what these do.
 *  - The child keeps no connection of the parent but the one that its job names, so that the other
 *    end of a connection that the parent closes sees the end while children live. Each owner of
 *    connections closes the child's copies (in_child). The child must not touch the epoll instance,
 *    because it is shared with the parent.
 *  - It ends by child_exit, and never returns to the server's loop.
 */
#ifndef EVENKEEL_IO_CHILD_H
#define EVENKEEL_IO_CHILD_H
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attributes.h"

struct affinity_role;
struct loop;

/* A kind of child. Each module that forks declares one, static; kinds are told apart by their
 * addresses, so that this header need not list the modules that fork. */
struct child_kind {
    /* True: any number of children of this kind may live, beside all others. False: the kind is
     * exclusive; of all exclusive kinds together one child lives at a time. */
    bool beside;
    /* Which processors the child is bound to; NULL = it keeps its parent's. */
    const struct affinity_role *role;
};

/* How a child ended. */
struct child_end {
    const struct child_kind *kind;
    pid_t pid;
    int exit_code;      /* if `signal` is 0; -1 = not known */
    int signal;         /* the signal that ended it, 0 = none */
    bool on_purpose;    /* ended by SIGUSR1, from us or from an operator: no error */
    bool good;          /* exit code 0 */
    uint64_t cow_bytes; /* copied on write while it lived, by its last report */
    int64_t lifetime_usec;
};

struct child_job {
    const struct child_kind *kind;
    const char *title;   /* for ps: "redis-rdb-bgsave" */
    const char *label;   /* for the log: "RDB" */
    uint64_t keys_total; /* the number of keys that it will process; 0 = not known */
    int kept_fd;         /* the connection that the child goes on with; 0 = none */
    /* Called in the parent when the child has ended: from a timer of the loop (never within a
     * command), or from child_kill_and_wait. It may start the next child. */
    void (*ended)(const struct child_end *end, void *argument);
    void *argument;
};

/* A module that is told of forks. A NULL member is not called. Arrays of observers end with NULL.
 */
struct child_observer {
    void (*before_fork)(const struct child_kind *kind);
    void (*in_child)(const struct child_job *job);
    /* Called in the parent once for each before_fork, when the child has ended or could not be
     * forked; before the job's `ended`. */
    void (*gone)(const struct child_kind *kind);
};

/* Registers INFO's rows: current_cow_size ..., latest_fork_usec, total_forks. */
void child_register(void);
/* Sets the loop that notices the ends of children, and the observers; both are borrowed. Sets
 * SIGCHLD to its default, because a process that inherits it ignored cannot wait for its children.
 * With a NULL loop, closes what was opened. */
void child_open(struct loop *loop, const struct child_observer *const *observers);

/* Forks a child: returns 0 in the child and the child's pid in the parent; `job` is copied. Returns
 * -1 with errno set if no child was forked: EBUSY if the kind is exclusive and an exclusive child
 * lives, else the system's errno. */
MUST_USE pid_t child_fork(const struct child_job *job);
/* Forks a child that calls `run` and exits with its result. Returns the child's pid, or -1 as
 * child_fork does. */
MUST_USE pid_t child_start(const struct child_job *job, int (*run)(void *argument),
                           void *run_argument);

/* Whether an exclusive child lives (one whose kind is not `beside`). Costs one load. */
bool child_lives(void);
/* The pid and the kind of the exclusive child; 0 and NULL if none lives. */
pid_t child_pid(void);
const struct child_kind *child_kind(void);
/* Returns the progress of the exclusive child, from 0 to 1, by its last report; sets the number of
 * keys that it has processed, and of all its keys. */
double child_progress(uint64_t *keys_done, uint64_t *keys_total);
/* Forks a child of the kind, which is `beside`, and has it execute the program `argv[0]` (a path)
 * in this process's environment and folder. The program inherits the descriptors 0 to 2 and no
 * other, and every signal at its default. Returns the child's pid, or -1 as child_fork does. A
 * program that cannot be executed ends with CHILD_EXIT_NO_PROGRAM. `ended` and `argument` are those
 * of a job. */
#define CHILD_EXIT_NO_PROGRAM 2 /* as 6.2's Sentinel */
MUST_USE pid_t child_execute(const struct child_kind *kind, char *const *argv,
                             void (*ended)(const struct child_end *end, void *argument),
                             void *argument);
/* Ends one child at once, by SIGKILL; its `ended` is called later. Does nothing if no child of this
 * module has the pid. */
void child_kill_pid(pid_t pid);

/* Asks all children of the kind to end, by SIGUSR1, so that their end is no error. Does not wait;
 * each job's `ended` is called later. */
void child_kill(const struct child_kind *kind);
/* Asks all children of the kind to end, and returns when they have ended and each job's `ended` was
 * called. A child that lives longer than CHILD_PATIENCE_MSEC gets SIGKILL. The call still waits for
 * a child that is stuck in a disk's driver. */
#define CHILD_PATIENCE_MSEC 1000
void child_kill_and_wait(const struct child_kind *kind);

/* ---- In a child; in the parent these do nothing, so that one writer serves both ---- */

/* Notes that `keys_done` keys have been processed. Cheap enough to be called for each key: the
 * clock is read once in CHILD_REPORT_KEYS keys, and the parent is told once a second. */
#define CHILD_REPORT_KEYS 1024
void child_note_keys(uint64_t keys_done);
/* Tells the parent now; `progress`, from 0 to 1, is for a child that counts no keys. */
FOR_TESTS void child_note_progress(double progress);
/* Whether this process is a child that child_fork has made. */
bool child_here(void);
/* Ends the child. With code 0 it first reports to the parent, and logs, how much memory was copied
 * on write. */
void child_exit(int code) __attribute__((noreturn));
#endif
