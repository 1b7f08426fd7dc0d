/* SPDX-License-Identifier: BSD-3-Clause
 * SCAN and KEYS. The rows stand at the end.
 *
 * What is found is kept as addresses in chunks until the walk is over, for the reply begins with
 * its number. They stay valid: a walk deletes keys that are due and no others, and those are never
 * kept.
 */
#include "commands/scan.h"

#include "base/glob.h"
#include "base/number.h"
#include "command/arguments.h"
#include "command/call.h"
#include "command/command.h"
#include "command/members.h"
#include "command/row.h"
#include "net/client.h"
#include "net/reply.h"
#include "store/keyspace.h"

#define COUNT_DEFAULT 10
/* A sparse table has many empty positions: a call looks at so many of them for each key wanted. */
#define POSITIONS_PER_KEY 10
/* Few keys need little memory, many are kept in blocks of 64 KiB. */
#define CHUNK_ENTRIES_FIRST 62
#define CHUNK_ENTRIES 8190

struct chunk {
    struct chunk *next;
    size_t count, capacity;
    struct entry *entries[];
};

struct search {
    struct slice pattern;
    bool any_key; /* no pattern, or "*", which also fits the empty key */
    const struct slice *type;
    uint64_t seen; /* keys looked at */
    int64_t found;
    struct chunk *first, *last;
};

/* ---- what is found ---- */

static void keep(struct search *s, struct entry *e) {
    if (!s->last || s->last->count == s->last->capacity) {
        size_t capacity = s->last ? CHUNK_ENTRIES : CHUNK_ENTRIES_FIRST;
        struct chunk *c = memory_alloc(sizeof(*c) + capacity * sizeof(c->entries[0]), MEMORY_OTHER);
        *c = (struct chunk){.capacity = capacity};
        if (s->last)
            s->last->next = c;
        else
            s->first = c;
        s->last = c;
    }
    s->last->entries[s->last->count++] = e;
    s->found++;
}

static void consider(struct entry *e, void *context) {
    struct search *s = context;
    s->seen++;
    if (!s->any_key && !glob_match(s->pattern, entry_key(e), false)) return;
    if (s->type) {
        keyspace_count_hit(); /* 6.2 looks the key up to learn its type */
        if (!slice_is(*s->type, entry_type_name(e))) return;
    }
    keep(s, e);
}

static void set_pattern(struct search *s, struct slice pattern) {
    s->pattern = pattern;
    s->any_key = slice_equal(pattern, SLICE("*"));
}

/* The keys as an array; frees the chunks. */
static void reply_found(struct client *c, struct search *s) {
    reply_array(c, s->found);
    while (s->first) {
        struct chunk *chunk = s->first;
        for (size_t i = 0; i < chunk->count; i++) reply_bulk(c, entry_key(chunk->entries[i]));
        s->first = chunk->next;
        memory_free(chunk, MEMORY_OTHER);
    }
}

/* ---- KEYS ---- */

static void command_keys(struct call *call) {
    struct search s = {0};
    set_pattern(&s, call->argv[1]);
    keyspace_each(call->keyspace, consider, &s);
    reply_found(call->client, &s);
}

/* ---- SCAN ---- */

/* SCAN's options. False after an error reply. */
static bool scan_parse(struct call *call, struct search *s, int64_t *count) {
    *count = COUNT_DEFAULT;
    s->any_key = true;
    for (int i = 2; i < call->argc; i += 2) {
        bool last = i + 1 == call->argc, fits = !last;
        if (!last && argument_is(call, i, "count")) {
            if (!argument_int64(call, i + 1, count, NULL)) return false;
            fits = *count > 0;
        } else if (!last && argument_is(call, i, "match")) {
            set_pattern(s, call->argv[i + 1]);
        } else if (!last && argument_is(call, i, "type")) {
            s->type = &call->argv[i + 1];
        } else {
            fits = false;
        }
        if (!fits) {
            reply_syntax_error(call->client);
            return false;
        }
    }
    return true;
}

static void command_scan(struct call *call) {
    struct search s = {0};
    uint64_t cursor;
    int64_t count;
    if (!member_scan_parse_cursor(call->argv[1], &cursor)) {
        reply_error(call->client, "invalid cursor");
        return;
    }
    if (!scan_parse(call, &s, &count)) return;
    uint64_t wanted = (uint64_t)count, positions = 0;
    do {
        cursor = keyspace_scan(call->keyspace, cursor, consider, &s);
        positions++;
    } while (cursor && s.seen < wanted && positions / POSITIONS_PER_KEY < wanted);
    char digits[NUMBER_INT64_CHARS];
    reply_array(call->client, 2);
    reply_bulk(call->client, (struct slice){digits, number_format_uint64(digits, cursor)});
    reply_found(call->client, &s);
}

/* ---- rows ---- */

static struct command rows[] = {
    COMMAND("scan", command_scan, -2, READ | BY_CHANCE, ACL_KEYSPACE, NO_KEYS,
            "Some keys from a cursor on, and the next cursor; with MATCH, COUNT and TYPE."),
    COMMAND("keys", command_keys, 2, READ | UNORDERED, ACL_KEYSPACE | ACL_DANGEROUS, NO_KEYS,
            "All keys that match a pattern, in one step; SCAN is for large databases."),
};

void commands_scan_register(void) { command_register(COMMAND_ROWS(rows)); }
