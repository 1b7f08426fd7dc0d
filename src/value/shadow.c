/* SPDX-License-Identifier: BSD-3-Clause
 * Shadows of values' members.
 *
 * Invariants
 *  1. A member is noted if it has changed, come or gone since the shadow was opened, and was ahead
 *     of the walk when it did so for the first time.
 *  2. A member of the table that is not noted is unchanged, or behind the walk.
 *  3. While noted members are visited nothing more is noted, because all of the table is behind the
 *     walk.
 *  4. A shadow that was taken from its value (shadow_take) is in no table and in no sum of this
 *     file, and its own table is in no list of tables that owe, so any thread may free it.
 */
#include "value/shadow.h"

#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/panic.h"

/* Buckets of a table that are visited at a time, some eighty members, with prefetch. */
#define RUN_POSITIONS 16
/* A bucket may have a dozen members. Members that are this large on average are visited one by one,
 * so that a step can end behind any of them. */
#define ONE_BY_ONE_BYTES 4096
/* Buckets of noted members that are freed between two calls of memory_publish. */
#define FREE_BUCKETS 1024

/* A member as it was, or a note that no member had this text. */
struct noted {
    uint32_t first_length, second_length;
    bool was_there;
    char bytes[]; /* first, second */
};

struct shadow {
    struct table *table; /* the value's */
    const struct value_type *type;
    struct table *noted;
    size_t table_bytes; /* of `noted` as last counted, because it may grow between two notes */
    size_t bytes;       /* of this shadow's memory, as counted */
    size_t count;
    uint64_t cursor;        /* of table_scan: first of the table, then of `noted` */
    bool noted_are_visited; /* the table is behind */
    bool one_by_one;        /* ONE_BY_ONE_BYTES */
    /* Of the present step. */
    value_visit *visit;
    void *context;
    size_t *budget;
    bool spent; /* the budget is 0 */
};

static struct table *shadows; /* by the addresses of their tables; NULL before the first */
static size_t all_bytes;      /* of those in `shadows` */

/* ---- tables ---- */

static struct slice noted_text(const struct noted *n) {
    return (struct slice){n->bytes, n->first_length};
}

static uint64_t noted_hash(const void *element) {
    struct slice text = noted_text(element);
    return hash_bytes(text.bytes, text.length);
}

static bool noted_matches(const void *element, const void *key, size_t length) {
    struct slice text = noted_text(element);
    return text.length == length && memcmp(text.bytes, key, length) == 0;
}

static const struct table_type noted_table = {noted_hash, noted_matches, MEMORY_SAVES};

static uint64_t address_hash(const struct table *t) { return hash_bytes(&t, sizeof(t)); }

static uint64_t shadow_hash(const void *element) {
    return address_hash(((const struct shadow *)element)->table);
}

static bool shadow_matches(const void *element, const void *key, size_t length) {
    return ((const struct shadow *)element)->table == key;
}

static const struct table_type shadow_table = {shadow_hash, shadow_matches, MEMORY_SAVES};

static struct shadow *shadow_find(const struct table *t) {
    return table_find(shadows, address_hash(t), t, sizeof(t));
}

/* ---- opening and closing ---- */

static struct table *table_of(enum value_kind kind, struct value v) {
    const struct value_type *type = value_type(kind);
    return type->texts && type->table ? (struct table *)(uintptr_t)type->table(v) : NULL;
}

bool shadow_is_possible(enum value_kind kind, struct value v) { return table_of(kind, v) != NULL; }

static void count_bytes(struct shadow *s, size_t bytes) {
    s->bytes += bytes;
    all_bytes += bytes;
}

static void count_noted_table(struct shadow *s) {
    size_t bytes = table_bytes(s->noted);
    count_bytes(s, bytes - s->table_bytes);
    s->table_bytes = bytes;
}

void shadow_open(enum value_kind kind, struct value v) {
    struct table *t = table_of(kind, v);
    ASSERT(t);
    if (table_is_watched(t)) return;
    if (!shadows) shadows = table_create(&shadow_table);
    struct shadow *s = memory_zalloc(sizeof(*s), MEMORY_SAVES);
    s->table = t;
    s->type = value_type(kind);
    s->noted = table_create(&noted_table);
    s->count = table_count(t);
    s->one_by_one = s->type->bytes(v) / ONE_BY_ONE_BYTES >= s->count;
    table_insert(shadows, address_hash(t), s);
    table_watch(t, true);
    count_bytes(s, memory_good_size(sizeof(*s)));
    count_noted_table(s);
}

struct shadow *shadow_of(enum value_kind kind, struct value v) {
    const struct table *t = table_of(kind, v);
    return t && table_is_watched(t) ? shadow_find(t) : NULL;
}

static size_t noted_size(const struct noted *n) {
    return sizeof(*n) + n->first_length + n->second_length;
}

static void free_noted(void *element, void *context) {
    memory_free_sized(element, noted_size(element), MEMORY_SAVES);
}

struct shadow *shadow_take(enum value_kind kind, struct value v) {
    struct shadow *s = shadow_of(kind, v);
    if (!s) return NULL;
    bool there = table_remove_element(shadows, address_hash(s->table), s);
    ASSERT(there);
    table_watch(s->table, false);
    table_detach(s->noted);
    all_bytes -= s->bytes;
    return s;
}

size_t shadow_noted(const struct shadow *s) { return table_count(s->noted); }

void shadow_free(struct shadow *s) {
    while (!table_free_step(s->noted, FREE_BUCKETS, free_noted, NULL)) memory_publish();
    memory_free_sized(s, sizeof(*s), MEMORY_SAVES);
}

size_t shadow_bytes(void) { return all_bytes; }
size_t shadow_count(const struct shadow *s) { return s->count; }

/* ---- noting ---- */

static void add_noted(struct shadow *s, uint64_t hash, struct slice first, struct slice second,
                      bool was_there) {
    struct noted head = {(uint32_t)first.length, (uint32_t)second.length, was_there};
    struct noted *n = memory_alloc(noted_size(&head), MEMORY_SAVES);
    *n = head;
    if (first.length) memcpy(n->bytes, first.bytes, first.length);
    if (second.length) memcpy(n->bytes + first.length, second.bytes, second.length);
    count_bytes(s, memory_good_size(noted_size(n)));
    table_insert(s->noted, hash, n);
    count_noted_table(s);
}

static bool is_noted(const struct shadow *s, struct slice text, uint64_t hash) {
    return table_find(s->noted, hash, text.bytes, text.length) != NULL;
}

void shadow_note_watched(const struct table *t, uint64_t hash, struct slice text,
                         const void *element) {
    struct shadow *s = shadow_find(t);
    ASSERT(s);
    if (s->noted_are_visited || table_place(hash) < table_place(s->cursor)) return;
    if (is_noted(s, text, hash)) return;
    struct value_texts was = {text, {NULL, 0}};
    if (element) was = s->type->texts(element);
    add_noted(s, hash, was.first, was.second, element != NULL);
}

/* ---- visiting ---- */

static void shadow_spend(struct shadow *s, size_t members, size_t bytes) {
    value_spend(s->budget, members, bytes);
    s->spent = *s->budget == 0;
}

static void shadow_show(struct shadow *s, struct value_texts member) {
    s->visit(member, s->context);
    shadow_spend(s, 1, member.first.length + member.second.length);
}

static void shadow_visit_member(void *element, void *shadow) {
    struct shadow *s = shadow;
    struct value_texts texts = s->type->texts(element);
    if (table_count(s->noted) &&
        is_noted(s, texts.first, hash_bytes(texts.first.bytes, texts.first.length)))
        shadow_spend(s, 1, 0);
    else
        shadow_show(s, texts);
}

static void visit_noted(void *element, void *shadow) {
    struct shadow *s = shadow;
    const struct noted *n = element;
    struct slice first = noted_text(n), second = {n->bytes + n->first_length, n->second_length};
    if (n->was_there)
        shadow_show(s, (struct value_texts){first, second});
    else
        shadow_spend(s, 1, 0);
}

/* Buckets without members spend the budget, too. */
static void shadow_run(struct shadow *s) {
    const struct table *t = s->noted_are_visited ? s->noted : s->table;
    void (*visit)(void *element, void *shadow) =
        s->noted_are_visited ? visit_noted : shadow_visit_member;
    s->cursor = s->one_by_one ? table_scan_some(t, s->cursor, 1, visit, s)
                              : table_scan_run(t, s->cursor, RUN_POSITIONS, &s->spent, visit, s);
    shadow_spend(s, 1, 0);
}

bool shadow_step(struct shadow *s, size_t *budget, value_visit *visit, void *context) {
    s->visit = visit;
    s->context = context;
    s->budget = budget;
    s->spent = false;
    while (!s->spent) {
        shadow_run(s);
        if (s->cursor) continue;
        if (s->noted_are_visited) return true;
        s->noted_are_visited = true;
    }
    return false;
}
