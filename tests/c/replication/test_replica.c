/* SPDX-License-Identifier: BSD-3-Clause
 * What goes to replicas, and what to clients, in which order.
 */
#include "replication/replica.h"

#include <inttypes.h>

#include "base/faults.h"
#include "replication/history.h"
#include "replication/stream.h"
#include "server/whole.h"

static struct peer writer, replica;

static int begin(void **state) {
    (void)whole_begin(state);
    stream_open();
    writer = peer_connect();
    replica = peer_connect();
    return 0;
}

static int end(void **state) {
    faults_clear();
    peer_close(&writer);
    peer_close(&replica);
    peers_turns();
    stream_close();
    return whole_nothing_left(state);
}

/* Who has a reply finds what it tells of in the replicas' sockets: these are written first. */
static void test_replicas_first(void **state) {
    char line[128];
    snprintf(line, sizeof(line), "PSYNC %s %" PRId64 "\r\n", history_id(), history_place() + 1);
    peer_send(&replica, slice_of(line));
    peer_assert_got(&replica, SLICE("+CONTINUE\r\n"));
    whole_say(&writer, "INCR n", ":1\r\n");
    assert_true(peer_receive(&replica, SIZE_MAX) > 0);
    buffer_clear(&replica.got);
    /* In the turn that replies, and not behind the reply: what cannot be written is the replica's.
     */
    for (int refused = 0; refused < 2; refused++) {
        if (refused) faults_fail(FAULT_WRITE, EAGAIN, 0, 1, "");
        assert_int_equal(peer_try_send(&writer, "INCR n\r\n", 8), 8);
        loop_turn(peers_loop, 0);
        assert_true(peer_receive(&writer, SIZE_MAX) > 0);
        assert_int_equal(peer_receive(&replica, SIZE_MAX) > 0, !refused);
    }
    peer_assert_got(&writer, SLICE(":2\r\n:3\r\n"));
    peers_turns();
    (void)peer_receive(&replica, SIZE_MAX);
    peer_assert_got(&replica,
                    SLICE("*2\r\n$4\r\nINCR\r\n$1\r\nn\r\n*2\r\n$4\r\nINCR\r\n$1\r\nn\r\n"));
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(test_replicas_first),
    };
    if (whole_open() != 0) return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
