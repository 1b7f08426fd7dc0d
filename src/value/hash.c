/* SPDX-License-Identifier: BSD-3-Clause
 * Hashes as listpacks and as tables of pairs.
 *
 * A listpack has fields and values in turn. It becomes a table (value/packed, an element being a
 * field and its value) for good when there are more fields than hash-max-ziplist-entries, or when a
 * field or a value is longer than hash-max-ziplist-value, unless HINCRBY or HINCRBYFLOAT sets it
 * (as in 6.2).
 *
 * Invariant (hash_check): no field is there twice.
 */
#include "value/hash.h"

#include "base/hash.h"
#include "base/memory.h"
#include "base/panic.h"
#include "base/random.h"
#include "base/relocation.h"
#include "ds/zipmap.h"
#include "option/option.h"
#include "value/packed.h"
#include "value/rewritten.h"
#include "value/saved.h"
#include "value/shadow.h"

/* Field and value. */
#define TEXTS 2
/* How many buckets a table grows by before fields are loaded: some 1,400 fields. */
#define RESERVE_STEPS 256

static int64_t entries_max, text_bytes_max;

/* ---- The two forms ---- */

static struct packed *hash_table_of(struct value v) {
    ASSERT_SLOW(v.encoding == HASH_TABLE);
    return v.pointer;
}

static void pair_add(struct packed *h, struct slice field, struct slice text, uint64_t hash) {
    table_insert(h->table, hash, packed_new(TEXTS, h, field, text));
}

static void hash_add_visited(struct slice field, struct slice text, void *context) {
    pair_add(context, field, text, hash_bytes(field.bytes, field.length));
}

static void hash_convert(struct value *v) {
    struct packed *h = packed_create(&packed_two);
    hash_each(*v, hash_add_visited, h);
    listpack_free(v->pointer);
    *v = (struct value){h, HASH_TABLE};
}

struct value hash_create(void) {
    return (struct value){listpack_create(), HASH_LISTPACK};
}

static bool hash_release_step(struct value v, size_t effort) {
    if (v.encoding == HASH_LISTPACK) {
        listpack_free(v.pointer);
        return true;
    }
    return packed_release_step(TEXTS, hash_table_of(v), effort);
}

void hash_free(struct value v) { hash_release_step(v, SIZE_MAX); }

size_t hash_count(struct value v) {
    return v.encoding == HASH_LISTPACK ? listpack_count(v.pointer) / 2
                                       : table_count(hash_table_of(v)->table);
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
    const void *p = table_find(hash_table_of(v)->table, hash, field.bytes, field.length);
    if (p) *out = (struct listpack_value){packed_texts(TEXTS, p).second, 0};
    return p != NULL;
}

/* ---- Changing ---- */

static bool set_in_table(struct packed *h, struct slice field, struct slice text) {
    uint64_t hash = hash_bytes(field.bytes, field.length);
    table_slot slot = table_find_slot(h->table, hash, field.bytes, field.length);
    if (!slot) {
        shadow_note(h->table, hash, field, NULL);
        pair_add(h, field, text, hash);
        return true;
    }
    void *old = table_slot_element(slot);
    shadow_note(h->table, hash, field, old);
    size_t allocation = packed_allocation(TEXTS, field.length, text.length);
    bool same_form =
        packed_is_short(field.length, text.length) == (*(unsigned char *)old != PACKED_LONG);
    if (same_form && twins_good_size(allocation) == twins_good_size(packed_size(TEXTS, old))) {
        packed_write(TEXTS, old, field.length, text);
        return false;
    }
    table_slot_replace(slot, packed_new(TEXTS, h, field, text));
    packed_free(TEXTS, h, old);
    return false;
}

bool hash_set(struct value *v, struct slice field, struct slice text) {
    size_t longest = field.length > text.length ? field.length : text.length;
    if (v->encoding == HASH_LISTPACK && longest > (uint64_t)text_bytes_max) hash_convert(v);
    return hash_set_of_any_length(v, field, text);
}

bool hash_set_of_any_length(struct value *v, struct slice field, struct slice text) {
    if (v->encoding == HASH_LISTPACK &&
        !saved_listpack_fits(v->pointer,
                             listpack_element_size(field) + listpack_element_size(text)))
        hash_convert(v);
    if (v->encoding == HASH_TABLE) return set_in_table(hash_table_of(*v), field, text);
    struct listpack *lp = v->pointer;
    uint32_t at = find_field(lp, field);
    if (at) {
        listpack_replace(&lp, listpack_next(lp, at), text);
    } else {
        listpack_append(&lp, field);
        listpack_append(&lp, text);
    }
    v->pointer = lp;
    if (hash_count(*v) > (uint64_t)entries_max) hash_convert(v);
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
    struct packed *h = hash_table_of(*v);
    uint64_t hash = hash_bytes(field.bytes, field.length);
    void *p = table_remove(h->table, hash, field.bytes, field.length);
    if (!p) return false;
    shadow_note(h->table, hash, field, p);
    packed_free(TEXTS, h, p);
    return true;
}

/* ---- Walking ---- */

struct visit {
    hash_visit *visit;
    void *context;
};

static void visit_pair(void *element, void *context) {
    const struct visit *v = context;
    struct packed_texts texts = packed_texts(TEXTS, element);
    v->visit(texts.first, texts.second, v->context);
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

uint64_t hash_scan(struct value v, uint64_t cursor, size_t wanted, hash_visit *visit,
                   void *context) {
    if (v.encoding == HASH_LISTPACK) {
        each_of_listpack(v.pointer, visit, context);
        return 0;
    }
    struct visit pass = {visit, context};
    return table_scan_some(hash_table_of(v)->table, cursor, wanted, visit_pair, &pass);
}

void hash_each(struct value v, hash_visit *visit, void *context) {
    if (v.encoding == HASH_LISTPACK) {
        each_of_listpack(v.pointer, visit, context);
        return;
    }
    struct visit pass = {visit, context};
    table_each(hash_table_of(v)->table, visit_pair, &pass);
}

void hash_random(struct value v, struct listpack_value *field, struct listpack_value *text) {
    if (v.encoding == HASH_LISTPACK) {
        const struct listpack *lp = v.pointer;
        uint32_t at = listpack_seek(lp, (int64_t)random_below(hash_count(v)) * 2);
        *field = listpack_get(lp, at);
        *text = listpack_get(lp, listpack_next(lp, at));
        return;
    }
    struct packed_texts texts = packed_texts(TEXTS, table_random(hash_table_of(v)->table));
    *field = (struct listpack_value){texts.first, 0};
    *text = (struct listpack_value){texts.second, 0};
}

struct value hash_take_listpack(struct listpack *lp) {
    struct value v = {lp, HASH_LISTPACK};
    if (hash_count(v) > (uint64_t)entries_max || !saved_listpack_fits(lp, 0)) hash_convert(&v);
    return v;
}

/* ---- The type's row ---- */

static struct value hash_copy(struct value v, struct slice key, struct slice to) {
    if (v.encoding == HASH_LISTPACK) return (struct value){listpack_dup(v.pointer), HASH_LISTPACK};
    struct packed *h = packed_create(&packed_two);
    hash_each(v, hash_add_visited, h);
    return (struct value){h, HASH_TABLE};
}

static void hash_digest_visited(struct slice field, struct slice text, void *context) {
    value_digest_pair(context, field, text);
}

static void hash_digest(struct value v, struct value_digest *d) {
    hash_each(v, hash_digest_visited, d);
}

static size_t hash_value_bytes(struct value v) {
    if (v.encoding == HASH_LISTPACK) return listpack_memory(v.pointer);
    return packed_bytes(hash_table_of(v));
}

static size_t hash_free_effort(struct value v, struct slice key) {
    return v.encoding == HASH_LISTPACK ? 1 : hash_count(v);
}

/* ---- Saving and loading ---- */

static struct slice hash_flat(struct value v) {
    if (!(v.encoding == HASH_LISTPACK)) return (struct slice){NULL, 0};
    return (struct slice){(const char *)listpack_bytes(v.pointer), listpack_size(v.pointer)};
}

static unsigned hash_form(struct value v) {
    return v.encoding == HASH_LISTPACK ? SAVED_HASH_ZIPLIST : SAVED_HASH;
}

static struct value_texts pair_texts(const void *element) {
    struct packed_texts texts = packed_texts(TEXTS, element);
    return (struct value_texts){texts.first, texts.second};
}

static void hash_save_texts(struct value_texts pair, void *out) {
    saved_write_text(out, pair.first);
    saved_write_text(out, pair.second);
}

static void save_pair(void *element, void *out) { hash_save_texts(pair_texts(element), out); }

static bool hash_save(struct value v, struct save_cursor *c, struct sink *out) {
    if (c->shadow) return saved_write_shadow(c, out, hash_save_texts);
    if (v.encoding == HASH_TABLE)
        saved_write_table(hash_table_of(v)->table, out, save_pair);
    else
        saved_write_ziplist(out, v.pointer);
    return true;
}

static void rewrite_pair(struct slice field, struct slice text, void *context) {
    struct rewritten *r = context;
    rewritten_member(r);
    rewritten_text(r->out, field);
    rewritten_text(r->out, text);
}

static void hash_rewrite_texts(struct value_texts pair, void *rewritten) {
    rewrite_pair(pair.first, pair.second, rewritten);
}

static bool hash_rewrite(struct value v, struct slice key, struct save_cursor *c,
                         struct sink *out) {
    struct rewritten r = {out, key, SLICE("HMSET"), 2, hash_count(v), 0};
    if (c->shadow) return rewritten_write_shadow(&r, c, hash_rewrite_texts);
    hash_each(v, rewrite_pair, &r);
    return true;
}

static struct listpack *read_zipmap(struct source *in, struct buffer *store) {
    struct slice text;
    if (!saved_read_text(in, store, &text)) return NULL;
    saved_note_checked();
    struct listpack *lp = zipmap_to_listpack(text.bytes, text.length);
    if (lp && listpack_count(lp) > 0) return lp;
    if (lp) listpack_free(lp);
    source_refuse(in, "Zipmap integrity check failed"); /* as 6.2 says of an empty zipmap, too */
    return NULL;
}

static bool text_fits(uint32_t at, const struct listpack *lp) {
    return listpack_get(lp, at).text.length <= (uint64_t)text_bytes_max;
}

/* Loads a ziplist or a zipmap. Only a zipmap's texts are compared with hash-max-ziplist-value,
 * because 6.2 writes no ziplist with longer texts. */
static enum value_loaded hash_load_listpack(unsigned form, struct source *in, struct buffer *store,
                                            struct value *out) {
    bool zipmap = form == SAVED_HASH_ZIPMAP, fits = true;
    struct listpack *lp = zipmap ? read_zipmap(in, store) : saved_read_pairs(in, store);
    if (!lp) return VALUE_REFUSED;
    bool empty = listpack_count(lp) == 0;
    if (empty || (zipmap && !saved_pairs_are_distinct(in, lp))) {
        listpack_free(lp);
        return empty ? VALUE_EMPTY : VALUE_REFUSED;
    }
    for (uint32_t at = zipmap ? listpack_first(lp) : 0; at && fits; at = listpack_next(lp, at))
        fits = text_fits(at, lp);
    *out = hash_take_listpack(lp);
    if (!fits && out->encoding == HASH_LISTPACK) hash_convert(out);
    return VALUE_LOADED;
}

static bool load_pairs(struct source *in, struct buffer *store, struct value *v, uint64_t count) {
    struct buffer field_store;
    struct slice field, text;
    bool good = true;
    buffer_init(&field_store, MEMORY_OTHER);
    for (; good && count > 0; count--) {
        good = saved_read_kept(in, &field_store, &field) && saved_read_text(in, store, &text);
        if (good && !hash_set(v, field, text))
            good = source_refuse(in, "a field stands there twice");
    }
    buffer_free(&field_store);
    return good;
}

static enum value_loaded hash_load(unsigned form, struct slice key, struct source *in,
                                   struct buffer *store, struct value *out) {
    uint64_t count;
    if (form != SAVED_HASH) return hash_load_listpack(form, in, store, out);
    if (!saved_read_count(in, 2, &count)) return VALUE_REFUSED;
    if (count == 0) return VALUE_EMPTY;
    struct value v = hash_create();
    if (count > (uint64_t)entries_max) hash_convert(&v);
    if (v.encoding == HASH_TABLE) table_reserve(hash_table_of(v)->table, count, RESERVE_STEPS);
    if (load_pairs(in, store, &v, count)) {
        *out = v;
        return VALUE_LOADED;
    }
    hash_free(v);
    return VALUE_REFUSED;
}

static const struct table *hash_table_within(struct value v) {
    return v.encoding == HASH_TABLE ? hash_table_of(v)->table : NULL;
}

static void hash_unlink(struct value v, struct slice key) {
    if (v.encoding == HASH_TABLE) table_detach(hash_table_of(v)->table);
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
    packed_check(TEXTS, hash_table_of(v));
}

static const char *const encodings[] = {"ziplist", "hashtable"};

static bool hash_relocate(struct value *v, struct value_cursor *c, struct relocation *r) {
    if (v->encoding == HASH_LISTPACK) {
        v->pointer = relocation_settle(r, v->pointer, MEMORY_DATASET);
        return true;
    }
    struct packed *h = v->pointer;
    c->place = packed_relocate(TEXTS, &h, c->place, r);
    v->pointer = h;
    return c->place == 0;
}

static const struct value_type row = {.name = "hash",
                                      .digest_number = 4,
                                      .encodings = encodings,
                                      .release = hash_free,
                                      .count = hash_count,
                                      .copy = hash_copy,
                                      .digest = hash_digest,
                                      .bytes = hash_value_bytes,
                                      .free_effort = hash_free_effort,
                                      .unlink = hash_unlink,
                                      .release_step = hash_release_step,
                                      .form = hash_form,
                                      .flat = hash_flat,
                                      .save = hash_save,
                                      .rewrite = hash_rewrite,
                                      .load = hash_load,
                                      .relocate = hash_relocate,
                                      .table = hash_table_within,
                                      .texts = pair_texts};

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
