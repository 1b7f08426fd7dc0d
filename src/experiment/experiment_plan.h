/* SPDX-License-Identifier: BSD-3-Clause
 * What an experiment compares, and in which order.
 *
 * An arm is what is measured as one: a server, and a value for each option (or the value that the
 * server had). Either one server gets the values in turn, or each arm has a server of its own,
 * which was started with them. A round has one block of each arm, in an order that is drawn for
 * each round, so that a drift of load or machine hits all arms alike.
 */
#ifndef EVENKEEL_EXPERIMENT_EXPERIMENT_PLAN_H
#define EVENKEEL_EXPERIMENT_EXPERIMENT_PLAN_H
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/string.h"

#define EXPERIMENT_KNOBS_MAX 256
#define EXPERIMENT_ARMS_MAX 32

struct experiment_options;

struct experiment_arm {
    /* For each option of the plan, in the plan's order; NULL = the value that the server had. */
    const char **values;
    char *label;     /* "25", or "maxmemory=1gb, hz=100", or a file's name */
    unsigned server; /* which one is measured; 0 = the server whose options are set */
    bool is_other;   /* of --against: the server's options are left alone */
    bool is_started; /* of a server that the tool starts with the values, for this arm alone */
    bool is_old;     /* all values are those that the server had */
};

struct experiment_plan {
    char *knobs[EXPERIMENT_KNOBS_MAX]; /* names of options, in lower case */
    unsigned knob_count;
    struct experiment_arm arms[EXPERIMENT_ARMS_MAX];
    unsigned arm_count;
    unsigned server_count;
    unsigned reference; /* the arm that all others are compared with: an old one, else the first */
    unsigned rounds;
    unsigned *order; /* order[round * arm_count + place] = an arm; after experiment_plan_draw */
};

/* Makes the arms from the options; files of profiles are read. False with a reason; the plan must
 * be freed all the same. */
MUST_USE bool experiment_plan_init(struct experiment_plan *plan,
                                   const struct experiment_options *options, char *reason,
                                   size_t reason_size);
void experiment_plan_free(struct experiment_plan *plan);
/* Marks the arms whose values are `old` (one for each option, as the server prints it) and chooses
 * the reference. `canonical(context, knob, value)` gives a value as the server prints it. Of the
 * arms of several options that are tried one at a time, those that repeat the old values are
 * dropped. */
void experiment_plan_compare_old(struct experiment_plan *plan, const char *const *old,
                                 const char *(*canonical)(void *context, unsigned knob,
                                                          const char *value),
                                 void *context);
/* For arms of servers that are started: completes their labels. `first` is the value that the first
 * server has of the plan's only option, if it was started without one; else NULL. */
void experiment_plan_name_started(struct experiment_plan *plan, const char *first);
/* Draws the order of the blocks. */
void experiment_plan_draw(struct experiment_plan *plan, unsigned rounds, uint64_t seed);
#endif
