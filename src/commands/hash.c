/* SPDX-License-Identifier: BSD-3-Clause
 * Commands on hashes. The rows stand at the end.
 *
 * A key's hash is never empty: the command that deletes the last field deletes the key.
 */
#include "commands/hash.h"

#include <math.h>

#include "command/arguments.h"
#include "command/call.h"
#include "command/command.h"
#include "command/draw.h"
#include "command/members.h"
#include "command/row.h"
#include "exec/edit.h"
#include "exec/effects.h"
#include "net/client.h"
#include "net/reply.h"
#include "store/keyspace.h"
#include "value/hash.h"

static void reply_value(struct client *c, const struct listpack_value *v) {
    char scratch[LISTPACK_SCRATCH];
    reply_bulk(c, listpack_value_text(v, scratch));
}

/* ---- setting ---- */

static bool pairs_fit(const struct call *call) {
    if (call->argc % 2 == 0) return true;
    reply_error_format(call->client, "wrong number of arguments for '%s' command",
                       call->command->name);
    return false;
}

/* Sets the fields that follow the key; returns how many are new. */
static int64_t hash_set_pairs(const struct call *call, struct edit *edit) {
    struct value *v = edit_value(edit, hash_create);
    int64_t created = 0;
    for (int i = 2; i + 1 < call->argc; i += 2)
        created += hash_set(v, call->argv[i], call->argv[i + 1]);
    return created;
}

static void close_pairs(const struct call *call, struct edit *edit) {
    edit_close(edit, (uint64_t)(call->argc - 2) / 2, NOTIFY_HASH, "hset");
}

static void command_hset(struct call *call) {
    struct edit edit;
    if (!pairs_fit(call) || !edit_open(&edit, call, 1, ENTRY_HASH)) return;
    reply_integer(call->client, hash_set_pairs(call, &edit));
    close_pairs(call, &edit);
}

static void command_hmset(struct call *call) {
    struct edit edit;
    if (!pairs_fit(call) || !edit_open(&edit, call, 1, ENTRY_HASH)) return;
    hash_set_pairs(call, &edit);
    reply_ok(call->client);
    close_pairs(call, &edit);
}

/* Reads the field's present value; false where there is none. */
static bool field_now(const struct call *call, const struct entry *e, struct listpack_value *now) {
    return e && hash_get(entry_object(e), call->argv[2], now);
}

static void command_hsetnx(struct call *call) {
    struct edit edit;
    struct listpack_value now;
    if (!edit_open(&edit, call, 1, ENTRY_HASH)) return;
    if (field_now(call, edit.entry, &now)) {
        reply_integer(call->client, 0);
    } else {
        reply_integer(call->client, hash_set_pairs(call, &edit));
        close_pairs(call, &edit);
    }
}

static void command_hincrby(struct call *call) {
    struct edit edit;
    struct listpack_value now;
    int64_t increment, value = 0;
    if (!argument_int64(call, 3, &increment, NULL)) return;
    if (!edit_open(&edit, call, 1, ENTRY_HASH)) return;
    if (field_now(call, edit.entry, &now)) {
        value = now.integer;
        if (now.text.bytes && !number_parse_int64(now.text.bytes, now.text.length, &value)) {
            reply_error(call->client, "hash value is not an integer");
            return;
        }
    }
    if (__builtin_add_overflow(value, increment, &value)) {
        reply_error(call->client, "increment or decrement would overflow");
        return;
    }
    char digits[NUMBER_INT64_CHARS];
    struct slice text = {digits, number_format_int64(digits, value)};
    hash_set_of_any_length(edit_value(&edit, hash_create), call->argv[2], text);
    reply_integer(call->client, value);
    edit_close(&edit, 1, NOTIFY_HASH, "hincrby");
}

static void command_hincrbyfloat(struct call *call) {
    struct edit edit;
    struct listpack_value now;
    char scratch[LISTPACK_SCRATCH], text[NUMBER_LONG_DOUBLE_CHARS];
    long double increment, value = 0;
    struct slice argument = call->argv[3];
    if (!number_parse_long_double(argument.bytes, argument.length, &increment)) {
        reply_error(call->client, "value is not a valid float");
        return;
    }
    if (isinf(increment)) {
        reply_error(call->client, "value is NaN or Infinity");
        return;
    }
    if (!edit_open(&edit, call, 1, ENTRY_HASH)) return;
    if (field_now(call, edit.entry, &now)) {
        struct slice old = listpack_value_text(&now, scratch);
        if (!number_parse_long_double(old.bytes, old.length, &value)) {
            reply_error(call->client, "hash value is not a float");
            return;
        }
    }
    value += increment;
    if (isnan(value) || isinf(value)) {
        reply_error(call->client, "increment would produce NaN or Infinity");
        return;
    }
    struct slice sum = {text, number_format_long_double_fixed(text, sizeof(text), value)};
    hash_set_of_any_length(edit_value(&edit, hash_create), call->argv[2], sum);
    reply_bulk(call->client, sum);
    edit_close(&edit, 1, NOTIFY_HASH, "hincrbyfloat");
    /* Log and replicas get the sum, because other processors may add differently. */
    const struct slice effect[] = {SLICE("HSET"), call->argv[1], call->argv[2], sum};
    effect_add(call->keyspace, EFFECT_BOTH, 4, effect);
}

static void command_hdel(struct call *call) {
    struct edit edit;
    uint64_t deleted = 0;
    if (!edit_open(&edit, call, 1, ENTRY_HASH)) return;
    struct value *v = edit_value(&edit, NULL);
    for (int i = 2; v && i < call->argc; i++) deleted += hash_delete(v, call->argv[i]);
    edit_close(&edit, deleted, NOTIFY_HASH, "hdel");
    reply_integer(call->client, (int64_t)deleted);
}

/* ---- getting ---- */

static void reply_value_of_field(struct client *c, const struct entry *e, struct slice field) {
    struct listpack_value now;
    if (e && hash_get(entry_object(e), field, &now))
        reply_value(c, &now);
    else
        reply_null(c);
}

static void command_hget(struct call *call) {
    struct entry *e;
    if (argument_read_typed(call, 1, ENTRY_HASH, &e))
        reply_value_of_field(call->client, e, call->argv[2]);
}

static void command_hmget(struct call *call) {
    struct entry *e;
    if (!argument_read_typed(call, 1, ENTRY_HASH, &e)) return;
    reply_array(call->client, call->argc - 2);
    for (int i = 2; i < call->argc; i++) reply_value_of_field(call->client, e, call->argv[i]);
}

static void command_hexists(struct call *call) {
    struct entry *e;
    struct listpack_value now;
    if (argument_read_typed(call, 1, ENTRY_HASH, &e))
        reply_integer(call->client, field_now(call, e, &now));
}

static void command_hstrlen(struct call *call) {
    struct entry *e;
    struct listpack_value now;
    char scratch[LISTPACK_SCRATCH];
    size_t length = 0;
    if (!argument_read_typed(call, 1, ENTRY_HASH, &e)) return;
    if (field_now(call, e, &now)) length = listpack_value_text(&now, scratch).length;
    reply_integer(call->client, (int64_t)length);
}

static void command_hlen(struct call *call) {
    struct entry *e;
    if (!argument_read_typed(call, 1, ENTRY_HASH, &e)) return;
    reply_integer(call->client, e ? (int64_t)hash_count(entry_object(e)) : 0);
}

/* ---- all fields ---- */

static void reply_both(struct slice field, struct slice text, void *client) {
    reply_bulk(client, field);
    reply_bulk(client, text);
}
static void reply_fields(struct slice field, struct slice text, void *client) {
    reply_bulk(client, field);
}
static void reply_texts(struct slice field, struct slice text, void *client) {
    reply_bulk(client, text);
}

static void hash_reply_all(struct call *call, void (*begin)(struct client *c, int64_t count),
                           hash_visit *visit) {
    struct entry *e;
    if (!argument_read_typed(call, 1, ENTRY_HASH, &e)) return;
    begin(call->client, e ? (int64_t)hash_count(entry_object(e)) : 0);
    if (e) hash_each(entry_object(e), visit, call->client);
}

static void command_hgetall(struct call *call) { hash_reply_all(call, reply_map, reply_both); }
static void command_hkeys(struct call *call) { hash_reply_all(call, reply_array, reply_fields); }
static void command_hvals(struct call *call) { hash_reply_all(call, reply_array, reply_texts); }

static void hash_scan_visit(struct slice field, struct slice text, void *context) {
    struct member_scan *s = context;
    if (!scan_fits(&s->scan, field)) return;
    text_list_add(&s->found, field);
    text_list_add(&s->found, text);
}

static uint64_t hash_scan_position(struct value v, uint64_t cursor, struct member_scan *s) {
    return hash_scan(v, cursor, scan_wanted(&s->scan), hash_scan_visit, s);
}

static void command_hscan(struct call *call) {
    member_scan_run(call, ENTRY_HASH, hash_scan_position);
}

/* ---- HRANDFIELD ---- */

static enum draw_reach hash_draw_reach(struct value v) {
    return v.encoding == HASH_LISTPACK ? DRAW_BY_WALK : DRAW_BY_CHANCE;
}

static void hash_draw_pick(struct value v, struct draw_item *item) {
    struct listpack_value field, text;
    hash_random(v, &field, &text);
    item->member = listpack_value_text(&field, item->scratch[0]);
    item->second = listpack_value_text(&text, item->scratch[1]);
}

struct draw_pass {
    draw_visit *visit;
    void *context;
};

static void hash_draw_visited(struct slice field, struct slice text, void *context) {
    const struct draw_pass *pass = context;
    const struct draw_item item = {.member = field, .second = text};
    pass->visit(&item, pass->context);
}

static void hash_draw_each(struct value v, draw_visit *visit, void *context) {
    struct draw_pass pass = {visit, context};
    hash_each(v, hash_draw_visited, &pass);
}

static const struct draw_type fields = {
    .type = ENTRY_HASH,
    .with = "withvalues",
    .reach = hash_draw_reach,
    .count = hash_count,
    .pick = hash_draw_pick,
    .each = hash_draw_each,
    .reply_second = reply_bulk,
};

static void command_hrandfield(struct call *call) { draw_run(call, &fields); }

/* ---- rows ---- */

static struct command rows[] = {
    COMMAND("hset", command_hset, -4, GROW | FAST, ACL_HASH, CHANGES(HASH, ONE_KEY),
            "Sets fields; returns how many are new."),
    COMMAND("hsetnx", command_hsetnx, 4, GROW | FAST, ACL_HASH, CHANGES(HASH, ONE_KEY),
            "Sets a field that is not there yet."),
    COMMAND("hget", command_hget, 3, READ | FAST, ACL_HASH, ONE_KEY, "The value of a field."),
    COMMAND("hmset", command_hmset, -4, GROW | FAST, ACL_HASH, CHANGES(HASH, ONE_KEY),
            "HSET that answers OK."),
    COMMAND("hmget", command_hmget, -3, READ | FAST, ACL_HASH, ONE_KEY, "The values of fields."),
    COMMAND("hincrby", command_hincrby, 4, GROW | FAST, ACL_HASH, CHANGES(HASH, ONE_KEY),
            "Adds an integer to a field's number."),
    COMMAND("hincrbyfloat", command_hincrbyfloat, 4, GROW | FAST, ACL_HASH, CHANGES(HASH, ONE_KEY),
            "Adds to a field's number, which may have a fraction."),
    COMMAND("hdel", command_hdel, -3, WRITE | FAST, ACL_HASH, CHANGES(HASH, ONE_KEY),
            "Deletes fields; returns how many were there."),
    COMMAND("hlen", command_hlen, 2, READ | FAST, ACL_HASH, ONE_KEY, "The number of fields."),
    COMMAND("hstrlen", command_hstrlen, 3, READ | FAST, ACL_HASH, ONE_KEY,
            "The length of a field's value."),
    COMMAND("hkeys", command_hkeys, 2, READ | UNORDERED, ACL_HASH, ONE_KEY, "All fields."),
    COMMAND("hvals", command_hvals, 2, READ | UNORDERED, ACL_HASH, ONE_KEY, "All values."),
    COMMAND("hgetall", command_hgetall, 2, READ | BY_CHANCE, ACL_HASH, ONE_KEY,
            "All fields with their values."),
    COMMAND("hexists", command_hexists, 3, READ | FAST, ACL_HASH, ONE_KEY,
            "Whether there is such a field."),
    COMMAND("hrandfield", command_hrandfield, -2, READ | BY_CHANCE, ACL_HASH, ONE_KEY,
            "One random field, or several: different ones, or with a negative count any.",
            .traced = "2# 3.. withvalues"),
    COMMAND("hscan", command_hscan, -3, READ | BY_CHANCE, ACL_HASH, ONE_KEY,
            "Some fields and values from a cursor on, and the next cursor; with MATCH and COUNT.",
            .traced = "2# 3.. match? count#"),
};

void commands_hash_register(void) { command_register(COMMAND_ROWS(rows)); }
