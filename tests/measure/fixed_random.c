/* SPDX-License-Identifier: BSD-3-Clause
 * Preloaded into a server whose instructions are counted: the system's random numbers are always
 * the same ones, and so are the hash key that the server draws, the chains of its tables and the
 * members that it picks. Without it a count differs from run to run by more than what is looked
 * for.
 */
#define _GNU_SOURCE
#include <stddef.h>
#include <stdint.h>
#include <sys/random.h>

static uint8_t next = 1;

ssize_t getrandom(void *to, size_t length, unsigned flags) {
    (void)flags;
    for (size_t i = 0; i < length; i++) ((uint8_t *)to)[i] = next = (uint8_t)(next * 5 + 113);
    return (ssize_t)length;
}
