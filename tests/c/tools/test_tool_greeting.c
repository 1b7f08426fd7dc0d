/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of tools/tool_greeting: what is said, in which order, and under which names.
 */
#include "tools/tool_greeting.h"

#include "base/seed.h"
#include "tools/tool_connection.h"

static struct tool_connection connection;
static struct tool_greeting greeting;

static int begin(void **state) {
    unsetenv("REDISCLI_AUTH");
    tool_connection_init(&connection);
    return 0;
}

static int end(void **state) {
    tool_greeting_free(&greeting);
    return 0;
}

/* Of one request: its name and its bytes. */
static void assert_request(unsigned i, const char *name, const char *bytes) {
    size_t from = i ? greeting.requests[i - 1].end : 0;
    assert_true(i < greeting.count);
    assert_string_equal(greeting.requests[i].name, name);
    assert_int_equal(greeting.requests[i].end - from, strlen(bytes));
    assert_memory_equal(greeting.bytes.bytes + from, bytes, strlen(bytes));
}

static void test_nothing_to_say(void **state) {
    connection.user = "u"; /* of no meaning without a password */
    tool_greeting_init(&greeting, &connection, false);
    assert_int_equal(greeting.count, 0);
    assert_int_equal(greeting.bytes.length, 0);
}

static void test_all(void **state) {
    connection.user = "u";
    connection.password = "p\r\n";
    connection.database = 12;
    tool_greeting_init(&greeting, &connection, true);
    tool_greeting_add(&greeting, "X", &SLICE("PING"), 1);
    assert_int_equal(greeting.count, TOOL_GREETING_REQUESTS_MAX);
    assert_request(0, "AUTH", "*3\r\n$4\r\nAUTH\r\n$1\r\nu\r\n$3\r\np\r\n\r\n");
    assert_request(1, "HELLO 3", "*2\r\n$5\r\nHELLO\r\n$1\r\n3\r\n");
    assert_request(2, "SELECT 12", "*2\r\n$6\r\nSELECT\r\n$2\r\n12\r\n");
    assert_request(3, "X", "*1\r\n$4\r\nPING\r\n");
}

static void test_password_alone(void **state) {
    connection.password = "";
    tool_greeting_init(&greeting, &connection, false);
    assert_int_equal(greeting.count, 1);
    assert_request(0, "AUTH", "*2\r\n$4\r\nAUTH\r\n$0\r\n\r\n");
}

/* A client that is closed takes nothing. */
static void test_closed_client(void **state) {
    const struct peer_client_settings settings = {.class = MEMORY_OTHER, .asked_max = 1};
    struct peer_client *client = peer_client_create(&settings);
    connection.database = 1;
    tool_greeting_init(&greeting, &connection, false);
    tool_greeting_ask(&greeting, 0, client, NULL);
    assert_int_equal(peer_client_asked(client), 0);
    peer_client_free(client);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(test_nothing_to_say),
        TEST(test_all),
        TEST(test_password_alone),
        TEST(test_closed_client),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
