/* SPDX-License-Identifier: BSD-3-Clause
 * What is to be saved in the background, and where: for who asks for it (save/saver.h), and for
 * who does it.
 */
#ifndef EVENKEEL_SAVE_SAVER_JOB_H
#define EVENKEEL_SAVE_SAVER_JOB_H
#include <stdbool.h>
#include <stdint.h>

#include "io/child.h"

enum saver_format {
    SAVER_SNAPSHOT, /* an RDB file */
    SAVER_PREAMBLE, /* one with which a log begins */
    SAVER_COMMANDS  /* a log */
};

/* How it ended. */
struct saver_end {
    bool good;
    bool on_purpose;       /* by saver_kill, or an operator's SIGUSR1: no error */
    int signal;            /* that ended a child, 0 = none */
    int id;                /* as `open` had it */
    uint64_t copied_bytes; /* on write */
};

/* So many may share one save: a file, and sockets. */
#define SAVER_JOBS_MAX 2

struct saver_job {
    const struct child_kind *kind; /* saver_snapshot (saver.h), or that of the log */
    const char *title;             /* of a child, for ps */
    const char *label;             /* for the log: "RDB" */
    enum saver_format format;
    uint64_t sync_every_bytes; /* file_sink_set_sync; 0: never */
    /* Both run where it is written: in a child, or on another thread beside the main one. So they
     * may touch nothing that changes meanwhile.
     * open: what is written to; -1 with errno set, after a line in the log. `id` is a number of its
     * own, for names: of no process but the child. */
    int (*open)(void *argument, int id);
    /* A descriptor that a peer reads must not block (O_NONBLOCK), so that a save that is given up
     * does not wait for the peer.
     * close: all is written, or `error` says why not. Closes the descriptor whatever happens, and
     * says whether all is well; where not it has left a line in the log. */
    bool (*close)(void *argument, int fd, int error);
    /* Borrowed until the end. */
    void *argument;
    /* In the main thread, between two commands. The next may be started here, but by a job that
     * shares its save. */
    void (*ended)(const struct saver_end *end);
};
#endif
