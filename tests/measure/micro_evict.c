/* SPDX-License-Identifier: BSD-3-Clause
 * How good, and how dear, the victims of store/evict are: hit ratio and time a victim, for each
 * algorithm, on seeded traces of a look-aside cache (a miss stores the key).
 *
 *   zipf     popularity falls with rank to the power 1, over KEYS keys
 *   scan     the same, and one request in five goes on through a range of keys that come once
 *   shift    the same as zipf, but ranks move to other keys a tenth of the keys at a time
 *
 * Time is simulated: REQUESTS_PER_SECOND requests are a second of the clock of recency. The cache
 * has room for a tenth of the keys. Both algorithms see the same trace.
 *
 *     cc -std=gnu11 -O2 -Isrc tests/measure/micro_evict.c build/release/libevenkeel.a -ljemalloc \
 *         -lm -lpthread -ldl -o /tmp/micro_evict
 *     /tmp/micro_evict [SEED [POLICY]]     1 and allkeys-lru where not given
 *
 * Not run in CI: run it alone on a quiet machine.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/random.h"
#include "option/option.h"
#include "store/evict.h"
#include "store/keyspace.h"
#include "store/keyspace_change.h"
#include "store/lazyfree.h"
#include "store/recency.h"

#define KEYS 1000000u
#define ROOM (KEYS / 10)
#define REQUESTS 6000000u
#define REQUESTS_PER_SECOND 20000u
#define START_USEC INT64_C(1750000000000000)
#define SHIFT_EVERY (REQUESTS / 10)

enum trace { TRACE_ZIPF, TRACE_SCAN, TRACE_SHIFT, TRACES };
static const char *const trace_names[] = {"zipf", "scan", "shift"};

static double *cumulative;
static unsigned *requests;

static void set_option(const char *name, const char *value) {
    char reason[OPTION_REASON_BYTES];
    struct slice word = slice_of(value);
    if (!option_set(option_find(slice_of(name)), &word, 1, OPTION_FROM_CONFIG_SET, reason,
                    sizeof(reason))) {
        fprintf(stderr, "%s %s: %s\n", name, value, reason);
        exit(1);
    }
}

static unsigned zipf_draw(void) {
    double point = random_double() * cumulative[KEYS - 1];
    unsigned low = 0, high = KEYS - 1;
    while (low < high) {
        unsigned middle = (low + high) / 2;
        if (cumulative[middle] < point)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void make_trace(enum trace trace) {
    unsigned scan_next = KEYS, shift_by = 0;
    for (unsigned i = 0; i < REQUESTS; i++) {
        if (trace == TRACE_SHIFT && i % SHIFT_EVERY == 0) shift_by += KEYS / 10;
        bool scans = trace == TRACE_SCAN && random_below(5) == 0;
        requests[i] = scans ? scan_next++ : (zipf_draw() + shift_by) % KEYS;
    }
}

static int64_t evict_now_nsec(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

struct result {
    uint64_t hits, counted, victims, evict_nsec;
};

/* The first half of the trace fills the cache and settles; hits count from then on. */
static struct result play_trace(void) {
    struct result r = {0};
    struct keyspace *ks = keyspace_at(0);
    struct string_value value = string_value_of_text(SLICE("twenty bytes of value"));
    for (unsigned i = 0; i < REQUESTS; i++) {
        char name[32];
        struct slice key = {name, (size_t)snprintf(name, sizeof(name), "key:%u", requests[i])};
        uint64_t hash = hash_bytes(key.bytes, key.length);
        if (i % (REQUESTS_PER_SECOND / 100) == 0) {
            clock_use_fixed(START_USEC + (int64_t)i * 1000000 / REQUESTS_PER_SECOND,
                            1 + (int64_t)i * 1000000000 / REQUESTS_PER_SECOND);
            clock_refresh();
        }
        bool hit = keyspace_read(&(struct key){ks, key, hash}) != NULL;
        if (!hit)
            keyspace_put_string(&(struct key){ks, key, hash}, NULL, &value, ENTRY_NO_DEADLINE);
        if (i >= REQUESTS / 2) {
            r.counted++;
            r.hits += hit;
        }
        if (keyspace_count(ks) <= ROOM) continue;
        size_t bytes;
        int64_t begin = evict_now_nsec();
        evict_one(false, &bytes);
        r.evict_nsec += (uint64_t)(evict_now_nsec() - begin);
        r.victims++;
    }
    keyspace_flush(ks, LAZYFREE_NOW);
    return r;
}

int main(int argc, char **argv) {
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    const char *policy = argc > 2 ? argv[2] : "allkeys-lru";
    static const char *const algorithms[] = {"sampling", "clock"};
    keyspace_register();
    lazyfree_register();
    recency_register();
    evict_register();
    keyspace_open();
    set_option("maxmemory-policy", policy);
    cumulative = malloc(KEYS * sizeof(*cumulative));
    for (unsigned i = 0; i < KEYS; i++)
        cumulative[i] = (i ? cumulative[i - 1] : 0) + 1.0 / (double)(i + 1);
    requests = malloc(REQUESTS * sizeof(*requests));
    printf("seed %llu, %s\n", (unsigned long long)seed, policy);
    for (int trace = 0; trace < TRACES; trace++) {
        random_seed(seed);
        make_trace((enum trace)trace);
        for (int a = 0; a < 2; a++) {
            set_option("maxmemory-eviction-algorithm", algorithms[a]);
            uint64_t before = evict_examined();
            struct result r = play_trace();
            printf("%-6s %-9s hits %.2f %%  %.0f ns a victim  %.2f looked at\n", trace_names[trace],
                   algorithms[a], 100.0 * (double)r.hits / (double)r.counted,
                   (double)r.evict_nsec / (double)r.victims,
                   (double)(evict_examined() - before) / (double)r.victims);
        }
    }
    free(requests);
    free(cumulative);
    return 0;
}
