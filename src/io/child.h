/* SPDX-License-Identifier: BSD-3-Clause
 * Forked children: a process that sees the memory of this moment, writes it out and ends.
 *
 * Of most kinds one child lives at a time, whatever its kind; those that neither save nor last live
 * beside it (struct child_kind). The parent hears by a pipe how far the child is and what it costs,
 * and by the loop that it has ended; it never waits for one unless it asks to.
 *
 * What holds in a child:
 *  - It begins with one thread, and may start some of its own (io/pipeline). io/background runs
 *    jobs at once there; nothing may be watched, no timer started, and no client answered.
 *  - It holds no lock that another thread had at the fork. The allocator's are taken over the fork
 *    by itself, the log's by base/log; memory's classes need none. Who adds a lock that a child may
 *    want takes it over the fork in the same way (pthread_atfork).
 *  - SIGUSR1 ends it on purpose, which is no error; SIGINT, SIGTERM and SIGHUP are the parent's
 *    affair and ignored.
 *  - It has no connection of the parent's but the one that its job names: who is closed there sees
 *    the end, whatever children live. Who owns connections closes the copies (in_child); the epoll
 *    instance is the parent's still, and not to be touched.
 *  - It ends by child_exit, never by returning to the server's loop.
 */
#ifndef EVENKEEL_IO_CHILD_H
#define EVENKEEL_IO_CHILD_H
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attributes.h"
#include "io/affinity.h"

struct loop;

/* A kind of child. Who forks declares one, which lives as long as the process: kinds are told apart
 * by their addresses, so that no list here names those who fork. */
struct child_kind {
    /* Any number of such children may live, beside all others; of other kinds one child lives at a
     * time. */
    bool beside;
    /* The processors that it runs on; AFFINITY_SERVER: those that it was forked on. */
    enum affinity_role role;
};

/* How a child ended. */
struct child_end {
    const struct child_kind *kind;
    pid_t pid;
    int exit_code;      /* where `signal` is 0; -1: nobody knows */
    int signal;         /* that ended it, 0 = none */
    bool on_purpose;    /* by SIGUSR1, ours or an operator's: no error */
    bool good;          /* exit code 0 */
    uint64_t cow_bytes; /* copied while it lived, as far as it said */
    int64_t lifetime_usec;
};

struct child_job {
    const struct child_kind *kind;
    const char *title;   /* for ps: "redis-rdb-bgsave" */
    const char *label;   /* for the log: "RDB" */
    uint64_t keys_total; /* that it will report of; 0 = not known */
    int kept_fd;         /* a connection that the child goes on with; 0 = it has none */
    /* In the parent, from a timer of the loop (never within a command), or from
     * child_kill_and_wait. The next child may be started here. */
    void (*ended)(const struct child_end *end, void *argument);
    void *argument;
};

/* Others who must know. NULL members are passed over. Arrays of them end with NULL. */
struct child_observer {
    void (*before_fork)(const struct child_kind *kind);
    void (*in_child)(const struct child_job *job);
    /* In the parent, for each before_fork: the child has ended, or could not be forked. Before the
     * job's `ended`. */
    void (*gone)(const struct child_kind *kind);
};

void child_register(void); /* INFO: current_cow_size ..., latest_fork_usec, total_forks */
/* The loop that tells of ends, and whom else to tell; borrowed. Also gives SIGCHLD back to the
 * system, lest a parent of ours that ignored it made children vanish unseen. NULL loop: closes. */
void child_open(struct loop *loop, const struct child_observer *const *observers);

/* As fork: 0 in the child, its pid in the parent; `job` is copied. -1 with errno set: EBUSY where a
 * child lives that it may not live beside, else the system's reason. */
MUST_USE pid_t child_fork(const struct child_job *job);
/* child_fork, and `run` in the child, whose result is its exit code. Returns the pid, or -1. */
MUST_USE pid_t child_start(const struct child_job *job, int (*run)(void *argument),
                           void *run_argument);

/* Whether one lives that stands in the way of others (so none that is `beside`). One load. */
bool child_lives(void);
/* Of that one; 0 and NULL where none lives. */
pid_t child_pid(void);
const struct child_kind *child_kind(void);
/* What it has told: keys that it has saved, keys there were, and from 0 to 1 how far it is. */
double child_progress(uint64_t *keys_done, uint64_t *keys_total);
/* Asks children of the kind to end; `ended` is told later. On purpose: no error. */
void child_kill(const struct child_kind *kind);
/* The same, and returns when they have ended and `ended` was told. After CHILD_PATIENCE_MSEC with
 * SIGKILL; a child that is stuck in a disk's driver holds it up all the same. */
#define CHILD_PATIENCE_MSEC 1000
void child_kill_and_wait(const struct child_kind *kind);

/* ---- In a child; elsewhere these do nothing, so that one writer serves parent and child ---- */

/* So many keys are done. To be called for each: the clock is looked at every CHILD_REPORT_KEYS, and
 * the parent told once a second. */
#define CHILD_REPORT_KEYS 1024
void child_note_keys(uint64_t keys_done);
/* Tells the parent now; `progress` from 0 to 1, for who counts no keys. */
FOR_TESTS void child_note_progress(double progress);
/* Whether this process is such a child. */
bool child_here(void);
/* Ends the child; with code 0 the parent is told what was copied, and so is the log. */
void child_exit(int code) __attribute__((noreturn));
#endif
