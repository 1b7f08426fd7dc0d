/* SPDX-License-Identifier: BSD-3-Clause
 * Events: the text of each form, the levels, what the notifier is told. That subscribers get them
 * is shown by tests/integration/sentinel-mode.tcl.
 */
#include "sentinel/event.h"

#include "sentinel/watching.h"

static char notified[1024];
static char logged[1024];

static void note_call(const struct primary *p, const char *event, const char *text) {
    size_t used = strlen(notified);
    snprintf(notified + used, sizeof(notified) - used, "%s|%s|%s\n", p->instance.name, event, text);
}

/* Keeps the level's mark and what follows. */
static void note_line(const char *line, size_t length) {
    const char *mark = line + strcspn(line, "#*.-");
    while (mark[0] && (mark == line || mark[-1] != ' ' || mark[1] != ' '))
        mark += 1 + strcspn(mark + 1, "#*.-");
    snprintf(logged, sizeof(logged), "%.*s", (int)(length - (size_t)(mark - line)), mark);
}

static int begin(void **state) {
    watching_begin();
    log_set_observer(note_line);
    log_set_level(LOG_LEVEL_DEBUG);
    sentinel_event_set_notifier(note_call);
    notified[0] = logged[0] = '\0';
    return 0;
}

static int end(void **state) {
    sentinel_event_set_notifier(NULL);
    watching_end();
    return 0;
}

static void test_forms(void **state) {
    struct primary *p = watching_add("m", 7000, 2);
    struct replica *r = sentinel_add_replica(p, SLICE("127.0.0.1"), 7001);
    sentinel_event(EVENT_MONITOR, &p->instance, "quorum %d", 2);
    assert_string_equal(logged, "# +monitor master m 127.0.0.1 7000 quorum 2");
    sentinel_event(EVENT_SDOWN_END, &r->instance, NULL);
    assert_string_equal(logged, "# -sdown slave 127.0.0.1:7001 127.0.0.1 7001 @ m 127.0.0.1 7000");
    sentinel_event(EVENT_SWITCH_MASTER, &p->instance, "m %s", "a b");
    assert_string_equal(logged, "# +switch-master m a b");
    sentinel_event(EVENT_TILT, NULL, "#tilt mode entered");
    assert_string_equal(logged, "# +tilt #tilt mode entered");
    sentinel_event(EVENT_SLAVE, &r->instance, NULL);
    assert_string_equal(logged, "* +slave slave 127.0.0.1:7001 127.0.0.1 7001 @ m 127.0.0.1 7000");
    sentinel_event(EVENT_ROLE_CHANGE, &p->instance, "new reported role is %s", "slave");
    assert_string_equal(logged,
                        "- +role-change master m 127.0.0.1 7000 new reported role is slave");
    sentinel_event(EVENT_SCRIPT_CHILD, NULL, "%d", 12);
    assert_string_equal(logged, ". +script-child 12");
    /* Warnings that are about something that is watched call the script of its primary. */
    assert_string_equal(notified,
                        "m|+monitor|master m 127.0.0.1 7000 quorum 2\n"
                        "m|-sdown|slave 127.0.0.1:7001 127.0.0.1 7001 @ m 127.0.0.1 7000\n"
                        "m|+switch-master|m a b\n");
}

/* A text of any length, and one that looks like a format. */
static void test_texts_are_not_formats(void **state) {
    struct primary *p = watching_add("100%s", 7000, 1);
    char *text = memory_alloc(5001, MEMORY_OTHER);
    memset(text, 'x', 5000);
    text[5000] = '\0';
    sentinel_event(EVENT_SDOWN, &p->instance, NULL);
    assert_string_equal(logged, "# +sdown master 100%s 127.0.0.1 7000");
    sentinel_event(EVENT_SET, &p->instance, "%s", text);
    assert_non_null(strstr(notified, "|+set|master 100%s 127.0.0.1 7000 xxxx"));
    memory_free(text, MEMORY_OTHER);
}

/* Each name has a row with a name of its own. */
static void test_rows(void **state) {
    struct primary *p = watching_add("m", 7000, 1);
    char seen[EVENT_PUBSUB_LINK_RECONNECTION + 1][64];
    for (int i = 0; i <= EVENT_PUBSUB_LINK_RECONNECTION; i++) {
        sentinel_event((enum sentinel_event_name)i, &p->instance, NULL);
        snprintf(seen[i], sizeof(seen[i]), "%.*s", (int)strcspn(logged + 2, " "), logged + 2);
        assert_true(seen[i][0] == '+' || seen[i][0] == '-');
        for (int k = 0; k < i; k++) assert_string_not_equal(seen[i], seen[k]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_forms, begin, end),
        cmocka_unit_test_setup_teardown(test_texts_are_not_formats, begin, end),
        cmocka_unit_test_setup_teardown(test_rows, begin, end),
    };
    return cmocka_run_group_tests_name("sentinel/event", tests, NULL, NULL);
}
