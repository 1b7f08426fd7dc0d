/* SPDX-License-Identifier: BSD-3-Clause
 * Saves in the background, by a child or by a walk.
 *
 * Invariants
 *  1. `method` is that of the save under way; NONE exactly while no save is under way whose end was
 *     not told yet.
 *  2. A walk whose end was told before it came (saver_kill_and_wait) is an orphan: it is still
 *     under way, and its real end is told to nobody.
 */
#include "save/saver.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/panic.h"
#include "base/stream.h"
#include "io/affinity.h"
#include "io/file_stream.h"
#include "io/loop.h"
#include "metric/row.h"
#include "option/option.h"
#include "rdb/log_base.h"
#include "rdb/rdb_save.h"
#include "save/walk.h"
#include "store/frontier.h"

/* Above every process id (PID_MAX_LIMIT of Linux), so that a walk's names are never a child's. */
#define WALK_ID_BASE (1 << 22)
/* How long a walk that has used up its time budget waits for more. */
#define WALK_PAUSE_MSEC 2
/* The marks that a given-up save has left are removed at so many positions a turn. */
#define CLEAN_POSITIONS 256

enum method { METHOD_FORK, METHOD_WALK, METHOD_NONE };

static struct loop *loop;
static struct saver_job jobs[SAVER_JOBS_MAX]; /* those of the save under way; a child has one */
static bool left[SAVER_JOBS_MAX];
static unsigned job_count;
static uint64_t joined;
static enum method method = METHOD_NONE;
static bool orphan, killed;
static struct loop_timer timer;
static int wanted = METHOD_FORK; /* snapshot-method */

/* ---- by a child ---- */

static bool write_format(struct sink *out) {
    switch (jobs[0].format) {
    case SAVER_SNAPSHOT: return rdb_save(out);
    case SAVER_PREAMBLE: return log_base_save(out, true);
    case SAVER_COMMANDS: return log_base_save(out, false);
    }
    return false;
}

static int save_in_child(void *unused) {
    struct file_sink f;
    const struct saver_job *job = &jobs[0];
    int fd = job->open(job->argument, (int)getpid());
    if (fd < 0) return 1;
    file_sink_open(&f, fd, -1);
    file_sink_set_sync(&f, job->sync_every_bytes, true);
    int error = write_format(&f.sink) ? 0 : sink_error(&f.sink);
    file_sink_close(&f);
    return job->close(job->argument, fd, error) ? 0 : 1;
}

/* A job that shares its save with no other may start the next one in `ended`. */
static void tell_end(const struct saver_end *end) {
    void (*ended)(const struct saver_end *end) = jobs[0].ended;
    method = METHOD_NONE;
    killed = false;
    ended(end);
}

static void child_ended(const struct child_end *end, void *unused) {
    tell_end(&(struct saver_end){.good = end->good,
                                 .on_purpose = end->on_purpose,
                                 .signal = end->signal,
                                 .id = (int)end->pid,
                                 .copied_bytes = end->cow_bytes});
}

static bool start_child(void) {
    const struct child_job child = {.kind = jobs[0].kind,
                                    .title = jobs[0].title,
                                    .label = jobs[0].label,
                                    .keys_total = rdb_keys_total(),
                                    .ended = child_ended};
    method = METHOD_FORK;
    if (child_start(&child, save_in_child, NULL) > 0) return true;
    method = METHOD_NONE;
    return false;
}

/* ---- by a walk ---- */

static int walk_id(void) { return WALK_ID_BASE + (int)getpid(); }

static void saver_wake(void) { loop_wake(loop); }

/* `good`: one for each job; NULL: all were ended on purpose. */
static void tell_walk_end(const bool *good) {
    struct saver_end ends[SAVER_JOBS_MAX];
    for (unsigned i = 0; i < job_count; i++) {
        bool is_good = good && good[i];
        ends[i] = (struct saver_end){.good = is_good,
                                     .on_purpose = !is_good && (!good || killed || left[i]),
                                     .id = walk_id()};
    }
    for (unsigned i = 1; i < job_count; i++) jobs[i].ended(&ends[i]);
    if (good)
        tell_end(&ends[0]);
    else
        jobs[0].ended(&ends[0]);
}

static void look_for_end(void) {
    bool good[SAVER_JOBS_MAX];
    if (!walk_end(good)) return;
    if (orphan) {
        orphan = false;
        method = METHOD_NONE;
        return;
    }
    log_notice("%s: saved by a walk, without a child", jobs[0].label);
    tell_walk_end(good);
}

static int64_t timer_due(struct loop_timer *unused) {
    return walk_is_copying() ? WALK_PAUSE_MSEC : LOOP_TIMER_END;
}

static bool start_walk(void) {
    while (!frontier_clean(CLEAN_POSITIONS)) continue;
    method = METHOD_WALK;
    killed = false;
    walk_begin(&jobs[0], walk_id(), saver_wake);
    loop_timer_start(loop, &timer, WALK_PAUSE_MSEC);
    return true;
}

void saver_end_walk(void) {
    if (method != METHOD_WALK) return;
    killed = true;
    walk_give_up();
}

/* ---- both ---- */

bool saver_start(const struct saver_job *what) {
    if (saver_is_busy()) {
        errno = EBUSY;
        return false;
    }
    jobs[0] = *what;
    left[0] = false;
    job_count = 1;
    return saver_walks() ? start_walk() : start_child();
}

bool saver_walks(void) { return wanted == METHOD_WALK && loop; }

bool saver_may_join(void) {
    return method == METHOD_WALK && job_count < SAVER_JOBS_MAX && !left[0] && walk_may_join();
}

bool saver_join(const struct saver_job *what) {
    if (!saver_may_join() || what->kind != jobs[0].kind || what->format != jobs[0].format)
        return false;
    left[job_count] = false;
    jobs[job_count++] = *what;
    walk_join(what);
    joined++;
    return true;
}

/* The index of the job of that argument; SAVER_JOBS_MAX: there is none. */
static unsigned find_job(const void *argument) {
    for (unsigned i = 0; i < job_count; i++)
        if (jobs[i].argument == argument) return i;
    return SAVER_JOBS_MAX;
}

static bool others_stay(unsigned mine) {
    for (unsigned i = 0; i < job_count; i++)
        if (i != mine && !left[i]) return true;
    return false;
}

bool saver_is_shared(const void *argument) {
    if (method == METHOD_NONE || orphan) return false;
    unsigned mine = find_job(argument);
    return mine < SAVER_JOBS_MAX && others_stay(mine);
}

bool saver_is_pressed(void) { return method == METHOD_WALK && walk_is_pressed(); }

void saver_leave(const void *argument) {
    if (method == METHOD_NONE || orphan) return;
    unsigned mine = find_job(argument);
    if (mine == SAVER_JOBS_MAX) return;
    left[mine] = true;
    if (others_stay(mine))
        walk_leave(argument);
    else
        saver_kill(jobs[mine].kind);
}

bool saver_is_busy(void) { return method == METHOD_WALK || child_lives(); }

static struct affinity_role snapshot_role;
const struct child_kind saver_snapshot = {.role = &snapshot_role};

const struct child_kind *saver_kind(void) {
    if (method == METHOD_WALK) return orphan ? NULL : jobs[0].kind;
    return child_kind();
}

bool saver_is_a_process(void) { return method == METHOD_FORK; }

int saver_id(void) { return method == METHOD_WALK ? walk_id() : (int)child_pid(); }

void saver_kill(const struct child_kind *kind) {
    if (method != METHOD_WALK)
        child_kill(kind);
    else if (jobs[0].kind == kind)
        saver_end_walk();
}

void saver_kill_and_wait(const struct child_kind *kind) {
    if (method != METHOD_WALK) {
        child_kill_and_wait(kind);
        return;
    }
    if (jobs[0].kind != kind || orphan) return;
    saver_end_walk();
    walk_await_end(CHILD_PATIENCE_MSEC);
    look_for_end();
    if (method != METHOD_WALK || orphan) return;
    log_warning("The disk holds up who writes; the save is given up without waiting for it.");
    orphan = true;
    tell_walk_end(NULL);
}

void saver_turn(void) {
    walk_turn();
    if (method == METHOD_WALK && !walk_is_copying()) look_for_end();
}

/* Left-over marks are removed in small steps, so that the next walk need not wait for that. */
bool saver_step(void) {
    if (method == METHOD_WALK) return walk_step();
    return !frontier_may_begin() && !frontier_clean(CLEAN_POSITIONS);
}

static void forget_walk(const struct child_job *unused) {
    if (method != METHOD_WALK) return;
    walk_forget();
    method = METHOD_NONE;
}

const struct child_observer saver_child_observer = {.in_child = forget_walk};

/* ---- options and INFO ---- */

static const struct option_name methods[] = {
    {"fork", METHOD_FORK}, {"walk", METHOD_WALK}, {NULL, 0}};

/* A walk that is under way is ended when the method becomes fork; BGSAVE starts a new save. */
static bool apply_method(const struct option_row *row, char *reason, size_t reason_size) {
    if (wanted == METHOD_FORK) saver_end_walk();
    return true;
}

static const struct option_row option_rows[] = {
    AFFINITY_OPTION("bgsave_cpulist", 60, snapshot_role,
                    "Processors of the child that writes a snapshot; the main thread's if empty."),
    {.name = "snapshot-method",
     .type = OPTION_TYPE_ENUM,
     .flags = OPTION_MUTABLE,
     .section = "snapshots",
     .place = 36,
     .fallback = "fork",
     .variable = &wanted,
     .names = methods,
     .apply = apply_method,
     .help = "How BGSAVE, BGREWRITEAOF and full copies for replicas save the data of one moment. "
             "fork: in a child process, as Redis 6.2. walk: without a child; the server copies its "
             "keys in small steps, each key before it changes, to a thread that writes them: the "
             "server does not stop for a fork, and no page is copied for a write."},
};

static double saver_read_progress(uint64_t *done, uint64_t *total) {
    if (method != METHOD_WALK) return child_progress(done, total);
    walk_progress(done, total);
    return *total ? (double)*done / (double)*total : 0;
}

static void print_percent(const struct metric_row *row, struct buffer *out) {
    uint64_t done, total;
    buffer_printf(out, "%.2f", saver_read_progress(&done, &total) * 100);
}
static void print_done(const struct metric_row *row, struct buffer *out) {
    uint64_t done, total;
    saver_read_progress(&done, &total);
    buffer_printf(out, "%llu", (unsigned long long)done);
}
static void print_total(const struct metric_row *row, struct buffer *out) {
    uint64_t done, total;
    saver_read_progress(&done, &total);
    buffer_printf(out, "%llu", (unsigned long long)total);
}

static const struct metric_row metric_rows[] = {
    METRIC_PRINT("Persistence", 40, "current_fork_perc", METRIC_PERCENT, print_percent,
                 "Progress of the save under way, in percent of its keys."),
    METRIC_PRINT("Persistence", 50, "current_save_keys_processed", METRIC_GAUGE, print_done,
                 "Keys that the save under way has saved."),
    METRIC_PRINT("Persistence", 60, "current_save_keys_total", METRIC_GAUGE, print_total,
                 "Keys that there were when the save under way began."),
    {.section = "Persistence",
     .place = 138,
     .name = "walk_saves_shared",
     .measure = METRIC_COUNTER,
     .type = METRIC_UINT64,
     .variable = &joined,
     .reset = true,
     .help = "Copies for replicas that shared a walk with a snapshot's file."},
};

void saver_register(void) {
    option_register(option_rows, sizeof(option_rows) / sizeof(option_rows[0]));
    metric_register(metric_rows, sizeof(metric_rows) / sizeof(metric_rows[0]));
    walk_register();
}

void saver_open(struct loop *of) {
    if (!of && loop) loop_timer_stop(loop, &timer);
    loop = of;
    timer.callback = timer_due;
}
