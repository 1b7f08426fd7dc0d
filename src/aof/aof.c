/* SPDX-License-Identifier: BSD-3-Clause
 * When the log is written, rewritten, begun and ended.
 *
 *          appendonly yes at start, loaded
 *   OFF ---------------------------------------------> ON
 *    |  ^                                             ^  |
 *    |  +---- appendonly no ------------------------- | -+
 *    |  |                                             |
 *    +--+-> WAITS --- the first file has its name ----+
 *     CONFIG SET appendonly yes
 *
 * WAITS: no file stands for the data yet. A child writes one; changes since its fork are kept in
 * memory and appended. A failure is retried; the old file, if any, stays untouched until then. What
 * a client is promised:
 *
 *   WAITS, before the rename    Nothing: a restart reads the old file. Replies leave at once, as
 *                               those of 6.2 do.
 *   from the rename on, and ON  All that was ever answered, as appendfsync says: a restart reads
 *                               the new file, and that had it before it got its name.
 *
 * A client sees by one INFO that the rename is over: aof_rewrite_in_progress and
 * aof_rewrite_scheduled are both 0.
 *
 * A rewrite happens in each state: by BGREWRITEAOF, and in ON by growth. The child writes the data
 * of the fork; aof_switch appends the rest and renames the file. The rest begins with a SELECT,
 * because its reader comes from the child's part.
 *
 * Invariants
 *  1. Effects are wanted, and the writer is open, exactly in ON, and in WAITS from a fork until its
 *     file is the log or is given up (`logging`).
 *  2. A fork sees exactly what the log has before `from`: no fork happens while a unit has effects
 *     that are not logged yet (effects_are_pending).
 *  3. A child and a switch are never both under way.
 */
#include "aof/aof.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "aof/aof_load.h"
#include "aof/aof_options.h"
#include "aof/aof_switch.h"
#include "aof/aof_writer.h"
#include "base/clock.h"
#include "base/list.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/panic.h"
#include "base/system.h"
#include "command/call.h"
#include "command/command.h"
#include "command/row.h"
#include "exec/effects.h"
#include "exec/gates.h"
#include "io/background.h"
#include "io/file.h"
#include "io/loop.h"
#include "metric/row.h"
#include "net/batch.h"
#include "net/client.h"
#include "net/reply.h"
#include "rdb/loading.h"
#include "save/disk_gate.h"
#include "save/saver.h"
#include "save/snapshot.h"

#define FILE_MODE 0644
/* As in 6.2: the umask alone decides who may write a file that was written anew. */
#define REWRITTEN_MODE 0666
#define TEMPORARY_NAME_BYTES 64
/* At most twice these bytes are dirty while a file is written. */
#define SYNC_EVERY_BYTES ((uint64_t)4 << 20)
/* The pause after a rewrite that failed. */
#define RETRY_NSEC INT64_C(5000000000)

enum state { OFF, WAITS, ON };

static enum state state;
static bool logging;                           /* the writer is open */
static struct list_link held = {&held, &held}; /* of struct client.held_link */

static struct {
    uint64_t from;  /* the position of the fork */
    bool for_log;   /* the state was not OFF then */
    bool scheduled; /* a rewrite is to begin as soon as possible */
    bool failed;
    int64_t failed_nsec;
    int64_t begun_sec, took_sec;
    int64_t cow_bytes;
    int64_t base_bytes; /* the file's length after the last rewrite, or at the start */
} rewrite = {.took_sec = -1};

/* The file that a rewrite writes. All its names are in the folder that was the present one when the
 * rewrite began, because `dir` may change meanwhile. */
static struct rewrite_file {
    char folder[PATH_MAX];
    char path[PATH_MAX + TEMPORARY_NAME_BYTES];      /* for the process or thread that writes it */
    char temporary[PATH_MAX + TEMPORARY_NAME_BYTES]; /* the main thread's copy of `path` */
    char log[2 * PATH_MAX];                          /* the name that it gets at the end */
} rewrite_file;

static int64_t now_sec(void) { return clock_wall_usec() / 1000000; }

/* Whether writes are logged, or the first file is being written. */
static bool aof_is_on(void) { return state != OFF; }

static const struct child_kind rewrite_child = {.role = &aof_rewrite_role};

static bool saver_rewrites(void) { return saver_kind() == &rewrite_child; }

static bool rewrite_is_under_way(void) { return saver_rewrites() || aof_switch_is_under_way(); }

/* ---- the writer's host ---- */

static void aof_wake(void) { loop_wake(client_loop()); }

static void hold_writers(bool hold) {
    gate_set(&aof_gate, hold);
    if (hold) {
        log_warning("Writing waits: the disk is slower than what is to be logged (%" PRIu64
                    " bytes wait).",
                    aof_writer_state().queued);
        return;
    }
    while (!list_is_empty(&held)) batch_resume(LIST_ENTRY(held.next, struct client, held_link));
    aof_wake(); /* the hook that resumes them may have run in this turn */
}

/* Ends the process; the file of a rewrite under way is removed. */
static void __attribute__((noreturn)) aof_die(void) {
    saver_kill(&rewrite_child);
    if (rewrite_is_under_way() && system_unlink(rewrite_file.temporary) != 0 && errno != ENOENT)
        log_warning("Removing %s: %s", rewrite_file.temporary, strerror(errno));
    _exit(1);
}

static const struct aof_writer_host host = {effects_record_ended, reply_allow, hold_writers,
                                            disk_gate_set_log,    aof_die,     aof_wake};

/* Calls that may replicate wait too, but not within another call: SCRIPT KILL must pass, or a
 * script could run as long as the disk is slow. */
static bool call_may_write(const struct call *call) {
    unsigned replicates = batch_is_within() ? 0 : COMMAND_MAY_REPLICATE;
    return gate_flags(call) & (COMMAND_WRITE | replicates);
}

static enum gate_verdict aof_hold(const struct call *call) {
    batch_hold_request(call->request);
    list_append(&held, &call->client->held_link);
    return GATE_HELD;
}

struct gate aof_gate = {.origins = GATE_FROM(CALL_NETWORK) | GATE_FROM(CALL_PRIMARY),
                        .stops = call_may_write,
                        .stop = aof_hold};

/* ---- logging begins and ends ---- */

static void begin_logging(int fd, uint64_t file_bytes) {
    aof_writer_open(&host, fd, file_bytes);
    logging = true;
    reply_set_before_write(aof_writer_flush);
}

static void end_logging(void) {
    if (!logging) return;
    reply_set_before_write(NULL);
    logging = false;
    aof_writer_close();
}

/* ---- a file is written anew ---- */

static int64_t log_bytes(void) {
    struct stat status;
    if (logging) return (int64_t)aof_writer_state().file_bytes;
    return stat(rewrite_file.log, &status) == 0 ? (int64_t)status.st_size : 0;
}

static void remove_temporary(void) {
    if (!file_remove(rewrite_file.temporary) && errno != ENOENT)
        log_warning("Removing %s: %s", rewrite_file.temporary, strerror(errno));
}

/* Ends a rewrite: the new file has its place (`good`) or is given up. */
static void end_rewrite(bool good, bool on_purpose) {
    rewrite.took_sec = now_sec() - rewrite.begun_sec;
    if (good) {
        rewrite.failed = false;
        rewrite.base_bytes = log_bytes();
        if (state == WAITS) state = ON;
        log_notice("The append only file was written anew: %" PRId64 " bytes.", rewrite.base_bytes);
        return;
    }
    rewrite.failed = !on_purpose;
    rewrite.failed_nsec = clock_monotonic_nsec();
    if (state != WAITS) return;
    end_logging();
    rewrite.scheduled = true;
}

static void switch_ended(bool good) { end_rewrite(good, false); }

static void save_ended(const struct saver_end *end) {
    rewrite.cow_bytes = (int64_t)end->copied_bytes;
    if (end->good) {
        log_notice("The append only file is written anew; what came since is added.");
        aof_switch_begin(&(struct aof_switch){.temporary = rewrite_file.temporary,
                                              .path = rewrite_file.log,
                                              .from = rewrite.from,
                                              .has_log = rewrite.for_log,
                                              .ended = switch_ended,
                                              .die = aof_die,
                                              .wake = aof_wake});
        return;
    }
    if (end->signal || end->on_purpose)
        log_warning("Writing the append only file anew was ended by signal %d.", end->signal);
    else
        log_warning("Writing the append only file anew failed: lines above say why.");
    remove_temporary();
    if (logging) aof_writer_keep(AOF_WRITER_KEEP_NOTHING);
    end_rewrite(false, end->on_purpose);
}

/* `path` has the room of those in struct rewrite_file. */
static void temporary_path(char *path, int id) {
    snprintf(path, sizeof(rewrite_file.path), "%s/temp-rewriteaof-bg-%d.aof", rewrite_file.folder,
             id);
}

/* ---- where it is written (save/saver_job.h) ---- */

static int open_file(void *argument, int id) {
    struct rewrite_file *f = argument;
    temporary_path(f->path, id);
    int fd = system_open(f->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, REWRITTEN_MODE);
    if (fd < 0) log_warning("Opening %s: %s", f->path, strerror(errno));
    return fd;
}

/* Removes a given-up file as well: the main thread may have tried that before the file existed. */
static bool close_file(void *argument, int fd, int error) {
    struct rewrite_file *f = argument;
    if (!error && !file_sync(fd)) error = errno;
    if (system_close(fd) != 0 && !error) error = errno;
    if (!error) return true;
    log_warning("Writing the append only file anew: %s", strerror(error));
    if (system_unlink(f->path) != 0 && errno != ENOENT)
        log_warning("Removing %s: %s", f->path, strerror(errno));
    return false;
}

static void describe_file(void) {
    file_present_folder(rewrite_file.folder);
    snprintf(rewrite_file.log, sizeof(rewrite_file.log), "%s/%s", rewrite_file.folder,
             aof_options()->filename);
}

/* False after a line in the log. */
static bool start_rewrite(void) {
    const struct saver_job job = {
        .kind = &rewrite_child,
        .title = "redis-aof-rewrite",
        .label = "AOF",
        .format = aof_options()->preamble ? SAVER_PREAMBLE : SAVER_COMMANDS,
        .sync_every_bytes = aof_options()->incremental_fsync ? SYNC_EVERY_BYTES : 0,
        .open = open_file,
        .close = close_file,
        .argument = &rewrite_file,
        .ended = save_ended};
    bool opens = state == WAITS;
    ASSERT(!aof_switch_is_under_way());
    rewrite.scheduled = false;
    rewrite.for_log = state != OFF;
    rewrite.begun_sec = now_sec();
    describe_file();
    if (opens) begin_logging(-1, 0);
    if (logging) rewrite.from = aof_writer_begin_part();
    if (saver_start(&job)) {
        temporary_path(rewrite_file.temporary, saver_id());
        log_notice("Writing the append only file anew in the background, by pid %d", saver_id());
        return true;
    }
    log_warning("Can't write the append only file anew: %s", strerror(errno));
    rewrite.failed = true;
    rewrite.failed_nsec = clock_monotonic_nsec();
    if (opens) end_logging();
    if (logging) aof_writer_keep(AOF_WRITER_KEEP_NOTHING);
    rewrite.scheduled = opens; /* stays in WAITS until a rewrite succeeds */
    return false;
}

/* Whether a rewrite can begin at once: no other save is under way, and no unit has unlogged
 * effects. */
static bool may_start(void) {
    return !saver_is_busy() && !aof_switch_is_under_way() && !effects_are_pending();
}

/* Ends a rewrite under way, by its child or its switch. */
static void end_rewrite_now(void) {
    if (saver_rewrites()) {
        log_notice("Killing the AOF rewrite's child: %d", saver_id());
        saver_kill_and_wait(&rewrite_child);
    }
    aof_switch_finish();
}

static bool has_grown(void) {
    const struct aof_options *o = aof_options();
    if (state != ON || !o->rewrite_percentage) return false;
    int64_t bytes = (int64_t)aof_writer_state().file_bytes;
    if (bytes <= o->rewrite_min_bytes) return false;
    int64_t base = rewrite.base_bytes ? rewrite.base_bytes : 1;
    double growth = (double)(bytes - base) * 100 / (double)base;
    if (growth < (double)o->rewrite_percentage) return false;
    log_notice("The append only file has grown by %.0f %%.", growth);
    return true;
}

/* ---- switching on and off ---- */

/* An open unit's changes are not logged: the log must have all of a unit or nothing, so a
 * transaction that switches the log off does not leave its first half there. (6.2 leaves a MULTI
 * without an EXEC.) */
static void switch_off(void) {
    rewrite.scheduled = false;
    state = OFF; /* so that the rewrite that ends now is not retried */
    end_rewrite_now();
    if (logging && !aof_writer_drain(true))
        log_warning("The append only file lacks the last changes.");
    end_logging();
}

/* Whether a file can be created in the present folder, and one that has the log's name be written.
 * False after a line in the log. Leaves nothing behind. */
static bool may_be_written(void) {
    char temporary[TEMPORARY_NAME_BYTES], folder[PATH_MAX];
    const char *names[] = {temporary, aof_options()->filename};
    snprintf(temporary, sizeof(temporary), "temp-rewriteaof-%d.aof", (int)getpid());
    for (int i = 0; i < 2; i++) {
        int creates = names[i] == temporary ? O_CREAT : 0;
        int flags = O_WRONLY | O_APPEND | O_CLOEXEC | O_NONBLOCK | creates; /* may be a pipe */
        int fd = system_open(names[i], flags, FILE_MODE);
        if (fd < 0 && !creates && errno == ENOENT) continue;
        if (fd < 0) {
            int error = errno;
            file_present_folder(folder);
            log_warning("The append only file cannot be turned on: opening %s in %s: %s", names[i],
                        folder, strerror(error));
            return false;
        }
        system_close(fd);
        if (creates && system_unlink(temporary) != 0)
            log_warning("Removing %s: %s", temporary, strerror(errno));
    }
    return true;
}

/* Applies what CONFIG SET has made of appendonly. */
static bool appendonly_switched(char *reason, size_t reason_size) {
    bool on = aof_options()->enabled;
    if (loading_is_under_way()) {
        snprintf(reason, reason_size, "appendonly can't be changed while data is loaded");
        return false;
    }
    if (on == (state != OFF)) return true;
    if (!on) {
        switch_off();
        return true;
    }
    if (!may_be_written()) {
        snprintf(reason, reason_size, "Unable to turn on AOF. Check server logs.");
        return false;
    }
    end_rewrite_now(); /* a rewrite without a log, to whose file nothing would be appended */
    state = WAITS;
    if (!may_start()) {
        log_notice("The append only file is begun when the child that runs now has ended.");
        rewrite.scheduled = true;
        return true;
    }
    if (start_rewrite()) return true;
    state = OFF;
    rewrite.scheduled = false;
    snprintf(reason, reason_size, "Unable to turn on AOF. Check server logs.");
    return false;
}

/* ---- other data takes the place of this ---- */

void aof_suspend(void) {
    if (state != OFF) switch_off();
}

void aof_go_on(void) {
    if (!aof_options()->enabled || state != OFF) return;
    end_rewrite_now();
    state = WAITS;
    if (!may_start() || !start_rewrite()) rewrite.scheduled = true;
}

/* ---- start and end ---- */

static bool open_and_load(int fd) {
    int64_t begun = clock_monotonic_nsec();
    struct stat status;
    enum aof_loaded loaded = aof_load(aof_options()->filename);
    if (loaded == AOF_REFUSED) return false;
    if (fstat(fd, &status) != 0) {
        log_warning("The append only file: %s", strerror(errno));
        return false;
    }
    snapshot_begin();
    begin_logging(fd, (uint64_t)status.st_size);
    state = ON;
    rewrite.base_bytes = (int64_t)status.st_size;
    if (loaded == AOF_LOADED || loaded == AOF_TRUNCATED)
        log_notice("DB loaded from append only file: %.3f seconds",
                   (double)(clock_monotonic_nsec() - begun) / 1e9);
    return true;
}

bool aof_load_at_start(void) {
    const char *path = aof_options()->filename;
    int fd = system_open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, FILE_MODE);
    if (fd < 0 || !file_sync_folder(path)) {
        log_warning("Can't open the append only file %s: %s", path, strerror(errno));
        return false;
    }
    if (open_and_load(fd)) return true;
    system_close(fd);
    return false;
}

bool aof_settle(void) {
    if (aof_switch_is_under_way()) aof_switch_finish();
    if (state == WAITS) log_warning("The first append only file is not written yet.");
    return state == OFF || (state == ON && aof_writer_drain(false));
}

void aof_note_reloaded(bool good) {
    if (!good && !loading_is_cut_short()) aof_die(); /* the log's last line says why */
    if (state == ON) aof_writer_note_cut();
}

bool aof_end(bool in_any_case) {
    if (aof_switch_has_to_end()) aof_switch_finish();
    if (state == WAITS && !in_any_case) {
        log_warning("The first append only file is not written yet, can't exit.");
        return false;
    }
    if (state == OFF && !rewrite_is_under_way()) return true;
    end_rewrite_now();
    rewrite.scheduled = false;
    if (state == ON) log_notice("Calling fsync() on the AOF file."); /* which may take long */
    if (state != ON || aof_writer_drain(true)) return true;
    log_warning("The append only file lacks the last changes%s",
                in_any_case ? "." : ", can't exit.");
    return in_any_case;
}

void aof_turn(void) {
    if (logging) aof_writer_turn();
    if (aof_switch_is_under_way()) aof_switch_turn();
}

static bool retry_is_due(void) {
    return !rewrite.failed || clock_monotonic_nsec() - rewrite.failed_nsec >= RETRY_NSEC;
}

void aof_cron(void) {
    aof_turn();
    if (logging) aof_writer_flush();
    if (state == OFF && !rewrite.scheduled) return;
    if (may_start() && retry_is_due() && (rewrite.scheduled || has_grown())) (void)start_rewrite();
}

/* ---- BGREWRITEAOF ---- */

static void command_bgrewriteaof(struct call *call) {
    struct client *c = call->client;
    if (rewrite_is_under_way()) {
        reply_error(c, "Background append only file rewriting already in progress");
    } else if (!may_start() || snapshot_is_scheduled()) {
        rewrite.scheduled = true;
        reply_status(c, "Background append only file rewriting scheduled");
    } else if (start_rewrite()) {
        reply_status(c, "Background append only file rewriting started");
    } else {
        reply_error(c,
                    "Can't execute an AOF background rewriting. Please check the server logs for "
                    "more information.");
    }
}

static struct command rows[] = {
    COMMAND("bgrewriteaof", command_bgrewriteaof, 1, ADMIN | NO_SCRIPT, NO_CATEGORY, NO_KEYS,
            "Rewrites the append only file in the background."),
};

/* ---- INFO ---- */

static void print_enabled(const struct metric_row *row, struct buffer *out) {
    buffer_printf(out, "%d", state != OFF);
}
static void print_in_progress(const struct metric_row *row, struct buffer *out) {
    buffer_printf(out, "%d", rewrite_is_under_way());
}
static void print_scheduled(const struct metric_row *row, struct buffer *out) {
    buffer_printf(out, "%d", rewrite.scheduled);
}
static void print_current(const struct metric_row *row, struct buffer *out) {
    buffer_printf(out, "%" PRId64, rewrite_is_under_way() ? now_sec() - rewrite.begun_sec : -1);
}
static void print_rewrite_status(const struct metric_row *row, struct buffer *out) {
    buffer_append_c_string(out, rewrite.failed ? "err" : "ok");
}
static void print_write_status(const struct metric_row *row, struct buffer *out) {
    buffer_append_c_string(out, aof_writer_state().error ? "err" : "ok");
}
static void print_size(const struct metric_row *row, struct buffer *out) {
    buffer_printf(out, "%" PRIu64, aof_writer_state().file_bytes);
}
static void print_buffer(const struct metric_row *row, struct buffer *out) {
    buffer_printf(out, "%" PRIu64, aof_writer_state().queued);
}
static void print_rewrite_buffer(const struct metric_row *row, struct buffer *out) {
    uint64_t bytes = aof_switch_missing();
    if (saver_rewrites() && logging) bytes = aof_writer_end() - rewrite.from;
    buffer_printf(out, "%" PRIu64, bytes);
}
static void print_pending(const struct metric_row *row, struct buffer *out) {
    buffer_printf(out, "%zu", background_pending(&aof_writer_jobs));
}
static void print_delayed(const struct metric_row *row, struct buffer *out) {
    buffer_printf(out, "%" PRIu64, aof_writer_state().delayed);
}
static void print_memory(const struct metric_row *row, struct buffer *out) {
    buffer_printf(out, "%zu", memory_used(aof_memory));
}

#define WHILE_ON(p, n, m, fn, h)                                             \
    {                                                                        \
        .section = "Persistence", .place = (p), .name = (n), .measure = (m), \
        .type = METRIC_FUNCTION, .print = (fn), .present = aof_is_on,        \
        .help = h " Only while the log is on."                               \
    }

static const struct metric_row metric_rows[] = {
    METRIC_PRINT("Persistence", 140, "aof_enabled", METRIC_GAUGE, print_enabled,
                 "Whether writes are logged to the append only file."),
    METRIC_PRINT("Persistence", 150, "aof_rewrite_in_progress", METRIC_GAUGE, print_in_progress,
                 "1 while the file is being rewritten, until the new file has its place."),
    METRIC_PRINT("Persistence", 160, "aof_rewrite_scheduled", METRIC_GAUGE, print_scheduled,
                 "1 if a rewrite is to begin when another child has ended."),
    METRIC_NUMBER("Persistence", 170, "aof_last_rewrite_time_sec", METRIC_SECONDS,
                  &rewrite.took_sec, "Seconds that the last rewrite took; -1: there was none."),
    METRIC_PRINT("Persistence", 180, "aof_current_rewrite_time_sec", METRIC_SECONDS, print_current,
                 "Seconds since the present rewrite began; -1: none."),
    METRIC_PRINT("Persistence", 190, "aof_last_bgrewrite_status", METRIC_STATE,
                 print_rewrite_status, "ok, or err after a rewrite that failed."),
    METRIC_PRINT("Persistence", 200, "aof_last_write_status", METRIC_STATE, print_write_status,
                 "ok, or err while the file cannot be written or synced."),
    METRIC_NUMBER(
        "Persistence", 210, "aof_last_cow_size", METRIC_BYTES, &rewrite.cow_bytes,
        "Bytes of pages that were copied because they changed during the last rewrite by a child."),
    WHILE_ON(240, "aof_current_size", METRIC_BYTES, print_size, "Bytes of the file."),
    {.section = "Persistence",
     .place = 250,
     .name = "aof_base_size",
     .measure = METRIC_BYTES,
     .type = METRIC_INT64,
     .variable = &rewrite.base_bytes,
     .present = aof_is_on,
     .help =
         "Bytes of the file at the start, or after its last rewrite. Only while the log is on."},
    WHILE_ON(260, "aof_pending_rewrite", METRIC_INFO_ONLY, print_scheduled,
             "As aof_rewrite_scheduled."),
    WHILE_ON(270, "aof_buffer_length", METRIC_BYTES, print_buffer,
             "Bytes that are not written yet."),
    WHILE_ON(280, "aof_rewrite_buffer_length", METRIC_BYTES, print_rewrite_buffer,
             "Bytes that are still to be appended to the file of a rewrite under way."),
    WHILE_ON(290, "aof_pending_bio_fsync", METRIC_GAUGE, print_pending,
             "Writes and syncs that are queued for another thread, or under way there."),
    WHILE_ON(300, "aof_delayed_fsync", METRIC_COUNTER, print_delayed,
             "How often writers had to wait because the disk was too slow."),
    METRIC_PRINT("Memory", 370, "mem_aof_buffer", METRIC_BYTES, print_memory,
                 "Bytes of the append only file's buffers."),
};

void aof_register(void) {
    memory_class_register(&aof_memory, MEMORY_UNCOUNTED);
    aof_options_register(appendonly_switched);
    command_register(COMMAND_ROWS(rows));
    metric_register(metric_rows, sizeof(metric_rows) / sizeof(metric_rows[0]));
    metric_register_reset(aof_writer_reset_stats);
}
