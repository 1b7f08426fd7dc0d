/* SPDX-License-Identifier: BSD-3-Clause
 * SHA-256 as FIPS 180-4 writes it down (6.2.2), with the schedule of 64 words made in a window of
 * 16.
 *
 * The server links no library of cryptography without TLS, and this is all that it needs of one.
 *
 * The standard's constants are the beginnings of fractional parts of roots of primes
 * (4.2.2, 5.3.3); they are made at the first use. Main thread only.
 */
#include "base/sha256.h"

#include <stdbool.h>
#include <string.h>

#define ROUNDS 64
#define STATE_WORDS 8

static uint32_t constants[ROUNDS], begin_state[STATE_WORDS];
static bool made;

static uint32_t rotate(uint32_t word, unsigned bits) { return word >> bits | word << (32 - bits); }

static bool is_prime(unsigned n) {
    for (unsigned i = 2; i * i <= n; i++)
        if (n % i == 0) return false;
    return true;
}

/* The first 32 bits of the fractional part of the square (power 2) or cube (3) root of n, which is
 * the whole root of n * 2^(32 * power) without its upper bits. */
static uint32_t root_fraction(unsigned n, int power) {
    unsigned __int128 scaled = (unsigned __int128)n << 32 * power, root = 0;
    for (int bit = 36; bit >= 0; bit--) { /* the root of a prime below 400 is below 2^5 */
        unsigned __int128 tried = root | (unsigned __int128)1 << bit;
        if ((power == 3 ? tried * tried * tried : tried * tried) <= scaled) root = tried;
    }
    return (uint32_t)root;
}

static void make_constants(void) {
    int count = 0;
    for (unsigned n = 2; count < ROUNDS; n++) {
        if (!is_prime(n)) continue;
        if (count < STATE_WORDS) begin_state[count] = root_fraction(n, 2);
        constants[count++] = root_fraction(n, 3);
    }
    made = true;
}

/* The word of round `i` from those of the sixteen before it: section 6.2.2, step 1. */
static uint32_t schedule(uint32_t w[16], int i) {
    uint32_t near = w[(i + 14) & 15], far = w[(i + 1) & 15];
    if (i >= 16) {
        uint32_t sigma1 = rotate(near, 17) ^ rotate(near, 19) ^ near >> 10;
        uint32_t sigma0 = rotate(far, 7) ^ rotate(far, 18) ^ far >> 3;
        w[i & 15] += sigma1 + w[(i + 9) & 15] + sigma0;
    }
    return w[i & 15];
}

/* v[0] to v[7] are a to h. */
static void process(uint32_t *state, const unsigned char *block) {
    uint32_t w[16], v[8];
    for (int i = 0; i < 16; i++) w[i] = sha_read_word(block + 4 * i);
    memcpy(v, state, sizeof(v));
    for (int i = 0; i < ROUNDS; i++) {
        uint32_t a = v[0], e = v[4];
        uint32_t sum1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25);
        uint32_t sum0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22);
        uint32_t choice = (e & v[5]) ^ (~e & v[6]);
        uint32_t majority = (a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]);
        uint32_t mixed = v[7] + sum1 + choice + constants[i] + schedule(w, i);
        memmove(v + 1, v, 7 * sizeof(v[0]));
        v[4] += mixed;
        v[0] = mixed + sum0 + majority;
    }
    for (int i = 0; i < 8; i++) state[i] += v[i];
}

void sha256_begin(struct sha256 *s) {
    if (!made) make_constants();
    *s = (struct sha256){.blocks = {0}};
    memcpy(s->state, begin_state, sizeof(s->state));
}

void sha256_add(struct sha256 *s, const void *bytes, size_t length) {
    sha_blocks_add(&s->blocks, bytes, length, process, s->state);
}

void sha256_end(struct sha256 *s, unsigned char digest[SHA256_BYTES]) {
    sha_blocks_end(&s->blocks, process, s->state, 8, digest);
    explicit_bzero(s, sizeof(*s)); /* what was hashed is a password */
}
