/* SPDX-License-Identifier: BSD-3-Clause
 * Permutations within rounds, and order statistics.
 *
 * Of two arms all 2^rounds permutations are tried where these are few; otherwise permutations are
 * drawn, and p counts the arrangement that was observed as one of them, so that p is never 0 and
 * the test stays exact.
 */
#include "experiment/experiment_statistics.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/panic.h"
#include "base/random.h"

/* Two arms in so few rounds have all permutations tried: 4,096 of them. */
#define ALL_ROUNDS_MAX 12
#define DRAWN_MOST 10000
#define DRAWN_LEAST 2000
/* Differences that are looked at in all: some seconds of processor time. */
#define WORK_MAX UINT64_C(1500000000)
/* Sums of the same differences in another order differ by rounding. */
#define ROUNDING 1e-9
/* Times the median over the rounds: of normal noise, the farthest sixth is shrunk. */
#define DISTANCE_MOST 2
/* Fewer rounds than this have no standard error worth the name. */
#define ROUNDS_LEAST 3

/* The figures as they are compared, and the arms' places in each round. */
struct comparison {
    const struct experiment_figures *f;
    const unsigned *chosen; /* figures */
    unsigned chosen_count;
    double *values;   /* of the chosen figures, as f->values; logarithms taken */
    unsigned *places; /* places[round * arms + arm] = whose figures the arm gets */
    double *observed; /* the statistic of each pair of arms, figure after figure */
    uint64_t *reached;
};

static const double *figure_row(const double *values, const struct experiment_figures *f,
                                unsigned figure, unsigned round) {
    return values + ((size_t)figure * f->rounds + round) * f->arms;
}

/* Replaces the values of a figure by their distances from the median of their round. A round whose
 * greatest distance is far above that of the other rounds is shrunk as a whole. */
static void shrink_rounds(const struct experiment_figures *f, double *values) {
    double *greatest = memory_alloc(f->rounds * sizeof(double), MEMORY_OTHER), *row = values;
    for (unsigned round = 0; round < f->rounds; round++, row += f->arms) {
        double middle = experiment_spread_of(row, f->arms, 1).median;
        greatest[round] = isnan(middle) ? NAN : 0;
        for (unsigned arm = 0; arm < f->arms; arm++) {
            row[arm] -= middle;
            if (fabs(row[arm]) > greatest[round]) greatest[round] = fabs(row[arm]);
        }
    }
    double most = DISTANCE_MOST * experiment_spread_of(greatest, f->rounds, 1).median;
    row = values;
    for (unsigned round = 0; round < f->rounds; round++, row += f->arms)
        if (most > 0 && greatest[round] > most)
            for (unsigned arm = 0; arm < f->arms; arm++) row[arm] *= most / greatest[round];
    memory_free(greatest, MEMORY_OTHER);
}

/* Takes logarithms of a figure where all of its values allow that, makes a round unknown as a whole
 * where an arm's value is, and shrinks rounds. */
static void prepare_figure(struct comparison *c, unsigned place) {
    const struct experiment_figures *f = c->f;
    unsigned figure = c->chosen[place];
    const double *from = figure_row(f->values, f, figure, 0);
    double *to = c->values + (size_t)place * f->rounds * f->arms;
    bool logs = !f->is_share[figure];
    for (size_t i = 0; i < (size_t)f->rounds * f->arms; i++)
        if (from[i] <= 0) logs = false;
    for (unsigned round = 0; round < f->rounds; round++, from += f->arms, to += f->arms) {
        bool whole = true;
        for (unsigned arm = 0; arm < f->arms; arm++)
            if (!isfinite(from[arm])) whole = false;
        for (unsigned arm = 0; arm < f->arms; arm++)
            to[arm] = !whole ? NAN : logs ? log(from[arm]) : from[arm];
    }
    shrink_rounds(f, c->values + (size_t)place * f->rounds * f->arms);
}

/* The statistic of a pair of places under the present permutation; `figure` counts the chosen ones.
 */
static double pair_statistic(const struct comparison *c, unsigned figure, unsigned first,
                             unsigned second) {
    const struct experiment_figures *f = c->f;
    double sum = 0, squares = 0;
    unsigned count = 0;
    for (unsigned round = 0; round < f->rounds; round++) {
        const double *row = figure_row(c->values, f, figure, round);
        const unsigned *places = c->places + (size_t)round * f->arms;
        double difference = row[places[second]] - row[places[first]];
        if (isnan(difference)) continue;
        sum += difference;
        count++;
    }
    if (count < ROUNDS_LEAST || sum == 0) return 0;
    double mean = sum / count;
    for (unsigned round = 0; round < f->rounds; round++) {
        const double *row = figure_row(c->values, f, figure, round);
        const unsigned *places = c->places + (size_t)round * f->arms;
        double off = row[places[second]] - row[places[first]] - mean;
        if (!isnan(off)) squares += off * off;
    }
    double error = sqrt(squares / (count - 1) / count);
    /* Differences that are all alike have no error but that of rounding. */
    if (error <= fabs(mean) * ROUNDING) return INFINITY;
    return fabs(mean) / error;
}

static void note_observed(struct comparison *c) {
    size_t pair = 0;
    for (unsigned figure = 0; figure < c->chosen_count; figure++)
        for (unsigned i = 0; i < c->f->arms; i++)
            for (unsigned j = i + 1; j < c->f->arms; j++)
                c->observed[pair++] = pair_statistic(c, figure, i, j);
}

/* Counts, for each pair, whether the greatest statistic of the present permutation reaches its own.
 */
static void note_permuted(struct comparison *c, size_t pairs) {
    double most = 0;
    for (unsigned figure = 0; figure < c->chosen_count; figure++) {
        for (unsigned i = 0; i < c->f->arms; i++) {
            for (unsigned j = i + 1; j < c->f->arms; j++) {
                double statistic = pair_statistic(c, figure, i, j);
                if (statistic > most) most = statistic;
            }
        }
    }
    for (size_t pair = 0; pair < pairs; pair++)
        if (most >= c->observed[pair] * (1 - ROUNDING)) c->reached[pair]++;
}

static void reset_places(struct comparison *c) {
    for (unsigned round = 0; round < c->f->rounds; round++)
        for (unsigned arm = 0; arm < c->f->arms; arm++)
            c->places[(size_t)round * c->f->arms + arm] = arm;
}

static void draw_places(struct comparison *c) {
    for (unsigned round = 0; round < c->f->rounds; round++) {
        unsigned *places = c->places + (size_t)round * c->f->arms;
        for (unsigned i = c->f->arms; i-- > 1;) {
            unsigned other = (unsigned)random_below(i + 1), kept = places[i];
            places[i] = places[other];
            places[other] = kept;
        }
    }
}

/* Two arms: the bits of `permutation` say in which rounds they are exchanged. */
static void exchange_places(struct comparison *c, unsigned permutation) {
    for (unsigned round = 0; round < c->f->rounds; round++) {
        unsigned exchanged = permutation >> round & 1;
        c->places[round * 2] = exchanged;
        c->places[round * 2 + 1] = 1 - exchanged;
    }
}

/* Returns the number of permutations that were tried. */
static uint64_t try_permutations(struct comparison *c, size_t pairs, uint64_t seed) {
    if (c->f->arms == 2 && c->f->rounds <= ALL_ROUNDS_MAX) {
        unsigned all = 1u << c->f->rounds;
        for (unsigned i = 0; i < all; i++) {
            exchange_places(c, i);
            note_permuted(c, pairs);
        }
        return all;
    }
    uint64_t affordable = WORK_MAX / (pairs * c->f->rounds + 1);
    uint64_t drawn = affordable > DRAWN_MOST    ? DRAWN_MOST
                     : affordable < DRAWN_LEAST ? DRAWN_LEAST
                                                : affordable;
    note_permuted(c, pairs); /* the observed arrangement */
    random_seed(seed);
    for (uint64_t i = 1; i < drawn; i++) {
        draw_places(c);
        note_permuted(c, pairs);
    }
    return drawn;
}

void experiment_compare(const struct experiment_figures *f, const unsigned *chosen, unsigned count,
                        uint64_t seed, double *p) {
    size_t square = (size_t)f->arms * f->arms, pairs = count * (square - f->arms) / 2, pair = 0;
    if (!pairs || !f->rounds) return;
    struct comparison c = {
        .f = f,
        .chosen = chosen,
        .chosen_count = count,
        .values = memory_alloc(count * f->rounds * f->arms * sizeof(double), MEMORY_OTHER),
        .places = memory_alloc((size_t)f->rounds * f->arms * sizeof(unsigned), MEMORY_OTHER),
        .observed = memory_alloc(pairs * sizeof(double), MEMORY_OTHER),
        .reached = memory_zalloc(pairs * sizeof(uint64_t), MEMORY_OTHER)};
    for (unsigned figure = 0; figure < count; figure++) prepare_figure(&c, figure);
    reset_places(&c);
    note_observed(&c);
    double tried = (double)try_permutations(&c, pairs, seed);
    for (unsigned figure = 0; figure < count; figure++) {
        double *matrix = p + chosen[figure] * square;
        for (unsigned i = 0; i < f->arms; i++) {
            matrix[i * f->arms + i] = 1;
            for (unsigned j = i + 1; j < f->arms; j++, pair++) {
                matrix[i * f->arms + j] = matrix[j * f->arms + i] = (double)c.reached[pair] / tried;
            }
        }
    }
    memory_free(c.values, MEMORY_OTHER);
    memory_free(c.places, MEMORY_OTHER);
    memory_free(c.observed, MEMORY_OTHER);
    memory_free(c.reached, MEMORY_OTHER);
}

unsigned experiment_rounds_least(unsigned arms) {
    ASSERT(arms >= 2);
    /* Of k arms, one that is first in each round is first in k of the k^rounds arrangements. */
    double share = 1;
    unsigned rounds = 1;
    for (; share > EXPERIMENT_LIMIT_P || rounds < ROUNDS_LEAST; rounds++) share /= arms;
    return rounds;
}

/* --- order statistics ------------------------------------------------------------------------- */

static int compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Between the two nearest values, in proportion. */
static double quantile_of(const double *sorted, unsigned count, double share) {
    double place = share * (count - 1);
    unsigned below = (unsigned)place;
    if (below + 1 >= count) return sorted[count - 1];
    return sorted[below] + (place - below) * (sorted[below + 1] - sorted[below]);
}

struct experiment_spread experiment_spread_of(const double *values, unsigned count,
                                              unsigned stride) {
    double *sorted = memory_alloc(count * sizeof(double), MEMORY_OTHER);
    unsigned known = 0;
    for (unsigned i = 0; i < count; i++)
        if (isfinite(values[(size_t)i * stride])) sorted[known++] = values[(size_t)i * stride];
    qsort(sorted, known, sizeof(double), compare_doubles);
    struct experiment_spread spread = {NAN, NAN, NAN};
    if (known) {
        spread.low = quantile_of(sorted, known, 0.25);
        spread.median = quantile_of(sorted, known, 0.5);
        spread.high = quantile_of(sorted, known, 0.75);
    }
    memory_free(sorted, MEMORY_OTHER);
    return spread;
}

/* How many of `count` sorted values are left out at each end, so that the median of what they are
 * drawn from lies between the others with a probability of at least 95 percent. */
static unsigned left_out_of(unsigned count) {
    double share = pow(0.5, count), sum = share; /* of no value below the median */
    unsigned out = 0;
    while (sum <= 0.025) {
        out++;
        share = share * (count - out + 1) / out;
        sum += share;
    }
    return out > 0 ? out - 1 : 0;
}

struct experiment_change experiment_change_of(const struct experiment_figures *f, unsigned figure,
                                              unsigned from, unsigned to) {
    double *changes = memory_alloc(f->rounds * sizeof(double), MEMORY_OTHER);
    struct experiment_change change = {NAN, NAN, NAN, !f->is_share[figure]};
    unsigned known = 0;
    for (unsigned round = 0; round < f->rounds; round++)
        if (figure_row(f->values, f, figure, round)[from] <= 0) change.is_ratio = false;
    for (unsigned round = 0; round < f->rounds; round++) {
        const double *row = figure_row(f->values, f, figure, round);
        double value = change.is_ratio ? row[to] / row[from] - 1 : row[to] - row[from];
        if (isfinite(value)) changes[known++] = value;
    }
    qsort(changes, known, sizeof(double), compare_doubles);
    if (known) {
        unsigned out = left_out_of(known);
        change.median = quantile_of(changes, known, 0.5);
        change.low = changes[out];
        change.high = changes[known - 1 - out];
    }
    memory_free(changes, MEMORY_OTHER);
    return change;
}
