/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of sentinel/monitor_command: a client that waits for a name is answered once, whatever ends
 * its wait, and leaves nothing.
 */
#include "sentinel/monitor_command.h"

#include "command/row.h"
#include "io/names.h"
#include "sentinel/address.h"
#include "sentinel/record.h"
#include "sentinel/settings.h"
#include "sentinel/watched.h"
#include "server/whole.h"

#define UNKNOWN "-ERR Invalid IP address or hostname specified\r\n"
#define TURNS_MAX 20000

static int answered;

static struct command rows[] = {
    COMMAND("watch-primary", sentinel_command_monitor, 6, ADMIN, NO_CATEGORY, NO_KEYS, ""),
};

static bool write_nothing(void) { return true; }

static void note_answered(const char *host) {
    answered++;
    sentinel_monitor_note_name(host);
}

static int open_all(void **state) {
    if (whole_open()) return -1;
    command_register(COMMAND_ROWS(rows));
    sentinel_address_open(peers_loop, note_answered);
    sentinel_record_open(write_nothing);
    sentinel_settings_change()->resolve_hostnames = true;
    return 0;
}

static int begin(void **state) {
    answered = 0;
    return whole_begin(state);
}

static int end(void **state) {
    while (!list_is_empty(sentinel_primaries()))
        sentinel_drop_primary(LIST_ENTRY(sentinel_primaries()->next, struct primary, in_watched));
    return whole_nothing_left(state);
}

static void ask(struct peer *p, const char *name, const char *host) {
    char line[128];
    snprintf(line, sizeof(line), "watch-primary monitor %s %s 7000 1\r\n", name, host);
    peer_send(p, slice_of(line));
    peers_turns();
}

static void hear(struct peer *p, const char *reply) {
    peers_turns();
    peer_receive(p, 4096);
    peer_assert_got(p, slice_of(reply));
}

static void let_resolve(int names) {
    names_release(names);
    for (int i = 0; i < TURNS_MAX && answered < names; i++) loop_turn(peers_loop, 1);
    assert_int_equal(answered, names);
}

static void test_the_name_is_found(void **state) {
    struct peer p = peer_connect(), q = peer_connect();
    ask(&p, "first", "found.slow");
    ask(&q, "second", "found.slow");
    hear(&p, "");
    let_resolve(1);
    hear(&p, "+OK\r\n");
    hear(&q, "+OK\r\n");
    assert_int_equal(sentinel_primary_count(), 2);
    peer_close(&p);
    peer_close(&q);
}

static void test_the_name_is_not_found(void **state) {
    struct peer p = peer_connect();
    ask(&p, "m", "is.unknown");
    for (int i = 0; i < TURNS_MAX && !answered; i++) loop_turn(peers_loop, 1);
    hear(&p, UNKNOWN);
    peer_close(&p);
    assert_int_equal(sentinel_primary_count(), 0);
}

static void test_the_name_comes_late(void **state) {
    struct peer p = peer_connect();
    ask(&p, "m", "late.slow");
    whole_pass(10001);
    hear(&p, UNKNOWN);
    let_resolve(1);
    hear(&p, "");
    peer_close(&p);
    assert_int_equal(sentinel_primary_count(), 0);
}

static void test_the_client_leaves(void **state) {
    struct peer p = peer_connect();
    ask(&p, "m", "left.slow");
    peer_close(&p);
    peers_turns();
    let_resolve(1);
    assert_int_equal(sentinel_primary_count(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_the_name_is_found, begin, end),
        cmocka_unit_test_setup_teardown(test_the_name_is_not_found, begin, end),
        cmocka_unit_test_setup_teardown(test_the_name_comes_late, begin, end),
        cmocka_unit_test_setup_teardown(test_the_client_leaves, begin, end),
    };
    return cmocka_run_group_tests(tests, open_all, NULL);
}
