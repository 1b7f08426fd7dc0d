/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of a keyspace in both of its forms: partitioned by slots, and not.
 */
#ifndef EVENKEEL_TESTS_STORE_BOTH_FORMS_H
#define EVENKEEL_TESTS_STORE_BOTH_FORMS_H
#include <assert.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

static bool keys_by_slot; /* this process tests a partitioned keyspace */

/* To be called first in main: the tests run twice, in a child process with a partitioned keyspace,
 * and then in this process without. Returns the child's result in this process, 0 in the child. */
static inline int keys_in_both_forms(void) {
    pid_t child = fork();
    int status = 0;
    assert(child >= 0);
    keys_by_slot = child == 0;
    if (child == 0) return 0;
    pid_t ended = waitpid(child, &status, 0);
    assert(ended == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
#endif
