/* SPDX-License-Identifier: BSD-3-Clause
 * Blocks and samples in growing arrays, and the judgement over them.
 *
 * Invariant: the goal is a family of comparisons of its own, and all other figures are a second
 * one, so that many figures beside it do not hide a difference in the goal.
 */
#include "experiment/experiment_record.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/panic.h"

/* The seeds of the two families' permutations, beside that of the order of the blocks. */
#define GOAL_SEED UINT64_C(0x9E3779B97F4A7C15)
#define OTHERS_SEED UINT64_C(0xD1B54A32D192ED03)

static unsigned next_room(unsigned room) { return room ? 2 * room : 64; }

struct experiment_block *experiment_record_add_block(struct experiment_record *r) {
    if (r->block_count == r->block_room) {
        r->block_room = next_room(r->block_room);
        r->blocks = memory_realloc(r->blocks, r->block_room * sizeof(*r->blocks), MEMORY_OTHER);
    }
    return &r->blocks[r->block_count++];
}

void experiment_record_add_sample(struct experiment_record *r, double at_s, const double *values) {
    if (r->sample_count == r->sample_room) {
        r->sample_room = next_room(r->sample_room);
        r->samples = memory_realloc(r->samples, r->sample_room * sizeof(*r->samples), MEMORY_OTHER);
    }
    struct experiment_sample *sample = &r->samples[r->sample_count++];
    sample->at_s = at_s;
    memcpy(sample->values, values, experiment_figure_count() * sizeof(double));
}

void experiment_record_free(struct experiment_record *r) {
    memory_free(r->blocks, MEMORY_OTHER);
    memory_free(r->samples, MEMORY_OTHER);
    memory_free(r->values, MEMORY_OTHER);
    memory_free(r->p, MEMORY_OTHER);
    *r = (struct experiment_record){0};
}

/* The arm of the best median; arms without the figure are left out. */
static int find_best(const struct experiment_record *r) {
    int best = -1, better = experiment_figure_better(r->goal);
    double best_median = 0;
    for (unsigned arm = 0; better && arm < r->plan->arm_count; arm++) {
        double median = experiment_record_spread(r, r->goal, arm).median * better;
        if (isnan(median) || (best >= 0 && median <= best_median)) continue;
        best = (int)arm;
        best_median = median;
    }
    return best;
}

/* Fills in the figures of the whole rounds. */
static void collect_rounds(struct experiment_record *r) {
    unsigned arms = r->plan->arm_count, count = experiment_figure_count();
    size_t cell = (size_t)r->rounds * arms, square = (size_t)arms * arms;
    r->values = memory_alloc(count * cell * sizeof(double), MEMORY_OTHER);
    r->p = memory_alloc(count * square * sizeof(double), MEMORY_OTHER);
    for (size_t i = 0; i < cell; i++) {
        const struct experiment_block *block = &r->blocks[i];
        for (unsigned figure = 0; figure < count; figure++)
            r->values[figure * cell + (size_t)block->round * arms + block->arm] =
                block->values[figure];
    }
    for (size_t i = 0; i < count * square; i++) r->p[i] = 1;
    for (unsigned figure = 0; figure < count; figure++)
        r->shares[figure] = experiment_figure_is_share(figure);
    r->figures = (struct experiment_figures){r->rounds, arms, r->values, r->shares};
}

void experiment_record_judge(struct experiment_record *r) {
    unsigned others[EXPERIMENT_FIGURES_MAX], other_count = 0;
    r->rounds = r->block_count / r->plan->arm_count;
    r->best = -1;
    if (!r->rounds) return;
    collect_rounds(r);
    r->best = find_best(r);
    if (r->rounds < experiment_rounds_least(r->plan->arm_count)) return;
    for (unsigned figure = 0; figure < experiment_figure_count(); figure++)
        if (figure != r->goal && experiment_record_is_known(r, figure))
            others[other_count++] = figure;
    experiment_compare(&r->figures, &r->goal, 1, r->seed ^ GOAL_SEED, r->p);
    experiment_compare(&r->figures, others, other_count, r->seed ^ OTHERS_SEED, r->p);
}

double experiment_record_p(const struct experiment_record *r, unsigned figure, unsigned first,
                           unsigned second) {
    size_t arms = r->plan->arm_count;
    return r->p ? r->p[figure * arms * arms + first * arms + second] : 1;
}

bool experiment_record_differs(const struct experiment_record *r, unsigned figure, unsigned first,
                               unsigned second) {
    return experiment_record_p(r, figure, first, second) <= EXPERIMENT_LIMIT_P;
}

bool experiment_record_figure_differs(const struct experiment_record *r, unsigned figure) {
    for (unsigned i = 0; i < r->plan->arm_count; i++)
        for (unsigned j = i + 1; j < r->plan->arm_count; j++)
            if (experiment_record_differs(r, figure, i, j)) return true;
    return false;
}

struct experiment_spread experiment_record_spread(const struct experiment_record *r,
                                                  unsigned figure, unsigned arm) {
    if (!r->rounds) return (struct experiment_spread){NAN, NAN, NAN};
    size_t arms = r->plan->arm_count;
    return experiment_spread_of(r->values + (size_t)figure * r->rounds * arms + arm, r->rounds,
                                (unsigned)arms);
}

bool experiment_record_is_known(const struct experiment_record *r, unsigned figure) {
    for (unsigned arm = 0; arm < r->plan->arm_count; arm++)
        if (!isnan(experiment_record_spread(r, figure, arm).median)) return true;
    return false;
}
