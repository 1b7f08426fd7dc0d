/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of net/request: requests and protocol errors, whole and in every splitting, and the
 * parser's statuses one by one.
 *
 * SEED=n runs the same random choices again; each run prints its seed. Errors are facts of 6.2
 * (/work/shared/compat/errors.tsv), without "Protocol error: ", which the caller puts before them.
 */
#include "net/request.h"

#include "base/seed.h"
#include "net/feeder.h"

#define BULK_MAX (512 * 1024 * 1024)

struct sample {
    struct slice input;
    const char *record;
    bool authenticated;
};
#define AUTHENTICATED(literal, record) \
    { {(literal), sizeof(literal) - 1}, (record), true }
#define UNAUTHENTICATED(literal, record) \
    { {(literal), sizeof(literal) - 1}, (record), false }

static const struct sample samples[] = {
    AUTHENTICATED("*1\r\n$4\r\nPING\r\n", "\"PING\"\n"),
    AUTHENTICATED("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$0\r\n\r\n", "\"SET\" \"k\" \"\"\n"),
    AUTHENTICATED("*2\r\n$3\r\nGET\r\n$10\r\n0123456789\r\n*1\r\n$4\r\nPING\r\n",
                  "\"GET\" \"0123456789\"\n\"PING\"\n"),
    AUTHENTICATED("*2\r\n$3\r\nGET\r\n$5\r\n\r\n\0$1\r\n", "\"GET\" \"\\r\\n\\x00$1\"\n"),
    AUTHENTICATED(
        "*12\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\nc\r\n$1\r\nd\r\n$1\r\ne\r\n$1\r\nf\r\n$1\r\ng\r\n"
        "$1\r\nh\r\n$1\r\ni\r\n$1\r\nj\r\n$1\r\nk\r\n$1\r\nl\r\n",
        "\"a\" \"b\" \"c\" \"d\" \"e\" \"f\" \"g\" \"h\" \"i\" \"j\" \"k\" \"l\"\n"),
    AUTHENTICATED("*0\r\n*1\r\n$4\r\nPING\r\n", "empty\n\"PING\"\n"),
    AUTHENTICATED("*-1\r\n*-9223372036854775808\r\n*1\r\n$4\r\nPING\r\n",
                  "empty\nempty\n\"PING\"\n"),
    AUTHENTICATED("\r\n\r\nPING\r\n", "empty\nempty\n\"PING\"\n"),
    AUTHENTICATED("PING\n", "\"PING\"\n"),
    AUTHENTICATED("\n  \t \nPING  x \n", "empty\nempty\n\"PING\" \"x\"\n"),
    AUTHENTICATED("\0\r\nPING\r\n", "empty\n\"PING\"\n"),
    AUTHENTICATED("SET k \"a\\x41\\n\\\"\"\r\n", "\"SET\" \"k\" \"aA\\n\\\"\"\n"),
    AUTHENTICATED("SET k 'a\\x41 \\'b\"' \"\"\r\n", "\"SET\" \"k\" \"a\\\\x41 'b\\\"\" \"\"\n"),
    AUTHENTICATED("PING\r\n*1\r\n$4\r\nPING\r\nGET a\n", "\"PING\"\n\"PING\"\n\"GET\" \"a\"\n"),
    AUTHENTICATED("GET / HTTP/1.1\r\nHost: x\r\n\r\n",
                  "\"GET\" \"/\" \"HTTP/1.1\"\n\"Host:\" \"x\"\nempty\n"),
    /* The two bytes behind an argument, and the one behind a header's '\r', are not looked at. */
    AUTHENTICATED("*2\r\n$4\r\nECHO\r\n$3\r\nabcXXPING\r\n", "\"ECHO\" \"abc\"\n\"PING\"\n"),
    AUTHENTICATED("*1\rx$4\rxPINGxx", "\"PING\"\n"),
    AUTHENTICATED("PING\r\n*1048577\r\n", "\"PING\"\nerror: invalid multibulk length\n"),
    AUTHENTICATED("*2147483648\r\n", "error: invalid multibulk length\n"),
    AUTHENTICATED("*abc\r\n", "error: invalid multibulk length\n"),
    AUTHENTICATED("*\r\n", "error: invalid multibulk length\n"),
    AUTHENTICATED("*01\r\n", "error: invalid multibulk length\n"),
    AUTHENTICATED("*+1\r\n", "error: invalid multibulk length\n"),
    AUTHENTICATED("*1 \r\n", "error: invalid multibulk length\n"),
    AUTHENTICATED("*9223372036854775808\r\n", "error: invalid multibulk length\n"),
    AUTHENTICATED("*1\r\nfoo\r\n", "error: expected '$', got 'f'\n"),
    AUTHENTICATED("*1\r\n+PING\r\n", "error: expected '$', got '+'\n"),
    AUTHENTICATED("*3\r\n$3\r\nSET\r\n$1\r\nx\r\nfooz\r\n", "error: expected '$', got 'f'\n"),
    AUTHENTICATED("*1\r\n\r\n", "error: expected '$', got '\r'\n"),
    AUTHENTICATED("*1\r\n$x\r\n", "error: invalid bulk length\n"),
    AUTHENTICATED("*1\r\n$\r\n", "error: invalid bulk length\n"),
    AUTHENTICATED("*1\r\n$-1\r\n", "error: invalid bulk length\n"),
    AUTHENTICATED("*1\r\n$-2\r\n", "error: invalid bulk length\n"),
    AUTHENTICATED("*1\r\n$00\r\n", "error: invalid bulk length\n"),
    AUTHENTICATED("*1\r\n$536870913\r\n", "limit: invalid bulk length\n"),
    AUTHENTICATED("*1\r\n$2147483648\r\n", "limit: invalid bulk length\n"),
    AUTHENTICATED("SET a \"unbalanced\r\n", "error: unbalanced quotes in request\n"),
    AUTHENTICATED("SET a 'x'y\r\n", "error: unbalanced quotes in request\n"),
    AUTHENTICATED("SET a \"x\"y\r\n", "error: unbalanced quotes in request\n"),
    UNAUTHENTICATED("*10\r\n$1\r\na\r\n", ""),
    UNAUTHENTICATED("PING\r\n*11\r\n", "\"PING\"\nlimit: unauthenticated multibulk length\n"),
    UNAUTHENTICATED("*1\r\n$16385\r\n", "limit: unauthenticated bulk length\n"),
    UNAUTHENTICATED("*1\r\n$16384\r\nabc", ""),
    UNAUTHENTICATED("*1048577\r\n", "error: invalid multibulk length\n"),
    UNAUTHENTICATED("*1\r\n$536870913\r\n", "limit: invalid bulk length\n"),
    UNAUTHENTICATED("a b c d e f g h i j\n",
                    "\"a\" \"b\" \"c\" \"d\" \"e\" \"f\" \"g\" \"h\" \"i\" \"j\"\n"),
    UNAUTHENTICATED("PING\na b c d e f g h i j k\n",
                    "\"PING\"\nlimit: unauthenticated multibulk length\n"),
};
#define SAMPLES (sizeof(samples) / sizeof(samples[0]))

/* ---- Splittings ---- */

static void assert_record(const struct feeder *f, const char *wanted, struct slice input) {
    struct slice got = buffer_slice(&f->record);
    if (slice_equal(got, slice_of(wanted))) return;
    fail_msg("input: %.*s\nwanted: %s\ngot: %.*s", (int)input.length, input.bytes, wanted,
             (int)got.length, got.bytes);
}

static struct feeder feeder_for(const struct sample *sample) {
    struct feeder f;
    feeder_begin(&f, sample->authenticated, BULK_MAX);
    f.room_at_once = random_below(2);
    return f;
}

static void test_whole(void **state) {
    for (size_t i = 0; i < SAMPLES; i++) {
        struct feeder f = feeder_for(&samples[i]);
        feeder_bytes(&f, samples[i].input.bytes, samples[i].input.length);
        assert_record(&f, samples[i].record, samples[i].input);
        feeder_end(&f);
    }
}

static void test_byte_by_byte(void **state) {
    for (size_t i = 0; i < SAMPLES; i++) {
        struct feeder f = feeder_for(&samples[i]);
        for (size_t at = 0; at < samples[i].input.length; at++)
            feeder_bytes(&f, samples[i].input.bytes + at, 1);
        assert_record(&f, samples[i].record, samples[i].input);
        feeder_end(&f);
    }
}

/* Every pair of places to split at, empty pieces among them. */
static void test_three_pieces(void **state) {
    for (size_t i = 0; i < SAMPLES; i++) {
        const char *bytes = samples[i].input.bytes;
        size_t length = samples[i].input.length;
        for (size_t first = 0; first <= length; first++) {
            for (size_t second = first; second <= length; second++) {
                struct feeder f = feeder_for(&samples[i]);
                feeder_bytes(&f, bytes, first);
                feeder_bytes(&f, bytes + first, second - first);
                feeder_bytes(&f, bytes + second, length - second);
                assert_record(&f, samples[i].record, samples[i].input);
                feeder_end(&f);
            }
        }
    }
}

/* ---- Random pipelines ---- */

static void random_word(struct buffer *word) {
    buffer_clear(word);
    size_t length = random_below(random_below(8) ? 12 : 3000);
    for (size_t i = 0; i < length; i++) buffer_append_char(word, (char)random_u64());
}

/* Appends a request in one of its forms to `input`, and what must come of it to `record`. */
static void add_request(struct buffer *input, struct buffer *record, struct buffer *word) {
    bool in_line = random_below(4) == 0;
    /* A line must not become too long, in quoted form. */
    size_t words = 1 + random_below(in_line || random_below(4) ? 4 : 60);
    if (!in_line) buffer_printf(input, "*%zu\r\n", words);
    for (size_t i = 0; i < words; i++) {
        random_word(word);
        if (i) buffer_append_char(record, ' ');
        buffer_append_quoted(record, buffer_slice(word));
        if (in_line) {
            if (i) buffer_append_char(input, ' ');
            buffer_append_quoted(input, buffer_slice(word));
        } else {
            buffer_printf(input, "$%zu\r\n", word->length);
            buffer_append(input, word->bytes, word->length);
            buffer_append_c_string(input, "\r\n");
        }
    }
    if (in_line) buffer_append_c_string(input, random_below(2) ? "\n" : "\r\n");
    buffer_append_char(record, '\n');
}

static void test_random_pipelines(void **state) {
    struct buffer input, record, word;
    buffer_init(&input, MEMORY_OTHER);
    buffer_init(&record, MEMORY_OTHER);
    buffer_init(&word, MEMORY_OTHER);
    for (int round = 0; round < 200; round++) {
        buffer_clear(&input);
        buffer_clear(&record);
        buffer_append_c_string(&record, "");
        for (size_t i = 0, count = 1 + random_below(12); i < count; i++)
            add_request(&input, &record, &word);
        struct feeder f = feeder_for(&samples[0]);
        size_t longest = 1 + random_below(random_below(2) ? 40 : 4000);
        for (size_t at = 0, piece; at < input.length; at += piece) {
            piece = 1 + random_below(longest);
            if (piece > input.length - at) piece = input.length - at;
            feeder_bytes(&f, input.bytes + at, piece);
        }
        assert_record(&f, record.bytes, buffer_slice(&input));
        feeder_end(&f);
    }
    buffer_free(&input);
    buffer_free(&record);
    buffer_free(&word);
}

/* ---- Lines that are too long ---- */

static char *filled(const char *head, char fill, size_t length) {
    char *text = memory_alloc(length, MEMORY_OTHER);
    size_t head_length = strlen(head);
    memcpy(text, head, head_length);
    memset(text + head_length, fill, length - head_length);
    return text;
}

/* `before` are the bytes of the input that do not belong to the line. Up to the limit the parser
 * waits for more, beyond it it does not. */
static void check_too_big(const char *head, size_t before, char fill, const char *record) {
    size_t length = before + REQUEST_INLINE_BYTES_MAX;
    char *text = filled(head, fill, length + 1);
    struct feeder f = feeder_for(&samples[0]);
    for (size_t at = 0; at < length; at += 16384)
        feeder_bytes(&f, text + at, length - at < 16384 ? length - at : 16384);
    assert_false(f.ended);
    assert_int_equal(f.record.length, 0);
    feeder_bytes(&f, text + length, 1);
    assert_record(&f, record, SLICE(""));
    feeder_end(&f);
    memory_free(text, MEMORY_OTHER);
}

static void test_lines_too_big(void **state) {
    check_too_big("x", 0, 'x', "error: too big inline request\n");
    check_too_big("*1", 0, '1', "error: too big mbulk count string\n");
    check_too_big("*1\r\n$1", 4, '1', "error: too big bulk count string\n");
}

/* ---- Statuses ---- */

static void test_limit_is_lifted(void **state) {
    struct slice argv[16];
    struct request_parser p = {.argv = argv, .capacity = 16, .bulk_max = BULK_MAX};
    struct buffer storage = {.class = MEMORY_OTHER};
    static const char many[] = "*11\r\n$1\r\na\r\n", large[] = "*1\r\n$16385\r\nab";
    const char *cursor = many;
    request_parser_reset(&p);
    assert_int_equal(request_parse(&p, &cursor, many + sizeof(many) - 1, &storage), REQUEST_LIMIT);
    assert_ptr_equal(cursor, many);
    p.authenticated = true;
    assert_int_equal(request_parse(&p, &cursor, many + sizeof(many) - 1, &storage),
                     REQUEST_INCOMPLETE);
    assert_int_equal(p.argc, 1);

    request_parser_reset(&p);
    p.authenticated = false;
    cursor = large;
    assert_int_equal(request_parse(&p, &cursor, large + sizeof(large) - 1, &storage),
                     REQUEST_LIMIT);
    assert_ptr_equal(cursor, large + 4);
    p.authenticated = true;
    assert_int_equal(request_parse(&p, &cursor, large + sizeof(large) - 1, &storage),
                     REQUEST_INCOMPLETE);
    assert_int_equal(p.bulk_length, 16385);
    assert_ptr_equal(cursor, large + 12);
}

static void test_room(void **state) {
    struct slice argv[3];
    struct request_parser p = {.argv = argv, .capacity = 2, .bulk_max = BULK_MAX};
    struct buffer storage = {.class = MEMORY_OTHER};
    static const char array[] = "*3\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\nc\r\n", line[] = "d \"e\" f\n";
    const char *cursor = array, *end = array + sizeof(array) - 1;
    request_parser_reset(&p);
    assert_int_equal(request_parse(&p, &cursor, end, &storage), REQUEST_ROOM);
    assert_int_equal(p.room, 3);
    assert_int_equal(request_parse(&p, &cursor, end, &storage), REQUEST_ROOM);
    p.capacity = 3;
    assert_int_equal(request_parse(&p, &cursor, end, &storage), REQUEST_READY);
    assert_ptr_equal(cursor, end);
    assert_int_equal(p.argc, 3);

    /* An inline request begins anew; its words must not stand in the storage twice. */
    request_parser_reset(&p);
    p.capacity = 2;
    cursor = line;
    end = line + sizeof(line) - 1;
    assert_int_equal(request_parse(&p, &cursor, end, &storage), REQUEST_ROOM);
    assert_ptr_equal(cursor, line);
    assert_int_equal(p.room, 3);
    assert_int_equal(storage.length, 0);
    p.capacity = 3;
    assert_int_equal(request_parse(&p, &cursor, end, &storage), REQUEST_READY);
    assert_int_equal(storage.length, 6);
    assert_true(slice_equal(argv[2], SLICE("f")));
    buffer_free(&storage);
}

/* Whatever the limit that is set, an argument's length has 32 bits. */
static void test_largest_bulk(void **state) {
    static const struct {
        const char *const text;
        enum request_status status;
    } cases[] = {{"*1\r\n$4294967295\r\nabc\r\n", REQUEST_INCOMPLETE},
                 {"*1\r\n$4294967296\r\nabc\r\n", REQUEST_LIMIT},
                 {"*1\r\n$9223372036854775807\r\nabc\r\n", REQUEST_LIMIT}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct slice argv[1];
        struct request_parser p = {
            .argv = argv, .capacity = 1, .authenticated = true, .bulk_max = INT64_MAX};
        struct buffer storage = {.class = MEMORY_OTHER};
        const char *cursor = cases[i].text, *end = cursor + strlen(cursor);
        request_parser_reset(&p);
        assert_int_equal(request_parse(&p, &cursor, end, &storage), cases[i].status);
        assert_true(i > 0 || p.bulk_length == UINT32_MAX);
    }
}

/* ---- canonical bytes ---- */

#define WORDS_MAX 12
#define WORD_BYTES_MAX 1000

/* What anybody would write for these words. */
static void encode(struct buffer *out, int argc, const struct slice *argv) {
    buffer_printf(out, "*%d\r\n", argc);
    for (int i = 0; i < argc; i++) {
        buffer_printf(out, "$%zu\r\n", argv[i].length);
        buffer_append(out, argv[i].bytes, argv[i].length);
        buffer_append(out, "\r\n", 2);
    }
}

/* Whether the request at the beginning of these bytes is canonical; -1 where there is none. The
 * bytes stand in a block of their own, so that whoever reads beyond them is found. */
static int canonical(const char *text, size_t length) {
    struct slice argv[WORDS_MAX];
    struct request_parser p = {
        .argv = argv, .capacity = WORDS_MAX, .authenticated = true, .bulk_max = BULK_MAX};
    struct buffer storage = {.class = MEMORY_OTHER}, expected = {.class = MEMORY_OTHER};
    char *bytes = malloc(length);
    memcpy(bytes, text, length);
    const char *cursor = bytes;
    int found = -1;
    request_parser_reset(&p);
    if (request_parse(&p, &cursor, bytes + length, &storage) == REQUEST_READY && p.argc) {
        struct slice sent = {bytes, (size_t)(cursor - bytes)};
        found = request_is_canonical(sent, p.argc, argv);
        encode(&expected, p.argc, argv);
        assert_int_equal(found, slice_equal(buffer_slice(&expected), sent));
    }
    buffer_free(&storage);
    buffer_free(&expected);
    free(bytes);
    return found;
}

static int canonical_text(const char *text) { return canonical(text, strlen(text)); }

static void test_canonical(void **state) {
    assert_int_equal(canonical_text("*1\r\n$4\r\nPING\r\n"), true);
    assert_int_equal(canonical_text("*2\r\n$0\r\n\r\n$10\r\n0123456789\r\nrest"), true);
    assert_int_equal(canonical_text("PING\r\n"), false);
    assert_int_equal(canonical_text("*1\rx$4\r\nPING\r\n"), false);
    assert_int_equal(canonical_text("*1\r\n$4\rxPING\r\n"), false);
    assert_int_equal(canonical_text("*1\r\n$4\r\nPINGx\n"), false);
    assert_int_equal(canonical_text("*1\r\n$4\r\nPING\rx"), false);
    assert_int_equal(canonical_text("*1\r\n$4\r\nPIN"), -1);
}

/* Random words, as they are written and with one byte changed: where that is still a request, its
 * bytes are canonical exactly if its words give them again. */
static void test_canonical_at_random(void **state) {
    static const size_t lengths[] = {0, 1, 9, 10, 11, 99, 100, 101, 999, WORD_BYTES_MAX};
    char letters[WORD_BYTES_MAX];
    memset(letters, 'x', sizeof(letters));
    for (int round = 0; round < 300; round++) {
        struct slice argv[WORDS_MAX];
        struct buffer text = {.class = MEMORY_OTHER};
        int argc = 1 + (int)random_below(WORDS_MAX);
        for (int i = 0; i < argc; i++)
            argv[i] = (struct slice){letters,
                                     lengths[random_below(sizeof(lengths) / sizeof(lengths[0]))]};
        encode(&text, argc, argv);
        assert_int_equal(canonical(text.bytes, text.length), true);
        for (int change = 0; change < 20; change++) {
            static const char others[] = "\r\n$*0123456789x+- ";
            char *at = &text.bytes[random_below(text.length)], was = *at;
            *at = others[random_below(sizeof(others) - 1)];
            (void)canonical(text.bytes, text.length);
            *at = was;
        }
        buffer_free(&text);
    }
}

static int begin(void **state) {
    seed_from_environment();
    return 0;
}

static int nothing_left(void **state) {
    assert_int_equal(memory_used(MEMORY_OTHER), 0);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole),         cmocka_unit_test(test_byte_by_byte),
        cmocka_unit_test(test_three_pieces),  cmocka_unit_test(test_random_pipelines),
        cmocka_unit_test(test_lines_too_big), cmocka_unit_test(test_limit_is_lifted),
        cmocka_unit_test(test_room),          cmocka_unit_test(test_largest_bulk),
        cmocka_unit_test(test_canonical),     cmocka_unit_test(test_canonical_at_random),
    };
    return cmocka_run_group_tests(tests, begin, nothing_left);
}
