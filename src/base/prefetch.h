/* SPDX-License-Identifier: BSD-3-Clause
 * A hint to the processor that the memory at an address will be wanted.
 *
 * To gcc a hint is no effect: a function that gives hints and nothing else is found to do nothing,
 * and calls of it are left out. A statement that it must not touch keeps such functions; it is no
 * instruction, and orders nothing else.
 */
#ifndef EVENKEEL_BASE_PREFETCH_H
#define EVENKEEL_BASE_PREFETCH_H

static inline void prefetch(const void *address) {
    __builtin_prefetch(address);
    __asm__ volatile("");
}
#endif
