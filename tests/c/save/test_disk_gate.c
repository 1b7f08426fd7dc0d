/* SPDX-License-Identifier: BSD-3-Clause
 * The disk's gate: two causes, each in its words; the snapshot's is told where both are there.
 */
#include "save/disk_gate.h"

#include <errno.h>

#include "command/call_make.h"
#include "command/command.h"
#include "exec/gates.h"
#include "exec/run.h"
#include "server/whole.h"

#define LOG "-MISCONF Errors writing to the AOF file: No space left on device\r\n"
#define SNAPSHOT                                                                               \
    "-MISCONF Redis is configured to save RDB snapshots, but it is currently not able to "     \
    "persist on disk. Commands that may modify the data set are disabled, because this "       \
    "instance is configured to report errors during writes if RDB snapshotting fails "         \
    "(stop-writes-on-bgsave-error option). Please check the Redis logs for details about the " \
    "RDB error.\r\n"

static void test_causes(void **state) {
    struct peer p = peer_connect();
    disk_gate_set_log(ENOSPC);
    whole_say(&p, "set a b", LOG);
    whole_say(&p, "ping", LOG);
    whole_say(&p, "get a", "$-1\r\n");
    disk_gate_set_snapshot(true);
    whole_say(&p, "set a b", SNAPSHOT);
    disk_gate_set_log(0);
    assert_true(gate_is_set(&disk_gate));
    whole_say(&p, "ping", SNAPSHOT);
    disk_gate_set_snapshot(false);
    assert_false(gate_is_set(&disk_gate));
    whole_say(&p, "ping", "+PONG\r\n");
    peer_close(&p);
}

static void run_in_script(struct peer *p, const char *name, int argc, const char *reply) {
    const struct slice argv[] = {slice_of(name), SLICE("a"), SLICE("b")};
    struct call call;
    call_make(&call, CALL_SCRIPT, p->client,
              (struct call_parts){.command = command_find(argv[0]), .argc = argc, .argv = argv});
    call_run(&call);
    reply_write_all();
    peer_receive(p, SIZE_MAX);
    peer_assert_got(p, slice_of(reply));
}

/* EXEC and scripts are refused in the words of the cause; a script's PING tells of nothing. */
static void test_within_others(void **state) {
    struct peer p = peer_connect();
    whole_say(&p, "multi", "+OK\r\n");
    whole_say(&p, "set a b", "+QUEUED\r\n");
    disk_gate_set_log(ENOSPC);
    whole_say(&p, "exec",
              "-EXECABORT Transaction discarded because of: MISCONF Errors writing to the AOF "
              "file: No space left on device\r\n");
    run_in_script(&p, "set", 3, LOG);
    run_in_script(&p, "ping", 1, "+PONG\r\n");
    disk_gate_set_log(0);
    peer_close(&p);
}

/* A replica's health is not its disk's, and what it refuses has another reason. */
static void test_replica(void **state) {
    struct peer p = peer_connect();
    disk_gate_set_log(ENOSPC);
    disk_gate_set_replica(true);
    whole_say(&p, "ping", "+PONG\r\n");
    whole_say(&p, "set a b", "+OK\r\n");
    whole_say(&p, "del a", ":1\r\n");
    run_in_script(&p, "set", 3, LOG);
    disk_gate_set_replica(false);
    whole_say(&p, "set a b", LOG);
    disk_gate_set_log(0);
    peer_close(&p);
}

static int open_all(void **state) { return whole_open(); }

static int end(void **state) {
    disk_gate_set_log(0);
    disk_gate_set_snapshot(false);
    return whole_nothing_left(state);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, whole_begin, end)
    const struct CMUnitTest tests[] = {
        TEST(test_causes),
        TEST(test_within_others),
        TEST(test_replica),
    };
#undef TEST
    return cmocka_run_group_tests(tests, open_all, NULL);
}
