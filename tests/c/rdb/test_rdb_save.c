/* SPDX-License-Identifier: BSD-3-Clause
 * Writing snapshots: what stands in the file, piece by piece; which keys; its checksum; sinks that
 * fail. What comes of it when it is loaded is in test_rdb_batch.
 */
#include "rdb/rdb_save.h"

#include <errno.h>

#include "server/whole.h"

#include "base/checksum.h"
#include "base/hash.h"
#include "base/stream.h"
#include "base/version.h"
#include "exec/edit.h"
#include "rdb/rdb_fields.h"
#include "rdb/rdb_format.h"
#include "store/entry.h"
#include "store/recency.h"
#include "value/saved.h"
#include "value/string.h"

#define NOW_MSEC (WHOLE_START_USEC / 1000)

static struct keyspace_holder primary_says = {.elsewhere = true};

static struct buffer file = {.class = MEMORY_OTHER};
static struct buffer store = {.class = MEMORY_OTHER};
static struct source in; /* reads the file */

static void put(int database, struct slice name, struct slice text, int64_t deadline,
                unsigned recency) {
    struct string_value room = string_value_of_text(text);
    struct key key = {keyspace_at(database), name, hash_bytes(name.bytes, name.length)};
    edit_restore(&key, ENTRY_STRING, (struct value){&room, room.encoding}, deadline, recency);
}

static void save(bool (*by)(struct sink *out)) {
    struct buffer_sink out;
    buffer_clear(&file);
    buffer_sink_init(&out, &file);
    assert_true(by(&out.sink));
    slice_source_init(&in, buffer_slice(&file));
}

/* ---- what stands next ---- */

static unsigned char next_byte(void) {
    unsigned char byte;
    assert_true(source_read(&in, &byte, 1));
    return byte;
}

static void assert_length(uint64_t wanted) {
    uint64_t length;
    assert_true(saved_read_length(&in, &length));
    assert_int_equal(length, wanted);
}

static struct slice next_text(void) {
    struct slice text;
    assert_true(saved_read_text(&in, &store, &text));
    return text;
}

static void assert_text(const char *wanted) {
    assert_true(slice_equal(next_text(), slice_of(wanted)));
}

/* NULL: whatever it is. */
static void assert_field(const char *name, const char *value) {
    assert_int_equal(next_byte(), RDB_AUX);
    assert_text(name);
    if (value)
        assert_text(value);
    else
        (void)next_text();
}

static void assert_head(const char *preamble) {
    assert_memory_equal(source_take(&in, 9), "REDIS0009", 9);
    assert_field("redis-ver", REDIS_VERSION);
    assert_field("redis-bits", "64");
    assert_field("ctime", "1750000000");
    assert_field("used-mem", NULL);
    assert_field("aof-preamble", preamble);
}

static void assert_database(uint64_t number, uint64_t keys, uint64_t with_deadline) {
    assert_int_equal(next_byte(), RDB_DATABASE);
    assert_length(number);
    assert_int_equal(next_byte(), RDB_SIZES);
    assert_length(keys);
    assert_length(with_deadline);
}

/* What stands before a key, in any order: its deadline, and, with RDB_IDLE or RDB_FREQUENCY, what
 * eviction knows of it. */
static void assert_marks(int64_t deadline, enum rdb_mark recency, uint64_t number) {
    for (unsigned marks = recency ? 2 : 1; marks > 0; marks--) {
        uint64_t found;
        unsigned char mark = next_byte();
        if (mark == RDB_DEADLINE_MSEC) {
            assert_true(saved_read_number(&in, 8, &found));
            assert_int_equal(found, deadline);
        } else {
            assert_int_equal(mark, recency);
            assert_true(mark == RDB_IDLE ? saved_read_length(&in, &found)
                                         : saved_read_number(&in, 1, &found));
            assert_int_equal(found, number);
        }
    }
}

static void assert_deadline(int64_t wanted) { assert_marks(wanted, 0, 0); }

static void assert_string(const char *name, const char *text) {
    assert_int_equal(next_byte(), SAVED_STRING);
    assert_text(name);
    assert_text(text);
}

static void assert_end(void) {
    uint64_t sum;
    size_t before = file.length - 8;
    assert_int_equal(next_byte(), RDB_END);
    assert_int_equal(source_offset(&in), before);
    assert_true(saved_read_number(&in, 8, &sum));
    assert_int_equal(sum, rdb_checksums() ? checksum_crc64(0, file.bytes, before) : 0);
}

/* ---- tests ---- */

static void test_nothing(void **state) {
    save(rdb_save);
    assert_head("0");
    assert_end();
    save(rdb_save_preamble);
    assert_head("1");
    assert_end();
}

/* As at the start: it is not to be changed later. */
static void set_checksum(const char *value) {
    char reason[OPTION_REASON_BYTES];
    const struct slice word = slice_of(value);
    assert_true(option_set(option_find(SLICE("rdbchecksum")), &word, 1, OPTION_FROM_FILE, reason,
                           sizeof(reason)));
}

static void test_without_a_checksum(void **state) {
    set_checksum("no");
    assert_false(rdb_checksums());
    save(rdb_save);
    assert_head("0");
    assert_end();
    set_checksum("yes");
}

static void test_databases(void **state) {
    put(9, SLICE("a"), SLICE("1"), ENTRY_NO_DEADLINE, 0);
    put(0, SLICE("b"), SLICE("text"), NOW_MSEC + 5, 0);
    put(4, SLICE("gone"), SLICE(""), ENTRY_NO_DEADLINE, 0);
    told_flush(keyspace_at(4)); /* it has a table, and no key */
    assert_int_equal(rdb_keys_total(), 2);
    save(rdb_save);
    assert_head("0");
    assert_database(0, 1, 1);
    assert_deadline(NOW_MSEC + 5);
    assert_string("b", "text");
    assert_database(9, 1, 0);
    assert_string("a", "1");
    assert_end();
}

static void test_recency(void **state) {
    option_set_text("maxmemory-policy", "allkeys-lru");
    put(0, SLICE("k"), SLICE("v"), NOW_MSEC + 1, recency_of_idle(300));
    save(rdb_save);
    assert_head("0");
    assert_database(0, 1, 1);
    assert_marks(NOW_MSEC + 1, RDB_IDLE, 300);
    assert_string("k", "v");
    assert_end();
    option_set_text("maxmemory-policy", "volatile-lfu");
    put(0, SLICE("k"), SLICE("v"), NOW_MSEC + 1, recency_of_frequency(7));
    save(rdb_save);
    assert_head("0");
    assert_database(0, 1, 1);
    assert_marks(NOW_MSEC + 1, RDB_FREQUENCY, 7);
    assert_string("k", "v");
    assert_end();
    option_set_text("maxmemory-policy", "noeviction");
}

/* A key of any length, and a value that is more than a block of the pipeline. */
static void test_long(void **state) {
    struct buffer text;
    buffer_init(&text, MEMORY_OTHER);
    for (unsigned i = 0; i < 400000; i++) buffer_append_char(&text, (char)('a' + i * i % 23));
    for (size_t length = 4000; length < 4200; length += 7)
        put(0, (struct slice){text.bytes, length}, SLICE("v"), ENTRY_NO_DEADLINE, 0);
    put(0, buffer_slice(&text), buffer_slice(&text), ENTRY_NO_DEADLINE, 0);
    for (unsigned threads = 0; threads < 3; threads++) {
        char digit[] = {(char)('0' + threads), '\0'};
        size_t keys = keyspace_count(keyspace_at(0)), longest = 0;
        option_set_text("snapshot-threads", digit);
        save(rdb_save);
        assert_head("0");
        assert_database(0, keys, 0);
        for (; keys > 0; keys--) {
            assert_int_equal(next_byte(), SAVED_STRING);
            struct slice name = next_text();
            bool is_longest = name.length == text.length;
            assert_memory_equal(name.bytes, text.bytes, name.length);
            longest += is_longest;
            assert_true(slice_equal(next_text(), is_longest ? buffer_slice(&text) : SLICE("v")));
        }
        assert_int_equal(longest, 1);
        assert_end();
    }
    option_set_text("snapshot-threads", "1");
    buffer_free(&text);
}

/* A key whose time is over is not saved; a replica keeps it, and saves it. */
static void test_due(void **state) {
    put(0, SLICE("due"), SLICE("v"), NOW_MSEC + 10, 0);
    put(0, SLICE("k"), SLICE("v"), ENTRY_NO_DEADLINE, 0);
    clock_advance_usec(20000);
    clock_refresh();
    save(rdb_save);
    assert_null(strstr(file.bytes + 100, "due"));
    keyspace_hold_expiry(&primary_says, true);
    told_flush(keyspace_at(0));
    put(0, SLICE("due"), SLICE("v"), NOW_MSEC + 10, 0);
    save(rdb_save);
    assert_head("0");
    assert_database(0, 1, 1);
    assert_deadline(NOW_MSEC + 10);
    assert_string("due", "v");
    assert_end();
    keyspace_hold_expiry(&primary_says, false);
}

/* ---- sinks that fail ---- */

static size_t room_left;
static char room_window[64];

static bool take_some(struct sink *s, const void *more, size_t length) {
    size_t bytes = sink_window(s).length + length;
    sink_set_window(s, room_window, sizeof(room_window));
    errno = ENOSPC;
    if (bytes > room_left) return false;
    room_left -= bytes;
    return true;
}

static void test_no_room(void **state) {
    static const struct sink_type type = {.drain = take_some};
    for (unsigned i = 0; i < 300; i++) {
        char name[16];
        size_t length = (size_t)snprintf(name, sizeof(name), "key:%u", i);
        put((int)i % 3, (struct slice){name, length}, SLICE("value"), ENTRY_NO_DEADLINE, 0);
    }
    save(rdb_save);
    size_t used = memory_used(MEMORY_OTHER);
    for (size_t room = 0; room <= file.length; room += room + 97 < file.length ? 97 : 1) {
        struct sink out;
        room_left = room;
        sink_init(&out, &type, room_window, sizeof(room_window));
        assert_int_equal(rdb_save(&out), room == file.length);
        assert_int_equal(sink_error(&out), room == file.length ? 0 : ENOSPC);
        assert_int_equal(memory_used(MEMORY_OTHER), used);
    }
}

static int begin(void **state) {
    rdb_fields_set(NULL);
    return whole_begin(state);
}

static int open(void **state) { return whole_open(); }

static int close_all(void **state) {
    buffer_free(&file);
    buffer_free(&store);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, whole_nothing_left)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_nothing),   TEST(test_without_a_checksum),
        TEST(test_databases), TEST(test_recency),
        TEST(test_long),      TEST(test_due),
        TEST(test_no_room),
    };
    return cmocka_run_group_tests(tests, open, close_all);
}
