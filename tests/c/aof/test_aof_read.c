/* SPDX-License-Identifier: BSD-3-Clause
 * Reading a log: what is read is what stands there, however the bytes come and wherever they lie;
 * logs that are cut off, damaged or end in zeros; long arguments in blocks of their own.
 *
 * SEED=n runs the same random choices again; each run prints its seed.
 */
#include "aof/aof_read.h"

#include <errno.h>
#include <string.h>

#include "aof/aof_format.h"
#include "base/blob.h"
#include "base/memory.h"
#include "base/seed.h"
#include "net/batch.h"

/* ---- a source that gives its bytes in pieces ---- */

#define WINDOW_MAX 4096

struct drip {
    struct source source;
    struct slice bytes;
    size_t given, piece_max;
    int error; /* instead of the end */
    char window[WINDOW_MAX];
};

static ssize_t drip_read(struct source *s, void *bytes, size_t length) {
    struct drip *d = (struct drip *)s;
    size_t left = d->bytes.length - d->given, piece = 1 + random_below(d->piece_max);
    if (!left && d->error) {
        errno = d->error;
        return -1;
    }
    if (piece > length) piece = length;
    if (piece > left) piece = left;
    if (piece) memcpy(bytes, d->bytes.bytes + d->given, piece);
    d->given += piece;
    return (ssize_t)piece;
}

static const struct source_type drip_type = {drip_read};

static struct drip d; /* large, so it is on no stack */

static void drip_open(struct slice bytes, size_t window, size_t piece_max) {
    d.bytes = bytes;
    d.given = 0;
    d.piece_max = piece_max;
    d.error = 0;
    source_init(&d.source, &drip_type, d.window, window, bytes.length);
}

/* ---- logs ---- */

#define WORDS_MAX 2000
#define LONG_BYTES (2 * BATCH_ADOPT_BYTES)

static char texts[LONG_BYTES];
static struct slice words[WORDS_MAX];

static struct slice any_text(size_t longest) {
    size_t length = random_below(longest + 1);
    return (struct slice){texts + random_below(LONG_BYTES - length + 1), length};
}

static void add_command(struct buffer *log) {
    int argc = 1 + (int)random_below(random_below(20) ? 8 : WORDS_MAX - 1);
    words[0] = SLICE("command");
    for (int i = 1; i < argc; i++) words[i] = any_text(random_below(4) ? 12 : 300);
    if (argc > 1 && random_below(10) == 0)
        words[1 + random_below((uint64_t)argc - 1)] = any_text(LONG_BYTES);
    aof_format_append(log, argc, words);
}

/* Reads on; each command must be the bytes that it says it is. Returns how the log ended. */
static enum aof_read read_all(struct aof_reader *r, struct slice log, size_t *commands) {
    enum aof_read status;
    struct buffer again;
    uint64_t end = 0;
    buffer_init(&again, MEMORY_OTHER);
    for (*commands = 0; (status = aof_read(r)) == AOF_READ_COMMAND; ++*commands) {
        assert_int_equal(r->begin, end);
        end = r->end;
        if (r->only_names) {
            assert_true(aof_read_is(r, "COMMAND"));
            continue;
        }
        buffer_clear(&again);
        aof_format_append(&again, r->argc, r->argv);
        assert_int_equal(again.length, r->end - r->begin);
        assert_memory_equal(again.bytes, log.bytes + r->begin, again.length);
    }
    assert_int_equal(r->begin, end);
    buffer_free(&again);
    return status;
}

static void test_any_log(void **state) {
    struct buffer log;
    buffer_init(&log, MEMORY_OTHER);
    size_t made = 200, commands, used = memory_used(MEMORY_CLIENTS);
    for (size_t i = 0; i < made; i++) add_command(&log);
    for (int pass = 0; pass < 20; pass++) {
        struct aof_reader r;
        drip_open(buffer_slice(&log), 1 + random_below(WINDOW_MAX), 1 + random_below(10000));
        aof_reader_open(&r, &d.source);
        r.only_names = pass % 4 == 3;
        assert_int_equal(read_all(&r, buffer_slice(&log), &commands), AOF_READ_END);
        assert_int_equal(commands, made);
        assert_int_equal(r.begin, log.length);
        aof_reader_close(&r);
    }
    struct source whole;
    struct aof_reader r;
    slice_source_init(&whole, buffer_slice(&log));
    aof_reader_open(&r, &whole);
    assert_int_equal(read_all(&r, buffer_slice(&log), &commands), AOF_READ_END);
    assert_int_equal(commands, made);
    aof_reader_close(&r);
    assert_int_equal(memory_used(MEMORY_CLIENTS), used);
    buffer_free(&log);
}

/* ---- how it ends ---- */

static enum aof_read end_of(struct slice log, size_t window, struct aof_reader *r,
                            size_t *commands) {
    drip_open(log, window, 1 + random_below(30));
    aof_reader_open(r, &d.source);
    enum aof_read status = read_all(r, log, commands);
    aof_reader_close(r); /* its words stay */
    return status;
}

#define SHORT_LOG                                                \
    "*1\r\n$7\r\ncommand\r\n"                                    \
    "*3\r\n$7\r\ncommand\r\n$0\r\n\r\n$12\r\n0123456789\r\n\r\n" \
    "*2\r\n$7\r\nCOMMAND\r\n$1\r\nv\r\n"

static void test_cut_anywhere(void **state) {
    static const size_t ends[] = {0, 17, 59, 83};
    const char log[] = SHORT_LOG;
    assert_int_equal(sizeof(log) - 1, ends[3]);
    for (size_t length = 0; length < sizeof(log); length++) {
        struct aof_reader r;
        size_t commands, whole = 0;
        while (whole < 3 && ends[whole + 1] <= length) whole++;
        enum aof_read status =
            end_of((struct slice){log, length}, 1 + random_below(100), &r, &commands);
        assert_int_equal(commands, whole);
        assert_int_equal(r.begin, ends[whole]);
        assert_int_equal(status, length == ends[whole] ? AOF_READ_END : AOF_READ_CUT);
        if (status == AOF_READ_CUT) assert_true(r.fault[0] && r.offset >= r.begin);
    }
}

/* What was never written reads as zeros. */
static void test_zeros_at_end(void **state) {
    char log[sizeof(SHORT_LOG) + 9000];
    for (size_t length = 0; length < sizeof(SHORT_LOG); length++) {
        struct aof_reader r;
        size_t commands, zeros = 20 + random_below(8000);
        memset(log, 0, sizeof(log));
        memcpy(log, SHORT_LOG, length);
        struct slice bytes = {log, length + zeros};
        assert_int_equal(end_of(bytes, WINDOW_MAX, &r, &commands), AOF_READ_CUT);
        log[bytes.length - 1] = '*';
        assert_int_equal(end_of(bytes, WINDOW_MAX, &r, &commands), AOF_READ_BAD);
    }
}

/* One byte is another: no more and no less than what comes before it is there, and, where the byte
 * is an argument's, all. */
static void test_changed_byte(void **state) {
    const char log[] = SHORT_LOG;
    for (int i = 0; i < 5000; i++) {
        char changed[sizeof(log)];
        struct aof_reader r;
        size_t commands, at = random_below(sizeof(log) - 1);
        memcpy(changed, log, sizeof(log));
        changed[at] = (char)random_u64();
        struct source s;
        slice_source_init(&s, (struct slice){changed, sizeof(log) - 1});
        aof_reader_open(&r, &s);
        enum aof_read status;
        for (commands = 0; (status = aof_read(&r)) == AOF_READ_COMMAND;) commands++;
        size_t before = at >= 59 ? 2 : at >= 17;
        assert_true(commands >= before);
        assert_true(status != AOF_READ_FAILED);
        if (status == AOF_READ_BAD || status == AOF_READ_CUT) assert_true(r.fault[0] != '\0');
        aof_reader_close(&r);
    }
}

static const struct {
    const char *log;
    enum aof_read status;
    uint64_t offset, line;
    const char *fault;
} rows[] = {
    {"!!!", AOF_READ_BAD, 0, 1, "Expected prefix '*', got: '!'"},
    {"*1\r\n!", AOF_READ_BAD, 4, 2, "Expected prefix '$', got: '!'"},
    {"*1\r\n\x01", AOF_READ_BAD, 4, 2, "Expected prefix '$', got: 01"},
    {"*0\r\n", AOF_READ_BAD, 0, 2, "A command of 0 arguments"},
    {"*-1\r\n", AOF_READ_BAD, 0, 1, "Expected a number behind '*'"},
    {"*1048577\r\n", AOF_READ_BAD, 0, 2, "A command of 1048577 arguments"},
    {"*1048576\r\n", AOF_READ_CUT, 10, 2, "Reached EOF before reading an argument's length"},
    {"*00\r\n", AOF_READ_BAD, 0, 2, "A command of 0 arguments"},
    {"*01\r\n$001\r\na", AOF_READ_CUT, 11, 3, "Expected to read 3 bytes, got 1 bytes"},
    {"*99999999999\r\n", AOF_READ_BAD, 0, 2, "A command of 99999999999 arguments"},
    {"*1234567890123456789\r\n", AOF_READ_BAD, 0, 1, "A number has too many digits"},
    {"*1\r\n$-1\r\n", AOF_READ_BAD, 4, 2, "Expected a number behind '$'"},
    {"*1\n$1\r\na\r\n", AOF_READ_BAD, 0, 1, "Expected \\r\\n, got: 0a24"},
    {"*1\r\n$1\r\nabc", AOF_READ_BAD, 8, 3, "Expected \\r\\n, got: 6263"},
    {"*1\r\n$5\r\nabc", AOF_READ_CUT, 8, 3, "Expected to read 7 bytes, got 3 bytes"},
    {"*1\r\n$123456789012\r\nabc", AOF_READ_CUT, 19, 3,
     "Expected to read 123456789014 bytes, got 3 bytes"},
    {"*1\r\n", AOF_READ_CUT, 4, 2, "Reached EOF before reading an argument's length"},
    {"*1", AOF_READ_CUT, 0, 1, "Reached EOF before reading \\r\\n"},
    {"*1\r", AOF_READ_CUT, 0, 1, "Reached EOF before reading \\n"},
};

static void test_faults(void **state) {
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        for (int names = 0; names < 2; names++) {
            struct source s;
            struct aof_reader r;
            slice_source_init(&s, slice_of(rows[i].log));
            aof_reader_open(&r, &s);
            r.only_names = names;
            assert_int_equal(aof_read(&r), rows[i].status);
            assert_string_equal(r.fault, rows[i].fault);
            assert_int_equal(r.offset, rows[i].offset);
            assert_int_equal(r.line, rows[i].line);
            aof_reader_close(&r);
        }
    }
}

static void test_read_fails(void **state) {
    for (size_t length = 0; length < sizeof(SHORT_LOG); length++) {
        struct aof_reader r;
        enum aof_read status;
        drip_open((struct slice){SHORT_LOG, length}, 64, 7);
        d.source.length = SOURCE_LENGTH_UNKNOWN;
        d.error = EIO;
        aof_reader_open(&r, &d.source);
        do {
            status = aof_read(&r);
        } while (status == AOF_READ_COMMAND);
        assert_int_equal(status, AOF_READ_FAILED);
        assert_string_equal(r.fault, strerror(EIO));
        aof_reader_close(&r);
    }
}

/* ---- long arguments ---- */

static void test_blocks(void **state) {
    size_t used = memory_used(MEMORY_CLIENTS);
    struct slice row[] = {SLICE("command"),
                          {texts, BATCH_ADOPT_BYTES},
                          SLICE("x"),
                          {texts, BATCH_ADOPT_BYTES - 1},
                          SLICE("")};
    struct buffer log;
    buffer_init(&log, MEMORY_OTHER);
    for (int i = 0; i < 3; i++) aof_format_append(&log, 5, row);
    row[1].length--;
    aof_format_append(&log, 5, row);
    struct source s;
    struct aof_reader r;
    slice_source_init(&s, buffer_slice(&log));
    aof_reader_open(&r, &s);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(aof_read(&r), AOF_READ_COMMAND);
        assert_non_null(r.blobs);
        assert_null(r.blobs[0]);
        assert_ptr_equal(r.blobs[1]->bytes, r.argv[1].bytes);
        assert_int_equal(r.blobs[1]->length, BATCH_ADOPT_BYTES);
        for (int w = 2; w < 5; w++) assert_null(r.blobs[w]);
        if (i == 1) { /* a command has kept it */
            blob_free(r.blobs[1], MEMORY_CLIENTS);
            r.blobs[1] = NULL;
        }
    }
    assert_int_equal(aof_read(&r), AOF_READ_COMMAND);
    assert_null(r.blobs);
    assert_int_equal(aof_read(&r), AOF_READ_END);
    aof_reader_close(&r);
    buffer_free(&log);
    assert_int_equal(memory_used(MEMORY_CLIENTS), used);
}

static int setup(void **state) {
    seed_from_environment();
    for (size_t i = 0; i < sizeof(texts); i++) texts[i] = (char)random_u64();
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_log),      cmocka_unit_test(test_cut_anywhere),
        cmocka_unit_test(test_zeros_at_end), cmocka_unit_test(test_changed_byte),
        cmocka_unit_test(test_faults),       cmocka_unit_test(test_read_fails),
        cmocka_unit_test(test_blocks),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
