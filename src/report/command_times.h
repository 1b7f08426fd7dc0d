/* SPDX-License-Identifier: BSD-3-Clause
 * How long each command takes, as histograms: inside the command, and as the client felt it; INFO
 * commandstats.
 *
 * LATENCY HISTOGRAM shows them. The time that the client feels lasts from the moment at which the
 * loop learned that its socket was ready to the moment at which its reply was handed to the socket.
 * It includes the wait behind the other clients of the turn, the reading, the commands before it in
 * the batch and the writing. It is measured once for a batch, for all its commands alike; a command
 * that waits (BLPOP) or was held back has no such time.
 *
 * A command's histograms, about 0.5 KB, are allocated when it runs for the first time.
 */
#ifndef EVENKEEL_REPORT_COMMAND_TIMES_H
#define EVENKEEL_REPORT_COMMAND_TIMES_H
#include <stdint.h>

struct command;
struct request;

/* Bucket i counts times of up to 2^i us, and of more than the bucket before it; the last bucket
 * also counts longer times (2^30 us are 18 minutes). */
#define COMMAND_TIMES_BUCKETS 31

struct command_times {
    uint64_t inside[COMMAND_TIMES_BUCKETS];
    uint64_t felt[COMMAND_TIMES_BUCKETS];
    uint64_t felt_nsec; /* sum */
};

/* The bucket of a time; a negative one counts as 0. A time of exactly 2^i us may be in the next
 * bucket. */
static inline unsigned command_times_bucket(int64_t nsec) {
    uint64_t half_usec = nsec > 0 ? (uint64_t)nsec / 500 : 0;
    unsigned bucket = half_usec < 2 ? 0 : 63 - (unsigned)__builtin_clzll(half_usec);
    return bucket < COMMAND_TIMES_BUCKETS ? bucket : COMMAND_TIMES_BUCKETS - 1;
}

/* A command has run for so long. */
void command_times_note(struct command *command, int64_t nsec);
/* The replies of a batch are written: each request of it that ran to its end felt `nsec`. */
void command_times_note_felt(const struct request *requests, int count, int64_t nsec);
void command_times_register(void); /* metrics: Commandstats */
#endif
