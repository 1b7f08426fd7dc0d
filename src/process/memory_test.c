/* SPDX-License-Identifier: BSD-3-Clause
 * Memory tests.
 *
 * Some crashes without an explanation are caused by broken memory. The passes look for the faults
 * that memory has:
 *
 *   address           Each word holds its own address. Address lines that are stuck or shorted map
 *                     two places onto one, and the later write shows in the earlier place.
 *   ones and zeros    All bits are set, then cleared; in the next pass every second bit. This finds
 *   every second bit  cells that do not take a value, or that take their neighbour's.
 *   walking bit       A single bit goes through all 64 places. This finds faulty data lines.
 *   random            Words of a generator, then their complement. This finds faults that depend
 *                     on the pattern.
 *
 * A pass writes all words before it reads the first, so that caches must write back and fetch again
 * if the tested memory is larger than they are.
 *
 * The test of a running process goes page by page, and keeps the page's contents on the stack.
 * While a page is under test no other code may run. Invariants of test_page:
 *  1. It calls no function, because the page may hold data that a call needs (the tables of the
 *     dynamic linker, the C library's data).
 *  2. All accesses are volatile, so that the compiler turns none into memcpy and drops none.
 *  3. The mapping that holds the running stack is never tested.
 *  4. The page in which the kernel notes the thread's processor (rseq(2), used by glibc 2.35 and
 *     later) is never tested. The kernel writes there whenever the thread resumes on a processor,
 *     and ends a process whose record is not valid.
 * Pages that are not in memory are skipped, because touching them would take memory.
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

/* Returns the word that a pass writes at a place. */
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

/* Returns the word of splitmix64 (Steele, Lea and Flood 2014) with the number `index`. */
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
    /* MAP_POPULATE takes all memory now, so that a lack of it shows here and not in the middle of a
     * pass: the kernel refuses more than the machine has, and ends the process if less is free. */
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

/* The addresses of a line of /proc/self/maps. */
struct region {
    uintptr_t begin, end;
};
#define REGIONS_MAX 1024

static struct region regions[REGIONS_MAX];
static size_t region_count;
static bool regions_missed; /* the process has more regions than `regions` holds */

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

/* Takes a line such as "7f00-7f80 rw-p ...". Keeps the region if it is private and writable and
 * does not hold the running stack. */
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
        if (kept == sizeof(text) - 1) kept = 0; /* no line of the file is so long */
        memmove(text, line, kept);
    }
    if (fd >= 0) close(fd);
}

/* Writes `pattern` and then its complement over the page, and reads each back. Returns the number
 * of words that read back wrong. */
static inline __attribute__((always_inline)) size_t try_pattern(volatile uint64_t *page,
                                                                uint64_t pattern) {
    size_t faults = 0;
    for (int round = 0; round < 2; round++, pattern = ~pattern) {
        for (size_t i = 0; i < PAGE_WORDS; i++) page[i] = pattern;
        for (size_t i = 0; i < PAGE_WORDS; i++) faults += page[i] != pattern;
    }
    return faults;
}

/* Tests one page, and returns the number of words that read back wrong. Calls no function
 * (invariant 1). */
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
#define KERNELS_PLACE_BYTES 256 /* the record has 32 bytes now; later kernels may extend it */
static bool is_the_kernels(uintptr_t page) {
    uintptr_t place = (uintptr_t)__builtin_thread_pointer() + (uintptr_t)__rseq_offset;
    return place < page + PAGE_BYTES && place + KERNELS_PLACE_BYTES > page;
}
#else
static bool is_the_kernels(uintptr_t page) { return false; }
#endif

/* Returns whether the page is in memory. The system's pages may be larger than PAGE_BYTES; mincore
 * takes the address of one of them. */
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
    sigdelset(&all, SIGALRM); /* the signal ends a report that takes too long */
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
