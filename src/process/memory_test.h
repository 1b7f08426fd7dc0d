/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of the machine's memory: for --test-memory, and after a crash.
 */
#ifndef EVENKEEL_PROCESS_MEMORY_TEST_H
#define EVENKEEL_PROCESS_MEMORY_TEST_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

/* Words that did not hold what was written to them. */
struct memory_test_result {
    size_t faults;
    const void *first_fault; /* NULL = none */
};

/* Writes and reads all of `words` with every pattern; the old contents are lost. `seed` makes the
 * random pattern. `progress` (may be NULL) is called with the name of each pass before it begins.
 */
FOR_TESTS struct memory_test_result memory_test_words(volatile uint64_t *words, size_t count,
                                                      uint64_t seed,
                                                      void (*progress)(const char *pass));
/* --test-memory: as many megabytes as `text` says, with progress on standard output. Exit status:
 * 0 = the memory is good, 1 = it is not, or the text is no number or too much. */
int memory_test_run(const char *text);

/* Tests this process's memory page by page, and restores each page's contents: for a process that
 * is about to end. No other thread may run. Stops after `seconds_max`. The stack and unused memory
 * are left out. */
struct memory_test_own {
    struct memory_test_result result;
    size_t pages_tested;
    bool complete; /* false: the time was up, or there are too many mappings */
};
struct memory_test_own memory_test_own(int seconds_max);
#endif
