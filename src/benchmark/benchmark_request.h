/* SPDX-License-Identifier: BSD-3-Clause
 * What redis-benchmark sends: one request as bytes, and the places in it where each sending puts
 * another number.
 */
#ifndef EVENKEEL_BENCHMARK_BENCHMARK_REQUEST_H
#define EVENKEEL_BENCHMARK_BENCHMARK_REQUEST_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/string.h"

/* What a word may contain; it is as long as the number that takes its place. */
#define BENCHMARK_RANDOM_WORD "__rand_int__"
#define BENCHMARK_RANDOM_DIGITS 12
#define BENCHMARK_PLACES_MAX 256

struct benchmark_request {
    struct buffer bytes;
    size_t places[BENCHMARK_PLACES_MAX]; /* where numbers of twelve digits go */
    size_t place_count;
};

/* Of words; with `draws` the places are looked for, else the word is sent as it is. False where
 * there are more than BENCHMARK_PLACES_MAX. */
bool benchmark_request_of_words(struct benchmark_request *r, const struct slice *words,
                                size_t count, bool draws);
/* Of bytes that are sent as they are. */
void benchmark_request_of_bytes(struct benchmark_request *r, struct slice bytes);
void benchmark_request_free(struct benchmark_request *r);

/* Copies of the request, one behind the other. */
void benchmark_request_repeat(const struct benchmark_request *r, char *to, unsigned times);
/* Writes numbers below `keyspace` (0 counts as 1) to all places of `times` requests at `bytes`;
 * moves `*state` of the generator, which is not 0. */
void benchmark_request_draw(const struct benchmark_request *r, char *bytes, unsigned times,
                            uint64_t keyspace, uint64_t *state);
#endif
