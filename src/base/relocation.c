/* SPDX-License-Identifier: BSD-3-Clause
 * Which blocks are to move, by what jemalloc tells of its slabs.
 *
 * The limit of a size is half way between the average fill of its slabs and full. Were it the
 * average itself, slabs that are all equally full would stay, and slabs that are spread around it
 * would take one pass for each halving of the waste. With half way nearly all slabs that are not
 * full are emptied in one pass over the blocks: the allocator puts what moves into the oldest slab
 * with room until it is full, and a slab that has become full is above the limit. So a block moves
 * about once, and about as many blocks move as there are free places.
 *
 * A size is worth moving where its slabs hold 1/WASTE_SHARE or more beyond their blocks.
 *
 * jemalloc answers by numbers: how many blocks of the slab are free, how many it has, and its
 * bytes. Their quotient is the size of a block. A block that has no slab counts as a slab of one.
 */
#include "base/relocation.h"

#include <stdio.h>

#include "base/panic.h"

#ifndef EVENKEEL_SANITIZER
#include <jemalloc/jemalloc.h>
#endif

#define SIZE_STEP 16
#define SIZES (RELOCATION_BYTES_MAX / SIZE_STEP + 1)
#define FULL 1024 /* limits are fractions of it */
#define WASTE_SHARE 32

/* What jemalloc says about a block. */
struct told {
    size_t free, places, slab_bytes;
};

static uint16_t limits[SIZES]; /* by (size + 15) / 16; 0: blocks of this size stay */
static bool (*test_chooser)(const void *block);
static size_t test_gain;

static size_t size_index(size_t size) { return (size + SIZE_STEP - 1) / SIZE_STEP; }

static bool is_sparse_slab(const struct told *t) {
    if (t->places < 2 || t->free == 0) return false;
    size_t size = t->slab_bytes / t->places;
    if (size > RELOCATION_BYTES_MAX) return false;
    return (t->places - t->free) * FULL < limits[size_index(size)] * t->places;
}

#ifdef EVENKEEL_SANITIZER

static bool can_tell(void) { return false; }
static size_t measure_slabs(void) { return 0; }
static bool ask_allocator(void *const *blocks, unsigned count, struct told *told) { return false; }

#else

#define MIB_MAX 6
#define ARENA_AT 2 /* of stats.arenas.<arena>.bins.<bin>.x */
#define BIN_AT 4

/* Names of the allocator's figures as numbers, which are looked up once. */
static struct {
    bool asked, able;
    unsigned bins;
    size_t query[MIB_MAX], query_length;
    size_t blocks[MIB_MAX], slabs[MIB_MAX]; /* how many a bin has */
} names;

/* A bin's number by its name: bytes of a block ("size"; a size_t), blocks of a slab ("nregs"; 32
 * bits). 0 where there is none. */
static size_t bin_number(unsigned bin, const char *what) {
    char name[64];
    uint64_t value = 0;
    size_t size = strcmp(what, "nregs") == 0 ? sizeof(uint32_t) : sizeof(size_t);
    snprintf(name, sizeof(name), "arenas.bin.%u.%s", bin, what);
    return mallctl(name, &value, &size, NULL, 0) == 0 ? (size_t)value : 0;
}

static bool look_up(const char *name, size_t mib[MIB_MAX], size_t *length) {
    *length = MIB_MAX;
    return mallctlnametomib(name, mib, length) == 0;
}

static bool ask_allocator(void *const *blocks, unsigned count, struct told *told) {
    size_t size = count * sizeof(*told);
    return mallctlbymib(names.query, names.query_length, told, &size, (void *)(uintptr_t)blocks,
                        count * sizeof(*blocks)) == 0;
}

/* Asks about a block whose answer is known. */
static bool answers_are_true(void) {
    struct told told = {0};
    void *block = mallocx(100, MALLOCX_TCACHE_NONE);
    if (block == NULL) return false;
    bool good = ask_allocator(&block, 1, &told) && told.places > 1 && told.free < told.places &&
                told.slab_bytes / told.places == sallocx(block, 0);
    sdallocx(block, 100, MALLOCX_TCACHE_NONE);
    return good;
}

static bool can_tell(void) {
    if (names.asked) return names.able;
    unsigned bins = 0;
    size_t size = sizeof(bins), length;
    names.asked = true;
    if (mallctl("arenas.nbins", &bins, &size, NULL, 0) != 0) return false;
    names.bins = bins;
    names.able =
        look_up("experimental.utilization.batch_query", names.query, &names.query_length) &&
        look_up("stats.arenas.0.bins.0.curregs", names.blocks, &length) &&
        look_up("stats.arenas.0.bins.0.curslabs", names.slabs, &length) && answers_are_true();
    return names.able;
}

static size_t bin_count(size_t mib[MIB_MAX], unsigned bin) {
    size_t value = 0, size = sizeof(value);
    mib[ARENA_AT] = MALLCTL_ARENAS_ALL;
    mib[BIN_AT] = bin;
    return mallctlbymib(mib, MIB_MAX, &value, &size, NULL, 0) == 0 ? value : 0;
}

/* Sets the limit of a bin's size; returns the bytes that can be gained. */
static size_t measure_bin(unsigned bin) {
    size_t size = bin_number(bin, "size"), places = bin_number(bin, "nregs");
    if (size == 0 || size > RELOCATION_BYTES_MAX) return 0;
    size_t room = places * bin_count(names.slabs, bin), used = bin_count(names.blocks, bin);
    limits[size_index(size)] = 0;
    if (room <= places || used > room || (room - used) * WASTE_SHARE < room) return 0;
    limits[size_index(size)] = (uint16_t)((used * FULL / room + FULL) / 2);
    return (room - used) * size;
}

static size_t measure_slabs(void) {
    uint64_t epoch = 1;
    size_t size = sizeof(epoch), gain = 0;
    if (!can_tell()) return 0;
    mallctl("epoch", &epoch, &size, &epoch, size); /* its figures stand still otherwise */
    for (unsigned i = 0; i < names.bins; i++) gain += measure_bin(i);
    return gain;
}

#endif

bool relocation_is_possible(void) { return test_chooser != NULL || can_tell(); }

size_t relocation_measure(void) { return test_chooser != NULL ? test_gain : measure_slabs(); }

static void budget_spend(struct relocation *r, size_t effort) {
    r->budget -= effort < r->budget ? effort : r->budget;
}

uint64_t relocation_ask(struct relocation *r, void *const *blocks, unsigned count) {
    struct told told[RELOCATION_ASK_MAX];
    uint64_t wanted = 0;
    ASSERT_SLOW(count <= RELOCATION_ASK_MAX);
    budget_spend(r, count);
    if (__builtin_expect(test_chooser != NULL, 0)) {
        for (unsigned i = 0; i < count; i++) wanted |= (uint64_t)test_chooser(blocks[i]) << i;
    } else if (count > 0 && ask_allocator(blocks, count, told)) {
        for (unsigned i = 0; i < count; i++) wanted |= (uint64_t)is_sparse_slab(&told[i]) << i;
    }
    r->stayed += count - (unsigned)__builtin_popcountll(wanted);
    return wanted;
}

bool relocation_wants(struct relocation *r, void *block) {
    return block != NULL && relocation_ask(r, &block, 1) != 0;
}

static void note_move(struct relocation *r, size_t bytes) {
    budget_spend(r, RELOCATION_MOVE + bytes / RELOCATION_COPY_BYTES);
    r->moved++;
    r->moved_bytes += bytes;
}

void *relocation_move(struct relocation *r, void *block, enum memory_class class) {
    note_move(r, memory_usable_size(block));
    return memory_relocate(block, class);
}

void *relocation_move_aligned(struct relocation *r, void *block, size_t alignment, size_t size,
                              enum memory_class class) {
    note_move(r, size);
    return memory_relocate_aligned(block, alignment, size, class);
}

void relocation_set_chooser(bool (*chooses)(const void *block), size_t gain) {
    test_chooser = chooses;
    test_gain = gain;
}
