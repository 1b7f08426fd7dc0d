/* SPDX-License-Identifier: BSD-3-Clause
 * Runs the blocks of a plan: sets values, pauses, measures, and watches the limits.
 */
#ifndef EVENKEEL_EXPERIMENT_EXPERIMENT_BLOCKS_H
#define EVENKEEL_EXPERIMENT_EXPERIMENT_BLOCKS_H
#include <stdbool.h>
#include <stdint.h>

#include "experiment/experiment_record.h"
#include "experiment/experiment_server.h"

struct experiment_load;
struct experiment_starter;
struct tool_watcher;

struct experiment_blocks {
    const struct experiment_plan *plan;
    struct experiment_server *servers; /* plan->server_count of them */
    const char *const *old; /* the first server's values, one for each option; NULL = none is set */
    const struct experiment_limit *limits;
    unsigned limit_count;
    const char *each_block; /* a command, or NULL */
    double block_s, settle_s;
    struct loop *loop;
    struct experiment_load *load;       /* NULL = the tool sends no load */
    struct tool_watcher *watcher;       /* NULL = no option is set */
    struct experiment_starter *starter; /* of the servers; opened or zeroed */
    /* Whether a signal asks for the end. */
    bool (*interrupted)(void);
    /* Called before each block, with the number of blocks that are done; NULL = never. */
    void (*progress)(const struct experiment_record *record);
};

/* Runs all blocks, or until the end comes early: record->outcome and record->reason say how it
 * ended. Values that were set stay: the caller has them put back. */
void experiment_blocks_run(const struct experiment_blocks *b, struct experiment_record *record);
#endif
