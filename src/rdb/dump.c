/* SPDX-License-Identifier: BSD-3-Clause
 * DUMP and RESTORE.
 *
 * A payload is the value's form (1 byte), the value (value/saved.h), the version of RDB (2 bytes)
 * and the CRC-64 of all that (8), lowest byte first. A payload comes from a client: its checksum
 * shows that it was not damaged on its way, not that it is harmless. So every value is checked
 * while it is loaded, whatever sanitize-dump-payload and the users' flags say (rdb/sanitize.h).
 */
#include "rdb/dump.h"

#include "access/acl.h"
#include "base/checksum.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/stream.h"
#include "command/arguments.h"
#include "command/call.h"
#include "command/row.h"
#include "exec/edit.h"
#include "exec/effects.h"
#include "net/client.h"
#include "net/reply.h"
#include "rdb/sanitize.h"
#include "store/entry.h"
#include "store/keyspace.h"
#include "store/lazyfree.h"
#include "store/recency.h"
#include "value/saved.h"
#include "value/string.h"

#define VERSION_BYTES 2
#define TAIL_BYTES (VERSION_BYTES + 8)

static bool skips_checksums;

void dump_skip_checksums(bool on) { skips_checksums = on; }
bool dump_skips_checksums(void) { return skips_checksums; }

/* ---- payloads ---- */

void dump_append(const struct entry *e, struct buffer *out) {
    struct buffer_sink b;
    struct string_value room;
    struct value v = entry_value(e, &room);
    enum value_kind kind = (enum value_kind)e->type;
    buffer_sink_init(&b, out);
    sink_checksum_begin(&b.sink, checksum_crc64, 0);
    saved_write_form(&b.sink, kind, v);
    saved_write_value(&b.sink, kind, v, entry_key(e));
    saved_write_number(&b.sink, RDB_VERSION, VERSION_BYTES);
    saved_write_number(&b.sink, sink_checksum(&b.sink), 8);
    if (!sink_flush(&b.sink)) buffer_clear(out);
}

/* Sets `body` to the payload without its tail. False where the tail's version or checksum is
 * wrong. */
static bool open_payload(struct slice payload, struct slice *body) {
    if (payload.length < TAIL_BYTES) return false;
    *body = (struct slice){payload.bytes, payload.length - TAIL_BYTES};
    const unsigned char *tail = (const unsigned char *)payload.bytes + body->length;
    uint64_t sum = 0;
    if ((tail[0] | tail[1] << 8) > RDB_VERSION) return false;
    for (int i = 7; i >= 0; i--) sum = sum << 8 | tail[VERSION_BYTES + i];
    return skips_checksums || sum == checksum_crc64(0, payload.bytes, body->length + VERSION_BYTES);
}

/* A value that was taken out of a payload. */
struct dump_value {
    enum value_kind kind;
    struct value value; /* a string's is `string`, and its text in `store` or the payload */
    struct string_value string;
    struct buffer store;
};

/* Loads the payload's value, which will be under `key`, into `d`. Returns NULL, or the fault in
 * RESTORE's words; after a fault there is no value. The caller takes the value before it calls
 * dump_value_end, which it calls in both cases. `d` must not move in between. */
MUST_USE static const char *dump_load(struct slice key, struct slice payload,
                                      struct dump_value *d) {
    struct slice body;
    struct source in;
    unsigned char form;
    *d = (struct dump_value){.value = {&d->string, 0}};
    buffer_init(&d->store, MEMORY_OTHER);
    if (!open_payload(payload, &body)) return "DUMP payload version or checksum are wrong";
    slice_source_init(&in, body);
    if (!source_read(&in, &form, 1) || !saved_form_kind(form, &d->kind)) return "Bad data format";
    switch (value_type(d->kind)->load(form, key, &in, &d->store, &d->value)) {
    case VALUE_LOADED: return NULL;
    case VALUE_EMPTY: log_verbose("RESTORE: integrity check failed: no members"); break;
    case VALUE_REFUSED: log_verbose("RESTORE: integrity check failed: %s", source_fault(&in));
    }
    return "Bad data format";
}

static void dump_value_end(struct dump_value *d) { buffer_free(&d->store); }

/* ---- commands ---- */

static void command_dump(struct call *call) {
    struct buffer payload;
    const struct entry *e = call_read(call, 1);
    if (!e) {
        reply_null(call->client);
        return;
    }
    buffer_init(&payload, MEMORY_CLIENTS);
    dump_append(e, &payload);
    if (payload.length)
        reply_bulk(call->client, buffer_slice(&payload));
    else
        reply_error(call->client, "the value is too large for a payload");
    buffer_free(&payload);
}

struct restore {
    bool replace, absolute;
    int64_t idle_seconds, frequency; /* -1: not given */
};

/* Reads the number behind an option, 0 to `high`. False after an error reply. */
static bool restore_number(struct call *call, int index, int64_t high, const char *refusal,
                           int64_t *number) {
    if (!argument_int64(call, index, number, NULL)) return false;
    if (*number >= 0 && *number <= high) return true;
    reply_error(call->client, refusal);
    return false;
}

/* False after an error reply. */
static bool restore_options(struct call *call, struct restore *r) {
    *r = (struct restore){.idle_seconds = -1, .frequency = -1};
    for (int i = 4; i < call->argc; i++) {
        bool more = i + 1 < call->argc;
        if (argument_is(call, i, "replace")) {
            r->replace = true;
        } else if (argument_is(call, i, "absttl")) {
            r->absolute = true;
        } else if (argument_is(call, i, "idletime") && more && r->frequency == -1) {
            if (!restore_number(call, ++i, INT64_MAX, "Invalid IDLETIME value, must be >= 0",
                                &r->idle_seconds))
                return false;
        } else if (argument_is(call, i, "freq") && more && r->idle_seconds == -1) {
            if (!restore_number(call, ++i, UINT8_MAX, "Invalid FREQ value, must be >= 0 and <= 255",
                                &r->frequency))
                return false;
        } else {
            reply_syntax_error(call->client);
            return false;
        }
    }
    return true;
}

static unsigned restore_recency(const struct restore *r) {
    if (r->frequency >= 0) return recency_of_frequency((unsigned)r->frequency);
    if (r->idle_seconds >= 0) return recency_of_idle((uint64_t)r->idle_seconds);
    return recency_initial();
}

/* The log and the replicas get the absolute time at which the key expires. */
static void restore_effect(struct call *call, int64_t deadline) {
    char digits[NUMBER_INT64_CHARS];
    struct slice *argv = memory_alloc(((size_t)call->argc + 1) * sizeof(argv[0]), MEMORY_OTHER);
    memcpy(argv, call->argv, (size_t)call->argc * sizeof(argv[0]));
    argv[2] = (struct slice){digits, number_format_int64(digits, deadline)};
    argv[call->argc] = SLICE("ABSTTL");
    effect_add(call->keyspace, EFFECT_BOTH, call->argc + 1, argv);
    memory_free(argv, MEMORY_OTHER);
}

/* A key whose deadline has passed is not created; the key that it replaces is deleted. */
static void restore_expired(const struct key *key, struct dump_value *d) {
    bool lazily = lazyfree_wanted(LAZYFREE_SERVER_DEL);
    value_type(d->kind)->release(d->value);
    if (edit_delete(key, lazily)) effect_add_delete(key, lazily);
}

static void restore_value(struct call *call, const struct restore *r, int64_t ttl,
                          struct dump_value *d) {
    struct key key = call_key(call, 1);
    int64_t deadline = ttl ? ttl : ENTRY_NO_DEADLINE;
    /* The sum may overflow; the deadline then lies in the past, as with 6.2. */
    if (ttl && !r->absolute) deadline = (int64_t)((uint64_t)ttl + (uint64_t)clock_cached_msec());
    if (ttl && deadline < 0) deadline = 0;
    if (ttl && keyspace_is_over(deadline)) {
        restore_expired(&key, d);
    } else {
        edit_restore(&key, (enum entry_type)d->kind, d->value, deadline, restore_recency(r));
        if (ttl && !r->absolute) restore_effect(call, deadline);
    }
    reply_ok(call->client);
}

static void command_restore(struct call *call) {
    struct restore r;
    struct dump_value d;
    int64_t ttl;
    if (!restore_options(call, &r)) return;
    struct entry *there = r.replace ? NULL : call_find(call, 1);
    if (there) {
        keyspace_note_access(there);
        reply_error(call->client, "-BUSYKEY Target key name already exists.");
        return;
    }
    if (!argument_int64(call, 2, &ttl, NULL)) return;
    if (ttl < 0) {
        reply_error(call->client, "Invalid TTL value, must be >= 0");
        return;
    }
    uint64_t checked = saved_checked();
    const char *fault = dump_load(call->argv[1], call->argv[3], &d);
    sanitize_note_sent(call, saved_checked() - checked);
    if (fault)
        reply_error(call->client, fault);
    else
        restore_value(call, &r, ttl, &d);
    dump_value_end(&d);
}

static struct command rows[] = {
    COMMAND("dump", command_dump, 2, READ | BY_CHANCE, ACL_KEYSPACE, ONE_KEY,
            "The value in the form that RESTORE takes."),
    COMMAND("restore", command_restore, -4, GROW, ACL_KEYSPACE | ACL_DANGEROUS,
            CHANGES(WHOLE, ONE_KEY),
            "Creates a key from the bytes of DUMP: REPLACE, ABSTTL, IDLETIME, FREQ."),
    COMMAND("restore-asking", command_restore, -4, GROW | COMMAND_ASKING,
            ACL_KEYSPACE | ACL_DANGEROUS, CHANGES(WHOLE, ONE_KEY),
            "RESTORE into a slot that is being moved to this node: for MIGRATE."),
};

void dump_register(void) { command_register(COMMAND_ROWS(rows)); }
