/* SPDX-License-Identifier: BSD-3-Clause
 * Sets as sorted integers and as tables of members.
 *
 * An intset becomes a table, for good, with its first member that is no integer and when it has
 * more members than set-max-intset-entries: value/packed, with one text a member.
 */
#include "value/set.h"

#include "base/hash.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/panic.h"
#include "base/relocation.h"
#include "ds/intset.h"
#include "option/option.h"
#include "value/packed.h"
#include "value/rewritten.h"
#include "value/saved.h"
#include "value/shadow.h"

#define TEXTS 1

/* How many buckets a table grows by in one call of set_expect: some 1,400 members. */
#define RESERVE_STEPS 256

static int64_t integers_max;

/* ---- The two forms ---- */

static struct packed *set_table_of(struct value v) {
    ASSERT_SLOW(v.encoding == SET_TABLE);
    return v.pointer;
}

static void member_add(struct packed *s, struct slice text, uint64_t hash) {
    table_insert(s->table, hash, packed_new(TEXTS, s, text, (struct slice){NULL, 0}));
}

static void set_add_visited(struct slice member, void *context) {
    member_add(context, member, hash_bytes(member.bytes, member.length));
}

static void set_convert(struct value *v) {
    struct packed *s = packed_create(&packed_one);
    set_each(*v, set_add_visited, s);
    intset_free(v->pointer);
    *v = (struct value){s, SET_TABLE};
}

static bool is_integer(struct slice text, int64_t *integer) {
    return text.length < NUMBER_INT64_CHARS && number_parse_int64(text.bytes, text.length, integer);
}

struct value set_create(void) {
    return (struct value){intset_create(), SET_INTSET};
}

static bool set_release_step(struct value v, size_t effort) {
    if (v.encoding == SET_INTSET) {
        intset_free(v.pointer);
        return true;
    }
    return packed_release_step(TEXTS, set_table_of(v), effort);
}

void set_free(struct value v) { set_release_step(v, SIZE_MAX); }

size_t set_count(struct value v) {
    return v.encoding == SET_INTSET ? intset_count(v.pointer) : table_count(set_table_of(v)->table);
}

bool set_has(struct value v, struct slice member) {
    int64_t integer;
    if (v.encoding == SET_INTSET)
        return is_integer(member, &integer) && intset_has(v.pointer, integer);
    uint64_t hash = hash_bytes(member.bytes, member.length);
    return table_find(set_table_of(v)->table, hash, member.bytes, member.length) != NULL;
}

static bool add_to_intset(struct value *v, int64_t integer) {
    struct intset *s = v->pointer;
    bool added = intset_add(&s, integer);
    v->pointer = s;
    size_t limit =
        integers_max < (int64_t)INTSET_COUNT_MAX ? (size_t)integers_max : INTSET_COUNT_MAX - 1;
    if (added && intset_count(s) > limit) set_convert(v);
    return added;
}

bool set_add(struct value *v, struct slice member) {
    int64_t integer;
    if (v->encoding == SET_INTSET) {
        if (is_integer(member, &integer)) return add_to_intset(v, integer);
        set_convert(v);
    }
    struct packed *s = set_table_of(*v);
    uint64_t hash = hash_bytes(member.bytes, member.length);
    if (table_find(s->table, hash, member.bytes, member.length)) return false;
    shadow_note(s->table, hash, member, NULL);
    member_add(s, member, hash);
    return true;
}

bool set_remove(struct value *v, struct slice member) {
    if (v->encoding == SET_INTSET) {
        int64_t integer;
        struct intset *s = v->pointer;
        bool removed = is_integer(member, &integer) && intset_remove(&s, integer);
        v->pointer = s;
        return removed;
    }
    struct packed *s = set_table_of(*v);
    uint64_t hash = hash_bytes(member.bytes, member.length);
    void *m = table_remove(s->table, hash, member.bytes, member.length);
    if (!m) return false;
    shadow_note(s->table, hash, member, m);
    packed_free(TEXTS, s, m);
    return true;
}

void set_remove_places(struct value *v, const size_t *places, size_t count) {
    struct intset *s = v->pointer;
    ASSERT(v->encoding == SET_INTSET);
    intset_remove_places(&s, places, count);
    v->pointer = s;
}

/* ---- Walking ---- */

struct visit {
    set_visit *visit;
    void *context;
};

static void set_visit_member(void *element, void *context) {
    const struct visit *v = context;
    v->visit(packed_first(TEXTS, element), v->context);
}

static void each_of_intset(struct value v, set_visit *visit, void *context) {
    for (size_t i = 0; i < intset_count(v.pointer); i++) {
        char digits[NUMBER_INT64_CHARS];
        size_t length = number_format_int64(digits, intset_at(v.pointer, i));
        visit((struct slice){digits, length}, context);
    }
}

uint64_t set_scan(struct value v, uint64_t cursor, size_t wanted, set_visit *visit, void *context) {
    struct visit pass = {visit, context};
    if (v.encoding == SET_TABLE)
        return table_scan_some(set_table_of(v)->table, cursor, wanted, set_visit_member, &pass);
    each_of_intset(v, visit, context);
    return 0;
}

void set_each(struct value v, set_visit *visit, void *context) {
    struct visit pass = {visit, context};
    if (v.encoding == SET_TABLE)
        table_each(set_table_of(v)->table, set_visit_member, &pass);
    else
        each_of_intset(v, visit, context);
}

struct listpack_value set_random(struct value v) {
    if (v.encoding == SET_INTSET)
        return (struct listpack_value){{NULL, 0}, intset_random(v.pointer)};
    return (struct listpack_value){packed_first(TEXTS, table_random(set_table_of(v)->table)), 0};
}

const struct intset *set_intset(struct value v) {
    ASSERT(v.encoding == SET_INTSET);
    return v.pointer;
}

void set_expect(struct value *v, size_t members) {
    if (v->encoding == SET_INTSET && members > (uint64_t)integers_max) set_convert(v);
    if (v->encoding == SET_TABLE) table_reserve(set_table_of(*v)->table, members, RESERVE_STEPS);
}

struct value set_take_intset(struct intset *s) {
    struct value v = {s, SET_INTSET};
    if (intset_count(s) > (uint64_t)integers_max) set_convert(&v);
    return v;
}

/* ---- The type's row ---- */

static struct value set_copy(struct value v, struct slice key, struct slice to) {
    if (v.encoding == SET_INTSET) return (struct value){intset_dup(v.pointer), SET_INTSET};
    struct packed *s = packed_create(&packed_one);
    set_each(v, set_add_visited, s);
    return (struct value){s, SET_TABLE};
}

static void set_digest_visited(struct slice member, void *context) {
    value_digest_part(context, member);
}

static void set_digest(struct value v, struct value_digest *d) {
    set_each(v, set_digest_visited, d);
}

static size_t set_bytes(struct value v) {
    if (v.encoding == SET_INTSET) return intset_memory(v.pointer);
    return packed_bytes(set_table_of(v));
}

static size_t set_free_effort(struct value v, struct slice key) {
    return v.encoding == SET_INTSET ? 1 : set_count(v);
}

/* ---- Saving and loading ---- */

static struct slice set_flat(struct value v) {
    if (v.encoding != SET_INTSET) return (struct slice){NULL, 0};
    return (struct slice){(const char *)intset_bytes(v.pointer), intset_size(v.pointer)};
}

static unsigned set_form(struct value v) {
    return v.encoding == SET_INTSET ? SAVED_SET_INTSET : SAVED_SET;
}

static struct value_texts member_texts(const void *element) {
    return (struct value_texts){packed_first(TEXTS, element), {NULL, 0}};
}

static void set_save_texts(struct value_texts member, void *out) {
    saved_write_text(out, member.first);
}

static void save_member(void *element, void *out) { set_save_texts(member_texts(element), out); }

static bool set_save(struct value v, struct save_cursor *c, struct sink *out) {
    if (c->shadow) return saved_write_shadow(c, out, set_save_texts);
    if (v.encoding == SET_INTSET)
        saved_write_text(
            out, (struct slice){(const char *)intset_bytes(v.pointer), intset_size(v.pointer)});
    else
        saved_write_table(set_table_of(v)->table, out, save_member);
    return true;
}

static void rewrite_member(struct slice member, void *context) {
    struct rewritten *r = context;
    rewritten_member(r);
    rewritten_text(r->out, member);
}

static void set_rewrite_texts(struct value_texts member, void *rewritten) {
    rewrite_member(member.first, rewritten);
}

static bool set_rewrite(struct value v, struct slice key, struct save_cursor *c, struct sink *out) {
    struct rewritten r = {out, key, SLICE("SADD"), 1, set_count(v), 0};
    if (c->shadow) return rewritten_write_shadow(&r, c, set_rewrite_texts);
    set_each(v, rewrite_member, &r);
    return true;
}

static enum value_loaded load_intset(struct source *in, struct buffer *store, struct value *out) {
    struct slice text;
    if (!saved_read_text(in, store, &text)) return VALUE_REFUSED;
    saved_note_checked();
    if (!intset_validate(text.bytes, text.length)) {
        source_refuse(in, "Intset integrity check failed");
        return VALUE_REFUSED;
    }
    struct intset *s = intset_from_bytes(text.bytes, text.length);
    if (intset_count(s) == 0) {
        intset_free(s);
        return VALUE_EMPTY;
    }
    *out = set_take_intset(s);
    return VALUE_LOADED;
}

static enum value_loaded set_load(unsigned form, struct slice key, struct source *in,
                                  struct buffer *store, struct value *out) {
    uint64_t count;
    struct slice text;
    if (form == SAVED_SET_INTSET) return load_intset(in, store, out);
    if (!saved_read_count(in, 1, &count)) return VALUE_REFUSED;
    if (count == 0) return VALUE_EMPTY;
    struct value v = set_create();
    set_expect(&v, count);
    for (; count > 0 && saved_read_text(in, store, &text); count--) {
        if (set_add(&v, text)) continue;
        source_refuse(in, "a member stands there twice");
        break;
    }
    if (count == 0) *out = v;
    if (count == 0) return VALUE_LOADED;
    set_free(v);
    return VALUE_REFUSED;
}

static const struct table *set_table_within(struct value v) {
    return v.encoding == SET_TABLE ? set_table_of(v)->table : NULL;
}

static void set_unlink(struct value v, struct slice key) {
    if (v.encoding == SET_TABLE) table_detach(set_table_of(v)->table);
}

void set_check(struct value v) {
    if (v.encoding == SET_INTSET) {
        intset_check(v.pointer);
        return;
    }
    packed_check(TEXTS, set_table_of(v));
}

static const char *const encodings[] = {"intset", "hashtable"};

static bool set_relocate(struct value *v, struct value_cursor *c, struct relocation *r) {
    if (v->encoding == SET_INTSET) {
        v->pointer = relocation_settle(r, v->pointer, MEMORY_DATASET);
        return true;
    }
    struct packed *s = v->pointer;
    c->place = packed_relocate(TEXTS, &s, c->place, r);
    v->pointer = s;
    return c->place == 0;
}

static const struct value_type row = {.name = "set",
                                      .digest_number = 2,
                                      .encodings = encodings,
                                      .release = set_free,
                                      .count = set_count,
                                      .copy = set_copy,
                                      .digest = set_digest,
                                      .bytes = set_bytes,
                                      .free_effort = set_free_effort,
                                      .unlink = set_unlink,
                                      .release_step = set_release_step,
                                      .form = set_form,
                                      .flat = set_flat,
                                      .save = set_save,
                                      .rewrite = set_rewrite,
                                      .load = set_load,
                                      .relocate = set_relocate,
                                      .table = set_table_within,
                                      .texts = member_texts};

static const struct option_row option_rows[] = {
    OPTION_INT("set-max-intset-entries", &integers_max, "512", 0, INT64_MAX, OPTION_MUTABLE,
               "small values", 50,
               "Members up to which a set of integers is kept as a sorted array."),
};

void value_set_register(void) {
    value_type_register(VALUE_SET, &row);
    option_register(option_rows, sizeof(option_rows) / sizeof(option_rows[0]));
}
