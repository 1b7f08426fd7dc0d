/* SPDX-License-Identifier: BSD-3-Clause
 * A cache's load: reads of N keys follow a power law by which a fifth of the keys gets four fifths
 * of the reads. A key that a read misses is written. The share of misses shows how well maxmemory
 * and its policy work for such a load.
 */
#include "cli/cli_load.h"

#include <inttypes.h>
#include <math.h>

#include "base/clock.h"
#include "base/random.h"
#include "cli/cli_format.h"
#include "cli/cli_link.h"
#include "cli/cli_options.h"

#define PIPELINE 250
#define KEY_CHARS 32
#define ROUND_NSEC INT64_C(1000000000)

struct rounds {
    uint64_t hits, misses;
};

/* The number of a key is N * u^a for a uniform u in [0, 1). A fifth of the numbers gets four fifths
 * of the reads where 0.2 = 0.8^a. */
static int64_t choose_key(int64_t keys) {
    static const double exponent = 7.212567439; /* ln 0.2 / ln 0.8 */
    return (int64_t)((double)keys * pow(random_double(), exponent));
}

/* Sends a pipeline of reads, then a pipeline of writes for the keys that were missed. False after
 * an error of a read. */
static bool run_cycle(int64_t keys, struct rounds *r) {
    char names[PIPELINE][KEY_CHARS];
    bool missed[PIPELINE];
    int writes = 0;
    for (int i = 0; i < PIPELINE; i++) {
        snprintf(names[i], KEY_CHARS, "lru:%" PRId64, choose_key(keys));
        cli_link_send((struct slice[]){SLICE("GET"), slice_of(names[i])}, 2);
    }
    for (int i = 0; i < PIPELINE; i++) {
        const struct peer_reply *reply = cli_link_must_read();
        if (reply->type == PEER_ERROR) {
            cli_format_complain("Error: ", reply->text);
            return false;
        }
        missed[i] = reply->type == PEER_NIL;
        r->misses += missed[i];
        r->hits += !missed[i];
    }
    for (int i = 0; i < PIPELINE; i++) {
        if (!missed[i]) continue;
        cli_link_send((struct slice[]){SLICE("SET"), slice_of(names[i]), slice_of(names[i])}, 3);
        writes++;
    }
    /* Errors of writes are ignored: a key that a full server refuses is missed by later reads. */
    while (writes--) (void)cli_link_must_read();
    return true;
}

int cli_load_lru_run(const struct cli_options *o) {
    for (;;) {
        struct rounds r = {0};
        int64_t began = clock_monotonic_nsec(), took;
        do {
            if (!run_cycle(o->keys, &r)) return 1;
            took = clock_monotonic_nsec() - began;
        } while (took < ROUND_NSEC);
        double all = (double)(r.hits + r.misses);
        printf("%.0f Gets/sec | Hits: %" PRIu64 " (%.2f%%) | Misses: %" PRIu64 " (%.2f%%)\n",
               all * 1e9 / (double)took, r.hits, (double)r.hits * 100 / all, r.misses,
               (double)r.misses * 100 / all);
        if (fflush(stdout) != 0) return 1;
    }
}
