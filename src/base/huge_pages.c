/* SPDX-License-Identifier: BSD-3-Clause
 * Huge pages for the heap, by a hook into the arena of the main thread.
 *
 * jemalloc takes memory from the system in extents that grow (2 MiB, then more), and keeps them.
 * The hook advises each extent as it is taken; for all else the arena's standard functions stay in
 * place.
 *
 * Invariant: `hooks` is `standard` but for `alloc`. Once installed it stays in the arena; `wanted`
 * says whether it advises.
 */
#include "base/huge_pages.h"

#ifdef EVENKEEL_SANITIZER

bool huge_pages_ask(bool on) { return !on; }

#else

#include <jemalloc/jemalloc.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "base/memory.h"

/* Arena 0 is the main thread's: the process begins with it. */
#define HOOKS_NAME "arena.0.extent_hooks"

static extent_hooks_t hooks;
static extent_hooks_t *standard;
static atomic_bool wanted;

static void *huge_pages_alloc(extent_hooks_t *unused, void *at, size_t size, size_t alignment,
                              bool *zero, bool *commit, unsigned arena) {
    void *memory = standard->alloc(standard, at, size, alignment, zero, commit, arena);
    /* A failure is ignored: the memory works without huge pages. */
    if (memory && atomic_load(&wanted)) (void)madvise(memory, size, MADV_HUGEPAGE);
    return memory;
}

static bool install_hooks(void) {
    extent_hooks_t *ours = &hooks;
    size_t size = sizeof(standard);
    if (standard) return true;
    if (memory_allocator_control(HOOKS_NAME, &standard, &size, NULL, 0) != 0) return false;
    hooks = *standard;
    hooks.alloc = huge_pages_alloc;
    if (memory_allocator_control(HOOKS_NAME, NULL, NULL, &ours, sizeof(ours)) == 0) return true;
    standard = NULL;
    return false;
}

bool huge_pages_ask(bool on) {
    if (!on && !standard) return true;
    if (!install_hooks()) return false;
    atomic_store(&wanted, on);
    return true;
}

#endif
