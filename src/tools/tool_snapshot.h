/* SPDX-License-Identifier: BSD-3-Clause
 * A server's snapshot, fetched by SYNC over a client that has nothing else to do.
 */
#ifndef EVENKEEL_TOOLS_TOOL_SNAPSHOT_H
#define EVENKEEL_TOOLS_TOOL_SNAPSHOT_H
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/string.h"

#define TOOL_MARK_CHARS 40

struct peer_client;

struct tool_snapshot {
    struct peer_client *client;
    uint64_t bytes;                 /* the announced length; 0 where the snapshot has a mark */
    char mark[TOOL_MARK_CHARS + 1]; /* that ends the snapshot; "" = the length is known */
    int fd;                         /* the snapshot is written to it; -1 = it is dropped */
    uint64_t taken;
    struct buffer tail; /* held back, because it may be the beginning of the mark */
    bool shows_progress;
    int64_t shown_nsec;
};

/* Sends SYNC by an open client and reads the header. Returns false, with a message on standard
 * error, if the server sends no snapshot. */
MUST_USE bool tool_snapshot_begin(struct tool_snapshot *s, struct peer_client *client);
/* Receives the whole snapshot. Returns false, with a message on standard error, if a part is
 * missing or a write fails. */
MUST_USE bool tool_snapshot_receive(struct tool_snapshot *s);
/* Fetches a snapshot into a file, which is synced, or to standard output ("-"), and closes the
 * client. Standard error says what happens. Returns false if the file is not complete. */
MUST_USE bool tool_snapshot_save(struct peer_client *client, const char *path);
#endif
