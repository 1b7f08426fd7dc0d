/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of ds/listpack: known bytes, every encoding at its borders, a model of texts, foreign
 * bytes.
 *
 * SEED=n runs the same random choices again; each run prints its seed.
 */
#include "ds/listpack.h"

#include "base/seed.h"

#include "base/memory.h"
#include "ds/listpacks.h"

static size_t used_before;

static int setup(void **state) {
    used_before = memory_used(MEMORY_DATASET);
    return 0;
}

static int teardown(void **state) {
    assert_int_equal(memory_used(MEMORY_DATASET), used_before);
    return 0;
}

static struct slice text_at(const struct listpack *lp, uint32_t at,
                            char scratch[LISTPACK_SCRATCH]) {
    struct listpack_value v = listpack_get(lp, at);
    return listpack_value_text(&v, scratch);
}

static void assert_text(const struct listpack *lp, uint32_t at, struct slice text) {
    char scratch[LISTPACK_SCRATCH];
    assert_true(at != 0);
    assert_true(slice_equal(text_at(lp, at, scratch), text));
    assert_true(listpack_equal(lp, at, text));
}

/* ---- Known bytes ---- */

static void test_known_bytes(void **state) {
    static const uint8_t expected[] = {
        38,   0,    0,    0,    9,    0, /* bytes, elements */
        0x01, 0x01,                      /* 1 */
        0x81, 'f',  0x02,                /* "f" */
        0x80, 0x01,                      /* "" */
        0xdf, 0xff, 0x02,                /* -1 */
        0xcf, 0xff, 0x02,                /* 4095 */
        0xf1, 0x00, 0x10, 0x03,          /* 4096 */
        0xf2, 0xff, 0x7f, 0xff, 0x04,    /* -32769 */
        0xf3, 0x00, 0x00, 0x80, 0x00, 5, /* 8388608 */
        0xc0, 0x80, 0x02, 0xff           /* 128, the end */
    };
    static const int64_t integers[] = {1, 0, 0, -1, 4095, 4096, -32769, 8388608, 128};
    struct listpack *lp = listpack_create();
    for (size_t i = 0; i < 9; i++) {
        if (i == 1)
            listpack_append(&lp, SLICE("f"));
        else if (i == 2)
            listpack_append(&lp, SLICE(""));
        else
            append_integer(&lp, integers[i]);
    }
    assert_int_equal(listpack_size(lp), sizeof(expected));
    assert_memory_equal(listpack_bytes(lp), expected, sizeof(expected));
    listpack_free(lp);
}

/* What stands behind an element of text: 6.2 gives 16,383 bytes of content three bytes of length.
 */
static void test_length_behind(void **state) {
    static const struct {
        size_t text, size;
        uint8_t back[3];
    } cases[] = {
        {126, 130, {0x01, 0x80}},           {125, 128, {0x7f}},
        {16377, 16384, {0x7f, 0xfe}},       {16378, 16386, {0x00, 0xff, 0xff}},
        {16379, 16387, {0x01, 0x80, 0x80}},
    };
    char *bytes = memory_alloc(20000, MEMORY_OTHER);
    memset(bytes, 'x', 20000);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct listpack *lp = listpack_create();
        struct slice text = {bytes, cases[i].text};
        listpack_append(&lp, text);
        size_t head = cases[i].text < 4096 ? 2 : 5, back = cases[i].size - head - cases[i].text;
        assert_int_equal(listpack_element_size(text), cases[i].size);
        assert_int_equal(listpack_size(lp), LISTPACK_EMPTY_BYTES + cases[i].size);
        assert_memory_equal(listpack_bytes(lp) + LISTPACK_HEADER_BYTES + head + cases[i].text,
                            cases[i].back, back);
        append_integer(&lp, 7);
        assert_int_equal(listpack_prev(lp, listpack_last(lp)), LISTPACK_HEADER_BYTES);
        listpack_check(lp);
        listpack_free(lp);
    }
    memory_free(bytes, MEMORY_OTHER);
}

static void test_integer_borders(void **state) {
    struct listpack *lp = listpack_create();
    for (int shift = 0; shift < 64; shift++) {
        for (int off = -2; off <= 2; off++) {
            int64_t value = (int64_t)((UINT64_C(1) << shift) + (uint64_t)(int64_t)off);
            for (int sign = 0; sign < 2; sign++) {
                char digits[NUMBER_INT64_CHARS];
                struct slice text = {digits, number_format_int64(digits, value)};
                listpack_insert_before(&lp, listpack_first(lp), text);
                struct listpack_value v = listpack_get(lp, listpack_first(lp));
                assert_null(v.text.bytes);
                assert_true(v.integer == value);
                assert_text(lp, listpack_first(lp), text);
                value = (int64_t)(0 - (uint64_t)value);
            }
        }
    }
    listpack_check(lp);
    /* What looks like an integer but is not its canonical form stays a text. */
    static const char *const texts[] = {"-0", "+1", "01", " 1", "1 ", "9223372036854775808", "-"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        listpack_append(&lp, slice_of(texts[i]));
        assert_non_null(listpack_get(lp, listpack_last(lp)).text.bytes);
        assert_text(lp, listpack_last(lp), slice_of(texts[i]));
    }
    listpack_free(lp);
}

/* ---- Against a model ---- */

#define MODEL_MAX 300
#define MODEL_STEPS 60000
#define TEXT_MAX 9000

struct model {
    struct buffer texts[MODEL_MAX];
    size_t count;
};

static size_t random_length(void) {
    switch (random_below(12)) {
    case 0: return 63 + random_below(2);
    case 1: return 4090 + random_below(12);
    case 2: return 120 + random_below(10);
    default: return random_below(20);
    }
}

/* Few letters, so that equal texts are common; every third one is a number. */
static struct slice random_text(char *scratch) {
    if (random_below(3) == 0) {
        int64_t value = (int64_t)(random_u64() >> random_below(64));
        if (random_below(2)) value = (int64_t)(0 - (uint64_t)value);
        return (struct slice){scratch, number_format_int64(scratch, value)};
    }
    size_t length = random_length();
    for (size_t i = 0; i < length; i++) scratch[i] = "ab\xff\0"[random_below(4)];
    return (struct slice){scratch, length};
}

static void model_insert(struct model *m, size_t index, struct slice text) {
    memmove(&m->texts[index + 1], &m->texts[index], (m->count - index) * sizeof(m->texts[0]));
    m->count++;
    buffer_init(&m->texts[index], MEMORY_OTHER);
    buffer_append(&m->texts[index], text.bytes, text.length);
}

static void model_delete(struct model *m, size_t index, size_t count) {
    for (size_t i = index; i < index + count; i++) buffer_free(&m->texts[i]);
    memmove(&m->texts[index], &m->texts[index + count],
            (m->count - index - count) * sizeof(m->texts[0]));
    m->count -= count;
}

static void model_compare(const struct model *m, const struct listpack *lp) {
    assert_int_equal(listpack_count(lp), m->count);
    uint32_t at = listpack_first(lp);
    for (size_t i = 0; i < m->count; i++, at = listpack_next(lp, at))
        assert_text(lp, at, buffer_slice(&m->texts[i]));
    assert_int_equal(at, 0);
    at = listpack_last(lp);
    for (size_t i = m->count; i-- > 0; at = listpack_prev(lp, at))
        assert_text(lp, at, buffer_slice(&m->texts[i]));
    assert_int_equal(at, 0);
    listpack_check(lp);
}

static void model_find(const struct model *m, const struct listpack *lp, struct slice text) {
    size_t skip = random_below(3), from = m->count ? random_below(m->count) : 0;
    uint32_t at = listpack_find(lp, listpack_seek(lp, (int64_t)from), text, skip);
    for (size_t i = from; i < m->count; i += 1 + skip) {
        if (!slice_equal(buffer_slice(&m->texts[i]), text)) continue;
        assert_int_equal(at, listpack_seek(lp, (int64_t)i));
        return;
    }
    assert_int_equal(at, 0);
}

static void model_insert_step(struct model *m, struct listpack **lp, struct slice text) {
    if (m->count == MODEL_MAX) return;
    size_t index = random_below(m->count + 1);
    uint32_t at;
    if (index == m->count && random_below(2)) {
        listpack_append(lp, text);
        at = listpack_last(*lp);
    } else if (index == 0 && random_below(2)) {
        at = listpack_insert_before(lp, listpack_first(*lp), text);
    } else if (index > 0 && random_below(2)) {
        at = listpack_insert_after(lp, listpack_seek(*lp, (int64_t)index - 1), text);
    } else {
        at = listpack_insert_before(lp, listpack_seek(*lp, (int64_t)index), text);
    }
    model_insert(m, index, text);
    assert_text(*lp, at, text);
}

static void model_delete_step(struct model *m, struct listpack **lp, size_t index) {
    size_t wanted = random_below(10) ? 1 : random_below(40);
    size_t count = wanted < m->count - index ? wanted : m->count - index;
    uint32_t next = listpack_delete_range(lp, listpack_seek(*lp, (int64_t)index), wanted);
    model_delete(m, index, count);
    assert_int_equal(next, listpack_seek(*lp, (int64_t)index));
}

/* Cuts the listpack somewhere, joins the pieces again. */
static void model_cut_step(struct listpack **lp, size_t index) {
    struct listpack *tail = listpack_split(lp, listpack_seek(*lp, (int64_t)index));
    listpack_check(*lp);
    listpack_check(tail);
    assert_int_equal(listpack_count(*lp), index);
    listpack_merge(lp, tail);
    listpack_free(tail);
}

static void test_model(void **state) {
    seed_from_environment();
    struct model m = {.count = 0};
    struct listpack *lp = listpack_create();
    char *scratch = memory_alloc(TEXT_MAX, MEMORY_OTHER);
    unsigned insert_percent = 60;
    for (size_t step = 0; step < MODEL_STEPS; step++) {
        if (step % 1000 == 0) insert_percent = 20 + (unsigned)random_below(60);
        struct slice text = random_text(scratch);
        size_t index = m.count ? random_below(m.count) : 0;
        if (m.count == 0 || random_below(100) < insert_percent) {
            model_insert_step(&m, &lp, text);
        } else if (random_below(4) == 0) {
            listpack_replace(&lp, listpack_seek(lp, (int64_t)(index - m.count)), text);
            model_delete(&m, index, 1);
            model_insert(&m, index, text);
        } else if (random_below(20) == 0) {
            model_cut_step(&lp, index);
        } else {
            model_delete_step(&m, &lp, index);
        }
        model_find(&m, lp, text);
        assert_int_equal(listpack_memory(lp), memory_used(MEMORY_DATASET) - used_before);
        if (step % 50 == 0) model_compare(&m, lp);
    }
    model_compare(&m, lp);
    struct listpack *copy = listpack_dup(lp);
    model_compare(&m, copy);
    listpack_free(copy);
    model_delete(&m, 0, m.count);
    listpack_free(lp);
    memory_free(scratch, MEMORY_OTHER);
}

/* ---- The count's end ---- */

static void test_many(void **state) {
    enum { COUNT = 70000 };
    struct listpack *lp = listpack_create();
    for (int i = 0; i < COUNT; i++) append_integer(&lp, i);
    assert_int_equal(listpack_count(lp), COUNT);
    listpack_check(lp);
    assert_int_equal(listpack_get(lp, listpack_seek(lp, 66666)).integer, 66666);
    assert_int_equal(listpack_get(lp, listpack_seek(lp, -COUNT)).integer, 0);
    assert_int_equal(listpack_seek(lp, COUNT), 0);
    assert_int_equal(listpack_seek(lp, -COUNT - 1), 0);
    struct listpack *tail = listpack_split(&lp, listpack_seek(lp, 10));
    assert_int_equal(listpack_count(lp), 10);
    assert_int_equal(listpack_count(tail), COUNT - 10);
    listpack_merge(&lp, tail);
    assert_int_equal(listpack_count(lp), COUNT);
    assert_int_equal(listpack_delete_range(&lp, listpack_seek(lp, 3), SIZE_MAX), 0);
    assert_int_equal(listpack_count(lp), 3);
    assert_int_equal(listpack_delete_range(&lp, listpack_first(lp), 3), 0);
    assert_int_equal(listpack_count(lp), 0);
    listpack_check(lp);
    listpack_free(tail);
    listpack_free(lp);
}

/* ---- Foreign bytes ---- */

/* Every change of one byte of a good listpack is found or harmless, and every cut is found. */
static void test_foreign(void **state) {
    struct listpack *lp = listpack_create();
    listpack_append(&lp, SLICE("hello"));
    append_integer(&lp, 1000000);
    listpack_append(&lp, SLICE(""));
    append_integer(&lp, -5);
    char longer[200];
    memset(longer, 'y', sizeof(longer));
    listpack_append(&lp, (struct slice){longer, sizeof(longer)});
    size_t size = listpack_size(lp);
    /* A block of exactly these bytes, so that a sanitizer sees a read beyond. */
    uint8_t *bytes = memory_alloc(size, MEMORY_OTHER);
    for (size_t cut = 0; cut < size; cut++) {
        uint8_t *shorter = memory_alloc(cut, MEMORY_OTHER);
        memcpy(shorter, listpack_bytes(lp), cut);
        assert_false(listpack_validate(shorter, cut, NULL, NULL));
        if (cut > 4) {
            uint32_t stated = (uint32_t)cut;
            memcpy(shorter, &stated, sizeof(stated));
            assert_false(listpack_validate(shorter, cut, NULL, NULL));
        }
        memory_free(shorter, MEMORY_OTHER);
    }
    for (size_t i = 0; i < size; i++) {
        for (unsigned change = 1; change < 256; change++) {
            memcpy(bytes, listpack_bytes(lp), size);
            bytes[i] ^= (uint8_t)change;
            if (!listpack_validate(bytes, size, NULL, NULL)) continue;
            assert_true(i > 3); /* never the size */
            struct listpack *copy = listpack_from_bytes(bytes, size);
            assert_int_equal(listpack_count(copy), 5);
            listpack_free(copy);
        }
    }
    memory_free(bytes, MEMORY_OTHER);
    listpack_free(lp);
}

struct seen {
    char text[400];
    size_t length;
};

static bool note_text(const struct listpack_value *v, size_t index, void *context) {
    char scratch[LISTPACK_SCRATCH];
    struct seen *seen = context;
    struct slice text = listpack_value_text(v, scratch);
    seen->length += (size_t)snprintf(seen->text + seen->length, sizeof(seen->text) - seen->length,
                                     "%.*s,", (int)text.length, text.bytes);
    return true;
}

static struct seen texts_of(const struct listpack *lp) {
    struct seen seen = {.length = 0};
    assert_true(listpack_validate(lp, listpack_size(lp), note_text, &seen));
    return seen;
}

/* A wrong length behind the last element is put right, and nothing else is: of each change of one
 * byte comes a sound listpack, or none. */
static void check_mended(const struct listpack *lp, size_t back_bytes) {
    size_t size = listpack_size(lp), mended = 0;
    struct seen wanted = texts_of(lp);
    uint8_t *bytes = memory_alloc(size, MEMORY_OTHER);
    for (size_t i = 0; i < size; i++) {
        for (unsigned change = 1; change < 256; change++) {
            memcpy(bytes, listpack_bytes(lp), size);
            bytes[i] ^= (uint8_t)change;
            bool sound = listpack_validate(bytes, size, NULL, NULL);
            struct listpack *copy = listpack_from_foreign(bytes, size);
            assert_true(copy || !sound);
            if (!copy) continue;
            listpack_check(copy);
            bool behind_last = i + 1 + back_bytes >= size && i + 1 < size;
            if (!sound && behind_last) assert_string_equal(texts_of(copy).text, wanted.text);
            mended += !sound && behind_last;
            listpack_free(copy);
        }
    }
    assert_int_equal(mended, back_bytes * 255);
    for (size_t cut = 0; cut < size; cut++) {
        memcpy(bytes, listpack_bytes(lp), cut);
        assert_null(listpack_from_foreign(bytes, cut));
    }
    memory_free(bytes, MEMORY_OTHER);
}

static void test_last_length_is_put_right(void **state) {
    struct listpack *lp = listpack_create();
    listpack_append(&lp, SLICE("hello"));
    append_integer(&lp, 1000000);
    append_integer(&lp, 5);
    check_mended(lp, 1);
    char longer[200];
    memset(longer, 'y', sizeof(longer));
    listpack_append(&lp, (struct slice){longer, sizeof(longer)});
    check_mended(lp, 2);
    listpack_free(lp);
}

static bool refuse_third(const struct listpack_value *v, size_t index, void *context) {
    *(size_t *)context += 1;
    return index < 2;
}

static void test_visit(void **state) {
    struct listpack *lp = listpack_create();
    size_t visits = 0;
    for (int i = 0; i < 2; i++) append_integer(&lp, i);
    assert_true(listpack_validate(lp, listpack_size(lp), refuse_third, &visits));
    assert_int_equal(visits, 2);
    for (int i = 0; i < 2; i++) append_integer(&lp, i);
    assert_false(listpack_validate(lp, listpack_size(lp), refuse_third, &visits));
    assert_int_equal(visits, 5);
    listpack_free(lp);
}

/* A text that no listpack holds has a size, too: who asks wants to know whether there is room. */
static void test_size_beyond_the_limit(void **state) {
    static const size_t lengths[] = {LISTPACK_BYTES_MAX + 1, UINT32_MAX, (size_t)1 << 40};
    struct listpack *lp = listpack_create();
    for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
        size_t size = listpack_element_size((struct slice){"not looked at", lengths[i]});
        assert_in_range(size, lengths[i] + 6, lengths[i] + 10);
        assert_false(listpack_has_room(lp, size));
    }
    listpack_free(lp);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

/* A batch is what its elements are one by one. */
static void test_batch(void **state) {
    char text[5000];
    struct listpack *one = listpack_create(), *batch = listpack_create();
    struct listpack_value values[LISTPACK_BATCH];
    memset(text, 't', sizeof(text));
    for (int64_t i = 0; i < LISTPACK_BATCH; i++) {
        const size_t lengths[] = {0, 1, 63, 64, 4095, 5000};
        values[i] = (struct listpack_value){{NULL, 0}, (i - 5) * 1000 * i * i * i * i};
        if (i % 2) values[i].text = (struct slice){text, lengths[i / 2 % 6]};
        if (i == 8) values[i].text = SLICE("-77");
        if (values[i].text.bytes)
            listpack_append(&one, values[i].text);
        else
            append_integer(&one, values[i].integer);
    }
    listpack_append_batch(&batch, values, 0);
    assert_int_equal(listpack_count(batch), 0);
    listpack_append_batch(&batch, values, 5);
    listpack_append_batch(&batch, values + 5, LISTPACK_BATCH - 5);
    listpack_check(batch);
    assert_int_equal(listpack_size(batch), listpack_size(one));
    assert_memory_equal(listpack_bytes(batch), listpack_bytes(one), listpack_size(one));
    listpack_free(one);
    listpack_free(batch);
}

/* So is what is built, and larger than the builder's own room too. */
static void test_build(void **state) {
    char scratch[40000] = {0};
    for (int round = 0; round < 300; round++) {
        struct listpack *one = listpack_create();
        struct listpack_builder builder;
        listpack_build_begin(&builder);
        for (size_t count = (size_t)random_below(round % 10 ? 200 : 5000); count > 0; count--) {
            struct listpack_value v = {random_text(scratch), (int64_t)random_u64()};
            if (random_below(1000) == 0) v.text = (struct slice){scratch, sizeof(scratch)};
            if (random_below(4) == 0) v.text = SLICE("-x");
            if (random_below(4) == 0) v.text = (struct slice){NULL, 0};
            if (v.text.bytes)
                listpack_append(&one, v.text);
            else
                append_integer(&one, v.integer);
            assert_true(listpack_build_add(&builder, &v));
        }
        if (round % 20 == 0) {
            listpack_build_drop(&builder);
        } else {
            struct listpack *built = listpack_build_end(&builder);
            assert_int_equal(listpack_size(built), listpack_size(one));
            assert_memory_equal(listpack_bytes(built), listpack_bytes(one), listpack_size(one));
            listpack_check(built);
            listpack_free(built);
        }
        listpack_free(one);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_known_bytes),
        TEST(test_length_behind),
        TEST(test_integer_borders),
        TEST(test_model),
        TEST(test_many),
        TEST(test_foreign),
        TEST(test_last_length_is_put_right),
        TEST(test_visit),
        TEST(test_batch),
        TEST(test_size_beyond_the_limit),
        TEST(test_build),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
