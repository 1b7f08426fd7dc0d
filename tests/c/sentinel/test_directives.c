/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of sentinel/directives: each line of a file with its fault, the file that is written, what
 * SENTINEL SET and SENTINEL CONFIG may change.
 */
#include "sentinel/directives.h"

#include "option/option.h"
#include "sentinel/failover.h"
#include "sentinel/watching.h"

static char shown[512]; /* the last fault */

static int group_begin(void **state) {
    sentinel_directives_register();
    return 0;
}

static int group_end(void **state) {
    option_reset_all();
    return 0;
}

static int begin(void **state) {
    watching_begin();
    return 0;
}

static int end(void **state) {
    struct sentinel_settings *s = sentinel_settings_change();
    watching_end();
    memory_free(s->announce_ip, MEMORY_OTHER);
    memory_free(s->user, MEMORY_OTHER);
    buffer_free(&s->pass);
    *s = (struct sentinel_settings){.deny_scripts_reconfig = true, .pass = {.class = MEMORY_OTHER}};
    return 0;
}

/* Loads the text; "" if all of it was taken, else the last line of the fault. */
static const char *load(const char *text) {
    struct buffer error;
    buffer_init(&error, MEMORY_OTHER);
    bool good =
        option_load_text(slice_of(text), OPTION_FROM_FILE, &error) && option_load_deferred(&error);
    snprintf(shown, sizeof(shown), "%.*s", (int)error.length, error.length ? error.bytes : "");
    buffer_free(&error);
    if (good) return "";
    size_t length = strlen(shown);
    while (length && shown[length - 1] == '\n') shown[--length] = '\0';
    char *last = strrchr(shown, '\n');
    return last ? last + 1 : shown;
}

#define M "sentinel monitor m 127.0.0.1 7000 2\n"

static void test_faults_of_lines(void **state) {
    const struct {
        const char *text, *fault;
    } rows[] = {
        {"sentinel monitor m 127.0.0.1 99999 2\n", "Invalid port number."},
        {"sentinel monitor m 127.0.0.1 7000 0\n", "Quorum must be 1 or greater."},
        {M M, "Duplicate master name."},
        {"sentinel monitor m nosuch.host 7000 2\n", "Can't resolve instance hostname."},
        {"sentinel monitor m 127.0.0.1 7000\n", "Unrecognized sentinel configuration statement."},
        {"sentinel auth-pass other p\n", "No such master with specified name."},
        {M "sentinel down-after-milliseconds m 0\n", "negative or zero time parameter."},
        {M "sentinel down-after-milliseconds m abc\n", "negative or zero time parameter."},
        {M "sentinel failover-timeout m 0\n", "negative or zero time parameter."},
        {M "sentinel parallel-syncs m 0\n", "parallel-syncs must be 1 or greater."},
        {M "sentinel notification-script m /nonexistent\n",
         "Notification script seems non existing or non executable."},
        {M "sentinel client-reconfig-script m /nonexistent\n",
         "Client reconfiguration script seems non existing or non executable."},
        {"sentinel deny-scripts-reconfig x\n",
         "Please specify yes or no for the deny-scripts-reconfig options."},
        {"sentinel resolve-hostnames x\n",
         "Please specify yes or no for the resolve-hostnames option."},
        {"sentinel announce-hostnames x\n",
         "Please specify yes or no for the announce-hostnames option."},
        {"sentinel myid abc\n", "Malformed Sentinel id in myid option."},
        {M "sentinel rename-command m CONFIG a\nsentinel rename-command m config b\n",
         "Same command renamed multiple times with rename-command."},
        {"sentinel bogus 1\n", "Unrecognized sentinel configuration statement."},
        {"sentinel quorum m 1\n", "Unrecognized sentinel configuration statement."},
        {"sentinel announce-ip a b\n", "Unrecognized sentinel configuration statement."},
        {M "sentinel known-replica m 127.0.0.1 99999\n", "The address of a replica is not valid."},
    };
    for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
        assert_string_equal(load(rows[k].text), rows[k].fault);
        watching_drop_all();
    }
}

static void write_lines(struct buffer *out) {
    const struct option_row *family = option_find(SLICE("sentinel"));
    buffer_clear(out);
    family->rewrite(family, out);
}

static void test_what_is_read_is_written(void **state) {
    struct buffer out;
    buffer_init(&out, MEMORY_OTHER);
    const char *text = "sentinel myid " WATCHING_ID
                       "\n"
                       "sentinel deny-scripts-reconfig no\n"
                       "sentinel monitor m 127.0.0.1 7000 2\n"
                       "sentinel down-after-milliseconds m 5000\n"
                       "sentinel failover-timeout m 60000\n"
                       "sentinel parallel-syncs m 3\n"
                       "sentinel notification-script m /bin/true\n"
                       "sentinel client-reconfig-script m /bin/true\n"
                       "sentinel auth-pass m \"a b\"\n"
                       "sentinel auth-user m u\n"
                       "sentinel config-epoch m 4\n"
                       "sentinel leader-epoch m 5\n"
                       "sentinel known-replica m 127.0.0.1 7001\n"
                       "sentinel known-sentinel m 127.0.0.1 8000 " WATCHING_OTHER_ID
                       "\n"
                       "sentinel rename-command m CONFIG x\n"
                       "sentinel current-epoch 7\n"
                       "sentinel announce-ip \"10.0.0.1\"\n"
                       "sentinel announce-port 8001\n"
                       "sentinel sentinel-user su\n"
                       "sentinel sentinel-pass sp\n";
    assert_string_equal(load(text), "");
    write_lines(&out);
    assert_string_equal(out.bytes, text);
    buffer_free(&out);
}

/* Lines are set in three groups, whatever their order; numbers may be followed by other text. */
static void test_order_and_old_lines(void **state) {
    assert_string_equal(load("sentinel auth-pass m p\n"
                             "sentinel down-after-milliseconds m 700ms\n"
                             "sentinel known-slave m 127.0.0.1 7001\n"
                             "sentinel known-replica m 127.0.0.1 7001\n"
                             "sentinel known-sentinel m 127.0.0.1 8000\n"
                             "sentinel config-epoch m 9\n" M "SENTINEL CURRENT-EPOCH 3\n"),
                        "");
    const struct primary *p = sentinel_find_primary(SLICE("m"));
    assert_int_equal(p->down_after_msec, 700);
    assert_int_equal(p->replica_count, 1);
    assert_int_equal(p->voter_count, 0);
    assert_int_equal(sentinel_settings()->epoch, 9);
}

static void test_the_promoted_one_is_written(void **state) {
    struct buffer out;
    buffer_init(&out, MEMORY_OTHER);
    struct primary *p = watching_add("m", 7000, 2);
    p->promoted = sentinel_add_replica(p, SLICE("127.0.0.1"), 7001);
    p->instance.flags = INSTANCE_IN_FAILOVER;
    p->state = FAILOVER_RECONF_REPLICAS;
    write_lines(&out);
    assert_non_null(strstr(out.bytes, "sentinel monitor m 127.0.0.1 7001 2\n"));
    assert_non_null(strstr(out.bytes, "sentinel known-replica m 127.0.0.1 7000\n"));
    assert_null(strstr(out.bytes, "known-replica m 127.0.0.1 7001"));
    buffer_free(&out);
}

static bool set(struct primary *p, const char *name, const char *first, const char *second,
                const char **reason) {
    const struct slice values[] = {slice_of(first), slice_of(second)};
    const struct sentinel_property *property = sentinel_property_find(slice_of(name));
    assert_non_null(property);
    return sentinel_property_set(property, p, values, reason);
}

static void test_properties_by_set(void **state) {
    const char *reason;
    struct primary *p = watching_add("m", 7000, 2);
    static const char *const numbers[] = {"quorum", "down-after-milliseconds", "failover-timeout",
                                          "parallel-syncs"};
    for (size_t k = 0; k < sizeof(numbers) / sizeof(numbers[0]); k++) {
        assert_true(set(p, numbers[k], "5", "", &reason));
        assert_false(set(p, numbers[k], "0", "", &reason));
        assert_false(set(p, numbers[k], "-1", "", &reason));
        assert_false(set(p, numbers[k], "5x", "", &reason));
        assert_null(reason);
    }
    assert_int_equal(p->quorum + p->parallel_syncs, 10);
    assert_int_equal(p->down_after_msec + p->failover_timeout_msec, 10);
    assert_false(set(p, "notification-script", "/nonexistent", "", &reason));
    assert_string_equal(reason, "Notification script seems non existing or non executable");
    assert_true(set(p, "notification-script", "/bin/true", "", &reason));
    assert_true(set(p, "notification-script", "", "", &reason));
    assert_null(p->notification_script);
    assert_true(set(p, "AUTH-PASS", "secret", "", &reason));
    assert_true(sentinel_property_is_secret(sentinel_property_find(SLICE("auth-pass"))));
    assert_true(set(p, "auth-pass", "", "", &reason));
    assert_int_equal(p->auth_pass.length, 0);
    static const char *const by_file_only[] = {"config-epoch", "leader-epoch", "known-replica",
                                               "debug-x"};
    for (size_t k = 0; k < sizeof(by_file_only) / sizeof(by_file_only[0]); k++)
        assert_null(sentinel_property_find(slice_of(by_file_only[k])));
}

static void test_renamed_commands(void **state) {
    const char *reason;
    struct primary *p = watching_add("m", 7000, 2);
    assert_true(set(p, "rename-command", "CONFIG", "a", &reason));
    assert_true(set(p, "rename-command", "config", "b", &reason));
    assert_int_equal(p->renamed_count, 1);
    assert_string_equal(p->renamed[0].name, "b");
    assert_true(set(p, "rename-command", "PING", "c", &reason));
    assert_true(set(p, "rename-command", "CONFIG", "config", &reason)); /* undone */
    assert_int_equal(p->renamed_count, 1);
    assert_string_equal(p->renamed[0].command, "PING");
    assert_false(set(p, "rename-command", "", "x", &reason));
}

static const struct sentinel_setting *setting_of(const char *name) {
    const struct sentinel_setting *s;
    for (size_t k = 0; (s = sentinel_setting_at(k)); k++)
        if (strcmp(sentinel_setting_name(s), name) == 0) return s;
    return NULL;
}

static void test_settings_by_config(void **state) {
    const struct {
        const char *name, *good, *bad;
    } rows[] = {{"resolve-hostnames", "yes", "x"},  {"announce-hostnames", "yes", ""},
                {"announce-ip", "10.0.0.1", "a b"}, {"announce-port", "65535", "65536"},
                {"sentinel-user", "u", NULL},       {"sentinel-pass", "p", NULL}};
    struct buffer value;
    buffer_init(&value, MEMORY_OTHER);
    for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
        const struct sentinel_setting *s = setting_of(rows[k].name);
        assert_true(sentinel_setting_set(s, slice_of(rows[k].good)));
        if (rows[k].bad) assert_false(sentinel_setting_set(s, slice_of(rows[k].bad)));
        buffer_clear(&value);
        sentinel_setting_print(s, &value);
        assert_string_equal(value.bytes, rows[k].good);
    }
    buffer_free(&value);
    assert_null(setting_of("myid"));
    assert_null(setting_of("current-epoch"));
    assert_true(sentinel_setting_set(setting_of("announce-ip"), SLICE("")));
    assert_null(sentinel_settings()->announce_ip);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_faults_of_lines, begin, end),
        cmocka_unit_test_setup_teardown(test_what_is_read_is_written, begin, end),
        cmocka_unit_test_setup_teardown(test_order_and_old_lines, begin, end),
        cmocka_unit_test_setup_teardown(test_the_promoted_one_is_written, begin, end),
        cmocka_unit_test_setup_teardown(test_properties_by_set, begin, end),
        cmocka_unit_test_setup_teardown(test_renamed_commands, begin, end),
        cmocka_unit_test_setup_teardown(test_settings_by_config, begin, end),
    };
    return cmocka_run_group_tests(tests, group_begin, group_end);
}
