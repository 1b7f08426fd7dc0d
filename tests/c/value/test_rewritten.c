/* SPDX-License-Identifier: BSD-3-Clause
 * Values as commands: their words, one command for so many members, and steps of any size, which
 * write the same bytes as the whole.
 *
 * SEED=n runs the same random choices again; each run prints its seed.
 */
#include "value/rewritten.h"

#include <math.h>

#include "base/stream.h"
#include "ds/quicklist.h"
#include "value/hash.h"
#include "value/list.h"
#include "value/saved.h"
#include "value/set.h"
#include "value/stream.h"
#include "value/string.h"
#include "value/types.h"
#include "value/values.h"
#include "value/zset.h"

#define KEY SLICE("key")

/* In steps of `budget`; the commands with blanks and '|' instead of lengths and line ends. */
static void write_in_steps(enum value_kind kind, struct value v, size_t budget,
                           struct buffer *out) {
    struct buffer_sink b;
    struct save_cursor c = {.budget = budget};
    buffer_sink_init(&b, out);
    while (!value_type(kind)->rewrite(v, KEY, &c, &b.sink)) c.budget = budget;
    assert_true(sink_flush(&b.sink));
}

static int64_t take_header(const char **at, char mark) {
    assert_int_equal(**at, mark);
    char *end;
    int64_t number = strtoll(*at + 1, &end, 10);
    assert_memory_equal(end, "\r\n", 2);
    *at = end + 2;
    return number;
}

/* The words of all commands, a blank between two, '|' behind each command. */
static void read_words(struct slice bytes, struct buffer *out) {
    const char *at = bytes.bytes, *end = at + bytes.length;
    while (at < end) {
        int64_t words = take_header(&at, '*');
        assert_true(words >= 3);
        for (int64_t i = 0; i < words; i++) {
            int64_t length = take_header(&at, '$');
            buffer_append(out, at, (size_t)length);
            buffer_append_char(out, i + 1 < words ? ' ' : '|');
            at += length;
            assert_memory_equal(at, "\r\n", 2);
            at += 2;
        }
    }
    assert_ptr_equal(at, end);
}

static void assert_words(enum value_kind kind, struct value v, const char *wanted) {
    struct buffer bytes, words;
    buffer_init(&bytes, MEMORY_OTHER);
    buffer_init(&words, MEMORY_OTHER);
    write_in_steps(kind, v, SIZE_MAX, &bytes);
    read_words(buffer_slice(&bytes), &words);
    assert_string_equal(words.bytes, wanted);
    buffer_free(&bytes);
    buffer_free(&words);
}

static void test_string(void **state) {
    struct string_value s = string_value_of_text(SLICE("a b"));
    assert_words(VALUE_STRING, (struct value){&s, s.encoding}, "SET key a b|");
    s = string_value_of_integer(-12);
    assert_words(VALUE_STRING, (struct value){&s, s.encoding}, "SET key -12|");
    s = string_value_of_text(SLICE(""));
    assert_words(VALUE_STRING, (struct value){&s, s.encoding}, "SET key |");
}

static void test_collections(void **state) {
    struct value v = list_create();
    quicklist_push(list_of(v), QUICKLIST_TAIL, SLICE("b"));
    quicklist_push(list_of(v), QUICKLIST_TAIL, SLICE("7"));
    quicklist_push(list_of(v), QUICKLIST_TAIL, SLICE(""));
    assert_words(VALUE_LIST, v, "RPUSH key b 7 |");
    value_type(VALUE_LIST)->release(v);
    v = set_create();
    set_add(&v, SLICE("3"));
    set_add(&v, SLICE("-1"));
    assert_words(VALUE_SET, v, "SADD key -1 3|");
    set_free(v);
    v = hash_create();
    hash_set(&v, SLICE("f"), SLICE("v"));
    hash_set(&v, SLICE("1"), SLICE("2"));
    assert_words(VALUE_HASH, v, "HMSET key f v 1 2|");
    hash_free(v);
    v = zset_create();
    zset_set(&v, SLICE("b"), 0.1);
    zset_set(&v, SLICE("c"), INFINITY);
    zset_set(&v, SLICE("7"), -3);
    assert_words(VALUE_ZSET, v, "ZADD key -3 7 0.10000000000000001 b inf c|");
    zset_free(v);
}

static void test_stream(void **state) {
    const struct slice pair[] = {SLICE("f"), SLICE("1")};
    struct value v = stream_create();
    assert_words(VALUE_STREAM, v, "XADD key MAXLEN 0 0-1 x y|XSETID key 0-0|");
    assert_true(stream_append(v, (struct stream_id){1, 2}, pair, 1));
    assert_true(stream_append(v, STREAM_ID_MAX, pair, 1));
    assert_words(VALUE_STREAM, v,
                 "XADD key 1-2 f 1|XADD key 18446744073709551615-18446744073709551615 f 1|"
                 "XSETID key 18446744073709551615-18446744073709551615|");
    assert_true(stream_delete(v, STREAM_ID_MAX));
    struct stream_group *g = stream_group_create(v, SLICE("g"), (struct stream_id){1, 2});
    stream_group_create(v, SLICE(""), (struct stream_id){0, 0});
    stream_consumer_create(v, g, SLICE("idle"), 1000);
    struct stream_consumer *c = stream_consumer_create(v, g, SLICE("busy"), 1000);
    struct stream_pending *p = stream_pending_assign(v, g, c, (struct stream_id){1, 2});
    p->delivered_msec = 1234;
    p->deliveries = UINT64_MAX;
    assert_words(VALUE_STREAM, v,
                 "XADD key 1-2 f 1|XSETID key 18446744073709551615-18446744073709551615|"
                 "XGROUP CREATE key  0-0|XGROUP CREATE key g 1-2|"
                 "XCLAIM key g busy 0 1-2 TIME 1234 RETRYCOUNT 9223372036854775807 JUSTID FORCE|"
                 "XGROUP CREATECONSUMER key g idle|");
    stream_free(v);
}

/* ---- steps, and commands of no more than so many members ---- */

static struct slice text_of(char text[32], size_t number) {
    bool is_long = number % 7 == 0;
    return (struct slice){
        text, (size_t)snprintf(text, 32, is_long ? "a longer member:%zu" : "%zu", number)};
}

static void fill_stream(struct value v, size_t members) {
    char text[32];
    for (size_t i = 1; i <= members; i++) {
        struct slice texts[] = {SLICE("field"), text_of(text, i)};
        assert_true(stream_append(v, (struct stream_id){i, i % 3}, texts, 1));
    }
    for (unsigned n = 0; n < 3; n++) {
        struct stream_group *g =
            stream_group_create(v, (struct slice){"ab", n}, (struct stream_id){n, 0});
        for (unsigned k = 0; k < 2 * n; k++) {
            struct stream_consumer *c =
                stream_consumer_create(v, g, (struct slice){&"abcd"[k], 1}, 1000 + k);
            for (size_t i = 1 + k; k % 2 && i <= members; i += 5)
                stream_pending_assign(v, g, c, (struct stream_id){i, i % 3});
        }
    }
}

static struct value make(enum value_kind kind, size_t members) {
    struct value v = kind == VALUE_LIST   ? list_create()
                     : kind == VALUE_SET  ? set_create()
                     : kind == VALUE_HASH ? hash_create()
                     : kind == VALUE_ZSET ? zset_create()
                                          : stream_create();
    char text[32];
    if (kind == VALUE_STREAM) fill_stream(v, members);
    for (size_t i = 0; i < members; i++) {
        struct slice member = text_of(text, i);
        if (kind == VALUE_LIST) quicklist_push(list_of(v), QUICKLIST_TAIL, member);
        if (kind == VALUE_SET) set_add(&v, member);
        if (kind == VALUE_HASH) hash_set(&v, member, member);
        if (kind == VALUE_ZSET) zset_set(&v, member, (double)(i % 50) / 3);
    }
    return v;
}

/* No command has more than 64 members, and all but a value's last have as many. */
static void check_groups(struct slice bytes, size_t members, unsigned words) {
    const char *at = bytes.bytes, *end = at + bytes.length;
    size_t done = 0;
    while (at < end) {
        size_t left = members - done;
        size_t here = left < REWRITTEN_MEMBERS_MAX ? left : REWRITTEN_MEMBERS_MAX;
        assert_int_equal(take_header(&at, '*'), 2 + here * words);
        for (size_t i = 0; i < 2 + here * words; i++) at += take_header(&at, '$') + 2;
        done += here;
    }
    assert_int_equal(done, members);
}

static void check_steps(enum value_kind kind, size_t members) {
    struct value v = make(kind, members);
    struct buffer whole, parts;
    buffer_init(&whole, MEMORY_OTHER);
    buffer_init(&parts, MEMORY_OTHER);
    write_in_steps(kind, v, SIZE_MAX, &whole);
    if (kind != VALUE_STREAM)
        check_groups(buffer_slice(&whole), members,
                     kind == VALUE_HASH || kind == VALUE_ZSET ? 2 : 1);
    for (int i = 0; i < 4; i++) {
        size_t budget = i ? 1 + random_below(members + 10) : 1;
        buffer_clear(&parts);
        write_in_steps(kind, v, budget, &parts);
        assert_int_equal(parts.length, whole.length);
        /* A table's order differs between the walk of all and that in steps: its groups do not. */
        if (kind == VALUE_LIST || kind == VALUE_ZSET || kind == VALUE_STREAM)
            assert_memory_equal(parts.bytes, whole.bytes, whole.length);
        else
            check_groups(buffer_slice(&parts), members, kind == VALUE_HASH ? 2 : 1);
    }
    buffer_free(&whole);
    buffer_free(&parts);
    value_type(kind)->release(v);
}

static void test_steps(void **state) {
    static const size_t sizes[] = {1, 2, 63, 64, 65, 128, 129, 600, 5000};
    static const enum value_kind kinds[] = {VALUE_LIST, VALUE_SET, VALUE_HASH, VALUE_ZSET,
                                            VALUE_STREAM};
    for (int depth = 0; depth < 2; depth++) {
        set_option("list-compress-depth", depth ? "1" : "0");
        for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
            for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++)
                check_steps(kinds[k], sizes[s]);
    }
}

/* A cursor that is given up leaves nothing. */
static void test_given_up(void **state) {
    struct value v = make(VALUE_STREAM, 100);
    for (size_t steps = 1; steps < 200; steps++) {
        struct buffer out;
        struct buffer_sink b;
        struct save_cursor c = {.budget = 1};
        buffer_init(&out, MEMORY_OTHER);
        buffer_sink_init(&b, &out);
        for (size_t i = 0; i < steps && !value_type(VALUE_STREAM)->rewrite(v, KEY, &c, &b.sink);
             i++)
            c.budget = 1;
        save_cursor_end(&c);
        assert_true(sink_flush(&b.sink));
        buffer_free(&out);
    }
    stream_free(v);
}

static int register_all(void **state) {
    seed_from_environment();
    value_register();
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_string), TEST(test_collections), TEST(test_stream),
        TEST(test_steps),  TEST(test_given_up),
    };
    return cmocka_run_group_tests(tests, register_all, NULL);
}
