/* SPDX-License-Identifier: BSD-3-Clause
 * The option notify-keyspace-events: what is taken, how it is shown, what is refused.
 */
#include "option/settings.h"
#include "publish/notify.h"

static int setup(void **state) {
    notify_register();
    return 0;
}

static int teardown(void **state) {
    option_reset_all();
    return 0;
}

static void test_letters(void **state) {
    static const char *const forms[][2] = {{"KEA", "AKE"},
                                           {"A", "A"},
                                           {"KEg$lshzxetdm", "AKEm"},
                                           {"g$lshzxet", "g$lshzxet"},
                                           {"dtxKEg$lsmhz", "g$lshzxtdKEm"},
                                           {"KKKK", "K"},
                                           {"", ""},
                                           {"dmK", "dKm"},
                                           {"xE", "xE"}};
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
        assert_takes("notify-keyspace-events", forms[i][0], forms[i][1]);
    assert_refuses("notify-keyspace-events", "Kn", "");
    assert_refuses("notify-keyspace-events", "K E", "");
}

static void test_file(void **state) {
    struct buffer text;
    buffer_init(&text, MEMORY_OTHER);
    assert_loads("notify-keyspace-events KEA\n");
    assert_value("notify-keyspace-events", "AKE");
    assert_false(option_load_text(SLICE("notify-keyspace-events Q\n"), OPTION_FROM_FILE, &text));
    assert_non_null(strstr(text.bytes, "Invalid event class character. Use 'g$lshzxeA'."));
    buffer_clear(&text);
    assert_takes("notify-keyspace-events", "K$", "$K");
    option_rewrite_text(SLICE(""), false, &text);
    assert_non_null(strstr(text.bytes, "notify-keyspace-events \"$K\"\n"));
    buffer_free(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_letters),
        cmocka_unit_test(test_file),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
