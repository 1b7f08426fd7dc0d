/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of sentinel/address: numbers, names that are looked up beside the loop, names that foreign
 * messages mention without end.
 */
#include "sentinel/address.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/log.h"
#include "io/loop.h"
#include "io/names.h"
#include "sentinel/settings.h"

#define TURNS_MAX 20000
#define FOREIGN_NAMES 5000 /* more than the table takes */

static struct loop *loop;
static char answered[512];
static char ip[SOCKET_ADDRESS_CHARS];

static void note_answered(const char *host) {
    size_t used = strlen(answered);
    snprintf(answered + used, sizeof(answered) - used, "%s ", host);
}

static enum sentinel_host find(const char *host) {
    return sentinel_address_find(slice_of(host), ip);
}

static void turn_until_answered(const char *host) {
    for (int i = 0; i < TURNS_MAX && !strstr(answered, host); i++) loop_turn(loop, 1);
    assert_non_null(strstr(answered, host));
}

static int begin(void **state) {
    names_open();
    assert_true(log_set_file("/dev/null"));
    loop = loop_create();
    sentinel_address_open(loop, note_answered);
    sentinel_settings_change()->resolve_hostnames = true;
    sentinel_settings_change()->announce_hostnames = false;
    answered[0] = '\0';
    return 0;
}

static int end(void **state) {
    clock_use_system();
    loop_free(loop);
    return 0;
}

static void test_numbers_need_no_lookup(void **state) {
    sentinel_settings_change()->resolve_hostnames = false;
    assert_int_equal(find("10.1.2.3"), SENTINEL_HOST_KNOWN);
    assert_string_equal(ip, "10.1.2.3");
    assert_int_equal(find("::1"), SENTINEL_HOST_KNOWN);
    assert_int_equal(find("some.host"), SENTINEL_HOST_REFUSED);
    assert_int_equal(atomic_load(&names_asked), 0);
}

/* Other Sentinels and servers may name an address in another form than the operator. */
static void test_numbers_of_several_forms(void **state) {
    struct sentinel_address a = {0};
    sentinel_settings_change()->resolve_hostnames = false;
    assert_int_equal(find("0:0::1"), SENTINEL_HOST_KNOWN);
    assert_string_equal(ip, "::1");
    assert_int_equal(find("127.1"), SENTINEL_HOST_KNOWN);
    assert_string_equal(ip, "127.0.0.1");
    sentinel_address_set(&a, SLICE("127.1"), 7000);
    assert_string_equal(sentinel_address_shown(&a), "127.0.0.1");
    assert_true(sentinel_address_is(&a, SLICE("127.0.0.1"), 7000));
    assert_true(sentinel_address_is(&a, SLICE("127.0.1"), 7000));
    assert_false(sentinel_address_is(&a, SLICE("127.0.0.2"), 7000));
    sentinel_address_clear(&a);
}

static void test_texts_that_are_no_hosts(void **state) {
    char long_name[SENTINEL_HOST_CHARS_MAX + 2] = "";
    memset(long_name, 'a', sizeof(long_name) - 1);
    const char *const bad[] = {"", "a b", "a\nb", "a,b", "\"a\"", "a'b", "a\\b", "\x80", long_name};
    for (size_t k = 0; k < sizeof(bad) / sizeof(bad[0]); k++) {
        assert_int_equal(find(bad[k]), SENTINEL_HOST_REFUSED);
        assert_false(sentinel_address_allows(slice_of(bad[k])));
    }
    assert_true(sentinel_address_allows(SLICE("some.host")));
}

static void test_a_name_is_answered_later(void **state) {
    assert_int_equal(find("a.host"), SENTINEL_HOST_WAITS);
    assert_int_equal(find("a.host"), SENTINEL_HOST_WAITS);
    turn_until_answered("a.host");
    assert_int_equal(find("A.HOST"), SENTINEL_HOST_KNOWN);
    assert_string_equal(ip, "127.0.0.1");
    assert_int_equal(find("b.unknown"), SENTINEL_HOST_WAITS);
    turn_until_answered("b.unknown");
    assert_int_equal(find("b.unknown"), SENTINEL_HOST_UNKNOWN);
}

static void test_a_silent_resolver_stops_nothing(void **state) {
    assert_int_equal(find("a.slow"), SENTINEL_HOST_WAITS);
    for (int i = 0; i < 20; i++) loop_turn(loop, 0);
    assert_int_equal(find("a.slow"), SENTINEL_HOST_WAITS);
    assert_string_equal(answered, "");
    names_release(1);
    turn_until_answered("a.slow");
    assert_int_equal(find("a.slow"), SENTINEL_HOST_KNOWN);
}

static void test_addresses_are_compared(void **state) {
    struct sentinel_address a = {0}, b = {0};
    sentinel_address_set(&a, SLICE("same.host"), 7000);
    assert_string_equal(sentinel_address_shown(&a), "same.host");
    assert_false(sentinel_address_is(&a, SLICE("127.0.0.1"), 7000));
    turn_until_answered("same.host");
    assert_true(sentinel_address_refresh(&a));
    assert_true(sentinel_address_is(&a, SLICE("127.0.0.1"), 7000));
    assert_true(sentinel_address_is(&a, SLICE("SAME.host"), 7000));
    assert_false(sentinel_address_is(&a, SLICE("127.0.0.1"), 7001));
    sentinel_address_set(&b, SLICE("127.0.0.1"), 7000);
    assert_true(sentinel_address_equal(&a, &b));
    assert_string_equal(sentinel_address_shown(&a), "127.0.0.1");
    sentinel_settings_change()->announce_hostnames = true;
    assert_string_equal(sentinel_address_shown(&a), "same.host");
    sentinel_address_copy(&b, &a);
    assert_string_equal(b.host, "same.host");
    sentinel_address_clear(&a);
    sentinel_address_clear(&b);
}

/* Names of foreign messages push each other out, and the one that is asked for again and again
 * stays. */
static void test_foreign_names_have_a_bound(void **state) {
    char name[32];
    assert_int_equal(find("kept.host"), SENTINEL_HOST_WAITS);
    turn_until_answered("kept.host");
    for (int i = 0; i < FOREIGN_NAMES; i++) {
        snprintf(name, sizeof(name), "n%d.unknown", i);
        assert_int_equal(find(name), SENTINEL_HOST_WAITS);
        if (i % 100 == 0) assert_int_equal(find("kept.host"), SENTINEL_HOST_KNOWN);
    }
    assert_int_equal(find("kept.host"), SENTINEL_HOST_KNOWN);
    answered[0] = '\0';
    assert_int_equal(find("n0.unknown"), SENTINEL_HOST_WAITS); /* forgotten: it begins anew */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_numbers_need_no_lookup, begin, end),
        cmocka_unit_test_setup_teardown(test_numbers_of_several_forms, begin, end),
        cmocka_unit_test_setup_teardown(test_texts_that_are_no_hosts, begin, end),
        cmocka_unit_test_setup_teardown(test_a_name_is_answered_later, begin, end),
        cmocka_unit_test_setup_teardown(test_a_silent_resolver_stops_nothing, begin, end),
        cmocka_unit_test_setup_teardown(test_addresses_are_compared, begin, end),
        cmocka_unit_test_setup_teardown(test_foreign_names_have_a_bound, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
