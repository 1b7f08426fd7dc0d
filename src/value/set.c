/* SPDX-License-Identifier: BSD-3-Clause
 * Sets as sorted integers and as tables of members.
 *
 * An intset becomes a table, for good, with its first member that is no integer and when it has
 * more members than set-max-intset-entries. A member is one allocation: a byte of length and its
 * text, or LONG_MEMBER, four bytes of length and its text. They are kept in ds/twins, which gives
 * members multiples of 8 bytes.
 *
 * Invariant (set_check): the twins' bytes are those of the members and of vacant halves.
 */
#include "value/set.h"

#include "base/hash.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/panic.h"
#include "ds/intset.h"
#include "ds/table.h"
#include "ds/twins.h"
#include "option/option.h"

/* Buckets by which a table grows ahead at once: some 1,400 members. */
#define RESERVE_STEPS 256

#define SHORT_TEXT_MAX 253
#define LONG_MEMBER 254 /* TWINS_VACANT is no length either */
#define SHORT_HEADER_BYTES 1
#define LONG_HEADER_BYTES 5

/* In either form. */
struct member {
    unsigned char bytes[1];
};

struct set {
    struct table *members;
    struct twins twins;
};

static int64_t integers_max;

/* ---- Members ---- */

static inline size_t member_allocation(size_t length) {
    return (length <= SHORT_TEXT_MAX ? SHORT_HEADER_BYTES : LONG_HEADER_BYTES) + length;
}

static inline struct slice member_text(const struct member *m) {
    const char *bytes = (const char *)m->bytes;
    uint32_t length = m->bytes[0];
    if (__builtin_expect(length != LONG_MEMBER, 1))
        return (struct slice){bytes + SHORT_HEADER_BYTES, length};
    memcpy(&length, bytes + 1, sizeof(length));
    return (struct slice){bytes + LONG_HEADER_BYTES, length};
}

static size_t member_size(const struct member *m) {
    return member_allocation(member_text(m).length);
}

static uint64_t member_hash(const void *element) {
    struct slice text = member_text(element);
    return hash_bytes(text.bytes, text.length);
}

static bool member_matches(const void *element, const void *key, size_t key_length) {
    struct slice text = member_text(element);
    return text.length == key_length && memcmp(text.bytes, key, key_length) == 0;
}

static const struct table_type member_table = {member_hash, member_matches, MEMORY_DATASET};

static void member_add(struct set *s, struct slice text, uint64_t hash) {
    ASSERT(text.length <= UINT32_MAX);
    struct member *m = twins_alloc(&s->twins, member_allocation(text.length));
    char *to = (char *)m->bytes + SHORT_HEADER_BYTES;
    if (text.length <= SHORT_TEXT_MAX) {
        m->bytes[0] = (unsigned char)text.length;
    } else {
        uint32_t length = (uint32_t)text.length;
        m->bytes[0] = LONG_MEMBER;
        memcpy(to, &length, sizeof(length));
        to += sizeof(length);
    }
    if (text.length) memcpy(to, text.bytes, text.length);
    table_insert(s->members, hash, m);
}

/* ---- The two forms ---- */

static struct set *as_table(struct value v) {
    ASSERT_SLOW(v.encoding == SET_TABLE);
    return v.pointer;
}

static struct set *table_form_create(void) {
    struct set *s = memory_alloc(sizeof(*s), MEMORY_DATASET);
    *s = (struct set){.members = table_create(&member_table)};
    return s;
}

static void add_visited(struct slice member, void *context) {
    member_add(context, member, hash_bytes(member.bytes, member.length));
}

static void convert(struct value *v) {
    struct set *s = table_form_create();
    set_each(*v, add_visited, s);
    intset_free(v->pointer);
    *v = (struct value){s, SET_TABLE};
}

static bool is_integer(struct slice text, int64_t *integer) {
    return text.length < NUMBER_INT64_CHARS && number_parse_int64(text.bytes, text.length, integer);
}

struct value set_create(void) {
    return (struct value){intset_create(), SET_INTSET};
}

static void release_member(void *element, void *context) {
    twins_release(context, element, member_size(element));
}

static bool set_release_step(struct value v, size_t effort) {
    if (v.encoding == SET_INTSET) {
        intset_free(v.pointer);
        return true;
    }
    struct set *s = as_table(v);
    size_t buckets = effort / TABLE_BUCKET_SLOTS + 1;
    if (!table_free_step(s->members, buckets, release_member, &s->twins)) return false;
    memory_free_sized(s, sizeof(*s), MEMORY_DATASET);
    return true;
}

void set_free(struct value v) { set_release_step(v, SIZE_MAX); }

size_t set_count(struct value v) {
    return v.encoding == SET_INTSET ? intset_count(v.pointer) : table_count(as_table(v)->members);
}

bool set_has(struct value v, struct slice member) {
    int64_t integer;
    if (v.encoding == SET_INTSET)
        return is_integer(member, &integer) && intset_has(v.pointer, integer);
    uint64_t hash = hash_bytes(member.bytes, member.length);
    return table_find(as_table(v)->members, hash, member.bytes, member.length) != NULL;
}

static bool add_to_intset(struct value *v, int64_t integer) {
    struct intset *s = v->pointer;
    bool added = intset_add(&s, integer);
    v->pointer = s;
    size_t limit =
        integers_max < (int64_t)INTSET_COUNT_MAX ? (size_t)integers_max : INTSET_COUNT_MAX - 1;
    if (added && intset_count(s) > limit) convert(v);
    return added;
}

bool set_add(struct value *v, struct slice member) {
    int64_t integer;
    if (v->encoding == SET_INTSET) {
        if (is_integer(member, &integer)) return add_to_intset(v, integer);
        convert(v);
    }
    struct set *s = as_table(*v);
    uint64_t hash = hash_bytes(member.bytes, member.length);
    if (table_find(s->members, hash, member.bytes, member.length)) return false;
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
    struct set *s = as_table(*v);
    uint64_t hash = hash_bytes(member.bytes, member.length);
    struct member *m = table_remove(s->members, hash, member.bytes, member.length);
    if (!m) return false;
    twins_free(&s->twins, m, member_size(m));
    return true;
}

/* ---- Walking ---- */

struct visit {
    set_visit *visit;
    void *context;
};

static void visit_member(void *element, void *context) {
    const struct visit *v = context;
    v->visit(member_text(element), v->context);
}

static void each_of_intset(struct value v, set_visit *visit, void *context) {
    for (size_t i = 0; i < intset_count(v.pointer); i++) {
        char digits[NUMBER_INT64_CHARS];
        size_t length = number_format_int64(digits, intset_at(v.pointer, i));
        visit((struct slice){digits, length}, context);
    }
}

uint64_t set_scan(struct value v, uint64_t cursor, set_visit *visit, void *context) {
    struct visit pass = {visit, context};
    if (v.encoding == SET_TABLE)
        return table_scan(as_table(v)->members, cursor, visit_member, &pass);
    each_of_intset(v, visit, context);
    return 0;
}

void set_each(struct value v, set_visit *visit, void *context) {
    struct visit pass = {visit, context};
    if (v.encoding == SET_TABLE)
        table_each(as_table(v)->members, visit_member, &pass);
    else
        each_of_intset(v, visit, context);
}

struct listpack_value set_random(struct value v) {
    if (v.encoding == SET_INTSET)
        return (struct listpack_value){{NULL, 0}, intset_random(v.pointer)};
    return (struct listpack_value){member_text(table_random(as_table(v)->members)), 0};
}

const struct intset *set_intset(struct value v) {
    ASSERT(v.encoding == SET_INTSET);
    return v.pointer;
}

struct table *set_table(struct value v) {
    return as_table(v)->members;
}

void set_expect(struct value *v, size_t members) {
    if (v->encoding == SET_INTSET && members > (uint64_t)integers_max) convert(v);
    if (v->encoding == SET_TABLE) table_reserve(as_table(*v)->members, members, RESERVE_STEPS);
}

struct value set_take_intset(struct intset *s) {
    struct value v = {s, SET_INTSET};
    if (intset_count(s) > (uint64_t)integers_max) convert(&v);
    return v;
}

/* ---- The type's row ---- */

static struct value set_copy(struct value v) {
    if (v.encoding == SET_INTSET) return (struct value){intset_dup(v.pointer), SET_INTSET};
    struct set *s = table_form_create();
    set_each(v, add_visited, s);
    return (struct value){s, SET_TABLE};
}

static void digest_visited(struct slice member, void *context) {
    value_digest_member(context, member, NULL);
}

static void set_digest(struct value v, struct sha1 *s) {
    struct value_digest d = {{0}};
    set_each(v, digest_visited, &d);
    sha1_add(s, d.sum, sizeof(d.sum));
}

static size_t set_bytes(struct value v) {
    if (v.encoding == SET_INTSET) return intset_memory(v.pointer);
    const struct set *s = as_table(v);
    return memory_good_size(sizeof(*s)) + table_bytes(s->members) + s->twins.bytes;
}

static size_t set_free_effort(struct value v) {
    return v.encoding == SET_INTSET ? 1 : set_count(v);
}

static const struct table *set_table_within(struct value v) {
    return v.encoding == SET_TABLE ? as_table(v)->members : NULL;
}

static void set_unlink(struct value v) {
    if (v.encoding == SET_TABLE) table_detach(as_table(v)->members);
}

struct check {
    const struct table *members;
    size_t bytes;
};

static void check_member(void *element, void *context) {
    struct check *seen = context;
    struct slice text = member_text(element);
    ASSERT(table_find(seen->members, member_hash(element), text.bytes, text.length) == element);
    seen->bytes += twins_good_size(member_size(element));
}

void set_check(struct value v) {
    if (v.encoding == SET_INTSET) {
        intset_check(v.pointer);
        return;
    }
    struct check seen = {as_table(v)->members, 0};
    uint64_t cursor = 0;
    table_check(seen.members);
    do {
        cursor = table_scan(seen.members, cursor, check_member, &seen);
    } while (cursor);
    twins_check(&as_table(v)->twins, seen.bytes);
}

static const char *const encodings[] = {"intset", "hashtable"};

static const struct value_type row = {.name = "set",
                                      .encodings = encodings,
                                      .release = set_free,
                                      .count = set_count,
                                      .copy = set_copy,
                                      .digest = set_digest,
                                      .bytes = set_bytes,
                                      .free_effort = set_free_effort,
                                      .unlink = set_unlink,
                                      .release_step = set_release_step,
                                      .table = set_table_within};

static const struct option_row option_rows[] = {
    OPTION_INT("set-max-intset-entries", &integers_max, "512", 0, INT64_MAX, OPTION_MUTABLE,
               "small values", 50,
               "Members up to which a set of integers is kept as a sorted array."),
};

void value_set_register(void) {
    value_type_register(VALUE_SET, &row);
    option_register(option_rows, sizeof(option_rows) / sizeof(option_rows[0]));
}
