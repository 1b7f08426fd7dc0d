/* SPDX-License-Identifier: BSD-3-Clause
 * Allocation with accounting by class.
 *
 * Every byte that the server holds belongs to one class, which the caller names when it allocates
 * and again when it frees. A class' sum is a counter, never found by walking. It counts the bytes
 * that the allocator really sets aside (its size class), not the bytes that were asked for.
 *
 * Each thread counts for itself; memory_publish() adds its counts to the shared ones. A thread sees
 * its own counts at once, and those of other threads as of their last memory_publish().
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

/* The classes that several folders allocate in. A folder that has memory of its own to show gets a
 * number for its class when it registers (memory_class_register). */
enum memory_class {
    MEMORY_DATASET, /* keys, values, tables, deadline index */
    MEMORY_CLIENTS, /* connections: state, queries, replies */
    MEMORY_SAVES,   /* copied for a save by walk, and not written yet */
    MEMORY_POOLS,   /* free buffers kept for reuse, the threads' own buffers */
    MEMORY_OTHER,   /* tables of commands and options, logs, everything else */
    MEMORY_CLASS_NEXT,
    /* The classes from here on are not part of memory_used_total. */
    MEMORY_COUNTED_END = 10,
    MEMORY_LEAVING = 11, /* deleted, and still being freed in steps: already counted as free */
    MEMORY_CLASSES
};

/* Which sums a registered class is part of. */
enum memory_sums {
    MEMORY_COUNTED,   /* memory_used_total */
    MEMORY_UNCOUNTED, /* memory_used_total and memory_used_uncounted */
    MEMORY_APART      /* none, because 6.2 does not count such memory */
};
/* Gives a folder's class a number. `class` is a variable of the folder, MEMORY_OTHER before, so
 * that what is allocated without a registration (in tools, in tests) is counted as other memory.
 * Called at start, before the first allocation in the class. Does nothing for a class that has its
 * number. Asserts that a number is free: there are MEMORY_COUNTED_END of the classes that count,
 * and one that is apart. */
void memory_class_register(enum memory_class *class, enum memory_sums sums);

/* Returns at least `size` bytes (size 0 counts as 1), aligned to 16. Never NULL. */
MUST_USE void *memory_alloc(size_t size, enum memory_class class)
    __attribute__((malloc, warn_unused_result));
/* At least `size` bytes, all zero, aligned to 16. Never NULL. */
MUST_USE void *memory_zalloc(size_t size, enum memory_class class)
    __attribute__((malloc, warn_unused_result));
/* At least `size` bytes, aligned to `alignment` (a power of two, at most 4096). Never NULL. Freed
 * by memory_free_aligned. */
void *memory_alloc_aligned(size_t alignment, size_t size, enum memory_class class)
    __attribute__((warn_unused_result));
/* At least `size` bytes, aligned to 16; NULL if there is no memory, or `size` is absurd. */
MUST_USE void *memory_try_alloc(size_t size, enum memory_class class)
    __attribute__((malloc, warn_unused_result));
/* Resizes a block, which may move; contents are kept up to the smaller size. `block` may be NULL.
 * The class must be the block's. Never NULL. */
MUST_USE void *memory_realloc(void *block, size_t size, enum memory_class class)
    __attribute__((warn_unused_result));
/* Resizes a block as memory_realloc does; NULL, with `block` as it was, where there is no
 * memory. */
MUST_USE void *memory_try_realloc(void *block, size_t size, enum memory_class class)
    __attribute__((warn_unused_result));
MUST_USE char *memory_strdup(const char *text, enum memory_class class)
    __attribute__((malloc, warn_unused_result));

/* `block` may be NULL. */
void memory_free(void *block, enum memory_class class);
/* Faster: `size` is the one that was asked for, or any with the same good size. */
void memory_free_sized(void *block, size_t size, enum memory_class class);
void memory_free_aligned(void *block, size_t alignment, size_t size, enum memory_class class);

/* The bytes that a request of `size` really takes; pure arithmetic. A block need not be reallocated
 * between two sizes with the same good size. */
size_t memory_good_size(size_t size);
/* The bytes that `block` really takes; 0 for NULL. */
size_t memory_usable_size(const void *block);

/* Moves `bytes` (may be negative) from the one class' count to the other's, as when a block changes
 * its owner. With `block` not NULL a checked build also changes the class that the block itself
 * records. */
void memory_move(void *block, size_t bytes, enum memory_class from, enum memory_class to);

/* Adds this thread's counts to the shared ones. Call once a turn in every thread but the main. */
void memory_publish(void);
size_t memory_used(enum memory_class class);
/* Bytes of MEMORY_SAVES and of the classes that are registered as MEMORY_UNCOUNTED (the log,
 * replicas): `maxmemory` does not count them, because eviction could free none of them. */
size_t memory_used_uncounted(void);
/* Bytes of all classes but MEMORY_LEAVING and those that are registered as MEMORY_APART. */
size_t memory_used_total(void);

/* Moves a block to a new one of its size, past this thread's cache of free blocks: the allocator
 * takes the new block from a slab that is in use, where one has room, and the old block is free for
 * good. Returns the new block, or `block` itself where there is no memory. Counts stay as they are.
 * The caller owns the only pointers to the block. */
MUST_USE void *memory_relocate(void *block, enum memory_class class)
    __attribute__((warn_unused_result));
/* Moves a block of memory_alloc_aligned, as memory_relocate. */
MUST_USE void *memory_relocate_aligned(void *block, size_t alignment, size_t size,
                                       enum memory_class class) __attribute__((warn_unused_result));

/* Called on out of memory with the size that was asked for, before the process ends. */
void memory_set_oom_handler(void (*handler)(size_t size));

/* Tests: functions that are called with the bytes of each allocation and free; NULL = none. Not for
 * use while other threads allocate. */
struct memory_hook {
    void (*allocated)(size_t bytes);
    void (*freed)(size_t bytes);
};
FOR_TESTS void memory_set_hook(const struct memory_hook *hook);
/* Tests: a memory_try_ call fails where `refuses` returns true for its size; NULL = none. */
FOR_TESTS void memory_set_refusal(bool (*refuses)(size_t size));
/* Largest single allocation and free of a class since the last reset, in bytes: of the calling
 * thread, and of other threads as of their last memory_publish(). */
size_t memory_largest_alloc(enum memory_class class);
size_t memory_largest_free(enum memory_class class);
void memory_largest_reset(void);

/* The allocator's own figures in bytes; all zero where it is not jemalloc. */
struct memory_allocator_stats {
    size_t allocated, active, resident;
};
void memory_allocator_stats(struct memory_allocator_stats *stats);
/* Sets whether the allocator gives memory that has been free for a while back to the system from a
 * thread of its own (which a forked child lacks), or within calls of malloc and free. Returns false
 * if the allocator cannot. */
MUST_USE bool memory_set_background_purge(bool on);
/* Writes the allocator's own report in pieces; nothing where it is not jemalloc. */
void memory_allocator_report(void (*write)(void *context, const char *text), void *context);
/* Gives free pages back to the system, and this thread's cache of blocks first. */
void memory_allocator_purge(void);
/* jemalloc's mallctl: 0 or an errno; ENOSYS with another allocator. */
int memory_allocator_control(const char *name, void *old_value, size_t *old_size, void *new_value,
                             size_t new_size);
/* "jemalloc-5.3.0" or "libc". */
const char *memory_allocator_name(void);
/* Resident set size of the process in bytes, from the system; 0 where unknown. */
size_t memory_rss(void);
#endif
