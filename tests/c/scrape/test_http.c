/* SPDX-License-Identifier: BSD-3-Clause
 * HTTP requests of scrapers, and of those who are none.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "scrape/http.h"

static struct http_request request;

static struct slice text_of(const char *text) { return slice_of(text); }

/* Every prefix is incomplete, or answered as the whole is. */
static enum http_status parse(const char *text) {
    struct slice whole = text_of(text);
    struct http_request unused;
    enum http_status status = http_parse(whole, &request);
    for (size_t length = 0; length < whole.length; length++) {
        enum http_status part = http_parse((struct slice){text, length}, &unused);
        if (part != HTTP_INCOMPLETE) assert_int_equal(part, status);
    }
    return status;
}

static void assert_path(const char *text, const char *path) {
    assert_int_equal(parse(text), HTTP_OK);
    assert_true(slice_equal(request.path, text_of(path)));
}

static void test_paths(void **state) {
    assert_path("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n", "/metrics");
    assert_false(request.head);
    assert_int_equal(request.authorization.length, 0);
    assert_path("GET /metrics HTTP/1.0\n\n", "/metrics");
    assert_path("HEAD /metrics?x=/?y HTTP/1.1\r\nhost:\r\n\r\nbody", "/metrics");
    assert_true(request.head);
    assert_path("GET http://a:1/metrics HTTP/1.1\r\nHost: a\r\n\r\n", "/metrics");
    assert_path("GET HTTPS://a?x HTTP/1.1\r\nHost: a\r\n\r\n", "/");
    assert_path("GET / HTTP/1.9\r\nA:b\r\nHOST:\t a\t\r\n\r\n", "/");
}

static void test_incomplete(void **state) {
    assert_int_equal(parse(""), HTTP_INCOMPLETE);
    assert_int_equal(parse("GET /metr"), HTTP_INCOMPLETE);
    assert_int_equal(parse("GET / HTTP/1.1\r\n"), HTTP_INCOMPLETE);
    assert_int_equal(parse("GET / HTTP/1.1\r\nHost: a\r\n"), HTTP_INCOMPLETE);
    assert_int_equal(parse("GET / HTTP/1.1\r\nHost: a\r\n\r"), HTTP_INCOMPLETE);
}

static const struct refusal {
    const char *text;
    enum http_status status;
} refusals[] = {
    {"*1\r\n$4\r\nPING\r\n", HTTP_BAD_REQUEST},
    {"PING\r\n", HTTP_BAD_REQUEST},
    {"\r\nGET / HTTP/1.0\r\n\r\n", HTTP_BAD_REQUEST},
    {"\x16\x03\x01\x02", HTTP_BAD_REQUEST},
    {"GET /\x01", HTTP_BAD_REQUEST},
    {"GET  / HTTP/1.0\r\n", HTTP_BAD_REQUEST},
    {"GET / HTTP/1.0 \r\n", HTTP_BAD_REQUEST},
    {"GET / HTTP/1.0\rX\r\n", HTTP_BAD_REQUEST},
    {"GET / HTTP/10\r\n", HTTP_BAD_REQUEST},
    {"GET / http/1.0\r\n", HTTP_BAD_REQUEST},
    {"GET metrics HTTP/1.0\r\n", HTTP_BAD_REQUEST},
    {"GET http:///x HTTP/1.0\r\n", HTTP_BAD_REQUEST},
    {"GET /\xc3\xa4 HTTP/1.0\r\n", HTTP_BAD_REQUEST},
    {"G(T / HTTP/1.0\r\n", HTTP_BAD_REQUEST},
    {"PRI * HTTP/2.0\r\n", HTTP_NOT_SUPPORTED},
    {"GET / HTTP/0.9\r\n", HTTP_NOT_SUPPORTED},
    {"POST /metrics HTTP/1.1\r\n", HTTP_NOT_ALLOWED},
    {"get /metrics HTTP/1.1\r\n", HTTP_NOT_ALLOWED},
    {"GET / HTTP/1.1\r\n\r\n", HTTP_BAD_REQUEST}, /* no Host */
    {"GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n", HTTP_BAD_REQUEST},
    {"GET / HTTP/1.0\r\nA : b\r\n", HTTP_BAD_REQUEST},
    {"GET / HTTP/1.0\r\nA: b\r\n c\r\n", HTTP_BAD_REQUEST},
    {"GET / HTTP/1.0\r\nA: b\rc\r\n", HTTP_BAD_REQUEST},
    {"GET / HTTP/1.0\r\nnothing\r\n", HTTP_BAD_REQUEST},
    {"GET / HTTP/1.0\r\n: b\r\n", HTTP_BAD_REQUEST},
    {"GET / HTTP/1.0\r\nAuthorization:\r\n", HTTP_BAD_REQUEST},
    {"GET / HTTP/1.0\r\nAuthorization: a\r\nauthorization: b\r\n", HTTP_BAD_REQUEST},
};

static void test_refused(void **state) {
    for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++)
        if (parse(refusals[i].text) != refusals[i].status) fail_msg("%s", refusals[i].text);
    assert_int_equal(http_parse(SLICE("GET /\0 HTTP/1.0\r\n"), &request), HTTP_BAD_REQUEST);
}

/* A request of exactly the most bytes is served; one more is too many, wherever it comes. */
static void test_longest(void **state) {
    char text[HTTP_REQUEST_BYTES_MAX + 2];
    struct slice all = {text, HTTP_REQUEST_BYTES_MAX};
    memset(text, 'a', sizeof(text));
    memcpy(text, "GET / HTTP/1.0\r\nA:", 18);
    assert_int_equal(http_parse(all, &request), HTTP_TOO_LARGE);
    all.length--;
    assert_int_equal(http_parse(all, &request), HTTP_INCOMPLETE);
    all.length = HTTP_REQUEST_BYTES_MAX;
    memcpy(text + HTTP_REQUEST_BYTES_MAX - 4, "\r\n\r\n", 4);
    assert_int_equal(http_parse(all, &request), HTTP_OK);
    memcpy(text + HTTP_REQUEST_BYTES_MAX - 4, "aa\r\n\r\n", 6);
    all.length = HTTP_REQUEST_BYTES_MAX + 2;
    assert_int_equal(http_parse(all, &request), HTTP_TOO_LARGE);
    memset(text, '/', sizeof(text)); /* a line without an end */
    assert_int_equal(http_parse(all, &request), HTTP_TOO_LARGE);
}

static void assert_basic(const char *value, const char *user, const char *password) {
    char storage[HTTP_REQUEST_BYTES_MAX];
    struct slice got_user, got_password;
    bool good = http_parse_basic(text_of(value), storage, &got_user, &got_password);
    assert_int_equal(good, user != NULL);
    if (!good) return;
    assert_true(slice_equal(got_user, text_of(user)));
    assert_true(slice_equal(got_password, text_of(password)));
}

static void test_basic(void **state) {
    assert_basic("Basic YWxpY2U6c2VjcmV0", "alice", "secret");
    assert_basic("basic   YWxpY2U6YTpi", "alice", "a:b");
    assert_basic("BASIC Og==", "", "");
    assert_basic("Basic Og", "", "");
    assert_basic("Basic YTo/Pj8+", "a", "?>?>");
    assert_basic("Basic YWxpY2U=", NULL, NULL); /* no colon */
    assert_basic("Basic ", NULL, NULL);
    assert_basic("Basic O", NULL, NULL);
    assert_basic("Basic Og=O", NULL, NULL);
    assert_basic("Basic Og===", NULL, NULL);
    assert_basic("Basic O g==", NULL, NULL);
    assert_basic("Bearer Og==", NULL, NULL);
    assert_basic("Basic", NULL, NULL);
}

static void test_authorization(void **state) {
    assert_int_equal(parse("GET / HTTP/1.0\r\nAUTHORIZATION:  Basic Og== \r\n\r\n"), HTTP_OK);
    assert_true(slice_equal(request.authorization, SLICE("Basic Og==")));
}

static void test_texts(void **state) {
    assert_string_equal(http_status_text(HTTP_NOT_FOUND), "Not Found");
    assert_string_equal(http_status_text(HTTP_INCOMPLETE), "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paths),   cmocka_unit_test(test_incomplete),
        cmocka_unit_test(test_refused), cmocka_unit_test(test_longest),
        cmocka_unit_test(test_basic),   cmocka_unit_test(test_authorization),
        cmocka_unit_test(test_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
