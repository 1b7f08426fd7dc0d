/* SPDX-License-Identifier: BSD-3-Clause
 * Modes: which command line chooses which, and a mode of a few folders that serves clients: no
 * commands of data, no log, no replication, no script, and nothing that asks for them.
 */
#include "server/mode.h"

#include "net/peers.h"

#include "access/acl.h"
#include "access/auth.h"
#include "base/clock.h"
#include "command/call.h"
#include "command/command.h"
#include "commands/connection.h"
#include "exec/gate_rows.h"
#include "exec/gates.h"
#include "exec/run.h"
#include "report/command_times.h"
#include "server/info.h"
#include "server/modes.h"
#include "store/keyspace.h"

/* ---- which mode ---- */

#define WORDS_MAX 5

static const struct chosen {
    const char *argv[WORDS_MAX]; /* ended by NULL */
    const char *program;         /* of the mode that is chosen; NULL: the server */
    bool called;                 /* by the program's path */
} command_lines[] = {
    {{"redis-server"}, NULL, false},
    {{NULL}, NULL, false},
    {{"/usr/bin/redis-server", "redis.conf", "--port", "0"}, NULL, false},
    {{"redis-server", "--sentinels", "sentinel"}, NULL, false},
    {{"redis-server", "--sentinel"}, "redis-sentinel", false},
    {{"redis-server", "sentinel.conf", "--port", "--sentinel"}, "redis-sentinel", false},
    {{"redis-sentinel", "sentinel.conf"}, "redis-sentinel", true},
    {{"/opt/redis-sentinel-6/server"}, "redis-sentinel", true},
    {{"redis-server", "--check-rdb", "dump.rdb"}, "redis-check-rdb", false},
    {{"redis-server", "dump.rdb", "--check-rdb"}, NULL, false},
    {{"/usr/bin/redis-check-rdb"}, "redis-check-rdb", true},
    {{"redis-server", "--check-aof", "--fix", "a.aof"}, "redis-check-aof", false},
    {{"redis-check-aof", "--fix", "a.aof"}, "redis-check-aof", true},
    {{"redis-check-rdb", "--sentinel"}, "redis-check-rdb", true},
    {{"redis-check-rdb", "--check-aof"}, "redis-check-rdb", true},
};

static void test_command_line_chooses(void **state) {
    for (size_t i = 0; i < sizeof(command_lines) / sizeof(command_lines[0]); i++) {
        const struct chosen *c = &command_lines[i];
        char *argv[WORDS_MAX];
        int argc = 0;
        for (; c->argv[argc]; argc++) argv[argc] = (char *)(uintptr_t)c->argv[argc];
        const struct mode *mode = mode_choose(mode_table, argc, argv);
        assert_string_equal(mode->program ? mode->program : "", c->program ? c->program : "");
        assert_true((mode == &mode_server) == !c->program);
        assert_true(mode_is_called(mode, argc, argv) == c->called);
    }
}

/* ---- a small server ---- */

/* Calls name a database, which stays empty. */
static void register_clients(void) {
    keyspace_register();
    client_register();
    batch_register();
    reply_register();
}

static void (*const registrations[])(void) = {register_clients,       call_register,
                                              command_times_register, acl_register,
                                              auth_register,          commands_connection_register,
                                              info_register,          NULL};

static bool clients_are_open, figures_are_open, refuses;

static bool open_figures(struct loop *loop) {
    info_open(loop);
    figures_are_open = true;
    return true;
}

static bool open_or_refuse(struct loop *loop) { return !refuses; }

static struct gate *const small_gates[] = {&gate_user, NULL};

static bool open_clients(struct loop *loop) {
    assert_true(figures_are_open);
    gates_set_order(small_gates);
    keyspace_open();
    if (!client_open(loop, &PEERS_PARTS)) return false;
    reply_open();
    batch_open(run_executor());
    commands_connection_open(mode_current()->name, NULL);
    clients_are_open = true;
    return true;
}

static bool (*const openings[])(struct loop *loop) = {open_figures, open_or_refuse, open_clients,
                                                      NULL};
static const struct mode_section sections[] = {{"Server", true}, {"Stats", true}, {NULL, false}};
static const struct mode small = {.name = "small",
                                  .product = "Small",
                                  .title = "[small]",
                                  .port = "1",
                                  .log_role = 'Q',
                                  .sections = sections,
                                  .registrations = registrations,
                                  .openings = openings};

static void test_a_refusal_ends_the_opening(void **state) {
    refuses = true;
    assert_false(mode_open(&small, peers_loop));
    assert_false(clients_are_open);
    refuses = false;
    assert_true(mode_open(&small, peers_loop));
    assert_true(clients_are_open);
    peers_set_before_sleep(peers_before_sleep);
}

static void ask(struct peer *p, const char *line, const char *reply) {
    peer_send(p, slice_of(line));
    peer_assert_got(p, slice_of(reply));
}

static void test_it_serves(void **state) {
    struct peer p = peer_connect();
    ask(&p, "PING\r\n", "+PONG\r\n");
    ask(&p, "ECHO a\r\n", "$1\r\na\r\n");
    ask(&p, "GET k\r\n", "-ERR unknown command `GET`, with args beginning with: `k`, \r\n");
    peer_close(&p);
}

static void test_it_has_what_it_registered(void **state) {
    assert_ptr_equal(mode_current(), &small);
    assert_null(command_find(SLICE("get")));
    assert_null(command_find(SLICE("replicaof")));
    assert_null(option_find(SLICE("appendonly")));
    assert_non_null(option_find(SLICE("maxclients")));
}

static void test_it_shows_itself(void **state) {
    struct peer p = peer_connect();
    struct buffer text = {.class = MEMORY_OTHER};
    peer_send(&p, SLICE("INFO\r\n"));
    buffer_append(&text, p.got.bytes, p.got.length);
    buffer_append_char(&text, 0);
    assert_non_null(strstr(text.bytes, "# Server\r\n"));
    assert_non_null(strstr(text.bytes, "\r\nredis_mode:small\r\n"));
    assert_non_null(strstr(text.bytes, "# Stats\r\n"));
    assert_null(strstr(text.bytes, "# Memory"));
    assert_null(strstr(text.bytes, "# Replication"));
    buffer_free(&text);
    buffer_clear(&p.got);
    peer_close(&p);
}

static void test_hello_says_the_mode_and_no_role(void **state) {
    struct peer p = peer_connect();
    peer_send(&p, SLICE("HELLO 2\r\n"));
    buffer_append_char(&p.got, 0);
    assert_ptr_equal(strstr(p.got.bytes, "*12\r\n"), p.got.bytes);
    assert_non_null(strstr(p.got.bytes, "$4\r\nmode\r\n$5\r\nsmall\r\n$7\r\nmodules\r\n"));
    buffer_clear(&p.got);
    peer_close(&p);
}

static int setup(void **state) {
    seed_from_environment();
    signal(SIGPIPE, SIG_IGN);
    clock_refresh();
    mode_register(&small);
    peers_loop = loop_create();
    peers_clients_bytes = peers_bytes_now();
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_command_line_chooses),
        cmocka_unit_test(test_a_refusal_ends_the_opening),
        cmocka_unit_test(test_it_has_what_it_registered),
        cmocka_unit_test(test_it_serves),
        cmocka_unit_test(test_it_shows_itself),
        cmocka_unit_test(test_hello_says_the_mode_and_no_role),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
