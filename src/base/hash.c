/* SPDX-License-Identifier: BSD-3-Clause
 * SipHash-1-3 from its paper: one round a word, three at the end.
 *
 * The text is read in words of eight bytes, least significant byte first; the last word holds the
 * rest of the bytes and, in its highest byte, the text's length modulo 256.
 *
 * Until hash_set_key the key is zero: enough for tests and tools, not for a server.
 */
#include "base/hash.h"

#include <stdbool.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "words are read as they lie in memory");

#define EACH_BYTE(b) (UINT64_C(0x0101010101010101) * (b))

static uint64_t key_low, key_high;

static inline uint64_t hash_load_64(const uint8_t *from) {
    uint64_t word;
    memcpy(&word, from, sizeof(word));
    return word;
}

static inline uint64_t hash_load_32(const uint8_t *from) {
    uint32_t word;
    memcpy(&word, from, sizeof(word));
    return word;
}

/* The `count` (0 to 7) bytes at `from` as a word. Reads no other byte; its overlapping loads agree
 * on the bytes they share. */
static inline uint64_t load_rest(const uint8_t *from, size_t count) {
    if (count >= 4) return hash_load_32(from) | hash_load_32(from + count - 4) << (8 * (count - 4));
    if (count == 0) return 0;
    return from[0] | (uint64_t)from[count / 2] << (8 * (count / 2)) |
           (uint64_t)from[count - 1] << (8 * (count - 1));
}

static inline uint64_t hash_rotate(uint64_t word, unsigned bits) {
    return word << bits | word >> (64 - bits);
}

struct state {
    uint64_t a, b, c, d;
};

static inline void siphash_mix(struct state *s) {
    s->a += s->b;
    s->c += s->d;
    s->b = hash_rotate(s->b, 13) ^ s->a;
    s->d = hash_rotate(s->d, 16) ^ s->c;
    s->a = hash_rotate(s->a, 32);
    s->c += s->b;
    s->a += s->d;
    s->b = hash_rotate(s->b, 17) ^ s->c;
    s->d = hash_rotate(s->d, 21) ^ s->a;
    s->c = hash_rotate(s->c, 32);
}

static inline void siphash_absorb(struct state *s, uint64_t word) {
    s->d ^= word;
    siphash_mix(s);
    s->a ^= word;
}

static inline uint64_t siphash_bytes(const uint8_t *bytes, size_t length) {
    /* "somepseudorandomlygeneratedbytes", as the paper has it. */
    struct state s = {
        key_low ^ UINT64_C(0x736f6d6570736575), key_high ^ UINT64_C(0x646f72616e646f6d),
        key_low ^ UINT64_C(0x6c7967656e657261), key_high ^ UINT64_C(0x7465646279746573)};
    const uint8_t *end = bytes + (length & ~(size_t)7);
    for (; bytes != end; bytes += 8) {
        uint64_t word = hash_load_64(bytes);
        siphash_absorb(&s, word);
    }
    uint64_t rest = load_rest(bytes, length & 7);
    siphash_absorb(&s, rest | (uint64_t)length << 56);
    s.c ^= 0xff;
    siphash_mix(&s);
    siphash_mix(&s);
    siphash_mix(&s);
    return s.a ^ s.b ^ s.c ^ s.d;
}

void hash_set_key(const uint8_t key[16]) {
    key_low = hash_load_64(key);
    key_high = hash_load_64(key + 8);
}

uint64_t hash_bytes(const void *bytes, size_t length) { return siphash_bytes(bytes, length); }
