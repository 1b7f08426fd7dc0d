/* SPDX-License-Identifier: BSD-3-Clause
 * The writer of the append-only file. aof_writer.h says which thread writes when.
 *
 *            +------------------ written ------------------+
 *            |                                             v
 *   appended (queue) --a job of the other thread--> written [synced] --> replies leave
 *
 * Why not always the same thread writes under everysec. A write of few records into the page cache
 * takes 1 to 3 us; handing it over costs more (a lock and a wake-up there, an event and a turn of
 * the loop back), and each reply waits for both. 50 clients, SET of 32 bytes, a busy machine with a
 * busy disk, ns of CPU a command, the main thread's and all:
 *
 *                 the main thread writes      the other one         stock
 *   pipeline 1    4,109  4,128   31 k/s    5,086  6,422   28 k/s   4,808  4,822   38 k/s
 *   pipeline 16     982  1,017  165 k/s      935  1,061  222 k/s   1,682  1,688  155 k/s
 *
 * So the main thread writes few bytes, and the other thread writes many: then many commands share
 * the cost of the hand-over, and when the system makes the writer wait (a full journal, too many
 * dirty pages), only the replies of those commands wait. After a write of the main thread that took
 * long, the other thread does all writes for a second; then the main thread tries again. The main
 * thread never writes while a sync holds the file, because the kernel would make it wait for the
 * disk.
 *
 * Invariants
 *  1. At most one job is under way for the file (`job`). While it writes, no other thread does.
 *  2. file.position <= end of the queue; the bytes between, which include a job's, are in the
 *     queue. So is all from `kept` on.
 *  3. The file ends with a whole unit whenever the process is killed, except within a write: ranges
 *     begin and end between units, and a partial write is cut off. Where even the cutting fails,
 *     the position counts what the file has, so that the rest follows it.
 *  4. Under `always` a record is allowed only when all that was appended up to it is synced; else
 *     when it is written, or a sync alone is under way (`job` without bytes), or the file fails.
 *  5. The main thread changes a job only while its state is GATHERS, and sets it to EXTENDED
 *     meanwhile.
 */
#include "aof/aof_writer.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "aof/aof_format.h"
#include "aof/aof_gather.h"
#include "aof/aof_options.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/panic.h"
#include "base/system.h"
#include "exec/effects.h"
#include "io/background.h"
#include "io/bell.h"
#include "io/file.h"
#include "metric/latency.h"
#include "save/saver.h"

struct background_kind aof_writer_jobs = {.name = "sync"};

#define SECOND_NSEC INT64_C(1000000000)
/* The main thread writes no more than this at once: some hundred small commands, 3 us. */
#define WRITE_HERE_BYTES_MAX ((uint64_t)8 << 10)
/* After a write of the main thread that took so long, the other thread writes for a while. */
#define WRITE_LONG_NSEC INT64_C(2000000)
#define RETRY_NSEC SECOND_NSEC
/* A failure that lasts is logged again after this. */
#define LOG_AGAIN_NSEC (30 * SECOND_NSEC)

struct target {
    int fd;            /* -1 = none */
    uint64_t position; /* the file has all up to here */
    uint64_t bytes;    /* the file's length */
};

/*   GATHERS <-> EXTENDED (by the main thread)
 *      |
 *      +----> RUNS --> DONE, or ORPHAN: nobody waits for its end */
enum job_state { JOB_RUNS, JOB_GATHERS, JOB_EXTENDED, JOB_DONE, JOB_ORPHAN };

/* A job of the other thread: writes a range, if it has bytes; then syncs. While the job waits for
 * more writes (aof_gather.h) the range may grow. */
struct job {
    atomic_int state;
    struct bell gathered; /* rung when the job need not wait longer */
    int64_t gather_nsec;  /* how long the job may wait; 0: not at all */
    int fd;
    struct aof_range range;
    uint64_t to; /* where the range ends, and what a sync makes safe */
    uint64_t file_bytes;
    bool syncs;
    uint64_t record; /* the record that is allowed when the job is done */
    void (*wake)(void);
    /* The result. */
    size_t written;
    int write_error, sync_error;
    int64_t write_nsec, sync_nsec;
};

struct aof_queue aof_writer_queue;

static const struct aof_writer_host *host;
static bool takes;   /* the writer is open */
static int selected; /* the database of the last SELECT that was appended */
static struct target file = {.fd = -1}, followed = {.fd = -1};
static struct job *job;
static uint64_t kept = AOF_WRITER_KEEP_NOTHING;
static uint64_t synced;
static uint64_t allowed; /* the last record that was allowed */
static bool rests;       /* no job that writes is begun; wholly: nothing is written */
static bool rests_wholly;
static bool holds; /* writers wait */
static bool write_fails, sync_fails, follow_fails;
static int error_now;
static int64_t retry_nsec, logged_nsec;
static int64_t sync_begun_nsec;   /* when the last sync began */
static int64_t queued_since_nsec; /* since when the oldest bytes wait for a sync; 0: none */
static int64_t other_until_nsec;  /* until then the other thread writes */
static uint64_t delayed;
static atomic_int_fast64_t sleep_usec;

static bool is_always(void) { return aof_options()->fsync == AOF_FSYNC_ALWAYS; }

/* no-appendfsync-on-rewrite. */
static bool syncs_rest(void) { return aof_options()->no_fsync_on_rewrite && saver_is_busy(); }

static uint64_t queued_bytes(void) { return aof_writer_queue.end - file.position; }

bool aof_writer_is_open(void) { return host != NULL; }

static void allow_record(uint64_t record) {
    if (record > allowed) allowed = record;
    host->allow(record);
}

static void release_written(void) {
    uint64_t below = file.fd < 0 ? aof_writer_queue.end : file.position;
    if (followed.fd >= 0 && followed.position < below) below = followed.position;
    if (kept < below) below = kept;
    aof_queue_release(&aof_writer_queue, below);
}

/* ---- the sink of effects ---- */

/* Writes a SELECT where the command that follows is about another database than the one before. */
static inline char *select_database(char *out, int database) {
    if (database == selected) return out;
    selected = database;
    return aof_format_write_select(out, database);
}

static void queue_effect(int database, int argc, const struct slice *argv) {
    size_t bytes = AOF_FORMAT_SELECT_BYTES_MAX + aof_format_bytes_max(argc, argv);
    char *out = select_database(aof_queue_reserve(&aof_writer_queue, bytes), database);
    aof_queue_commit(&aof_writer_queue, aof_format_write(out, argc, argv));
}

/* The bytes have the log's form: most clients send requests in it. */
static void queue_bytes(int database, struct slice command) {
    size_t bytes = AOF_FORMAT_SELECT_BYTES_MAX + command.length;
    char *out = select_database(aof_queue_reserve(&aof_writer_queue, bytes), database);
    memcpy(out, command.bytes, command.length);
    aof_queue_commit(&aof_writer_queue, out + command.length);
}

const struct effect_sink aof_writer_sink = {.reader = EFFECT_LOG,
                                            .take = queue_effect,
                                            .take_bytes = queue_bytes,
                                            .holds_replies = true,
                                            .on = &takes};

static void take_effects(bool take) {
    takes = take;
    selected = AOF_FORMAT_NO_DATABASE;
    effects_add_interest(EFFECT_LOG, take ? 1 : -1);
}

/* ---- writing and syncing, on whatever thread ---- */

static void sleep_first(void) {
    int64_t usec = atomic_load_explicit(&sleep_usec, memory_order_relaxed);
    if (!usec) return;
    struct timespec left = {usec / 1000000, usec % 1000000 * 1000};
    while (nanosleep(&left, &left) && errno == EINTR) continue;
}

/* Returns errno or 0. `*written` is how much of the range is in the file: all, or nothing unless a
 * partial write could not be cut off. */
static int write_range(int fd, uint64_t file_bytes, struct aof_range range, size_t *written) {
    sleep_first();
    if (aof_range_write(fd, range, written)) return 0;
    int error = errno;
    if (*written && file_truncate(fd, (off_t)file_bytes)) *written = 0;
    return error;
}

static void note_write(int64_t nsec, bool syncing) {
    if (!latency_is_on() || nsec < latency_threshold_msec() * 1000000) return;
    latency_note("aof-write", nsec / 1000000);
    latency_note(syncing           ? "aof-write-pending-fsync"
                 : saver_is_busy() ? "aof-write-active-child"
                                   : "aof-write-alone",
                 nsec / 1000000);
}

/* ---- failures ---- */

static void writer_tell_error(void) {
    int error = write_fails || sync_fails ? error_now : 0;
    host->failing(error);
    if (!error) log_warning("The append only file can be written again.");
}

static void writer_note_failure(int error, bool *which, const char *doing) {
    int64_t now = clock_monotonic_nsec();
    bool news = !*which || error != error_now;
    *which = true;
    error_now = error;
    retry_nsec = now + RETRY_NSEC;
    if (news || now - logged_nsec > LOG_AGAIN_NSEC) {
        log_warning("%s the append only file failed: %s", doing, strerror(error));
        logged_nsec = now;
    }
    if (is_always()) {
        log_warning(
            "With appendfsync always no write may be answered that is not on disk. "
            "Exiting.");
        host->die();
    }
    if (news) writer_tell_error();
}

static void writer_note_success(bool *which) {
    if (!*which) return;
    *which = false;
    writer_tell_error();
}

static bool is_failing(void) { return write_fails || sync_fails; }

/* ---- the bounds ---- */

static void set_hold(bool hold) {
    if (hold == holds) return;
    holds = hold;
    if (hold) delayed++;
    host->hold_writers(hold);
}

static bool sync_holds(void) { return job && !job->range.length; }

static void look_at_bounds(void) {
    const struct aof_options *o = aof_options();
    bool waits = file.fd >= 0 && queued_bytes() && (job || rests);
    if (!waits || !sync_holds()) queued_since_nsec = 0;
    if (!waits) {
        set_hold(false);
        return;
    }
    int64_t now = clock_monotonic_nsec();
    if (sync_holds() && !queued_since_nsec) queued_since_nsec = now;
    bool old = sync_holds() && now - queued_since_nsec > o->queue_age_max_msec * 1000000;
    set_hold(old || queued_bytes() > (uint64_t)o->queue_bytes_max);
}

/* ---- jobs ---- */

static void close_descriptor(void *argument) { system_close((int)(intptr_t)argument); }

/* Closes on another thread, because closing the last descriptor of a large nameless file takes
 * long. */
static void close_later(int fd) {
    background_submit(&background_close, close_descriptor, (void *)(intptr_t)fd);
}

/* Waits while the main thread extends the job, which takes no longer than a turn of its loop. */
static void end_gathering(struct job *j) {
    int gathers = JOB_GATHERS;
    bell_wait(&j->gathered, j->gather_nsec);
    while (!atomic_compare_exchange_strong(&j->state, &gathers, JOB_RUNS)) {
        gathers = JOB_GATHERS;
        sched_yield();
    }
}

static void run_job(void *argument) {
    struct job *j = argument;
    int fd = j->fd;
    if (j->gather_nsec) end_gathering(j);
    int64_t begun = clock_monotonic_nsec();
    if (j->range.length) j->write_error = write_range(fd, j->file_bytes, j->range, &j->written);
    int64_t now = clock_monotonic_nsec();
    j->write_nsec = now - begun;
    if (j->syncs && !j->write_error && !file_sync(fd)) j->sync_error = errno ? errno : EIO;
    j->sync_nsec = clock_monotonic_nsec() - now;
    void (*wake)(void) = j->wake;
    if (atomic_exchange(&j->state, JOB_DONE) == JOB_RUNS) {
        wake(); /* the job may be freed already */
        return;
    }
    close_later(fd); /* the file was given up meanwhile */
    memory_free(j, aof_memory);
}

/* Sets the job's range: up to this position of the queue. */
static void set_range(struct job *j, uint64_t to) {
    j->range = aof_queue_range(&aof_writer_queue, file.position, to);
    j->to = to;
    j->record = host->record();
}

static void begin_job(uint64_t to, bool syncs) {
    struct job *j = memory_zalloc(sizeof(*j), aof_memory);
    j->fd = file.fd;
    set_range(j, to);
    j->file_bytes = file.bytes;
    j->syncs = syncs;
    j->wake = host->wake;
    job = j;
    if (syncs) sync_begun_nsec = clock_monotonic_nsec();
    if (syncs && is_always() && j->range.length)
        j->gather_nsec = aof_gather_begin(j->record, sync_begun_nsec);
    if (j->gather_nsec) atomic_init(&j->state, JOB_GATHERS);
    background_submit(&aof_writer_jobs, run_job, j);
}

/* Adds what was appended since the job began, if the job still waits for more. */
static void extend_job(void) {
    int gathers = JOB_GATHERS;
    if (!atomic_compare_exchange_strong(&job->state, &gathers, JOB_EXTENDED)) return;
    set_range(job, aof_writer_queue.end);
    atomic_store(&job->state, JOB_GATHERS);
    if (aof_gather_is_complete(job->record) && !bell_has_rung(&job->gathered))
        bell_ring(&job->gathered);
}

static void await_job(void) {
    if (job->gather_nsec) bell_ring(&job->gathered);
    background_drain(&aof_writer_jobs);
}

/* Under `always`: the job has synced what replies waited for. */
static void note_released(const struct job *j) {
    aof_gather_released(j->record - allowed, host->record(), clock_monotonic_nsec(),
                        j->write_nsec + j->sync_nsec);
}

static void end_job(void) {
    const struct job done = *job, *j = &done; /* a copy: the host's callbacks may not return */
    memory_free(job, aof_memory);
    job = NULL;
    file.position += j->written;
    file.bytes += j->written;
    if (j->gather_nsec) aof_gather_ended(j->record);
    if (j->range.length) note_write(j->write_nsec, false);
    if (j->write_error)
        writer_note_failure(j->write_error, &write_fails, "Writing");
    else if (j->range.length)
        writer_note_success(&write_fails);
    if (j->syncs && is_always()) latency_note("aof-fsync-always", j->sync_nsec / 1000000);
    if (j->sync_error)
        writer_note_failure(j->sync_error, &sync_fails, "Syncing");
    else if (j->syncs && !j->write_error) {
        synced = j->to;
        writer_note_success(&sync_fails);
    }
    if (!j->write_error && !j->sync_error && (j->syncs || !is_always() || syncs_rest())) {
        if (j->syncs && is_always()) note_released(j);
        allow_record(j->record);
    }
    release_written();
}

static void look_at_job(void) {
    if (job && atomic_load(&job->state) == JOB_DONE) end_job();
}

/* ---- the main thread writes ---- */

static bool write_to(struct target *t) {
    struct aof_range range = aof_queue_range(&aof_writer_queue, t->position, aof_writer_queue.end);
    size_t written;
    int error = write_range(t->fd, t->bytes, range, &written);
    t->position += written;
    t->bytes += written;
    if (!error && t == &file) writer_note_success(&write_fails);
    if (error && t == &file) writer_note_failure(error, &write_fails, "Writing");
    if (error && t == &followed && !follow_fails)
        log_warning("Writing the new append only file failed: %s", strerror(error));
    if (t == &followed) follow_fails = error != 0;
    return !error;
}

static bool write_here(void) {
    int64_t begun = clock_monotonic_nsec();
    bool good = write_to(&file);
    if (good && followed.fd >= 0) good = write_to(&followed);
    int64_t now = clock_monotonic_nsec(), nsec = now - begun;
    if (nsec > WRITE_LONG_NSEC) other_until_nsec = now + SECOND_NSEC;
    note_write(nsec, job != NULL);
    release_written();
    return good;
}

/* ---- flushing ---- */

static void flush_always(void) {
    bool syncs = !syncs_rest();
    if (queued_bytes() || (syncs && synced < file.position))
        begin_job(aof_writer_queue.end, syncs);
    else
        allow_record(host->record());
}

static bool other_writes(void) {
    return !rests && (aof_options()->write_thread || queued_bytes() > WRITE_HERE_BYTES_MAX ||
                      (other_until_nsec && clock_monotonic_nsec() < other_until_nsec));
}

static void sync_if_due(void) {
    if (aof_options()->fsync != AOF_FSYNC_EVERYSEC || synced >= file.position) return;
    if (clock_monotonic_nsec() - sync_begun_nsec < SECOND_NSEC || syncs_rest()) return;
    begin_job(file.position, true);
}

static bool is_behind(void) {
    return queued_bytes() || (followed.fd >= 0 && followed.position < aof_writer_queue.end);
}

static void flush_idle(void) {
    if (is_failing() && clock_monotonic_nsec() < retry_nsec) {
        allow_record(host->record());
        return;
    }
    if (queued_bytes() && other_writes()) {
        begin_job(aof_writer_queue.end, false);
        return;
    }
    bool good = !is_behind() || write_here();
    if (good || followed.fd < 0) allow_record(host->record());
    sync_if_due();
}

/* While there is no log yet. Replies wait for nothing until the first file is about to get its
 * name. From then on a restart may read that file, so each reply waits until the file has the write
 * that it acknowledges. */
static void flush_without_log(void) {
    if (rests_wholly || (rests && is_always())) return;
    bool is_whole = followed.fd < 0 || followed.position == aof_writer_queue.end;
    if (!is_whole && !write_to(&followed)) return;
    allow_record(host->record());
    release_written();
}

void aof_writer_flush(void) {
    if (!host) return;
    look_at_job();
    if (file.fd < 0) {
        flush_without_log();
    } else if (job) {
        if (job->gather_nsec) extend_job();
        if (sync_holds() && !is_always()) allow_record(host->record());
    } else if (is_always()) {
        if (!rests) flush_always();
    } else if (!rests_wholly) {
        flush_idle();
    }
    if (job || rests || holds) look_at_bounds();
}

void aof_writer_turn(void) {
    if (job) look_at_job();
}

bool aof_writer_drain(bool sync) {
    if (job) await_job();
    look_at_job();
    ASSERT(!job);
    look_at_bounds();
    if (file.fd < 0) return true;
    if (queued_bytes() && !write_here()) return false;
    if ((sync || (is_always() && !syncs_rest())) && synced < file.position) {
        if (!file_sync(file.fd)) {
            writer_note_failure(errno, &sync_fails, "Syncing");
            return false;
        }
        synced = file.position;
        writer_note_success(&sync_fails);
    }
    allow_record(host->record());
    return true;
}

/* ---- opening, closing, switching ---- */

void aof_writer_open(const struct aof_writer_host *the_host, int fd, uint64_t file_bytes) {
    ASSERT(!host);
    host = the_host;
    aof_queue_open(&aof_writer_queue);
    file = (struct target){fd, 0, file_bytes};
    synced = 0;
    allowed = host->record();
    aof_gather_reset();
    sync_begun_nsec = clock_monotonic_nsec();
    take_effects(true);
}

/* Gives up the file. A job of the other thread is finished, and then closes the file.
 */
static void give_up_file(void) {
    struct job *j = job;
    job = NULL;
    bool syncs_alone = j && !j->range.length; /* asked now: an orphan may be freed at once */
    if (j && atomic_exchange(&j->state, JOB_ORPHAN) == JOB_RUNS) {
        ASSERT(syncs_alone);
    } else {
        if (j) memory_free(j, aof_memory);
        if (file.fd >= 0) close_later(file.fd);
    }
    file.fd = -1;
    if (write_fails || sync_fails) {
        write_fails = sync_fails = false;
        writer_tell_error();
    }
}

void aof_writer_close(void) {
    ASSERT(followed.fd < 0);
    take_effects(false);
    if (job && job->range.length) await_job();
    give_up_file();
    allow_record(host->record()); /* no file that a reply could wait for */
    set_hold(false);
    rests = rests_wholly = false;
    kept = AOF_WRITER_KEEP_NOTHING;
    queued_since_nsec = other_until_nsec = 0;
    aof_queue_close(&aof_writer_queue);
    host = NULL;
}

void aof_writer_keep(uint64_t from) {
    ASSERT(from == AOF_WRITER_KEEP_NOTHING || kept == AOF_WRITER_KEEP_NOTHING || from >= kept);
    kept = from;
    release_written();
}

uint64_t aof_writer_begin_part(void) {
    selected = AOF_FORMAT_NO_DATABASE;
    aof_writer_keep(aof_writer_end());
    return aof_writer_end();
}

bool aof_writer_rest(bool wholly) {
    rests = true;
    rests_wholly = wholly;
    look_at_job();
    return !job || (sync_holds() && !wholly);
}

bool aof_writer_follow(int fd, uint64_t file_bytes, uint64_t position) {
    ASSERT(rests && followed.fd < 0);
    followed = (struct target){fd, position, file_bytes};
    follow_fails = false;
    return write_to(&followed);
}

bool aof_writer_follow_fails(void) { return follow_fails; }

void aof_writer_go_on(void) {
    rests = false;
    rests_wholly = false;
    followed.fd = -1;
    release_written();
}

void aof_writer_switch(int fd, uint64_t file_bytes, uint64_t position, uint64_t how_far_synced) {
    give_up_file();
    file = (struct target){fd, position, file_bytes};
    synced = how_far_synced;
    followed.fd = -1;
    rests = rests_wholly = false;
    kept = AOF_WRITER_KEEP_NOTHING;
    release_written();
    look_at_bounds();
}

void aof_writer_switch_followed(uint64_t how_far_synced) {
    struct target t = followed;
    aof_writer_switch(t.fd, t.bytes, t.position, how_far_synced);
}

struct aof_writer_state aof_writer_state(void) {
    return (struct aof_writer_state){
        .file_bytes = file.bytes,
        .queued = host && file.fd >= 0 ? queued_bytes() : 0,
        .written = file.position,
        .synced = synced,
        .delayed = delayed,
        .busy = job != NULL,
        .syncing = sync_holds(),
        .error = is_failing() ? error_now : 0,
    };
}

void aof_writer_reset_stats(void) { delayed = 0; }

void aof_writer_note_cut(void) {
    struct stat status;
    if (fstat(file.fd, &status) == 0)
        file.bytes = (uint64_t)status.st_size;
    else
        log_warning("The append only file: %s", strerror(errno));
}

void aof_writer_set_sleep(int64_t usec) { atomic_store(&sleep_usec, usec); }
