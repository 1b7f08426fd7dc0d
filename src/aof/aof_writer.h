/* SPDX-License-Identifier: BSD-3-Clause
 * The writer of the append only file: who writes to it, who syncs it, and what waits meanwhile.
 *
 * What is appended is a stream of bytes with positions (aof_queue.h). Each byte is appended, then
 * written (a kill of the process does not take it any more), then synced (nor does a cut of the
 * power). Replies leave by records (net/reply.h), when the file has what they tell of:
 *
 *   always     Another thread writes and syncs what a batch has left while the next batch runs;
 *              replies leave when that is synced. It waits a moment for those clients that the sync
 *              before has let go (aof_gather.h).
 *   everysec   The main thread writes, before replies leave; once a second another thread syncs.
 *   no         While a sync holds the file nothing is written: what comes waits in the queue, and
 *              replies do not wait for it. The other thread writes where that may take long (much
 *              at once; in the second after a write that took long; with aof-write-thread): then
 *              replies leave when it is written.
 *
 * At the queue's bounds writers are to wait (hold_writers): in bytes, and, while a sync holds the
 * file, in age.
 *
 * Errors: under `always` the process ends, and no reply has left. Otherwise what was written in
 * part is cut off again, all stays in the queue, and it is tried again each second; the host is
 * told when it begins and when it is over.
 *
 * One log a process; all calls are the main thread's.
 */
#ifndef EVENKEEL_AOF_AOF_WRITER_H
#define EVENKEEL_AOF_AOF_WRITER_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aof/aof_queue.h"
#include "base/attributes.h"

/* What the writer asks and tells. None may be NULL. */
struct aof_writer_host {
    /* All that units up to this record have done is appended. */
    uint64_t (*record)(void);
    /* What tells of this record, or an earlier one, may leave. */
    void (*allow)(uint64_t record);
    /* The queue is at a bound: who writes is to wait, until told false. */
    void (*hold_writers)(bool hold);
    /* The file cannot be written or synced (errno); 0: it can again. */
    void (*failing)(int error);
    /* Under `always` it cannot. */
    void (*die)(void) __attribute__((noreturn));
    /* From any thread: aof_writer_turn is to be called. */
    void (*wake)(void);
};

/* Begins with a file, open for appending, which is the writer's from now on. -1: there is no log
 * yet. Then all that is appended stays in the queue for aof_writer_switch, and replies leave at
 * once until the writer rests wholly, or follows a file: that file is about to become the log. */
void aof_writer_open(const struct aof_writer_host *host, int fd, uint64_t file_bytes);
/* Closes the file on another thread. What is not written is lost: drain first. Replies that waited
 * leave. */
void aof_writer_close(void);
FOR_TESTS bool aof_writer_is_open(void);

/* ---- appending ---- */

extern struct aof_queue aof_writer_queue;
/* Room for so many bytes in a row, to be followed by a commit of what is used of it. A commit ends
 * with a whole command; all of a unit is appended before the next flush. */
static inline char *aof_writer_reserve(size_t bytes) {
    return aof_queue_reserve(&aof_writer_queue, bytes);
}
static inline void aof_writer_commit(const char *end) { aof_queue_commit(&aof_writer_queue, end); }
/* The position behind all that was appended. */
static inline uint64_t aof_writer_end(void) { return aof_writer_queue.end; }

/* ---- turns ---- */

/* Before replies are written: writes, syncs, or hands on what is due. */
void aof_writer_flush(void);
/* After the loop woke: notes what the other thread has done. */
void aof_writer_turn(void);
/* Waits for the other thread, writes all, and with `sync`, or under `always`, syncs. False where
 * that failed; the host was told. */
MUST_USE bool aof_writer_drain(bool sync);

/* ---- another file takes this one's place ---- */

#define AOF_WRITER_KEEP_NOTHING UINT64_MAX
/* From this position on all stays in memory, written or not; not earlier than what is kept. */
void aof_writer_keep(uint64_t from);
/* From now on no other thread begins to write, until aof_writer_switch or aof_writer_go_on;
 * `wholly`: nobody does, and replies wait. False while one still does: to be asked again. */
MUST_USE bool aof_writer_rest(bool wholly);
/* While the writer rests, not wholly: the main thread writes to this file, too, which has
 * `file_bytes` and all up to `position`; what is missing at once. False where that failed: go on.
 * Where it fails later no reply leaves any more until it is switched to. */
MUST_USE bool aof_writer_follow(int fd, uint64_t file_bytes, uint64_t position);
bool aof_writer_follow_fails(void);
/* The file that is followed stays a stranger; the writer does not rest any more. */
void aof_writer_go_on(void);
/* The file that was followed, or this one, is the log from now on: it has all up to `position`, and
 * up to `synced` it is synced. The old one is closed on another thread. While the writer rests. */
void aof_writer_switch(int fd, uint64_t file_bytes, uint64_t position, uint64_t synced);
/* The same with the one that was followed. */
void aof_writer_switch_followed(uint64_t synced);

/* ---- what INFO and tests ask ---- */

struct aof_writer_state {
    uint64_t file_bytes;      /* written to the file, or found in it */
    uint64_t queued;          /* bytes that are not written */
    uint64_t written, synced; /* positions; what is synced may be more than is known */
    uint64_t delayed;         /* how often a bound was reached */
    bool busy;                /* the other thread has something to do for it */
    bool syncing;             /* a sync alone */
    int error;                /* the file's, 0 = it is well */
};
struct aof_writer_state aof_writer_state(void);
void aof_writer_reset_stats(void);
/* The file may have been cut off behind its last whole command by who read it, between a drain and
 * now: asks how long it is. */
void aof_writer_note_cut(void);
/* DEBUG AOF-FLUSH-SLEEP: before each write. */
void aof_writer_set_sleep(int64_t usec);
#endif
