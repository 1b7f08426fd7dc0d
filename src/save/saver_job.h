/* SPDX-License-Identifier: BSD-3-Clause
 * The description of a save in the background: what it writes, and where. Made by the caller of
 * saver_start (save/saver.h), read by the child or the scribe that writes.
 */
#ifndef EVENKEEL_SAVE_SAVER_JOB_H
#define EVENKEEL_SAVE_SAVER_JOB_H
#include <stdbool.h>
#include <stdint.h>

#include "io/child.h"

enum saver_format {
    SAVER_SNAPSHOT, /* an RDB file */
    SAVER_PREAMBLE, /* an RDB file with which a log begins */
    SAVER_COMMANDS  /* a log */
};

/* How a save ended. */
struct saver_end {
    bool good;
    bool on_purpose;       /* by saver_kill, or an operator's SIGUSR1: no error */
    int signal;            /* the signal that ended the child, 0 = none */
    int id;                /* as `open` had it */
    uint64_t copied_bytes; /* pages that were copied because they changed */
};

/* How many jobs may share one save: a file, and sockets. */
#define SAVER_JOBS_MAX 2

struct saver_job {
    const struct child_kind *kind; /* saver_snapshot (saver.h), or that of the log */
    const char *title;             /* of a child, for ps */
    const char *label;             /* for the log: "RDB" */
    enum saver_format format;
    uint64_t sync_every_bytes; /* file_sink_set_sync; 0: never */
    /* Both functions run where the bytes are written: in a child, or on another thread beside the
     * main one. So they may touch nothing that the main thread changes meanwhile.
     * open: returns the descriptor to write to; -1 with errno set, after a line in the log. `id`
     * makes names unique: it is the child's process id, or no process's. */
    int (*open)(void *argument, int id);
    /* A descriptor that a peer reads must be non-blocking (O_NONBLOCK), so that a save that is
     * given up does not wait for the peer.
     * close: called after all is written, or with the `error` that prevented it. Closes the
     * descriptor in any case. Returns whether the save succeeded; on failure it has logged a
     * line. */
    bool (*close)(void *argument, int fd, int error);
    /* Borrowed until `ended` is called. */
    void *argument;
    /* Called in the main thread, between two commands. It may start the next save, unless the job
     * shared this one. */
    void (*ended)(const struct saver_end *end);
};
#endif
