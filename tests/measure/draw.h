/* SPDX-License-Identifier: BSD-3-Clause
 * What the load draws by chance: numbers, sizes, Zipf ranks and the moments of arrival.
 *
 * Everything here is a pure function of a seed: no clock, no socket, no allocation.
 */
#ifndef EVENKEEL_MEASURE_DRAW_H
#define EVENKEEL_MEASURE_DRAW_H
#include <stdbool.h>
#include <stdint.h>

#define ARRIVAL_STEPS_MAX 64

struct draw {
    unsigned __int128 state;
};

/* Any seed will do; the same seed gives the same numbers. */
void draw_init(struct draw *d, uint64_t seed);
uint64_t draw_bits(struct draw *d);
/* Even over [0, range); range is at least 1. */
uint64_t draw_below(struct draw *d, uint64_t range);
/* Even over (0, 1): never 0, so that it has a logarithm. */
double draw_unit(struct draw *d);

enum size_kind { SIZE_UNIFORM, SIZE_LOGNORMAL };

struct size_law {
    enum size_kind kind;
    double low, high; /* uniform: both ends, included; log-normal: the median and sigma */
    double most;      /* log-normal: what is drawn above it becomes it */
};

/* Reads "200", "uniform:100:300" or "lognormal:200:0.8". False for anything else, and for sizes
 * below 1 or above `most` (at most 2^53). */
bool size_law_parse(const char *text, double most, struct size_law *law);
/* A size of at least 1 and at most the law's `most`. */
uint64_t size_law_draw(const struct size_law *law, struct draw *d);

struct zipf {
    uint64_t count;
    double exponent, area_low, area_high, shortcut;
};

/* Ranks 1..count, where rank k has a weight of k^-exponent; exponent above 0, count at least 1. */
void zipf_init(struct zipf *z, uint64_t count, double exponent);
uint64_t zipf_draw(const struct zipf *z, struct draw *d);

enum arrival_kind { ARRIVAL_CONSTANT, ARRIVAL_POISSON };

struct arrival_step {
    double at_s, per_s;
};

/* A rate that changes at given moments; the first step begins at 0. */
struct arrivals {
    enum arrival_kind kind;
    struct arrival_step steps[ARRIVAL_STEPS_MAX];
    unsigned count, current;
    double due_s; /* of the arrival that arrivals_next gave last */
};

/* Reads "40000" or "0:40000,5:60000,10:0" (second:rate). False for anything else. */
bool arrivals_parse(const char *text, struct arrivals *a);
/* The moment of the next arrival in nanoseconds since the start; UINT64_MAX when none follows. */
uint64_t arrivals_next(struct arrivals *a, struct draw *d);

#endif
