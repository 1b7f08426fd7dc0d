/* SPDX-License-Identifier: BSD-3-Clause
 * The option notify-keyspace-events: what is taken, how it is shown, what is refused.
 */
#include "option/settings.h"
#include "publish/notify.h"

/* ---- what observers are told ---- */

static const struct keyspace *const no_keyspace = NULL;
static unsigned first_classes, second_classes;
static struct buffer told = {.class = MEMORY_OTHER};

static unsigned first_hears(void) { return first_classes; }
static unsigned second_hears(void) { return second_classes; }

static void note(const char *who, enum notify_class class, const char *event, struct slice name) {
    buffer_printf(&told, "%s%u:%s:%.*s ", who, (unsigned)class, event, (int)name.length,
                  name.bytes);
}

static void first_told(const struct keyspace *ks, enum notify_class class, const char *event,
                       struct slice name) {
    assert_ptr_equal(ks, no_keyspace);
    note("a", class, event, name);
}

static void second_told(const struct keyspace *ks, enum notify_class class, const char *event,
                        struct slice name) {
    note("b", class, event, name);
}

static const struct notify_observer first = {first_hears, first_told};
static const struct notify_observer second = {second_hears, second_told};
static const struct notify_observer *const observers[] = {&first, &notify_publisher, &second, NULL};

static void assert_told(const char *wanted) {
    buffer_append_char(&told, 0);
    assert_string_equal(told.bytes, wanted);
    buffer_clear(&told);
}

static void announce(void) {
    notify_event(NULL, NOTIFY_STRING, "set", SLICE("k"));
    notify_event(NULL, NOTIFY_GENERIC, "del", SLICE("k"));
    notify_event(NULL, NOTIFY_LIST, "lpush", SLICE("l"));
}

/* Each hears its own classes, in the order of the list, whatever the option publishes. */
static void test_observers(void **state) {
    char string[16], generic[16], all[64];
    snprintf(string, sizeof(string), "a%u:set:k ", NOTIFY_STRING);
    snprintf(generic, sizeof(generic), "b%u:del:k ", NOTIFY_GENERIC);
    first_classes = NOTIFY_STRING;
    second_classes = NOTIFY_GENERIC | NOTIFY_STRING;
    notify_set_observers(observers);
    announce();
    snprintf(all, sizeof(all), "%sb%u:set:k %s", string, NOTIFY_STRING, generic);
    assert_told(all);
    second_classes = 0;
    assert_takes("notify-keyspace-events", "Kgl", "glK");
    announce();
    assert_told(string);
    first_classes = 0;
    assert_takes("notify-keyspace-events", "", "");
    announce();
    assert_told("");
    buffer_free(&told);
}

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
        cmocka_unit_test(test_observers),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
