/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of value/stream: models of entries and of groups, where nodes end, trims, foreign nodes.
 *
 * SEED=n runs the same random choices again; each run prints its seed.
 */
#include "value/stream.h"

#include "values.h"

#include "base/number.h"
#include "ds/listpacks.h"
#include "ds/rax.h"
#include "value/types.h"

static struct stream_id id_of(uint64_t msec, uint64_t sequence) {
    return (struct stream_id){msec, sequence};
}

static bool same_id(struct stream_id a, struct stream_id b) {
    return a.msec == b.msec && a.sequence == b.sequence;
}

static const struct stream_id lowest = {0, 0};

/* ---- Texts of an entry: a function of its number, so that the model need not keep them ---- */

#define PAIRS_MAX 5
#define TEXT_MAX 80

struct texts {
    struct slice texts[2 * PAIRS_MAX];
    size_t pairs;
    char bytes[2 * PAIRS_MAX][TEXT_MAX];
};

static void texts_make(struct texts *t, uint64_t number) {
    /* Runs of ten entries share their fields. */
    uint64_t kind = number / 10 % 7;
    t->pairs = 1 + kind % PAIRS_MAX;
    for (size_t i = 0; i < t->pairs; i++) {
        char *field = t->bytes[2 * i], *text = t->bytes[2 * i + 1];
        size_t field_length = number_format_uint64(field, kind * 100 + i);
        if (i % 2) field[0] = 'f';
        size_t length = number_format_uint64(text, number * (i + 1));
        if (number % 3) {
            text[0] = 'x';
            while (length < number * 7 % TEXT_MAX) text[length++] = '.';
        }
        t->texts[2 * i] = (struct slice){field, field_length};
        t->texts[2 * i + 1] = (struct slice){text, length};
    }
}

/* ---- The model of entries ---- */

#define ENTRIES_MAX 4000

struct entry {
    struct stream_id id;
    uint64_t number;
};

static struct {
    struct value stream;
    struct entry entries[ENTRIES_MAX]; /* the live ones */
    size_t count;
    struct stream_id last_id;
    uint64_t next_number;
} m;

static void assert_entry(struct stream_cursor *c, const struct entry *e) {
    struct texts t;
    char scratch[LISTPACK_SCRATCH];
    struct listpack_value field, text;
    texts_make(&t, e->number);
    assert_true(same_id(c->id, e->id));
    assert_int_equal(c->pairs, t.pairs);
    size_t i = 0;
    /* Some steps leave pairs unread. */
    size_t wanted = random_below(8) == 0 ? random_below(t.pairs + 1) : t.pairs;
    for (; i < wanted && stream_cursor_pair(c, &field, &text); i++) {
        assert_true(slice_equal(listpack_value_text(&field, scratch), t.texts[2 * i]));
        assert_true(slice_equal(listpack_value_text(&text, scratch), t.texts[2 * i + 1]));
    }
    assert_int_equal(i, wanted);
    if (wanted == t.pairs) assert_false(stream_cursor_pair(c, &field, &text));
}

static void assert_range(struct stream_id first, struct stream_id last, bool backwards) {
    struct stream_cursor c;
    size_t at = backwards ? m.count : 0;
    stream_cursor_start(&c, m.stream, first, last, backwards);
    for (;;) {
        if (backwards ? at == 0 : at == m.count) break;
        const struct entry *e = &m.entries[backwards ? --at : at++];
        if (stream_id_compare(e->id, first) < 0 || stream_id_compare(e->id, last) > 0) continue;
        assert_true(stream_cursor_step(&c));
        assert_entry(&c, e);
    }
    assert_false(stream_cursor_step(&c));
    assert_false(stream_cursor_step(&c));
}

/* An ID at or near a live one, or a boundary. */
static struct stream_id some_id(void) {
    struct stream_id id = m.last_id;
    if (m.count > 0 && random_below(8) > 0) id = m.entries[random_below(m.count)].id;
    bool other;
    switch (random_below(6)) {
    case 0: other = stream_id_increase(&id); break;
    case 1: other = stream_id_decrease(&id); break;
    case 2: id = random_below(2) ? lowest : STREAM_ID_MAX; break;
    default: break;
    }
    (void)other; /* the first and the last of all stay */
    return id;
}

static size_t place_of(struct stream_id id) {
    size_t at = 0;
    while (at < m.count && stream_id_compare(m.entries[at].id, id) < 0) at++;
    return at;
}

static bool model_has(struct stream_id id) {
    size_t at = place_of(id);
    return at < m.count && same_id(m.entries[at].id, id);
}

static void model_check(void) {
    struct stream_id id;
    stream_check(m.stream);
    assert_int_equal(stream_count(m.stream), m.count);
    assert_true(same_id(stream_last_id(m.stream), m.last_id));
    assert_int_equal(value_type(VALUE_STREAM)->bytes(m.stream),
                     memory_used(MEMORY_DATASET) - used_before);
    assert_int_equal(stream_top_id(m.stream, &id), m.count > 0);
    if (m.count > 0) assert_true(same_id(id, m.entries[m.count - 1].id));
    assert_int_equal(stream_bottom_id(m.stream, &id), m.count > 0);
    if (m.count > 0) assert_true(same_id(id, m.entries[0].id));
    assert_range(lowest, STREAM_ID_MAX, false);
    assert_range(lowest, STREAM_ID_MAX, true);
    for (int i = 0; i < 10; i++) {
        struct stream_id first = some_id(), last = some_id();
        assert_range(first, last, i % 2);
        assert_int_equal(stream_has(m.stream, first), model_has(first));
    }
}

static void model_append(void) {
    struct texts t;
    struct stream_id id = m.last_id;
    if (m.count == ENTRIES_MAX) return;
    if (random_below(3) == 0) id = id_of(id.msec + 1 + random_below(1000), random_below(5));
    if (random_below(100) == 0) id.sequence += (uint64_t)random_below(1000) << 40;
    if (!stream_id_increase(&id)) return;
    texts_make(&t, m.next_number);
    assert_true(stream_append(m.stream, id, t.texts, t.pairs));
    m.entries[m.count++] = (struct entry){id, m.next_number++};
    m.last_id = id;
}

static void model_drop(size_t at, size_t count) {
    memmove(&m.entries[at], &m.entries[at + count], (m.count - at - count) * sizeof(m.entries[0]));
    m.count -= count;
}

static void model_delete(void) {
    struct stream_id id = some_id();
    bool there = model_has(id);
    assert_int_equal(stream_delete(m.stream, id), there);
    if (there) model_drop(place_of(id), 1);
}

static void model_trim(void) {
    struct stream_trim trim = {.by = random_below(2) ? STREAM_TRIM_COUNT : STREAM_TRIM_ID};
    size_t keep_below = random_below(20) ? 100 : m.count + 1;
    trim.count = m.count - random_below(m.count < keep_below ? m.count + 1 : keep_below);
    trim.id = m.count > 0 ? m.entries[m.count - trim.count > 0 ? m.count - trim.count - 1 : 0].id
                          : some_id();
    trim.whole_nodes = random_below(2);
    trim.limit = trim.whole_nodes && random_below(2) ? 1 + random_below(50) : 0;
    size_t due = trim.by == STREAM_TRIM_COUNT ? m.count - trim.count : place_of(trim.id);
    uint64_t deleted = stream_trim(m.stream, &trim);
    if (trim.whole_nodes)
        assert_true(deleted <= due);
    else
        assert_int_equal(deleted, due);
    if (trim.limit) assert_true(deleted <= trim.limit);
    model_drop(0, deleted);
}

static void model_set_last_id(void) {
    /* Down to the top entry, below deleted ones, or up. */
    struct stream_id id = m.count > 0 ? m.entries[m.count - 1].id : lowest;
    if (random_below(2)) id = id_of(m.last_id.msec + 5, random_below(10));
    stream_set_last_id(m.stream, id);
    m.last_id = id;
}

/* Writes a stream's nodes into another as loading does, and goes on with that. */
static void model_reload(void) {
    struct value loaded = stream_create();
    struct buffer key;
    void *node;
    buffer_init(&key, MEMORY_OTHER);
    for (bool more = rax_seek(stream_nodes(m.stream), RAX_FIRST, SLICE(""), &key, &node); more;
         more = rax_seek(stream_nodes(m.stream), RAX_ABOVE, buffer_slice(&key), &key, &node))
        assert_true(stream_take_node(loaded, stream_id_of_key(buffer_slice(&key)),
                                     listpack_bytes(node), listpack_size(node)));
    buffer_free(&key);
    assert_true(stream_id_compare(stream_last_id(loaded), m.last_id) <= 0);
    stream_set_last_id(loaded, m.last_id);
    assert_true(digests_equal(VALUE_STREAM, m.stream, loaded));
    stream_free(m.stream);
    m.stream = loaded;
}

static void model_copy(void) {
    struct value copy = value_type(VALUE_STREAM)->copy(m.stream, SLICE(""), SLICE(""));
    assert_true(digests_equal(VALUE_STREAM, m.stream, copy));
    stream_free(m.stream);
    m.stream = copy;
}

static void model_run(size_t steps, const char *bytes_max, const char *entries_max) {
    unsigned append_percent = 0;
    set_option("stream-node-max-bytes", bytes_max);
    set_option("stream-node-max-entries", entries_max);
    memset(&m, 0, sizeof(m));
    m.stream = stream_create();
    model_check();
    for (size_t step = 0; step < steps; step++) {
        if (step % 1000 == 0) append_percent = 30 + (unsigned)random_below(60);
        if (random_below(100) < append_percent)
            model_append();
        else
            model_delete();
        if (random_below(60) == 0) model_trim();
        if (random_below(200) == 0) model_set_last_id();
        if (random_below(500) == 0) model_reload();
        if (random_below(500) == 0) model_copy();
        if (step % 100 == 0) model_check();
    }
    model_check();
    stream_free(m.stream);
}

static void test_model(void **state) {
    seed_from_environment();
    model_run(5000, "4096", "100");
    model_run(5000, "0", "5");
    model_run(5000, "300", "0");
    model_run(5000, "0", "0");
    model_run(3000, "4096", "1");
    set_option("stream-node-max-bytes", "4096");
    set_option("stream-node-max-entries", "100");
}

/* ---- IDs ---- */

static void test_ids(void **state) {
    char text[STREAM_ID_CHARS], key[STREAM_KEY_BYTES];
    struct stream_id id = STREAM_ID_MAX;
    assert_false(stream_id_increase(&id));
    assert_true(same_id(id, STREAM_ID_MAX));
    assert_int_equal(stream_id_print(id, text), 41);
    assert_string_equal(text, "18446744073709551615-18446744073709551615");
    id = lowest;
    assert_false(stream_id_decrease(&id));
    assert_true(same_id(id, lowest));
    id = id_of(7, UINT64_MAX);
    assert_true(stream_id_increase(&id));
    assert_true(same_id(id, id_of(8, 0)));
    assert_true(stream_id_decrease(&id));
    assert_true(same_id(id, id_of(7, UINT64_MAX)));
    assert_true(same_id(stream_id_of_key(stream_id_key(id, key)), id));
    assert_memory_equal(stream_id_key(id_of(0x0102, 3), key).bytes,
                        "\0\0\0\0\0\0\1\2\0\0\0\0\0\0\0\3", STREAM_KEY_BYTES);
    assert_true(stream_id_compare(id_of(1, 9), id_of(2, 0)) < 0);
    assert_true(stream_id_compare(id_of(2, 1), id_of(2, 0)) > 0);
    assert_int_equal(stream_id_compare(id_of(2, 1), id_of(2, 1)), 0);
}

/* ---- Nodes ---- */

static void append_pair(struct value v, uint64_t msec, size_t text_length) {
    static const char xs[] =
        "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx";
    assert_true(text_length < sizeof(xs));
    struct slice texts[] = {SLICE("f"), {xs, text_length}};
    assert_true(stream_append(v, id_of(msec, 1), texts, 1));
}

/* The entry with which a second node begins, where each has a text of this length. */
static unsigned second_node_at(size_t text_length) {
    struct value v = stream_create();
    unsigned at = 0;
    while (rax_count(stream_nodes(v)) < 2) append_pair(v, ++at, text_length);
    stream_free(v);
    return at;
}

/* Where nodes end, as 6.2.16 showed it (XINFO STREAM): the bytes of new texts count, what they are
 * wrapped in does not. */
static void test_node_bytes(void **state) {
    static const unsigned seen[][3] = {{100, 1, 9},  {100, 8, 6},  {100, 15, 4}, {100, 22, 3},
                                       {100, 36, 2}, {200, 1, 18}, {200, 8, 11}, {200, 22, 6},
                                       {200, 36, 5}, {200, 57, 3}, {200, 64, 3}, {107, 1, 9},
                                       {108, 1, 9},  {109, 1, 10}};
    set_option("stream-node-max-entries", "0");
    for (size_t i = 0; i < sizeof(seen) / sizeof(seen[0]); i++) {
        char limit[NUMBER_INT64_CHARS] = "";
        number_format_uint64(limit, seen[i][0]);
        set_option("stream-node-max-bytes", limit);
        assert_int_equal(second_node_at(seen[i][1]), seen[i][2]);
    }
    set_option("stream-node-max-bytes", "4096");
    set_option("stream-node-max-entries", "100");
}

/* Deleted entries count for a node's limit. */
static void test_node_entries(void **state) {
    struct value v = stream_create();
    set_option("stream-node-max-entries", "5");
    for (unsigned i = 1; i < 5; i++) append_pair(v, i, 1);
    assert_true(stream_delete(v, id_of(2, 1)));
    assert_true(stream_delete(v, id_of(3, 1)));
    assert_false(stream_delete(v, id_of(3, 1)));
    append_pair(v, 5, 1);
    assert_int_equal(rax_count(stream_nodes(v)), 1);
    append_pair(v, 6, 1);
    assert_int_equal(rax_count(stream_nodes(v)), 2);
    assert_true(stream_delete(v, id_of(6, 1)));
    assert_int_equal(rax_count(stream_nodes(v)), 1);
    assert_true(same_id(stream_last_id(v), id_of(6, 1)));
    stream_free(v);
    set_option("stream-node-max-entries", "100");
}

/* The bytes that DUMP of 6.2.16 shows for the same commands. */
static void test_layout(void **state) {
    struct value v = stream_create();
    struct slice same[] = {SLICE("f"), SLICE("a")}, other[] = {SLICE("g"), SLICE("7")};
    static const uint8_t expected[] = {
        /* size, elements; live, deleted, fields, "f", end of the head */
        45, 0, 0, 0, 17, 0, 1, 1, 1, 1, 1, 1, 0x81, 'f', 2, 0, 1,
        /* deleted and same fields, 0-0, "a", elements */
        3, 1, 0, 1, 0, 1, 0x81, 'a', 2, 4, 1,
        /* other fields, 5 ms more, sequence one less; one pair, "g", 7, elements */
        0, 1, 5, 1, 0xdf, 0xff, 2, 1, 1, 0x81, 'g', 2, 7, 1, 6, 1, 0xff};
    assert_true(stream_append(v, id_of(10, 4), same, 1));
    assert_true(stream_append(v, id_of(15, 3), other, 1));
    assert_true(stream_delete(v, id_of(10, 4)));
    struct buffer key;
    void *node;
    buffer_init(&key, MEMORY_OTHER);
    assert_true(rax_seek(stream_nodes(v), RAX_FIRST, SLICE(""), &key, &node));
    assert_true(same_id(stream_id_of_key(buffer_slice(&key)), id_of(10, 4)));
    buffer_free(&key);
    size_t size = listpack_size(node);
    assert_int_equal(size, expected[0]);
    assert_memory_equal(listpack_bytes(node), expected, size);
    stream_free(v);
}

static void test_too_large(void **state) {
    struct value v = stream_create();
    append_pair(v, 1, 1);
    /* Never read: refused by its length. */
    struct slice huge[] = {SLICE("f"), {"", LISTPACK_BYTES_MAX}};
    assert_false(stream_append(v, id_of(2, 1), huge, 1));
    assert_int_equal(stream_count(v), 1);
    assert_true(same_id(stream_last_id(v), id_of(1, 1)));
    stream_check(v);
    stream_free(v);
}

/* ---- Trims ---- */

static struct value seven_in_nodes_of_three(void) {
    struct value v = stream_create();
    for (unsigned i = 1; i <= 7; i++) append_pair(v, i, 1);
    assert_int_equal(rax_count(stream_nodes(v)), 3);
    return v;
}

static uint64_t trim_by_id(struct value v, uint64_t msec, bool whole_nodes) {
    struct stream_trim trim = {
        .by = STREAM_TRIM_ID, .id = id_of(msec, 1), .whole_nodes = whole_nodes};
    return stream_trim(v, &trim);
}

static uint64_t trim_by_count(struct value v, uint64_t count, bool whole_nodes, uint64_t limit) {
    struct stream_trim trim = {
        .by = STREAM_TRIM_COUNT, .count = count, .whole_nodes = whole_nodes, .limit = limit};
    return stream_trim(v, &trim);
}

static void test_trim(void **state) {
    set_option("stream-node-max-entries", "3");
    struct value v = seven_in_nodes_of_three();
    assert_int_equal(trim_by_count(v, 5, true, 0), 0);
    assert_int_equal(trim_by_count(v, 0, true, 2), 0);
    assert_int_equal(trim_by_count(v, 0, true, 3), 3);
    assert_int_equal(trim_by_count(v, 0, true, 2), 0);
    assert_int_equal(trim_by_count(v, 3, false, 0), 1);
    assert_int_equal(trim_by_count(v, 9, false, 0), 0);
    assert_int_equal(trim_by_count(v, 1, true, 0), 2);
    assert_int_equal(trim_by_count(v, 0, false, 0), 1);
    assert_int_equal(rax_count(stream_nodes(v)), 0);
    append_pair(v, 8, 1);
    stream_check(v);
    stream_free(v);
    v = seven_in_nodes_of_three();
    /* A deleted last entry holds its node as a live one would. */
    assert_true(stream_delete(v, id_of(3, 1)));
    assert_int_equal(trim_by_id(v, 3, true), 0);
    assert_int_equal(trim_by_id(v, 4, true), 2);
    assert_int_equal(trim_by_id(v, 6, true), 0);
    assert_int_equal(trim_by_id(v, 6, false), 2);
    assert_int_equal(stream_count(v), 2);
    assert_int_equal(trim_by_id(v, 100, false), 2);
    stream_check(v);
    stream_free(v);
    set_option("stream-node-max-entries", "100");
}

/* A node of which a trim leaves nothing goes, though its last entry was deleted before. */
static void test_trim_to_deleted(void **state) {
    set_option("stream-node-max-entries", "3");
    struct value v = seven_in_nodes_of_three();
    assert_true(stream_delete(v, id_of(3, 1)));
    assert_int_equal(trim_by_id(v, 3, false), 2);
    assert_int_equal(rax_count(stream_nodes(v)), 2);
    stream_check(v);
    stream_free(v);
    set_option("stream-node-max-entries", "100");
}

/* ---- Foreign nodes ---- */

/* Element by element; a text "x" for what is no integer. */
static struct listpack *elements(const int *numbers, size_t count) {
    struct listpack *lp = listpack_create();
    for (size_t i = 0; i < count; i++) {
        if (numbers[i] == 'x')
            listpack_append(&lp, SLICE("x"));
        else
            append_integer(&lp, numbers[i]);
    }
    return lp;
}

static bool taken(struct value v, uint64_t msec, const int *numbers, size_t count) {
    struct listpack *lp = elements(numbers, count);
    bool good = stream_take_node(v, id_of(msec, 0), listpack_bytes(lp), listpack_size(lp));
    listpack_free(lp);
    stream_check(v);
    return good;
}

#define TAKEN(msec, ...) \
    taken(v, msec, (const int[]){__VA_ARGS__}, sizeof((int[]){__VA_ARGS__}) / sizeof(int))

static void test_foreign(void **state) {
    struct value v = stream_create();
    assert_false(stream_take_node(v, id_of(5, 0), "", 0));
    assert_false(stream_take_node(v, id_of(5, 0), "\7\0\0\0\0\0\xff", 7));
    assert_false(TAKEN(0, 1, 0, 1, 'x', 0, 2, 0, 0, 'x', 4)); /* 0-0 is no ID */
    assert_false(TAKEN(5, 2, 0, 1, 'x', 0, 2, 0, 0, 'x', 4)); /* wrong counts */
    assert_false(TAKEN(5, 1, 1, 1, 'x', 0, 2, 0, 0, 'x', 4));
    assert_false(TAKEN(5, -1, 0, 1, 'x', 0, 2, 0, 0, 'x', 4));
    assert_false(TAKEN(5, 1, 0, 'x', 'x', 0, 2, 0, 0, 'x', 4)); /* texts for numbers */
    assert_false(TAKEN(5, 1, 0, 1, 'x', 0, 'x', 0, 0, 'x', 4));
    assert_false(TAKEN(5, 1, 0, 1, 'x', 0, 2, 0, 0, 'x', 'x'));
    assert_false(TAKEN(5, 1, 0, 1, 'x', 3, 2, 0, 0, 'x', 4)); /* no end of the head */
    assert_false(TAKEN(5, 1, 0, 1, 'x', 0, 4, 0, 0, 'x', 4)); /* an unknown flag */
    assert_false(TAKEN(5, 1, 0, 1, 'x', 0, 2, 0, 0, 'x', 5)); /* a wrong way back */
    assert_false(TAKEN(5, 1, 0, 1, 'x', 0, 2, 0, 0, 'x'));    /* cut short */
    assert_false(TAKEN(5, 1, 0, 9, 'x', 0, 2, 0, 0, 'x', 4));
    assert_false(TAKEN(5, 1, 0, 1, 'x', 0, 0, 0, 0, 9, 'x', 'x', 6));
    assert_false(TAKEN(5, 1, 0, 1, 'x', 0, 2, -1, 0, 'x', 4));                 /* below the key */
    assert_false(TAKEN(5, 2, 0, 1, 'x', 0, 2, 3, 0, 'x', 4, 2, 3, 0, 'x', 4)); /* not rising */
    assert_int_equal(stream_count(v), 0);
    assert_true(TAKEN(5, 2, 1, 1, 'x', 0, 2, 3, 0, 'x', 4, 3, 1, 0, 'x', 4, 0, 4, 1, 1, 7, 8, 6));
    assert_int_equal(stream_count(v), 2);
    assert_true(same_id(stream_last_id(v), id_of(9, 1)));
    assert_false(TAKEN(9, 1, 0, 1, 'x', 0, 2, 0, 0, 'x', 4)); /* not behind */
    assert_true(TAKEN(10, 0, 1, 1, 'x', 0, 3, 0, 0, 'x', 4)); /* 6.2 leaves such ones */
    assert_int_equal(rax_count(stream_nodes(v)), 1);
    assert_true(TAKEN(10, 1, 0, 0, 0, 0, 0, 0, 1, 'x', 'x', 6));
    assert_true(TAKEN(11, 1, 1, 0, 0, 3, 0, 0, 3, 0, 1, 0, 1, 'x', 'x', 6));
    /* Without a pair, which no XADD could say. */
    assert_false(TAKEN(13, 1, 0, 0, 0, 2, 0, 0, 3));
    assert_false(TAKEN(13, 1, 0, 1, 'x', 0, 0, 0, 0, 0, 4));
    stream_free(v);
}

/* A node as large as a listpack may be has no room for a larger number of deleted entries. */
static void test_foreign_of_full_size(void **state) {
    static const char head[] = "\x01\1\0\1\1\1\x81x\2\0\1\2\1\0\1\0\1\xf0", tail[] = "\4\1\xff";
    struct value v = stream_create();
    size_t size = LISTPACK_BYTES_MAX, text_at = LISTPACK_HEADER_BYTES + sizeof(head) - 1 + 4;
    size_t back_at = size - (sizeof(tail) - 1) - 5, length = back_at - text_at;
    const uint32_t sizes[] = {(uint32_t)size, (uint32_t)length};
    char *bytes = memory_zalloc(size, MEMORY_OTHER); /* of which few pages are touched */
    memcpy(bytes, &sizes[0], sizeof(sizes[0]));
    bytes[4] = 10;
    memcpy(bytes + LISTPACK_HEADER_BYTES, head, sizeof(head) - 1);
    memcpy(bytes + text_at - 4, &sizes[1], sizeof(sizes[1]));
    for (size_t i = 5, content = 5 + length; i-- > 0; content >>= 7)
        bytes[back_at + i] = (char)((content & 127) | (i ? 128 : 0));
    memcpy(bytes + size - (sizeof(tail) - 1), tail, sizeof(tail) - 1);
    assert_true(listpack_validate(bytes, size, NULL, NULL));
    assert_false(stream_take_node(v, id_of(5, 0), bytes, size));
    memory_free(bytes, MEMORY_OTHER);
    stream_free(v);
}

/* ---- Groups ---- */

#define GROUPS 3
#define CONSUMERS 4
#define PENDING 100

static struct {
    struct value stream;
    bool group[GROUPS], consumer[GROUPS][CONSUMERS];
    int owner[GROUPS][PENDING]; /* a consumer, or -1 */
    uint64_t deliveries[GROUPS][PENDING];
} g;

/* The last consumer has the empty name. */
static struct slice consumer_name(int consumer, char out[8]) {
    memcpy(out, "cccccc", 7);
    return (struct slice){out, (size_t)(CONSUMERS - 1 - consumer)};
}

static struct slice group_name(int group) {
    static const struct slice names[GROUPS] = {{"group", 5}, {"gro\0up", 6}, {"", 0}};
    return names[group];
}

static struct stream_consumer *consumer_of(struct stream_group *group, int consumer) {
    char name[8];
    return stream_consumer_find(group, consumer_name(consumer, name));
}

static void group_model_clear(int group) {
    for (int c = 0; c < CONSUMERS; c++) g.consumer[group][c] = false;
    for (int p = 0; p < PENDING; p++) g.owner[group][p] = -1;
}

static struct stream_id pending_id(int p) { return id_of((uint64_t)p * 1000, (uint64_t)p % 3); }

static void group_model_check_one(int i) {
    struct stream_group *group = stream_group_find(g.stream, group_name(i));
    size_t counts[CONSUMERS] = {0}, all = 0, consumers = 0;
    assert_int_equal(group != NULL, g.group[i]);
    if (!group) return;
    for (int p = 0; p < PENDING; p++) {
        const struct stream_pending *found = stream_pending_find(group, pending_id(p));
        int owner = g.owner[i][p];
        assert_int_equal(found != NULL, owner >= 0);
        if (!found) continue;
        assert_ptr_equal(found->consumer, consumer_of(group, owner));
        assert_int_equal(found->deliveries, g.deliveries[i][p]);
        counts[owner]++;
        all++;
    }
    assert_int_equal(rax_count(group->pending), all);
    for (int c = 0; c < CONSUMERS; c++) {
        const struct stream_consumer *consumer = consumer_of(group, c);
        assert_int_equal(consumer != NULL, g.consumer[i][c]);
        if (consumer) assert_int_equal(rax_count(consumer->pending), counts[c]);
        consumers += consumer != NULL;
    }
    assert_int_equal(rax_count(group->consumers), consumers);
}

static void group_model_check(void) {
    stream_check(g.stream);
    assert_int_equal(value_type(VALUE_STREAM)->bytes(g.stream),
                     memory_used(MEMORY_DATASET) - used_before);
    for (int i = 0; i < GROUPS; i++) group_model_check_one(i);
}

/* What was taken out is a sound stream, and all of the memory that this one has no more. */
static void free_taken(struct value taken) {
    stream_check(taken);
    stream_check(g.stream);
    assert_int_equal(
        value_type(VALUE_STREAM)->bytes(taken) + value_type(VALUE_STREAM)->bytes(g.stream),
        memory_used(MEMORY_DATASET) - used_before);
    stream_free(taken);
}

static void change_group(int i) {
    if (random_below(3) == 0) {
        struct value taken;
        bool there = stream_group_take(g.stream, group_name(i), &taken);
        assert_int_equal(there, g.group[i]);
        if (there) free_taken(taken);
        group_model_clear(i);
        g.group[i] = false;
        return;
    }
    struct stream_group *group = stream_group_create(g.stream, group_name(i), id_of(3, 4));
    assert_int_equal(group != NULL, !g.group[i]);
    if (group) assert_true(same_id(group->last_id, id_of(3, 4)));
    g.group[i] = true;
}

static void change_consumer(struct stream_group *group, int i) {
    int c = (int)random_below(CONSUMERS);
    char name[8];
    struct stream_consumer *consumer = consumer_of(group, c);
    if (consumer && random_below(3) == 0) {
        size_t pending = 0;
        for (int p = 0; p < PENDING; p++) {
            if (g.owner[i][p] != c) continue;
            g.owner[i][p] = -1;
            pending++;
        }
        struct value taken;
        assert_int_equal(stream_consumer_take(g.stream, group, consumer, &taken), pending);
        free_taken(taken);
        g.consumer[i][c] = false;
        return;
    }
    struct stream_consumer *created =
        stream_consumer_create(g.stream, group, consumer_name(c, name), 77);
    assert_int_equal(created != NULL, !consumer);
    if (created) assert_int_equal(created->seen_msec, 77);
    g.consumer[i][c] = true;
}

static void change_pending(struct stream_group *group, int i) {
    int p = (int)random_below(PENDING), c = (int)random_below(CONSUMERS);
    struct stream_consumer *consumer = consumer_of(group, c);
    if (random_below(3) == 0) {
        assert_int_equal(stream_pending_remove(g.stream, group, pending_id(p)), g.owner[i][p] >= 0);
        g.owner[i][p] = -1;
    } else if (consumer) {
        struct stream_pending *pending =
            stream_pending_assign(g.stream, group, consumer, pending_id(p));
        if (g.owner[i][p] < 0) {
            assert_int_equal(pending->deliveries, 0);
            assert_int_equal(pending->delivered_msec, 0);
            g.deliveries[i][p] = 0;
        }
        pending->deliveries++;
        g.deliveries[i][p]++;
        g.owner[i][p] = c;
    }
}

static void test_groups(void **state) {
    seed_from_environment();
    memset(&g, 0, sizeof(g));
    g.stream = stream_create();
    assert_null(stream_groups(g.stream));
    append_pair(g.stream, 1, 1);
    for (int i = 0; i < GROUPS; i++) group_model_clear(i);
    for (int step = 0; step < 20000; step++) {
        int i = (int)random_below(GROUPS);
        struct stream_group *group = stream_group_find(g.stream, group_name(i));
        if (!group || random_below(300) == 0)
            change_group(i);
        else if (random_below(20) == 0)
            change_consumer(group, i);
        else
            change_pending(group, i);
        if (step % 200 == 0) group_model_check();
        if (step % 3000 == 0) {
            struct value copy = value_type(VALUE_STREAM)->copy(g.stream, SLICE(""), SLICE(""));
            stream_free(g.stream);
            g.stream = copy;
        }
    }
    group_model_check();
    stream_free(g.stream);
}

/* ---- Sums ---- */

static void test_sums(void **state) {
    struct value v = stream_create();
    append_pair(v, 1, 1);
    /* 6.2 takes 4,688 bytes for this one; ours must stay a small value. */
    assert_true(value_type(VALUE_STREAM)->bytes(v) <= 300);
    assert_int_equal(value_type(VALUE_STREAM)->free_effort(v, SLICE("")), 2);
    struct stream_group *group = stream_group_create(v, SLICE("g"), lowest);
    struct stream_consumer *consumer = stream_consumer_create(v, group, SLICE("c"), 1);
    for (uint64_t i = 0; i < 10; i++) stream_pending_assign(v, group, consumer, id_of(i, 0));
    assert_int_equal(value_type(VALUE_STREAM)->free_effort(v, SLICE("")), 14);
    stream_free(v);
    assert_string_equal(value_type(VALUE_STREAM)->encodings[0], "stream");
}

static void test_digest(void **state) {
    struct value a = stream_create(), b = stream_create();
    for (unsigned i = 1; i < 50; i++) append_pair(a, i, 1);
    set_option("stream-node-max-entries", "3");
    for (unsigned i = 1; i < 50; i++) append_pair(b, i, 1);
    set_option("stream-node-max-entries", "100");
    assert_true(digests_equal(VALUE_STREAM, a, b));
    assert_true(stream_delete(a, id_of(7, 1)));
    assert_false(digests_equal(VALUE_STREAM, a, b));
    assert_true(stream_delete(b, id_of(7, 1)));
    assert_true(digests_equal(VALUE_STREAM, a, b));
    stream_set_last_id(b, id_of(50, 0)); /* does not count, as with 6.2 */
    assert_true(digests_equal(VALUE_STREAM, a, b));
    stream_free(a);
    stream_free(b);
}

/* Freed in steps, after each of which `bytes` is what memory is left; returns how many there were
 * before the last. */
static size_t release_in_steps(struct value v, size_t effort) {
    const struct value_type *type = value_type(VALUE_STREAM);
    size_t steps = 0, before = type->bytes(v);
    while (!type->release_step(v, effort)) {
        size_t left = type->bytes(v);
        assert_int_equal(left, memory_used(MEMORY_DATASET) - used_before);
        assert_true(left <= before);
        before = left;
        steps++;
    }
    assert_int_equal(memory_used(MEMORY_DATASET), used_before);
    return steps;
}

/* `entries` nodes of one entry; so many groups and consumers, each entry pending in each group. */
static struct value stream_with_groups(unsigned entries, unsigned groups, unsigned consumers) {
    struct value v = stream_create();
    set_option("stream-node-max-entries", "1");
    for (unsigned i = 1; i <= entries; i++) append_pair(v, i, 1);
    set_option("stream-node-max-entries", "100");
    for (unsigned i = 0; i < groups; i++) {
        char name[32];
        struct slice text = {name, number_format_uint64(name, i)};
        struct stream_group *group = stream_group_create(v, text, lowest);
        for (unsigned c = 0; c < consumers; c++) {
            text.length = number_format_uint64(name, c);
            stream_consumer_create(v, group, text, 1);
        }
        for (unsigned j = 1; consumers > 0 && j <= entries; j++) {
            text.length = number_format_uint64(name, random_below(consumers));
            stream_pending_assign(v, group, stream_consumer_find(group, text), id_of(j, 1));
        }
    }
    stream_check(v);
    return v;
}

static void test_release_step(void **state) {
    static const unsigned shapes[][3] = {
        {0, 0, 0},   {1, 0, 0},    {3000, 0, 0},   {0, 500, 0},  {0, 3, 500},
        {500, 1, 1}, {500, 4, 30}, {3000, 1, 700}, {40, 60, 10},
    };
    static const size_t efforts[] = {1, 3, 40, 1000, SIZE_MAX};
    seed_from_environment();
    for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
        for (size_t j = 0; j < sizeof(efforts) / sizeof(*efforts); j++) {
            struct value v = stream_with_groups(shapes[i][0], shapes[i][1], shapes[i][2]);
            size_t blocks = value_type(VALUE_STREAM)->free_effort(v, SLICE(""));
            size_t steps = release_in_steps(v, efforts[j]);
            if (efforts[j] >= blocks) continue;
            /* No step frees much more than it may, nor much less. */
            assert_true((steps + 1) * efforts[j] >= blocks / 2);
            assert_true(steps <= 4 * blocks / efforts[j] + 2);
        }
    }
}

int main(void) {
    value_register();
    const struct CMUnitTest tests[] = {
        TEST(test_model),      TEST(test_ids),
        TEST(test_node_bytes), TEST(test_node_entries),
        TEST(test_layout),     TEST(test_too_large),
        TEST(test_trim),       TEST(test_trim_to_deleted),
        TEST(test_foreign),    TEST(test_foreign_of_full_size),
        TEST(test_groups),     TEST(test_sums),
        TEST(test_digest),     TEST(test_release_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
