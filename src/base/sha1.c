/* SPDX-License-Identifier: BSD-3-Clause
 * SHA-1 as FIPS 180-4 writes it down (6.1.2), with the schedule of 80 words made in a window of 16.
 */
#include "base/sha1.h"

#include <string.h>

static uint32_t rotate(uint32_t word, unsigned bits) { return word << bits | word >> (32 - bits); }

/* Ch, Parity and Maj of section 4.1.1, each with its constant of 4.2.1. */
static uint32_t mix(int round, uint32_t x, uint32_t y, uint32_t z) {
    if (round < 20) return ((x & y) ^ (~x & z)) + 0x5a827999u;
    if (round < 40) return (x ^ y ^ z) + 0x6ed9eba1u;
    if (round < 60) return ((x & y) ^ (x & z) ^ (y & z)) + 0x8f1bbcdcu;
    return (x ^ y ^ z) + 0xca62c1d6u;
}

static void process(uint32_t *state, const unsigned char *block) {
    uint32_t w[16];
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3], e = state[4];
    for (int i = 0; i < 16; i++) w[i] = sha_read_word(block + 4 * i);
    for (int i = 0; i < 80; i++) {
        uint32_t *word = &w[i & 15];
        if (i >= 16)
            *word = rotate(w[(i + 13) & 15] ^ w[(i + 8) & 15] ^ w[(i + 2) & 15] ^ *word, 1);
        uint32_t next = rotate(a, 5) + mix(i, b, c, d) + e + *word;
        e = d;
        d = c;
        c = rotate(b, 30);
        b = a;
        a = next;
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
    state[4] += e;
}

void sha1_begin(struct sha1 *s) {
    *s = (struct sha1){.state = {0x67452301u, 0xefcdab89u, 0x98badcfeu, 0x10325476u, 0xc3d2e1f0u}};
}

void sha1_add(struct sha1 *s, const void *bytes, size_t length) {
    sha_blocks_add(&s->blocks, bytes, length, process, s->state);
}

void sha1_end(struct sha1 *s, unsigned char digest[SHA1_BYTES]) {
    sha_blocks_end(&s->blocks, process, s->state, 5, digest);
}
