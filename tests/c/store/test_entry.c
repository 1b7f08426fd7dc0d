/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of store/entry: each layout (short and long keys, values inline, in a block and as an
 * integer, with and without a deadline), overwriting in place, and accounting to the byte.
 *
 * SEED=n runs the same random choices again; each run prints its seed.
 */
#include "store/entry.h"

#include "base/seed.h"
#include "value/rewritten.h"
#include "value/saved.h"
#include "value/types.h"

static const size_t key_lengths[] = {0, 1, 7, 254, 255, 256, 70000};
static const size_t value_lengths[] = {
    0, 1, 20, 44, 45, 1000, ENTRY_INLINE_VALUE_MAX, ENTRY_INLINE_VALUE_MAX + 1, 100000};
static const int64_t integers[] = {0,
                                   1,
                                   -1,
                                   INT8_MAX,
                                   INT8_MIN,
                                   128,
                                   -129,
                                   INT16_MAX,
                                   INT16_MIN,
                                   32768,
                                   -32769,
                                   INT32_MAX,
                                   INT32_MIN,
                                   INT64_C(2147483648),
                                   INT64_C(-2147483649),
                                   INT64_MAX,
                                   INT64_MIN};
static const int64_t deadlines[] = {ENTRY_NO_DEADLINE,     0, -1, INT64_MAX, INT64_MIN + 1,
                                    INT64_C(1750000000000)};
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static char bytes[200000]; /* random, of which keys and values are cut */
static size_t used_before;

/* A value as the test knows it. */
struct form {
    bool integer;
    int64_t number;
    struct slice text;
    bool handed_over; /* in a block of its own */
    bool raw;
};

static struct slice cut(size_t length) {
    return (struct slice){bytes + random_below(sizeof(bytes) - length), length};
}

static struct form form_at(size_t index) {
    if (index < COUNT(integers)) return (struct form){.integer = true, .number = integers[index]};
    index -= COUNT(integers);
    size_t length = value_lengths[index % COUNT(value_lengths)];
    return (struct form){.text = cut(length),
                         .handed_over = index / COUNT(value_lengths) == 1,
                         .raw = index / COUNT(value_lengths) == 2};
}
#define FORMS (COUNT(integers) + 3 * COUNT(value_lengths))

static struct string_value value_of(const struct form *form) {
    if (form->integer) return string_value_of_integer(form->number);
    struct string_value v =
        form->raw ? string_value_raw(form->text) : string_value_of_text(form->text);
    if (!form->handed_over) return v;
    v = string_value_raw(form->text);
    v.blob = blob_create(form->text.length + 100, MEMORY_DATASET);
    v.blob->length = form->text.length;
    memcpy(v.blob->bytes, form->text.bytes, form->text.length);
    return v;
}

static void check_value(const struct entry *e, const struct form *form) {
    char scratch[ENTRY_STRING_SCRATCH], wanted[ENTRY_STRING_SCRATCH];
    struct slice text = form->text;
    int64_t number;
    if (form->integer) {
        text = (struct slice){wanted, number_format_int64(wanted, form->number)};
        assert_int_equal(e->encoding, STRING_INT);
        assert_int_equal(entry_integer(e), form->number);
        assert_true(entry_string_to_int64(e, &number));
        assert_int_equal(number, form->number);
        assert_string_equal(entry_encoding_name(e), "int");
    } else {
        bool raw = form->raw || form->handed_over || text.length > STRING_EMBSTR_MAX;
        if (e->encoding != STRING_INT) /* random bytes may be a number */
            assert_string_equal(entry_encoding_name(e), raw ? "raw" : "embstr");
        bool own_block = form->handed_over || text.length > ENTRY_INLINE_VALUE_MAX;
        assert_int_equal((e->flags & ENTRY_BLOB) != 0, own_block);
    }
    assert_string_equal(entry_type_name(e), "string");
    assert_true(slice_equal(entry_string(e, scratch), text));
}

static void check_entry(const struct entry *e, struct slice key, const struct form *form,
                        int64_t deadline) {
    assert_true(slice_equal(entry_key(e), key));
    assert_int_equal(entry_deadline(e), deadline);
    assert_int_equal(entry_has_deadline(e), deadline != ENTRY_NO_DEADLINE);
    assert_int_equal(e->recency, 0x123456);
    if (deadline != ENTRY_NO_DEADLINE) assert_int_equal(entry_reference(e), 0xfedcba98);
    check_value(e, form);
    assert_int_equal(memory_used(MEMORY_DATASET) - used_before, entry_bytes(e));
}

static struct entry *make(struct slice key, const struct form *form, int64_t deadline) {
    struct string_value v = value_of(form);
    struct entry *e = entry_create(key, &v, deadline, 0xff123456);
    if (deadline != ENTRY_NO_DEADLINE) entry_set_reference(e, 0xfedcba98);
    return e;
}

static void drop(struct entry *e) {
    entry_free(e);
    assert_int_equal(memory_used(MEMORY_DATASET), used_before);
}

/* ---- Layouts ---- */

static void test_layouts(void **state) {
    for (size_t k = 0; k < COUNT(key_lengths); k++) {
        struct slice key = cut(key_lengths[k]);
        for (size_t d = 0; d < COUNT(deadlines); d++) {
            for (size_t i = 0; i < FORMS; i++) {
                struct form form = form_at(i);
                struct entry *e = make(key, &form, deadlines[d]);
                check_entry(e, key, &form, deadlines[d]);
                drop(e);
            }
        }
    }
}

/* An empty text may come without an address. */
static void test_empty_without_address(void **state) {
    struct form form = {.raw = true};
    struct entry *e = make((struct slice){NULL, 0}, &form, ENTRY_NO_DEADLINE);
    check_entry(e, SLICE(""), &form, ENTRY_NO_DEADLINE);
    assert_int_equal(entry_bytes(e), memory_good_size(sizeof(struct entry)));
    drop(e);
}

static void test_integers_are_narrow(void **state) {
    static const struct {
        int64_t number;
        unsigned width;
    } widths[] = {{0, 1},
                  {-128, 1},
                  {127, 1},
                  {128, 2},
                  {-129, 2},
                  {32767, 2},
                  {32768, 4},
                  {-32769, 4},
                  {INT32_MAX, 4},
                  {INT32_MIN, 4},
                  {INT64_C(1) << 31, 8},
                  {INT64_MAX, 8},
                  {INT64_MIN, 8}};
    for (size_t i = 0; i < COUNT(widths); i++) {
        struct form form = {.integer = true, .number = widths[i].number};
        struct entry *e = make(SLICE("key"), &form, ENTRY_NO_DEADLINE);
        assert_int_equal(e->value_length, widths[i].width);
        drop(e);
    }
}

/* ---- What SET makes of a text ---- */

static void check_encoding(struct slice text, const char *name) {
    struct string_value v = string_value_of_text(text);
    struct entry *e = entry_create(SLICE("key"), &v, ENTRY_NO_DEADLINE, 0);
    char scratch[ENTRY_STRING_SCRATCH];
    assert_string_equal(entry_encoding_name(e), name);
    assert_true(slice_equal(entry_string(e, scratch), text));
    drop(e);
}

static void test_encodings(void **state) {
    static const char *const numbers[] = {"0", "-1", "12", "9223372036854775807",
                                          "-9223372036854775808"};
    static const char *const texts[] = {"",
                                        "-0",
                                        "+1",
                                        "01",
                                        " 1",
                                        "1 ",
                                        "1.0",
                                        "abc",
                                        "-",
                                        "9223372036854775808",
                                        "-9223372036854775809",
                                        "123456789012345678901"};
    for (size_t i = 0; i < COUNT(numbers); i++) check_encoding(slice_of(numbers[i]), "int");
    for (size_t i = 0; i < COUNT(texts); i++) check_encoding(slice_of(texts[i]), "embstr");
    check_encoding((struct slice){bytes, 44}, "embstr");
    check_encoding((struct slice){bytes, 45}, "raw");
    /* A number that was appended to a text is a number to INCR all the same. */
    int64_t number;
    struct string_value v = string_value_raw(SLICE("-77"));
    struct entry *e = entry_create(SLICE("key"), &v, ENTRY_NO_DEADLINE, 0);
    assert_string_equal(entry_encoding_name(e), "raw");
    assert_true(entry_string_to_int64(e, &number));
    assert_int_equal(number, -77);
    drop(e);
    v = string_value_raw(SLICE("7x"));
    e = entry_create(SLICE("key"), &v, ENTRY_NO_DEADLINE, 0);
    assert_false(entry_string_to_int64(e, &number));
    drop(e);
}

/* ---- Changes ---- */

/* From each form to each other: in place exactly where the allocation stays the same, and a value
 * that does not fit leaves all as it was. */
static void test_overwrite(void **state) {
    size_t in_place = 0, refused = 0;
    for (size_t from = 0; from < FORMS; from++) {
        for (size_t to = 0; to < FORMS; to++) {
            struct slice key = cut(key_lengths[random_below(COUNT(key_lengths))]);
            int64_t deadline = deadlines[random_below(COUNT(deadlines))];
            struct form old = form_at(from), new = form_at(to);
            struct entry *e = make(key, &old, deadline);
            struct string_value v = value_of(&new);
            struct entry *fresh = entry_create(key, &v, deadline, 0);
            bool fits = memory_usable_size(fresh) == memory_usable_size(e);
            entry_free(fresh); /* and a block with it */
            v = value_of(&new);
            assert_int_equal(entry_try_overwrite(e, &v), fits);
            if (!fits) blob_free(v.blob, MEMORY_DATASET);
            check_entry(e, key, fits ? &new : &old, deadline);
            *(fits ? &in_place : &refused) += 1;
            drop(e);
        }
    }
    assert_true(in_place > 0 && refused > 0);
}

static void test_deadline_comes_and_goes(void **state) {
    for (size_t k = 0; k < COUNT(key_lengths); k++) {
        struct slice key = cut(key_lengths[k]);
        for (size_t i = 0; i < FORMS; i++) {
            struct form form = form_at(i);
            int64_t deadline = deadlines[random_below(COUNT(deadlines))];
            struct entry *e = make(key, &form, deadline);
            for (int change = 0; change < 8; change++) {
                bool had = entry_has_deadline(e);
                struct entry *before = e;
                deadline = random_below(2) ? ENTRY_NO_DEADLINE : deadlines[1 + random_below(5)];
                e = entry_take_with_deadline(e, deadline);
                if (had == (deadline != ENTRY_NO_DEADLINE)) assert_ptr_equal(e, before);
                if (!had && entry_has_deadline(e)) entry_set_reference(e, 0xfedcba98);
                check_entry(e, key, &form, deadline);
            }
            drop(e);
        }
    }
}

/* ---- what a type of a folder above is told ---- */

/* Each call of the type: its letter, the key, and of a copy the other key. */
static char told[256];

static void tell(char letter, struct slice key, struct slice to) {
    size_t length = strlen(told);
    snprintf(told + length, sizeof(told) - length, "%c(%.*s,%.*s)", letter, (int)key.length,
             key.bytes, (int)to.length, to.bytes);
}

static void guest_release(struct value v) {}
static struct value guest_copy(struct value v, struct slice key, struct slice to) {
    tell('c', key, to);
    return v;
}
static size_t guest_bytes(struct value v) { return 0; }
static size_t guest_free_effort(struct value v, struct slice key) {
    tell('e', key, SLICE(""));
    return 7;
}
static void guest_unlink(struct value v, struct slice key) { tell('u', key, SLICE("")); }
static unsigned guest_form(struct value v) { return SAVED_STRING; }
static bool guest_save(struct value v, struct save_cursor *c, struct sink *out) {
    tell('s', c->key, SLICE(""));
    return true;
}
static bool guest_rewrite(struct value v, struct slice key, struct save_cursor *c,
                          struct sink *out) {
    tell('w', key, SLICE(""));
    return true;
}

static void test_a_type_is_told_the_key(void **state) {
    static const struct value_type row = {.name = "guest",
                                          .release = guest_release,
                                          .copy = guest_copy,
                                          .bytes = guest_bytes,
                                          .free_effort = guest_free_effort,
                                          .unlink = guest_unlink,
                                          .form = guest_form,
                                          .save = guest_save,
                                          .rewrite = guest_rewrite};
    char block[8];
    struct buffer out;
    struct buffer_sink b;
    struct string_value room;
    unsigned kind = value_type_register(VALUE_KIND_NEXT, &row);
    assert_in_range(kind, VALUE_KIND_NEXT, VALUE_KINDS - 1);
    struct entry *e = entry_create_object(SLICE("old"), (enum entry_type)kind,
                                          (struct value){block, 0}, ENTRY_NO_DEADLINE, 0);
    told[0] = 0;
    assert_int_equal(entry_free_effort(e), 7);
    struct entry *copy = entry_dup(e, SLICE("new"), ENTRY_NO_DEADLINE, 0);
    entry_unlink(copy);
    buffer_init(&out, MEMORY_OTHER);
    buffer_sink_init(&b, &out);
    saved_write_value(&b.sink, (enum value_kind)kind, entry_value(copy, &room), entry_key(copy));
    rewritten_write_value(&b.sink, (enum value_kind)kind, entry_value(e, &room), entry_key(e));
    assert_true(saved_bytes((enum value_kind)kind, entry_value(e, &room)) == 0);
    assert_string_equal(told, "e(old,)c(old,new)u(new,)s(new,)w(old,)s(,)");
    buffer_free(&out);
    entry_free(copy);
    drop(e);
}

static int begin(void **state) {
    seed_from_environment();
    for (size_t i = 0; i < sizeof(bytes); i++) bytes[i] = (char)random_u64();
    used_before = memory_used(MEMORY_DATASET);
    return 0;
}

int main(void) {
    value_register();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layouts),
        cmocka_unit_test(test_empty_without_address),
        cmocka_unit_test(test_integers_are_narrow),
        cmocka_unit_test(test_encodings),
        cmocka_unit_test(test_overwrite),
        cmocka_unit_test(test_deadline_comes_and_goes),
        cmocka_unit_test(test_a_type_is_told_the_key),
    };
    return cmocka_run_group_tests(tests, begin, NULL);
}
