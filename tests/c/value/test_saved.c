/* SPDX-License-Identifier: BSD-3-Clause
 * Values saved and loaded: every type and form, whole and in steps; bytes as Redis 6.2 wrote them;
 * damaged bytes, which are refused or give a sound value, and leave no memory behind.
 *
 * SEED=n runs the same random choices again; each run prints its seed.
 */
#include "value/saved.h"

#include "ds/quicklist.h"
#include "value/hash.h"
#include "value/list.h"
#include "value/set.h"
#include "value/stream.h"
#include "value/string.h"
#include "value/types.h"
#include "value/values.h"
#include "value/zset.h"

/* ---- values ---- */

static struct buffer text_storage[2];

/* A text of any sort: integers, what LZF takes, long and short ones. */
static struct slice any_text(int which) {
    struct buffer *b = &text_storage[which];
    buffer_clear(b);
    buffer_append(b, "", 0);
    switch (random_below(6)) {
    case 0: buffer_printf(b, "%d", (int)random_below(600) - 300); break;
    case 1: buffer_printf(b, "%lld", (long long)random_u64()); break;
    case 2:
        for (size_t n = random_below(300); n > 0; n--) buffer_append_char(b, 'r');
        break;
    case 3:
        for (size_t n = random_below(80); n > 0; n--) buffer_append_char(b, (char)random_u64());
        break;
    case 4: buffer_printf(b, "member:%u", (unsigned)random_below(100000)); break;
    default: break;
    }
    return b->bytes ? buffer_slice(b) : SLICE("");
}

static void fill_stream(struct value v, size_t entries) {
    for (size_t i = 1; i <= entries; i++) {
        struct slice texts[] = {any_text(0), any_text(1)};
        assert_true(stream_append(v, (struct stream_id){i, i % 3}, texts, 1));
    }
    for (size_t i = 1; i <= entries; i += 1 + random_below(9))
        stream_delete(v, (struct stream_id){i, i % 3});
    for (unsigned g = 0; g < 3; g++) {
        struct stream_group *group =
            stream_group_create(v, (struct slice){"ab", g}, (struct stream_id){g, 0});
        for (unsigned n = 0; n < g; n++) {
            char name[] = {(char)('a' + n)};
            struct stream_consumer *c =
                stream_consumer_create(v, group, (struct slice){name, 1}, 1000 + n);
            for (size_t i = 1 + n; i <= entries; i += g) {
                struct stream_pending *p =
                    stream_pending_assign(v, group, c, (struct stream_id){i, i % 3});
                p->delivered_msec = (int64_t)i;
                p->deliveries = i * 100;
            }
        }
    }
}

static struct value make(enum value_kind kind, size_t members) {
    struct value v;
    switch (kind) {
    case VALUE_LIST:
        v = list_create();
        while (members-- > 0) quicklist_push(list_of(v), QUICKLIST_TAIL, any_text(0));
        return v;
    case VALUE_SET:
        v = set_create();
        while (members-- > 0) set_add(&v, any_text(0));
        return v;
    case VALUE_HASH:
        v = hash_create();
        while (members-- > 0) hash_set(&v, any_text(0), any_text(1));
        return v;
    case VALUE_ZSET:
        v = zset_create();
        while (members-- > 0)
            zset_set(&v, any_text(0), random_below(2) ? (double)random_below(50) : random_double());
        return v;
    default:
        v = stream_create();
        fill_stream(v, members);
        return v;
    }
}

/* A literal with NULs in it, without the one at its end. */
#define BYTES(literal) ((struct slice){literal, sizeof(literal) - 1})

static const enum value_kind kinds[] = {VALUE_LIST, VALUE_SET, VALUE_HASH, VALUE_ZSET,
                                        VALUE_STREAM};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static void check(enum value_kind kind, struct value v) {
    if (kind == VALUE_LIST) quicklist_check(list_of(v));
    if (kind == VALUE_SET) set_check(v);
    if (kind == VALUE_HASH) hash_check(v);
    if (kind == VALUE_ZSET) zset_check(v);
    if (kind == VALUE_STREAM) stream_check(v);
}

/* Form and value, in steps of `budget` members. */
static void save(struct buffer *out, enum value_kind kind, struct value v, size_t budget) {
    struct buffer_sink b;
    struct save_cursor c = {.budget = budget};
    buffer_sink_init(&b, out);
    saved_write_form(&b.sink, kind, v);
    while (!value_type(kind)->save(v, &c, &b.sink)) c.budget = budget;
    assert_true(sink_flush(&b.sink));
}

/* What is loaded took as many bytes as it was said to; those of a stream nobody says. */
static void check_extent(struct slice bytes, unsigned form, const struct source *in) {
    size_t extent = saved_extent(form, bytes);
    assert_int_equal(extent, form == SAVED_STREAM ? 0 : source_offset(in));
}

/* Of a block of exactly its size, so that a read beyond the end is seen. The value is dropped;
 * with `original`, it must be equal to that. */
static enum value_loaded load(struct slice bytes, const struct value *original) {
    char *exact = memory_alloc(bytes.length, MEMORY_OTHER);
    struct string_value string;
    struct value v = {&string, 0};
    struct buffer store;
    struct source in;
    enum value_kind kind;
    enum value_loaded loaded = VALUE_REFUSED;
    memcpy(exact, bytes.bytes, bytes.length);
    slice_source_init(&in, (struct slice){exact + 1, bytes.length - 1});
    buffer_init(&store, MEMORY_OTHER);
    if (saved_form_kind((unsigned char)exact[0], &kind)) {
        loaded = value_type(kind)->load((unsigned char)exact[0], SLICE(""), &in, &store, &v);
        if (loaded == VALUE_REFUSED) assert_int_not_equal(in.status, SOURCE_GOOD);
        if (loaded == VALUE_LOADED) {
            check_extent((struct slice){exact + 1, bytes.length - 1}, (unsigned char)exact[0], &in);
            check(kind, v);
            if (original) assert_true(digests_equal(kind, *original, v));
            if (original) assert_true(source_at_end(&in));
            value_type(kind)->release(v);
        }
    }
    buffer_free(&store);
    memory_free(exact, MEMORY_OTHER);
    return loaded;
}

/* ---- tests ---- */

static const size_t sizes[] = {1, 2, 7, 128, 129, 513, 3000};

/* Steps of any size write the same bytes, of which the same value is loaded. */
static void test_steps(void **state) {
    for (size_t k = 0; k < KINDS; k++) {
        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
            struct buffer whole, steps;
            struct value v = make(kinds[k], sizes[i]);
            buffer_init(&whole, MEMORY_OTHER);
            buffer_init(&steps, MEMORY_OTHER);
            save(&whole, kinds[k], v, SIZE_MAX);
            save(&steps, kinds[k], v, 1 + random_below(60));
            assert_int_equal(whole.length, steps.length);
            assert_int_equal(saved_bytes(kinds[k], v), whole.length - 1);
            assert_int_equal(load(buffer_slice(&whole), &v), VALUE_LOADED);
            assert_int_equal(load(buffer_slice(&steps), &v), VALUE_LOADED);
            value_type(kinds[k])->release(v);
            buffer_free(&whole);
            buffer_free(&steps);
        }
    }
}

/* All of it, and nothing less; what follows does not count. */
static void test_extents(void **state) {
    for (size_t k = 0; k < KINDS; k++) {
        struct value v = make(kinds[k], 40);
        unsigned form = value_type(kinds[k])->form(v);
        struct buffer bytes;
        buffer_init(&bytes, MEMORY_OTHER);
        save(&bytes, kinds[k], v, SIZE_MAX);
        size_t length = bytes.length - 1, whole = form == SAVED_STREAM ? 0 : length;
        assert_int_equal(saved_extent(form, (struct slice){bytes.bytes + 1, length}), whole);
        for (size_t i = 0; i < length; i++)
            assert_int_equal(saved_extent(form, (struct slice){bytes.bytes + 1, i}), 0);
        buffer_append(&bytes, "more", 4);
        assert_int_equal(saved_extent(form, (struct slice){bytes.bytes + 1, length + 4}), whole);
        value_type(kinds[k])->release(v);
        buffer_free(&bytes);
    }
    /* Scores as texts; numbers, compressed texts, and what is none of them. */
    assert_int_equal(saved_extent(SAVED_ZSET_TEXT, BYTES("\3\1a\1"
                                                         "5\1b\xfe\1c\xfd")),
                     11);
    assert_int_equal(saved_extent(SAVED_STRING, BYTES("\xc2\1\2\3\4")), 5);
    assert_int_equal(saved_extent(SAVED_STRING, BYTES("\xc3\2\5ab")), 5);
    assert_int_equal(saved_extent(SAVED_STRING, BYTES("\xc3\3\5ab")), 0);
    assert_int_equal(saved_extent(SAVED_STRING, BYTES("\xc4\2\5ab")), 0);
    assert_int_equal(saved_extent(SAVED_STRING, BYTES("\x81\xff\xff\xff\xff\xff\xff\xff\xff")), 0);
    assert_int_equal(saved_extent(SAVED_HASH, BYTES("\xbf")), 0);
    assert_true(saved_is_compressed(BYTES("\xc3")));
    assert_false(saved_is_compressed(BYTES("\xc2")));
    assert_false(saved_is_compressed(BYTES("")));
}

/* A save that is given up leaves nothing. */
static void test_given_up(void **state) {
    struct value v = make(VALUE_STREAM, 500);
    struct save_cursor c = {.budget = 20};
    struct buffer out;
    struct buffer_sink b;
    buffer_init(&out, MEMORY_OTHER);
    buffer_sink_init(&b, &out);
    assert_false(value_type(VALUE_STREAM)->save(v, &c, &b.sink));
    save_cursor_end(&c);
    assert_true(sink_flush(&b.sink));
    buffer_free(&out);
    stream_free(v);
}

/* Saves in steps of a weight that is small beside one member. */
static size_t count_steps(enum value_kind kind, struct value v, bool as_commands, size_t *most) {
    struct save_cursor c = {0};
    struct buffer out;
    struct buffer_sink b;
    size_t steps = 0;
    bool all;
    buffer_init(&out, MEMORY_OTHER);
    buffer_sink_init(&b, &out);
    *most = 0;
    do {
        uint64_t before = sink_written(&b.sink);
        c.budget = 128;
        all = as_commands ? value_type(kind)->rewrite(v, SLICE("key"), &c, &b.sink)
                          : value_type(kind)->save(v, &c, &b.sink);
        if (sink_written(&b.sink) - before > *most) *most = sink_written(&b.sink) - before;
        steps++;
    } while (!all);
    assert_true(sink_flush(&b.sink));
    buffer_free(&out);
    return steps;
}

#define LONG_TEXT_BYTES 100000

/* The caller's, of LONG_TEXT_BYTES. */
static char *random_text(void) {
    char *text = memory_alloc(LONG_TEXT_BYTES, MEMORY_OTHER);
    for (size_t i = 0; i < LONG_TEXT_BYTES; i++) text[i] = (char)random_u64();
    return text;
}

/* A step ends behind the member with which it has its weight of bytes. */
static void test_step_counts_bytes(void **state) {
    enum { COUNT = 100 };
    char *text = random_text();
    size_t most;
    struct value list = list_create(), stream = stream_create();
    for (unsigned i = 1; i <= COUNT; i++) {
        memcpy(text, &i, sizeof(i));
        struct slice pair[] = {SLICE("field"), {text, LONG_TEXT_BYTES}};
        quicklist_push(list_of(list), QUICKLIST_TAIL, pair[1]);
        assert_true(stream_append(stream, (struct stream_id){i, 0}, pair, 1));
    }
    for (int as_commands = 0; as_commands < 2; as_commands++) {
        assert_true(count_steps(VALUE_LIST, list, as_commands, &most) >= COUNT);
        assert_true(most < 2 * LONG_TEXT_BYTES);
        assert_true(count_steps(VALUE_STREAM, stream, as_commands, &most) >= COUNT);
        assert_true(most < 2 * LONG_TEXT_BYTES);
    }
    value_type(VALUE_LIST)->release(list);
    stream_free(stream);
    memory_free(text, MEMORY_OTHER);
}

/* So do consumers of long names, and what is pending for them where it is told by commands. */
static void test_step_counts_names(void **state) {
    enum { COUNT = 100 };
    char *name = random_text();
    size_t most;
    struct value v = stream_create();
    struct slice pair[] = {SLICE("field"), SLICE("text")};
    struct stream_group *g = stream_group_create(v, SLICE("group"), (struct stream_id){0, 0});
    for (unsigned i = 1; i <= COUNT; i++) {
        memcpy(name, &i, sizeof(i));
        assert_true(stream_append(v, (struct stream_id){i, 0}, pair, 1));
        struct stream_consumer *c =
            stream_consumer_create(v, g, (struct slice){name, LONG_TEXT_BYTES}, 1000);
        stream_pending_assign(v, g, c, (struct stream_id){i, 0});
    }
    for (int as_commands = 0; as_commands < 2; as_commands++) {
        assert_true(count_steps(VALUE_STREAM, v, as_commands, &most) >= COUNT);
        assert_true(most < 2 * LONG_TEXT_BYTES);
    }
    stream_free(v);
    memory_free(name, MEMORY_OTHER);
}

static void damage(struct buffer *bytes) {
    for (size_t n = 1 + random_below(3); n > 0; n--) {
        size_t at = random_below(bytes->length);
        switch (random_below(4)) {
        case 0: bytes->bytes[at] = (char)random_u64(); break;
        case 1: bytes->bytes[at] = (char)0xff; break;
        case 2: bytes->bytes[at] ^= (char)(1 << random_below(8)); break;
        default: bytes->length = at + 1; break;
        }
    }
}

static void test_damaged(void **state) {
    size_t refused = 0, rounds = 4000;
    seed_from_environment();
    for (size_t i = 0; i < rounds; i++) {
        enum value_kind kind = kinds[random_below(KINDS)];
        struct value v = make(kind, 1 + random_below(40));
        struct buffer bytes;
        buffer_init(&bytes, MEMORY_OTHER);
        save(&bytes, kind, v, SIZE_MAX);
        value_type(kind)->release(v);
        damage(&bytes);
        refused += load(buffer_slice(&bytes), NULL) == VALUE_REFUSED;
        buffer_free(&bytes);
    }
    assert_in_range(refused, rounds / 4, rounds);
}

struct vector {
    const char *hex; /* as DUMP of Redis 6.2.16 gave it, or made by hand, without the tail */
    enum value_loaded loaded;
};

static const struct vector vectors[] = {
    {"000d31323334353637383930313233", VALUE_LOADED},
    {"00c3091e017878e01100017878", VALUE_LOADED},
    {"0c10100000000d000000020000016d03f1ff", VALUE_LOADED},
    {"0cc31a2304230000000d20030a020000016d0313302e3130e005000131ff", VALUE_LOADED},
    {"0c14140000000d000000020000016d03042d696e66ff", VALUE_LOADED},
    {"0502016200000000000000400161000000000000f03f", VALUE_LOADED},
    {"020101", VALUE_REFUSED},
    {"0201 0161", VALUE_LOADED},
    {"0200", VALUE_EMPTY},
    {"02020161 0161", VALUE_REFUSED}, /* twice */
    {"04010166c3094046017676e039000176 76", VALUE_LOADED},
    {"0401016601760400", VALUE_LOADED},
    {"04020166017601660177", VALUE_REFUSED},
    {"0301016103312e35", VALUE_LOADED}, /* scores as texts */
    {"03010161fe", VALUE_LOADED},
    {"03010161fd", VALUE_REFUSED}, /* not a number */
    {"0501016100000000 0000f87f", VALUE_REFUSED},
    {"0902", VALUE_REFUSED},
    {"0909010161010062ffff", VALUE_REFUSED},
    {"09070101610100 62ff", VALUE_LOADED}, /* a zipmap */
    {"0b0c020000000200000001000200", VALUE_LOADED},
    {"0b0c020000000200000002000100", VALUE_REFUSED}, /* out of order */
    {"0b080200000000000000", VALUE_EMPTY},
    {"0a0b0b0000000a0000000000ff", VALUE_EMPTY},
    {"0e010b0b0000000a0000000000ff", VALUE_EMPTY},
    {"0d0b0b0000000a0000000000ff", VALUE_EMPTY},
    {"0d0e0e0000000a000000010000016dff", VALUE_REFUSED},               /* a field without a value */
    {"0d151500000012000000040000016d03f202016d03f3ff", VALUE_REFUSED}, /* a field twice */
    {"0c151500000012000000040000016d03f202016d03f3ff", VALUE_REFUSED}, /* a member twice */
    {"0c151500000012000000040000016d03f202016e03f3ff", VALUE_LOADED},
    {"0e81ffffffffffffffff", VALUE_REFUSED},
    {"0280ffffffff", VALUE_REFUSED},
    {"00817fffffffffffffff61", VALUE_REFUSED},
    {"00c301807fffffff00", VALUE_REFUSED}, /* more than its bytes can hold */
    {"00c4", VALUE_REFUSED},
    {"0082", VALUE_REFUSED},
    {"06", VALUE_REFUSED},
    {"08", VALUE_REFUSED},
    {"0f0000000000", VALUE_LOADED}, /* a stream without anything */
    {"0f0110000000000000000100000000000000011d1d0000000a000101000101018166020001020100"
     "0100018176020401ff01010101016701010100000000000000010000000000000001884efd02a201"
     "000001010163884efd02a20100000100000000000000010000000000000001",
     VALUE_LOADED},
    {"0f0110000000000000000100000000000000011d1d0000000a000101000101018166020001020100"
     "0100018176020401ff01010101016701010100000000000000010000000000000001884efd02a201"
     "000001010163884efd02a201000001000000000000000100000000000000",
     VALUE_REFUSED},
};

static unsigned digit(char c) { return (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10); }

static void test_vectors(void **state) {
    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        char bytes[512];
        size_t length = 0, half = 0;
        for (const char *h = vectors[i].hex; *h; h++) {
            if (*h == ' ') continue;
            bytes[length] = (char)(half++ % 2 ? bytes[length] << 4 | digit(*h) : digit(*h));
            if (half % 2 == 0) length++;
        }
        enum value_loaded loaded = load((struct slice){bytes, length}, NULL);
        if (loaded != vectors[i].loaded) fail_msg("%s: %d", vectors[i].hex, loaded);
    }
}

/* ---- lengths that are not to be believed ---- */

static bool read_text(struct source *in, struct buffer *store) {
    struct slice text;
    return saved_read_text(in, store, &text);
}
static bool read_kept(struct source *in, struct buffer *store) {
    struct slice text;
    return saved_read_kept(in, store, &text);
}
static bool read_string(struct source *in, struct buffer *store) {
    struct slice text;
    struct blob *blob;
    int64_t integer;
    bool good = saved_read_string(in, store, &text, &blob, &integer);
    if (good) blob_free(blob, MEMORY_DATASET);
    return good;
}
static bool read_count_of_pairs(struct source *in, struct buffer *store) {
    uint64_t count;
    return saved_read_count(in, 2, &count);
}

#define TOO_LONG "a text is longer than its file"
#define IMPOSSIBLE "a compressed text of an impossible length"
#define DAMAGED "compressed bytes are damaged"

/* Refused for this reason, before room is made for what is only stated. */
static const struct {
    bool (*read)(struct source *in, struct buffer *store);
    const char *bytes;
    size_t length;
    const char *reason;
} claims[] = {
    {read_text,
     "\x05"
     "abcd",
     5, TOO_LONG},
    {read_text,
     "\x80\xff\xff\xff\xff"
     "a",
     6, TOO_LONG},
    {read_kept,
     "\x80\xff\xff\xff\xff"
     "a",
     6, TOO_LONG},
    {read_string,
     "\x81\x7f\xff\xff\xff\xff\xff\xff\xff"
     "a",
     10, TOO_LONG},
    {read_text,
     "\xc3\x05\x06"
     "\x02"
     "abc",
     7, TOO_LONG},
    {read_text,
     "\xc3\x01\x80\x7f\xff\xff\xff"
     "a",
     8, IMPOSSIBLE},
    {read_text,
     "\xc3\x01\x81\x00\x00\x00\x01\x00\x00\x00\x00"
     "a",
     12, IMPOSSIBLE},
    {read_string,
     "\xc3\x01\x80\x7f\xff\xff\xff"
     "a",
     8, IMPOSSIBLE},
    {read_text,
     "\xc3\x04\x04"
     "\x02"
     "abc",
     7, DAMAGED}, /* it is three bytes */
    {read_text,
     "\xc3\x04\x02"
     "\x02"
     "abc",
     7, DAMAGED},
    {read_string,
     "\xc3\x04\x04"
     "\x02"
     "abc",
     7, DAMAGED},
    {read_count_of_pairs,
     "\x03"
     "abcd",
     5, "more members than there are bytes"},
    {read_count_of_pairs,
     "\x81\xff\xff\xff\xff\xff\xff\xff\xff"
     "a",
     10, "more members than there are bytes"},
    {read_count_of_pairs, "\xc0\x01", 2, "a text where a length should be"},
};

static void test_claims(void **state) {
    for (size_t i = 0; i < sizeof(claims) / sizeof(claims[0]); i++) {
        struct buffer store = {.class = MEMORY_OTHER};
        struct source in;
        slice_source_init(&in, (struct slice){claims[i].bytes, claims[i].length});
        assert_false(claims[i].read(&in, &store));
        assert_int_equal(in.status, SOURCE_CORRUPT);
        assert_string_equal(in.reason, claims[i].reason);
        assert_true(store.capacity < 1000);
        buffer_free(&store);
    }
}

/* As many as there is room for. */
static void test_claims_that_hold(void **state) {
    static const struct slice counts =
                                  {"\x02"
                                   "abcd",
                                   5},
                              texts = {
                                  "\x04"
                                  "abcd",
                                  5};
    struct buffer store = {.class = MEMORY_OTHER};
    struct source in;
    slice_source_init(&in, counts);
    assert_true(read_count_of_pairs(&in, &store));
    slice_source_init(&in, texts);
    assert_true(read_text(&in, &store));
    buffer_free(&store);
}

/* However large the options let a compact form become, it is no larger than what is loaded. */
static void test_largest_listpacks(void **state) {
    enum { ELEMENT_BYTES = 16 << 20, ELEMENTS = SAVED_LISTPACK_BYTES_MAX / ELEMENT_BYTES };
    struct value hash = hash_create(), zset = zset_create();
    char *bytes = memory_zalloc(ELEMENT_BYTES, MEMORY_OTHER);
    set_option("hash-max-ziplist-value", "1gb");
    set_option("zset-max-ziplist-value", "1gb");
    for (int i = 0; i < ELEMENTS; i++) {
        assert_string_equal(encoding_of(VALUE_HASH, hash), "ziplist");
        assert_string_equal(encoding_of(VALUE_ZSET, zset), "ziplist");
        bytes[0] = (char)i;
        hash_set(&hash, (struct slice){bytes, 1}, (struct slice){bytes, ELEMENT_BYTES});
        zset_set(&zset, (struct slice){bytes, ELEMENT_BYTES}, i);
    }
    assert_string_equal(encoding_of(VALUE_HASH, hash), "hashtable");
    assert_string_equal(encoding_of(VALUE_ZSET, zset), "skiplist");
    hash_free(hash);
    zset_free(zset);
    memory_free(bytes, MEMORY_OTHER);
    set_option("hash-max-ziplist-value", "64");
    set_option("zset-max-ziplist-value", "64");
}

#define LARGE_BYTES 200000

static bool refuse_large(size_t size) { return size >= LARGE_BYTES; }

/* Where the system has no memory for a text it is refused, whatever reads it. */
static void test_no_memory(void **state) {
    bool (*const reads[])(struct source *, struct buffer *) = {read_string, read_kept, read_text};
    char *text = memory_zalloc(LARGE_BYTES, MEMORY_OTHER);
    struct buffer plain = {.class = MEMORY_OTHER}, packed = {.class = MEMORY_OTHER};
    struct buffer_sink b;
    buffer_sink_init(&b, &plain);
    saved_write_length(&b.sink, LARGE_BYTES);
    sink_write(&b.sink, text, LARGE_BYTES);
    buffer_sink_end(&b);
    buffer_sink_init(&b, &packed);
    saved_write_text(&b.sink, (struct slice){text, LARGE_BYTES});
    buffer_sink_end(&b);
    assert_true(saved_is_compressed(buffer_slice(&packed)));
    for (size_t i = 0; i < 5; i++) { /* read_text takes what is not compressed where it stands */
        bool is_packed = i >= 2;
        struct buffer store = {.class = MEMORY_OTHER};
        struct source in;
        for (int refuses = 1; refuses >= 0; refuses--) {
            slice_source_init(&in, buffer_slice(is_packed ? &packed : &plain));
            memory_set_refusal(refuses ? refuse_large : NULL);
            assert_int_equal(reads[is_packed ? i - 2 : i](&in, &store), !refuses);
            memory_set_refusal(NULL);
            if (refuses) assert_string_equal(source_fault(&in), "there is no memory for a text");
        }
        buffer_free(&store);
    }
    buffer_free(&plain);
    buffer_free(&packed);
    memory_free(text, MEMORY_OTHER);
}

static int end_texts(void **state) {
    buffer_free(&text_storage[0]);
    buffer_free(&text_storage[1]);
    return 0;
}

int main(void) {
    value_register();
    buffer_init(&text_storage[0], MEMORY_OTHER);
    buffer_init(&text_storage[1], MEMORY_OTHER);
    const struct CMUnitTest tests[] = {
        TEST(test_steps),
        TEST(test_extents),
        TEST(test_given_up),
        TEST(test_step_counts_bytes),
        TEST(test_step_counts_names),
        TEST(test_damaged),
        TEST(test_vectors),
        TEST(test_claims),
        TEST(test_claims_that_hold),
        TEST(test_largest_listpacks),
        TEST(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, end_texts);
}
