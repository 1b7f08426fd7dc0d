/* SPDX-License-Identifier: BSD-3-Clause
 * The options of the load, as its command line gives them.
 */
#ifndef EVENKEEL_MEASURE_LOAD_OPTIONS_H
#define EVENKEEL_MEASURE_LOAD_OPTIONS_H
#include "draw.h"
#include "load/load_connection.h"
#include "output.h"
#include "trace.h"

#define VALUE_BYTES_MAX (1u << 20) /* above any value of a cache that is imitated */
#define KEY_BYTES_MAX 1024
#define CONNECTIONS_MAX 1000000
#define PIPELINE_MAX 1000000
#define TTL_MSEC_MAX 1e12
/* A run whose own lateness exceeds 5 ms for more than this share of its requests is repeated. */
#define LATE_SHARE_MAX 0.001
#define MIX_OPERATIONS (OP_HSET + 1)
#define FIELDS_AT_ONCE_MAX 1000 /* of one HSET: a request stays below some hundred kilobytes */

enum loop { LOOP_COUNT, LOOP_RECORD };
enum command { COMMAND_GET, COMMAND_SET, COMMAND_DEL };
enum keyspace { KEYSPACE_HOT, KEYSPACE_RANDOM, KEYSPACE_SEQUENTIAL };

struct load_options {
    enum loop loop;
    struct load_target target; /* without a greeting */
    uint64_t port;
    /* of the loop that counts */
    enum command command;
    enum keyspace keyspace;
    const char *script;
    uint64_t ttl_s;
    uint64_t slots; /* only keys of the slots of a cluster below this one; 0 = all */
    bool hold;
    /* of the loop that records, but for what the other has too: connections, pipeline, requests,
     * seed, keys, first_key, seconds, value_bytes */
    const char *out, *info_fields, *trace_path;
    uint64_t connections, pipeline, databases, requests, seed;
    uint64_t herd_connections, herd_spread_msec, slow_readers, slow_pipeline, slow_bytes_per_s;
    uint64_t fields, fields_at_once; /* of HSETs */
    uint64_t keys, first_key, held_keys, get_keys, get_first_key, due_at_msec, due_spread_msec,
        info_msec, key_bytes_max;
    double seconds, drain_s, reconnects_per_s, herd_at_s, herd_every_s, slow_at_s, zipf_exponent,
        probe_msec;
    double trace_speed;
    bool lifo, closed, slide, scatter, sets_are_new, deletes_oldest, fill_misses;
    unsigned mix[MIX_OPERATIONS], mix_sum;
    struct arrivals arrivals;
    struct size_law value_bytes, key_bytes, ttl_msec;
    struct trace trace;
};

/* Fills `options` from the arguments. Ends the program with a message and status 2 where they make
 * no sense; with --help it prints the list. */
void load_options_read(int argc, char **argv, struct load_options *options);

#endif
