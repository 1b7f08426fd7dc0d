/* SPDX-License-Identifier: BSD-3-Clause
 * When snapshots are saved and loaded, and what INFO says of them.
 *
 *   saved by this process (SAVE, the end)  or by a child (BGSAVE, save points)
 *        |                                     |
 *        +--- "temp-<pid>.rdb" is written, synced, renamed to dbfilename ---+
 *
 * One save in the background at a time: BGSAVE SCHEDULE waits for its end. After a failure a save
 * point waits RETRY_SECONDS before it tries again, and, with stop-writes-on-bgsave-error, writes
 * are refused until a save succeeds.
 *
 * Invariant: the file under dbfilename is a whole snapshot at all times (io/file).
 */
#include "save/snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/system.h"
#include "command/arguments.h"
#include "command/call.h"
#include "command/row.h"
#include "exec/flush.h"
#include "io/child.h"
#include "io/file.h"
#include "io/file_stream.h"
#include "metric/row.h"
#include "net/client.h"
#include "net/reply.h"
#include "option/option.h"
#include "rdb/loading.h"
#include "rdb/rdb_load.h"
#include "rdb/rdb_save.h"
#include "save/disk_gate.h"
#include "save/save_points.h"
#include "save/saver.h"
#include "store/keyspace.h"

#define RETRY_SECONDS 5
/* At most twice these bytes are dirty while a file is written. */
#define SYNC_EVERY_BYTES ((uint64_t)4 << 20)
#define FILE_MODE 0666 /* the umask decides, as in 6.2 */
#define TEMPORARY_NAME_BYTES 64

/* The temporary file that this process is writing; "" = none. */
static char temporary_now[TEMPORARY_NAME_BYTES];
static bool stop_writes, incremental_sync;
static char *filename;
static const struct snapshot_observer *const no_observers[] = {NULL};
static const struct snapshot_observer *const *observers = no_observers;

static struct {
    uint64_t changes_saved;    /* keyspace_changes() when the last good save began */
    uint64_t changes_at_start; /* keyspace_changes() when the save under way began */
    int64_t last_good_sec, tried_sec, begun_sec, took_sec;
    int64_t cow_bytes;
    bool opened; /* the file was looked for at start; before that no save point is due */
    bool failed, scheduled;
    bool reloaded; /* since that save began the data was replaced, which counts as no change */
} state = {.took_sec = -1};

static int64_t now_sec(void) { return clock_wall_usec() / 1000000; }

const char *snapshot_path(void) { return filename; }
void snapshot_set_observers(const struct snapshot_observer *const *list) { observers = list; }

static uint64_t changes_since(void) { return keyspace_changes() - state.changes_saved; }

static bool saves_now(void) { return saver_kind() == &saver_snapshot; }

static void look_at_gate(void) {
    disk_gate_set_snapshot(stop_writes && save_points_any() && state.failed);
}

static void note_saved(uint64_t changes) {
    state.changes_saved = changes;
    state.last_good_sec = now_sec();
    state.failed = false;
    look_at_gate();
}

/* ---- the file ---- */

static void temporary_name(int id, char name[TEMPORARY_NAME_BYTES]) {
    snprintf(name, TEMPORARY_NAME_BYTES, "temp-%d.rdb", id);
}

/* A snapshot that is being written; names are absolute where that can be. */
struct snapshot_file {
    char folder[PATH_MAX], name[PATH_MAX];
    struct file_replacement replacement;
};

static void describe_file(struct snapshot_file *f) {
    file_present_folder(f->folder);
    snprintf(f->name, sizeof(f->name), "%s", filename);
}

#define TEMPORARY_PATH_BYTES (PATH_MAX + TEMPORARY_NAME_BYTES)

static void temporary_path(const struct snapshot_file *f, int id, char path[TEMPORARY_PATH_BYTES]) {
    char name[TEMPORARY_NAME_BYTES];
    temporary_name(id, name);
    snprintf(path, TEMPORARY_PATH_BYTES, "%s/%s", f->folder, name);
}

/* The functions of a saver's job (save/saver_job.h). */
static int open_file(void *argument, int id) {
    struct snapshot_file *f = argument;
    char temporary[TEMPORARY_PATH_BYTES], path[2 * PATH_MAX];
    temporary_path(f, id, temporary);
    snprintf(path, sizeof(path), "%s/%s", f->folder, f->name);
    if (file_replacement_begin(&f->replacement, path, temporary, FILE_MODE))
        return f->replacement.fd;
    log_warning("Failed opening the RDB file %s (in server root dir) for saving: %s", f->name,
                strerror(errno));
    return -1;
}

static bool close_file(void *argument, int fd, int error) {
    struct snapshot_file *f = argument;
    struct file_replacement *r = &f->replacement;
    char temporary[TEMPORARY_PATH_BYTES]; /* a commit that fails forgets the name */
    if (error) {
        log_warning("Write error saving DB on disk: %s", strerror(error));
        file_replacement_cancel(r);
        return false;
    }
    snprintf(temporary, sizeof(temporary), "%s", r->temporary);
    if (!file_replacement_commit(r)) {
        log_warning("Error moving temp DB file %s on the final destination %s: %s", temporary,
                    f->name, strerror(errno));
        return false;
    }
    if (r->folder_error)
        log_warning("Syncing the snapshot's folder: %s", strerror(r->folder_error));
    log_notice("DB saved on disk");
    return true;
}

static uint64_t sync_every_bytes(void) { return incremental_sync ? SYNC_EVERY_BYTES : 0; }

void snapshot_remove_temporary(void) {
    if (temporary_now[0]) unlink(temporary_now);
}

/* Writes the file in this process. */
static bool write_file(struct snapshot_file *to) {
    struct file_sink f;
    int fd = open_file(to, (int)getpid());
    if (fd < 0) return false;
    file_sink_open(&f, fd, -1);
    file_sink_set_sync(&f, sync_every_bytes(), true);
    int error = rdb_save(&f.sink) ? 0 : sink_error(&f.sink);
    file_sink_close(&f);
    return close_file(to, fd, error);
}

static bool save_file(void) {
    struct snapshot_file to;
    describe_file(&to);
    temporary_name((int)getpid(), temporary_now);
    bool good = write_file(&to);
    temporary_now[0] = '\0';
    return good;
}

/* False, after a line in the log, while a load is incomplete. */
static bool may_save(void) {
    if (!loading_is_under_way() && !loading_is_cut_short()) return true;
    log_warning("Nothing is saved: only a part of the data is loaded");
    return false;
}

bool snapshot_save(void) {
    uint64_t changes = keyspace_changes();
    if (!may_save() || !save_file()) return false;
    note_saved(changes);
    return true;
}

static void log_fault(const struct rdb_loaded *result) {
    struct buffer text;
    buffer_init(&text, MEMORY_OTHER);
    rdb_describe_fault(result, &text);
    /* Two lines: the text that scripts look for in 6.2's log, then all that is known. */
    log_warning("Internal error in RDB reading offset %" PRIu64 " -> %s", result->offset,
                result->reason);
    log_warning("Error loading the snapshot %s %s", filename, text.bytes);
    buffer_free(&text);
}

static bool load_file(int fd, bool replaces) {
    struct file_source f;
    struct rdb_loaded result;
    /* A replica deletes its keys when its primary says so. */
    const struct rdb_loading how = {.replaces = replaces,
                                    .keeps_expired = keyspace_expiry_is_elsewhere()};
    file_source_open(&f, fd, -1);
    loading_begin("snapshot", f.source.length == SOURCE_LENGTH_UNKNOWN ? 0 : f.source.length);
    bool good = rdb_load(&f.source, &how, &result);
    loading_end(good);
    file_source_close(&f);
    if (good)
        log_notice("Done loading RDB, keys loaded: %" PRIu64 ", keys expired: %" PRIu64
                   ", empty keys skipped: %" PRIu64 ".",
                   result.keys, result.expired, result.empty);
    else if (loading_is_cut_short())
        log_notice("The server is to stop: %s is loaded no further", filename);
    else
        log_fault(&result);
    return good;
}

int snapshot_load_open(void) { return system_open(filename, O_RDONLY | O_CLOEXEC, 0); }

bool snapshot_load_take(int fd, bool replaces) {
    bool good = load_file(fd, replaces);
    system_close(fd);
    return good;
}

/* True also where there is no file; false after a line in the log. */
static bool load_what_is_there(void) {
    int fd = snapshot_load_open();
    if (fd < 0 && errno == ENOENT) return true;
    if (fd < 0) {
        log_warning("Fatal error loading the DB: %s. Exiting.", strerror(errno));
        return false;
    }
    return snapshot_load_take(fd, false);
}

void snapshot_note_reloaded(void) {
    state.changes_saved = keyspace_changes();
    state.reloaded = true;
}

bool snapshot_is_current(void) {
    return saves_now() && !state.reloaded && state.changes_at_start == keyspace_changes();
}

void snapshot_begin(void) {
    state.last_good_sec = now_sec();
    state.opened = true;
    snapshot_note_reloaded();
}

bool snapshot_load_at_start(void) {
    int64_t begun = clock_monotonic_nsec();
    snapshot_begin();
    if (access(filename, F_OK) != 0 && errno == ENOENT) return true;
    if (!load_what_is_there()) {
        if (!loading_is_cut_short())
            log_warning("Terminating server after rdb file reading failure.");
        return false;
    }
    snapshot_note_reloaded();
    log_notice("DB loaded from disk: %.3f seconds", (double)(clock_monotonic_nsec() - begun) / 1e9);
    return true;
}

/* ---- children ---- */

static struct snapshot_file file; /* that which is saved in the background */

/* The file is in the folder where the save began: `dir` may be another one now. */
static void remove_temporary(int id) {
    char path[TEMPORARY_PATH_BYTES];
    temporary_path(&file, id, path);
    if (!file_remove(path) && errno != ENOENT)
        log_warning("Removing %s: %s", path, strerror(errno));
}

static void tell_ended(bool good) {
    for (const struct snapshot_observer *const *o = observers; *o; o++) (*o)->ended(good);
}

static void save_ended(const struct saver_end *end) {
    state.took_sec = now_sec() - state.begun_sec;
    state.cow_bytes = (int64_t)end->copied_bytes;
    if (end->good) {
        log_notice("Background saving terminated with success");
        note_saved(state.changes_at_start);
        tell_ended(true);
        return;
    }
    if (end->signal || end->on_purpose)
        log_warning("Background saving terminated by signal %d", end->signal);
    else
        log_warning("Background saving error");
    if (end->signal || end->on_purpose) remove_temporary(end->id);
    if (!end->on_purpose) state.failed = true;
    look_at_gate();
    tell_ended(false);
}

bool snapshot_start_child(void) {
    const struct saver_job job = {.kind = &saver_snapshot,
                                  .title = "redis-rdb-bgsave",
                                  .label = "RDB",
                                  .format = SAVER_SNAPSHOT,
                                  .sync_every_bytes = sync_every_bytes(),
                                  .open = open_file,
                                  .close = close_file,
                                  .argument = &file,
                                  .ended = save_ended};
    state.scheduled = false;
    if (!may_save()) return false;
    state.changes_at_start = keyspace_changes();
    state.reloaded = false;
    state.tried_sec = state.begun_sec = now_sec();
    if (!saver_is_busy()) describe_file(&file);
    if (!saver_start(&job)) {
        log_warning("Can't save in background: fork: %s", strerror(errno));
        state.failed = true;
        look_at_gate();
        return false;
    }
    log_notice("Background saving started by pid %d", saver_id());
    for (const struct snapshot_observer *const *o = observers; *o; o++) (*o)->began();
    return true;
}

void snapshot_cron(void) {
    look_at_gate();
    if (!state.opened || saver_is_busy() || loading_is_cut_short()) return;
    if (state.scheduled && (!state.failed || now_sec() - state.tried_sec > RETRY_SECONDS)) {
        (void)snapshot_start_child();
        return;
    }
    const struct save_point *due =
        save_points_due(changes_since(), now_sec() - state.last_good_sec);
    if (!due || (state.failed && now_sec() - state.tried_sec <= RETRY_SECONDS)) return;
    log_notice("%" PRId64 " changes in %" PRId64 " seconds. Saving...", due->changes, due->seconds);
    (void)snapshot_start_child();
}

/* Ended before the data is deleted, so that no page that the child shares is copied. */
static void end_child_before_flush(int database) {
    if (database == FLUSH_ALL && saves_now()) saver_kill(&saver_snapshot);
}

/* The count of changes since the last save is kept: FLUSHALL's own changes count, too. */
static void save_after_flush(int database) {
    if (database != FLUSH_ALL || !save_points_any() || loading_is_under_way() ||
        loading_is_cut_short())
        return;
    if (!save_file()) return;
    state.last_good_sec = now_sec();
    state.failed = false;
    look_at_gate();
}

const struct flush_observer snapshot_flush_observer = {end_child_before_flush, save_after_flush};
bool snapshot_is_scheduled(void) { return state.scheduled; }

bool snapshot_wanted_at_end(void) { return save_points_any(); }

void snapshot_end_child(void) {
    if (!saves_now()) return;
    int id = saver_id();
    log_warning("There is a child saving an .rdb. Killing it!");
    saver_kill_and_wait(&saver_snapshot);
    remove_temporary(id);
}

/* ---- commands ---- */

static void command_save(struct call *call) {
    if (saves_now())
        reply_error(call->client, "Background save already in progress");
    else if (snapshot_save())
        reply_ok(call->client);
    else
        reply_error(call->client, "the snapshot could not be saved: the log says why");
}

static void command_bgsave(struct call *call) {
    bool schedule = call->argc == 2 && argument_is(call, 1, "schedule");
    if (call->argc > 1 && !schedule) {
        reply_syntax_error(call->client);
    } else if (saves_now()) {
        reply_error(call->client, "Background save already in progress");
    } else if (saver_is_busy() && !schedule) {
        reply_error(call->client,
                    "Another child process is active (AOF?): can't BGSAVE right now. Use BGSAVE "
                    "SCHEDULE in order to schedule a BGSAVE whenever possible.");
    } else if (saver_is_busy() || call->origin == CALL_QUEUED) {
        /* Within EXEC a fork would see a part of the transaction. */
        state.scheduled = true;
        reply_status(call->client, "Background saving scheduled");
    } else if (snapshot_start_child()) {
        reply_status(call->client, "Background saving started");
    } else {
        reply_error(call->client, "the child could not be started: the log says why");
    }
}

static void command_lastsave(struct call *call) {
    reply_integer(call->client, state.last_good_sec);
}

static struct command rows[] = {
    COMMAND("save", command_save, 1, ADMIN | NO_SCRIPT, NO_CATEGORY, NO_KEYS,
            "Saves a snapshot; all clients wait meanwhile."),
    COMMAND("bgsave", command_bgsave, -1, ADMIN | NO_SCRIPT, NO_CATEGORY, NO_KEYS,
            "Saves a snapshot in the background; with SCHEDULE after another save has ended."),
    COMMAND("lastsave", command_lastsave, 1, BY_CHANCE | ANYTIME | FAST, ACL_ADMIN | ACL_DANGEROUS,
            NO_KEYS, "When a snapshot was last saved, as Unix time."),
};

/* ---- options and INFO ---- */

static bool apply_stop_writes(const struct option_row *row, char *reason, size_t reason_size) {
    look_at_gate();
    return true;
}

static const struct option_row option_rows[] = {
    {.name = "stop-writes-on-bgsave-error",
     .type = OPTION_TYPE_BOOL,
     .flags = OPTION_MUTABLE,
     .section = "snapshots",
     .place = 20,
     .fallback = "yes",
     .variable = &stop_writes,
     .apply = apply_stop_writes,
     .help = "Refuse writes after a snapshot that failed, until one succeeds."},
    {.name = "dbfilename",
     .type = OPTION_TYPE_STRING,
     .flags = OPTION_MUTABLE,
     .section = "snapshots",
     .place = 60,
     .fallback = "dump.rdb",
     .variable = &filename,
     .check = option_check_filename,
     .help = "The snapshot's file name, in the folder that dir names."},
    OPTION_BOOL("rdb-save-incremental-fsync", &incremental_sync, true, OPTION_MUTABLE, "snapshots",
                80, "Sync a snapshot to disk in steps while it is written, not all at the end."),
};

static void print_changes(const struct metric_row *row, struct buffer *out) {
    buffer_printf(out, "%" PRIu64, changes_since());
}
static void print_in_progress(const struct metric_row *row, struct buffer *out) {
    buffer_printf(out, "%d", saves_now());
}
static void print_status(const struct metric_row *row, struct buffer *out) {
    buffer_append_c_string(out, state.failed ? "err" : "ok");
}
static void print_current(const struct metric_row *row, struct buffer *out) {
    buffer_printf(out, "%" PRId64, saves_now() ? now_sec() - state.begun_sec : -1);
}

static const struct metric_row metric_rows[] = {
    METRIC_PRINT("Persistence", 70, "rdb_changes_since_last_save", METRIC_GAUGE, print_changes,
                 "Changes since the last good snapshot."),
    METRIC_PRINT("Persistence", 80, "rdb_bgsave_in_progress", METRIC_GAUGE, print_in_progress,
                 "Whether a snapshot is saved in the background."),
    METRIC_NUMBER("Persistence", 90, "rdb_last_save_time", METRIC_SECONDS, &state.last_good_sec,
                  "When the last good snapshot was saved, or the server started."),
    METRIC_PRINT("Persistence", 100, "rdb_last_bgsave_status", METRIC_STATE, print_status,
                 "ok, or err after a snapshot that failed."),
    METRIC_NUMBER("Persistence", 110, "rdb_last_bgsave_time_sec", METRIC_SECONDS, &state.took_sec,
                  "Seconds that the last save in the background took; -1: there was none."),
    METRIC_PRINT("Persistence", 120, "rdb_current_bgsave_time_sec", METRIC_SECONDS, print_current,
                 "Seconds since the present save in the background began; -1: none."),
    METRIC_NUMBER(
        "Persistence", 130, "rdb_last_cow_size", METRIC_BYTES, &state.cow_bytes,
        "Bytes of pages that were copied because they changed while the last child saved."),
};

void snapshot_options_register(void) {
    save_points_register(look_at_gate);
    rdb_save_register();
    rdb_load_register();
    option_register(option_rows, sizeof(option_rows) / sizeof(option_rows[0]));
}

void snapshot_register(void) {
    snapshot_options_register();
    metric_register(metric_rows, sizeof(metric_rows) / sizeof(metric_rows[0]));
    command_register(COMMAND_ROWS(rows));
}
