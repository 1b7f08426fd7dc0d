/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of io/lookup with a resolver of the test's own: answers, failures, askers that are gone,
 * several slow names at once, children.
 */
#include "io/lookup.h"

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/memory.h"
#include "io/names.h"

#define PATIENCE_MSEC 60000 /* no measure: only ends a test that waits for ever */

static char reason[128], address[SOCKET_ADDRESS_CHARS];

static struct lookup *begin(const char *name) {
    struct lookup *l = lookup_begin(name, reason, sizeof(reason));
    assert_non_null(l);
    return l;
}

static bool is_there(const struct lookup *l, int msec) {
    struct pollfd ready = {.fd = lookup_fd(l), .events = POLLIN};
    return poll(&ready, 1, msec) == 1;
}

static bool take(struct lookup *l) {
    assert_true(is_there(l, PATIENCE_MSEC));
    return lookup_take(l, address, reason, sizeof(reason));
}

/* Threads have asked for so many names. */
static void wait_for_asked(int count) {
    for (int i = 0; i < NAMES_ROUNDS_MAX && atomic_load(&names_asked) < count; i++)
        poll(NULL, 0, 1);
    assert_int_equal(atomic_load(&names_asked), count);
}

static int setup(void **state) {
    names_open();
    return 0;
}

static void test_found_and_not(void **state) {
    assert_true(take(begin("a.host")));
    assert_string_equal(address, "127.0.0.1");
    assert_false(take(begin("a.unknown")));
    assert_string_equal(reason, gai_strerror(EAI_NONAME));
    assert_false(take(begin("::x"))); /* a colon: asked for as IPv6, and that is no number */
}

static void test_addresses(void **state) {
    assert_true(socket_is_address("10.0.0.1"));
    assert_true(socket_is_address("::1"));
    assert_false(socket_is_address("localhost"));
    assert_false(socket_is_address(""));
    assert_true(socket_read_address("127.1", address));
    assert_string_equal(address, "127.0.0.1");
    assert_true(socket_read_address("0:0::1", address));
    assert_string_equal(address, "::1");
    assert_false(socket_read_address("localhost", address));
    assert_int_equal(atomic_load(&names_asked), 0);
}

/* A slow name delays no other one, up to the bound; one more waits for its turn. */
static void test_slow_names(void **state) {
    struct lookup *slow[LOOKUP_THREADS_MAX], *late;
    for (int i = 0; i < LOOKUP_THREADS_MAX - 1; i++) slow[i] = begin("a.slow");
    assert_true(take(begin("a.host")));
    slow[LOOKUP_THREADS_MAX - 1] = begin("b.slow");
    wait_for_asked(LOOKUP_THREADS_MAX + 1);
    late = begin("c.host");
    assert_false(is_there(late, 20));
    names_release(LOOKUP_THREADS_MAX);
    assert_true(take(late));
    for (int i = 0; i < LOOKUP_THREADS_MAX; i++) assert_true(take(slow[i]));
}

/* Who asked is gone: before a thread has taken the name, while it is asked for, and after. */
static void test_dropped(void **state) {
    struct lookup *slow[LOOKUP_THREADS_MAX], *done = begin("a.host");
    assert_true(is_there(done, PATIENCE_MSEC));
    lookup_drop(done);
    for (int i = 0; i < LOOKUP_THREADS_MAX; i++) slow[i] = begin("a.slow");
    wait_for_asked(LOOKUP_THREADS_MAX + 1);
    lookup_drop(begin("b.host"));
    for (int i = 0; i < LOOKUP_THREADS_MAX; i++) lookup_drop(slow[i]);
    names_release(LOOKUP_THREADS_MAX);
    assert_true(take(begin("c.host")));
    wait_for_asked(LOOKUP_THREADS_MAX + 2); /* the one that waited was never asked for */
    lookup_drop(NULL);
}

/* Dropped at any moment of a lookup: the address sanitizer and the thread sanitizer judge. */
static void test_dropped_at_any_time(void **state) {
    for (int i = 0; i < 2000; i++) {
        struct lookup *l = begin("a.host");
        if (i % 3 == 0) (void)is_there(l, 1);
        for (volatile int spin = i % 100 * 20; spin > 0; spin--) continue;
        lookup_drop(l);
    }
    /* With all threads at the gate none asks for a dropped name any more, which would count in the
     * next test. */
    struct lookup *slow[LOOKUP_THREADS_MAX];
    for (int i = 0; i < LOOKUP_THREADS_MAX; i++) slow[i] = begin("a.slow");
    names_wait_at_gate(LOOKUP_THREADS_MAX);
    names_release(LOOKUP_THREADS_MAX);
    for (int i = 0; i < LOOKUP_THREADS_MAX; i++) assert_true(take(slow[i]));
}

/* A child has none of the parent's threads, and finds names all the same. */
static void test_child(void **state) {
    struct lookup *slow = begin("a.slow");
    int status;
    wait_for_asked(1);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        lookup_in_child();
        struct lookup *l = lookup_begin("a.host", reason, sizeof(reason));
        bool good = l && is_there(l, 0) && lookup_take(l, address, reason, sizeof(reason));
        _exit(good ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    names_release(1);
    assert_true(take(slow));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_found_and_not, setup),
        cmocka_unit_test_setup(test_addresses, setup),
        cmocka_unit_test_setup(test_slow_names, setup),
        cmocka_unit_test_setup(test_dropped, setup),
        cmocka_unit_test_setup(test_dropped_at_any_time, setup),
        cmocka_unit_test_setup(test_child, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
