/* SPDX-License-Identifier: BSD-3-Clause
 * The new file's last steps. aof_switch.h has the idea.
 *
 *   APPENDS --little is missing--> SYNCS --> APPENDS --little is missing--> RENAMES --> over
 *      \______________________________\__________\__________________________/  \      ^
 *                                      a failure: over, all as it was         v      |
 *                                                              SYNCS_FOLDER, each second
 *
 * Each arrow is a job of a thread (aof_switch_jobs); the main thread only looks at its result
 * and decides on the next (aof_switch_turn). A round appends what was missing when it began, while
 * the main thread goes on with the old file. Rounds become shorter as long as appending is faster
 * than new writes; ROUNDS_MAX bounds their number.
 *
 * Why nothing is lost or doubled: the log is a stream of positions. The child's part stands for all
 * before `from`; what follows is appended exactly once, from `position` on, in order, and the
 * writer goes on from where it ends (aof_writer_switch). Only the rename could lose what is written
 * to the old file alone and acknowledged. So from before the rename until the switch nothing is
 * written to the old file alone:
 *
 *   always     The writer rests (aof_writer_rest). The thread appends the rest, syncs, renames and
 *              syncs the folder; then replies go on. So at every moment the name stands for a file
 *              that has, synced, all that was answered.
 *   else       The main thread writes to both (aof_writer_follow), beginning with the rest. So at
 *              every moment both files have all that was answered, but for what is allowed to wait
 *              while a sync holds the old one. The new one was synced before, but for these last
 *              rounds.
 *
 * A log's first file is switched to in the same way, but no old file has what is answered
 * meanwhile:
 *
 *   before the rename    A restart does not find the new file. No reply waits, and what is answered
 *                        may be lost: the log is not on yet.
 *   from the rename on   A restart may find the new file, so it has all that was ever answered:
 *                        replies wait as above from before the rename, under `always` until the
 *                        folder is synced, else until the main thread has written to the new file.
 *
 * Where the folder cannot be synced, a power cut may bring the old file back. So the switch goes
 * on: the main thread writes to both files, and the sync is retried each second.
 *
 * The rest begins with a SELECT, because the log forgets its database at the fork (aof/aof).
 */
#include "aof/aof_switch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>

#include "aof/aof_options.h"
#include "aof/aof_queue.h"
#include "aof/aof_writer.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/panic.h"
#include "base/system.h"
#include "io/background.h"
#include "io/file.h"
#include "metric/latency.h"

struct background_kind aof_switch_jobs = {.name = "rewrite"};

/* The main thread itself appends no more than this: some 30 us. */
#define LITTLE_BYTES ((uint64_t)65536)
/* Rounds become shorter unless writes come faster than the file takes them; after so many the rest
 * is appended, however long it is. */
#define ROUNDS_MAX 100
#define FOLDER_AGAIN_NSEC INT64_C(1000000000)

enum phase { OVER, APPENDS, SYNCS, WAITS_FOR_REST, RENAMES, WAITS_FOR_FOLDER, SYNCS_FOLDER };

/* A job for the thread, and its result. */
struct step {
    struct aof_range range;
    bool opens, appends, syncs, renames, syncs_folder;
    atomic_bool done;
    int error;
    const char *failed; /* what the thread was doing then */
    int folder_error;
    bool renamed;
    int64_t rename_nsec;
};

static struct aof_switch now;
static enum phase phase;
static struct step step;
static int fd = -1;
static uint64_t bytes;    /* of the new file */
static uint64_t position; /* the new file has all up to here */
static uint64_t step_to;  /* the value of `position` when the step is done */
static uint64_t synced;
static bool rest_synced, always;
static unsigned rounds;
static bool finishing;            /* aof_switch_finish is at work */
static int64_t folder_again_nsec; /* WAITS_FOR_FOLDER: the next try */
static int folder_error_said;

bool aof_switch_is_under_way(void) { return phase != OVER; }

bool aof_switch_has_to_end(void) { return phase >= RENAMES; }

uint64_t aof_switch_missing(void) {
    return phase != OVER && phase < WAITS_FOR_FOLDER && now.has_log ? aof_writer_end() - position
                                                                    : 0;
}

/* ---- on the thread ---- */

static bool step_fails(const char *what) {
    step.error = errno ? errno : EIO;
    step.failed = what;
    return false;
}

static bool open_new(void) {
    fd = system_open(now.temporary, O_WRONLY | O_APPEND | O_CLOEXEC, 0);
    struct stat status;
    if (fd < 0 || fstat(fd, &status) != 0) return step_fails("opening it");
    bytes = (uint64_t)status.st_size;
    return true;
}

static bool rename_new(void) {
    int64_t begun = clock_monotonic_nsec();
    int status = system_rename(now.temporary, now.path);
    step.rename_nsec = clock_monotonic_nsec() - begun;
    if (status != 0) return step_fails("renaming it");
    step.renamed = true;
    return true;
}

static void take_step(void *argument) {
    void (*wake)(void) = now.wake;
    size_t written;
    bool good = !step.opens || open_new();
    if (good && step.appends && !aof_range_write(fd, step.range, &written))
        good = step_fails("appending to it");
    if (good && step.syncs && !file_sync(fd)) good = step_fails("syncing it");
    if (good && step.renames) good = rename_new();
    if (good && step.syncs_folder && !file_sync_folder(now.path))
        step.folder_error = errno ? errno : EIO;
    atomic_store(&step.done, true);
    wake();
}

/* ---- on the main thread ---- */

static void begin_step(enum phase next, struct step what, uint64_t to) {
    phase = next;
    step = what;
    step_to = to;
    step.appends = to > position;
    if (step.appends) step.range = aof_queue_range(&aof_writer_queue, position, to);
    background_submit(&aof_switch_jobs, take_step, NULL);
}

static void end_switch(bool good) {
    phase = OVER;
    void (*ended)(bool) = now.ended;
    memory_free((char *)now.temporary, aof_memory);
    memory_free((char *)now.path, aof_memory);
    fd = -1;
    ended(good);
}

static void give_up(void) {
    if (now.has_log) {
        aof_writer_go_on();
        aof_writer_keep(AOF_WRITER_KEEP_NOTHING);
    }
    if (fd >= 0) system_close(fd);
    if (!step.renamed && !file_remove(now.temporary) && errno != ENOENT)
        log_warning("Removing %s: %s", now.temporary, strerror(errno));
    end_switch(false);
}

/* The new file has its name. */
static void take_over(void) {
    if (!now.has_log)
        system_close(fd);
    else if (always)
        aof_writer_switch(fd, bytes, position, position);
    else
        aof_writer_switch_followed(synced);
    end_switch(true);
}

static void begin_rename(void) {
    if (!now.has_log) {
        begin_step(RENAMES, (struct step){.renames = true, .syncs_folder = true}, position);
        return;
    }
    phase = WAITS_FOR_REST;
    always = aof_options()->fsync == AOF_FSYNC_ALWAYS;
    if (!aof_writer_rest(always)) return;
    if (always) {
        begin_step(RENAMES, (struct step){.syncs = true, .renames = true, .syncs_folder = true},
                   aof_writer_end());
        return;
    }
    int64_t begun = clock_monotonic_nsec();
    bool good = aof_writer_follow(fd, bytes, position);
    latency_note("aof-rewrite-diff-write", (clock_monotonic_nsec() - begun) / 1000000);
    if (!good)
        give_up();
    else
        begin_step(RENAMES, (struct step){.renames = true, .syncs_folder = true}, position);
}

/* The new file has its name; the folder was synced, or could not be. */
static void end_rename(void) {
    bool dies = now.has_log && (always || aof_options()->fsync == AOF_FSYNC_ALWAYS);
    if (step.folder_error && step.folder_error != folder_error_said)
        log_warning("Syncing the append only file's folder: %s", strerror(step.folder_error));
    folder_error_said = step.folder_error;
    if (step.folder_error && dies) now.die();
    if (phase == RENAMES) latency_note("aof-rename", step.rename_nsec / 1000000);
    if (!step.folder_error || !now.has_log || finishing) {
        take_over();
        return;
    }
    phase = WAITS_FOR_FOLDER;
    aof_writer_keep(AOF_WRITER_KEEP_NOTHING);
    folder_again_nsec = clock_monotonic_nsec() + FOLDER_AGAIN_NSEC;
}

/* The last step ended well. */
static void go_on(void) {
    bool little = aof_switch_missing() <= LITTLE_BYTES || rounds >= ROUNDS_MAX;
    if (!little) {
        rounds++;
        begin_step(APPENDS, (struct step){0}, aof_writer_end());
    } else if (!rest_synced) {
        rest_synced = true;
        begin_step(SYNCS, (struct step){.syncs = true}, position);
    } else {
        begin_rename();
    }
}

static void begin_folder(void) {
    begin_step(SYNCS_FOLDER, (struct step){.renamed = true, .syncs_folder = true}, position);
}

void aof_switch_begin(const struct aof_switch *what) {
    ASSERT(phase == OVER);
    now = *what;
    now.temporary = memory_strdup(what->temporary, aof_memory);
    now.path = memory_strdup(what->path, aof_memory);
    position = synced = what->from;
    rest_synced = !what->has_log; /* the child has synced its part */
    rounds = 0;
    folder_error_said = 0;
    begin_step(APPENDS, (struct step){.opens = true},
               what->has_log ? aof_writer_end() : what->from);
}

void aof_switch_turn(void) {
    if (phase == OVER) return;
    if (phase == WAITS_FOR_REST) {
        begin_rename();
        return;
    }
    if (phase == WAITS_FOR_FOLDER) {
        if (aof_writer_follow_fails())
            take_over();
        else if (clock_monotonic_nsec() >= folder_again_nsec)
            begin_folder();
        return;
    }
    if (!atomic_load(&step.done)) return;
    if (step.error) {
        log_warning("The new append only file is given up, %s: %s", step.failed,
                    strerror(step.error));
        give_up();
        return;
    }
    bytes += step_to - position;
    position = step_to;
    if (step.syncs) synced = position;
    if (phase == RENAMES || phase == SYNCS_FOLDER) {
        end_rename();
        return;
    }
    if (now.has_log) aof_writer_keep(position);
    go_on();
}

void aof_switch_finish(void) {
    if (phase == OVER) return;
    background_drain(&aof_switch_jobs);
    if (phase == WAITS_FOR_FOLDER) {
        begin_folder();
        background_drain(&aof_switch_jobs);
    }
    finishing = true;
    if (aof_switch_has_to_end())
        aof_switch_turn();
    else
        give_up();
    finishing = false;
}
