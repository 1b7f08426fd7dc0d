/* SPDX-License-Identifier: BSD-3-Clause
 * What a run of the load leaves behind: records of requests, samples of INFO, deadlines.
 */
#ifndef EVENKEEL_MEASURE_OUTPUT_H
#define EVENKEEL_MEASURE_OUTPUT_H
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum operation { OP_GET, OP_SET, OP_EX, OP_DEL, OP_UNLINK, OP_HSET, OP_PING, OP_INFO, OP_SELECT };
enum stream { STREAM_LOAD, STREAM_HERD, STREAM_PROBE, STREAM_MISS, STREAM_UNSEEN };
enum result { RESULT_OK, RESULT_MISS, RESULT_ERROR, RESULT_OOM, RESULT_LOST, RESULT_UNANSWERED };

/* One request in latencies.bin, little-endian, 16 bytes; README.md describes it. */
struct record {
    uint32_t due_usec, latency_usec, late_usec;
    uint8_t operation, result, stream, zero;
};

/* Keeps a record in memory; nothing is written to a disk while the load runs. */
void output_record(const struct record *record);

/* A key with this deadline (milliseconds since 1970) is held by the server from now on. */
void output_deadline(uint64_t deadline_msec);
/* How many of the deadlines noted lie before now_msec. Cost: the time since the last call. */
uint64_t output_deadlines_passed(uint64_t now_msec);
/* Deadlines are noted relative to this moment; call before the first. */
void output_begin(uint64_t now_msec);

/* A row of info.csv: the ground truth that the load has, then the fields that were asked for. */
struct info_sample {
    uint64_t at_usec, now_msec, sets_new, deleted, deadlines_passed;
};
void output_info(const struct info_sample *sample, const char *info, const char *fields);

/* Writes latencies.bin, info.csv and deadlines.csv into the folder; false when one fails. */
bool output_write(const char *folder, const char *fields);
/* Prints the members "requests", "results" and the latencies of each stream as JSON. */
void output_summary(FILE *out);

#endif
