/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of replication/saved_history: what a snapshot says of its history, and what of it is taken.
 */
#include "replication/saved_history.h"

#include "server/whole.h"

#include "base/stream.h"
#include "exec/effects.h"
#include "rdb/rdb_fields.h"
#include "rdb/rdb_load.h"
#include "rdb/rdb_save.h"
#include "replication/stream.h"
#include "script/script.h"

static const char id[] = "0123456789abcdef0123456789abcdef01234567";
static struct buffer file = {.class = MEMORY_OTHER};
static struct saved_history found;

static void save(void) {
    struct buffer_sink out;
    buffer_clear(&file);
    buffer_sink_init(&out, &file);
    assert_true(rdb_save(&out.sink));
}

static bool load(void) {
    struct source in;
    struct rdb_loaded result;
    slice_source_init(&in, buffer_slice(&file));
    saved_history_forget();
    assert_true(rdb_load(&in, &(struct rdb_loading){.replaces = true}, &result));
    return saved_history_of_file(&found);
}

static bool has(const char *text) { return memmem(file.bytes, file.length, text, strlen(text)); }

static void test_none_without_a_history(void **state) {
    char reason[100];
    assert_true(script_add(SLICE("return 1"), reason, sizeof(reason)));
    save();
    assert_false(has("repl-"));
    assert_false(has("lua"));
    assert_false(load());
}

static void test_there_and_back(void **state) {
    char reason[100];
    history_adopt(id, 5000);
    stream_open();
    struct peer p = peer_connect();
    peer_send(&p, SLICE("SELECT 3\r\nSET a 1\r\n"));
    assert_true(script_add(SLICE("return 'kept'"), reason, sizeof(reason)));
    save();
    assert_true(has("lua\rreturn 'kept'"));
    script_flush(false);
    assert_true(load());
    assert_string_equal(found.id, id);
    assert_int_equal(found.database, 3);
    assert_int_equal(found.place, history_place());
    assert_true(found.place > 5000);
    save();
    assert_true(has("lua\rreturn 'kept'"));
    peer_close(&p);
    stream_close();
}

static const struct {
    const char *database, *id, *place;
    bool good;
} files[] = {
    {"0", id, "0", true},   {"15", id, "4611686018427387903", true},
    {"-1", id, "5", false}, {"x", id, "5", false},
    {"16", id, "5", false}, {"0", "short", "5", false},
    {"0", id, "-1", false}, {"0", "0123456789abcdef0123456789abcdef0123456!", "5", false},
    {"0", id, "", false},   {"0", id, "4611686018427387904", false},
};

/* Whatever else stands there is as if it did not. */
static void test_nonsense(void **state) {
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        struct buffer_sink out;
        buffer_clear(&file);
        buffer_sink_init(&out, &file);
        sink_write(&out.sink, "REDIS0009", 9);
        rdb_field_write(&out.sink, "repl-stream-db", slice_of(files[i].database));
        rdb_field_write(&out.sink, "repl-id", slice_of(files[i].id));
        rdb_field_write(&out.sink, "repl-offset", slice_of(files[i].place));
        sink_write(&out.sink, "\xff\0\0\0\0\0\0\0\0", 9);
        assert_true(sink_flush(&out.sink));
        assert_int_equal(load(), files[i].good);
    }
}

static int open_all(void **state) { return whole_open(); }

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, whole_begin, whole_nothing_left)
        TEST(test_none_without_a_history),
        TEST(test_there_and_back),
        TEST(test_nonsense),
    };
    return cmocka_run_group_tests(tests, open_all, NULL);
}
