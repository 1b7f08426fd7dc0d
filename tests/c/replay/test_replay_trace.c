/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of replay/replay_trace and replay_scan: due times of one pass and of a trace that repeats,
 * which records are sent, and files that change meanwhile.
 */
#include "replay/replay_trace.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/seed.h"
#include "load/load_stream.h"
#include "made_record.h"
#include "trace_file/trace_file_writer.h"

static char path[64], reason[TRACE_FILE_REASON_CHARS];
static struct replay_scan scan;

/* A record of the file: when, of which database, and what. */
struct made {
    int64_t msec;
    uint32_t database;
    const char *line;
};

static off_t file_bytes(void) {
    struct stat seen;
    assert_int_equal(stat(path, &seen), 0);
    return seen.st_size;
}

/* Writes the records, with an end unless the file is to be cut. */
static void write_trace(const struct made *records, size_t count, bool ends) {
    const struct trace_file_head head = {.sample = 1};
    struct trace_file_end end = {0};
    struct trace_file_writer *w = trace_file_create(path, true, &head, reason);
    assert_non_null(w);
    for (size_t i = 0; i < count; i++) {
        struct trace_file_record record = made_record(1000000 + records[i].msec, records[i].line);
        record.id = i + 1;
        record.database = records[i].database;
        assert_true(trace_file_write(w, &record));
    }
    assert_true(trace_file_flush(w));
    assert_true(trace_file_finish(w, &end, reason));
    if (!ends) assert_int_equal(truncate(path, file_bytes() - 1), 0);
}

/* Four records, of which three are sent: at 0, 10 and 30 ms. */
static const struct made usual[] = {
    {0, 0, "set {a} <5>"}, {10, 0, "get {a:70}"}, {15, 0, "nosuch {a}"}, {30, 0, "del {b:70}"}};
#define WRITE(records, ends) write_trace(records, sizeof(records) / sizeof((records)[0]), ends)

static bool open_trace(struct replay_trace *t, double pace, bool repeats) {
    const struct replay_trace_settings settings = {path, &scan, pace, repeats};
    return replay_trace_open(t, &settings, reason);
}

static void assert_next(struct replay_trace *t, const char *name) {
    struct trace_file_record record;
    const struct replay_command *command;
    assert_true(replay_trace_next(t, &record, &command));
    assert_true(slice_is(record.arguments[0].text, name));
    assert_non_null(command);
}

static bool is_over(struct replay_trace *t) {
    struct trace_file_record record;
    const struct replay_command *command;
    return replay_trace_due(t) == LOAD_NEVER && !replay_trace_next(t, &record, &command);
}

static void test_one_pass(void **state) {
    struct replay_trace t;
    WRITE(usual, true);
    assert_true(replay_scan_file(path, &scan, reason));
    assert_int_equal(scan.verdicts[REPLAY_SENDS], 3);
    assert_true(open_trace(&t, 2, false));
    assert_int_equal(replay_trace_due(&t), 0);
    assert_next(&t, "set");
    assert_int_equal(replay_trace_due(&t), 5000000);
    assert_int_equal(replay_trace_due(&t), 15000000);
    assert_next(&t, "get");
    assert_next(&t, "del");
    assert_true(is_over(&t));
    assert_true(is_over(&t));
    assert_int_equal(t.times.passes, 0);
    replay_trace_close(&t);
    replay_trace_close(&t);
}

/* The next pass begins one and a half spans after the one before: three requests have two
 * distances.
 */
static void test_a_trace_that_repeats(void **state) {
    static const int64_t due_msec[] = {0, 10, 30};
    struct replay_trace t;
    for (int whole = 0; whole < 2; whole++) {
        WRITE(usual, whole);
        assert_true(replay_scan_file(path, &scan, reason));
        assert_int_equal(scan.is_cut, !whole);
        assert_true(open_trace(&t, 1, true));
        for (int64_t pass = 0; pass < 100; pass++) {
            for (unsigned i = 0; i < 3; i++) {
                int64_t due_nsec = replay_trace_due(&t);
                assert_in_range(due_nsec + 1 - (pass * 45 + due_msec[i]) * 1000000, 0, 2);
                assert_int_equal(t.times.passes, pass);
            }
            assert_next(&t, "set");
            assert_next(&t, "get");
            assert_next(&t, "del");
        }
        replay_trace_close(&t);
    }
}

static void test_due_times_never_fall(void **state) {
    static const struct made back[] = {
        {100, 0, "get {a}"}, {0, 0, "get {a}"}, {200, 0, "get {a}"}, {50, 0, "get {a}"}};
    struct replay_trace t;
    WRITE(back, true);
    assert_true(replay_scan_file(path, &scan, reason));
    assert_true(open_trace(&t, 0.001, true));
    int64_t last_nsec = 0;
    for (unsigned i = 0; i < 400; i++) {
        int64_t due_nsec = replay_trace_due(&t);
        assert_true(due_nsec >= last_nsec);
        last_nsec = due_nsec;
    }
    assert_true(last_nsec > INT64_C(99) * 100 * 1000000000);
    replay_trace_close(&t);
}

static void test_what_cannot_be_sent_or_repeated(void **state) {
    static const struct made none[] = {{0, 0, "config get <3>"}, {5, 0, "xadd {a} <3> <1> <1>"}};
    static const struct made moment[] = {{7, 0, "get {a}"}, {7, 0, "get {b}"}, {9, 0, "nosuch"}};
    struct replay_trace t;
    write_trace(none, 0, true);
    assert_false(replay_scan_file(path, &scan, reason));
    assert_string_equal(reason, "the trace has no requests");
    WRITE(none, true);
    assert_false(replay_scan_file(path, &scan, reason));
    assert_string_equal(reason, "the trace has no request that can be replayed");
    WRITE(moment, true);
    assert_true(replay_scan_file(path, &scan, reason));
    assert_false(open_trace(&t, 1, true));
    assert_non_null(strstr(reason, "all its requests are of one moment"));
    replay_trace_close(&t);
    assert_true(open_trace(&t, 1, false));
    replay_trace_close(&t);
}

/* A file that grows gives what the scan has seen; one that is cut or emptied ends the trace. */
static void test_a_file_that_changes(void **state) {
    struct replay_trace t;
    for (int empties = 0; empties < 2; empties++) {
        WRITE(usual, true);
        assert_true(replay_scan_file(path, &scan, reason));
        if (!empties) scan.verdicts[REPLAY_SENDS] = 2; /* as if the file had been shorter */
        assert_true(open_trace(&t, 1, true));
        for (unsigned i = 0; i < 3 - !empties; i++) (void)replay_trace_due(&t);
        if (empties) {
            assert_int_equal(truncate(path, 0), 0);
            assert_true(replay_trace_due(&t) == LOAD_NEVER);
            assert_true(replay_trace_due(&t) == LOAD_NEVER);
        } else {
            assert_true(replay_trace_due(&t) != LOAD_NEVER);
            assert_int_equal(t.times.passes, 1);
        }
        replay_trace_close(&t);
    }
    WRITE(usual, true);
    assert_true(replay_scan_file(path, &scan, reason));
    scan.verdicts[REPLAY_SENDS]++; /* as if the file had been longer */
    assert_true(open_trace(&t, 1, true));
    for (unsigned i = 0; i < 3; i++) assert_true(replay_trace_due(&t) != LOAD_NEVER);
    assert_next(&t, "set");
    assert_next(&t, "get");
    assert_next(&t, "del");
    assert_true(is_over(&t));
    replay_trace_close(&t);
    unlink(path);
    assert_false(open_trace(&t, 1, true));
    replay_trace_close(&t);
}

static void test_databases(void **state) {
    static const struct made one[] = {{0, 7, "get {a}"}, {5, 7, "get {a}"}};
    static const struct made two[] = {{0, 7, "get {a}"}, {5, 1, "get {a}"}};
    struct tool_connection login = {0}, chosen = {.database = 3};
    WRITE(one, true);
    assert_true(replay_scan_file(path, &scan, reason));
    assert_false(replay_trace_selects(&scan, &login));
    replay_trace_login(&scan, &login);
    replay_trace_login(&scan, &chosen);
    assert_int_equal(login.database, 7);
    assert_int_equal(chosen.database, 3);
    login.database = 0;
    WRITE(two, true);
    assert_true(replay_scan_file(path, &scan, reason));
    assert_true(replay_trace_selects(&scan, &login));
    assert_false(replay_trace_selects(&scan, &chosen));
    replay_trace_login(&scan, &login);
    assert_int_equal(login.database, 0);
}

static void test_paces(void **state) {
    static const char *const none[] = {"", "0", "-1", "0.0009", "1001", "nan", "inf", "1x", "max"};
    double pace = 7;
    for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
        assert_false(replay_pace_parse(none[i], &pace));
    assert_true(pace == 7);
    assert_true(replay_pace_parse("0.001", &pace) && pace == 0.001);
    assert_true(replay_pace_parse("1000", &pace) && pace == 1000);
}

static int forget_file(void **state) {
    unlink(path);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_pass),
        cmocka_unit_test(test_a_trace_that_repeats),
        cmocka_unit_test(test_due_times_never_fall),
        cmocka_unit_test(test_what_cannot_be_sent_or_repeated),
        cmocka_unit_test(test_a_file_that_changes),
        cmocka_unit_test(test_databases),
        cmocka_unit_test(test_paces),
    };
    snprintf(path, sizeof(path), "/tmp/replay-trace-test-%d", (int)getpid());
    return cmocka_run_group_tests(tests, NULL, forget_file);
}
