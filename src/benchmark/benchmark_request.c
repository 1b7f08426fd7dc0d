/* SPDX-License-Identifier: BSD-3-Clause
 * Encoded requests, and the random numbers in them.
 *
 * The generator is xorshift64* (Vigna 2014), with a state for each thread: it takes few
 * instructions, and load needs no better randomness.
 */
#include "benchmark/benchmark_request.h"

#include "peer/peer.h"

/* Notes the offsets of a word, plus `within`; false where they are too many. */
static bool find_word(const struct benchmark_request *r, struct slice word, size_t within,
                      size_t places[BENCHMARK_PLACES_MAX], size_t *count) {
    for (size_t at = 0;;) {
        const char *found =
            memmem(r->bytes.bytes + at, r->bytes.length - at, word.bytes, word.length);
        if (!found) return true;
        if (*count == BENCHMARK_PLACES_MAX) return false;
        size_t offset = (size_t)(found - r->bytes.bytes);
        places[(*count)++] = offset + within;
        at = offset + word.length;
    }
}

/* Notes the places of random numbers; false where they are too many. A word's length prefix is
 * never taken for a place, because it is shorter than BENCHMARK_RANDOM_WORD. */
static bool find_places(struct benchmark_request *r) {
    return find_word(r, SLICE(BENCHMARK_RANDOM_WORD), 0, r->places, &r->place_count);
}

bool benchmark_request_find_tags(struct benchmark_request *r) {
    return find_word(r, SLICE(BENCHMARK_TAG_WORD), 1, r->tags, &r->tag_count);
}

bool benchmark_request_of_words(struct benchmark_request *r, const struct slice *words,
                                size_t count, bool draws) {
    *r = (struct benchmark_request){.bytes.class = MEMORY_OTHER};
    peer_encode(&r->bytes, words, count);
    return !draws || find_places(r);
}

void benchmark_request_of_bytes(struct benchmark_request *r, struct slice bytes) {
    *r = (struct benchmark_request){.bytes.class = MEMORY_OTHER};
    buffer_append(&r->bytes, bytes.bytes, bytes.length);
}

void benchmark_request_free(struct benchmark_request *r) { buffer_free(&r->bytes); }

void benchmark_request_repeat(const struct benchmark_request *r, char *to, unsigned times) {
    for (unsigned i = 0; i < times; i++, to += r->bytes.length) {
        memcpy(to, r->bytes.bytes, r->bytes.length);
    }
}

uint64_t benchmark_request_chance(uint64_t *state) {
    uint64_t x = *state;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    *state = x;
    return x * UINT64_C(2685821657736338717);
}

/* Two digits for each division, because writing random numbers is the main cost of a request that
 * has some. */
static const char digit_pairs[] =
    "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
    "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
    "8081828384858687888990919293949596979899";

static void put_digits(char *to, uint64_t number) {
    for (int i = BENCHMARK_RANDOM_DIGITS - 2; i >= 0; i -= 2, number /= 100) {
        memcpy(to + i, digit_pairs + number % 100 * 2, 2);
    }
}

void benchmark_request_draw(const struct benchmark_request *r, char *bytes, unsigned times,
                            uint64_t keyspace, uint64_t *state) {
    for (unsigned i = 0; i < times; i++, bytes += r->bytes.length) {
        for (size_t place = 0; place < r->place_count; place++) {
            uint64_t number =
                (uint64_t)(((unsigned __int128)benchmark_request_chance(state) * keyspace) >> 64);
            put_digits(bytes + r->places[place], number);
        }
    }
}
