/* SPDX-License-Identifier: BSD-3-Clause
 * Full copies received: both forms, in pieces of any size, to a file and straight into the
 * databases; and what is left of the old data where a copy turns out bad.
 */
#include "replication/receive.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/stream.h"
#include "option/settings.h"
#include "rdb/rdb_save.h"
#include "replication/fake_primary.h"

#define MARK "0123456789012345678901234567890123456789"

static struct fake_primary f;
static struct buffer copy = {.class = MEMORY_OTHER}; /* of a database with one key, new */
static char folder[] = "/tmp/evenkeel-receive-XXXXXX";

static void make_copy(void) {
    struct peer p = peer_connect();
    struct buffer_sink out;
    buffer_clear(&copy);
    assert_answer(&p, "set new 1", "+OK\r\n");
    buffer_sink_init(&out, &copy);
    assert_true(rdb_save(&out.sink));
    assert_true(sink_flush(&out.sink));
    assert_answer(&p, "flushall", "+OK\r\n");
    assert_answer(&p, "set old 1", "+OK\r\n");
    peer_close(&p);
}

static int begin(void **state) {
    fake_begin(state);
    f = fake_open();
    make_copy();
    return 0;
}

static int end(void **state) {
    fake_close(&f);
    assert_takes("repl-diskless-load", "disabled", "disabled");
    assert_int_not_equal(access("dump.rdb", F_OK) == 0 ? unlink("dump.rdb") : 0, -1);
    assert_int_equal(rmdir(folder) == -1 && errno == ENOTEMPTY, 0); /* no temporary file is left */
    assert_int_equal(mkdir(folder, 0700), 0);
    assert_int_equal(chdir(folder), 0);
    return whole_nothing_left(state);
}

static void ask_for_copy(void) {
    link_follow("127.0.0.1", f.port);
    fake_greet(&f);
    fake_expect_psync(&f, history_id(), history_place() + 1);
    fake_say(&f, "+FULLRESYNC " FAKE_ID " 1000\r\n");
    FAKE_UNTIL(&f, link_state() == LINK_RECEIVES);
}

static void assert_keys(const char *old, const char *new) {
    struct peer p = peer_connect();
    assert_answer(&p, "get old", old);
    assert_answer(&p, "get new", new);
    peer_close(&p);
}

static void assert_loaded(void) {
    FAKE_UNTIL(&f, link_state() == LINK_UP);
    assert_string_equal(history_id(), FAKE_ID);
    assert_int_equal(history_place(), 1000);
    assert_keys("$-1\r\n", "$1\r\n1\r\n");
    fake_expect(&f, "REPLCONF ACK 1000");
    fake_say(&f, "*3\r\n$3\r\nSET\r\n$3\r\nnew\r\n$1\r\n2\r\n");
    FAKE_UNTIL(&f, history_place() == 1029);
}

static void say_length(void) {
    char text[64];
    snprintf(text, sizeof(text), "\n\n$%zu\r\n", copy.length);
    fake_say(&f, text);
}

static void test_length_to_file(void **state) {
    ask_for_copy();
    say_length();
    for (size_t i = 0; i < copy.length; i++) {
        fake_say_bytes(&f, copy.bytes + i, 1);
        if (i % 16 == 0) fake_turn(&f);
    }
    assert_loaded();
    assert_int_equal(access("dump.rdb", F_OK), 0);
}

/* The mark may come in pieces, and something like it before. */
static void test_mark_to_file(void **state) {
    for (size_t piece = 1; piece < 100; piece += 13) {
        ask_for_copy();
        struct buffer all = {.class = MEMORY_OTHER};
        buffer_printf(&all, "$EOF:%s\r\n", MARK);
        buffer_append(&all, copy.bytes, copy.length);
        buffer_append_c_string(&all, MARK);
        for (size_t at = 0; at < all.length; at += piece) {
            fake_say_bytes(&f, all.bytes + at, all.length - at < piece ? all.length - at : piece);
            fake_turn(&f);
        }
        assert_loaded();
        buffer_free(&all);
        link_stop_following();
        make_copy();
    }
}

/* All is written before the server reads: it waits for the rest of a copy that it loads. */
static void say_direct(const char *header, size_t length, const char *mark, const char *behind) {
    struct buffer all = {.class = MEMORY_OTHER};
    buffer_append_c_string(&all, header);
    buffer_append(&all, copy.bytes, length);
    buffer_append_c_string(&all, mark);
    buffer_append_c_string(&all, behind);
    assert_int_equal(write(f.fd, all.bytes, all.length), all.length);
    buffer_free(&all);
}

static void test_direct(void **state) {
    assert_takes("repl-diskless-load", "swapdb", "swapdb");
    ask_for_copy();
    say_direct("$EOF:" MARK "\r\n", copy.length, MARK, "");
    assert_loaded();
    assert_int_equal(access("dump.rdb", F_OK), -1);
}

static void test_direct_with_length(void **state) {
    char header[64];
    assert_takes("repl-diskless-load", "swapdb", "swapdb");
    ask_for_copy();
    snprintf(header, sizeof(header), "$%zu\r\n", copy.length);
    say_direct(header, copy.length, "", "*3\r\n$3\r\nSET\r\n$3\r\nnew\r\n$1\r\n5\r\n");
    FAKE_UNTIL(&f, link_state() == LINK_UP && history_place() == 1029);
    assert_keys("$-1\r\n", "$1\r\n5\r\n");
}

/* What came behind the mark already is the stream's. */
static void test_early_stream(void **state) {
    assert_takes("repl-diskless-load", "swapdb", "swapdb");
    ask_for_copy();
    say_direct("$EOF:" MARK "\r\n", copy.length, MARK,
               "*3\r\n$3\r\nSET\r\n$3\r\nnew\r\n$1\r\n7\r\n");
    FAKE_UNTIL(&f, link_state() == LINK_UP && history_place() == 1029);
    assert_keys("$-1\r\n", "$1\r\n7\r\n");
}

/* Wherever it is cut the old data comes back, and the link is made again. */
static void test_swap_restores(void **state) {
    assert_takes("repl-diskless-load", "swapdb", "swapdb");
    for (size_t length = 0; length < copy.length; length += 7) {
        ask_for_copy();
        say_direct("$EOF:" MARK "\r\n", length, "", "");
        fake_hang_up(&f);
        fake_greet_again(&f);
        fake_expect(&f, "PSYNC ? -1");
        assert_keys("$1\r\n1\r\n", "$-1\r\n");
        link_stop_following();
    }
    ask_for_copy();
    say_direct("$EOF:" MARK "\r\n", copy.length, "another mark of as many characters......", "");
    fake_greet_again(&f);
    assert_keys("$1\r\n1\r\n", "$-1\r\n");
}

/* To a file: nothing is touched before all is there. */
static void test_cut_file(void **state) {
    ask_for_copy();
    say_length();
    fake_say_bytes(&f, copy.bytes, copy.length / 2);
    fake_hang_up(&f);
    fake_greet_again(&f);
    fake_expect(&f, "PSYNC ? -1");
    assert_keys("$1\r\n1\r\n", "$-1\r\n");
}

/* One that is there and no copy: the data is gone, and the old snapshot is not. */
static void test_damaged_file(void **state) {
    ask_for_copy();
    say_length();
    copy.bytes[copy.length / 2] ^= 0x55;
    fake_say_bytes(&f, copy.bytes, copy.length);
    fake_greet_again(&f);
    fake_expect(&f, "PSYNC ? -1");
    assert_keys("$-1\r\n", "$-1\r\n");
    assert_int_equal(access("dump.rdb", F_OK), -1);
}

static void test_headers(void **state) {
    static const char *const bad[] = {
        "-ERR no copy today\r\n",    "hello\r\n",     "$\r\n", "$-1\r\n", "$x\r\n",
        "$99999999999999999999\r\n", "$EOF:short\r\n"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        ask_for_copy();
        fake_say(&f, bad[i]);
        fake_greet_again(&f);
        fake_expect(&f, "PSYNC ? -1");
        assert_keys("$1\r\n1\r\n", "$-1\r\n");
        link_stop_following();
    }
    ask_for_copy();
    for (int i = 0; i < 2000; i++) fake_say(&f, "x");
    fake_greet_again(&f);
}

/* After so much silence it is given up; a line end is a word. */
static void test_silence(void **state) {
    ask_for_copy();
    for (int i = 0; i < 5; i++) {
        whole_pass(40000);
        fake_say(&f, "\n");
        FAKE_UNTIL(&f, receive_heard_sec() == clock_monotonic_nsec() / 1000000000);
        assert_int_equal(link_state(), LINK_RECEIVES);
    }
    whole_pass(61000);
    fake_greet(&f);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(test_length_to_file), TEST(test_mark_to_file),
        TEST(test_direct),         TEST(test_direct_with_length),
        TEST(test_early_stream),   TEST(test_swap_restores),
        TEST(test_cut_file),       TEST(test_damaged_file),
        TEST(test_headers),        TEST(test_silence),
    };
    if (!mkdtemp(folder) || chdir(folder) != 0 || whole_open() != 0) return 1;
    assert_takes("save", "", "");
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    buffer_free(&copy);
    rmdir(folder);
    return failed;
}
