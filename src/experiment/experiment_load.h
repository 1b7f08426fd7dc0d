/* SPDX-License-Identifier: BSD-3-Clause
 * The load of an experiment: one open loop that goes on from the first block to the last, in
 * threads beside the tool's own, and the figures of its requests by interval and by block.
 *
 * The load is not interrupted between blocks, so that no block begins with new connections. Of
 * several servers, the load goes to the chosen one.
 */
#ifndef EVENKEEL_EXPERIMENT_EXPERIMENT_LOAD_H
#define EVENKEEL_EXPERIMENT_EXPERIMENT_LOAD_H
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "experiment/experiment_figures.h"
#include "experiment/experiment_plan.h"
#include "load/load_stream.h"
#include "tools/tool_link.h"

struct experiment_load;
struct tool_connection;

struct experiment_load_settings {
    const struct tool_connection *servers[EXPERIMENT_ARMS_MAX]; /* logins */
    struct load_source sources[EXPERIMENT_ARMS_MAX]; /* one for each server; an open loop */
    unsigned server_count;
    unsigned connections, threads, pipeline;
    unsigned
        helpers; /* so many requests at the begin of each batch are counted only if they fail */
    bool resp3;
};

/* Connects and begins to send, to the first server. NULL with a reason. The settings are copied;
 * what they point to is borrowed until the end. */
MUST_USE struct experiment_load *experiment_load_start(const struct experiment_load_settings *s,
                                                       char reason[TOOL_REASON_CHARS]);
/* Ends the load and frees it. Harmless for NULL. */
void experiment_load_stop(struct experiment_load *load);
/* Why the load has failed; NULL = it goes on. */
const char *experiment_load_failure(const struct experiment_load *load);

/* Sends what is due from now on to this server. */
void experiment_load_choose(struct experiment_load *load, unsigned server);
/* Fills in the figures of requests that were answered since the last call. */
void experiment_load_take_interval(struct experiment_load *load, double *values);
/* Begins a block of that length: it has the requests that are due in it. */
void experiment_load_begin_block(struct experiment_load *load, double seconds);
/* Whether all requests that were due in the block are answered. */
bool experiment_load_block_is_over(struct experiment_load *load);
/* Fills in the figures of the block. */
void experiment_load_take_block(struct experiment_load *load, double *values);
#endif
