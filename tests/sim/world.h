/* SPDX-License-Identifier: BSD-3-Clause
 * The world of a simulation: what all of its processes share, and whose turn it is.
 *
 * One process, the scheduler, makes the world (memory that is mapped shared) and forks servers into
 * it; servers fork children. Each of these is a task. At any moment one process runs: the scheduler
 * or the task that it gave the turn; so nothing here needs a lock, and the order of all that
 * happens follows from the seed.
 *
 *            scheduler gives the turn                    it ends (exit, a signal)
 *   READY --------------------------------> RUNS ------------------------------> DEAD -> FREE
 *     ^                                      |  |
 *     | due                                  |  `-- waits for descriptors --> WAITS --.
 *     `--- sleeps, or lets others go first --'                                        |
 *     ^                    something is ready, or due                                 |
 *     `-------------------------------------------------------------------------------'
 */
#ifndef EVENKEEL_TESTS_SIM_WORLD_H
#define EVENKEEL_TESTS_SIM_WORLD_H
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define NODES_MAX 12
#define TASKS_MAX 32
#define TASK_FDS_MAX 192
#define NSEC_PER_USEC INT64_C(1000)
#define NSEC_PER_MSEC INT64_C(1000000)
#define NSEC_PER_SEC INT64_C(1000000000)
#define NEVER INT64_MAX

enum task_state { TASK_FREE, TASK_READY, TASK_WAITS, TASK_RUNS, TASK_DEAD };

/* What a descriptor of a task is in the simulation. */
enum fd_kind { FD_REAL, FD_LISTENER, FD_LINK };
struct task_fd {
    enum fd_kind kind;
    int index; /* of the listener or link */
    int end;   /* of the link */
    int epoll; /* the instance that has it, where there is an interest */
    uint32_t interest;
    uint64_t data; /* both of epoll */
};

struct task {
    uint32_t turn; /* a futex: 1 = it may run */
    enum task_state state;
    int node, parent; /* the parent's task, -1: the scheduler */
    pid_t pid, shown_pid;
    int64_t due_nsec; /* READY: not before; WAITS: at the latest */
    bool poked;       /* one that it shares pipes with has done something */
    int signal;       /* to be raised in it */
    int64_t cpu_nsec;
    uint64_t draws;
    int fds_end; /* no descriptor of the simulation from here on */
    struct task_fd fds[TASK_FDS_MAX];
};

struct node {
    bool up;                  /* the machine has power */
    int64_t wall_offset_nsec; /* of its clock from the world's */
    int64_t boot_nsec;        /* its monotonic clock began then */
    bool is_sentinel;         /* its server runs as a Sentinel */
    int64_t stopped_nsec;     /* its processes do not run before then */
    unsigned starts;          /* of its server */
    uint64_t start_links;     /* how many links there had been at the last of them */
    int64_t start_nsec;       /* when it was */
    bool cut[NODES_MAX + 1];  /* from that node nothing comes; the last is clients' */
    bool slow_disk;
    bool bad_names;        /* renames and syncs of folders fail now and then */
    bool folder_failed;    /* a folder's sync did, in this life of its server */
    bool bad_files;        /* files cannot be created, written, synced or renamed */
    bool file_failed;      /* that, or bad_names, was met, and its file not written since */
    bool file_has_name;    /* it was renamed, but its folder not synced since */
    bool file_is_old;      /* it was so when the server started last */
    unsigned file_renames; /* of its configuration file */
    unsigned view_renames; /* of its nodes.conf */
    bool log_is_first;     /* the file that is to become the log next is that of a log that is on */
    bool log_has_name;     /* one such has its name, since that was asked for last */
    unsigned log_renames;  /* of such files */
};

struct world {
    uint32_t turn; /* the scheduler's futex */
    pid_t scheduler;
    int64_t now_nsec;
    uint64_t draws;
    uint64_t seed, hash;
    uint64_t turns, notes, saves; /* that walked and were looked at */
    bool tells;                   /* --trace */
    int trace_fd;
    int next_pid;
    char finding[512]; /* what a task has found to be wrong; "" = nothing */
    struct task tasks[TASKS_MAX];
    struct node nodes[NODES_MAX];
};

extern struct world *world;
/* The task that this process is; NULL in the scheduler. */
extern struct task *self;

/* Maps it. The tasks that are forked from here on share it. */
void world_make(uint64_t seed, bool tells);

/* splitmix64 over a state. */
uint64_t draw_from(uint64_t *state);
/* Of the world's own numbers: below `bound` (> 0), from 0; true in `percent` of cases; true once in
 * `times`. */
uint64_t draw(uint64_t bound);
bool chance(unsigned percent);
bool once_in(unsigned times);
/* Small ones as often as large ones: 1 to `most`. */
int64_t draw_scale(int64_t most);

/* Mixes an event into the world's hash, and prints it in a run that tells. */
void note(const char *what, long a, long b, long c);
/* Prints in a run that tells. */
void tell(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The first one counts. */
void find(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- The scheduler's part ---- */

/* A free task of the node; asserts that there is one. */
struct task *task_new(int node, int parent);
/* Gives it the turn and returns when it has come back. False where the task has ended; its state is
 * DEAD then. Finds a task that does not come back within TURN_SECONDS_MAX of the machine's time. */
#define TURN_SECONDS_MAX 120
bool task_run(struct task *t);
/* Ends the process at once, and waits until it is gone. */
void task_kill(struct task *t);

/* ---- A task's part ---- */

/* What a new process does first: waits for its turn. */
void task_begin(struct task *t);
/* Gives the turn back until `due_nsec`, or, with TASK_WAITS, until something is ready. Raises the
 * signal that came meanwhile. */
void task_yield(enum task_state state, int64_t due_nsec);
/* Time passes, for others too. */
void task_sleep(int64_t nsec);
/* Tells the scheduler that this process ends; it must do so without any further call here. */
void task_end(void);
/* Parent and children of this task look at their pipes anew. */
void task_poke_kin(void);

/* The system's own calls, past what process.c puts before them. */
long raw_call(long number, long a, long b, long c, long d, long e, long f);
#endif
