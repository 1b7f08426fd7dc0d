/* SPDX-License-Identifier: BSD-3-Clause
 * Sinks and sources (base/stream.h) over files, pipes and sockets.
 *
 * Interruptions and short transfers are taken care of. A non-blocking descriptor is waited for in
 * the caller's thread, so these are for children, background threads, and callers that may block
 * the loop.
 */
#ifndef EVENKEEL_IO_FILE_STREAM_H
#define EVENKEEL_IO_FILE_STREAM_H
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/stream.h"

#define FILE_WINDOW_BYTES 65536

/* Both must not move in memory while they are open. */
struct file_sink {
    struct sink sink;
    int fd;
    int wait_msec;
    char *window;
    uint64_t at;          /* in the file: behind what was written */
    uint64_t sync_every;  /* 0: never */
    uint64_t sync_begun;  /* up to here writing to disk was begun ... */
    uint64_t sync_waited; /* ... and has ended */
    bool drops_cache, syncs_whole;
    bool (*is_given_up)(const void *context); /* NULL: it is never given up */
    const void *context;
};

/* Writes to `fd` from where it stands; it stays the caller's. Where it does not block, each write
 * waits at most `wait_msec` for room (-1: for ever) and fails with ETIMEDOUT. */
void file_sink_open(struct file_sink *f, int fd, int wait_msec);
/* Spreads the work of the sync at the end: each `bytes` (0: never) the disk begins to write them,
 * and those before are waited for, so that never more than twice as many are dirty. This is no
 * sync: what is to stay must be synced (file_sync). `drop_cache`: the system need not keep them in
 * memory.
 */
void file_sink_set_sync(struct file_sink *f, uint64_t bytes, bool drop_cache);
/* While a descriptor that does not block takes nothing, the writer asks this function several times
 * a second; once it says true the write fails with ECANCELED. */
void file_sink_set_given_up(struct file_sink *f, bool (*is_given_up)(const void *context),
                            const void *context);
/* Frees the window; what was not flushed is lost. Keeps errno. */
void file_sink_close(struct file_sink *f);

struct file_source {
    struct source source;
    int fd;
    int wait_msec;
    char *window;
    uint64_t at;  /* in the file: behind what was read */
    uint64_t end; /* nothing is read from here on */
};

/* Reads from `fd` from where it stands; it stays the caller's. A plain file's length is known
 * (source_left_max). `wait_msec` as above. */
void file_source_open(struct file_source *f, int fd, int wait_msec);
/* A plain file ends where it did when it was opened here, whatever has been added to it since. */
void file_source_end_at_length(struct file_source *f);
void file_source_close(struct file_source *f);
#endif
