/* SPDX-License-Identifier: BSD-3-Clause
 * Whether differences between arms stand out of the noise.
 *
 * The method: a permutation test of the maximum over all comparisons. Each round is a block of a
 * randomised block design: under the hypothesis that the arms do not differ, the figures of a round
 * could have come in any other order of the arms. So the arms are permuted within each round, many
 * times, and each time the greatest statistic of all pairs of arms and of all figures is noted. A
 * difference stands out if its own statistic is reached by at most a small share of these maxima.
 * That share is the pair's p. It holds for all comparisons together (no further correction is
 * needed), and needs no assumption about the figures' distribution.
 *
 * The statistic of a pair is that of Student's paired test: the mean of the differences within
 * rounds, by its standard error. Figures that are always above 0 and are no shares are compared by
 * their logarithms, so that a latency's rare great values do not drown all others.
 *
 * A machine that is busy for a moment spoils the round in which that happens. So that one such
 * round does not hide a difference that all others show, a round whose values lie far farther apart
 * than those of the other rounds counts less. How far apart they lie does not change when the arms
 * are permuted, so the test stays exact.
 */
#ifndef EVENKEEL_EXPERIMENT_EXPERIMENT_STATISTICS_H
#define EVENKEEL_EXPERIMENT_EXPERIMENT_STATISTICS_H
#include <stdbool.h>
#include <stdint.h>

/* The probability of a false alarm that a run may have; half of it for the goal alone, half for all
 * other figures together. */
#define EXPERIMENT_FALSE_ALARM 0.01
#define EXPERIMENT_LIMIT_P (EXPERIMENT_FALSE_ALARM / 2)

/* The figures of all blocks: values[(figure * rounds + round) * arms + arm]. NaN = unknown; a round
 * in which an arm lacks a figure does not count for that figure. */
struct experiment_figures {
    unsigned rounds, arms;
    const double *values;
    const bool *is_share; /* for each figure: compared as it is, and not by its logarithm */
};

/* Fills in p[(figure * arms + first) * arms + second] of the `count` figures `chosen`, which are
 * one family, for all pairs of arms, in both orders; 1 for an arm with itself and for a figure
 * without enough rounds. Takes some seconds at most. */
void experiment_compare(const struct experiment_figures *f, const unsigned *chosen, unsigned count,
                        uint64_t seed, double *p);
/* The least number of rounds in which a difference between so many arms can stand out. */
unsigned experiment_rounds_least(unsigned arms);

/* The middle of values, and their quartiles; NaN values are left out; all NaN where none is left.
 */
struct experiment_spread {
    double low, median, high;
};
struct experiment_spread experiment_spread_of(const double *values, unsigned count,
                                              unsigned stride);

/* How a figure differs between two arms: the median over the rounds of the ratio minus 1 or, where
 * the figure is a share or was 0 or less, of the difference; with its interval of 95 percent
 * confidence, from order statistics. NaN where no round has both. */
struct experiment_change {
    double median, low, high;
    bool is_ratio;
};
struct experiment_change experiment_change_of(const struct experiment_figures *f, unsigned figure,
                                              unsigned from, unsigned to);
#endif
