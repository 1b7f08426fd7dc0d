/* SPDX-License-Identifier: BSD-3-Clause
 * FAILOVER. failover.h has the idea.
 *
 * A replica has all writes when it has acknowledged the history's place. The place stands still
 * meanwhile, so the ACK that a replica sends each second is enough.
 *
 * Invariants
 *  1. Writes are held, and the history stands still, exactly while the state is not NONE.
 *  2. `host` is the target: given by the command, or chosen when IN_PROGRESS begins; "": any
 *     replica.
 */
#include "replication/failover.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "command/arguments.h"
#include "command/call.h"
#include "command/row.h"
#include "exec/pause.h"
#include "metric/row.h"
#include "net/client.h"
#include "net/reply.h"
#include "replication/history.h"
#include "replication/link.h"
#include "replication/primary.h"
#include "replication/replica.h"

/* Longest host that a target may have. */
#define HOST_CHARS 255

enum failover_state { NONE, WAITS_FOR_SYNC, IN_PROGRESS };

static struct {
    enum failover_state state;
    char host[HOST_CHARS + 1];
    int port;
    int64_t end_nsec; /* 0: no time limit */
    bool forced;
} failover;

static const char *refusal_of_all; /* failover_set_refusal */

bool failover_is_under_way(void) { return failover.state != NONE; }

static void failover_set_state(enum failover_state state) {
    failover.state = state;
    primary_stand_still(state != NONE);
    pause_hold_writes(state != NONE);
}

static void abort_because(const char *why) {
    enum failover_state before = failover.state;
    if (failover.host[0])
        log_notice("FAILOVER to %s:%d aborted: %s", failover.host, failover.port, why);
    else
        log_notice("FAILOVER to any replica aborted: %s", why);
    if (before == IN_PROGRESS) link_stop_following();
    failover_set_state(NONE);
}

/* ---- the replica's answer ---- */

static void failover_accepted(void) {
    log_notice("FAILOVER to %s:%d has succeeded.", failover.host, failover.port);
    failover_set_state(NONE);
}

static const struct link_takeover takeover = {failover_accepted, abort_because};

static void hand_over(void) {
    failover_set_state(IN_PROGRESS);
    link_hand_over(failover.host, failover.port, &takeover);
}

/* ---- waiting for a replica ---- */

static void address_of(const struct replica *r, char address[HOST_CHARS + 1]) {
    struct buffer text = {.class = MEMORY_OTHER};
    replica_append_address(r, &text);
    snprintf(address, HOST_CHARS + 1, "%.*s", (int)text.length, text.length ? text.bytes : "");
    buffer_free(&text);
}

static bool is_at(const struct replica *r, const char *host, int64_t port) {
    char address[HOST_CHARS + 1];
    address_of(r, address);
    return r->port == port && strcmp(address, host) == 0;
}

static const struct replica *failover_find_target(const char *host, int64_t port) {
    LIST_FOR_EACH (link, following, replica_list()) {
        const struct replica *r = LIST_ENTRY(link, struct replica, link);
        if (!(r->client->flags & CLIENT_CLOSING) && is_at(r, host, port)) return r;
    }
    return NULL;
}

/* The wanted replica, or any, if it has all writes; otherwise NULL. */
static const struct replica *who_has_all(void) {
    REPLICA_FOR_EACH(r, REPLICA_ONLINE) {
        bool wanted = !failover.host[0] || is_at(r, failover.host, failover.port);
        if (wanted && r->port && r->acknowledged == history_place()) return r;
    }
    return NULL;
}

static bool time_is_up(void) {
    return failover.end_nsec && clock_monotonic_nsec() >= failover.end_nsec;
}

void failover_step(void) {
    if (failover.state != WAITS_FOR_SYNC) return;
    if (time_is_up() && !failover.forced) {
        abort_because("Replica never caught up before timeout");
        return;
    }
    const struct replica *r = who_has_all();
    if (time_is_up()) {
        log_notice("FAILOVER to %s:%d time out exceeded, failing over.", failover.host,
                   failover.port);
    } else if (r) {
        failover.port = r->port;
        address_of(r, failover.host);
        log_notice("Failover target %s:%d is synced, failing over.", failover.host, failover.port);
    } else {
        return;
    }
    hand_over();
}

/* ---- the other side: a replica is asked to take over ---- */

/* Obeys only a primary with the same history, and only while our data is what the history says. */
static bool take_over(struct call *call) {
    struct client *c = call->client;
    struct slice id = {history_id(), HISTORY_ID_CHARS};
    if (!link_is_replica()) {
        reply_error(c, "PSYNC FAILOVER can't be sent to a master.");
        return false;
    }
    if (!slice_equal_nocase(call->argv[1], id) || !link_may_continue()) {
        reply_error(c, "PSYNC FAILOVER replid must match my replid.");
        return false;
    }
    struct buffer who = {.class = MEMORY_OTHER};
    client_append_address(c, &who);
    log_warning("Failover request received for replid %s.", id.bytes);
    link_stop_following();
    log_notice("MASTER MODE enabled (failover request from '%.*s')", (int)who.length, who.bytes);
    buffer_free(&who);
    return true;
}

/* ---- the command ---- */

void failover_set_refusal(const char *text) { refusal_of_all = text; }

struct wish {
    struct slice host; /* bytes NULL: any */
    int64_t port, timeout_msec;
    bool forced;
};

/* False after a reply. */
static bool failover_parse(struct call *call, struct wish *w) {
    *w = (struct wish){.host = {NULL, 0}};
    for (int i = 1; i < call->argc; i++) {
        int left = call->argc - 1 - i;
        if (argument_is(call, i, "timeout") && left >= 1 && !w->timeout_msec) {
            if (!argument_int64(call, ++i, &w->timeout_msec, NULL)) return false;
            if (w->timeout_msec <= 0) {
                reply_error(call->client, "FAILOVER timeout must be greater than 0");
                return false;
            }
        } else if (argument_is(call, i, "to") && left >= 2 && !w->host.bytes) {
            w->host = call->argv[i + 1];
            if (!argument_int64(call, i + 2, &w->port, NULL)) return false;
            i += 2;
        } else if (argument_is(call, i, "force") && !w->forced) {
            w->forced = true;
        } else {
            reply_syntax_error(call->client);
            return false;
        }
    }
    return true;
}

/* The reason for refusing the failover, or NULL; `host` is the target's. */
static const char *failover_refusal(const struct wish *w, const char *host) {
    if (failover_is_under_way()) return "FAILOVER already in progress.";
    if (link_is_replica()) return "FAILOVER is not valid when server is a replica.";
    if (!replica_count()) return "FAILOVER requires connected replicas.";
    if (w->forced && (!w->timeout_msec || !w->host.bytes))
        return "FAILOVER with force option requires both a timeout and target HOST and IP.";
    if (!w->host.bytes) return NULL;
    const struct replica *r = failover_find_target(host, w->port);
    if (!r) return "FAILOVER target HOST and PORT is not a replica.";
    return r->state == REPLICA_ONLINE ? NULL : "FAILOVER target replica is not online.";
}

static void failover_begin(const struct wish *w, const char *host) {
    snprintf(failover.host, sizeof(failover.host), "%s", host);
    failover.port = (int)w->port;
    failover.forced = w->forced;
    failover.end_nsec = 0;
    int64_t now = clock_monotonic_nsec();
    if (w->timeout_msec && w->timeout_msec < (INT64_MAX - now) / 1000000)
        failover.end_nsec = now + w->timeout_msec * 1000000;
    if (w->host.bytes)
        log_notice("FAILOVER requested to %s:%d.", failover.host, failover.port);
    else
        log_notice("FAILOVER requested to any replica.");
    failover_set_state(WAITS_FOR_SYNC);
}

static void command_failover(struct call *call) {
    struct client *c = call->client;
    struct wish w;
    char host[HOST_CHARS + 1];
    if (refusal_of_all) {
        reply_error(c, refusal_of_all);
        return;
    }
    if (call->argc == 2 && argument_is(call, 1, "abort")) {
        if (!failover_is_under_way()) {
            reply_error(c, "No failover in progress.");
            return;
        }
        abort_because("Failover manually aborted");
        reply_ok(c);
        return;
    }
    if (!failover_parse(call, &w)) return;
    /* A name that is longer than the buffer belongs to no replica. */
    snprintf(host, sizeof(host), "%.*s", (int)(w.host.length < INT_MAX ? w.host.length : INT_MAX),
             w.host.bytes);
    const char *why = failover_refusal(&w, host);
    if (why) {
        reply_error(c, why);
        return;
    }
    failover_begin(&w, host);
    reply_ok(c);
}

static struct command rows[] = {
    COMMAND("failover", command_failover, -1, ADMIN | NO_SCRIPT | COMMAND_STALE, NO_CATEGORY,
            NO_KEYS, "Changes roles with a replica that has all writes."),
};

static void print_state(const struct metric_row *row, struct buffer *out) {
    static const char *const names[] = {"no-failover", "waiting-for-sync", "failover-in-progress"};
    buffer_append_c_string(out, names[failover.state]);
}

static const struct metric_row metric_rows[] = {
    METRIC_PRINT("Replication", 50, "master_failover_state", METRIC_LABEL, print_state,
                 "no-failover; waiting-for-sync: until a replica has all; failover-in-progress: "
                 "until it has taken over."),
};

void failover_register(void) {
    command_register(COMMAND_ROWS(rows));
    metric_register(metric_rows, sizeof(metric_rows) / sizeof(metric_rows[0]));
    primary_set_take_over(take_over);
}
