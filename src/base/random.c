/* SPDX-License-Identifier: BSD-3-Clause
 * xoshiro256** (Blackman and Vigna, 2018), its state filled by SplitMix64, and the system's source.
 *
 * Until random_seed the generator stands where random_seed(0) would put it, so an unseeded tool or
 * test repeats itself; it never stands in the all-zero state, which it could not leave.
 */
#include "base/random.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "base/panic.h"

static uint64_t state[4] = {UINT64_C(0xe220a8397b1dcdaf), UINT64_C(0x6e789e6aa1b965f4),
                            UINT64_C(0x06c45d188009454f), UINT64_C(0xf88bb8a8724c81ec)};

static const char hex_digits[] = "0123456789abcdef";

void random_secret(void *out, size_t size) {
    char *at = out;
    while (size > 0) {
        ssize_t got = getrandom(at, size, 0);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) PANIC("The system gives no random numbers: %s", strerror(errno));
        at += got;
        size -= (size_t)got;
    }
}

void random_seed(uint64_t seed) {
    for (unsigned i = 0; i < 4; i++) {
        seed += UINT64_C(0x9e3779b97f4a7c15);
        uint64_t z = seed;
        z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
        state[i] = z ^ z >> 31;
    }
}

static inline uint64_t random_rotate(uint64_t word, unsigned bits) {
    return word << bits | word >> (64 - bits);
}

uint64_t random_u64(void) {
    uint64_t result = random_rotate(state[1] * 5, 7) * 9;
    uint64_t shifted = state[1] << 17;
    state[2] ^= state[0];
    state[3] ^= state[1];
    state[1] ^= state[2];
    state[0] ^= state[3];
    state[2] ^= shifted;
    state[3] = random_rotate(state[3], 45);
    return result;
}

/* The high half of number times bound (Lemire, 2019). Products whose low half is below 2^64 modulo
 * bound are drawn again, because they would make some results more likely than others. */
uint64_t random_below(uint64_t bound) {
    ASSERT(bound > 0);
    unsigned __int128 product = (unsigned __int128)random_u64() * bound;
    if ((uint64_t)product < bound) {
        uint64_t surplus = -bound % bound;
        while ((uint64_t)product < surplus) product = (unsigned __int128)random_u64() * bound;
    }
    return (uint64_t)(product >> 64);
}

double random_double(void) { return (double)(random_u64() >> 11) * 0x1p-53; }

void random_hex(char *out, size_t length) {
    uint8_t bytes[32];
    for (size_t done = 0; done < length; done++) {
        if (done % sizeof(bytes) == 0) random_secret(bytes, sizeof(bytes));
        out[done] = hex_digits[bytes[done % sizeof(bytes)] & 15];
    }
}
