/* SPDX-License-Identifier: BSD-3-Clause
 * Loading the append only file: what comes of each sort of file, transactions that begin in one
 * window and end in another, and disks that fail.
 *
 * SEED=n runs the same random choices again; each run prints its seed.
 */
#include "aof/aof_load.h"

#include "server/whole.h"

#include "aof/aof_format.h"
#include "base/faults.h"
#include "base/hash.h"
#include "io/file.h"
#include "io/file_stream.h"
#include "rdb/loading.h"

#define LOG "loaded.aof"
#define WORDS_MAX 8

static struct buffer log_bytes;

/* A line of words behind what the log has. */
static void add(const char *line) {
    struct slice words[WORDS_MAX];
    int count = 0;
    for (const char *at = line; *at; at += strspn(at, " ")) {
        size_t length = strcspn(at, " ");
        words[count++] = (struct slice){at, length};
        at += length;
    }
    aof_format_append(&log_bytes, count, words);
}

static enum aof_loaded load(void) {
    for (int i = 0; i < keyspace_databases(); i++) told_flush(keyspace_at(i));
    struct slice bytes = log_bytes.length ? buffer_slice(&log_bytes) : SLICE("");
    assert_true(file_replace(LOG, bytes, 0600));
    enum aof_loaded loaded = aof_load(LOG);
    assert_false(loading_is_under_way());
    assert_true(keyspace_may_expire());
    return loaded;
}

static size_t keys(void) { return keyspace_count(keyspace_at(0)); }

static uint64_t size_of_log(void) {
    struct stat about;
    assert_int_equal(stat(LOG, &about), 0);
    return (uint64_t)about.st_size;
}

static void test_sorts_of_files(void **state) {
    assert_int_equal(aof_load("nosuch.aof"), AOF_NONE);
    assert_int_equal(load(), AOF_EMPTY);
    add("SET a 1");
    assert_int_equal(load(), AOF_LOADED);
    assert_int_equal(keys(), 1);
    uint64_t whole = log_bytes.length;
    add("SET b 1");
    log_bytes.length -= 3;
    assert_int_equal(load(), AOF_TRUNCATED);
    assert_int_equal(keys(), 1);
    assert_int_equal(size_of_log(), whole);
    assert_int_equal(aof_load(LOG), AOF_LOADED);
    buffer_append_c_string(&log_bytes, "!!!");
    assert_int_equal(load(), AOF_REFUSED);
    assert_int_equal(size_of_log(), log_bytes.length);
}

/* Its EXEC is looked for in the window, or in the file; then the file is read on from where it was.
 */
static void test_transactions(void **state) {
    char line[64];
    for (unsigned commands = 1; commands < 20000; commands = commands * 3 + 1) {
        size_t before = random_below(3000), at[3];
        buffer_clear(&log_bytes);
        for (size_t i = 0; i < before; i++) add("SET before 1");
        for (int t = 0; t < 3; t++) {
            at[t] = log_bytes.length;
            add("MULTI");
            for (unsigned i = 0; i < commands; i++) {
                snprintf(line, sizeof(line), "SET key:%u:%d value", i, t);
                add(line);
            }
            add("EXEC");
        }
        size_t others = before > 0;
        size_t behind = log_bytes.length;
        add("SET behind 1");
        assert_int_equal(load(), AOF_LOADED);
        assert_int_equal(keys(), others + 3 * commands + 1);
        /* Anywhere within the last transaction. */
        log_bytes.length = at[2] + 1 + random_below(behind - at[2] - 1);
        assert_int_equal(load(), AOF_TRUNCATED);
        assert_int_equal(size_of_log(), at[2]);
        assert_int_equal(keys(), others + 2 * commands);
    }
}

static void fill(void) {
    for (int i = 0; i < 20000; i++) add("INCR n");
    add("MULTI");
    for (int i = 0; i < 20000; i++) add("INCR n");
    add("EXEC");
}

/* Whichever read fails: the load is refused, and the file is as it was. */
static void test_reads_fail(void **state) {
    fill();
    unsigned after = 0;
    for (bool failed = true; failed; after++) {
        faults_clear();
        for (int i = 0; i < keyspace_databases(); i++) told_flush(keyspace_at(i));
        assert_true(file_replace(LOG, buffer_slice(&log_bytes), 0600));
        faults_fail(FAULT_READ, EIO, after, 1, LOG);
        enum aof_loaded loaded = aof_load(LOG);
        failed = loaded == AOF_REFUSED;
        assert_true(failed || loaded == AOF_LOADED);
        assert_int_equal(size_of_log(), log_bytes.length);
    }
    assert_true(after > log_bytes.length / FILE_WINDOW_BYTES);
    faults_clear();
}

/* A file that cannot be cut off is refused: what is appended would stand behind half a command. */
static void test_cut_fails(void **state) {
    static const enum fault_call calls[] = {FAULT_TRUNCATE, FAULT_FSYNC};
    add("SET a 1");
    buffer_append_c_string(&log_bytes, "*1");
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        faults_clear();
        assert_true(file_replace(LOG, buffer_slice(&log_bytes), 0600));
        faults_fail(calls[i], EIO, 0, 1, LOG);
        assert_int_equal(aof_load(LOG), AOF_REFUSED);
    }
    faults_clear();
    assert_int_equal(load(), AOF_TRUNCATED);
    faults_fail(FAULT_OPEN, EACCES, 0, 2, LOG);
    assert_int_equal(aof_load(LOG), AOF_REFUSED);
    faults_clear();
    /* Read only: it can be read, and not be cut off. */
    assert_true(file_replace(LOG, buffer_slice(&log_bytes), 0600));
    faults_fail(FAULT_OPEN, EROFS, 0, 1, LOG);
    assert_int_equal(aof_load(LOG), AOF_REFUSED);
    assert_int_equal(size_of_log(), log_bytes.length);
    log_bytes.length -= 2;
    assert_true(file_replace(LOG, buffer_slice(&log_bytes), 0600));
    faults_clear();
    faults_fail(FAULT_OPEN, EROFS, 0, 1, LOG);
    assert_int_equal(aof_load(LOG), AOF_LOADED);
    faults_clear();
}

/* What can be told before data is given up for the file's. */
static void test_open_alone(void **state) {
    add("SET a 1");
    assert_int_equal(load(), AOF_LOADED);
    faults_fail(FAULT_OPEN, EMFILE, 0, 1, LOG);
    assert_int_equal(aof_load_open(LOG), -1);
    assert_int_equal(errno, EMFILE);
    faults_clear();
    faults_fail(FAULT_READ, EIO, 0, 1, LOG);
    assert_int_equal(aof_load_open(LOG), -1);
    assert_int_equal(errno, EIO);
    faults_clear();
    assert_int_equal(aof_load_open("nosuch.aof"), -1);
    assert_int_equal(errno, ENOENT);
    assert_int_equal(aof_load_open("."), -1);
    int fd = aof_load_open(LOG);
    assert_true(fd >= 0);
    faults_fail(FAULT_OPEN, EMFILE, 0, 1000, NULL);
    for (int i = 0; i < keyspace_databases(); i++) told_flush(keyspace_at(i));
    assert_int_equal(aof_load_take(LOG, fd), AOF_LOADED);
    assert_int_equal(keys(), 1);
    faults_clear();
}

/* Transfers that are cut short and interrupted change nothing. */
static void test_reads_in_pieces(void **state) {
    fill();
    faults_cut(random_u64(), 5000, 20);
    assert_int_equal(load(), AOF_LOADED);
    faults_clear();
    assert_int_equal(keys(), 1);
}

/* Turns of the loop come while an argument is read that fills several windows: its memory is of the
 * class of clients', and no client's. */
static void test_turns_within_an_argument(void **state) {
    enum { TEXT_BYTES = 8 << 20 };
    struct buffer text = {.class = MEMORY_OTHER};
    memset(buffer_reserve(&text, TEXT_BYTES), 't', TEXT_BYTES);
    text.length = TEXT_BYTES;
    aof_format_append(&log_bytes, 3,
                      (struct slice[]){SLICE("SET"), SLICE("a"), buffer_slice(&text)});
    uint64_t turns = loop_stats(peers_loop)->turns;
    assert_int_equal(load(), AOF_LOADED);
    assert_true(loop_stats(peers_loop)->turns > turns);
    assert_int_equal(keys(), 1);
    buffer_free(&text);
}

/* Turns of the loop come while the EXEC of a long transaction is looked for. */
static void test_turns_before_a_transaction(void **state) {
    enum { TEXT_BYTES = 8 << 20 };
    struct buffer text = {.class = MEMORY_OTHER};
    memset(buffer_reserve(&text, TEXT_BYTES), 't', TEXT_BYTES);
    text.length = TEXT_BYTES;
    add("SET before 1");
    add("MULTI");
    aof_format_append(&log_bytes, 3,
                      (struct slice[]){SLICE("SET"), SLICE("a"), buffer_slice(&text)});
    uint64_t turns = loop_stats(peers_loop)->turns;
    assert_int_equal(load(), AOF_TRUNCATED);
    assert_true(loop_stats(peers_loop)->turns > turns);
    assert_int_equal(keys(), 1);
    buffer_free(&text);
}

static int begin(void **state) {
    faults_clear();
    buffer_init(&log_bytes, MEMORY_OTHER);
    return whole_begin(state);
}

static int end(void **state) {
    faults_clear();
    buffer_free(&log_bytes);
    unlink(LOG);
    return whole_nothing_left(state);
}

static int open_all(void **state) { return whole_open(); }

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {TEST(test_sorts_of_files),
                                       TEST(test_transactions),
                                       TEST(test_reads_fail),
                                       TEST(test_cut_fails),
                                       TEST(test_open_alone),
                                       TEST(test_reads_in_pieces),
                                       TEST(test_turns_within_an_argument),
                                       TEST(test_turns_before_a_transaction)};
    return cmocka_run_group_tests(tests, open_all, NULL);
}
