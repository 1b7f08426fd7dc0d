/* SPDX-License-Identifier: BSD-3-Clause
 * The check of a plan against its server, before anything is measured: every option is known and
 * can be set, and the server takes every value.
 */
#ifndef EVENKEEL_EXPERIMENT_EXPERIMENT_CHECK_H
#define EVENKEEL_EXPERIMENT_EXPERIMENT_CHECK_H
#include <stdbool.h>

#include "base/attributes.h"
#include "experiment/experiment_plan.h"
#include "tools/tool_config.h"

/* What the server said about the options of a plan. */
struct experiment_check {
    char *old[EXPERIMENT_KNOBS_MAX]; /* the values that the server has */
    struct experiment_tried *tried;
    unsigned tried_count;
};

/* Asks the server for the old values and has it take each value of the plan for an instant. Then
 * completes the plan (experiment_plan_compare_old). False with a reason; the check must be freed
 * all the same. */
MUST_USE bool experiment_check_run(struct experiment_check *check, struct experiment_plan *plan,
                                   struct tool_link *link, char reason[TOOL_REASON_CHARS]);
/* For servers that were started with the plan's values, so that these are checked already: asks the
 * first one, by `link`, for what the labels want, and completes the plan. */
MUST_USE bool experiment_check_started(struct experiment_plan *plan, struct tool_link *link,
                                       char reason[TOOL_REASON_CHARS]);
void experiment_check_free(struct experiment_check *check);
#endif
