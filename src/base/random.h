/* SPDX-License-Identifier: BSD-3-Clause
 * Random numbers: secrets from the system, everything else from one seedable generator
 * (xoshiro256**, Blackman and Vigna 2018). Main thread only, but for random_secret.
 */
#ifndef EVENKEEL_BASE_RANDOM_H
#define EVENKEEL_BASE_RANDOM_H
#include <stddef.h>
#include <stdint.h>

/* Fills `out` from the system (getrandom); ends the process where that fails. Any thread. */
void random_secret(void *out, size_t size);
/* Seeds the generator; the same seed gives the same run. At start: from random_secret. */
void random_seed(uint64_t seed);
uint64_t random_u64(void);
/* Uniform in [0, bound), without bias; bound > 0. */
uint64_t random_below(uint64_t bound);
/* Uniform in [0, 1). */
double random_double(void);
/* `length` lower-case hex digits, not terminated: run ids, replication ids. From the system. */
void random_hex(char *out, size_t length);
#endif
