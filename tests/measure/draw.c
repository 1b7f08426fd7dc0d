/* SPDX-License-Identifier: BSD-3-Clause
 * What the load draws by chance: numbers, sizes, Zipf ranks and the moments of arrival.
 *
 * Numbers come from a multiplicative congruential generator with 128 bits of state (Lehmer 1949;
 * multiplier from Steele and Vigna 2021), of which the upper half is given out.
 *
 * Zipf ranks are drawn by rejection-inversion (Hormann and Derflinger 1996): the inverse of the
 * integral of x^-s gives a real number, its nearest integer is taken unless it falls into the small
 * area between the integral and the sum. No table, a constant expected number of tries for any
 * count, so that twenty million keys cost nothing to set up.
 *
 * Poisson arrivals within a step have exponential gaps. A gap that would cross into the next step
 * is dropped and drawn again from the step's beginning at its rate: the process has no memory, so
 * this is exact and not an approximation.
 */
#include "draw.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void draw_init(struct draw *d, uint64_t seed) {
    d->state = ((unsigned __int128)seed << 64 | ~seed) | 1; /* odd: even states lose bits */
    for (int i = 0; i < 8; i++) draw_bits(d);
}

uint64_t draw_bits(struct draw *d) {
    d->state *= ((unsigned __int128)0x12e15e35b500f16e << 64) | 0x2e714eb2b37916a5;
    return (uint64_t)(d->state >> 64);
}

uint64_t draw_below(struct draw *d, uint64_t range) {
    return (uint64_t)(((unsigned __int128)draw_bits(d) * range) >> 64);
}

double draw_unit(struct draw *d) { return ((double)(draw_bits(d) >> 11) + 0.5) * 0x1p-53; }

/* ---- sizes ---- */

/* A number at `text`; moves it behind. */
static bool read_number(const char **text, double *number) {
    char *end;
    *number = strtod(*text, &end);
    bool found = end != *text && isfinite(*number) && *number >= 0;
    *text = end;
    return found;
}

bool size_law_parse(const char *text, double most, struct size_law *law) {
    *law = (struct size_law){.kind = SIZE_UNIFORM, .most = most};
    bool lognormal = !strncmp(text, "lognormal:", 10), uniform = !strncmp(text, "uniform:", 8);
    if (lognormal) law->kind = SIZE_LOGNORMAL;
    text += lognormal ? 10 : uniform ? 8 : 0;
    if (!read_number(&text, &law->low)) return false;
    law->high = law->low;
    if ((lognormal || uniform) && (*text++ != ':' || !read_number(&text, &law->high))) return false;
    if (*text || law->low < 1 || law->low > most) return false;
    return lognormal || (law->high >= law->low && law->high <= most);
}

uint64_t size_law_draw(const struct size_law *law, struct draw *d) {
    if (law->kind == SIZE_UNIFORM)
        return (uint64_t)law->low + draw_below(d, (uint64_t)(law->high - law->low) + 1);
    double normal = sqrt(-2 * log(draw_unit(d))) * cos(2 * M_PI * draw_unit(d));
    double size = law->low * exp(law->high * normal);
    return size < 1 ? 1 : size > law->most ? (uint64_t)law->most : (uint64_t)size;
}

/* ---- Zipf ---- */

/* The integral of t^-s from 1 to x. */
static double area_to(const struct zipf *z, double x) {
    double rest = 1 - z->exponent, log_x = log(x);
    return fabs(rest) < 1e-9 ? log_x : expm1(rest * log_x) / rest;
}

/* Where that integral has this value. */
static double place_of_area(const struct zipf *z, double area) {
    double rest = 1 - z->exponent;
    return fabs(rest) < 1e-9 ? exp(area) : exp(log1p(rest * area) / rest);
}

static double rank_weight(const struct zipf *z, double rank) { return pow(rank, -z->exponent); }

void zipf_init(struct zipf *z, uint64_t count, double exponent) {
    *z = (struct zipf){.count = count, .exponent = exponent};
    z->area_low = area_to(z, 1.5) - 1;
    z->area_high = area_to(z, (double)count + 0.5);
    z->shortcut = 2 - place_of_area(z, area_to(z, 2.5) - rank_weight(z, 2));
}

uint64_t zipf_draw(const struct zipf *z, struct draw *d) {
    for (;;) { /* few tries: the area that is refused is small for every exponent and count */
        double area = z->area_low + draw_unit(d) * (z->area_high - z->area_low);
        double place = place_of_area(z, area);
        double rank = floor(place + 0.5);
        if (rank < 1) rank = 1;
        if (rank > (double)z->count) rank = (double)z->count;
        if (rank - place <= z->shortcut || area >= area_to(z, rank + 0.5) - rank_weight(z, rank))
            return (uint64_t)rank;
    }
}

/* ---- arrivals ---- */

bool arrivals_parse(const char *text, struct arrivals *a) {
    *a = (struct arrivals){.kind = a->kind};
    for (;;) {
        if (a->count == ARRIVAL_STEPS_MAX) return false;
        struct arrival_step *step = &a->steps[a->count++];
        if (!read_number(&text, &step->per_s)) return false;
        if (*text == ':') {
            text++;
            step->at_s = step->per_s;
            if (!read_number(&text, &step->per_s)) return false;
        } else if (a->count > 1) {
            return false;
        }
        if (a->count == 1 ? step->at_s != 0 : step->at_s <= step[-1].at_s) return false;
        if (*text == 0) return true;
        if (*text++ != ',') return false;
    }
}

uint64_t arrivals_next(struct arrivals *a, struct draw *d) {
    for (;;) {
        double rate = a->steps[a->current].per_s;
        bool last = a->current + 1 == a->count;
        double gap = rate <= 0                     ? INFINITY
                     : a->kind == ARRIVAL_CONSTANT ? 1 / rate
                                                   : -log(draw_unit(d)) / rate;
        if (last || a->due_s + gap < a->steps[a->current + 1].at_s) {
            a->due_s += gap;
            return isinf(a->due_s) ? UINT64_MAX : (uint64_t)(a->due_s * 1e9);
        }
        a->current++;
        a->due_s = a->steps[a->current].at_s;
    }
}
