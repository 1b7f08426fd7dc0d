/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of process/memory_test: memory that holds what is written passes; memory that does not is
 * found; a process' own memory is the same afterwards.
 *
 * Broken memory is made by mapping one page of a file twice: what is written to one place shows in
 * the other, as with an address line that is stuck.
 */
#include "process/memory_test.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#define PAGE 4096
#define WORDS (PAGE / sizeof(uint64_t))
#define SECONDS 60

static const char *passes[16];
static size_t pass_count;

static void note_pass(const char *pass) { passes[pass_count++ % 16] = pass; }

static uint64_t good_words[16 * WORDS];

static void test_good_memory_passes(void **state) {
    pass_count = 0;
    struct memory_test_result result = memory_test_words(good_words, 16 * WORDS, 7, note_pass);
    assert_int_equal(result.faults, 0);
    assert_null(result.first_fault);
    assert_int_equal(pass_count, 5);
    assert_string_equal(passes[0], "address");
    assert_string_equal(passes[4], "random");
}

static void test_no_words(void **state) {
    uint64_t word = 42;
    assert_int_equal(memory_test_words(&word, 0, 7, NULL).faults, 0);
    assert_int_equal(word, 42);
}

static void test_two_places_that_are_one(void **state) {
    int fd = memfd_create("page", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, PAGE), 0);
    char *twice = mmap(NULL, 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(twice, MAP_FAILED);
    for (int i = 0; i < 2; i++) {
        void *place =
            mmap(twice + i * PAGE, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
        assert_ptr_not_equal(place, MAP_FAILED);
    }
    volatile uint64_t *words = (volatile uint64_t *)(void *)twice;
    struct memory_test_result result = memory_test_words(words, 2 * WORDS, 7, NULL);
    /* The address pass alone: its first half reads back wrong, both ways. The random pass, too. */
    assert_true(result.faults >= 4 * WORDS);
    assert_ptr_equal(result.first_fault, twice);
    munmap(twice, 2 * PAGE);
    close(fd);
}

/* Counters of coverage change while the memory that they stand in is tested. */
#if !defined(EVENKEEL_SANITIZER) && !defined(EVENKEEL_COVERAGE)
static void test_own_memory_stays_as_it_is(void **state) {
    enum { BYTES = 1 << 20 };
    unsigned char *block =
        mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal((void *)block, MAP_FAILED);
    for (size_t i = 0; i < BYTES; i++) block[i] = (unsigned char)(i * 31 >> 3);
    struct memory_test_own own = memory_test_own(SECONDS);
    assert_int_equal(own.result.faults, 0);
    assert_true(own.complete);
    assert_true(own.pages_tested >= BYTES / PAGE);
    for (size_t i = 0; i < BYTES; i++) assert_int_equal(block[i], (unsigned char)(i * 31 >> 3));
    munmap(block, BYTES);
}

enum { UNTOUCHED_BYTES = 64 << 20 };
static unsigned char states[UNTOUCHED_BYTES / PAGE];

static void test_own_memory_takes_no_memory(void **state) {
    enum { BYTES = UNTOUCHED_BYTES };
    unsigned char *block = mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_ptr_not_equal((void *)block, MAP_FAILED);
    memory_test_own(SECONDS);
    assert_int_equal(mincore(block, BYTES, states), 0);
    for (size_t i = 0; i < BYTES / PAGE; i++) assert_int_equal(states[i] & 1, 0);
    munmap(block, BYTES);
}

/* Touches nothing but the stack, which is not tested. */
static void do_nothing(int number) { (void)number; }

/* The kernel looks at a place of the thread's own whenever it goes on with it, as after a signal;
 * many come in the midst of each page. */
static void test_own_memory_leaves_the_kernels_place_alone(void **state) {
    enum { ROUNDS = 100, EVERY_USEC = 100 };
    int status;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct itimerval often = {{0, EVERY_USEC}, {0, EVERY_USEC}};
        if (signal(SIGALRM, do_nothing) == SIG_ERR || setitimer(ITIMER_REAL, &often, NULL))
            _exit(2);
        for (int i = 0; i < ROUNDS; i++)
            if (memory_test_own(SECONDS).result.faults) _exit(1);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void test_own_memory_keeps_to_its_time(void **state) {
    struct memory_test_own own = memory_test_own(0);
    assert_false(own.complete);
    assert_int_equal(own.pages_tested, 0);
}
#endif

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good_memory_passes),
        cmocka_unit_test(test_no_words),
        cmocka_unit_test(test_two_places_that_are_one),
#if !defined(EVENKEEL_SANITIZER) && !defined(EVENKEEL_COVERAGE)
        cmocka_unit_test(test_own_memory_stays_as_it_is),
        cmocka_unit_test(test_own_memory_takes_no_memory),
        cmocka_unit_test(test_own_memory_leaves_the_kernels_place_alone),
        cmocka_unit_test(test_own_memory_keeps_to_its_time),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
