/* SPDX-License-Identifier: BSD-3-Clause
 * Recency and frequency of entries.
 *
 * The counter of frequency is logarithmic: an access raises it by one with the probability 1 / (n *
 * lfu-log-factor + 1), where n is the counter above its first value; so 8 bits tell a hundred
 * accesses from a million. The counter falls by one for each lfu-decay-time minutes without an
 * access. The decay is computed when the counter is read, and only an access writes it back.
 *
 * Invariants
 *  1. Both clocks wrap: differences are taken within their bits.
 *  2. An entry is written to only if its bits change, and not while frozen.
 */
#include "store/recency.h"

#include "base/clock.h"
#include "base/random.h"
#include "option/option.h"
#include "store/entry.h"

#define CLOCK_MASK 0xffffffu
#define MINUTES_MASK 0xffffu
#define COUNTER_BITS 8
#define COUNTER_MAX 255u
/* The counter of a new key, so that it is not the next victim: 6.2's value. */
#define COUNTER_INITIAL 5u

static bool uses_frequency, frozen;
static int64_t log_factor, decay_minutes;

static const struct option_row option_rows[] = {
    OPTION_INT("lfu-log-factor", &log_factor, "10", 0, INT32_MAX, OPTION_MUTABLE, "memory", 60,
               "How slowly the frequency counter of a key grows."),
    OPTION_INT("lfu-decay-time", &decay_minutes, "1", 0, INT32_MAX, OPTION_MUTABLE, "memory", 70,
               "Minutes after which the frequency counter of an unused key falls by one; 0 = it "
               "never falls."),
};

void recency_register(void) {
    option_register(option_rows, sizeof(option_rows) / sizeof(option_rows[0]));
}

void recency_use_frequency(bool on) { uses_frequency = on; }
bool recency_uses_frequency(void) { return uses_frequency; }
void recency_freeze(bool on) { frozen = on; }

unsigned recency_clock(void) { return (unsigned)(clock_cached_msec() / 1000) & CLOCK_MASK; }

static unsigned minutes_now(void) { return (unsigned)(clock_cached_msec() / 60000) & MINUTES_MASK; }

static unsigned recency_pack(unsigned counter) { return minutes_now() << COUNTER_BITS | counter; }

unsigned recency_initial(void) {
    return __builtin_expect(uses_frequency, 0) ? recency_pack(COUNTER_INITIAL) : recency_clock();
}

unsigned recency_frequency(const struct entry *e) {
    unsigned counter = e->recency & COUNTER_MAX;
    unsigned passed = (minutes_now() - (e->recency >> COUNTER_BITS)) & MINUTES_MASK;
    unsigned periods = decay_minutes ? (unsigned)(passed / decay_minutes) : 0;
    return periods > counter ? 0 : counter - periods;
}

static unsigned counter_raised(unsigned counter) {
    if (counter == COUNTER_MAX) return counter;
    double above = counter > COUNTER_INITIAL ? counter - COUNTER_INITIAL : 0;
    return counter + (random_double() * (above * (double)log_factor + 1) < 1);
}

unsigned recency_of_idle(uint64_t seconds) {
    if (uses_frequency) return recency_initial();
    /* A time that the clock's 24 bits cannot express becomes the longest that they can. */
    unsigned idle = seconds < CLOCK_MASK ? (unsigned)seconds : CLOCK_MASK - 1;
    return (recency_clock() - idle) & CLOCK_MASK;
}

unsigned recency_of_frequency(unsigned counter) {
    return uses_frequency ? recency_pack(counter & COUNTER_MAX) & CLOCK_MASK : recency_initial();
}

void recency_note(struct entry *e) {
    unsigned now;
    if (__builtin_expect(frozen, 0)) return;
    if (__builtin_expect(uses_frequency, 0))
        now = recency_pack(counter_raised(recency_frequency(e)));
    else
        now = recency_clock();
    if (e->recency != now) e->recency = now & CLOCK_MASK;
}

unsigned recency_successor(const struct entry *old) {
    return __builtin_expect(uses_frequency, 0)
               ? recency_pack(counter_raised(recency_frequency(old)))
               : recency_clock();
}

unsigned recency_idle_seconds(const struct entry *e) {
    return (recency_clock() - e->recency) & CLOCK_MASK;
}
