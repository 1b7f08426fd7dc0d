/* SPDX-License-Identifier: BSD-3-Clause
 * Memory tests.
 *
 * A crash that makes no sense is now and then the memory's fault. Four passes look for the faults
 * that memory has:
 *
 *   address   each word holds its own address: lines that are stuck or short-circuited make two
 *             places one, and the later write shows in the earlier place
 *   ones and zeros   all bits set, all cleared, and every second bit both ways: cells that
 *             do not take a value, or take their neighbour's
 *   walking   a single bit through all 64 places: data lines
 *   random    words of a generator, then their complement: what depends on the pattern
 *
 * A pass writes everything before it reads, so that caches have to write back and fetch again
 * where the memory is larger than they are.
 *
 * The test of a running process goes page by page, keeping the page's contents in registers and on
 * the stack. While a page is under test nothing but that loop may run: invariants of test_page are
 *  1. it calls nothing, since the page may hold what a call needs (the tables of the dynamic
 *     linker, the C library's data);
 *  2. all accesses are volatile, so that the compiler makes no memcpy of them, and none is left
 *     out;
 *  3. the mapping that holds the stack it runs on is never tested;
 *  4. nor is the page where the kernel notes the thread's processor (rseq(2), which glibc 2.35 and
 *     later ask for): it writes there, and ends a process that has something else there, whenever
 *     the thread goes on after it was off its processor.
 * Pages that are not in memory are passed over: to touch them would take memory.
 */
#include "process/memory_test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#if __has_include(<sys/rseq.h>)
#include <sys/rseq.h>
#endif

#include "base/clock.h"
#include "base/number.h"
#include "base/random.h"
#include "base/string.h"

#define PAGE_BYTES 4096
#define PAGE_WORDS (PAGE_BYTES / sizeof(uint64_t))
#define MEGABYTE ((size_t)1 << 20)
#define ONES UINT64_MAX
#define EVERY_SECOND 0xaaaaaaaaaaaaaaaau

/* ---- passes over all words ---- */

/* What a pass writes at a place. */
typedef uint64_t pattern_function(const volatile uint64_t *word, size_t index, uint64_t parameter);

static uint64_t pattern_address(const volatile uint64_t *word, size_t index, uint64_t parameter) {
    return (uint64_t)(uintptr_t)word ^ parameter;
}

static uint64_t pattern_fill(const volatile uint64_t *word, size_t index, uint64_t parameter) {
    return parameter;
}

static uint64_t pattern_walk(const volatile uint64_t *word, size_t index, uint64_t parameter) {
    return ((uint64_t)1 << (index % 64)) ^ parameter;
}

/* splitmix64 (Steele, Lea and Flood 2014), of the place. */
static uint64_t pattern_random(const volatile uint64_t *word, size_t index, uint64_t parameter) {
    uint64_t x = parameter + (uint64_t)index * 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static void pattern_pass(volatile uint64_t *words, size_t count, pattern_function *pattern,
                         uint64_t parameter, uint64_t invert, struct memory_test_result *result) {
    for (size_t i = 0; i < count; i++) words[i] = pattern(&words[i], i, parameter) ^ invert;
    for (size_t i = 0; i < count; i++) {
        if (words[i] == (pattern(&words[i], i, parameter) ^ invert)) continue;
        if (!result->faults++) result->first_fault = (const void *)(uintptr_t)&words[i];
    }
}

struct memory_test_result memory_test_words(volatile uint64_t *words, size_t count, uint64_t seed,
                                            void (*progress)(const char *pass)) {
    const struct {
        const char *name;
        pattern_function *pattern;
        uint64_t parameter;
    } passes[] = {
        {"address", pattern_address, 0},
        {"ones and zeros", pattern_fill, ONES},
        {"every second bit", pattern_fill, EVERY_SECOND},
        {"walking bit", pattern_walk, 0},
        {"random", pattern_random, seed},
    };
    struct memory_test_result result = {0};
    for (size_t i = 0; i < sizeof(passes) / sizeof(passes[0]); i++) {
        if (progress) progress(passes[i].name);
        pattern_pass(words, count, passes[i].pattern, passes[i].parameter, 0, &result);
        pattern_pass(words, count, passes[i].pattern, passes[i].parameter, ONES, &result);
    }
    return result;
}

/* ---- --test-memory ---- */

static size_t passes_shown;

static void show_pass(const char *name) {
    printf("  pass %zu: %s\n", ++passes_shown, name);
    (void)fflush(stdout);
}

int memory_test_run(const char *text) {
    uint64_t megabytes;
    if (!number_parse_uint64(text, strlen(text), &megabytes) || megabytes == 0 ||
        megabytes > SIZE_MAX / MEGABYTE) {
        fputs("--test-memory takes the megabytes to be tested, 1 or more.\n", stderr);
        return 1;
    }
    size_t bytes = (size_t)megabytes * MEGABYTE;
    /* Filled in at once: a machine that has less shows it here, and not in the middle: it refuses
     * what is more than it has at all, and ends the process for more than is free. */
    void *block = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (block == MAP_FAILED) {
        fprintf(stderr, "%llu MB of memory cannot be had: %s\n", (unsigned long long)megabytes,
                strerror(errno));
        return 1;
    }
    uint64_t seed;
    random_secret(&seed, sizeof(seed));
    printf("Testing %llu MB of memory, random seed %llu.\n", (unsigned long long)megabytes,
           (unsigned long long)seed);
    struct memory_test_result result =
        memory_test_words(block, bytes / sizeof(uint64_t), seed, show_pass);
    munmap(block, bytes);
    if (result.faults) {
        printf("The memory is FAULTY: %zu words read back wrong, the first at %p.\n", result.faults,
               result.first_fault);
        return 1;
    }
    printf(
        "The memory passed. What only shows warm or under load needs hours: memtest86+ on the "
        "bare machine tests that.\n");
    return 0;
}

/* ---- this process' own memory ---- */

/* A line of /proc/self/maps, as far as it is needed. */
struct region {
    uintptr_t begin, end;
};
#define REGIONS_MAX 1024

static struct region regions[REGIONS_MAX];
static size_t region_count;
static bool regions_missed; /* there are more */

static bool take_hex(const char **text, uintptr_t *value) {
    const char *start = *text;
    for (*value = 0;; (*text)++) {
        char c = string_lower(**text);
        if (c >= '0' && c <= '9')
            *value = *value * 16 + (uintptr_t)(c - '0');
        else if (c >= 'a' && c <= 'f')
            *value = *value * 16 + (uintptr_t)(c - 'a' + 10);
        else
            return *text > start;
    }
}

/* "7f00-7f80 rw-p ...": keeps what is the process' own and can be written, but the stack in use. */
static void keep_region(const char *line) {
    struct region r;
    uintptr_t here = (uintptr_t)&r;
    if (!take_hex(&line, &r.begin) || *line++ != '-' || !take_hex(&line, &r.end)) return;
    if (strncmp(line, " rw-p", 5) || (here >= r.begin && here < r.end)) return;
    if (region_count < REGIONS_MAX)
        regions[region_count++] = r;
    else
        regions_missed = true;
}

static void find_regions(void) {
    char text[PAGE_BYTES];
    size_t kept = 0;
    ssize_t got;
    int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    region_count = 0;
    regions_missed = false;
    while (fd >= 0 && (got = read(fd, text + kept, sizeof(text) - 1 - kept)) > 0) {
        char *line = text, *end;
        text[kept + (size_t)got] = 0;
        for (; (end = strchr(line, '\n')) != NULL; line = end + 1) {
            *end = 0;
            keep_region(line);
        }
        kept = strlen(line);
        if (kept == sizeof(text) - 1) kept = 0; /* no line of the system's is so long */
        memmove(text, line, kept);
    }
    if (fd >= 0) close(fd);
}

/* Writes `pattern` and its complement over the page, reading back each; the number of faults. */
static inline __attribute__((always_inline)) size_t try_pattern(volatile uint64_t *page,
                                                                uint64_t pattern) {
    size_t faults = 0;
    for (int round = 0; round < 2; round++, pattern = ~pattern) {
        for (size_t i = 0; i < PAGE_WORDS; i++) page[i] = pattern;
        for (size_t i = 0; i < PAGE_WORDS; i++) faults += page[i] != pattern;
    }
    return faults;
}

/* Calls nothing: see above. */
__attribute__((noinline)) static size_t test_page(volatile uint64_t *page) {
    volatile uint64_t kept[PAGE_WORDS];
    size_t faults = 0;
    for (size_t i = 0; i < PAGE_WORDS; i++) kept[i] = page[i];
    faults += try_pattern(page, ONES);
    faults += try_pattern(page, EVERY_SECOND);
    for (size_t i = 0; i < PAGE_WORDS; i++) page[i] = (uint64_t)(uintptr_t)&page[i];
    for (size_t i = 0; i < PAGE_WORDS; i++) faults += page[i] != (uint64_t)(uintptr_t)&page[i];
    for (size_t i = 0; i < PAGE_WORDS; i++) page[i] = kept[i];
    for (size_t i = 0; i < PAGE_WORDS; i++) faults += page[i] != kept[i];
    return faults;
}

#if __has_include(<sys/rseq.h>) && __has_builtin(__builtin_thread_pointer)
#define KERNELS_PLACE_BYTES 256 /* 32 now; it grows with the kernel */
static bool is_the_kernels(uintptr_t page) {
    uintptr_t place = (uintptr_t)__builtin_thread_pointer() + (uintptr_t)__rseq_offset;
    return place < page + PAGE_BYTES && place + KERNELS_PLACE_BYTES > page;
}
#else
static bool is_the_kernels(uintptr_t page) { return false; }
#endif

/* The system's pages may be larger than ours. */
static bool is_in_memory(uintptr_t page, uintptr_t system_bytes) {
    unsigned char state;
    void *start = (void *)(page - page % system_bytes);
    return mincore(start, PAGE_BYTES, &state) == 0 && (state & 1);
}

struct memory_test_own memory_test_own(int seconds_max) {
    struct memory_test_own own = {0};
    sigset_t all, before;
    uintptr_t system_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
    find_regions();
    own.complete = !regions_missed;
    bool late = false;
    sigfillset(&all);
    sigdelset(&all, SIGALRM); /* ends a report that takes too long */
    sigdelset(&all, SIGSEGV);
    sigprocmask(SIG_BLOCK, &all, &before);
    int64_t until = clock_monotonic_nsec() + (int64_t)seconds_max * 1000000000;
    for (size_t i = 0; i < region_count && !late; i++) {
        struct region r = regions[i];
        for (uintptr_t page = r.begin; page + PAGE_BYTES <= r.end; page += PAGE_BYTES) {
            if (!is_in_memory(page, system_bytes) || is_the_kernels(page)) continue;
            late = clock_monotonic_nsec() > until;
            if (late) break;
            size_t faults = test_page((volatile uint64_t *)page);
            if (faults && !own.result.faults) own.result.first_fault = (const void *)page;
            own.result.faults += faults;
            own.pages_tested++;
        }
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    own.complete = own.complete && !late;
    return own;
}
