/* SPDX-License-Identifier: BSD-3-Clause
 * A hint to the processor that the memory at an address will be wanted.
 *
 * gcc does not count a prefetch as an effect, so it leaves out calls of a function that does
 * nothing else. The empty volatile asm keeps such functions; it is no instruction, and orders
 * nothing else.
 */
#ifndef EVENKEEL_BASE_PREFETCH_H
#define EVENKEEL_BASE_PREFETCH_H

static inline void prefetch(const void *address) {
    __builtin_prefetch(address);
    __asm__ volatile("");
}
#endif
