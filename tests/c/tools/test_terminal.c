/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of tools/terminal: the decoding of keys, and reading. The rest is tested through a pseudo
 * terminal by tests/integration/lab-watch.tcl.
 */
#include "tools/terminal.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>

#include "base/random.h"
#include "base/seed.h"

#define PATIENCE_SECONDS 60

static void expect(const char *bytes, enum terminal_key_kind kind, size_t took) {
    struct terminal_key key;
    assert_int_equal(terminal_decode_key(bytes, strlen(bytes), &key), took);
    assert_int_equal(key.kind, kind);
    if (kind == TERMINAL_KEY_TEXT) assert_int_equal(key.text, bytes[0]);
}

static void test_keys(void **state) {
    expect("a", TERMINAL_KEY_TEXT, 1);
    expect(" x", TERMINAL_KEY_TEXT, 1);
    expect("~", TERMINAL_KEY_TEXT, 1);
    expect("\r", TERMINAL_KEY_ENTER, 1);
    expect("\n", TERMINAL_KEY_ENTER, 1);
    expect("\x7f", TERMINAL_KEY_BACKSPACE, 1);
    expect("\b", TERMINAL_KEY_BACKSPACE, 1);
    expect("\t", TERMINAL_KEY_TAB, 1);
    expect("\x01", TERMINAL_KEY_OTHER, 1);
    expect("\xc3\xa4", TERMINAL_KEY_OTHER, 1);
}

static void test_sequences(void **state) {
    expect("\033", TERMINAL_KEY_ESCAPE, 1);
    expect("\033\033", TERMINAL_KEY_ESCAPE, 1);
    expect("\033a", TERMINAL_KEY_ESCAPE, 1);
    expect("\033[Aq", TERMINAL_KEY_UP, 3);
    expect("\033[B", TERMINAL_KEY_DOWN, 3);
    expect("\033OA", TERMINAL_KEY_UP, 3);
    expect("\033OB", TERMINAL_KEY_DOWN, 3);
    expect("\033[C", TERMINAL_KEY_OTHER, 3);
    expect("\033[1;5Ax", TERMINAL_KEY_UP, 6);
    expect("\033[3~q", TERMINAL_KEY_OTHER, 4);
    expect("\033[", TERMINAL_KEY_OTHER, 2);
    expect("\033[1;", TERMINAL_KEY_OTHER, 4);
}

static void test_any_bytes_are_consumed(void **state) {
    seed_from_environment();
    for (int round = 0; round < 20000; round++) {
        char bytes[16];
        size_t length = 1 + random_u64() % sizeof(bytes), taken = 0;
        for (size_t i = 0; i < length; i++) {
            bytes[i] = random_u64() % 3 ? (char)random_u64() : "\033[O;"[random_u64() % 4];
        }
        while (taken < length) {
            struct terminal_key key;
            size_t took = terminal_decode_key(bytes + taken, length - taken, &key);
            assert_true(took >= 1 && took <= length - taken);
            taken += took;
        }
    }
}

/* In a child, whose standard input and output are a pseudo terminal. A status of 0 is right. */
static int read_without_keys(int terminal, int other_end) {
    char bytes[8];
    size_t length = 1;
    alarm(PATIENCE_SECONDS);
    if (dup2(terminal, STDIN_FILENO) < 0 || dup2(terminal, STDOUT_FILENO) < 0) return 1;
    close(terminal);
    if (!terminal_open(NULL)) return 2;
    if (!terminal_read(bytes, sizeof(bytes), &length) || length != 0) return 3;
    if (write(other_end, "ab", 2) != 2) return 4;
    struct pollfd ready = {.fd = STDIN_FILENO, .events = POLLIN};
    if (poll(&ready, 1, PATIENCE_SECONDS * 1000) != 1) return 5;
    if (!terminal_read(bytes, sizeof(bytes), &length) || length != 2) return 6;
    close(other_end);
    /* The parent may not have closed its own yet: then nothing has ended. */
    if (poll(&ready, 1, PATIENCE_SECONDS * 1000) != 1) return 7;
    return terminal_read(bytes, sizeof(bytes), &length) ? 8 : 0;
}

/* Ctrl-C drops keys that poll has told of; reading must not wait for the next one then. */
static void test_reading_never_waits(void **state) {
    int other_end = posix_openpt(O_RDWR | O_NOCTTY), status;
    assert_true(other_end >= 0 && grantpt(other_end) == 0 && unlockpt(other_end) == 0);
    int terminal = open(ptsname(other_end), O_RDWR | O_NOCTTY);
    assert_true(terminal >= 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) _exit(read_without_keys(terminal, other_end));
    close(terminal);
    close(other_end);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keys),
        cmocka_unit_test(test_sequences),
        cmocka_unit_test(test_any_bytes_are_consumed),
        cmocka_unit_test(test_reading_never_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
