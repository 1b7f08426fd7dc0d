/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of sentinel/commands: each subcommand's answers and errors, what is on disk before an
 * answer promises it, what others may hear of a change.
 */
#include "sentinel/commands.h"

#include "sentinel/carry_out.h"
#include "sentinel/serving.h"

#define ANOTHER WATCHING_OTHER_ID
#define THIRD WATCHING_THIRD_ID
#define NOT_WRITTEN \
    "-ERR The change is in effect, but could not be written to the configuration file|"
#define UNKNOWN "-ERR No such master with that name|"

static struct primary *p;

static int begin(void **state) {
    if (serving_begin(state)) return -1;
    p = watching_add("m", 7000, 2);
    p->instance.flags = 0;
    return 0;
}

static int end(void **state) {
    struct sentinel_settings *s = sentinel_settings_change();
    sentinel_simulate_failures(0);
    s->deny_scripts_reconfig = true;
    memory_free(s->announce_ip, MEMORY_OTHER);
    s->announce_ip = NULL;
    s->announce_port = 0;
    return serving_end(state);
}

static int64_t now(void) { return clock_monotonic_msec(); }

static struct voter *add_voter(int port, const char *id) {
    struct voter *v = sentinel_add_voter(p, SLICE("127.0.0.1"), port, slice_of(id));
    assert_non_null(v);
    return v;
}

/* A replica that can be promoted, though nothing can be sent to it. */
static void add_good_replica(void) {
    struct replica *r = sentinel_add_replica(p, SLICE("127.0.0.1"), 7001);
    struct link_signs *signs = (struct link_signs *)(uintptr_t)r->instance.signs;
    signs->connected = true;
    signs->ping_waits_since = 0;
    signs->last_good_answer = r->instance.last_info = now();
}

/* ---- forms ---- */

static void test_wrong_numbers_of_arguments(void **state) {
    static const char *const lines[] = {"MASTERS x",
                                        "MASTER",
                                        "Slaves",
                                        "REPLICAS m x",
                                        "SENTINELS",
                                        "is-master-down-by-addr 127.0.0.1 7000 1",
                                        "RESET",
                                        "GET-MASTER-ADDR-BY-NAME",
                                        "FAILOVER m x",
                                        "PENDING-SCRIPTS x",
                                        "MONITOR m 127.0.0.1 7000",
                                        "FLUSHCONFIG x",
                                        "REMOVE",
                                        "CKQUORUM",
                                        "SET"};
    char line[96], wanted[128];
    for (size_t k = 0; k < sizeof(lines) / sizeof(lines[0]); k++) {
        snprintf(line, sizeof(line), "SENTINEL %s", lines[k]);
        /* It is named as it was sent. */
        snprintf(wanted, sizeof(wanted), "-ERR Wrong number of arguments for 'sentinel %.*s'|",
                 (int)strcspn(lines[k], " "), lines[k]);
        serving_say(line, wanted);
    }
}

static void test_unknown_subcommands(void **state) {
    static const char *const names[] = {"nosuch", "MYID x", "HELP x"};
    char line[64], wanted[160];
    for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++) {
        snprintf(line, sizeof(line), "SENTINEL %s", names[k]);
        snprintf(wanted, sizeof(wanted),
                 "-ERR Unknown subcommand or wrong number of arguments for '%.*s'. Try SENTINEL "
                 "HELP.|",
                 (int)strcspn(names[k], " "), names[k]);
        serving_say(line, wanted);
    }
}

static void test_unknown_primaries(void **state) {
    static const char *const lines[] = {"MASTER x",   "SLAVES x", "REPLICAS x", "SENTINELS x",
                                        "FAILOVER x", "REMOVE x", "CKQUORUM x", "SET x quorum 1"};
    char line[64];
    for (size_t k = 0; k < sizeof(lines) / sizeof(lines[0]); k++) {
        snprintf(line, sizeof(line), "SENTINEL %s", lines[k]);
        serving_say(line, UNKNOWN);
    }
    serving_say("SENTINEL GET-MASTER-ADDR-BY-NAME x", "*-1|");
    serving_say("SENTINEL INFO-CACHE x", "*0|");
    serving_say("SENTINEL RESET x", ":0|");
    assert_int_equal(watching_writes, 0);
}

static void test_small_answers(void **state) {
    serving_say("SENTINEL MYID", "$40|" WATCHING_ID "|");
    serving_say("SENTINEL GET-MASTER-ADDR-BY-NAME m", "*2|$9|127.0.0.1|$4|7000|");
    serving_say("SENTINEL PENDING-SCRIPTS", "*0|");
    serving_say_part("SENTINEL HELP", "+HELP|+    Prints this help.|", true);
}

/* One that is named twice is shown once, as in 6.2. */
static void test_info_cache(void **state) {
    watching_add("n", 7100, 1);
    serving_say("SENTINEL INFO-CACHE n m n none", "*4|$1|n|*1|*2|:0|$-1|$1|m|*1|*2|:0|$-1|");
    serving_say_part("SENTINEL INFO-CACHE", "*4|", false);
}

/* ---- down, votes ---- */

static void test_down_without_a_vote(void **state) {
    serving_say("SENTINEL IS-MASTER-DOWN-BY-ADDR 127.0.0.1 7000 5 *", "*3|:0|$1|*|:0|");
    p->instance.flags = INSTANCE_S_DOWN;
    serving_say("SENTINEL IS-MASTER-DOWN-BY-ADDR 127.0.0.1 7000 5 *", "*3|:1|$1|*|:0|");
    serving_say("SENTINEL IS-MASTER-DOWN-BY-ADDR 127.0.0.1 7001 5 *", "*3|:0|$1|*|:0|");
    serving_say("SENTINEL IS-MASTER-DOWN-BY-ADDR 127.0.0.2 7000 5 *", "*3|:0|$1|*|:0|");
    serving_say("SENTINEL IS-MASTER-DOWN-BY-ADDR 127.0.0.1 -1 5 *", "*3|:0|$1|*|:0|");
    serving_say("SENTINEL IS-MASTER-DOWN-BY-ADDR 127.0.0.1 65536 5 *", "*3|:0|$1|*|:0|");
    serving_say("SENTINEL IS-MASTER-DOWN-BY-ADDR 127.0.0.1 x 5 *",
                "-ERR value is not an integer or out of range|");
    serving_say("SENTINEL IS-MASTER-DOWN-BY-ADDR 127.0.0.1 7000 x *",
                "-ERR value is not an integer or out of range|");
    assert_int_equal(sentinel_settings()->epoch, 0);
    assert_int_equal(watching_writes, 0);
}

static void test_votes(void **state) {
#define ASK "SENTINEL IS-MASTER-DOWN-BY-ADDR 127.0.0.1 7000 "
    serving_say(ASK "3 " ANOTHER, "*3|:0|$40|" ANOTHER "|:3|");
    assert_int_equal(watching_writes, 1);
    serving_say(ASK "3 " THIRD, "*3|:0|$40|" ANOTHER "|:3|");
    serving_say(ASK "2 " THIRD, "*3|:0|$40|" ANOTHER "|:3|");
    assert_int_equal(watching_writes, 1);
    serving_say(ASK "4 " THIRD, "*3|:0|$40|" THIRD "|:4|");
    assert_int_equal(sentinel_settings()->epoch, 4);
    /* The address decides, not the name; one that is not watched has no votes. */
    serving_say("SENTINEL IS-MASTER-DOWN-BY-ADDR 127.0.0.1 7001 5 " THIRD, "*3|:0|$1|*|:0|");
    serving_say(ASK "-1 " THIRD, "*3|:0|$1|*|:0|");
    serving_say(ASK "5 short", "*3|:0|$1|*|:0|");
    assert_int_equal(sentinel_settings()->epoch, 4);
}

static void test_no_vote_without_its_record(void **state) {
    watching_disk_is_full = true;
    serving_say(ASK "3 " ANOTHER, "*3|:0|$1|*|:0|");
    watching_disk_is_full = false;
    serving_say(ASK "3 " THIRD, "*3|:0|$40|" THIRD "|:3|");
    watching_disk_is_full = true;
    serving_say(ASK "4 " ANOTHER, "*3|:0|$40|" THIRD "|:3|");
#undef ASK
}

/* Known, down, quorum, and what is said of that. */
static void test_quorums(void **state) {
#define QUORUM "Not enough available Sentinels to reach the specified quorum for this master"
#define MAJORITY "Not enough available Sentinels to reach the majority and authorize a failover"
    static const struct {
        int others, down, quorum;
        const char *reply;
    } rows[] = {
        {0, 0, 1, "+OK 1 usable Sentinels. Quorum and failover authorization can be reached|"},
        {0, 0, 2, "-NOQUORUM 1 usable Sentinels. " QUORUM "|"},
        {2, 1, 2, "+OK 2 usable Sentinels. Quorum and failover authorization can be reached|"},
        {2, 1, 3, "-NOQUORUM 2 usable Sentinels. " QUORUM "|"},
        {2, 2, 1, "-NOQUORUM 1 usable Sentinels. " MAJORITY "|"},
        {2, 2, 2, "-NOQUORUM 1 usable Sentinels. " QUORUM ". " MAJORITY "|"},
        {3, 2, 2, "-NOQUORUM 2 usable Sentinels. " MAJORITY "|"}, /* half is no majority */
    };
    for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
        char id[SENTINEL_ID_CHARS + 1] = ANOTHER;
        sentinel_reset_primary(p, true);
        p->quorum = rows[k].quorum;
        for (int i = 0; i < rows[k].others; i++) {
            id[0] = (char)('0' + i);
            struct voter *v = add_voter(7002 + i, id);
            v->instance.flags = i < rows[k].down ? INSTANCE_S_DOWN : 0;
        }
        serving_say("SENTINEL CKQUORUM m", rows[k].reply);
    }
#undef QUORUM
#undef MAJORITY
}

/* ---- changes ---- */

static void test_failover(void **state) {
    serving_say("SENTINEL FAILOVER m", "-NOGOODSLAVE No suitable replica to promote|");
    assert_int_equal(p->instance.flags & INSTANCE_IN_FAILOVER, 0);
    add_good_replica();
    serving_say("SENTINEL FAILOVER m", "+OK|");
    assert_true(p->instance.flags & INSTANCE_FORCED);
    serving_say("SENTINEL FAILOVER m", "-INPROG Failover already in progress|");
}

static void test_remove(void **state) {
    serving_say("SENTINEL REMOVE m", "+OK|");
    assert_string_equal(watching_told, "-monitor master m 127.0.0.1 7000\n");
    assert_int_equal(watching_writes, 1);
    assert_int_equal(sentinel_primary_count(), 0);
    serving_say("SENTINEL REMOVE m", UNKNOWN);
}

static void test_reset(void **state) {
    struct primary *other = watching_add("other", 7100, 1);
    add_voter(7002, ANOTHER);
    add_good_replica();
    sentinel_add_replica(other, SLICE("127.0.0.1"), 7101);
    serving_say("SENTINEL RESET M", ":0|"); /* names have cases */
    assert_int_equal(watching_writes, 0);
    serving_say("SENTINEL RESET [lm]", ":1|");
    assert_int_equal(watching_writes, 1);
    assert_int_equal(p->replica_count + p->voter_count, 0);
    assert_int_equal(other->replica_count, 1);
    assert_string_equal(watching_told, "+reset-master master m 127.0.0.1 7000\n");
    serving_say("SENTINEL RESET *", ":2|");
    watching_disk_is_full = true;
    serving_say("SENTINEL RESET *", NOT_WRITTEN);
}

static void test_a_full_disk(void **state) {
    watching_disk_is_full = true;
    serving_say("SENTINEL FLUSHCONFIG", NOT_WRITTEN);
    serving_say("SENTINEL SET m quorum 3", NOT_WRITTEN);
    assert_int_equal(p->quorum, 3);
    serving_say("SENTINEL MONITOR n 127.0.0.1 7100 1", NOT_WRITTEN);
    assert_int_equal(sentinel_primary_count(), 2);
    serving_say("SENTINEL CONFIG SET announce-port 5", NOT_WRITTEN);
    serving_say("SENTINEL REMOVE n", NOT_WRITTEN);
    assert_int_equal(sentinel_primary_count(), 1);
    watching_disk_is_full = false;
    serving_say("SENTINEL FLUSHCONFIG", "+OK|");
}

static void test_monitor(void **state) {
    serving_say("SENTINEL MONITOR n 127.0.0.1 7100 2", "+OK|");
    assert_string_equal(watching_told, "+monitor master n 127.0.0.1 7100 quorum 2\n");
    serving_say("SENTINEL MONITOR n 127.0.0.1 7200 2", "-ERR Duplicate master name.|");
    serving_say("SENTINEL MONITOR q 127.0.0.1 7200 x", "-ERR Invalid quorum|");
    serving_say("SENTINEL MONITOR q 127.0.0.1 x 1", "-ERR Invalid port|");
    serving_say("SENTINEL MONITOR q 127.0.0.1 7200 0", "-ERR Quorum must be 1 or greater.|");
    serving_say("SENTINEL MONITOR q name.example 7200 1",
                "-ERR Invalid IP address or hostname specified|");
    assert_int_equal(sentinel_primary_count(), 2);
    assert_int_equal(watching_writes, 1);
}

/* ---- SET ---- */

static void test_set(void **state) {
    serving_say("SENTINEL SET m", "+OK|");
    serving_say(
        "SENTINEL SET m DOWN-AFTER-MILLISECONDS 4000 failover-timeout 9000 "
        "parallel-syncs 2 quorum 3",
        "+OK|");
    assert_int_equal(p->down_after_msec, 4000);
    assert_int_equal(p->failover_timeout_msec, 9000);
    assert_int_equal(p->parallel_syncs, 2);
    assert_int_equal(p->quorum, 3);
    assert_string_equal(watching_told,
                        "+set master m 127.0.0.1 7000 DOWN-AFTER-MILLISECONDS 4000\n"
                        "+set master m 127.0.0.1 7000 failover-timeout 9000\n"
                        "+set master m 127.0.0.1 7000 parallel-syncs 2\n"
                        "+set master m 127.0.0.1 7000 quorum 3\n");
}

static void test_set_tells_no_password(void **state) {
    serving_say("SENTINEL SET m auth-user u auth-pass secret", "+OK|");
    assert_string_equal(watching_told,
                        "+set master m 127.0.0.1 7000 auth-user u\n"
                        "+set master m 127.0.0.1 7000 auth-pass ******\n");
    assert_string_equal(buffer_slice(&p->auth_pass).bytes, "secret");
    serving_say("SENTINEL SET m rename-command PING gnip", "+OK|");
    assert_int_equal(p->renamed_count, 1);
    serving_say("SENTINEL SET m rename-command PING PING", "+OK|");
    assert_int_equal(p->renamed_count, 0);
}

/* Bytes that are no text do not reach the log as they are. */
static void test_set_tells_no_control_characters(void **state) {
    peer_send(&serving_peer, SLICE("*5\r\n$8\r\nSENTINEL\r\n$3\r\nSET\r\n$1\r\nm\r\n$9\r\n"
                                   "auth-user\r\n$3\r\na\nb\r\n"));
    peer_assert_got(&serving_peer, SLICE("+OK\r\n"));
    assert_string_equal(watching_told, "+set master m 127.0.0.1 7000 auth-user a.b\n");
}

/* What stands before the fault is set. */
static void test_set_refuses(void **state) {
    serving_say("SENTINEL SET m nosuch 1",
                "-ERR Unknown option or number of arguments for SENTINEL SET 'nosuch'|");
    serving_say("SENTINEL SET m quorum",
                "-ERR Unknown option or number of arguments for SENTINEL SET 'quorum'|");
    serving_say("SENTINEL SET m rename-command PING",
                "-ERR Unknown option or number of arguments for SENTINEL SET 'rename-command'|");
    serving_say("SENTINEL SET m config-epoch 5",
                "-ERR Unknown option or number of arguments for SENTINEL SET 'config-epoch'|");
    serving_say("SENTINEL SET m quorum 0", "-ERR Invalid argument '0' for SENTINEL SET 'quorum'|");
    serving_say("SENTINEL SET m down-after-milliseconds -1",
                "-ERR Invalid argument '-1' for SENTINEL SET 'down-after-milliseconds'|");
    assert_string_equal(watching_told, "");
    assert_int_equal(watching_writes, 0);
    serving_say("SENTINEL SET m parallel-syncs 5 quorum x quorum 4",
                "-ERR Invalid argument 'x' for SENTINEL SET 'quorum'|");
    assert_int_equal(p->parallel_syncs, 5);
    assert_int_equal(p->quorum, 2);
    assert_int_equal(watching_writes, 1);
}

static void test_scripts_are_denied(void **state) {
    serving_say("SENTINEL SET m notification-script /bin/true",
                "-ERR Reconfiguration of scripts path is denied for security reasons. Check the "
                "deny-scripts-reconfig configuration directive in your Sentinel configuration|");
    sentinel_settings_change()->deny_scripts_reconfig = false;
    serving_say("SENTINEL SET m notification-script /bin/true", "+OK|");
    assert_string_equal(p->notification_script, "/bin/true");
    serving_say("SENTINEL SET m client-reconfig-script /nonexistent",
                "-ERR Client reconfiguration script seems non existing or non executable|");
    serving_say("SENTINEL SET m notification-script \"\"", "+OK|");
    assert_null(p->notification_script);
}

/* ---- CONFIG ---- */

static void test_config(void **state) {
    serving_say("SENTINEL CONFIG GET announce-port", "*2|$13|announce-port|$1|0|");
    serving_say("SENTINEL CONFIG SET announce-port 5000", "+OK|");
    serving_say("SENTINEL CONFIG GET ANNOUNCE-P*", "*2|$13|announce-port|$4|5000|");
    serving_say("SENTINEL CONFIG SET announce-ip 10.1.1.1", "+OK|");
    serving_say("SENTINEL CONFIG GET announce-[ip]*",
                "*4|$11|announce-ip|$8|10.1.1.1|$13|announce-port|$4|5000|");
    serving_say("SENTINEL CONFIG GET nosuch", "*0|");
    assert_int_equal(watching_writes, 2);
    serving_say("SENTINEL CONFIG SET nosuch 1",
                "-ERR Invalid argument 'nosuch' to SENTINEL CONFIG SET|");
    serving_say("SENTINEL CONFIG SET announce-port x",
                "-ERR Invalid value 'x' to SENTINEL CONFIG SET 'announce-port'|");
    assert_int_equal(watching_writes, 2);
}

static void test_forms_of_config(void **state) {
    static const char *const lines[] = {"", " GET", " GET a b", " SET a", " SET a b c", " DROP a"};
    char line[64];
    for (size_t k = 0; k < sizeof(lines) / sizeof(lines[0]); k++) {
        snprintf(line, sizeof(line), "SENTINEL CONFIG%s", lines[k]);
        serving_say(line,
                    "-ERR Only SENTINEL CONFIG GET <option> / SET <option> <value> are "
                    "supported.|");
    }
}

/* ---- the rest ---- */

static void test_simulated_failures(void **state) {
    serving_say("SENTINEL SIMULATE-FAILURE crash-after-election CRASH-AFTER-PROMOTION", "+OK|");
    assert_int_equal(sentinel_simulated_failures(),
                     SENTINEL_CRASH_AFTER_ELECTION | SENTINEL_CRASH_AFTER_PROMOTION);
    serving_say("SENTINEL SIMULATE-FAILURE help",
                "*2|$20|crash-after-election|$21|crash-after-promotion|");
    serving_say("SENTINEL SIMULATE-FAILURE crash-after-lunch",
                "-ERR Unknown failure simulation specified|");
    assert_int_equal(sentinel_simulated_failures(), 3); /* as it was */
    serving_say("SENTINEL SIMULATE-FAILURE", "+OK|");
    assert_int_equal(sentinel_simulated_failures(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_wrong_numbers_of_arguments, begin, end),
        cmocka_unit_test_setup_teardown(test_unknown_subcommands, begin, end),
        cmocka_unit_test_setup_teardown(test_unknown_primaries, begin, end),
        cmocka_unit_test_setup_teardown(test_small_answers, begin, end),
        cmocka_unit_test_setup_teardown(test_info_cache, begin, end),
        cmocka_unit_test_setup_teardown(test_down_without_a_vote, begin, end),
        cmocka_unit_test_setup_teardown(test_votes, begin, end),
        cmocka_unit_test_setup_teardown(test_no_vote_without_its_record, begin, end),
        cmocka_unit_test_setup_teardown(test_quorums, begin, end),
        cmocka_unit_test_setup_teardown(test_failover, begin, end),
        cmocka_unit_test_setup_teardown(test_remove, begin, end),
        cmocka_unit_test_setup_teardown(test_reset, begin, end),
        cmocka_unit_test_setup_teardown(test_a_full_disk, begin, end),
        cmocka_unit_test_setup_teardown(test_monitor, begin, end),
        cmocka_unit_test_setup_teardown(test_set, begin, end),
        cmocka_unit_test_setup_teardown(test_set_tells_no_password, begin, end),
        cmocka_unit_test_setup_teardown(test_set_tells_no_control_characters, begin, end),
        cmocka_unit_test_setup_teardown(test_set_refuses, begin, end),
        cmocka_unit_test_setup_teardown(test_scripts_are_denied, begin, end),
        cmocka_unit_test_setup_teardown(test_config, begin, end),
        cmocka_unit_test_setup_teardown(test_forms_of_config, begin, end),
        cmocka_unit_test_setup_teardown(test_simulated_failures, begin, end),
    };
    return cmocka_run_group_tests(tests, serving_open, NULL);
}
