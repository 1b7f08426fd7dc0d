/* SPDX-License-Identifier: BSD-3-Clause
 * What the tests of base/ share: the seed of a random test, and functions run in a child.
 */
#ifndef EVENKEEL_TESTS_BASE_SEED_H
#define EVENKEEL_TESTS_BASE_SEED_H
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "base/random.h"

/* Seeds the generator from SEED or anew, and prints the seed. */
static inline void seed_from_environment(void) {
    const char *given = getenv("SEED");
    uint64_t seed;
    if (given != NULL) {
        seed = strtoull(given, NULL, 10);
    } else {
        random_secret(&seed, sizeof(seed));
    }
    printf("SEED=%llu\n", (unsigned long long)seed);
    random_seed(seed);
}

/* Runs `act` in a child, whose standard output goes to `out`. Returns its wait status. */
static inline int run_in_child(void (*act)(void), char *out, size_t size) {
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        dup2(ends[1], STDOUT_FILENO);
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        /* cmocka would take these for a failed test of its own. */
        signal(SIGABRT, SIG_DFL);
        act();
        _exit(0);
    }
    close(ends[1]);
    size_t length = 0;
    ssize_t got;
    while (length + 1 < size && (got = read(ends[0], out + length, size - 1 - length)) > 0) {
        length += (size_t)got;
    }
    out[length] = '\0';
    close(ends[0]);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

/* `act` must abort with `text` in what it says. */
static inline void assert_aborts(void (*act)(void), const char *text) {
    char out[8192];
    int status = run_in_child(act, out, sizeof(out));
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT || strstr(out, text) == NULL) {
        fail_msg("no abort with \"%s\": status %d, output: %s", text, status, out);
    }
}
#endif
