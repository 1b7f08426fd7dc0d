/* SPDX-License-Identifier: BSD-3-Clause
 * What an experiment has measured, and what follows from it.
 */
#ifndef EVENKEEL_EXPERIMENT_EXPERIMENT_RECORD_H
#define EVENKEEL_EXPERIMENT_EXPERIMENT_RECORD_H
#include <stdbool.h>
#include <stdint.h>

#include "experiment/experiment_figures.h"
#include "experiment/experiment_plan.h"
#include "experiment/experiment_statistics.h"

/* A block that was measured. Times are seconds since the first block's value was set. */
struct experiment_block {
    unsigned round, arm;
    double set_s, begin_s, end_s; /* the value is set; the block begins, after the pause; it ends */
    double values[EXPERIMENT_FIGURES_MAX]; /* NaN = unknown */
};

/* Figures of one interval, for the timelines. */
struct experiment_sample {
    double at_s;
    double values[EXPERIMENT_FIGURES_MAX];
};

enum experiment_outcome {
    EXPERIMENT_COMPLETE,
    EXPERIMENT_STOPPED,     /* a limit of --stop-if was passed */
    EXPERIMENT_INTERRUPTED, /* a signal */
    EXPERIMENT_FAILED,
};

struct experiment_record {
    const struct experiment_plan *plan;
    unsigned goal; /* a figure */
    bool has_load;
    uint64_t seed;
    double block_s, settle_s;
    const char *trace;     /* the file that the load is made of; NULL = none */
    uint64_t trace_passes; /* how often the load was through it */
    int64_t began_wall_msec;
    unsigned server_count;
    const char *servers[EXPERIMENT_ARMS_MAX], *versions[EXPERIMENT_ARMS_MAX];
    struct experiment_block *blocks;
    unsigned block_count, block_room;
    struct experiment_sample *samples;
    unsigned sample_count, sample_room;
    enum experiment_outcome outcome;
    char reason[1024];    /* of an outcome other than COMPLETE */
    unsigned late_blocks; /* in which the load was sent late */
    /* What follows; filled in by experiment_record_judge. */
    unsigned rounds;                   /* whole ones */
    struct experiment_figures figures; /* of the whole rounds */
    double *values, *p;                /* as experiment_statistics.h has them */
    bool shares[EXPERIMENT_FIGURES_MAX];
    int best; /* the arm that is best by the goal; -1 = the goal has no direction or no figures */
};

struct experiment_block *experiment_record_add_block(struct experiment_record *r);
void experiment_record_add_sample(struct experiment_record *r, double at_s, const double *values);
/* Compares the arms by the figures of the whole rounds. Takes some seconds at most. */
void experiment_record_judge(struct experiment_record *r);
void experiment_record_free(struct experiment_record *r);

/* The p of two arms in a figure; 1 where nothing was judged. */
double experiment_record_p(const struct experiment_record *r, unsigned figure, unsigned first,
                           unsigned second);
/* Whether the difference of two arms in a figure stands out of the noise. */
bool experiment_record_differs(const struct experiment_record *r, unsigned figure, unsigned first,
                               unsigned second);
/* Whether any two arms differ in the figure. */
bool experiment_record_figure_differs(const struct experiment_record *r, unsigned figure);
/* The spread of an arm's figure over the whole rounds. */
struct experiment_spread experiment_record_spread(const struct experiment_record *r,
                                                  unsigned figure, unsigned arm);
/* Whether an arm has a value of the figure in any whole round. */
bool experiment_record_is_known(const struct experiment_record *r, unsigned figure);
#endif
