/* SPDX-License-Identifier: BSD-3-Clause
 * An append only file that is written anew, as commands and as a snapshot, and loaded: every type
 * and encoding, several databases, deadlines that are over, and a sink that fails.
 *
 * SEED=n runs the same random choices again; each run prints its seed.
 */
#include "rdb/log_base.h"

#include "server/whole.h"

#include <errno.h>
#include <fcntl.h>

#include "aof/aof_load.h"
#include "base/stream.h"
#include "io/file_stream.h"
#include "store/digest.h"

#define LOG "rewritten.aof"

static struct peer client;

static void ask(const char *line, const char *wanted) {
    buffer_clear(&client.got);
    peer_send(&client, slice_of(line));
    peer_receive(&client, SIZE_MAX);
    if (wanted) peer_assert_got(&client, slice_of(wanted));
}

static void fill_database(unsigned number) {
    static const char *const commands[] = {
        "SET s%u:%u text%u\r\n",  "SET n%u:%u %u\r\n",       "RPUSH l%u %u m%u\r\n",
        "SADD i%u %u %u\r\n",     "SADD t%u m%u %u\r\n",     "HSET h%u f%u v%u\r\n",
        "ZADD z%u %u.25 m%u\r\n", "XADD x%u 1-%u f v%u\r\n", "SETRANGE r%u %u x%u\r\n",
        "RPUSH big%u m%u %u\r\n",
    };
    char line[128];
    snprintf(line, sizeof(line), "SELECT %u\r\n", number);
    ask(line, "+OK\r\n");
    for (unsigned i = 1; i < 300; i++)
        for (size_t c = 0; c < sizeof(commands) / sizeof(commands[0]); c++) {
            bool small = c >= 2 && c <= 6 && random_below(2);
            snprintf(line, sizeof(line), commands[c], small && i > 50 ? i : 7, i, i);
            ask(line, NULL);
        }
    ask("PEXPIRE s7:1 100000000\r\n", NULL);
    ask("XGROUP CREATE x7 g 0\r\n", NULL);
    ask("XREADGROUP GROUP g c COUNT 5 STREAMS x7 >\r\n", NULL);
    ask("XGROUP CREATECONSUMER x7 g idle\r\n", NULL);
    ask("XADD empty 5-5 a b\r\n", NULL);
    ask("XDEL empty 5-5\r\n", NULL);
    ask("XDEL x7 1-299\r\n", NULL);
}

static bool rewrite_to(const char *path, bool preamble) {
    struct file_sink f;
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    file_sink_open(&f, fd, -1);
    bool good = log_base_save(&f.sink, preamble);
    file_sink_close(&f);
    close(fd);
    return good;
}

static void forget_all(void) {
    for (int i = 0; i < keyspace_databases(); i++) told_flush(keyspace_at(i));
}

static void rewrite_and_load(bool preamble) {
    unsigned char before[SHA1_BYTES], after[SHA1_BYTES];
    fill_database(0);
    fill_database(3);
    ask("SET due v PX 10\r\n", "+OK\r\n");
    digest_all(before);
    assert_true(rewrite_to(LOG, preamble));
    forget_all();
    assert_int_equal(aof_load(LOG), AOF_LOADED);
    digest_all(after);
    assert_memory_equal(before, after, SHA1_BYTES);
    ask("SELECT 3\r\n", "+OK\r\n");
    ask("XPENDING x7 g\r\n",
        "*4\r\n:5\r\n$3\r\n1-1\r\n$3\r\n1-5\r\n*1\r\n*2\r\n$1\r\nc\r\n$1\r\n5\r\n");
    ask("PTTL s7:1\r\n", ":100000000\r\n");
}

static void test_commands(void **state) { rewrite_and_load(false); }
static void test_preamble(void **state) { rewrite_and_load(true); }

/* What is due but still there is written too: what is appended may be about it. */
static void test_due_keys(void **state) {
    for (int preamble = 0; preamble < 2; preamble++) {
        ask("SET due v PX 10\r\n", "+OK\r\n");
        clock_advance_usec(1000000);
        clock_refresh();
        assert_int_equal(keyspace_count(keyspace_at(0)), 1);
        assert_true(rewrite_to(LOG, preamble));
        forget_all();
        assert_int_equal(aof_load(LOG), AOF_LOADED);
        assert_int_equal(keyspace_count(keyspace_at(0)), 1);
        ask("GET due\r\n", "$-1\r\n");
        assert_int_equal(keyspace_count(keyspace_at(0)), 0);
    }
}

static bool no_room(struct sink *s, const void *more, size_t length) {
    errno = ENOSPC;
    return false;
}

static void test_sink_fails(void **state) {
    static const struct sink_type full = {.drain = no_room};
    char window[64];
    fill_database(0);
    for (int preamble = 0; preamble < 2; preamble++) {
        struct sink s;
        sink_init(&s, &full, window, sizeof(window));
        assert_false(log_base_save(&s, preamble));
        assert_int_equal(sink_error(&s), ENOSPC);
    }
}

static int begin(void **state) {
    int failed = whole_begin(state);
    client = peer_connect();
    return failed;
}

static int end(void **state) {
    peer_close(&client);
    unlink(LOG);
    return whole_nothing_left(state);
}

static int open_all(void **state) { return whole_open(); }

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {TEST(test_commands), TEST(test_preamble),
                                       TEST(test_due_keys), TEST(test_sink_fails)};
    return cmocka_run_group_tests(tests, open_all, NULL);
}
