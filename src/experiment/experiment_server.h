/* SPDX-License-Identifier: BSD-3-Clause
 * A server under observation: readings of INFO on a schedule, PINGs of a probe, and the figures of
 * a block.
 */
#ifndef EVENKEEL_EXPERIMENT_EXPERIMENT_SERVER_H
#define EVENKEEL_EXPERIMENT_EXPERIMENT_SERVER_H
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "experiment/experiment_figures.h"
#include "io/loop.h"
#include "tools/tool_link.h"

struct probe;

struct experiment_server {
    struct tool_link control; /* for INFO and CONFIG */
    char name[TOOL_ADDRESS_CHARS];
    char version[64]; /* "Redis 6.2.16", "Evenkeel 1.0 as Redis 6.2.16" */
    /* Called by the loop after each reading but the first of an observation, with the values since
     * the reading before, in the order of experiment_figures.h; those of the load are NaN, and
     * may be filled in. */
    void (*sampled)(void *context, double *values);
    void *context;
    int64_t interval_msec, probe_msec;
    /* The server's own. */
    struct tool_link probing; /* for PINGs only, so that a long reply does not delay them */
    struct figures *readings; /* one sample for each reading */
    struct figures *ends;     /* two readings for each block */
    struct probe *interval_probe, *block_probe;
    struct buffer info;
    struct loop_timer sample_timer, probe_timer;
    int64_t asked_nsec, taken_nsec; /* of the last reading; of the last one that made a sample */
    uint64_t own_commands;
    bool reads;    /* INFO is unanswered */
    bool observes; /* between experiment_server_observe and experiment_server_rest */
    bool is_first; /* the next reading begins a block */
    char reason[TOOL_REASON_CHARS]; /* why INFO cannot be read; "" = it can */
};

/* Connects twice. False with server->reason; the server must be closed all the same. The settings
 * above are the caller's to fill in before. */
MUST_USE bool experiment_server_open(struct experiment_server *server, struct loop *loop,
                                     const struct tool_connection *login, bool resp3);
void experiment_server_close(struct experiment_server *server);
/* Why the server cannot be observed any more; NULL = it can. */
const char *experiment_server_failure(const struct experiment_server *server);

/* Starts the probe and the readings; they go on while the loop turns, until
 * experiment_server_rest. */
void experiment_server_observe(struct experiment_server *server);
void experiment_server_rest(struct experiment_server *server);
/* Reads INFO now, and says whether a save or a rewrite of the log is under way. False where the
 * server is lost. */
MUST_USE bool experiment_server_look(struct experiment_server *server, bool *saves);
/* Begins a block with a reading, and waits for it. False where the server is lost. */
MUST_USE bool experiment_server_begin(struct experiment_server *server);
/* Ends the block with a reading and fills in its figures. False where the server is lost. */
MUST_USE bool experiment_server_end(struct experiment_server *server,
                                    double values[EXPERIMENT_FIGURES_MAX]);
/* For how long the oldest unanswered PING has waited, in microseconds; 0 where none is unanswered.
 */
double experiment_server_silence_usec(const struct experiment_server *server);
#endif
