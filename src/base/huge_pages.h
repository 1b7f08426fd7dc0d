/* SPDX-License-Identifier: BSD-3-Clause
 * Huge pages for the heap: the kernel is asked to back what the allocator takes for the main
 * thread's data with pages of 2 MiB, so that finding a key costs fewer misses of the processor's
 * table of pages.
 *
 * What the allocator had taken before it was asked stays as it is; so does what it took meanwhile
 * when it is asked no longer. Memory that is given back within a huge page splits it, which takes
 * the kernel some time, and what is left empty in one is lost until then.
 */
#ifndef EVENKEEL_BASE_HUGE_PAGES_H
#define EVENKEEL_BASE_HUGE_PAGES_H
#include <stdbool.h>

#include "base/attributes.h"

/* For memory that the allocator takes from the system for this thread from now on. False where it
 * is not jemalloc, or refuses: then nothing is changed. Main thread. */
MUST_USE bool huge_pages_ask(bool on);
#endif
