/* SPDX-License-Identifier: BSD-3-Clause
 * Allocation with accounting by class.
 *
 * Every byte that the server holds belongs to one class, named when it is allocated and again
 * when it is freed. A class' sum is a counter and is never found by walking. What is counted is
 * what the allocator really sets aside (its size class), not what was asked for.
 *
 * Threads count for themselves; memory_publish() adds a thread's counts to the shared ones. The
 * calling thread always sees its own counts at once, those of others as of their last publish.
 *
 * Out of memory ends the process with a report, except in try_ calls. A debug build
 * (MEMORY_CHECKED) keeps class and size before each block and asserts both when it is freed.
 * Builds with a sanitizer use malloc instead of jemalloc, so that the sanitizer sees each block.
 */
#ifndef EVENKEEL_BASE_MEMORY_H
#define EVENKEEL_BASE_MEMORY_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

enum memory_class {
    MEMORY_DATASET,     /* keys, values, tables, deadline index */
    MEMORY_CLIENTS,     /* connections: state, queries, replies */
    MEMORY_REPLICATION, /* backlog, replicas' buffers */
    MEMORY_AOF,
    MEMORY_SAVES,   /* copied for a save that walks, and not written yet */
    MEMORY_SCRIPTS, /* those that are cached */
    MEMORY_LUA,     /* what Lua holds: values of scripts, their code, garbage not collected yet */
    MEMORY_MODULES,
    MEMORY_TLS,     /* what libssl holds: contexts, sessions, the state of each connection */
    MEMORY_POOLS,   /* free buffers kept for reuse, the threads' own buffers */
    MEMORY_OTHER,   /* tables of commands and options, logs, everything else */
    MEMORY_LEAVING, /* given up, and freed in steps: already counted as free */
    MEMORY_CLASSES
};

/* Returns at least `size` bytes (size 0 counts as 1), aligned to 16. Never NULL. */
MUST_USE void *memory_alloc(size_t size, enum memory_class class)
    __attribute__((malloc, warn_unused_result));
/* The same, cleared. */
MUST_USE void *memory_zalloc(size_t size, enum memory_class class)
    __attribute__((malloc, warn_unused_result));
/* The same, aligned to `alignment` (a power of two, at most 4096). Freed by memory_free_aligned. */
void *memory_alloc_aligned(size_t alignment, size_t size, enum memory_class class)
    __attribute__((warn_unused_result));
/* NULL where there is no memory (or size is absurd), instead of ending the process. */
MUST_USE void *memory_try_alloc(size_t size, enum memory_class class)
    __attribute__((malloc, warn_unused_result));
/* Contents are kept up to the smaller size; `block` may be NULL; the class does not change. */
MUST_USE void *memory_realloc(void *block, size_t size, enum memory_class class)
    __attribute__((warn_unused_result));
/* As memory_realloc, NULL where there is no memory; `block` then stays as it was. */
MUST_USE void *memory_try_realloc(void *block, size_t size, enum memory_class class)
    __attribute__((warn_unused_result));
MUST_USE char *memory_strdup(const char *text, enum memory_class class)
    __attribute__((malloc, warn_unused_result));

/* `block` may be NULL. */
void memory_free(void *block, enum memory_class class);
/* Faster where the caller knows the size it asked for (or any size of the same good size). */
void memory_free_sized(void *block, size_t size, enum memory_class class);
void memory_free_aligned(void *block, size_t alignment, size_t size, enum memory_class class);

/* The bytes that a request of `size` really takes; pure arithmetic. Two sizes with the same
 * good size can share a block. */
size_t memory_good_size(size_t size);
/* The bytes that `block` really takes. */
size_t memory_usable_size(const void *block);

/* Books `bytes` (may be negative) from one class to the other; the block's owner changes. With
 * `block` not NULL a checked build also moves the block's own mark. */
void memory_move(void *block, size_t bytes, enum memory_class from, enum memory_class to);

/* Adds this thread's counts to the shared ones. Call once a turn in every thread but the main. */
void memory_publish(void);
size_t memory_used(enum memory_class class);
/* Of what is there for a log, replicas and saves: eviction could free none of it. */
size_t memory_used_uncounted(void);
/* Of all classes but MEMORY_LUA, as in 6.2, whose Lua has an allocator of its own, and
 * MEMORY_LEAVING. */
size_t memory_used_total(void);

/* Called on out of memory with the size that was asked for, before the process ends. */
void memory_set_oom_handler(void (*handler)(size_t size));

/* A test's view of single allocations and frees: called with the bytes of each, NULL = none.
 * Not for use while other threads allocate. */
struct memory_hook {
    void (*allocated)(size_t bytes);
    void (*freed)(size_t bytes);
};
FOR_TESTS void memory_set_hook(const struct memory_hook *hook);
/* Tests: a memory_try_ call fails where this says so of its size; NULL = none. */
FOR_TESTS void memory_set_refusal(bool (*refuses)(size_t size));
/* Largest single allocation and free of MEMORY_DATASET since the last reset, in bytes, over all
 * threads' published and the calling thread's own work. */
size_t memory_largest_alloc(enum memory_class class);
size_t memory_largest_free(enum memory_class class);
void memory_largest_reset(void);

/* What the allocator itself says; all zero where it is not jemalloc. */
struct memory_allocator_stats {
    size_t allocated, active, resident;
};
void memory_allocator_stats(struct memory_allocator_stats *stats);
/* Whether the allocator gives memory that has been free for a while back to the system from a
 * thread of its own, instead of within calls of malloc and free; a fork's child has no such thread.
 * False where the allocator cannot. */
MUST_USE bool memory_set_background_purge(bool on);
/* Its own report, in pieces; nothing where it is not jemalloc. */
void memory_allocator_report(void (*write)(void *context, const char *text), void *context);
/* Gives free pages back to the system, those in this thread's cache included. */
void memory_allocator_purge(void);
/* mallctl(3) of jemalloc; ENOSYS with another allocator. */
int memory_allocator_control(const char *name, void *old_value, size_t *old_size, void *new_value,
                             size_t new_size);
/* "jemalloc-5.3.0" or "libc". */
const char *memory_allocator_name(void);
/* Resident set size of the process in bytes, from the system; 0 where unknown. */
size_t memory_rss(void);
#endif
