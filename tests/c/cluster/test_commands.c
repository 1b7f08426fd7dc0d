/* SPDX-License-Identifier: BSD-3-Clause
 * CLUSTER: the table of its subcommands (which words, how many arguments), who may call it, and its
 * refusal where cluster mode is off.
 */
#include "cluster/commands.h"

#include <sys/wait.h>

#include "cluster/options.h"
#include "cluster/whole_node.h"
#include "command/command.h"
#include "exec/run.h"
#include "topology/failure.h"

#define OFF "-ERR This instance has cluster support disabled\r\n"

/* Where cluster mode is off: in a process of its own, which is a whole server, too. */
static int run_without_cluster(void) {
    static const char *const refused[] = {"cluster info",  "cluster slots",   "cluster help",
                                          "cluster none",  "cluster nodes x", "cluster addslots 1",
                                          "cluster reset", "asking",          "readonly"};
    whole_open();
    struct peer p = peer_connect();
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
        whole_say(&p, refused[i], OFF);
    whole_say(&p, "readwrite", NODE_OK);
    whole_say(&p, "cluster", "-ERR wrong number of arguments for 'cluster' command\r\n");
    peer_close(&p);
    return 0;
}

static int open_both(void **state) {
    int status;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) _exit(run_without_cluster());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    return node_open(state);
}

static void assert_count_refused(struct peer *p, const char *word, int more) {
    char line[256], reply[256];
    int length = snprintf(line, sizeof(line), "cluster %s", word);
    for (int i = 0; i < more; i++)
        length += snprintf(line + length, sizeof(line) - (size_t)length, " 1");
    snprintf(reply, sizeof(reply),
             "-ERR Unknown subcommand or wrong number of arguments for '%s'. Try CLUSTER HELP.\r\n",
             word);
    whole_say(p, line, reply);
}

/* The least and the most arguments behind the word. */
static const struct {
    const char *word;
    int least, most; /* -1: as many as there are */
} bounds[] = {
    {"ADDSLOTS", 1, -1},
    {"bumpepoch", 0, 0},
    {"Count-Failure-Reports", 1, 1},
    {"replicas", 1, 1},
    {"delslots", 1, -1},
    {"countkeysinslot", 1, 1},
    {"failover", 0, 1},
    {"flushslots", 0, 0},
    {"forget", 1, 1},
    {"help", 0, 0},
    {"getkeysinslot", 2, 2},
    {"info", 0, 0},
    {"keyslot", 1, 1},
    {"meet", 2, 3},
    {"myid", 0, 0},
    {"nodes", 0, 0},
    {"replicate", 1, 1},
    {"reset", 0, 1},
    {"saveconfig", 0, 0},
    {"setslot", 2, -1},
    {"slaves", 1, 1},
    {"slots", 0, 0},
    {"set-config-epoch", 1, 1},
};

static void test_counts(void **state) {
    struct peer p = peer_connect();
    for (size_t i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++) {
        if (bounds[i].least) assert_count_refused(&p, bounds[i].word, bounds[i].least - 1);
        if (bounds[i].most >= 0) assert_count_refused(&p, bounds[i].word, bounds[i].most + 1);
        /* Both bounds are the word's own: it is found with either count. */
        for (int more = bounds[i].least; more <= bounds[i].most; more++) {
            char line[256];
            int length = snprintf(line, sizeof(line), "cluster %s", bounds[i].word);
            for (int k = 0; k < more; k++)
                length += snprintf(line + length, sizeof(line) - (size_t)length, " 77777");
            node_say_any(&p, line);
            if (strstr(p.got.bytes, "Unknown subcommand")) fail_msg("%s", line);
            buffer_clear(&p.got);
        }
    }
    static const char *const none[] = {"links",  "shards", "addslotsrange",
                                       "nodesx", "node",   "\"\""};
    for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
        for (int more = 0; more < 3; more++)
            if (*none[i] != '"') assert_count_refused(&p, none[i], more);
    peer_close(&p);
}

static void test_help(void **state) {
    struct peer p = peer_connect();
    peer_send(&p, SLICE("cluster help\r\n"));
    buffer_append_char(&p.got, '\0');
    assert_int_equal(strncmp(p.got.bytes, "*47\r\n+CLUSTER ", 14), 0);
    for (size_t i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++) {
        char line[64];
        size_t length = (size_t)snprintf(line, sizeof(line), "\r\n+%s", bounds[i].word);
        for (size_t k = 0; k < length; k++)
            if (line[k] >= 'a' && line[k] <= 'z') line[k] -= 'a' - 'A';
        if (strcmp(bounds[i].word, "slaves") != 0 && !strstr(p.got.bytes, line))
            fail_msg("HELP does not have %s", bounds[i].word);
    }
    buffer_clear(&p.got);
    peer_close(&p);
}

/* Runs "cluster flushslots" as a call of that origin. */
static void run_from(struct peer *p, enum call_origin origin) {
    const struct slice words[] = {SLICE("cluster"), SLICE("flushslots")};
    struct call call = {.client = p->client,
                        .command = command_find(words[0]),
                        .argc = 2,
                        .argv = words,
                        .keyspace = keyspace_at(0),
                        .origin = origin};
    call.command->handler(&call);
    peers_turns();
    peer_receive(p, SIZE_MAX);
}

static void test_origins(void **state) {
    struct peer p = peer_connect();
    static const enum call_origin refused[] = {CALL_PRIMARY, CALL_QUEUED_AGAIN, CALL_LOG,
                                               CALL_SCRIPT_AGAIN};
    scene_give(cluster_here(), cluster_here()->self, 1, 5);
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        run_from(&p, refused[i]);
        peer_assert_got(&p, SLICE("-ERR CLUSTER is not accepted from a primary or a log\r\n"));
    }
    assert_int_equal(cluster_here()->assigned, 5);
    run_from(&p, CALL_NETWORK);
    peer_assert_got(&p, SLICE(NODE_OK));
    assert_int_equal(cluster_here()->assigned, 0);
    peer_close(&p);
}

static void test_old_failure_reports_do_not_count(void **state) {
    struct cluster *c = cluster_here();
    struct cluster_node *about = scene_add(c, 'b', CLUSTER_NODE_PRIMARY);
    int64_t now = clock_wall_msec(), lifetime = 2 * cluster_options()->node_timeout_ms;
    struct peer p = peer_connect();
    (void)cluster_report_add(about, scene_add(c, 'c', CLUSTER_NODE_PRIMARY), now);
    (void)cluster_report_add(about, scene_add(c, 'd', CLUSTER_NODE_PRIMARY), now - lifetime - 1);
    whole_say(&p, "cluster count-failure-reports " NODE_B, ":1\r\n");
    peer_close(&p);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, node_begin, whole_nothing_left)
    const struct CMUnitTest tests[] = {TEST(test_counts), TEST(test_help), TEST(test_origins),
                                       TEST(test_old_failure_reports_do_not_count)};
    return cmocka_run_group_tests(tests, open_both, node_close);
}
