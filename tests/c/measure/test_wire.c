/* SPDX-License-Identifier: BSD-3-Clause
 * The load's reader of replies finds the same replies however the bytes are cut into pieces.
 */
#include "../../measure/wire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "../../measure/wire.c"

static const char replies[] =
    "+OK\r\n$-1\r\n$3\r\na\r\n\r\n:0\r\n:12\r\n-OOM command\r\n-ERR no\r\n$0\r\n\r\n_\r\n+\r\n"
    "*3\r\n$2\r\n*1\r\n:0\r\n$-1\r\n*-1\r\n*0\r\n*2\r\n*2\r\n+a\r\n-WRONGTYPE b\r\n:1\r\n:0\r\n";
static const enum reply_kind kinds[] = {REPLY_OK,  REPLY_NIL,   REPLY_OK, REPLY_ZERO,  REPLY_OK,
                                        REPLY_OOM, REPLY_ERROR, REPLY_OK, REPLY_NIL,   REPLY_OK,
                                        REPLY_OK,  REPLY_NIL,   REPLY_OK, REPLY_ERROR, REPLY_ZERO};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static void read_in_pieces(size_t piece) {
    struct reply_reader reader = {0};
    size_t found = 0, length = sizeof(replies) - 1;
    for (size_t begin = 0; begin < length; begin += piece) {
        const char *at = replies + begin;
        const char *end = replies + (begin + piece < length ? begin + piece : length);
        while (at < end) {
            bool sound = true;
            enum reply_kind kind = wire_read_reply(&reader, &at, end, NULL, &sound);
            assert_true(sound);
            if (kind == REPLY_NONE) continue;
            assert_true(found < KINDS);
            assert_int_equal(kind, kinds[found]);
            found++;
        }
    }
    assert_int_equal(found, KINDS);
}

static void test_replies_are_found_in_pieces_of_any_size(void **state) {
    for (size_t piece = 1; piece <= sizeof(replies); piece++) read_in_pieces(piece);
}

static void test_a_bulk_gives_its_bytes(void **state) {
    struct reply_reader reader = {0};
    static const char text[] = "$5\r\nhello\r\n";
    const char *at = text;
    char seen[16];
    size_t length = 0;
    while (at < text + sizeof(text) - 1) {
        struct wire_slice body;
        bool sound = true;
        wire_read_reply(&reader, &at, at + 2, &body, &sound); /* two bytes at a time */
        memcpy(seen + length, body.bytes, body.length);
        length += body.length;
        if (at == text + sizeof(text) - 2) break;
    }
    assert_in_range(length, 5, 7); /* the line end is passed over with the body */
    assert_memory_equal(seen, "hello", 5);
}

static void test_an_error_gives_its_text(void **state) {
    struct reply_reader reader = {0};
    static const char text[] = "-ERR \"odd\" \\ text\r\n";
    const char *at = text;
    bool sound = true;
    assert_int_equal(wire_read_reply(&reader, &at, text + sizeof(text) - 1, NULL, &sound),
                     REPLY_ERROR);
    assert_string_equal(reader.error, "ERR odd  text");
}

static void test_bytes_that_begin_no_reply_are_refused(void **state) {
    struct reply_reader reader = {0};
    const char *text = "HTTP", *at = text;
    bool sound = true;
    assert_int_equal(wire_read_reply(&reader, &at, text + 4, NULL, &sound), REPLY_NONE);
    assert_false(sound);
}

static void test_requests_are_written_as_the_protocol_has_them(void **state) {
    char text[200], *end = wire_put_head(text, 3);
    end = wire_put_word(end, "SET", 3);
    end = wire_put_key(end, 42, 18);
    end = wire_put_number_word(end, 1234567890123);
    static const char expected[] =
        "*3\r\n$3\r\nSET\r\n$18\r\nkey:000000000042xx\r\n$13\r\n1234567890123\r\n";
    assert_int_equal(end - text, sizeof(expected) - 1);
    assert_memory_equal(text, expected, sizeof(expected) - 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_replies_are_found_in_pieces_of_any_size),
        cmocka_unit_test(test_a_bulk_gives_its_bytes),
        cmocka_unit_test(test_an_error_gives_its_text),
        cmocka_unit_test(test_bytes_that_begin_no_reply_are_refused),
        cmocka_unit_test(test_requests_are_written_as_the_protocol_has_them)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
