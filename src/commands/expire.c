/* SPDX-License-Identifier: BSD-3-Clause
 * Commands on the deadlines of keys, and TIME. The rows stand at the end.
 *
 * A deadline is kept in milliseconds since 1970. One that has passed when it is given deletes the
 * key at once.
 */
#include "commands/expire.h"

#include "base/clock.h"
#include "base/number.h"
#include "command/arguments.h"
#include "command/call.h"
#include "command/command.h"
#include "command/row.h"
#include "exec/edit.h"
#include "exec/effects.h"
#include "net/client.h"
#include "net/reply.h"
#include "store/keyspace.h"
#include "store/lazyfree.h"

#define SECOND_MSEC 1000
#define SECOND_USEC 1000000

/* ---- setting ---- */

/* Computes `value` units after `base_msec`. False on overflow. */
static bool deadline_of(int64_t value, int64_t unit_msec, int64_t base_msec, int64_t *deadline) {
    if (__builtin_mul_overflow(value, unit_msec, &value)) return false;
    return !__builtin_add_overflow(value, base_msec, deadline);
}

/* The log gets an absolute time. */
static void add_log_effect(const struct call *call, int64_t deadline) {
    char digits[NUMBER_INT64_CHARS];
    const struct slice words[] = {
        SLICE("PEXPIREAT"), call->argv[1], {digits, number_format_int64(digits, deadline)}};
    effect_add(call->keyspace, EFFECT_LOG, 3, words);
    effect_add_as_sent(call, EFFECT_STREAM);
}

static void delete_at_once(const struct key *key) {
    bool lazily = lazyfree_wanted(LAZYFREE_EXPIRE);
    edit_delete(key, lazily);
    effect_add_delete(key, lazily);
}

/* The form of a time in a row's argument or reply. */
struct time_form {
    int64_t unit_msec;
    bool absolute; /* milliseconds or seconds since 1970; otherwise from now on */
};
static const struct time_form seconds = {SECOND_MSEC, false}, milliseconds = {1, false},
                              unix_seconds = {SECOND_MSEC, true}, unix_milliseconds = {1, true};

static void command_expire(struct call *call) {
    const struct time_form *form = call->command->context;
    int64_t unit_msec = form->unit_msec, base_msec = form->absolute ? 0 : clock_cached_msec();
    int64_t value, deadline;
    struct edit edit;
    if (!argument_int64(call, 2, &value, NULL)) return;
    if (!deadline_of(value, unit_msec, base_msec, &deadline)) {
        reply_error_format(call->client, "invalid expire time in %s", call->command->name);
        return;
    }
    edit_find_argument(&edit, call, 1);
    if (!edit.entry) {
        reply_integer(call->client, 0);
    } else if (keyspace_is_over(deadline)) {
        delete_at_once(&edit.key);
        reply_integer(call->client, 1);
    } else {
        keyspace_note_access(edit.entry);
        edit_put_deadline(&edit, deadline > 0 ? deadline : 0);
        reply_integer(call->client, 1);
        edit_close(&edit, 1, NOTIFY_GENERIC, "expire");
        bool for_the_log = form == &unix_milliseconds;
        if (effects_wanted() && !for_the_log) add_log_effect(call, deadline);
    }
}

static void command_persist(struct call *call) {
    struct edit edit;
    edit_find_argument(&edit, call, 1);
    bool done = edit.entry && entry_has_deadline(edit.entry);
    if (edit.entry) keyspace_note_access(edit.entry);
    if (done) {
        edit_put_deadline(&edit, ENTRY_NO_DEADLINE);
        edit_close(&edit, 1, NOTIFY_GENERIC, "persist");
    }
    reply_integer(call->client, done);
}

/* ---- asking ---- */

static void command_ttl(struct call *call) {
    const struct time_form *form = call->command->context;
    struct entry *e = call_peek(call, 1);
    if (!e || !entry_has_deadline(e)) {
        reply_integer(call->client, e ? -1 : -2);
        return;
    }
    int64_t unit = form->unit_msec, left = entry_deadline(e) - clock_cached_msec();
    if (left < 0) left = 0;
    reply_integer(call->client, left / unit + (left % unit + unit / 2) / unit);
}

static void command_time(struct call *call) {
    int64_t now = clock_wall_usec();
    reply_array(call->client, 2);
    reply_bulk_integer(call->client, now / SECOND_USEC);
    reply_bulk_integer(call->client, now % SECOND_USEC);
}

/* ---- rows ---- */

static struct command rows[] = {
    COMMAND("expire", command_expire, 3, WRITE | FAST, ACL_KEYSPACE, CHANGES(ANYTHING, ONE_KEY),
            "Lets a key expire in so many seconds; deletes it if they are not positive.",
            .context = &seconds, .traced = "2#"),
    COMMAND("pexpire", command_expire, 3, WRITE | FAST, ACL_KEYSPACE, CHANGES(ANYTHING, ONE_KEY),
            "As EXPIRE, in milliseconds.", .context = &milliseconds, .traced = "2#"),
    COMMAND("expireat", command_expire, 3, WRITE | FAST, ACL_KEYSPACE, CHANGES(ANYTHING, ONE_KEY),
            "Lets a key expire at a time in seconds since 1970; deletes it if that is past.",
            .context = &unix_seconds, .traced = "2#"),
    COMMAND("pexpireat", command_expire, 3, WRITE | FAST, ACL_KEYSPACE, CHANGES(ANYTHING, ONE_KEY),
            "As EXPIREAT, in milliseconds.", .context = &unix_milliseconds, .traced = "2#"),
    COMMAND("persist", command_persist, 2, WRITE | FAST, ACL_KEYSPACE, CHANGES(ANYTHING, ONE_KEY),
            "Removes a key's deadline."),
    COMMAND("ttl", command_ttl, 2, READ | BY_CHANCE | FAST, ACL_KEYSPACE, ONE_KEY,
            "Seconds until the key expires; -1: never; -2: no such key.", .context = &seconds),
    COMMAND("pttl", command_ttl, 2, READ | BY_CHANCE | FAST, ACL_KEYSPACE, ONE_KEY,
            "As TTL, in milliseconds.", .context = &milliseconds),
    COMMAND("time", command_time, 1, BY_CHANCE | ANYTIME | FAST, NO_CATEGORY, NO_KEYS,
            "The server's clock: seconds since 1970, and microseconds."),
};

void commands_expire_register(void) { command_register(COMMAND_ROWS(rows)); }
