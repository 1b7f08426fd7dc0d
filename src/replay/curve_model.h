/* SPDX-License-Identifier: BSD-3-Clause
 * Hit ratios of all policies and many sizes of memory, from one pass over a trace.
 *
 * What is assumed of the clients: a client that misses a key that was there when the trace was
 * recorded loads it from elsewhere and sets it, with its size and time to live. A key that was not
 * there then is there after the trace's own write. `redis-lab replay --fill` does the same to a
 * real server.
 *
 * The first read of a key that was there before the trace began counts neither as hit nor as miss,
 * because nothing says how long ago it was used.
 *
 * Sizes are bytes of keys and values, as MEMORY USAGE counts them, of the whole server: the trace
 * has one key in `sample`, so a cache of an Nth of the size is simulated (SHARDS, Waldspurger et
 * al. 2015). Where the trace names more keys than `keys_max`, half of them are dropped, by their
 * hash, and the sizes are scaled again.
 *
 * The sizes need not be known beforehand. A cache without a limit is what every larger cache would
 * be, as long as it is smaller than that. When it outgrows a size of the ladder, a copy with this
 * capacity is made. When there are too many copies the smallest is dropped.
 */
#ifndef EVENKEEL_REPLAY_CURVE_MODEL_H
#define EVENKEEL_REPLAY_CURVE_MODEL_H
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "replay/curve_cache.h"
#include "trace_file/trace_file.h"

/* Sizes of the ladder are powers of the root of two; so many make eight doublings. */
#define CURVE_LADDER_SIZES 16
#define CURVE_SIZES_MAX 32
#define CURVE_KEYS_LEAST 256
#define CURVE_KEYS_MOST 1048576

struct curve_settings {
    int64_t sample;    /* of the trace: one key in so many */
    uint32_t keys_max; /* from CURVE_KEYS_LEAST to CURVE_KEYS_MOST */
    unsigned samples;  /* maxmemory-samples */
    /* The traced server evicts keys, so a key that it lacks may have been evicted. Else the trace
     * is believed where it says that a key is not there. */
    bool server_evicts;
    /* In bytes, rising; none: the ladder. */
    const int64_t *sizes;
    unsigned size_count;
};

struct curve_point {
    double bytes; /* of the whole server; the last point: all keys */
    double hit_share[CURVE_POLICIES], exact_lru_share; /* 0 to 1; NaN = nothing was read */
};

struct curve_result {
    struct curve_point points[CURVE_SIZES_MAX + 1]; /* by size; the last one has no limit */
    unsigned point_count;
    double reads;                       /* that count, of the sample */
    double first_reads;                 /* that do not count, of the sample */
    int64_t traced_hits, traced_misses; /* reads by what the traced server had */
    int64_t unknown;                    /* requests whose command the model does not know */
    uint64_t keys;                      /* different ones that were looked at */
    double kept_share;                  /* of the trace's keys that are simulated */
    double peak_bytes;                  /* of all keys at once, of the whole server */
};

struct curve_model;
MUST_USE struct curve_model *curve_model_create(const struct curve_settings *settings);
void curve_model_free(struct curve_model *m);
/* Takes the next record. */
void curve_model_take(struct curve_model *m, const struct trace_file_record *record);
void curve_model_finish(const struct curve_model *m, struct curve_result *result);
const char *curve_policy_name(enum curve_policy policy);
#endif
