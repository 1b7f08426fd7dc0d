/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of sentinel/service: the commands that a Sentinel has, and those that it has not; PUBLISH,
 * ROLE, INFO's section.
 */
#include "sentinel/service.h"

#include "sentinel/carry_out.h"
#include "sentinel/serving.h"

#define HELLO(epoch, port) \
    "127.0.0.1,7002," WATCHING_OTHER_ID "," epoch ",m,127.0.0.1," port "," epoch

/* As in 6.2, but for QUIT, which COMMAND does not show. */
static const struct {
    const char *name, *shown; /* arity, flags, keys, categories */
} commands[] = {
    {"ping", ":1|*1|+fast|:0|:0|:0|*2|+@fast|+@connection|"},
    {"sentinel", ":-2|*1|+admin|:0|:0|:0|*3|+@admin|+@slow|+@dangerous|"},
    {"subscribe", ":-2|*1|+pubsub|:0|:0|:0|*2|+@pubsub|+@slow|"},
    {"unsubscribe", ":-1|*1|+pubsub|:0|:0|:0|*2|+@pubsub|+@slow|"},
    {"psubscribe", ":-2|*1|+pubsub|:0|:0|:0|*2|+@pubsub|+@slow|"},
    {"punsubscribe", ":-1|*1|+pubsub|:0|:0|:0|*2|+@pubsub|+@slow|"},
    {"publish", ":3|*2|+pubsub|+fast|:0|:0|:0|*2|+@pubsub|+@fast|"},
    {"info", ":-1|*1|+random|:0|:0|:0|*2|+@slow|+@dangerous|"},
    {"role", ":1|*2|+readonly|+fast|:0|:0|:0|*3|+@read|+@fast|+@dangerous|"},
    {"client", ":-2|*2|+admin|+random|:0|:0|:0|*4|+@admin|+@slow|+@dangerous|+@connection|"},
    {"shutdown", ":-1|*1|+admin|:0|:0|:0|*3|+@admin|+@slow|+@dangerous|"},
    {"auth", ":-2|*2|+fast|+no_auth|:0|:0|:0|*2|+@fast|+@connection|"},
    {"hello", ":-1|*2|+fast|+no_auth|:0|:0|:0|*2|+@fast|+@connection|"},
    {"acl", ":-2|*1|+admin|:0|:0|:0|*3|+@admin|+@slow|+@dangerous|"},
    {"command", ":-1|*1|+random|:0|:0|:0|*2|+@slow|+@connection|"},
};

static void test_commands(void **state) {
    char line[64], wanted[256];
    for (size_t k = 0; k < sizeof(commands) / sizeof(commands[0]); k++) {
        snprintf(line, sizeof(line), "COMMAND INFO %s", commands[k].name);
        snprintf(wanted, sizeof(wanted), "*1|*7|$%zu|%s|%s", strlen(commands[k].name),
                 commands[k].name, commands[k].shown);
        serving_say(line, wanted);
    }
    serving_say("COMMAND COUNT", ":15|");
}

static void test_commands_of_a_server_are_unknown(void **state) {
    static const char *const names[] = {"get",    "set",      "config", "multi",
                                        "select", "debug",    "save",   "replicaof",
                                        "eval",   "flushall", "reset",  "monitor"};
    char line[32], wanted[128];
    for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++) {
        snprintf(line, sizeof(line), "%s x", names[k]);
        snprintf(wanted, sizeof(wanted),
                 "-ERR unknown command `%s`, with args beginning with: `x`, |", names[k]);
        serving_say(line, wanted);
    }
    serving_say("COMMAND INFO get", "*1|$-1|");
}

/* ---- PUBLISH, ROLE ---- */

static void test_only_hello_messages_are_taken(void **state) {
    struct primary *p = watching_add("m", 7000, 2);
    serving_say("PUBLISH news text",
                "-ERR Only HELLO messages are accepted by Sentinel instances.|");
    serving_say("PUBLISH __SENTINEL__:hello text",
                "-ERR Only HELLO messages are accepted by Sentinel instances.|");
    assert_int_equal(p->voter_count, 0);
    serving_say("PUBLISH __sentinel__:hello " HELLO("4", "7000"), ":1|");
    assert_int_equal(p->voter_count, 1);
    assert_int_equal(p->config_epoch, 4);
    assert_int_equal(sentinel_settings()->epoch, 4);
    serving_say("PUBLISH __sentinel__:hello nonsense", ":1|");
    assert_int_equal(p->voter_count, 1);
    watching_forget();
    serving_say("PUBLISH __sentinel__:hello " HELLO("5", "7001"), ":1|");
    assert_non_null(strstr(watching_told, "+switch-master m 127.0.0.1 7000 127.0.0.1 7001\n"));
}

static void test_role(void **state) {
    serving_say("ROLE", "*2|$8|sentinel|*0|");
    watching_add("m", 7000, 2);
    serving_say("ROLE", "*2|$8|sentinel|*1|$1|m|");
}

static void test_hello(void **state) {
    serving_say_part("HELLO", "$4|mode|$8|sentinel|$7|modules|*0|", true);
}

/* ---- INFO ---- */

static void assert_info(const char *lines) {
    struct buffer wanted = {.class = MEMORY_OTHER};
    size_t bytes = strlen(lines);
    for (const char *at = lines; *at; at++) bytes += *at == '|';
    buffer_printf(&wanted, "$%zu|%s|", bytes, lines);
    serving_say("INFO sentinel", wanted.bytes);
    buffer_free(&wanted);
}

static void test_info(void **state) {
    assert_info(
        "# Sentinel|sentinel_masters:0|sentinel_tilt:0|sentinel_running_scripts:0|"
        "sentinel_scripts_queue_length:0|sentinel_simulate_failure_flags:0|");
    struct primary *p = watching_add("m", 7000, 2);
    p->instance.flags = 0;
    sentinel_add_replica(p, SLICE("127.0.0.1"), 7001);
    sentinel_add_voter(p, SLICE("127.0.0.1"), 7002, SLICE(WATCHING_OTHER_ID));
    assert_info(
        "# Sentinel|sentinel_masters:1|sentinel_tilt:0|sentinel_running_scripts:0|"
        "sentinel_scripts_queue_length:0|sentinel_simulate_failure_flags:0|"
        "master0:name=m,status=ok,address=127.0.0.1:7000,slaves=1,sentinels=2|");
}

static void test_the_status_of_a_primary(void **state) {
    struct primary *p = watching_add("m", 7000, 2);
    p->instance.flags = INSTANCE_S_DOWN;
    sentinel_simulate_failures(SENTINEL_CRASH_AFTER_PROMOTION);
    assert_info(
        "# Sentinel|sentinel_masters:1|sentinel_tilt:0|sentinel_running_scripts:0|"
        "sentinel_scripts_queue_length:0|sentinel_simulate_failure_flags:2|"
        "master0:name=m,status=sdown,address=127.0.0.1:7000,slaves=0,sentinels=1|");
    sentinel_simulate_failures(0);
    p->instance.flags = INSTANCE_S_DOWN | INSTANCE_O_DOWN;
    assert_info(
        "# Sentinel|sentinel_masters:1|sentinel_tilt:0|sentinel_running_scripts:0|"
        "sentinel_scripts_queue_length:0|sentinel_simulate_failure_flags:0|"
        "master0:name=m,status=odown,address=127.0.0.1:7000,slaves=0,sentinels=1|");
}

static void test_other_sections(void **state) {
    serving_say("INFO keyspace", "$0||");
    serving_say("INFO sentinel server", "-ERR syntax error|");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_commands, serving_begin, serving_end),
        cmocka_unit_test_setup_teardown(test_commands_of_a_server_are_unknown, serving_begin,
                                        serving_end),
        cmocka_unit_test_setup_teardown(test_only_hello_messages_are_taken, serving_begin,
                                        serving_end),
        cmocka_unit_test_setup_teardown(test_role, serving_begin, serving_end),
        cmocka_unit_test_setup_teardown(test_hello, serving_begin, serving_end),
        cmocka_unit_test_setup_teardown(test_info, serving_begin, serving_end),
        cmocka_unit_test_setup_teardown(test_the_status_of_a_primary, serving_begin, serving_end),
        cmocka_unit_test_setup_teardown(test_other_sections, serving_begin, serving_end),
    };
    return cmocka_run_group_tests(tests, serving_open, NULL);
}
