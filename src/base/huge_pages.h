/* SPDX-License-Identifier: BSD-3-Clause
 * Huge pages for the heap: asks the kernel (madvise) to back the memory that the allocator takes
 * for the main thread's data with pages of 2 MiB, so that looking up a key costs fewer TLB misses.
 *
 * Memory that the allocator took before the request keeps its pages, and so does memory that it
 * took before the request was withdrawn. Giving back memory within a huge page makes the kernel
 * split the page, which takes some time; until then the free part of the page stays resident.
 */
#ifndef EVENKEEL_BASE_HUGE_PAGES_H
#define EVENKEEL_BASE_HUGE_PAGES_H
#include <stdbool.h>

#include "base/attributes.h"

/* Sets whether memory that the allocator takes from the system for this thread, from now on, is
 * advised to have huge pages. False, with nothing changed, where the allocator is not jemalloc or
 * refuses. Main thread. */
MUST_USE bool huge_pages_ask(bool on);
#endif
