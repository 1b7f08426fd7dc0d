/* SPDX-License-Identifier: BSD-3-Clause
 * redis-cli as a replica: --rdb keeps the snapshot, --replica drops it and shows the requests that
 * follow.
 */
#include "cli/cli_copy.h"

#include <inttypes.h>

#include "base/memory.h"
#include "cli/cli_format.h"
#include "cli/cli_link.h"
#include "cli/cli_options.h"
#include "peer/peer_client.h"
#include "tools/tool_snapshot.h"

#define ACK_MSEC 1000 /* as replicas do */

static bool tell_primary(const char *name, const char *value) {
    struct slice words[] = {SLICE("REPLCONF"), slice_of(name), slice_of(value)};
    fprintf(stderr, "sending REPLCONF %s %s\n", name, value);
    const struct peer_reply *reply = cli_link_call(words, 3);
    if (!reply) {
        fprintf(stderr, "Error: %s\n", cli_link_error());
        return false;
    }
    /* An error is only reported: an older server does not know the option, and SYNC works without.
     */
    if (reply->type == PEER_ERROR) {
        fprintf(stderr, "REPLCONF %s: ", name);
        cli_format_complain("", reply->text);
    }
    return true;
}

int cli_copy_rdb_run(const struct cli_options *o) {
    bool good = tell_primary("capa", "eof") && tell_primary("rdb-only", "1") &&
                tool_snapshot_save(cli_link_client(), o->file);
    return !good;
}

/* Sends REPLCONF ACK, which has no reply, until the primary sends something. After a snapshot with
 * a mark the primary waits for an ACK before it streams commands. It ignores an ACK that arrives
 * before it has seen its snapshot child end, so the ACK is repeated. */
static void ask_for_stream(void) {
    struct slice ack[] = {SLICE("REPLCONF"), SLICE("ACK"), SLICE("0")};
    struct peer_client *client = cli_link_client();
    bool goes_on = true;
    while (goes_on && !peer_client_input(client).length) {
        cli_link_send(ack, 3);
        while (goes_on && peer_client_unsent_bytes(client))
            goes_on = peer_client_turn(client, INT64_MAX);
        if (goes_on && !peer_client_input(client).length)
            goes_on = peer_client_turn(client, ACK_MSEC);
    }
}

int cli_copy_replica_run(const struct cli_options *o) {
    struct tool_snapshot s;
    struct buffer out = {.class = MEMORY_OTHER};
    if (!tell_primary("capa", "eof") || !tool_snapshot_begin(&s, cli_link_client())) return 1;
    if (s.mark[0]) {
        fprintf(stderr,
                "SYNC with master, discarding bytes of bulk transfer until EOF marker...\n");
    } else {
        fprintf(stderr, "SYNC with master, discarding %" PRIu64 " bytes of bulk transfer...\n",
                s.bytes);
    }
    if (!tool_snapshot_receive(&s)) return 1;
    if (s.mark[0]) ask_for_stream();
    fprintf(stderr, "SYNC done. Logging commands from master.\n");
    const struct peer_reply *request;
    while ((request = cli_link_read())) {
        cli_format_reply(&out, request, CLI_CSV, o, false);
        cli_format_flush(&out);
    }
    fprintf(stderr, "Error: %s\n", cli_link_error());
    buffer_free(&out);
    return 1;
}
