/* SPDX-License-Identifier: BSD-3-Clause
 * Allocation over jemalloc (or the C library under a sanitizer), counted by class.
 *
 * A thread adds to plain numbers of its own, and only memory_publish touches shared ones, so that
 * counting costs a few instructions and no atomic operation. The bytes that a block takes are
 * computed from its size (jemalloc's size classes are regular: four to a doubling, none closer than
 * 16 bytes). The arithmetic is checked at start against nallocx, which replaces it if they
 * disagree.
 *
 * Invariants:
 * 1. A block is counted with the same number of bytes when it is allocated and when it is freed:
 *    its good size, which jemalloc's sallocx returns too.
 * 2. For each class, shared + the sum of all threads' own counts = the bytes allocated. A thread's
 *    own count alone may be negative, because it frees blocks that another thread allocated.
 * 3. With headers (MEMORY_CHECKED, or a sanitizer) the counts are those of the same build without
 *    them: the header itself is counted nowhere.
 *
 * No block is smaller than 16 bytes, so that each is aligned to 16.
 */
#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/panic.h"
#include "base/system.h"

#ifndef EVENKEEL_SANITIZER
#include <jemalloc/jemalloc.h>
#endif

#if defined(MEMORY_CHECKED) || defined(EVENKEEL_SANITIZER)
#define MEMORY_HEADERS 1
#else
#define MEMORY_HEADERS 0
#endif

#define BLOCK_ALIGNMENT ((size_t)16)
#define ALIGNMENT_MAX ((size_t)4096)
/* Above this a size is a mistake, and the arithmetic below could overflow. */
#define SIZE_LIMIT ((size_t)PTRDIFF_MAX - 2 * ALIGNMENT_MAX)

/* Four words, so that one class never straddles two cache lines. */
struct tally {
    int64_t used;
    size_t largest_alloc, largest_free;
    size_t unused;
};

struct shared_tally {
    _Atomic int64_t used;
    _Atomic size_t largest_alloc, largest_free;
};

static __thread struct tally own[MEMORY_CLASSES]
    __attribute__((tls_model("initial-exec"), aligned(64)));
static struct shared_tally shared[MEMORY_CLASSES];
static void (*oom_handler)(size_t size);
static const struct memory_hook *test_hook;
static bool (*test_refusal)(size_t size);

/* ---- Classes ---- */

/* Numbers of registered classes: those that count from MEMORY_CLASS_NEXT up to MEMORY_COUNTED_END,
 * so that the sum of all that counts needs no test; the others from there on. */
static unsigned counted_next = MEMORY_CLASS_NEXT, apart_next = MEMORY_COUNTED_END;
static enum memory_class uncounted[MEMORY_CLASSES] = {MEMORY_SAVES};
static unsigned uncounted_count = 1;

void memory_class_register(enum memory_class *class, enum memory_sums sums) {
    if (*class != MEMORY_OTHER) return;
    unsigned *next = sums == MEMORY_APART ? &apart_next : &counted_next;
    ASSERT(*next < (sums == MEMORY_APART ? MEMORY_LEAVING : MEMORY_COUNTED_END));
    *class = (enum memory_class)(*next)++;
    if (sums == MEMORY_UNCOUNTED) uncounted[uncounted_count++] = *class;
}

/* ---- Good sizes ---- */

#ifdef EVENKEEL_SANITIZER

static inline size_t good_size(size_t size) {
    return size == 0 ? BLOCK_ALIGNMENT : (size + BLOCK_ALIGNMENT - 1) & ~(BLOCK_ALIGNMENT - 1);
}

static size_t aligned_good_size(size_t alignment, size_t size) {
    return good_size((size + alignment - 1) & ~(alignment - 1));
}

#else

/* Makes freed blocks of 8 MiB or more decay like all other free memory. By default jemalloc gives
 * them back to the system at once, in the thread that frees them, and the pages of the next such
 * block are mapped and cleared again, some 0.6 ms a MiB. jemalloc reads this variable before main
 * begins; it then creates no arena for such blocks. */
__attribute__((used)) const char *malloc_conf = "oversize_threshold:0";

/* Newer versions of jemalloc take an arena's threshold of 0 literally, so it is set to a size that
 * is never reached. Older versions have no such setting and need none. */
__attribute__((constructor)) static void let_large_blocks_decay(void) {
    size_t never = (size_t)1 << 62;
    mallctl("arena.0.oversize_threshold", NULL, NULL, &never, sizeof(never));
}

static bool computed_sizes_differ;

/* Size classes with four steps to a doubling and 16 bytes as the smallest step. Without branches,
 * because sizes come mixed and a mispredicted branch would cost more than the whole computation. */
static inline size_t computed_good_size(size_t size) {
    size_t below = size - (size != 0);
    unsigned doubling = 63 - (unsigned)__builtin_clzll((unsigned long long)below | 64);
    return (below | (((size_t)1 << (doubling - 2)) - 1)) + 1;
}

/* Checks that malloc is jemalloc's, because blocks are freed by sdallocx: otherwise jemalloc's
 * count of this thread does not move. (malloc is used because its fast path is 1.2 ns shorter than
 * mallocx's.) */
__attribute__((constructor)) static void check_malloc_is_jemalloc(void) {
    uint64_t before = 0, after = 0;
    size_t size = sizeof(before);
    mallctl("thread.allocated", &before, &size, NULL, 0);
    void *volatile block = malloc(100); /* volatile: or the compiler leaves it out */
    mallctl("thread.allocated", &after, &size, NULL, 0);
    if (before == after) PANIC("malloc is not jemalloc's: link with -ljemalloc, without a preload");
    free(block);
}

/* Compares the arithmetic with nallocx. Both functions are monotonic, so it is enough to compare at
 * each size class and one byte above it. */
__attribute__((constructor)) static void check_computed_sizes(void) {
    for (size_t size = BLOCK_ALIGNMENT; size < (size_t)1 << 40;) {
        size_t following = computed_good_size(size + 1);
        if (nallocx(size, 0) != size || nallocx(size + 1, 0) != following) {
            computed_sizes_differ = true;
            return;
        }
        size = following;
    }
}

static inline size_t good_size(size_t size) {
    if (__builtin_expect(computed_sizes_differ, 0)) {
        return nallocx(size < BLOCK_ALIGNMENT ? BLOCK_ALIGNMENT : size, 0);
    }
    return computed_good_size(size);
}

static size_t aligned_good_size(size_t alignment, size_t size) {
    return nallocx(size, MALLOCX_ALIGN(alignment));
}

#endif

/* ---- Blocks: what lies below the counting ----
 *
 * `good` is always a good size (or aligned good size): the bytes that are counted. */

#if MEMORY_HEADERS

#ifdef __SANITIZE_ADDRESS__
/* Unlike jemalloc, the address sanitizer's allocator does not hold its locks over a fork: a child
 * would wait for ever for a lock that another thread held. So this lock is taken before them, and
 * held over a fork. */
static pthread_mutex_t fork_lock = PTHREAD_MUTEX_INITIALIZER;
static void allocator_lock(void) { pthread_mutex_lock(&fork_lock); }
static void allocator_unlock(void) { pthread_mutex_unlock(&fork_lock); }
__attribute__((constructor)) static void hold_lock_over_forks(void) {
    pthread_atfork(allocator_lock, allocator_unlock, allocator_unlock);
}
#else
static inline void allocator_lock(void) {}
static inline void allocator_unlock(void) {}
#endif

#define MAGIC_LIVE 0x6b6c6f62u    /* an ordinary block */
#define MAGIC_ALIGNED 0x6e676c61u /* from memory_alloc_aligned */
#define MAGIC_FREED 0x64616564u

/* Stands right before the block. */
struct block_header {
    uint32_t magic;
    uint32_t class;
    size_t bytes; /* counted for this block */
};
_Static_assert(sizeof(struct block_header) == BLOCK_ALIGNMENT, "keeps blocks aligned");

static struct block_header *block_header_of(const void *block) {
    return (struct block_header *)(uintptr_t)((const char *)block - sizeof(struct block_header));
}

static struct block_header *block_checked(const void *block, uint32_t magic, uint32_t class) {
    struct block_header *header = block_header_of(block);
    ASSERT_COMPARE(header->magic, ==, magic);
    ASSERT_COMPARE(header->class, ==, class);
    return header;
}

/* volatile, because the compiler leaves out stores to memory that is freed next. */
static void block_mark_freed(struct block_header *header) {
    *(volatile uint32_t *)&header->magic = MAGIC_FREED;
}

static void *block_labelled(char *raw, size_t offset, uint32_t magic, uint32_t class,
                            size_t bytes) {
    char *block = raw + offset;
    *block_header_of(block) = (struct block_header){magic, class, bytes};
    return block;
}

static inline void *block_make(size_t good, enum memory_class class) {
    allocator_lock();
    char *raw = malloc(good + sizeof(struct block_header));
    allocator_unlock();
    if (raw == NULL) return NULL;
    return block_labelled(raw, sizeof(struct block_header), MAGIC_LIVE, class, good);
}

static inline void *block_make_cleared(size_t good, enum memory_class class) {
    allocator_lock();
    char *raw = calloc(1, good + sizeof(struct block_header));
    allocator_unlock();
    if (raw == NULL) return NULL;
    return block_labelled(raw, sizeof(struct block_header), MAGIC_LIVE, class, good);
}

static void *block_make_aligned(size_t alignment, size_t size, size_t good,
                                enum memory_class class) {
    void *raw;
    allocator_lock();
    int error = posix_memalign(&raw, alignment, alignment + good);
    allocator_unlock();
    if (error != 0) return NULL;
    return block_labelled(raw, alignment, MAGIC_ALIGNED, class, good);
}

static inline size_t block_bytes(const void *block, enum memory_class class) {
    return block_checked(block, MAGIC_LIVE, class)->bytes;
}

static inline void *block_resize(void *block, size_t good, enum memory_class class) {
    struct block_header *header = block_checked(block, MAGIC_LIVE, class);
    allocator_lock();
    char *raw = realloc(header, good + sizeof(*header));
    allocator_unlock();
    if (raw == NULL) return NULL;
    return block_labelled(raw, sizeof(*header), MAGIC_LIVE, class, good);
}

static inline void block_drop(void *block, size_t good, enum memory_class class) {
    struct block_header *header = block_checked(block, MAGIC_LIVE, class);
    ASSERT_COMPARE(header->bytes, ==, good);
    block_mark_freed(header);
    allocator_lock();
    free(header);
    allocator_unlock();
}

static void block_drop_aligned(void *block, size_t alignment, size_t size, size_t good,
                               enum memory_class class) {
    struct block_header *header = block_checked(block, MAGIC_ALIGNED, class);
    ASSERT_COMPARE(header->bytes, ==, good);
    block_mark_freed(header);
    allocator_lock();
    free((char *)block - alignment);
    allocator_unlock();
}

#ifdef EVENKEEL_SANITIZER
static void *raw_make(size_t alignment, size_t size) {
    void *raw;
    return posix_memalign(&raw, alignment, size) == 0 ? raw : NULL;
}
static void raw_drop(void *raw) { free(raw); }
#else
static void *raw_make(size_t alignment, size_t size) {
    return mallocx(size, MALLOCX_ALIGN(alignment) | MALLOCX_TCACHE_NONE);
}
static void raw_drop(void *raw) { dallocx(raw, MALLOCX_TCACHE_NONE); }
#endif

/* Moves a block that begins `offset` bytes behind what the allocator gave. */
static void *raw_move(void *block, size_t offset, uint32_t magic, size_t good,
                      enum memory_class class) {
    struct block_header *header = block_checked(block, magic, class);
    ASSERT_COMPARE(header->bytes, ==, good);
    allocator_lock();
    char *raw = raw_make(offset, offset + good);
    allocator_unlock();
    if (raw == NULL) return block;
    void *moved = memcpy(block_labelled(raw, offset, magic, class, good), block, good);
    block_mark_freed(header);
    allocator_lock();
    raw_drop((char *)block - offset);
    allocator_unlock();
    return moved;
}

static void *block_move(void *block, enum memory_class class) {
    return raw_move(block, sizeof(struct block_header), MAGIC_LIVE, memory_usable_size(block),
                    class);
}

static void *block_move_aligned(void *block, size_t alignment, size_t size, size_t good,
                                enum memory_class class) {
    return raw_move(block, alignment, MAGIC_ALIGNED, good, class);
}

static void block_change_class(void *block, size_t bytes, enum memory_class from,
                               enum memory_class to) {
    struct block_header *header = block_header_of(block);
    ASSERT(header->magic == MAGIC_LIVE || header->magic == MAGIC_ALIGNED);
    ASSERT_COMPARE(header->class, ==, from);
    ASSERT_COMPARE(header->bytes, ==, bytes);
    header->class = to;
}

size_t memory_usable_size(const void *block) {
    if (!block) return 0;
    const struct block_header *header = block_header_of(block);
    ASSERT(header->magic == MAGIC_LIVE || header->magic == MAGIC_ALIGNED);
    return header->bytes;
}

#else

static inline void *block_make(size_t good, enum memory_class class) { return malloc(good); }

static inline void *block_make_cleared(size_t good, enum memory_class class) {
    return mallocx(good, MALLOCX_ZERO);
}

static void *block_make_aligned(size_t alignment, size_t size, size_t good,
                                enum memory_class class) {
    return mallocx(size, MALLOCX_ALIGN(alignment));
}

static inline size_t block_bytes(const void *block, enum memory_class class) {
    return sallocx(block, 0);
}

static inline void *block_resize(void *block, size_t good, enum memory_class class) {
    return rallocx(block, good, 0);
}

static inline void block_drop(void *block, size_t good, enum memory_class class) {
    sdallocx(block, good, 0);
}

static void block_drop_aligned(void *block, size_t alignment, size_t size, size_t good,
                               enum memory_class class) {
    sdallocx(block, size, MALLOCX_ALIGN(alignment));
}

static void *block_move(void *block, enum memory_class class) {
    size_t good = block_bytes(block, class);
    void *moved = mallocx(good, MALLOCX_TCACHE_NONE);
    if (moved == NULL) return block;
    memcpy(moved, block, good);
    sdallocx(block, good, MALLOCX_TCACHE_NONE);
    return moved;
}

static void *block_move_aligned(void *block, size_t alignment, size_t size, size_t good,
                                enum memory_class class) {
    int flags = MALLOCX_ALIGN(alignment) | MALLOCX_TCACHE_NONE;
    void *moved = mallocx(size, flags);
    if (moved == NULL) return block;
    memcpy(moved, block, size);
    sdallocx(block, size, flags);
    return moved;
}

static void block_change_class(void *block, size_t bytes, enum memory_class from,
                               enum memory_class to) {}

size_t memory_usable_size(const void *block) { return block ? sallocx(block, 0) : 0; }

#endif

/* ---- Counting ---- */

static inline void count_alloc(size_t bytes, enum memory_class class) {
    struct tally *tally = &own[class];
    tally->used += (int64_t)bytes;
    if (bytes > tally->largest_alloc) tally->largest_alloc = bytes;
    if (__builtin_expect(test_hook != NULL, 0) && test_hook->allocated != NULL) {
        test_hook->allocated(bytes);
    }
}

static inline void count_free(size_t bytes, enum memory_class class) {
    struct tally *tally = &own[class];
    tally->used -= (int64_t)bytes;
    if (bytes > tally->largest_free) tally->largest_free = bytes;
    if (__builtin_expect(test_hook != NULL, 0) && test_hook->freed != NULL) {
        test_hook->freed(bytes);
    }
}

__attribute__((noreturn, cold)) static void out_of_memory(size_t size) {
    if (oom_handler != NULL) oom_handler(size);
    PANIC("Out Of Memory allocating %zu bytes!", size);
}

/* ---- Allocation ---- */

static inline void *try_alloc(size_t size, enum memory_class class) {
    ASSERT_SLOW(class < MEMORY_CLASSES);
    if (__builtin_expect(size > SIZE_LIMIT, 0)) return NULL;
    size_t good = good_size(size);
    void *block = block_make(good, class);
    if (__builtin_expect(block == NULL, 0)) return NULL;
    count_alloc(good, class);
    return block;
}

static bool test_refuses(size_t size) { return test_refusal != NULL && test_refusal(size); }

void *memory_try_alloc(size_t size, enum memory_class class) {
    return test_refuses(size) ? NULL : try_alloc(size, class);
}

void *memory_alloc(size_t size, enum memory_class class) {
    void *block = try_alloc(size, class);
    if (__builtin_expect(block == NULL, 0)) out_of_memory(size);
    return block;
}

void *memory_zalloc(size_t size, enum memory_class class) {
    ASSERT_SLOW(class < MEMORY_CLASSES);
    if (size > SIZE_LIMIT) out_of_memory(size);
    size_t good = good_size(size);
    void *block = block_make_cleared(good, class);
    if (block == NULL) out_of_memory(size);
    count_alloc(good, class);
    return block;
}

/* Brings the arguments of an aligned block into range; allocating and freeing must do so alike. */
static void settle_alignment(size_t *alignment, size_t *size) {
    ASSERT((*alignment & (*alignment - 1)) == 0 && *alignment <= ALIGNMENT_MAX);
    if (*alignment < BLOCK_ALIGNMENT) *alignment = BLOCK_ALIGNMENT;
    if (*size == 0) *size = 1;
}

void *memory_alloc_aligned(size_t alignment, size_t size, enum memory_class class) {
    ASSERT_SLOW(class < MEMORY_CLASSES);
    settle_alignment(&alignment, &size);
    if (size > SIZE_LIMIT) out_of_memory(size);
    size_t good = aligned_good_size(alignment, size);
    void *block = block_make_aligned(alignment, size, good, class);
    if (block == NULL) out_of_memory(size);
    count_alloc(good, class);
    return block;
}

static inline void *try_resize(void *block, size_t size, enum memory_class class) {
    if (block == NULL) return try_alloc(size, class);
    if (size > SIZE_LIMIT) return NULL;
    size_t before = block_bytes(block, class);
    size_t good = good_size(size);
    if (good == before) return block;
    void *resized = block_resize(block, good, class);
    if (resized == NULL) return NULL;
    count_alloc(good, class);
    count_free(before, class);
    return resized;
}

void *memory_try_realloc(void *block, size_t size, enum memory_class class) {
    return test_refuses(size) ? NULL : try_resize(block, size, class);
}

void *memory_realloc(void *block, size_t size, enum memory_class class) {
    void *resized = try_resize(block, size, class);
    if (__builtin_expect(resized == NULL, 0)) out_of_memory(size);
    return resized;
}

char *memory_strdup(const char *text, enum memory_class class) {
    size_t size = strlen(text) + 1;
    return memcpy(memory_alloc(size, class), text, size);
}

void memory_free(void *block, enum memory_class class) {
    if (block == NULL) return;
    size_t good = block_bytes(block, class);
    count_free(good, class);
    block_drop(block, good, class);
}

void memory_free_sized(void *block, size_t size, enum memory_class class) {
    if (block == NULL) return;
    size_t good = good_size(size);
    count_free(good, class);
    block_drop(block, good, class);
}

void memory_free_aligned(void *block, size_t alignment, size_t size, enum memory_class class) {
    if (block == NULL) return;
    settle_alignment(&alignment, &size);
    size_t good = aligned_good_size(alignment, size);
    count_free(good, class);
    block_drop_aligned(block, alignment, size, good, class);
}

size_t memory_good_size(size_t size) { return size > SIZE_LIMIT ? size : good_size(size); }

void memory_move(void *block, size_t bytes, enum memory_class from, enum memory_class to) {
    if (block != NULL) block_change_class(block, bytes, from, to);
    own[from].used -= (int64_t)bytes;
    own[to].used += (int64_t)bytes;
}

void *memory_relocate(void *block, enum memory_class class) { return block_move(block, class); }

void *memory_relocate_aligned(void *block, size_t alignment, size_t size, enum memory_class class) {
    settle_alignment(&alignment, &size);
    return block_move_aligned(block, alignment, size, aligned_good_size(alignment, size), class);
}

/* ---- Reading the counters ---- */

static void raise_to(_Atomic size_t *peak, size_t value) {
    size_t seen = atomic_load_explicit(peak, memory_order_relaxed);
    while (value > seen && !atomic_compare_exchange_weak_explicit(
                               peak, &seen, value, memory_order_relaxed, memory_order_relaxed)) {
    }
}

void memory_publish(void) {
    for (unsigned i = 0; i < MEMORY_CLASSES; i++) {
        struct tally *tally = &own[i];
        if (tally->used != 0) {
            atomic_fetch_add_explicit(&shared[i].used, tally->used, memory_order_relaxed);
        }
        raise_to(&shared[i].largest_alloc, tally->largest_alloc);
        raise_to(&shared[i].largest_free, tally->largest_free);
        *tally = (struct tally){0};
    }
}

static int64_t used_signed(unsigned class) {
    return atomic_load_explicit(&shared[class].used, memory_order_relaxed) + own[class].used;
}

size_t memory_used(enum memory_class class) {
    int64_t used = used_signed(class);
    return used < 0 ? 0 : (size_t)used;
}

size_t memory_used_uncounted(void) {
    size_t used = 0;
    for (unsigned i = 0; i < uncounted_count; i++) used += memory_used(uncounted[i]);
    return used;
}

size_t memory_used_total(void) {
    int64_t used = 0; /* read in every turn, so unrolled: two additions a class */
#pragma GCC unroll 16
    for (unsigned i = 0; i < MEMORY_COUNTED_END; i++) used += used_signed(i);
    return used < 0 ? 0 : (size_t)used;
}

void memory_set_oom_handler(void (*handler)(size_t size)) { oom_handler = handler; }

void memory_set_hook(const struct memory_hook *hook) { test_hook = hook; }
void memory_set_refusal(bool (*refuses)(size_t size)) { test_refusal = refuses; }

static size_t larger_size(size_t a, size_t b) { return a > b ? a : b; }

size_t memory_largest_alloc(enum memory_class class) {
    return larger_size(own[class].largest_alloc,
                       atomic_load_explicit(&shared[class].largest_alloc, memory_order_relaxed));
}

size_t memory_largest_free(enum memory_class class) {
    return larger_size(own[class].largest_free,
                       atomic_load_explicit(&shared[class].largest_free, memory_order_relaxed));
}

void memory_largest_reset(void) {
    for (unsigned i = 0; i < MEMORY_CLASSES; i++) {
        own[i].largest_alloc = own[i].largest_free = 0;
        atomic_store_explicit(&shared[i].largest_alloc, 0, memory_order_relaxed);
        atomic_store_explicit(&shared[i].largest_free, 0, memory_order_relaxed);
    }
}

/* ---- What allocator and system say ---- */

#ifdef EVENKEEL_SANITIZER

void memory_allocator_stats(struct memory_allocator_stats *stats) {
    *stats = (struct memory_allocator_stats){0};
}

void memory_allocator_report(void (*write)(void *context, const char *text), void *context) {}
void memory_allocator_purge(void) {}

bool memory_set_background_purge(bool on) { return false; }

int memory_allocator_control(const char *name, void *old_value, size_t *old_size, void *new_value,
                             size_t new_size) {
    return ENOSYS;
}

const char *memory_allocator_name(void) { return "libc"; }

#else

#define TEXT_OF(x) #x
#define TEXT_OF_VALUE(x) TEXT_OF(x)

static size_t read_statistic(const char *name) {
    size_t value = 0;
    size_t size = sizeof(value);
    return mallctl(name, &value, &size, NULL, 0) == 0 ? value : 0;
}

void memory_allocator_stats(struct memory_allocator_stats *stats) {
    uint64_t epoch = 1;
    size_t size = sizeof(epoch);
    mallctl("epoch", &epoch, &size, &epoch, size); /* jemalloc's figures stand still otherwise */
    stats->allocated = read_statistic("stats.allocated");
    stats->active = read_statistic("stats.active");
    stats->resident = read_statistic("stats.resident");
}

bool memory_set_background_purge(bool on) {
    /* One purging thread is enough, because one thread frees most; the default is one a processor.
     */
    size_t threads = 1;
    mallctl("max_background_threads", NULL, NULL, &threads, sizeof(threads));
    return mallctl("background_thread", NULL, NULL, &on, sizeof(on)) == 0;
}

int memory_allocator_control(const char *name, void *old_value, size_t *old_size, void *new_value,
                             size_t new_size) {
    return mallctl(name, old_value, old_size, new_value, new_size);
}

void memory_allocator_report(void (*write)(void *context, const char *text), void *context) {
    malloc_stats_print(write, context, NULL);
}

void memory_allocator_purge(void) {
    mallctl("thread.tcache.flush", NULL, NULL, NULL, 0);
    mallctl("arena." TEXT_OF_VALUE(MALLCTL_ARENAS_ALL) ".purge", NULL, NULL, NULL, 0);
}

const char *memory_allocator_name(void) {
    return "jemalloc-" TEXT_OF_VALUE(JEMALLOC_VERSION_MAJOR) "." TEXT_OF_VALUE(
        JEMALLOC_VERSION_MINOR) "." TEXT_OF_VALUE(JEMALLOC_VERSION_BUGFIX);
}

#endif

size_t memory_rss(void) {
    char text[128];
    int file = system_open("/proc/self/statm", O_RDONLY | O_CLOEXEC, 0);
    if (file < 0) return 0;
    ssize_t length = system_read(file, text, sizeof(text) - 1);
    system_close(file);
    if (length <= 0) return 0;
    text[length] = '\0';
    const char *second = strchr(text, ' '); /* pages: total, then resident */
    if (second == NULL) return 0;
    return (size_t)strtoull(second, NULL, 10) * (size_t)sysconf(_SC_PAGESIZE);
}
