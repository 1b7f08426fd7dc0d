/* SPDX-License-Identifier: BSD-3-Clause
 * Batches: a file loads as it does without them, whatever is in it and whoever builds it; a damaged
 * one is refused with the same words, and leaves the same keys.
 *
 * SEED=n runs the same random choices again; each run prints its seed.
 */
#include "rdb/rdb_batch.h"

#include "server/whole.h"

#include "base/hash.h"
#include "base/stream.h"
#include "exec/edit.h"
#include "rdb/rdb_load.h"
#include "rdb/rdb_save.h"
#include "store/digest.h"
#include "value/hash.h"
#include "value/list.h"
#include "value/saved.h"
#include "value/set.h"
#include "value/zset.h"

#define TEXT_BYTES 64

static struct buffer file = {.class = MEMORY_OTHER};
static char window[65536];

/* ---- data ---- */

static struct slice text_of(char text[TEXT_BYTES], const char *word, size_t number) {
    return (struct slice){text, (size_t)snprintf(text, TEXT_BYTES, "%s:%zu", word, number)};
}

static struct value draw_hash(size_t members) {
    char field[TEXT_BYTES], text[TEXT_BYTES];
    struct value v = hash_create();
    for (size_t i = 0; i < members; i++)
        hash_set(&v, text_of(field, "field", i), text_of(text, "v", (size_t)random_below(1000)));
    return v;
}

static struct value draw_set(size_t members) {
    char text[TEXT_BYTES];
    struct value v = set_create();
    bool integers = random_below(2);
    for (size_t i = 0; i < members; i++) {
        size_t length = (size_t)snprintf(text, sizeof(text), integers ? "%zu" : "m%zu", 7 * i);
        set_add(&v, (struct slice){text, length});
    }
    return v;
}

static struct value draw_zset(size_t members) {
    char text[TEXT_BYTES];
    struct value v = zset_create();
    for (size_t i = 0; i < members; i++)
        zset_set(&v, text_of(text, "member", i), (double)random_below(100));
    return v;
}

static struct value draw_list(size_t members) {
    char text[TEXT_BYTES];
    struct value v = list_create();
    for (size_t i = 0; i < members; i++)
        quicklist_push(v.pointer, QUICKLIST_TAIL, text_of(text, "element", i));
    return v;
}

static struct value draw_string(struct string_value *room, struct buffer *text, size_t members) {
    buffer_clear(text);
    for (size_t i = 0; i < members; i++) buffer_printf(text, "word %d ", (int)random_below(50));
    *room = string_value_of_text(buffer_slice(text));
    return (struct value){room, 0};
}

static void put(size_t number, enum entry_type type, struct value v) {
    char name[TEXT_BYTES];
    struct keyspace *ks = keyspace_at((int)random_below(3));
    struct slice text = text_of(name, "key", number);
    struct key key = {ks, text, hash_bytes(text.bytes, text.length)};
    int64_t deadline = random_below(4) ? ENTRY_NO_DEADLINE : WHOLE_START_USEC / 1000 + 100000;
    edit_restore(&key, type, v, deadline, (unsigned)random_below(1000));
}

/* Mostly small ones; what is large does not fit into a batch. */
static void fill(size_t keys) {
    struct string_value room;
    struct buffer text;
    buffer_init(&text, MEMORY_OTHER);
    for (size_t i = 0; i < keys; i++) {
        size_t members = 1 + (size_t)random_below(random_below(50) ? 60 : 4000);
        switch (random_below(6)) {
        case 0: put(i, ENTRY_HASH, draw_hash(members)); break;
        case 1: put(i, ENTRY_SET, draw_set(members)); break;
        case 2: put(i, ENTRY_ZSET, draw_zset(members)); break;
        case 3: put(i, ENTRY_LIST, draw_list(members)); break;
        default: put(i, ENTRY_STRING, draw_string(&room, &text, members)); break;
        }
    }
    buffer_free(&text);
}

static void flush(void) {
    for (int i = 0; i < keyspace_databases(); i++) told_flush(keyspace_at(i));
}

/* Into `file`, as if without a checksum. */
static void save(void) {
    struct buffer_sink out;
    buffer_clear(&file);
    buffer_sink_init(&out, &file);
    assert_true(rdb_save(&out.sink));
    memset(file.bytes + file.length - 8, 0, 8);
}

/* ---- loading ---- */

struct outcome {
    bool good;
    uint64_t keys, empty, expired;
    unsigned char digest[SHA1_BYTES];
    struct buffer fault;
};

/* Through a window of 64 KiB, as from a file; at its ends values lie that are not all there. */
static ssize_t read_some(struct source *s, void *bytes, size_t length) {
    size_t left = file.length - s->fetched;
    if (length > left) length = left;
    memcpy(bytes, file.bytes + s->fetched, length);
    return (ssize_t)length;
}

static struct outcome load(const char *threads, bool replaces) {
    static const struct source_type type = {read_some};
    struct source in;
    struct rdb_loaded result;
    struct outcome o;
    option_set_text("snapshot-threads", threads);
    source_init(&in, &type, window, sizeof(window), file.length);
    o.good = rdb_load(&in, &(struct rdb_loading){.replaces = replaces}, &result);
    o.keys = result.keys;
    o.empty = result.empty;
    o.expired = result.expired;
    buffer_init(&o.fault, MEMORY_OTHER);
    if (!o.good) rdb_describe_fault(&result, &o.fault);
    digest_all(o.digest);
    flush();
    return o;
}

static void assert_alike(const struct outcome *a, const struct outcome *b) {
    assert_int_equal(a->good, b->good);
    if (!a->good) assert_string_equal(a->fault.bytes, b->fault.bytes);
    assert_int_equal(a->keys, b->keys);
    assert_int_equal(a->empty, b->empty);
    assert_int_equal(a->expired, b->expired);
    assert_memory_equal(a->digest, b->digest, SHA1_BYTES);
}

static bool loads_alike(bool replaces) {
    static const char *const threads[] = {"1", "4"};
    struct outcome alone = load("0", replaces);
    for (size_t i = 0; i < 2; i++) {
        struct outcome with = load(threads[i], replaces);
        assert_alike(&with, &alone);
        buffer_free(&with.fault);
    }
    buffer_free(&alone.fault);
    return alone.good;
}

static void test_loads_what_was_saved(void **state) {
    unsigned char before[SHA1_BYTES];
    for (int round = 0; round < 3; round++) {
        fill(round == 0 ? 3 : 300);
        digest_all(before);
        save();
        flush();
        struct outcome o = load("2", false);
        assert_true(o.good);
        assert_memory_equal(o.digest, before, SHA1_BYTES);
        buffer_free(&o.fault);
        assert_true(loads_alike(false));
    }
}

/* Other lengths of what is compact: what is built elsewhere becomes tables there. */
static void test_converts(void **state) {
    fill(200);
    save();
    flush();
    option_set_text("hash-max-ziplist-entries", "10");
    option_set_text("zset-max-ziplist-entries", "10");
    option_set_text("set-max-intset-entries", "10");
    assert_true(loads_alike(false));
    option_set_text("hash-max-ziplist-entries", "512");
    option_set_text("zset-max-ziplist-entries", "128");
    option_set_text("set-max-intset-entries", "512");
}

static void test_damaged_files(void **state) {
    size_t refused = 0;
    fill(60);
    save();
    flush();
    for (int round = 0; round < 60; round++) {
        size_t at = 100 + (size_t)random_below(file.length - 109);
        char was = file.bytes[at];
        file.bytes[at] ^= (char)(1 << random_below(8));
        refused += !loads_alike(false);
        file.bytes[at] = was;
    }
    assert_true(refused > 0);
    size_t whole = file.length;
    for (int round = 0; round < 15; round++) {
        file.length = (size_t)random_below(whole);
        assert_false(loads_alike(false));
    }
    file.length = whole;
}

/* Keys that stand in the file twice: the second counts, or is a fault. */
static void test_keys_twice(void **state) {
    fill(100);
    save();
    flush();
    size_t head = 9, tail = 9;
    struct buffer twice;
    buffer_init(&twice, MEMORY_OTHER);
    buffer_append(&twice, file.bytes, file.length - tail);
    buffer_append(&twice, file.bytes + head, file.length - head);
    buffer_clear(&file);
    buffer_append(&file, twice.bytes, twice.length);
    assert_true(loads_alike(true));
    assert_false(loads_alike(false));
    buffer_free(&twice);
}

/* ---- a batch ---- */

static void test_room(void **state) {
    struct rdb_batch *b = rdb_batch_create();
    assert_true(rdb_batch_has_room(b, RDB_BATCH_BYTES));
    assert_false(rdb_batch_has_room(b, RDB_BATCH_BYTES + 1));
    for (size_t i = 0; i < RDB_BATCH_KEYS; i++) {
        assert_true(rdb_batch_has_room(b, 4));
        struct rdb_batch_key *key = rdb_batch_add(b, SLICE("k"), SLICE("\3abc"));
        assert_true(slice_equal(key->name, SLICE("k")));
        key->form = SAVED_STRING;
        key->kind = VALUE_STRING;
        key->deadline = ENTRY_NO_DEADLINE;
    }
    assert_false(rdb_batch_has_room(b, 0));
    rdb_batch_build(b);
    assert_int_equal(b->keys[0].loaded, VALUE_LOADED);
    assert_int_equal(b->keys[0].hash, hash_bytes("k", 1));
    assert_true(slice_equal(entry_key(b->keys[RDB_BATCH_KEYS - 1].entry), SLICE("k")));
    rdb_batch_clear(b); /* what nobody took goes */
    assert_true(rdb_batch_has_room(b, RDB_BATCH_BYTES));
    rdb_batch_free(b);
}

static void test_what_came_of_it(void **state) {
    struct rdb_batch *b = rdb_batch_create();
    rdb_batch_add(b, SLICE("a"), SLICE("\xd"))->form = SAVED_HASH_ZIPLIST;
    rdb_batch_add(b, SLICE("b"), SLICE("\0"))->form = SAVED_HASH;
    for (size_t i = 0; i < 2; i++) b->keys[i].kind = VALUE_HASH;
    b->keys[0].bytes = SLICE("\5abcde");
    b->keys[1].bytes = (struct slice){"", 1};
    rdb_batch_build(b);
    assert_int_equal(b->keys[0].loaded, VALUE_REFUSED);
    assert_string_equal(b->keys[0].reason, "Ziplist integrity check failed");
    assert_int_equal(b->keys[1].loaded, VALUE_EMPTY);
    rdb_batch_free(b);
}

static int open(void **state) { return whole_open(); }

static int close_all(void **state) {
    buffer_free(&file);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, whole_begin, whole_nothing_left)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_loads_what_was_saved), TEST(test_converts), TEST(test_damaged_files),
        TEST(test_keys_twice),           TEST(test_room),     TEST(test_what_came_of_it),
    };
    return cmocka_run_group_tests(tests, open, close_all);
}
