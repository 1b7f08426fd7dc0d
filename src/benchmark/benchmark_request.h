/* SPDX-License-Identifier: BSD-3-Clause
 * A request of redis-benchmark: its encoded bytes, and the places in them that get a new random
 * number each time the request is sent.
 */
#ifndef EVENKEEL_BENCHMARK_BENCHMARK_REQUEST_H
#define EVENKEEL_BENCHMARK_BENCHMARK_REQUEST_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/string.h"

/* A word of a request may contain this text, which a random number replaces. The text is as long as
 * the number. */
#define BENCHMARK_RANDOM_WORD "__rand_int__"
#define BENCHMARK_RANDOM_DIGITS 12
#define BENCHMARK_PLACES_MAX 256
/* A word of a request may contain this text; with --cluster the hash tag of a slot replaces the
 * word between the braces. */
#define BENCHMARK_TAG_WORD "{tag}"

struct benchmark_request {
    struct buffer bytes;
    size_t places[BENCHMARK_PLACES_MAX]; /* offsets of random numbers in `bytes` */
    size_t place_count;
    size_t tags[BENCHMARK_PLACES_MAX]; /* offsets of hash tags, behind their braces */
    size_t tag_count;
};

/* Notes the places of BENCHMARK_TAG_WORD. Returns false if they are more than BENCHMARK_PLACES_MAX.
 */
MUST_USE bool benchmark_request_find_tags(struct benchmark_request *r);
/* Encodes a request from words. With `draws` each BENCHMARK_RANDOM_WORD becomes a place for a
 * random number; else it is sent unchanged. Returns false if the places are more than
 * BENCHMARK_PLACES_MAX. */
bool benchmark_request_of_words(struct benchmark_request *r, const struct slice *words,
                                size_t count, bool draws);
/* Makes a request of bytes that are sent unchanged. */
void benchmark_request_of_bytes(struct benchmark_request *r, struct slice bytes);
void benchmark_request_free(struct benchmark_request *r);

/* Writes `times` copies of the request to `to`, one after the other. */
void benchmark_request_repeat(const struct benchmark_request *r, char *to, unsigned times);
/* Writes random numbers below `keyspace` (0 counts as 1) to all places of the `times` requests at
 * `bytes`, and advances the generator's `*state`, which must not be 0. */
void benchmark_request_draw(const struct benchmark_request *r, char *bytes, unsigned times,
                            uint64_t keyspace, uint64_t *state);
/* Returns a random number, and advances the generator's `*state`, which must not be 0. */
uint64_t benchmark_request_chance(uint64_t *state);
#endif
