/* SPDX-License-Identifier: BSD-3-Clause
 * Commands on the deadlines of keys, and TIME. The rows stand at the end.
 *
 * A deadline is kept in milliseconds since 1970. One that has passed when it is given deletes the
 * key at once.
 */
#include "commands/expire.h"

#include "base/clock.h"
#include "command/arguments.h"
#include "command/call.h"
#include "command/command.h"
#include "net/client.h"
#include "net/reply.h"
#include "publish/notify.h"
#include "store/keyspace.h"
#include "store/lazyfree.h"

#define SECOND_MSEC 1000
#define SECOND_USEC 1000000

static struct entry *find_key(const struct call *call) {
    return keyspace_find(call->keyspace, call->argv[1], call_key_hash(call, 1));
}

/* ---- setting ---- */

/* `value` units after `base_msec`. False where that does not fit. */
static bool deadline_of(int64_t value, int64_t unit_msec, int64_t base_msec, int64_t *deadline) {
    if (__builtin_mul_overflow(value, unit_msec, &value)) return false;
    return !__builtin_add_overflow(value, base_msec, deadline);
}

static void set_deadline(struct call *call, int64_t unit_msec, int64_t base_msec) {
    int64_t value, deadline;
    if (!argument_int64(call, 2, &value, NULL)) return;
    if (!deadline_of(value, unit_msec, base_msec, &deadline)) {
        reply_error_format(call->client, "invalid expire time in %s", call->command->name);
        return;
    }
    struct entry *e = find_key(call);
    bool there = e != NULL;
    if (there && deadline <= clock_cached_msec()) {
        keyspace_delete_with(call->keyspace, call->argv[1], call_key_hash(call, 1),
                             lazyfree_wanted(LAZYFREE_EXPIRE));
        notify_event(call->keyspace, NOTIFY_GENERIC, "del", call->argv[1]);
        reply_integer(call->client, 1);
        return;
    }
    if (there) {
        keyspace_note_access(e);
        keyspace_set_deadline(call->keyspace, e, call_key_hash(call, 1), deadline);
    }
    reply_integer(call->client, there);
    if (there) notify_event(call->keyspace, NOTIFY_GENERIC, "expire", call->argv[1]);
}

static void command_expire(struct call *call) {
    set_deadline(call, SECOND_MSEC, clock_cached_msec());
}
static void command_pexpire(struct call *call) { set_deadline(call, 1, clock_cached_msec()); }
static void command_expireat(struct call *call) { set_deadline(call, SECOND_MSEC, 0); }
static void command_pexpireat(struct call *call) { set_deadline(call, 1, 0); }

static void command_persist(struct call *call) {
    struct entry *e = find_key(call);
    bool done = e && entry_has_deadline(e);
    if (e) keyspace_note_access(e);
    if (done) {
        keyspace_set_deadline(call->keyspace, e, call_key_hash(call, 1), ENTRY_NO_DEADLINE);
        notify_event(call->keyspace, NOTIFY_GENERIC, "persist", call->argv[1]);
    }
    reply_integer(call->client, done);
}

/* ---- asking ---- */

static void reply_time_left(struct call *call, int64_t unit_msec) {
    struct entry *e = keyspace_peek(call->keyspace, call->argv[1], call_key_hash(call, 1));
    if (!e || !entry_has_deadline(e)) {
        reply_integer(call->client, e ? -1 : -2);
        return;
    }
    int64_t left = entry_deadline(e) - clock_cached_msec();
    if (left < 0) left = 0;
    reply_integer(call->client, left / unit_msec + (left % unit_msec + unit_msec / 2) / unit_msec);
}

static void command_ttl(struct call *call) { reply_time_left(call, SECOND_MSEC); }
static void command_pttl(struct call *call) { reply_time_left(call, 1); }

static void command_time(struct call *call) {
    int64_t now = clock_wall_usec();
    reply_array(call->client, 2);
    reply_bulk_integer(call->client, now / SECOND_USEC);
    reply_bulk_integer(call->client, now % SECOND_USEC);
}

/* ---- rows ---- */

#define ONE_KEY .first_key = 1, .last_key = 1, .key_step = 1

static struct command rows[] = {
    {.name = "expire",
     .handler = command_expire,
     .arity = 3,
     .flags = COMMAND_WRITE | COMMAND_FAST,
     ONE_KEY,
     .categories = ACL_KEYSPACE,
     .help = "Lets a key expire in so many seconds; deletes it where they are not positive."},
    {.name = "pexpire",
     .handler = command_pexpire,
     .arity = 3,
     .flags = COMMAND_WRITE | COMMAND_FAST,
     ONE_KEY,
     .categories = ACL_KEYSPACE,
     .help = "As EXPIRE, in milliseconds."},
    {.name = "expireat",
     .handler = command_expireat,
     .arity = 3,
     .flags = COMMAND_WRITE | COMMAND_FAST,
     ONE_KEY,
     .categories = ACL_KEYSPACE,
     .help = "Lets a key expire at a time in seconds since 1970; deletes it where that is past."},
    {.name = "pexpireat",
     .handler = command_pexpireat,
     .arity = 3,
     .flags = COMMAND_WRITE | COMMAND_FAST,
     ONE_KEY,
     .categories = ACL_KEYSPACE,
     .help = "As EXPIREAT, in milliseconds."},
    {.name = "persist",
     .handler = command_persist,
     .arity = 2,
     .flags = COMMAND_WRITE | COMMAND_FAST,
     ONE_KEY,
     .categories = ACL_KEYSPACE,
     .help = "Takes a key's deadline away."},
    {.name = "ttl",
     .handler = command_ttl,
     .arity = 2,
     .flags = COMMAND_READONLY | COMMAND_RANDOM | COMMAND_FAST,
     ONE_KEY,
     .categories = ACL_KEYSPACE,
     .help = "Seconds until the key expires; -1: never; -2: no such key."},
    {.name = "pttl",
     .handler = command_pttl,
     .arity = 2,
     .flags = COMMAND_READONLY | COMMAND_RANDOM | COMMAND_FAST,
     ONE_KEY,
     .categories = ACL_KEYSPACE,
     .help = "As TTL, in milliseconds."},
    {.name = "time",
     .handler = command_time,
     .arity = 1,
     .flags = COMMAND_RANDOM | COMMAND_LOADING | COMMAND_STALE | COMMAND_FAST,
     .help = "The server's clock: seconds since 1970, and microseconds."},
};

void commands_expire_register(void) { command_register(rows, sizeof(rows) / sizeof(rows[0])); }
