/* SPDX-License-Identifier: BSD-3-Clause
 * Replies as text, and that their values go on.
 */
#include "script/debug_reply.h"

#include "net/capture.h"
#include "net/peers.h"
#include "net/reply.h"

static void prefetch(struct request *r, int count) {}
static void execute(struct request *r) {}
static const struct batch_executor executor = {.prefetch = prefetch, .execute = execute};

static int values; /* that have gone on */

static void take_integer(struct capture *c, int64_t v) { values++; }
static void take_text(struct capture *c, struct slice v) { values++; }
static void take_group(struct capture *c, enum capture_group g, int64_t n) { values++; }
static void take_group_end(struct capture *c, enum capture_group g) {}
static void take_null(struct capture *c) { values++; }
static void take_boolean(struct capture *c, bool v) { values++; }
static void take_verbatim(struct capture *c, struct slice v, const char *type) { values++; }
static const struct capture_forms forms = {
    .integer = take_integer,
    .bulk = take_text,
    .status = take_text,
    .error = take_text,
    .group = take_group,
    .group_end = take_group_end,
    .null = take_null,
    .boolean = take_boolean,
    .number = take_text,
    .big_number = take_text,
    .verbatim = take_verbatim,
};

static struct capture capture;
static struct buffer out;

static int begin(void **state) {
    capture_open_typed(&capture, &forms);
    buffer_init(&out, MEMORY_OTHER);
    values = 0;
    return 0;
}

static int end(void **state) {
    capture_close(&capture);
    client_free_closing();
    buffer_free(&out);
    return 0;
}

static struct client *reply_to(int protocol, size_t most) {
    capture.client->protocol = (uint8_t)protocol;
    buffer_clear(&out);
    debug_reply_begin(&capture, &out, most);
    return capture.client;
}

static void assert_text(const char *text, int count) {
    debug_reply_end(&capture);
    assert_ptr_equal(capture.forms, &forms);
    assert_string_equal(out.bytes, text);
    assert_int_equal(values, count);
    values = 0;
}

static void test_resp2(void **state) {
    reply_ok(reply_to(2, 1000));
    assert_text("\"+OK\"", 1);
    reply_error(reply_to(2, 1000), "no");
    assert_text("\"-ERR no\"", 1);
    reply_integer(reply_to(2, 1000), -7);
    assert_text("-7", 1);
    reply_null(reply_to(2, 1000));
    assert_text("NULL", 1);
    reply_array(reply_to(2, 1000), 0);
    assert_text("[]", 1);
    struct client *c = reply_to(2, 1000);
    reply_array(c, 4);
    reply_bulk(c, SLICE("a\r\nb"));
    reply_array(c, 2);
    reply_array(c, 0);
    reply_null_array(c);
    reply_integer(c, 1);
    reply_map(c, 1);
    reply_bulk(c, SLICE("k"));
    reply_bulk(c, SLICE("v"));
    assert_text("[\"a\\r\\nb\",[[],NULL],1,[\"k\",\"v\"]]", 9);
}

static void test_resp3(void **state) {
    struct client *c = reply_to(3, 1000);
    reply_map(c, 2);
    reply_bulk(c, SLICE("k"));
    reply_set(c, 2);
    reply_bool(c, true);
    reply_bool(c, false);
    reply_integer(c, 1);
    reply_map(c, 0);
    assert_text("{\"k\" => ~(#true,#false),1 => {}}", 7);
    c = reply_to(3, 1000);
    reply_array(c, 5);
    reply_double(c, 1.5);
    reply_null(c);
    reply_big_number(c, SLICE("123"));
    reply_verbatim(c, SLICE("text"), "txt");
    reply_set(c, 0);
    assert_text("[(double) 1.5,(null),(big number) 123,\"text\",~()]", 6);
    c = reply_to(3, 1000);
    reply_array(c, 2);
    reply_attribute(c, 1);
    reply_bulk(c, SLICE("about"));
    reply_integer(c, 1);
    reply_integer(c, 2);
    reply_integer(c, 3);
    assert_text("[{\"about\" => 1} 2,3]", 6);
}

/* Lengths that come behind: the text is the same. */
static void test_lengths_behind(void **state) {
    struct client *c = reply_to(3, 1000);
    struct reply_group outer = reply_array_begin(c), inner = reply_map_begin(c);
    reply_bulk(c, SLICE("k"));
    reply_integer(c, 1);
    reply_integer(c, 2);
    reply_integer(c, 3);
    reply_group_end(&inner, 2);
    inner = reply_set_begin(c);
    reply_group_end(&inner, 0);
    reply_integer(c, 4);
    reply_group_end(&outer, 3);
    assert_text("[{\"k\" => 1,2 => 3},~(),4]", 8);
}

static char large[100000];

/* The text ends; the values do not. */
static void test_bounded(void **state) {
    struct client *c = reply_to(2, 100);
    reply_array(c, 10000);
    for (int i = 0; i < 10000; i++) reply_bulk(c, SLICE("some text"));
    debug_reply_end(&capture);
    assert_int_equal(values, 10001);
    assert_true(out.length > 100 && out.length < 150);
    memset(large, 'x', sizeof(large));
    reply_bulk(reply_to(2, 100), (struct slice){large, sizeof(large)});
    debug_reply_end(&capture);
    assert_true(out.length > 100 && out.length < 150);
}

static int open_all(void **state) { return peers_open(&executor); }

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {TEST(test_resp2), TEST(test_resp3),
                                       TEST(test_lengths_behind), TEST(test_bounded)};
#undef TEST
    return cmocka_run_group_tests(tests, open_all, NULL);
}
