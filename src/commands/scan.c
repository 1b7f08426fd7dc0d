/* SPDX-License-Identifier: BSD-3-Clause
 * SCAN and KEYS. The rows stand at the end.
 *
 * KEYS replies each key as it is found. SCAN keeps what it finds as addresses in chunks until its
 * walk is over, because the next cursor comes before the keys. The addresses stay valid: a walk
 * deletes keys that are due and no others, and those are never kept.
 */
#include "commands/scan.h"

#include "base/memory.h"
#include "command/call.h"
#include "command/command.h"
#include "command/row.h"
#include "command/scan.h"
#include "net/client.h"
#include "net/reply.h"
#include "store/keyspace.h"

/* The first chunk is small, because most results are; further chunks have 64 KiB. */
#define CHUNK_ENTRIES_FIRST 62
#define CHUNK_ENTRIES 8190

struct chunk {
    struct chunk *next;
    size_t count, capacity;
    struct entry *entries[];
};

struct search {
    struct scan scan;
    struct keyspace *keyspace;
    int64_t found;
    struct chunk *first, *last;
};

/* ---- what is found ---- */

static void keep_entry(struct search *s, struct entry *e) {
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

static void consider_entry(struct entry *e, void *context) {
    struct search *s = context;
    if (!scan_fits(&s->scan, entry_key(e))) return;
    if (s->scan.type) {
        keyspace_count_hit(); /* 6.2 looks the key up to learn its type */
        if (!slice_is(*s->scan.type, entry_type_name(e))) return;
    }
    keep_entry(s, e);
}

/* Replies the keys as an array, and frees the chunks. */
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

struct listing {
    struct scan scan;
    struct client *client;
    int64_t count;
};

static void list_key(struct entry *e, void *context) {
    struct listing *l = context;
    struct slice key = entry_key(e);
    if (!scan_fits(&l->scan, key)) return;
    reply_bulk(l->client, key);
    l->count++;
}

static void command_keys(struct call *call) {
    struct listing l = {.client = call->client};
    scan_set_pattern(&l.scan, call->argv[1]);
    struct reply_group keys = reply_array_begin(l.client);
    keyspace_each(call->keyspace, list_key, &l);
    reply_group_end(&keys, l.count);
}

/* ---- SCAN ---- */

static uint64_t step_in_keyspace(struct scan *scan) {
    struct search *s = (struct search *)scan;
    return keyspace_scan(s->keyspace, scan->cursor, scan_wanted(scan), consider_entry, s);
}

static void command_scan(struct call *call) {
    struct search s = {.keyspace = call->keyspace};
    if (!scan_begin(&s.scan, call, 1) || !scan_options(&s.scan, call, 2, true)) return;
    scan_run(&s.scan, step_in_keyspace);
    scan_reply_cursor(call->client, &s.scan);
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
