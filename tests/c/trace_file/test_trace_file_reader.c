/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of trace_file/trace_file_reader and trace_file_writer: what is written is read, a file that
 * is cut at any byte gives whole blocks, and each changed byte is found.
 */
#include "trace_file/trace_file_reader.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/seed.h"
#include "io/file.h"
#include "trace_file/trace_block.h"
#include "trace_file/trace_file_writer.h"

#define RECORDS 3000 /* two blocks, and more */
static char key[32];
static struct trace_file_argument arguments[5];
static char path[64], reason[TRACE_FILE_REASON_CHARS];
static const struct trace_file_head head = {.began_usec = 1700000000000000,
                                            .sample = 10,
                                            .hashed = true,
                                            .server = "Evenkeel 1.0\nsample 7",
                                            .policy = "allkeys-lru",
                                            .maxmemory = 1 << 20,
                                            .used_bytes = -1,
                                            .overhead_bytes = 5,
                                            .keys = 0};

/* Record number i, from 1; its arguments are valid until the next call. */
static struct trace_file_record record_number(uint64_t i) {
    int length = snprintf(key, sizeof(key), "key:%0*d", (int)(i % 20), (int)i);
    arguments[0] = (struct trace_file_argument){TRACE_FILE_WORD, SLICE("set"), 0, -1, -1};
    arguments[1] = (struct trace_file_argument){
        TRACE_FILE_KEY, {key, (size_t)length}, 0, i % 3 ? (int64_t)i * 100 : -1, -1};
    if (i % 6 == 1) arguments[1].ttl_msec = (int64_t)i;
    arguments[2] = (struct trace_file_argument){TRACE_FILE_VALUE, {0}, (int64_t)(i * i), -1, -1};
    arguments[3] = (struct trace_file_argument){TRACE_FILE_OTHER_KEY, SLICE("\0a"), 0, -1, -1};
    arguments[4] = (struct trace_file_argument){TRACE_FILE_WORD, SLICE(""), 0, -1, -1};
    return (struct trace_file_record){.id = 2 * i + i / 100,
                                      .wall_usec = 1700000000000000 + (int64_t)(i ^ 5) * 1000,
                                      .client = i << 40,
                                      .database = (uint32_t)i % 16,
                                      .by_script = i % 2,
                                      .argument_count = 2 + i % 4,
                                      .arguments = arguments};
}

static void assert_record(const struct trace_file_record *got, uint64_t i) {
    struct trace_file_record want = record_number(i);
    assert_int_equal(got->id, want.id);
    assert_int_equal(got->wall_usec, want.wall_usec);
    assert_int_equal(got->client, want.client);
    assert_int_equal(got->database, want.database);
    assert_int_equal(got->by_script, want.by_script);
    assert_int_equal(got->argument_count, want.argument_count);
    for (uint32_t a = 0; a < want.argument_count; a++) {
        assert_int_equal(got->arguments[a].kind, want.arguments[a].kind);
        assert_true(slice_equal(got->arguments[a].text, want.arguments[a].text));
        assert_int_equal(got->arguments[a].size, want.arguments[a].size);
        assert_int_equal(got->arguments[a].bytes, want.arguments[a].bytes);
        if (want.arguments[a].bytes >= 0)
            assert_int_equal(got->arguments[a].ttl_msec, want.arguments[a].ttl_msec);
    }
}

/* Writes so many records and an end. */
static void write_whole(uint64_t records) {
    struct trace_file_end end = {.ending = TRACE_FILE_SERVER_LOST,
                                 .ended_usec = 1700000099000000,
                                 .missing = 7,
                                 .without_keys = 9};
    struct trace_file_writer *w = trace_file_create(path, true, &head, reason);
    assert_non_null(w);
    for (uint64_t i = 1; i <= records; i++) {
        struct trace_file_record record = record_number(i);
        assert_true(trace_file_write(w, &record));
    }
    assert_true(trace_file_flush(w));
    assert_int_equal(trace_file_written(w), records);
    assert_true(trace_file_finish(w, &end, reason));
    assert_int_equal(end.records, records);
}

static struct buffer whole_file(void) {
    struct buffer text = {.class = MEMORY_OTHER};
    assert_true(file_read(path, 1 << 20, &text));
    return text;
}

static void put_file(struct slice bytes) {
    int fd = open(path, O_WRONLY | O_TRUNC | O_CREAT, 0600);
    assert_true(file_write(fd, bytes, NULL));
    close(fd);
}

/* Reads the file to its end. Returns the records, -1 where it does not open. */
static int64_t read_file(enum trace_file_status *status) {
    struct trace_file_record record;
    int64_t count = 0;
    struct trace_file_reader *r = trace_file_open(path, reason);
    if (!r) return -1;
    while ((*status = trace_file_next(r, &record)) == TRACE_FILE_HAS_RECORD)
        assert_record(&record, (uint64_t)++count);
    assert_int_equal(trace_file_next(r, &record), *status);
    if (*status == TRACE_FILE_IS_BAD) {
        snprintf(reason, sizeof(reason), "%s", trace_file_read_error(r));
        assert_true(*reason);
    }
    trace_file_close(r);
    return count;
}

static void test_what_is_written_is_read(void **state) {
    enum trace_file_status status;
    write_whole(RECORDS);
    assert_int_equal(read_file(&status), RECORDS);
    assert_int_equal(status, TRACE_FILE_IS_WHOLE);
    struct trace_file_reader *r = trace_file_open(path, reason);
    const struct trace_file_head *h = trace_file_head(r);
    assert_int_equal(h->began_usec, head.began_usec);
    assert_int_equal(h->sample, 10); /* the line end in the server's text began no line */
    assert_string_equal(h->server, "Evenkeel 1.0.sample 7");
    assert_string_equal(h->policy, "allkeys-lru");
    assert_true(h->hashed && h->maxmemory == 1 << 20 && h->used_bytes == -1);
    assert_true(h->overhead_bytes == 5 && h->keys == 0);
    struct trace_file_record record;
    while (trace_file_next(r, &record) == TRACE_FILE_HAS_RECORD) continue;
    assert_int_equal(trace_file_end(r)->ending, TRACE_FILE_SERVER_LOST);
    assert_int_equal(trace_file_end(r)->missing, 7);
    assert_int_equal(trace_file_end(r)->without_keys, 9);
    assert_true(trace_file_rewind(r));
    for (uint64_t i = 1; trace_file_next(r, &record) == TRACE_FILE_HAS_RECORD; i++)
        assert_record(&record, i);
    assert_int_equal(trace_file_end(r)->records, RECORDS);
    assert_true(trace_file_rewind(r));
    assert_int_equal(trace_file_next(r, &record), TRACE_FILE_HAS_RECORD);
    assert_record(&record, 1);
    put_file(SLICE("evktrace"));
    assert_false(trace_file_rewind(r));
    assert_int_equal(trace_file_next(r, &record), TRACE_FILE_IS_BAD);
    trace_file_close(r);
    write_whole(0);
    assert_int_equal(read_file(&status), 0);
    assert_int_equal(status, TRACE_FILE_IS_WHOLE);
}

static void test_a_file_that_is_cut_at_any_byte(void **state) {
    enum trace_file_status status = TRACE_FILE_IS_BAD;
    write_whole(40);
    struct buffer text = whole_file();
    int64_t before = -1;
    for (size_t length = 0; length < text.length; length++) {
        put_file((struct slice){text.bytes, length});
        int64_t count = read_file(&status);
        if (count >= 0) assert_int_equal(status, TRACE_FILE_IS_CUT);
        if (count < 0 && !length) assert_string_equal(strchr(reason, ':'), ": the file is empty");
        assert_true(count >= before && (count <= 0 || count == 40));
        before = count;
    }
    assert_int_equal(before, 40);
    buffer_free(&text);
}

static void test_each_changed_byte_is_found(void **state) {
    enum trace_file_status status;
    write_whole(20);
    struct buffer text = whole_file();
    seed_from_environment();
    for (size_t i = 0; i < text.length; i++) {
        char flipped = (char)(1 << random_below(8));
        struct trace_file_record record;
        text.bytes[i] ^= flipped;
        put_file(buffer_slice(&text));
        text.bytes[i] ^= flipped;
        struct trace_file_reader *r = trace_file_open(path, reason);
        status = TRACE_FILE_IS_BAD;
        while (r && (status = trace_file_next(r, &record)) == TRACE_FILE_HAS_RECORD) continue;
        trace_file_close(r);
        /* A length that became larger than the file looks like a cut. */
        assert_true(status == TRACE_FILE_IS_BAD || status == TRACE_FILE_IS_CUT);
    }
    buffer_free(&text);
}

/* --- blocks with good checksums and bad contents ---------------------------------------------- */

static const char good_head[] = "sample 1\n";

/* The status of a file with this head and this block of records. */
static enum trace_file_status status_of(const char *head_text, char kind, struct slice records,
                                        const char *end_text) {
    struct buffer file = {.class = MEMORY_OTHER};
    enum trace_file_status status = TRACE_FILE_IS_BAD;
    struct trace_file_record record;
    buffer_append(&file, TRACE_FILE_MAGIC "\1\0\0\0", 12);
    trace_block_append(&file, 0, TRACE_FILE_HEAD, slice_of(head_text));
    trace_block_append(&file, 1, kind, records);
    if (end_text) trace_block_append(&file, 2, TRACE_FILE_LAST, slice_of(end_text));
    put_file(buffer_slice(&file));
    buffer_free(&file);
    struct trace_file_reader *r = trace_file_open(path, reason);
    while (r && (status = trace_file_next(r, &record)) == TRACE_FILE_HAS_RECORD) continue;
    trace_file_close(r);
    return status;
}

#define BLOCK(literal) status_of(good_head, TRACE_FILE_RECORDS, SLICE(literal), NULL)

static void test_records_that_make_no_sense(void **state) {
    /* id 1, time 0, client 0, database 0, one argument: the word "a" */
    assert_int_equal(BLOCK("\1\0\0\0\1\5a"), TRACE_FILE_IS_CUT);
    assert_int_equal(BLOCK("\1\0\0\0\1\5a\1\0\0\0\1\5a"), TRACE_FILE_IS_CUT);
    assert_int_equal(BLOCK("\0\0\0\0\1\5a"), TRACE_FILE_IS_BAD);              /* id 0 */
    assert_int_equal(BLOCK("\1\0\0\0\1\5a\0\0\0\0\1\5a"), TRACE_FILE_IS_BAD); /* id again */
    assert_int_equal(BLOCK("\1\1\0\0\1\5a"), TRACE_FILE_IS_BAD);              /* time -1 */
    assert_int_equal(BLOCK("\1\0\0\0\0"), TRACE_FILE_IS_BAD);                 /* no argument */
    assert_int_equal(BLOCK("\1\0\0\0\1\x05"), TRACE_FILE_IS_BAD);             /* no text */
    assert_int_equal(BLOCK("\1\0\0\0\1\4"), TRACE_FILE_IS_BAD);       /* a size is no name */
    assert_int_equal(BLOCK("\1\0\0\0\1\6a\0"), TRACE_FILE_IS_BAD);    /* nor a key */
    assert_int_equal(BLOCK("\1\0\0\0\2\5a\6k"), TRACE_FILE_IS_BAD);   /* a key's bytes */
    assert_int_equal(BLOCK("\1\0\0\0\2\5a\6k\2"), TRACE_FILE_IS_BAD); /* its time to live */
    assert_int_equal(BLOCK("\1\0\0\0\2\5a\6k\2\0"), TRACE_FILE_IS_CUT);
    assert_int_equal(BLOCK("\1\0\0\0\x81\x20\5a"), TRACE_FILE_IS_BAD); /* 4,097 arguments */
    assert_int_equal(BLOCK("\1\0\0\xff\xff\xff\xff\xff\1\1\5a"), TRACE_FILE_IS_BAD); /* database */
    assert_int_equal(BLOCK("\1\0\0\0\2\5a\xff\xff\xff\xff\xff\xff\xff\xff\xff\1"),
                     TRACE_FILE_IS_BAD); /* the largest size */
    assert_int_equal(BLOCK("\1\0\0\0\2\5a\x80\x80\x80\x80\x80\x80\x80\x80\x80\2"),
                     TRACE_FILE_IS_BAD); /* more than 64 bits */
    assert_int_equal(BLOCK("\xff\xff\xff\xff\xff\xff\xff\xff\xff\1\0\0\0\1\5a\1\0\0\0\1\5a"),
                     TRACE_FILE_IS_BAD); /* the id overflows */
    assert_int_equal(BLOCK("\1\xff\xff\xff\xff\xff\xff\xff\xff\xff\1\0\0\1\5a"),
                     TRACE_FILE_IS_BAD); /* the time */
}

static void test_heads_and_ends(void **state) {
    const struct slice one = SLICE("\1\0\0\0\1\5a");
    assert_int_equal(status_of(good_head, 'R', one, "records 1\n"), TRACE_FILE_IS_WHOLE);
    assert_int_equal(status_of(good_head, 'R', one, "later 5\nrecords 1"), TRACE_FILE_IS_WHOLE);
    assert_int_equal(status_of(good_head, 'R', one, "records 2\n"), TRACE_FILE_IS_BAD);
    assert_int_equal(status_of(good_head, 'R', one, ""), TRACE_FILE_IS_BAD);
    assert_int_equal(status_of(good_head, 'R', one, "records 1\nmissing -1\n"), TRACE_FILE_IS_BAD);
    assert_int_equal(status_of(good_head, 'X', one, NULL), TRACE_FILE_IS_BAD);
    assert_int_equal(status_of(good_head, 'H', one, NULL), TRACE_FILE_IS_BAD);
    assert_int_equal(status_of("", 'R', one, NULL), TRACE_FILE_IS_BAD);
    assert_int_equal(status_of("sample 0\n", 'R', one, NULL), TRACE_FILE_IS_BAD);
    assert_int_equal(status_of("sample 1\nhashed 2\n", 'R', one, NULL), TRACE_FILE_IS_BAD);
    assert_int_equal(status_of("sample 1\nmaxmemory 9999999999999999999\n", 'R', one, NULL),
                     TRACE_FILE_IS_BAD);
}

static void test_files_that_are_none(void **state) {
    enum trace_file_status status;
    put_file(SLICE("REDIS0009 is another format"));
    assert_int_equal(read_file(&status), -1);
    assert_non_null(strstr(reason, "no trace file"));
    put_file(SLICE(TRACE_FILE_MAGIC "\2\0\0\0"));
    assert_int_equal(read_file(&status), -1);
    assert_non_null(strstr(reason, "version 2"));
    /* A block as long as no memory, and what is behind the end. */
    put_file(SLICE(TRACE_FILE_MAGIC "\1\0\0\0H\xff\xff\xff\xff"));
    assert_int_equal(read_file(&status), -1);
    assert_non_null(strstr(reason, "too long"));
    write_whole(1);
    struct buffer text = whole_file();
    buffer_append_char(&text, 'x');
    put_file(buffer_slice(&text));
    buffer_free(&text);
    assert_int_equal(read_file(&status), 1);
    assert_int_equal(status, TRACE_FILE_IS_BAD);
    unlink(path);
    assert_int_equal(read_file(&status), -1);
    assert_non_null(strstr(reason, "No such file"));
}

static void test_an_old_file_is_kept(void **state) {
    put_file(SLICE("precious"));
    assert_null(trace_file_create(path, false, &head, reason));
    assert_non_null(strstr(reason, "--force"));
    struct buffer text = whole_file();
    assert_true(slice_equal(buffer_slice(&text), SLICE("precious")));
    buffer_free(&text);
}

static int make_path(void **state) {
    snprintf(path, sizeof(path), "/tmp/test_trace_file.%d", (int)getpid());
    return 0;
}

static int remove_path(void **state) {
    unlink(path);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_written_is_read),
        cmocka_unit_test(test_a_file_that_is_cut_at_any_byte),
        cmocka_unit_test(test_each_changed_byte_is_found),
        cmocka_unit_test(test_records_that_make_no_sense),
        cmocka_unit_test(test_heads_and_ends),
        cmocka_unit_test(test_files_that_are_none),
        cmocka_unit_test(test_an_old_file_is_kept),
    };
    return cmocka_run_group_tests(tests, make_path, remove_path);
}
