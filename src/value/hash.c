/* SPDX-License-Identifier: BSD-3-Clause
 * Hashes as listpacks and as tables of pairs.
 *
 * A listpack has fields and values in turn. When there are more fields than
 * hash-max-ziplist-entries, or one of either is longer than hash-max-ziplist-value (unless HINCRBY
 * or HINCRBYFLOAT sets it: so it is with 6.2), it becomes a table, for good. A pair is one
 * allocation with both texts, so a lookup that has found the field has the value in its hands:
 *
 *   field's length (1) | text's length (1) | field | text
 *   LONG_PAIR (1) | field's length (4) | text's length (4) | field | text
 *
 * the second where either is longer than SHORT_TEXT_MAX. Pairs are kept in ds/twins, which gives
 * them multiples of 8 bytes.
 *
 * Invariants (hash_check)
 *  1. No field is there twice.
 *  2. The twins' bytes are those of the pairs and of vacant halves.
 */
#include "value/hash.h"

#include "base/hash.h"
#include "base/memory.h"
#include "base/panic.h"
#include "base/random.h"
#include "ds/table.h"
#include "ds/twins.h"
#include "option/option.h"

#define SHORT_TEXT_MAX 253
#define LONG_PAIR 254 /* TWINS_VACANT is no length either */
#define SHORT_HEADER_BYTES 2
#define LONG_HEADER_BYTES 9

/* In the forms above. */
struct pair {
    unsigned char bytes[1];
};

struct hash {
    struct table *pairs;
    struct twins twins;
};

static int64_t entries_max, text_bytes_max;

/* ---- Pairs ---- */

static inline bool pair_is_short(size_t field_length, size_t text_length) {
    return field_length <= SHORT_TEXT_MAX && text_length <= SHORT_TEXT_MAX;
}

static inline size_t pair_allocation(size_t field_length, size_t text_length) {
    bool is_short = pair_is_short(field_length, text_length);
    return (is_short ? SHORT_HEADER_BYTES : LONG_HEADER_BYTES) + field_length + text_length;
}

struct pair_texts {
    struct slice field, text;
};

static inline struct pair_texts pair_texts(const struct pair *p) {
    const char *bytes = (const char *)p->bytes;
    uint32_t field_length = p->bytes[0], text_length;
    if (__builtin_expect(field_length == LONG_PAIR, 0)) {
        memcpy(&field_length, bytes + 1, sizeof(field_length));
        memcpy(&text_length, bytes + 1 + sizeof(field_length), sizeof(text_length));
        bytes += LONG_HEADER_BYTES;
    } else {
        text_length = (unsigned char)bytes[1];
        bytes += SHORT_HEADER_BYTES;
    }
    return (struct pair_texts){{bytes, field_length}, {bytes + field_length, text_length}};
}

static inline struct slice pair_field(const struct pair *p) { return pair_texts(p).field; }

static size_t pair_size(const struct pair *p) {
    struct pair_texts texts = pair_texts(p);
    return pair_allocation(texts.field.length, texts.text.length);
}

/* The header and the text; the field is written by the caller, where it is not there already. */
static char *pair_write(struct pair *p, size_t field_length, struct slice text) {
    char *bytes = (char *)p->bytes;
    uint32_t lengths[] = {(uint32_t)field_length, (uint32_t)text.length};
    if (pair_is_short(field_length, text.length)) {
        p->bytes[0] = (unsigned char)field_length;
        bytes[1] = (char)text.length;
        bytes += SHORT_HEADER_BYTES;
    } else {
        p->bytes[0] = LONG_PAIR;
        memcpy(bytes + 1, lengths, sizeof(lengths));
        bytes += LONG_HEADER_BYTES;
    }
    if (text.length) memcpy(bytes + field_length, text.bytes, text.length);
    return bytes;
}

static struct pair *pair_create(struct hash *h, struct slice field, struct slice text) {
    ASSERT(field.length <= UINT32_MAX && text.length <= UINT32_MAX);
    struct pair *p = twins_alloc(&h->twins, pair_allocation(field.length, text.length));
    char *to = pair_write(p, field.length, text);
    if (field.length) memcpy(to, field.bytes, field.length);
    return p;
}

static void pair_free(struct hash *h, struct pair *p) { twins_free(&h->twins, p, pair_size(p)); }

static uint64_t pair_hash(const void *element) {
    struct slice field = pair_field(element);
    return hash_bytes(field.bytes, field.length);
}

static bool pair_matches(const void *element, const void *key, size_t key_length) {
    struct slice field = pair_field(element);
    return field.length == key_length && memcmp(field.bytes, key, key_length) == 0;
}

static const struct table_type pair_table = {pair_hash, pair_matches, MEMORY_DATASET};

/* ---- The two forms ---- */

static struct hash *as_table(struct value v) {
    ASSERT_SLOW(v.encoding == HASH_TABLE);
    return v.pointer;
}

static struct hash *table_form_create(void) {
    struct hash *h = memory_alloc(sizeof(*h), MEMORY_DATASET);
    *h = (struct hash){.pairs = table_create(&pair_table)};
    return h;
}

static void pair_add(struct hash *h, struct slice field, struct slice text, uint64_t hash) {
    table_insert(h->pairs, hash, pair_create(h, field, text));
}

static void add_visited(struct slice field, struct slice text, void *context) {
    pair_add(context, field, text, hash_bytes(field.bytes, field.length));
}

static void convert(struct value *v) {
    struct hash *h = table_form_create();
    hash_each(*v, add_visited, h);
    listpack_free(v->pointer);
    *v = (struct value){h, HASH_TABLE};
}

struct value hash_create(void) {
    return (struct value){listpack_create(), HASH_LISTPACK};
}

static void release_pair(void *element, void *context) {
    twins_release(context, element, pair_size(element));
}

static bool hash_release_step(struct value v, size_t effort) {
    if (v.encoding == HASH_LISTPACK) {
        listpack_free(v.pointer);
        return true;
    }
    struct hash *h = as_table(v);
    size_t buckets = effort / TABLE_BUCKET_SLOTS + 1;
    if (!table_free_step(h->pairs, buckets, release_pair, &h->twins)) return false;
    memory_free_sized(h, sizeof(*h), MEMORY_DATASET);
    return true;
}

void hash_free(struct value v) { hash_release_step(v, SIZE_MAX); }

size_t hash_count(struct value v) {
    return v.encoding == HASH_LISTPACK ? listpack_count(v.pointer) / 2
                                       : table_count(as_table(v)->pairs);
}

static uint32_t find_field(const struct listpack *lp, struct slice field) {
    return listpack_find(lp, listpack_first(lp), field, 1);
}

bool hash_get(struct value v, struct slice field, struct listpack_value *out) {
    if (v.encoding == HASH_LISTPACK) {
        const struct listpack *lp = v.pointer;
        uint32_t at = find_field(lp, field);
        if (at) *out = listpack_get(lp, listpack_next(lp, at));
        return at != 0;
    }
    uint64_t hash = hash_bytes(field.bytes, field.length);
    const struct pair *p = table_find(as_table(v)->pairs, hash, field.bytes, field.length);
    if (p) *out = (struct listpack_value){pair_texts(p).text, 0};
    return p != NULL;
}

/* ---- Changing ---- */

static bool set_in_table(struct hash *h, struct slice field, struct slice text) {
    uint64_t hash = hash_bytes(field.bytes, field.length);
    table_slot slot = table_find_slot(h->pairs, hash, field.bytes, field.length);
    if (!slot) {
        pair_add(h, field, text, hash);
        return true;
    }
    struct pair *old = table_slot_element(slot);
    size_t allocation = pair_allocation(field.length, text.length);
    bool same_form = pair_is_short(field.length, text.length) == (old->bytes[0] != LONG_PAIR);
    if (same_form && twins_good_size(allocation) == twins_good_size(pair_size(old))) {
        pair_write(old, field.length, text);
        return false;
    }
    table_slot_replace(slot, pair_create(h, field, text));
    pair_free(h, old);
    return false;
}

bool hash_set(struct value *v, struct slice field, struct slice text) {
    size_t longest = field.length > text.length ? field.length : text.length;
    if (v->encoding == HASH_LISTPACK && longest > (uint64_t)text_bytes_max) convert(v);
    return hash_set_of_any_length(v, field, text);
}

bool hash_set_of_any_length(struct value *v, struct slice field, struct slice text) {
    if (v->encoding == HASH_LISTPACK &&
        !listpack_has_room(v->pointer, listpack_element_size(field) + listpack_element_size(text)))
        convert(v);
    if (v->encoding == HASH_TABLE) return set_in_table(as_table(*v), field, text);
    struct listpack *lp = v->pointer;
    uint32_t at = find_field(lp, field);
    if (at) {
        listpack_replace(&lp, listpack_next(lp, at), text);
    } else {
        listpack_append(&lp, field);
        listpack_append(&lp, text);
    }
    v->pointer = lp;
    if (hash_count(*v) > (uint64_t)entries_max) convert(v);
    return !at;
}

bool hash_delete(struct value *v, struct slice field) {
    if (v->encoding == HASH_LISTPACK) {
        struct listpack *lp = v->pointer;
        uint32_t at = find_field(lp, field);
        if (!at) return false;
        listpack_delete_range(&lp, at, 2);
        v->pointer = lp;
        return true;
    }
    struct hash *h = as_table(*v);
    uint64_t hash = hash_bytes(field.bytes, field.length);
    struct pair *p = table_remove(h->pairs, hash, field.bytes, field.length);
    if (!p) return false;
    pair_free(h, p);
    return true;
}

/* ---- Walking ---- */

struct visit {
    hash_visit *visit;
    void *context;
};

static void visit_pair(void *element, void *context) {
    const struct visit *v = context;
    struct pair_texts texts = pair_texts(element);
    v->visit(texts.field, texts.text, v->context);
}

static void each_of_listpack(const struct listpack *lp, hash_visit *visit, void *context) {
    char scratch[2][LISTPACK_SCRATCH];
    for (uint32_t at = listpack_first(lp); at; at = listpack_next(lp, at)) {
        struct listpack_value field = listpack_get(lp, at);
        at = listpack_next(lp, at);
        struct listpack_value text = listpack_get(lp, at);
        visit(listpack_value_text(&field, scratch[0]), listpack_value_text(&text, scratch[1]),
              context);
    }
}

uint64_t hash_scan(struct value v, uint64_t cursor, hash_visit *visit, void *context) {
    if (v.encoding == HASH_LISTPACK) {
        each_of_listpack(v.pointer, visit, context);
        return 0;
    }
    struct visit pass = {visit, context};
    return table_scan(as_table(v)->pairs, cursor, visit_pair, &pass);
}

void hash_each(struct value v, hash_visit *visit, void *context) {
    if (v.encoding == HASH_LISTPACK) {
        each_of_listpack(v.pointer, visit, context);
        return;
    }
    struct visit pass = {visit, context};
    table_each(as_table(v)->pairs, visit_pair, &pass);
}

void hash_random(struct value v, struct listpack_value *field, struct listpack_value *text) {
    if (v.encoding == HASH_LISTPACK) {
        const struct listpack *lp = v.pointer;
        uint32_t at = listpack_seek(lp, (int64_t)random_below(hash_count(v)) * 2);
        *field = listpack_get(lp, at);
        *text = listpack_get(lp, listpack_next(lp, at));
        return;
    }
    struct pair_texts texts = pair_texts(table_random(as_table(v)->pairs));
    *field = (struct listpack_value){texts.field, 0};
    *text = (struct listpack_value){texts.text, 0};
}

const struct listpack *hash_listpack(struct value v) {
    ASSERT(v.encoding == HASH_LISTPACK);
    return v.pointer;
}

struct table *hash_table(struct value v) {
    return as_table(v)->pairs;
}

struct value hash_take_listpack(struct listpack *lp) {
    struct value v = {lp, HASH_LISTPACK};
    bool fits = hash_count(v) <= (uint64_t)entries_max;
    for (uint32_t at = listpack_first(lp); fits && at; at = listpack_next(lp, at))
        fits = listpack_get(lp, at).text.length <= (uint64_t)text_bytes_max;
    if (!fits) convert(&v);
    return v;
}

/* ---- The type's row ---- */

static struct value hash_copy(struct value v) {
    if (v.encoding == HASH_LISTPACK) return (struct value){listpack_dup(v.pointer), HASH_LISTPACK};
    struct hash *h = table_form_create();
    hash_each(v, add_visited, h);
    return (struct value){h, HASH_TABLE};
}

static void digest_visited(struct slice field, struct slice text, void *context) {
    value_digest_member(context, field, &text);
}

static void hash_digest(struct value v, struct sha1 *s) {
    struct value_digest d = {{0}};
    hash_each(v, digest_visited, &d);
    sha1_add(s, d.sum, sizeof(d.sum));
}

static size_t hash_value_bytes(struct value v) {
    if (v.encoding == HASH_LISTPACK) return listpack_memory(v.pointer);
    const struct hash *h = as_table(v);
    return memory_good_size(sizeof(*h)) + table_bytes(h->pairs) + h->twins.bytes;
}

static size_t hash_free_effort(struct value v) {
    return v.encoding == HASH_LISTPACK ? 1 : hash_count(v);
}

static const struct table *hash_table_within(struct value v) {
    return v.encoding == HASH_TABLE ? as_table(v)->pairs : NULL;
}

static void hash_unlink(struct value v) {
    if (v.encoding == HASH_TABLE) table_detach(as_table(v)->pairs);
}

struct check {
    const struct table *pairs;
    size_t bytes;
};

static void check_pair(void *element, void *context) {
    struct check *seen = context;
    struct slice field = pair_field(element);
    ASSERT(table_find(seen->pairs, pair_hash(element), field.bytes, field.length) == element);
    seen->bytes += twins_good_size(pair_size(element));
}

void hash_check(struct value v) {
    if (v.encoding == HASH_LISTPACK) {
        const struct listpack *lp = v.pointer;
        char scratch[LISTPACK_SCRATCH];
        listpack_check(lp);
        ASSERT(listpack_count(lp) % 2 == 0);
        for (uint32_t at = listpack_first(lp); at;) {
            struct listpack_value field = listpack_get(lp, at);
            ASSERT(find_field(lp, listpack_value_text(&field, scratch)) == at);
            at = listpack_next(lp, listpack_next(lp, at));
        }
        return;
    }
    struct check seen = {as_table(v)->pairs, 0};
    uint64_t cursor = 0;
    table_check(seen.pairs);
    do {
        cursor = table_scan(seen.pairs, cursor, check_pair, &seen);
    } while (cursor);
    twins_check(&as_table(v)->twins, seen.bytes);
}

static const char *const encodings[] = {"ziplist", "hashtable"};

static const struct value_type row = {.name = "hash",
                                      .encodings = encodings,
                                      .release = hash_free,
                                      .count = hash_count,
                                      .copy = hash_copy,
                                      .digest = hash_digest,
                                      .bytes = hash_value_bytes,
                                      .free_effort = hash_free_effort,
                                      .unlink = hash_unlink,
                                      .release_step = hash_release_step,
                                      .table = hash_table_within};

static const struct option_row option_rows[] = {
    OPTION_INT("hash-max-ziplist-entries", &entries_max, "512", 0, INT64_MAX, OPTION_MUTABLE,
               "small values", 10, "Fields up to which a hash is kept in its compact form."),
    OPTION_BYTES("hash-max-ziplist-value", &text_bytes_max, "64", 0, INT64_MAX, OPTION_MUTABLE,
                 "small values", 20, "Longest field or value in a compact hash."),
};

void value_hash_register(void) {
    value_type_register(VALUE_HASH, &row);
    option_register(option_rows, sizeof(option_rows) / sizeof(option_rows[0]));
}
