/* SPDX-License-Identifier: BSD-3-Clause
 * The writer of the append-only file: it takes the effects of calls, and says which thread writes
 * them, which one syncs, and what waits meanwhile.
 *
 * What is appended is a stream of bytes with positions (aof_queue.h). Each byte is appended, then
 * written (it survives a kill of the process), then synced (it survives a power cut). Replies leave
 * by records (net/reply.h), when the file has the writes that they acknowledge:
 *
 *   always     Another thread writes and syncs what a batch has left while the next batch runs;
 *              replies leave when that is synced. A sync waits a moment for the clients that the
 *              last sync has let go (aof_gather.h).
 *   everysec,  The main thread writes, before replies leave; under everysec another thread syncs
 *   no         once a second. While a sync holds the file nothing is written: new bytes wait in
 *              the queue, and replies do not wait for them. The other thread writes where that may
 *              take long (many bytes at once; in the second after a write that took long; with
 *              aof-write-thread): then replies leave when it is written.
 *
 * When the queue reaches a bound, writers wait (hold_writers). It is bounded in bytes and, while a
 * sync holds the file, in age.
 *
 * Errors: under `always` the process ends, and no reply has left. Otherwise a partial write is cut
 * off again, all stays in the queue, and the write is retried each second; the host is told when
 * the error begins and when it ends.
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

struct background_kind;
struct effect_sink;

/* Writes and syncs of the log by another thread. */
extern struct background_kind aof_writer_jobs;

/* Callbacks of the writer's user. None may be NULL. */
struct aof_writer_host {
    /* Returns the last record whose unit, with all before it, is appended. */
    uint64_t (*record)(void);
    /* Replies that wait for this record, or an earlier one, may leave. */
    void (*allow)(uint64_t record);
    /* The queue is at a bound: writers must wait, until this is called with false. */
    void (*hold_writers)(bool hold);
    /* The file cannot be written or synced (errno); 0: it can be again. */
    void (*failing)(int error);
    /* The file cannot be written under `always`: ends the process. */
    void (*die)(void) __attribute__((noreturn));
    /* Asks for a call of aof_writer_turn; called from any thread. */
    void (*wake)(void);
};

/* Opens the writer with a file that is open for appending; the writer owns it from now on. Effects
 * are wanted from now on (effects_add_interest), until the writer is closed. -1:
 * there is no log yet. Then all that is appended stays in the queue for aof_writer_switch, and
 * replies leave at once until the writer rests wholly, or follows a file that is about to become
 * the log. */
void aof_writer_open(const struct aof_writer_host *host, int fd, uint64_t file_bytes);
/* Closes the writer, and the file on another thread. Bytes that are not written are lost: drain
 * first. Replies that waited leave. */
void aof_writer_close(void);
FOR_TESTS bool aof_writer_is_open(void);

/* ---- appending ---- */

/* The sink of effects, for server/wiring: appends commands to the queue while the writer is open.
 * All of a unit is appended before the next flush. */
extern const struct effect_sink aof_writer_sink;
/* What is appended and not released yet: whole commands. */
extern struct aof_queue aof_writer_queue;
/* The position behind all that was appended. */
static inline uint64_t aof_writer_end(void) { return aof_writer_queue.end; }

/* ---- turns ---- */

/* Called before replies are written: writes, syncs, or hands to the other thread what is due. */
void aof_writer_flush(void);
/* Called after the loop woke: notes what the other thread has done. */
void aof_writer_turn(void);
/* Waits for the other thread, writes all, and syncs with `sync` or under `always`. Returns false if
 * that failed; the host was told. */
MUST_USE bool aof_writer_drain(bool sync);

/* ---- another file takes this one's place ---- */

#define AOF_WRITER_KEEP_NOTHING UINT64_MAX
/* Keeps all bytes from this position on in memory, written or not; not earlier than what is
 * kept. */
void aof_writer_keep(uint64_t from);
/* Keeps all bytes from here on, and returns this position. They begin with a SELECT, because they
 * will stand in another file, behind what a rewrite has written. */
uint64_t aof_writer_begin_part(void);
/* Makes the other thread begin no more writes, until aof_writer_switch or aof_writer_go_on.
 * `wholly`: the main thread writes nothing either, and replies wait. Returns false while the other
 * thread still writes: ask again. */
MUST_USE bool aof_writer_rest(bool wholly);
/* While the writer rests, not wholly: the main thread writes to this file, too. The file has
 * `file_bytes` and all up to `position`; what is missing is written at once. Returns false if that
 * failed: call aof_writer_go_on. After a later failure no reply leaves until the writer switches to
 * this file. */
MUST_USE bool aof_writer_follow(int fd, uint64_t file_bytes, uint64_t position);
bool aof_writer_follow_fails(void);
/* Stops following the file, which the caller keeps, and resting. */
void aof_writer_go_on(void);
/* Makes this file the log: it has all up to `position` and is synced up to `synced`. The old file
 * is closed on another thread. While the writer rests. */
void aof_writer_switch(int fd, uint64_t file_bytes, uint64_t position, uint64_t synced);
/* Makes the followed file the log, as aof_writer_switch does; it is synced up to `synced`. */
void aof_writer_switch_followed(uint64_t synced);

/* ---- what INFO and tests ask ---- */

struct aof_writer_state {
    uint64_t file_bytes;      /* written to the file, or found in it */
    uint64_t queued;          /* bytes that are not written */
    uint64_t written, synced; /* positions; more may be synced than is known */
    uint64_t delayed;         /* how often a bound was reached */
    bool busy;                /* the other thread has a job for the file */
    bool syncing;             /* the job only syncs */
    int error;                /* the present failure's errno, 0 = none */
};
struct aof_writer_state aof_writer_state(void);
void aof_writer_reset_stats(void);
/* Asks for the file's length again: since the last drain a loader may have cut off what followed
 * its last whole command. */
void aof_writer_note_cut(void);
/* DEBUG AOF-FLUSH-SLEEP: sleeps so long before each write. */
void aof_writer_set_sleep(int64_t usec);
#endif
