/* SPDX-License-Identifier: BSD-3-Clause
 * Full syncs. full_sync.h has the idea.
 *
 * A snapshot's file and a copy to sockets may share a walk (save/saver.h): replicas that wait for
 * sockets join any snapshot that begins. Each of the two then ends as if it were alone.
 *
 *   none --start--> to a file ----the child has ended----> none     (replicas get the file)
 *     |                                                     ^
 *     +--start--> to sockets --pipe's end, child's end------+       (replicas get the mark)
 *
 * Invariants
 *  1. Replicas in WAITS_END wait for the file, those in RECEIVES_COPY for the pipe; replicas are in
 *     these states only while that copy is under way.
 *  2. `copy` exists exactly while a copy goes to sockets, or its replicas still take it. No other
 *     copy begins before that is over, not even to a file: as in 6.2, where the child lives so
 *     long.
 */
#include "replication/full_sync.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/panic.h"
#include "base/random.h"
#include "base/system.h"
#include "io/child.h"
#include "io/file.h"
#include "io/loop.h"
#include "metric/row.h"
#include "net/client.h"
#include "net/reply.h"
#include "option/option.h"
#include "replication/feed.h"
#include "replication/history.h"
#include "replication/replica.h"
#include "replication/stream.h"
#include "save/saver.h"
#include "save/snapshot.h"

/* A replica that has so much still to take wants no more for now. */
#define COPY_HELD_BYTES_MAX (REPLICA_COPY_BYTES_FREE / 2)
/* The pipe waits for a replica while that takes PACE_BYTES of its copy in PACE_NSEC. So a replica
 * that was stopped, or a hostile one, delays others once, and a busy disk causes no replica to be
 * dropped. */
#define PACE_BYTES COPY_HELD_BYTES_MAX
#define PACE_NSEC INT64_C(5000000000)
#define PIPE_READ_BYTES 65536
/* How often the pipe is read in a turn where writers would wait otherwise: what a processor encodes
 * in a turn. */
#define PIPE_READS_PRESSED 16
/* The mark stands behind "$EOF:", and at the copy's end. */
#define MARK_CHARS 40

enum job { JOB_NONE, JOB_FILE, JOB_SOCKETS };

static struct loop *loop;
static enum job job;
static int64_t job_place; /* the history's place at which the copy was begun */
static bool diskless, delete_file;
static int64_t delay_sec;
static uint64_t full_syncs;
static bool file_is_for_replicas_only;
/* Where the snapshot is written: dbfilename and the folder may change meanwhile. */
static char file_path[2 * PATH_MAX];
/* The history's place at which the snapshot under way was begun; -1: there is none, or there was no
 * backlog. */
static int64_t snapshot_place = -1;
static char snapshot_history[HISTORY_ID_CHARS + 1];

static struct {
    struct loop_watcher pipe;
    struct feed *feed;
    char mark[MARK_CHARS + 1];
    bool pipe_ended, child_ended, child_good;
    char bytes[PIPE_READ_BYTES];
} copy = {.pipe = {.fd = -1}};

/* The ends of the pipe. The saver may use both once it has begun, but the end for reading is ours.
 * -1: the saver has taken the end for writing. */
static atomic_int saver_ends[2];

/* ---- whom it is for ---- */

static int count_in(enum replica_state state) {
    int count = 0;
    REPLICA_FOR_EACH(r, state) count++;
    return count;
}

/* The replica gets the copy that is under way, or begins, and is told its place. */
static void be_with_copy(struct replica *r, enum replica_state state) {
    if (!r->is_old) replica_say(r, "+FULLRESYNC %s %lld\r\n", history_id(), (long long)job_place);
    replica_set_state(r, state);
}

static void take_along(struct replica *r, enum replica_state state) {
    bool follows = replica_follow(r, job_place);
    ASSERT(follows); /* job_place is the history's end */
    be_with_copy(r, state);
}

static void fail_waiting(const char *text) {
    REPLICA_FOR_EACH(r, REPLICA_WAITS_START) replica_refuse(r, text);
}

/* ---- to a file ---- */

static void note_file_path(void) {
    char folder[PATH_MAX];
    file_present_folder(folder);
    snprintf(file_path, sizeof(file_path), "%s/%s", folder, snapshot_path());
}

static void send_file(struct replica *r) {
    struct stat status;
    int fd = system_open(file_path, O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0 || fstat(fd, &status) != 0) {
        log_warning("SYNC failed. Can't open/stat DB after BGSAVE: %s", strerror(errno));
        if (fd >= 0) system_close(fd);
        replica_close(r);
        return;
    }
    replica_send_file(r, fd, status.st_size);
}

static void file_ended(bool good) {
    snapshot_place = -1;
    if (job != JOB_FILE) return;
    job = JOB_NONE;
    if (!good) log_warning("SYNC failed. BGSAVE child returned an error");
    REPLICA_FOR_EACH(r, REPLICA_WAITS_END) {
        if (good)
            send_file(r);
        else
            replica_close(r);
    }
}

static bool start_file(void) {
    if (!snapshot_start_child()) return false;
    job = JOB_FILE;
    file_is_for_replicas_only = !snapshot_wanted_at_end();
    REPLICA_FOR_EACH(r, REPLICA_WAITS_START) take_along(r, REPLICA_WAITS_END);
    return true;
}

/* ---- to sockets ---- */

static void close_pipe(void) {
    if (copy.pipe.fd < 0) return;
    loop_unwatch(loop, &copy.pipe);
    system_close(copy.pipe.fd);
    copy.pipe.fd = -1;
}

static void forget_copy(void) {
    close_pipe();
    REPLICA_FOR_EACH(r, REPLICA_RECEIVES_COPY) replica_close(r);
    /* Closing replicas hold their place until their client is freed. */
    for (struct list_link *link = replica_list()->next; link != replica_list(); link = link->next)
        feed_leave(&LIST_ENTRY(link, struct replica, link)->copy);
    feed_free(copy.feed);
    copy.feed = NULL;
    if (job == JOB_SOCKETS) job = JOB_NONE;
}

/* When pipe and save have ended: the replicas get the mark; after a failure they are closed,
 * because their bytes are no copy. */
static void look_at_end(void) {
    if (!copy.pipe_ended || !copy.child_ended) return;
    job = JOB_NONE;
    if (!copy.child_good) {
        forget_copy();
        return;
    }
    feed_append(copy.feed, copy.mark, MARK_CHARS);
    REPLICA_FOR_EACH(r, REPLICA_RECEIVES_COPY) {
        r->copy_ended = r->awaits_acknowledgement = true;
        reply_stream_more(r->client);
    }
}

static bool has_enough(const struct replica *r) {
    /* A pipe that rests does so until a replica has taken half. */
    size_t enough = copy.pipe.interest ? COPY_HELD_BYTES_MAX : COPY_HELD_BYTES_MAX / 2;
    return feed_lag(&r->copy) >= enough;
}

/* Whether the replica has enough and goes on taking it: then the others wait for it. */
static bool sets_pace(struct replica *r, int64_t now_nsec) {
    bool enough = has_enough(r);
    if (!enough || r->copy.place - r->paced_place >= (int64_t)PACE_BYTES) {
        r->paced_place = r->copy.place;
        r->paced_nsec = now_nsec;
    }
    return enough && now_nsec - r->paced_nsec < PACE_NSEC;
}

static bool pipe_may_rest(void) {
    int64_t now_nsec = clock_monotonic_nsec();
    bool wanted = saver_is_shared(saver_ends), paced = false;
    if (saver_is_pressed()) return false;
    REPLICA_FOR_EACH(r, REPLICA_RECEIVES_COPY) {
        if (!has_enough(r)) wanted = true;
        if (sets_pace(r, now_nsec)) paced = true;
    }
    return paced || !wanted;
}

static void note_pipe_end(ssize_t got) {
    if (got < 0) log_warning("Diskless rdb transfer, read error: %s", strerror(errno));
    log_notice("Diskless rdb transfer, done reading from pipe, %d replicas still up.",
               count_in(REPLICA_RECEIVES_COPY));
    close_pipe();
    copy.pipe_ended = true;
    look_at_end();
}

/* False where no more bytes are there for now. */
static bool read_pipe(void) {
    ssize_t got = system_read(copy.pipe.fd, copy.bytes, sizeof(copy.bytes));
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    if (got <= 0) {
        note_pipe_end(got);
        return false;
    }
    feed_append(copy.feed, copy.bytes, (size_t)got);
    return true;
}

static void pipe_ready(struct loop_watcher *watcher, unsigned ready) {
    int reads = saver_is_pressed() ? PIPE_READS_PRESSED : 1;
    while (reads-- && read_pipe()) continue;
    REPLICA_FOR_EACH(r, REPLICA_RECEIVES_COPY) {
        reply_stream_more(r->client);
        replica_check_limit(r);
    }
    if (watcher->fd >= 0 && pipe_may_rest()) loop_unwatch(loop, watcher);
}

static void save_ended(const struct saver_end *end) {
    if (end->good)
        log_notice("Background RDB transfer terminated with success");
    else if (end->signal || end->on_purpose)
        log_warning("Background transfer terminated by signal %d", end->signal);
    else
        log_warning("Background transfer error");
    int unused = atomic_exchange(&saver_ends[1], -1);
    if (unused >= 0) system_close(unused);
    copy.child_ended = true;
    copy.child_good = end->good;
    if (!copy.feed) return;
    if (!end->good && copy.pipe.fd >= 0)
        note_pipe_end(0); /* the pipe's bytes are no copy, whether replicas read them or not */
    else
        look_at_end();
}

/* ---- where it is written (save/saver_job.h) ---- */

static int open_pipe(void *argument, int id) {
    atomic_int *ends = argument;
    if (child_here()) system_close(atomic_load(&ends[0]));
    return atomic_exchange(&ends[1], -1);
}

static bool close_pipe_end(void *argument, int fd, int error) {
    system_close(fd);
    if (error) log_warning("Writing a copy for replicas: %s", strerror(error));
    return error == 0;
}

/* Starts a save to the pipe or, with `joins`, joins the snapshot that has just begun. */
static bool save_to_pipe(const int from[2], bool joins) {
    const struct saver_job save = {.kind = &saver_snapshot,
                                   .title = "redis-rdb-to-slaves",
                                   .label = "RDB",
                                   .format = SAVER_SNAPSHOT,
                                   .open = open_pipe,
                                   .close = close_pipe_end,
                                   .argument = saver_ends,
                                   .ended = save_ended};
    if (joins ? !saver_may_join() : saver_is_busy()) return false;
    for (int i = 0; i < 2; i++) atomic_store(&saver_ends[i], from[i]);
    if (!(joins ? saver_join(&save) : saver_start(&save))) {
        atomic_store(&saver_ends[1], -1);
        return false;
    }
    if (saver_is_a_process()) atomic_store(&saver_ends[1], -1); /* the child has its own */
    log_notice("Background RDB transfer started by pid %d", saver_id());
    return true;
}

static void expect_copy(struct replica *r, const struct replica *other) {
    replica_say(r, "$EOF:%.*s\r\n", MARK_CHARS, copy.mark);
    replica_expect_copy(r, copy.feed, other);
}

static bool start_sockets(bool joins) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0) return false;
    bool good = save_to_pipe(ends, joins);
    if (!good || saver_is_a_process()) system_close(ends[1]);
    copy.pipe = (struct loop_watcher){.fd = ends[0], .callback = pipe_ready};
    if (!good || !loop_watch(loop, &copy.pipe, LOOP_READABLE)) {
        if (good) saver_leave(saver_ends);
        close_pipe();
        return false;
    }
    copy.feed = feed_create(replication_memory, 0, 0);
    copy.pipe_ended = copy.child_ended = false;
    random_hex(copy.mark, MARK_CHARS);
    job = JOB_SOCKETS;
    REPLICA_FOR_EACH(r, REPLICA_WAITS_START) {
        take_along(r, REPLICA_RECEIVES_COPY);
        expect_copy(r, NULL);
    }
    return true;
}

size_t full_sync_memory(void) { return copy.feed ? feed_held_memory(copy.feed) : 0; }

void full_sync_stop(void) {
    if (!copy.feed) return;
    if (job == JOB_SOCKETS) saver_leave(saver_ends);
    forget_copy();
}

/* ---- when ---- */

static bool all_read_eof(void) {
    unsigned shared = ~0u;
    REPLICA_FOR_EACH(r, REPLICA_WAITS_START) shared &= r->capabilities;
    return shared & REPLICA_READS_EOF;
}

static void begin_at_this_place(void) {
    stream_begin_copy();
    job_place = history_place();
}

/* A snapshot begins: replicas that wait for sockets share its walk. */
static void snapshot_began(void) {
    note_file_path();
    snapshot_place = history_feed() ? history_place() : -1;
    snprintf(snapshot_history, sizeof(snapshot_history), "%s", history_id());
    if (job != JOB_NONE || copy.feed || !saver_may_join()) return;
    if (!diskless || !count_in(REPLICA_WAITS_START) || !all_read_eof()) return;
    begin_at_this_place();
    if (start_sockets(true)) log_notice("The copy for replicas shares the walk of the snapshot");
}

/* If a snapshot is scheduled as well, starts it, and the replicas join it. */
static bool start_with_snapshot(void) {
    if (!snapshot_is_scheduled() || !saver_walks() || saver_is_busy()) return false;
    return snapshot_start_child() && job == JOB_SOCKETS;
}

/* Begins a copy for all waiting replicas. */
static void full_sync_start(void) {
    bool to_sockets = diskless && all_read_eof();
    if (to_sockets && start_with_snapshot()) return;
    log_notice("Starting BGSAVE for SYNC with target: %s",
               to_sockets ? "replicas sockets" : "disk");
    begin_at_this_place();
    if (to_sockets ? start_sockets(false) : start_file()) return;
    log_warning("BGSAVE for replication failed");
    fail_waiting("BGSAVE failed, replication can't continue");
}

/* A file that is written for a replica with the same capabilities serves this one, too. The history
 * from the file's place on may be longer than the backlog by now, but is held for the waiting
 * replica. */
static bool share_file(struct replica *late) {
    if (job != JOB_FILE) return false;
    REPLICA_FOR_EACH(r, REPLICA_WAITS_END) {
        if ((late->capabilities & r->capabilities) != r->capabilities) continue;
        replica_follow_with(late, r);
        be_with_copy(late, REPLICA_WAITS_END);
        return true;
    }
    return false;
}

/* Shares the file of a snapshot by walk, if no data has changed since it began, so that it is still
 * the data at the history's end. Both the snapshot and the place are checked, because DEBUG changes
 * data without a word in the history. Under fork a replica waits for the next copy, as in 6.2. */
static bool share_snapshot(struct replica *late) {
    if (job != JOB_NONE || !snapshot_is_current() || saver_is_a_process()) return false;
    if (snapshot_place < 0 || snapshot_place != history_place() ||
        strcmp(snapshot_history, history_id()) != 0)
        return false;
    begin_at_this_place();
    job = JOB_FILE;
    file_is_for_replicas_only = false;
    take_along(late, REPLICA_WAITS_END);
    return true;
}

/* Shares the copy that a walk sends to other replicas, if one of them has taken nothing yet, so
 * that all its bytes are still there. */
static bool share_sockets(struct replica *late) {
    if (job != JOB_SOCKETS || saver_is_a_process() || !(late->capabilities & REPLICA_READS_EOF))
        return false;
    REPLICA_FOR_EACH(r, REPLICA_RECEIVES_COPY) {
        if (r->copy.place != 0) continue;
        replica_follow_with(late, r);
        be_with_copy(late, REPLICA_RECEIVES_COPY);
        expect_copy(late, r);
        return true;
    }
    return false;
}

void full_sync_request(struct replica *r) {
    full_syncs++;
    replica_set_state(r, REPLICA_WAITS_START);
    if (share_file(r) || share_snapshot(r)) {
        log_notice("Waiting for end of BGSAVE for SYNC");
    } else if (share_sockets(r)) {
        log_notice("The copy that begins for other replicas goes to this one, too");
    } else if (copy.feed) {
        log_notice("Current BGSAVE has socket target. Waiting for next BGSAVE for SYNC");
    } else if (saver_kind() == &saver_snapshot) {
        log_notice(
            "Can't attach the replica to the current BGSAVE. Waiting for next BGSAVE for SYNC");
    } else if (diskless && delay_sec && r->capabilities & REPLICA_READS_EOF) {
        log_notice("Delay next BGSAVE for diskless SYNC");
    } else if (saver_is_busy()) {
        log_notice(
            "No BGSAVE in progress, but another BG operation is active. BGSAVE for replication "
            "delayed");
    } else {
        full_sync_start();
    }
}

static void start_what_waits(void) {
    int64_t longest = -1;
    REPLICA_FOR_EACH(r, REPLICA_WAITS_START) {
        int64_t waits = clock_monotonic_sec() - r->waits_since_sec;
        if (waits > longest) longest = waits;
    }
    if (longest < 0 || saver_is_busy() || job != JOB_NONE || copy.feed) return;
    if (!diskless || !all_read_eof() || longest >= delay_sec) full_sync_start();
}

bool full_sync_removes_files(void) { return delete_file && !snapshot_wanted_at_end(); }

/* Removes a file that was written only for replicas, when they have it. */
static void remove_file(void) {
    if (!file_is_for_replicas_only || !delete_file || job != JOB_NONE) return;
    if (count_in(REPLICA_WAITS_START) || count_in(REPLICA_RECEIVES_FILE)) return;
    file_is_for_replicas_only = false;
    if (snapshot_wanted_at_end()) return;
    log_notice("Removing the RDB file used to feed replicas in a persistence-less instance");
    if (!file_remove(file_path) && errno != ENOENT)
        log_warning("Removing %s: %s", file_path, strerror(errno));
}

void full_sync_cron(void) {
    start_what_waits();
    remove_file();
}

/* Ends the save of a file that no replica waits for any more, and that was written only for
 * replicas. */
static void end_useless_file(void) {
    if (job != JOB_FILE || !file_is_for_replicas_only || count_in(REPLICA_WAITS_END)) return;
    log_notice("Nobody waits any more for the RDB file that a child writes: killing it.");
    job = JOB_NONE;
    saver_kill(&saver_snapshot);
}

bool full_sync_step(void) {
    end_useless_file();
    if (!copy.feed) return false;
    (void)feed_free_step(copy.feed);
    if (!count_in(REPLICA_RECEIVES_COPY)) {
        if (job == JOB_SOCKETS) {
            log_notice("Diskless rdb transfer, last replica dropped, killing fork child.");
            saver_leave(saver_ends);
        }
        forget_copy();
        return false;
    }
    bool rests = copy.pipe.fd >= 0 && !copy.pipe.interest;
    if (rests && !pipe_may_rest() && !loop_watch(loop, &copy.pipe, LOOP_READABLE)) full_sync_stop();
    return false;
}

/* ---- options and INFO ---- */

static const struct option_row option_rows[] = {
    OPTION_BOOL("repl-diskless-sync", &diskless, false, OPTION_MUTABLE, "replication", 60,
                "Send a full copy to replicas as it is encoded, without a file."),
    OPTION_INT("repl-diskless-sync-delay", &delay_sec, "5", 0, INT32_MAX, OPTION_MUTABLE,
               "replication", 70,
               "Seconds to wait for more replicas before a copy without a file begins."),
    OPTION_BOOL(
        "rdb-del-sync-files", &delete_file, false, OPTION_MUTABLE, "snapshots", 70,
        "Remove a snapshot that was written only for replicas, if there are no save points."),
};

static const struct metric_row metric_rows[] = {
    {.section = "Stats",
     .place = 90,
     .name = "sync_full",
     .measure = METRIC_COUNTER,
     .type = METRIC_UINT64,
     .variable = &full_syncs,
     .reset = true,
     .help = "Copies that replicas have asked for."},
};

void full_sync_register(void) {
    option_register(option_rows, sizeof(option_rows) / sizeof(option_rows[0]));
    metric_register(metric_rows, sizeof(metric_rows) / sizeof(metric_rows[0]));
}

const struct snapshot_observer full_sync_snapshot_observer = {snapshot_began, file_ended};

void full_sync_open(struct loop *of) { loop = of; }
