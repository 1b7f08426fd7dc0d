/* SPDX-License-Identifier: BSD-3-Clause
 * Moving blocks out of sparse slabs, so that the allocator can give memory back.
 *
 * jemalloc cuts a slab of a few pages into blocks of one size, and frees a slab with its last
 * block. Where most blocks of many slabs are freed, the others keep the memory of all these slabs.
 * A block that is moved gets a place in another slab that is in use.
 *
 * The allocator tells how full a block's slab is (`experimental.utilization.batch_query`, jemalloc
 * 5.2 and later), and how many blocks and slabs of each size there are. relocation_measure makes
 * from the latter a limit for each size; a block whose slab is filled below its size's limit is
 * wanted elsewhere. Sizes with little to gain have no limit, and their blocks stay.
 *
 * The owner of a structure asks about its blocks, up to RELOCATION_ASK_MAX at once so that the
 * allocator's cache misses overlap, moves those that are wanted, and corrects all pointers to them.
 * Main thread only.
 */
#ifndef EVENKEEL_BASE_RELOCATION_H
#define EVENKEEL_BASE_RELOCATION_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"

#define RELOCATION_ASK_MAX 64
/* Larger blocks have no slab, and nothing is gained by moving them. */
#define RELOCATION_BYTES_MAX 14336
/* A budget counts blocks that are asked about; a block that moves counts RELOCATION_MOVE more, and
 * 1 for each RELOCATION_COPY_BYTES of it. About 100 ns each. */
#define RELOCATION_MOVE 3
#define RELOCATION_COPY_BYTES 1024

/* A stretch of work. The owner sets the budget; the rest is counted. */
struct relocation {
    size_t budget; /* what may still be spent; at most spent to 0 */
    uint64_t moved, stayed;
    uint64_t moved_bytes;
};

/* Moves blocks of its owner's that are wanted elsewhere, from a cursor on (0 = the beginning) until
 * the budget is spent, or a few more; returns the next cursor, 0 at the end. What is moved may
 * change between two calls. */
typedef uint64_t relocation_part(uint64_t cursor, struct relocation *r);

/* Whether the allocator can tell which blocks are to move. Asks it at the first call. */
bool relocation_is_possible(void);
/* Looks at the allocator's slabs anew, sets the sizes' limits, and returns how many bytes the slabs
 * of sizes with a limit hold beyond their blocks. Some tens of microseconds. */
size_t relocation_measure(void);

/* Asks about up to RELOCATION_ASK_MAX blocks, by any address within each: bit i of the result is
 * set if block i is wanted elsewhere. Spends the budget. */
MUST_USE uint64_t relocation_ask(struct relocation *r, void *const *blocks, unsigned count);
/* Asks about one block, which may be NULL or too large. */
MUST_USE bool relocation_wants(struct relocation *r, void *block);
/* Moves a block that is wanted elsewhere, and returns its new address (memory_relocate). Spends the
 * budget. */
MUST_USE void *relocation_move(struct relocation *r, void *block, enum memory_class class);
MUST_USE void *relocation_move_aligned(struct relocation *r, void *block, size_t alignment,
                                       size_t size, enum memory_class class);

/* Asks about a block and moves it if it is wanted elsewhere: returns its address. NULL stays NULL.
 */
MUST_USE static inline void *relocation_settle(struct relocation *r, void *block,
                                               enum memory_class class) {
    return relocation_wants(r, block) ? relocation_move(r, block, class) : block;
}

/* For tests: decides in the allocator's stead which blocks are wanted elsewhere; NULL = the
 * allocator does. relocation_is_possible is true then, and relocation_measure returns `gain`. */
void relocation_set_chooser(bool (*chooses)(const void *block), size_t gain);
#endif
