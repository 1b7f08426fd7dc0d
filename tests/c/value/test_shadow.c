/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of value/shadow: large values that are saved in steps while their members change, come and
 * go. What the file has must be the value of the moment at which the shadow was opened.
 *
 * SEED=n runs the same random choices again; each run prints its seed.
 */
#include "value/shadow.h"

#include "ds/table.h"
#include "value/hash.h"
#include "value/rewritten.h"
#include "value/saved.h"
#include "value/set.h"
#include "value/types.h"
#include "value/values.h"
#include "value/zset.h"

#ifdef EVENKEEL_SANITIZER
#define ROUNDS 15
#else
#define ROUNDS 60
#endif
#define MEMBERS 1200 /* names that members are drawn from: more than any small form holds */
#define LONG_TEXT 400
#define LARGE_TEXT 20000 /* such members are visited one by one */

static const enum value_kind kinds[] = {VALUE_HASH, VALUE_SET, VALUE_ZSET};

/* ---- values, and their changes ---- */

static char member_name[32], text_bytes[LARGE_TEXT];
static size_t longest_text = LONG_TEXT;

static struct slice any_member(void) {
    char *name = member_name;
    int length = snprintf(name, sizeof(member_name), "member:%u", (unsigned)random_below(MEMBERS));
    return (struct slice){name, (size_t)length};
}

static struct slice any_text(void) {
    size_t length = random_below(random_below(5) && longest_text == LONG_TEXT ? 20 : longest_text);
    memset(text_bytes, 'a' + (int)random_below(26), length);
    return (struct slice){text_bytes, length};
}

static void change_member(enum value_kind kind, struct value *v) {
    bool goes = random_below(3) == 0;
    switch (kind) {
    case VALUE_HASH:
        if (goes)
            hash_delete(v, any_member());
        else
            hash_set(v, any_member(), any_text());
        break;
    case VALUE_SET:
        if (goes)
            set_remove(v, any_member());
        else
            set_add(v, any_member());
        break;
    default:
        if (goes)
            zset_remove(v, any_member());
        else
            zset_set(v, any_member(), (double)random_below(50) / 4);
    }
}

static void remove_many(enum value_kind kind, struct value *v) {
    if (kind == VALUE_ZSET) {
        size_t count = zset_count(*v) / 3;
        zset_remove_span(v, (struct zset_span){random_below(zset_count(*v) - count + 1), count});
        return;
    }
    for (int i = 0; i < MEMBERS; i++)
        if (kind == VALUE_HASH)
            hash_delete(v, any_member());
        else
            set_remove(v, any_member());
}

static void change(enum value_kind kind, struct value *v) {
    for (size_t n = random_below(random_below(10) ? 10 : 300); n; n--) change_member(kind, v);
    if (random_below(30) == 0 && value_type(kind)->count(*v)) remove_many(kind, v);
}

static struct value make(enum value_kind kind) {
    longest_text = random_below(3) ? LONG_TEXT : LARGE_TEXT;
    struct value v = kind == VALUE_HASH  ? hash_create()
                     : kind == VALUE_SET ? set_create()
                                         : zset_create();
    while (value_type(kind)->count(v) < MEMBERS / 2) change_member(kind, &v);
    assert_true(shadow_is_possible(kind, v));
    return v;
}

static void close_shadow(enum value_kind kind, struct value v) {
    struct shadow *s = shadow_take(kind, v);
    if (s) shadow_free(s);
}

/* ---- saving ---- */

static void load(enum value_kind kind, const struct buffer *bytes, struct value *out) {
    struct source in;
    struct buffer store;
    buffer_init(&store, MEMORY_OTHER);
    slice_source_init(&in, buffer_slice(bytes));
    unsigned form = value_type(kind)->form(*out);
    assert_int_equal(value_type(kind)->load(form, SLICE(""), &in, &store, out), VALUE_LOADED);
    buffer_free(&store);
}

/* A value is saved in steps, between which it changes; the shadow is opened at the moment, or, as
 * by somebody's first change, a while before the first step. */
static void test_saved(void **state) {
    for (int round = 0; round < ROUNDS; round++) {
        enum value_kind kind = kinds[round % 3];
        struct value v = make(kind), loaded = v;
        unsigned char digest[SHA1_BYTES], found[SHA1_BYTES];
        struct buffer bytes;
        struct buffer_sink out;
        size_t saves_before = memory_used(MEMORY_SAVES);
        buffer_init(&bytes, MEMORY_OTHER);
        buffer_sink_init(&out, &bytes);
        digest_of(kind, v, digest);
        shadow_open(kind, v);
        shadow_open(kind, v);
        for (size_t n = random_below(5); n; n--) change(kind, &v);
        struct save_cursor c = {.shadow = shadow_of(kind, v)};
        assert_non_null(c.shadow);
        table_rest((struct table *)(uintptr_t)value_type(kind)->table(v));
        do {
            change(kind, &v);
            c.budget = 1 + random_below(random_below(4) ? 30 : 5000);
        } while (!value_type(kind)->save(v, &c, &out.sink));
        buffer_sink_end(&out);
        table_rest(NULL);
        save_cursor_end(&c);
        assert_true(shadow_bytes() > 0);
        close_shadow(kind, v);
        close_shadow(kind, v);
        assert_null(shadow_of(kind, v));
        assert_int_equal(shadow_bytes(), 0);
        assert_true(memory_used(MEMORY_SAVES) <= saves_before + 4096); /* the table of shadows */
        change(kind, &v);
        load(kind, &bytes, &loaded);
        digest_of(kind, loaded, found);
        assert_memory_equal(found, digest, SHA1_BYTES);
        value_type(kind)->release(loaded);
        value_type(kind)->release(v);
        buffer_free(&bytes);
    }
}

/* ---- visiting ---- */

struct seen {
    struct value *rest; /* a copy of the moment's value, of which what is seen is taken away */
    enum value_kind kind;
    size_t count;
};

static void see(struct value_texts member, void *context) {
    struct seen *seen = context;
    struct listpack_value text;
    char scratch[LISTPACK_SCRATCH];
    double score;
    seen->count++;
    switch (seen->kind) {
    case VALUE_HASH:
        assert_true(hash_get(*seen->rest, member.first, &text));
        assert_true(slice_equal(listpack_value_text(&text, scratch), member.second));
        assert_true(hash_delete(seen->rest, member.first));
        break;
    case VALUE_SET: assert_true(set_remove(seen->rest, member.first)); break;
    default:
        assert_true(zset_score(*seen->rest, member.first, &score));
        assert_memory_equal(&score, member.second.bytes, sizeof(score));
        assert_true(zset_remove(seen->rest, member.first));
    }
}

/* Each member of the moment comes once, as it was, and no other. */
static void test_visited(void **state) {
    for (int round = 0; round < ROUNDS; round++) {
        enum value_kind kind = kinds[round % 3];
        struct value v = make(kind), rest = value_type(kind)->copy(v, SLICE(""), SLICE(""));
        struct seen seen = {&rest, kind, 0};
        size_t count = value_type(kind)->count(v);
        shadow_open(kind, v);
        struct shadow *s = shadow_of(kind, v);
        table_rest((struct table *)(uintptr_t)value_type(kind)->table(v));
        size_t budget;
        do {
            change(kind, &v);
            budget = 1 + random_below(300);
        } while (!shadow_step(s, &budget, see, &seen));
        table_rest(NULL);
        assert_int_equal(shadow_count(s), count);
        assert_int_equal(seen.count, count);
        assert_int_equal(value_type(kind)->count(rest), 0);
        close_shadow(kind, v);
        value_type(kind)->release(rest);
        value_type(kind)->release(v);
    }
}

static void count_visits(struct value_texts member, void *count) { ++*(size_t *)count; }

/* A member is noted once, and none is when all have been visited. */
static void test_noted_once(void **state) {
    size_t visits = 0;
    struct value v = make(VALUE_HASH);
    struct slice member = any_member();
    shadow_open(VALUE_HASH, v);
    struct shadow *s = shadow_of(VALUE_HASH, v);
    size_t bytes = shadow_bytes();
    hash_set(&v, member, SLICE("one"));
    assert_true(shadow_bytes() > bytes);
    bytes = shadow_bytes();
    hash_set(&v, member, SLICE("two"));
    hash_delete(&v, member);
    hash_set(&v, member, SLICE("three"));
    assert_int_equal(shadow_bytes(), bytes);
    size_t budget = SIZE_MAX;
    assert_true(shadow_step(s, &budget, count_visits, &visits));
    assert_int_equal(visits, shadow_count(s));
    for (int i = 0; i < MEMBERS; i++) change_member(VALUE_HASH, &v);
    assert_int_equal(shadow_bytes(), bytes);
    close_shadow(VALUE_HASH, v);
    value_type(VALUE_HASH)->release(v);
}

/* The table of what is noted may grow between two notes: its splits are put off while a child
 * saves. */
static void test_bytes_after_growth(void **state) {
    struct value v = make(VALUE_SET);
    table_set_resize(TABLE_RESIZE_AVOID);
    shadow_open(VALUE_SET, v);
    for (int i = 0; i < MEMBERS; i++) set_remove(&v, any_member());
    size_t bytes = memory_used(MEMORY_SAVES);
    table_set_resize(TABLE_RESIZE_FREE);
    assert_true(table_pay_owed(SIZE_MAX) > 0 && memory_used(MEMORY_SAVES) > bytes);
    close_shadow(VALUE_SET, v);
    assert_int_equal(shadow_bytes(), 0);
    set_free(v);
}

#define STEP_WEIGHT 128
#define FIELD_BYTES 100000

static char field_bytes[FIELD_BYTES];

/* Saves v's shadow in steps, to which all bytes go at once. Returns their number; *most is set to
 * the bytes of the largest. */
static size_t count_steps(enum value_kind kind, struct value v, bool as_commands, size_t *most) {
    struct save_cursor c = {.shadow = shadow_of(kind, v)};
    struct buffer bytes;
    struct buffer_sink out;
    size_t steps = 0;
    uint64_t before;
    bool all;
    buffer_init(&bytes, MEMORY_OTHER);
    buffer_sink_init(&out, &bytes);
    table_rest((struct table *)(uintptr_t)value_type(kind)->table(v));
    *most = 0;
    do {
        before = sink_written(&out.sink);
        c.budget = STEP_WEIGHT;
        all = as_commands ? value_type(kind)->rewrite(v, SLICE("key"), &c, &out.sink)
                          : value_type(kind)->save(v, &c, &out.sink);
        if (sink_written(&out.sink) - before > *most) *most = sink_written(&out.sink) - before;
        steps++;
    } while (!all);
    table_rest(NULL);
    buffer_sink_end(&out);
    buffer_free(&bytes);
    return steps;
}

/* A step ends behind the member with which it has its weight of bytes: few members of many bytes
 * are no step. Members that agree in many bits of their hashes come together. */
static void test_step_counts_bytes(void **state) {
    size_t most;
    for (size_t i = 0; i < FIELD_BYTES; i++) field_bytes[i] = (char)random_u64();
    for (int as_commands = 0; as_commands < 2; as_commands++) {
        struct value v = hash_create();
        for (int i = 0; i < 100; i++) {
            memcpy(field_bytes, &i, sizeof(i));
            hash_set(&v, (struct slice){(char *)&i, sizeof(i)},
                     (struct slice){field_bytes, FIELD_BYTES});
        }
        shadow_open(VALUE_HASH, v);
        assert_true(count_steps(VALUE_HASH, v, as_commands, &most) > 50);
        assert_true(most < 4 * FIELD_BYTES);
        close_shadow(VALUE_HASH, v);
        hash_free(v);
    }
}

/* Members that are passed over count, too: those that have changed since, and those that are new.
 */
static void test_step_counts_what_it_passes(void **state) {
    enum { COUNT = 20000 };
    size_t most;
    struct value v = set_create();
    set_add(&v, SLICE("text"));
    for (int i = 0; i < COUNT; i++) set_add(&v, (struct slice){(char *)&i, sizeof(i)});
    shadow_open(VALUE_SET, v);
    for (int i = 0; i < COUNT; i++) set_remove(&v, (struct slice){(char *)&i, sizeof(i)});
    for (int i = COUNT; i < 2 * COUNT; i++) set_add(&v, (struct slice){(char *)&i, sizeof(i)});
    /* The new ones in the table, both in what is noted. */
    assert_true(count_steps(VALUE_SET, v, false, &most) >= 3 * COUNT / STEP_WEIGHT / 2);
    close_shadow(VALUE_SET, v);
    set_free(v);
}

/* New members are passed over twice, in the table and in what is noted: twice the steps of members
 * that are there and are visited once. */
static void test_new_members_cost_a_visit(void **state) {
    enum { COUNT = 20000 };
    size_t most, steps[2];
    for (int are_new = 0; are_new < 2; are_new++) {
        struct value v = set_create();
        set_add(&v, SLICE("text"));
        if (are_new) shadow_open(VALUE_SET, v);
        for (int i = 0; i < COUNT; i++) set_add(&v, (struct slice){(char *)&i, sizeof(i)});
        if (!are_new) shadow_open(VALUE_SET, v);
        steps[are_new] = count_steps(VALUE_SET, v, false, &most);
        close_shadow(VALUE_SET, v);
        set_free(v);
    }
    assert_true(steps[1] >= steps[0] * 3 / 2);
}

/* Small forms have none, and lists never. */
static void test_possible(void **state) {
    struct value hash = hash_create(), set = set_create();
    assert_false(shadow_is_possible(VALUE_HASH, hash));
    assert_false(shadow_is_possible(VALUE_SET, set));
    assert_null(shadow_of(VALUE_HASH, hash));
    close_shadow(VALUE_HASH, hash);
    hash_free(hash);
    set_free(set);
}

/* As commands: each has its members in full, and all are there. */
static void test_rewritten(void **state) {
    struct value v = make(VALUE_SET);
    size_t count = set_count(v), commands = 0, words = 0;
    struct buffer bytes;
    struct buffer_sink out;
    buffer_init(&bytes, MEMORY_OTHER);
    buffer_sink_init(&out, &bytes);
    shadow_open(VALUE_SET, v);
    struct save_cursor c = {.shadow = shadow_of(VALUE_SET, v)};
    table_rest((struct table *)(uintptr_t)value_type(VALUE_SET)->table(v));
    do {
        change(VALUE_SET, &v);
        c.budget = 1 + random_below(200);
    } while (!value_type(VALUE_SET)->rewrite(v, SLICE("key"), &c, &out.sink));
    table_rest(NULL);
    buffer_sink_end(&out);
    close_shadow(VALUE_SET, v);
    for (size_t i = 0; i < bytes.length; i++) {
        if (bytes.bytes[i] == '$') words++;
        if (bytes.bytes[i] != '*') continue;
        commands++;
        words -= 2; /* SADD and the key */
    }
    assert_int_equal(words, count);
    assert_int_equal(commands, (count + REWRITTEN_MEMBERS_MAX - 1) / REWRITTEN_MEMBERS_MAX);
    buffer_free(&bytes);
    set_free(v);
}

int main(void) {
    value_register();
    const struct CMUnitTest tests[] = {
        TEST(test_saved),
        TEST(test_visited),
        TEST(test_noted_once),
        TEST(test_rewritten),
        TEST(test_possible),
        TEST(test_bytes_after_growth),
        TEST(test_step_counts_bytes),
        TEST(test_step_counts_what_it_passes),
        TEST(test_new_members_cost_a_visit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
