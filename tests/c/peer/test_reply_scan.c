/* SPDX-License-Identifier: BSD-3-Clause
 * Replies are passed over alike however the bytes are cut into pieces.
 */
#include "peer/reply_scan.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static const char older[] =
    "+OK\r\n$-1\r\n$3\r\na\r\n\r\n:0\r\n:12\r\n-OOM command\r\n-ERR no\r\n$0\r\n\r\n_\r\n+\r\n"
    "*3\r\n$2\r\n*1\r\n:0\r\n$-1\r\n*-1\r\n*0\r\n*2\r\n*2\r\n+a\r\n-WRONGTYPE b\r\n:1\r\n:0\r\n";
static const enum scanned older_kinds[] = {SCANNED_OK,  SCANNED_NIL,   SCANNED_OK,    SCANNED_ZERO,
                                           SCANNED_OK,  SCANNED_OOM,   SCANNED_ERROR, SCANNED_OK,
                                           SCANNED_NIL, SCANNED_OK,    SCANNED_OK,    SCANNED_NIL,
                                           SCANNED_OK,  SCANNED_ERROR, SCANNED_ZERO};
#define OLDER_KINDS (sizeof(older_kinds) / sizeof(older_kinds[0]))

/* Those of RESP3: each line is one reply. */
static const char newer[] =
    ",1.5\r\n#t\r\n(123456789012345678901234567890\r\n=6\r\ntxt:ab\r\n"
    "%2\r\n+a\r\n:1\r\n+b\r\n*1\r\n_\r\n~2\r\n:1\r\n:2\r\n"
    ">2\r\n+invalidate\r\n*1\r\n$1\r\nk\r\n"
    "!9\r\nERR wrong\r\n!7\r\nOOM now\r\n|1\r\n+ttl\r\n:3\r\n+OK\r\n%0\r\n:0\r\n";
static const enum scanned newer_kinds[] = {SCANNED_OK,  SCANNED_OK, SCANNED_OK,   SCANNED_OK,
                                           SCANNED_OK,  SCANNED_OK, SCANNED_PUSH, SCANNED_ERROR,
                                           SCANNED_OOM, SCANNED_OK, SCANNED_OK,   SCANNED_ZERO};
#define NEWER_KINDS (sizeof(newer_kinds) / sizeof(newer_kinds[0]))

static void read_in_pieces(const char *replies, size_t length, const enum scanned *kinds,
                           size_t count, size_t piece) {
    struct reply_scanner reader = {0};
    size_t found = 0;
    for (size_t begin = 0; begin < length; begin += piece) {
        const char *at = replies + begin;
        const char *end = replies + (begin + piece < length ? begin + piece : length);
        while (at < end) {
            bool sound = true;
            enum scanned kind = reply_scan(&reader, &at, end, NULL, &sound);
            assert_true(sound);
            if (kind == SCANNED_NONE) continue;
            assert_true(found < count);
            assert_int_equal(kind, kinds[found]);
            found++;
        }
    }
    assert_int_equal(found, count);
}

static void test_replies_are_found_in_pieces_of_any_size(void **state) {
    for (size_t piece = 1; piece <= sizeof(newer); piece++) {
        read_in_pieces(older, sizeof(older) - 1, older_kinds, OLDER_KINDS, piece);
        read_in_pieces(newer, sizeof(newer) - 1, newer_kinds, NEWER_KINDS, piece);
    }
}

static void test_a_bulk_gives_its_bytes(void **state) {
    struct reply_scanner reader = {0};
    static const char text[] = "$5\r\nhello\r\n";
    const char *at = text;
    char seen[16];
    size_t length = 0;
    while (at < text + sizeof(text) - 1) {
        struct slice body;
        bool sound = true;
        reply_scan(&reader, &at, at + 2, &body, &sound); /* two bytes at a time */
        memcpy(seen + length, body.bytes, body.length);
        length += body.length;
        if (at == text + sizeof(text) - 2) break;
    }
    assert_in_range(length, 5, 7); /* the line end is passed over with the body */
    assert_memory_equal(seen, "hello", 5);
}

static void test_an_error_gives_its_text(void **state) {
    struct reply_scanner reader = {0};
    static const char text[] = "-ERR \"odd\" \\ text\r\n";
    const char *at = text;
    bool sound = true;
    assert_int_equal(reply_scan(&reader, &at, text + sizeof(text) - 1, NULL, &sound),
                     SCANNED_ERROR);
    assert_string_equal(reader.error, "ERR odd  text");
}

static void test_bytes_that_begin_no_reply_are_refused(void **state) {
    struct reply_scanner reader = {0};
    const char *text = "HTTP", *at = text;
    bool sound = true;
    assert_int_equal(reply_scan(&reader, &at, text + 4, NULL, &sound), SCANNED_NONE);
    assert_false(sound);
}

static void test_an_absurd_length_is_refused(void **state) {
    struct reply_scanner scanner = {0};
    static const char text[] = "$99999999999999999999\r\n";
    const char *at = text;
    bool sound = true;
    assert_int_equal(reply_scan(&scanner, &at, text + sizeof(text) - 1, NULL, &sound),
                     SCANNED_NONE);
    assert_false(sound);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_replies_are_found_in_pieces_of_any_size),
        cmocka_unit_test(test_a_bulk_gives_its_bytes),
        cmocka_unit_test(test_an_error_gives_its_text),
        cmocka_unit_test(test_bytes_that_begin_no_reply_are_refused),
        cmocka_unit_test(test_an_absurd_length_is_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
