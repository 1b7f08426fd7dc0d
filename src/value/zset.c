/* SPDX-License-Identifier: BSD-3-Clause
 * Sorted sets as listpacks and as a table and a tree over the same elements.
 *
 * A listpack holds member and score in turn, in order. A whole score below 2^53 is stored as an
 * integer, any other as a tag and its eight bytes, which cannot be taken for an integer's text; so
 * no score is printed or parsed. The listpack becomes a table and a tree, for good, when there are
 * more members than zset-max-ziplist-entries or one is longer than zset-max-ziplist-value.
 *
 * In the table and tree a member is one allocation with its score (ds/ordered): the table finds it
 * by text, the tree by its place in the order.
 *
 * Invariants (zset_check):
 *  1. Members ascend by score, then by bytes, and differ.
 *  2. Table and tree hold the same elements.
 *  3. `element_bytes` is the sum of the elements' memory.
 */
#include "value/zset.h"

#include <math.h>
#include <stdio.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/panic.h"
#include "base/random.h"
#include "base/relocation.h"
#include "ds/table.h"
#include "option/option.h"
#include "value/rewritten.h"
#include "value/saved.h"
#include "value/shadow.h"

/* How many buckets a table grows by in one call of zset_expect: some 1,400 members. */
#define RESERVE_STEPS 256
/* Below this every whole number is exactly a double. */
#define WHOLE_SCORE_MAX 9007199254740992.0
/* Before a score's bytes in a listpack: no digit and no sign. */
#define SCORE_TAG 'd'
/* "%.17g" of any number, and a NUL. */
#define DIGEST_SCORE_CHARS 32

struct zset {
    struct table *members;
    struct ordered *order;
    size_t element_bytes;
};

static int64_t entries_max, member_bytes_max;

/* ---- Elements ---- */

static uint64_t text_hash(struct slice text) { return hash_bytes(text.bytes, text.length); }

static uint64_t element_hash(const void *element) {
    return text_hash(ordered_element_text(element));
}

static bool element_matches(const void *element, const void *key, size_t key_length) {
    struct slice text = ordered_element_text(element);
    return text.length == key_length && memcmp(text.bytes, key, key_length) == 0;
}

static const struct table_type member_table = {element_hash, element_matches, MEMORY_DATASET};

/* ---- Scores in a listpack ---- */

struct score_text {
    char bytes[LISTPACK_SCRATCH];
};
_Static_assert(LISTPACK_SCRATCH > 1 + sizeof(double), "a tag and a double fit");

static struct slice score_write(double score, struct score_text *out) {
    if (fabs(score) < WHOLE_SCORE_MAX && score == (double)(int64_t)score &&
        !(score == 0 && signbit(score)))
        return (struct slice){out->bytes, number_format_int64(out->bytes, (int64_t)score)};
    out->bytes[0] = SCORE_TAG;
    memcpy(out->bytes + 1, &score, sizeof(score));
    return (struct slice){out->bytes, 1 + sizeof(score)};
}

static double score_read(const struct listpack *lp, uint32_t at) {
    struct listpack_value v = listpack_get(lp, at);
    double score;
    if (!v.text.bytes) return (double)v.integer;
    ASSERT_SLOW(v.text.length == 1 + sizeof(score) && v.text.bytes[0] == SCORE_TAG);
    memcpy(&score, v.text.bytes + 1, sizeof(score));
    return score;
}

static double score_behind(const struct listpack *lp, uint32_t member_at) {
    return score_read(lp, listpack_next(lp, member_at));
}

/* The next member, 0 at the end. */
static uint32_t next_member(const struct listpack *lp, uint32_t at) {
    return listpack_next(lp, listpack_next(lp, at));
}

static uint32_t find_member(const struct listpack *lp, struct slice member) {
    return listpack_find(lp, listpack_first(lp), member, 1);
}

static int compare_member(const struct listpack *lp, uint32_t at, struct slice text) {
    char scratch[LISTPACK_SCRATCH];
    struct listpack_value v = listpack_get(lp, at);
    return slice_compare(listpack_value_text(&v, scratch), text);
}

static void listpack_add(struct listpack **lp, struct slice member, double score) {
    struct score_text scratch;
    uint32_t at = listpack_first(*lp);
    while (at) {
        double there = score_behind(*lp, at);
        if (there > score || (there == score && compare_member(*lp, at, member) > 0)) break;
        at = next_member(*lp, at);
    }
    at = listpack_insert_before(lp, at, member);
    listpack_insert_after(lp, at, score_write(score, &scratch));
}

/* ---- The two forms ---- */

static struct zset *as_ordered(struct value v) {
    ASSERT_SLOW(v.encoding == ZSET_ORDERED);
    return v.pointer;
}

static struct zset *ordered_form_create(void) {
    struct zset *z = memory_alloc(sizeof(*z), MEMORY_DATASET);
    *z = (struct zset){.members = table_create(&member_table), .order = ordered_create()};
    return z;
}

static void element_add(struct zset *z, struct slice member, uint64_t hash, double score) {
    struct ordered_element *e = ordered_element_create(score, member);
    table_insert(z->members, hash, e);
    ordered_insert(z->order, e);
    z->element_bytes += ordered_element_bytes(e);
}

static void zset_add_visited(struct slice member, double score, void *context) {
    element_add(context, member, text_hash(member), score);
}

static void zset_convert(struct value *v) {
    struct zset *z = ordered_form_create();
    zset_each(*v, zset_add_visited, z);
    listpack_free(v->pointer);
    *v = (struct value){z, ZSET_ORDERED};
}

struct value zset_create(void) {
    return (struct value){listpack_create(), ZSET_LISTPACK};
}

static void release_element(struct ordered_element *e, void *context) { ordered_element_free(e); }

void zset_free(struct value v) {
    if (v.encoding == ZSET_LISTPACK) {
        listpack_free(v.pointer);
        return;
    }
    struct zset *z = as_ordered(v);
    table_free(z->members);
    ordered_free(z->order, release_element, NULL);
    memory_free_sized(z, sizeof(*z), MEMORY_DATASET);
}

static void release_counted(struct ordered_element *e, void *context) {
    struct zset *z = context;
    z->element_bytes -= ordered_element_bytes(e);
    ordered_element_free(e);
}

/* Frees the table first, which owns no element; a bucket counts as a block. */
static bool zset_release_step(struct value v, size_t effort) {
    if (v.encoding == ZSET_LISTPACK) {
        zset_free(v);
        return true;
    }
    struct zset *z = as_ordered(v);
    if (z->members && !table_free_step(z->members, effort, NULL, NULL)) return false;
    z->members = NULL;
    ordered_delete_range(z->order, 0, effort, release_counted, z);
    if (ordered_count(z->order)) return false;
    ordered_free(z->order, NULL, NULL);
    memory_free_sized(z, sizeof(*z), MEMORY_DATASET);
    return true;
}

size_t zset_count(struct value v) {
    return v.encoding == ZSET_LISTPACK ? listpack_count(v.pointer) / 2
                                       : table_count(as_ordered(v)->members);
}

static struct ordered_element *find_element(const struct zset *z, struct slice member) {
    return table_find(z->members, text_hash(member), member.bytes, member.length);
}

bool zset_score(struct value v, struct slice member, double *score) {
    if (v.encoding == ZSET_LISTPACK) {
        uint32_t at = find_member(v.pointer, member);
        if (at) *score = score_behind(v.pointer, at);
        return at != 0;
    }
    const struct ordered_element *e = find_element(as_ordered(v), member);
    if (e) *score = e->score;
    return e != NULL;
}

bool zset_rank(struct value v, struct slice member, size_t *rank) {
    if (v.encoding == ZSET_ORDERED) {
        const struct zset *z = as_ordered(v);
        const struct ordered_element *e = find_element(z, member);
        if (e) *rank = ordered_rank(z->order, e);
        return e != NULL;
    }
    const struct listpack *lp = v.pointer;
    size_t before = 0;
    for (uint32_t at = listpack_first(lp); at; at = next_member(lp, at), before++) {
        if (!listpack_equal(lp, at, member)) continue;
        *rank = before;
        return true;
    }
    return false;
}

/* ---- Changing ---- */

static bool set_in_order(struct zset *z, struct slice member, double score) {
    uint64_t hash = text_hash(member);
    struct ordered_element *e = table_find(z->members, hash, member.bytes, member.length);
    if (!e) {
        shadow_note(z->members, hash, member, NULL);
        element_add(z, member, hash, score);
        return true;
    }
    if (e->score != score) {
        shadow_note(z->members, hash, member, e);
        ordered_set_score(z->order, e, score);
    }
    return false;
}

bool zset_set(struct value *v, struct slice member, double score) {
    struct score_text scratch;
    ASSERT_SLOW(!isnan(score));
    if (v->encoding == ZSET_LISTPACK &&
        !saved_listpack_fits(v->pointer, listpack_element_size(member) +
                                             listpack_element_size(score_write(score, &scratch))))
        zset_convert(v);
    if (v->encoding == ZSET_ORDERED) return set_in_order(as_ordered(*v), member, score);
    struct listpack *lp = v->pointer;
    uint32_t at = find_member(lp, member);
    if (!at &&
        (member.length > (uint64_t)member_bytes_max || zset_count(*v) >= (uint64_t)entries_max)) {
        zset_convert(v);
        return set_in_order(as_ordered(*v), member, score);
    }
    if (at) {
        if (score_behind(lp, at) == score) return false;
        listpack_delete_range(&lp, at, 2);
    }
    listpack_add(&lp, member, score);
    v->pointer = lp;
    return !at;
}

bool zset_remove(struct value *v, struct slice member) {
    if (v->encoding == ZSET_LISTPACK) {
        struct listpack *lp = v->pointer;
        uint32_t at = find_member(lp, member);
        if (!at) return false;
        listpack_delete_range(&lp, at, 2);
        v->pointer = lp;
        return true;
    }
    struct zset *z = as_ordered(*v);
    uint64_t hash = text_hash(member);
    struct ordered_element *e = table_remove(z->members, hash, member.bytes, member.length);
    if (!e) return false;
    shadow_note(z->members, hash, member, e);
    ordered_remove(z->order, e);
    z->element_bytes -= ordered_element_bytes(e);
    ordered_element_free(e);
    return true;
}

static void remove_element(struct ordered_element *e, void *context) {
    struct zset *z = context;
    uint64_t hash = element_hash(e);
    bool there = table_remove_element(z->members, hash, e);
    ASSERT(there);
    shadow_note(z->members, hash, ordered_element_text(e), e);
    z->element_bytes -= ordered_element_bytes(e);
    ordered_element_free(e);
}

void zset_remove_span(struct value *v, struct zset_span span) {
    ASSERT(span.first <= zset_count(*v) && span.count <= zset_count(*v) - span.first);
    if (!span.count) return;
    if (v->encoding == ZSET_ORDERED) {
        struct zset *z = as_ordered(*v);
        ordered_delete_range(z->order, span.first, span.count, remove_element, z);
        return;
    }
    struct listpack *lp = v->pointer;
    listpack_delete_range(&lp, listpack_seek(lp, (int64_t)span.first * 2), span.count * 2);
    v->pointer = lp;
}

void zset_expect(struct value *v, size_t members, size_t longest) {
    if (v->encoding == ZSET_LISTPACK &&
        (members > (uint64_t)entries_max || longest > (uint64_t)member_bytes_max))
        zset_convert(v);
    if (v->encoding == ZSET_ORDERED) table_reserve(as_ordered(*v)->members, members, RESERVE_STEPS);
}

/* ---- Ranges ---- */

static bool above_min(double score, const struct zset_scores *r) {
    return r->min_excluded ? score > r->min : score >= r->min;
}

static bool below_max(double score, const struct zset_scores *r) {
    return r->max_excluded ? score < r->max : score <= r->max;
}

static struct zset_span span_between(size_t first, size_t end) {
    return (struct zset_span){first, end > first ? end - first : 0};
}

struct zset_span zset_span_of_scores(struct value v, const struct zset_scores *r) {
    if (v.encoding == ZSET_ORDERED) {
        const struct ordered *o = as_ordered(v)->order;
        struct ordered_bound from = {.score = r->min, .after = r->min_excluded};
        struct ordered_bound to = {.score = r->max, .after = !r->max_excluded};
        if (!(r->min < r->max) && (r->min > r->max || r->min_excluded || r->max_excluded))
            return (struct zset_span){0, 0};
        return span_between(ordered_count_before(o, &from), ordered_count_before(o, &to));
    }
    const struct listpack *lp = v.pointer;
    size_t first = 0, end;
    uint32_t at = listpack_first(lp);
    while (at && !above_min(score_behind(lp, at), r)) {
        at = next_member(lp, at);
        first++;
    }
    for (end = first; at && below_max(score_behind(lp, at), r); end++) at = next_member(lp, at);
    return span_between(first, end);
}

/* How many members stand before this end of a range of texts. `after`: members equal to `text`
 * stand before it, too (an included upper end, or an excluded lower end). */
static size_t count_before_text(struct value v, enum zset_text_end end, struct slice text,
                                bool after) {
    struct ordered_cursor lowest;
    if (end == ZSET_TEXT_LOWEST) return 0;
    if (end == ZSET_TEXT_HIGHEST) return zset_count(v);
    if (v.encoding == ZSET_ORDERED) {
        const struct ordered *o = as_ordered(v)->order;
        if (!ordered_seek(o, 0, &lowest)) return 0;
        struct ordered_bound bound = {
            .score = ordered_get(&lowest)->score, .text = text, .by_text = true, .after = after};
        return ordered_count_before(o, &bound);
    }
    const struct listpack *lp = v.pointer;
    size_t count = 0;
    for (uint32_t at = listpack_first(lp); at; at = next_member(lp, at), count++) {
        int order = compare_member(lp, at, text);
        if (after ? order > 0 : order >= 0) break;
    }
    return count;
}

struct zset_span zset_span_of_texts(struct value v, const struct zset_texts *r) {
    size_t first = count_before_text(v, r->min_end, r->min, r->min_end == ZSET_TEXT_EXCLUDED);
    size_t end = count_before_text(v, r->max_end, r->max, r->max_end == ZSET_TEXT_INCLUDED);
    return span_between(first, end);
}

/* ---- Walking ---- */

bool zset_seek(struct value v, size_t rank, struct zset_cursor *c) {
    *c = (struct zset_cursor){.lp = v.encoding == ZSET_LISTPACK ? v.pointer : NULL};
    if (!c->lp) return ordered_seek(as_ordered(v)->order, rank, &c->place);
    c->at = rank < zset_count(v) ? listpack_seek(c->lp, (int64_t)rank * 2) : 0;
    return c->at != 0;
}

struct zset_item zset_get(const struct zset_cursor *c) {
    if (c->lp) return (struct zset_item){listpack_get(c->lp, c->at), score_behind(c->lp, c->at)};
    const struct ordered_element *e = ordered_get(&c->place);
    return (struct zset_item){{ordered_element_text(e), 0}, e->score};
}

bool zset_next(struct zset_cursor *c) {
    if (!c->lp) return ordered_next(&c->place);
    c->at = next_member(c->lp, c->at);
    return c->at != 0;
}

bool zset_prev(struct zset_cursor *c) {
    if (!c->lp) return ordered_prev(&c->place);
    c->at = listpack_prev(c->lp, c->at);
    if (c->at) c->at = listpack_prev(c->lp, c->at);
    return c->at != 0;
}

void zset_each(struct value v, zset_visit *visit, void *context) {
    struct zset_cursor c;
    char scratch[LISTPACK_SCRATCH];
    for (bool more = zset_seek(v, 0, &c); more; more = zset_next(&c)) {
        struct zset_item item = zset_get(&c);
        visit(listpack_value_text(&item.member, scratch), item.score, context);
    }
}

struct visit {
    zset_visit *visit;
    void *context;
};

static void visit_element(void *element, void *context) {
    const struct visit *v = context;
    const struct ordered_element *e = element;
    v->visit(ordered_element_text(e), e->score, v->context);
}

uint64_t zset_scan(struct value v, uint64_t cursor, size_t wanted, zset_visit *visit,
                   void *context) {
    if (v.encoding == ZSET_LISTPACK) {
        zset_each(v, visit, context);
        return 0;
    }
    struct visit pass = {visit, context};
    return table_scan_some(as_ordered(v)->members, cursor, wanted, visit_element, &pass);
}

struct zset_item zset_random(struct value v) {
    struct zset_cursor c;
    if (v.encoding == ZSET_LISTPACK) {
        bool there = zset_seek(v, random_below(zset_count(v)), &c);
        ASSERT(there);
        return zset_get(&c);
    }
    const struct ordered_element *e = table_random(as_ordered(v)->members);
    return (struct zset_item){{ordered_element_text(e), 0}, e->score};
}

/* ---- The type's row ---- */

static struct value zset_copy(struct value v, struct slice key, struct slice to) {
    if (v.encoding == ZSET_LISTPACK) return (struct value){listpack_dup(v.pointer), ZSET_LISTPACK};
    struct zset *z = ordered_form_create();
    zset_each(v, zset_add_visited, z);
    return (struct value){z, ZSET_ORDERED};
}

static void zset_digest_visited(struct slice member, double score, void *context) {
    char text[DIGEST_SCORE_CHARS];
    int length = snprintf(text, sizeof(text), "%.17g", score);
    value_digest_pair(context, member, (struct slice){text, (size_t)length});
}

static void zset_digest(struct value v, struct value_digest *d) {
    zset_each(v, zset_digest_visited, d);
}

static size_t zset_value_bytes(struct value v) {
    if (v.encoding == ZSET_LISTPACK) return listpack_memory(v.pointer);
    const struct zset *z = as_ordered(v);
    size_t members_bytes =
        z->members ? table_bytes_seen(z->members) : 0; /* NULL while it is released */
    return memory_good_size(sizeof(*z)) + members_bytes + ordered_bytes(z->order) +
           z->element_bytes;
}

static size_t zset_free_effort(struct value v, struct slice key) {
    return v.encoding == ZSET_LISTPACK ? 1 : zset_count(v);
}

/* ---- Saving and loading ---- */

static struct slice zset_flat(struct value v) {
    if (!(v.encoding == ZSET_LISTPACK)) return (struct slice){NULL, 0};
    return (struct slice){(const char *)listpack_bytes(v.pointer), listpack_size(v.pointer)};
}

static unsigned zset_form(struct value v) {
    return v.encoding == ZSET_LISTPACK ? SAVED_ZSET_ZIPLIST : SAVED_ZSET;
}

/* Writes a ziplist as 6.2 does: scores as texts, whole ones as integers. */
static void save_listpack(const struct listpack *lp, struct sink *out) {
    struct listpack *texts = listpack_create();
    char number[NUMBER_DOUBLE_CHARS], scratch[LISTPACK_SCRATCH];
    for (uint32_t at = listpack_first(lp); at; at = next_member(lp, at)) {
        struct listpack_value member = listpack_get(lp, at);
        size_t length = number_format_double(number, sizeof(number), score_behind(lp, at));
        listpack_append(&texts, listpack_value_text(&member, scratch));
        listpack_append(&texts, (struct slice){number, length});
    }
    saved_write_ziplist(out, texts);
    listpack_free(texts);
}

static struct value_texts element_texts(const void *element) {
    const struct ordered_element *e = element;
    struct slice score = {(const char *)&e->score, sizeof(e->score)};
    return (struct value_texts){ordered_element_text(e), score};
}

static double score_of_texts(struct value_texts member) {
    double score;
    memcpy(&score, member.second.bytes, sizeof(score));
    return score;
}

static void zset_save_texts(struct value_texts member, void *out) {
    saved_write_text(out, member.first);
    saved_write_double(out, score_of_texts(member));
}

/* Saves from the highest score down, as 6.2 does; a shadow's members in the order of the table. */
static bool zset_save(struct value v, struct save_cursor *c, struct sink *out) {
    struct zset_cursor place;
    if (c->shadow) return saved_write_shadow(c, out, zset_save_texts);
    if (v.encoding == ZSET_LISTPACK) {
        save_listpack(v.pointer, out);
        return true;
    }
    size_t count = zset_count(v);
    saved_write_length(out, count);
    for (bool there = count > 0 && zset_seek(v, count - 1, &place); there;
         there = zset_prev(&place)) {
        struct zset_item item = zset_get(&place);
        saved_write_text(out, item.member.text);
        saved_write_double(out, item.score);
    }
    return true;
}

static void zset_rewrite_texts(struct value_texts member, void *rewritten) {
    struct rewritten *r = rewritten;
    rewritten_member(r);
    rewritten_double(r->out, score_of_texts(member));
    rewritten_text(r->out, member.first);
}

/* Writes members from the lowest score up. */
static bool zset_rewrite(struct value v, struct slice key, struct save_cursor *c,
                         struct sink *out) {
    struct rewritten r = {out, key, SLICE("ZADD"), 2, zset_count(v), 0};
    if (c->shadow) return rewritten_write_shadow(&r, c, zset_rewrite_texts);
    struct zset_cursor place;
    char scratch[LISTPACK_SCRATCH];
    for (bool there = zset_seek(v, 0, &place); there; there = zset_next(&place)) {
        struct zset_item item = zset_get(&place);
        rewritten_member(&r);
        rewritten_double(out, item.score);
        rewritten_text(out, listpack_value_text(&item.member, scratch));
    }
    return true;
}

/* The score of a file's element: a number, or a text of one. */
static bool score_of_value(const struct listpack_value *v, double *score) {
    *score = (double)v->integer;
    return !v->text.bytes || number_parse_double(v->text.bytes, v->text.length, score);
}

/* Adds a member that comes after all others. */
static void add_last(struct value *v, struct slice member, double score) {
    struct score_text text;
    if (v->encoding == ZSET_ORDERED) {
        element_add(as_ordered(*v), member, text_hash(member), score);
        return;
    }
    struct listpack *lp = v->pointer;
    listpack_append(&lp, member);
    listpack_append(&lp, score_write(score, &text));
    v->pointer = lp;
}

/* Adds members and scores; false where a score is not a number, or the members are out of order,
 * which no file of 6.2 has. */
static bool add_texts(struct value *v, const struct listpack *texts) {
    char scratch[LISTPACK_SCRATCH];
    double last = -INFINITY;
    uint32_t last_at = 0;
    for (uint32_t at = listpack_first(texts); at;) {
        uint32_t here = at;
        double score;
        struct listpack_value member = listpack_take(texts, &at);
        struct listpack_value number = listpack_take(texts, &at);
        struct slice name = listpack_value_text(&member, scratch);
        if (!score_of_value(&number, &score) || score < last ||
            (last_at && score == last && compare_member(texts, last_at, name) >= 0))
            return false;
        last = score;
        last_at = here;
        add_last(v, name, score);
    }
    return true;
}

/* Whether the texts fit a listpack. A score may take more room there than its text does, but twice
 * as much at most. */
static bool texts_are_small(const struct listpack *texts) {
    return saved_listpack_fits(texts, 0) && listpack_count(texts) / 2 <= (uint64_t)entries_max;
}

static enum value_loaded zset_load_listpack(struct source *in, struct buffer *store,
                                            struct value *out) {
    struct listpack *texts = saved_read_ziplist(in, store);
    if (!texts) return VALUE_REFUSED;
    bool empty = listpack_count(texts) == 0, good = false;
    struct value v = zset_create();
    if (!empty && saved_pairs_are_distinct(in, texts)) {
        if (!texts_are_small(texts)) zset_convert(&v);
        good = add_texts(&v, texts) || source_refuse(in, "a sorted set's scores are damaged");
    }
    listpack_free(texts);
    if (!good) {
        zset_free(v);
        return empty ? VALUE_EMPTY : VALUE_REFUSED;
    }
    if (v.encoding == ZSET_LISTPACK && !saved_listpack_fits(v.pointer, 0)) zset_convert(&v);
    *out = v;
    return VALUE_LOADED;
}

static bool load_members(unsigned form, struct source *in, struct buffer *store, struct value *v,
                         uint64_t count) {
    for (; count > 0; count--) {
        struct slice member;
        double score;
        if (!saved_read_kept(in, store, &member)) return false;
        if (!(form == SAVED_ZSET ? saved_read_double(in, &score)
                                 : saved_read_double_text(in, &score)))
            return false;
        if (member.length > UINT32_MAX) return source_refuse(in, "a member is too long");
        if (!zset_set(v, member, score)) return source_refuse(in, "a member stands there twice");
    }
    return true;
}

static enum value_loaded zset_load(unsigned form, struct slice key, struct source *in,
                                   struct buffer *store, struct value *out) {
    uint64_t count;
    if (form == SAVED_ZSET_ZIPLIST) return zset_load_listpack(in, store, out);
    if (!saved_read_count(in, 2, &count)) return VALUE_REFUSED;
    if (count == 0) return VALUE_EMPTY;
    struct value v = zset_create();
    zset_expect(&v, count, 0);
    if (load_members(form, in, store, &v, count)) {
        *out = v;
        return VALUE_LOADED;
    }
    zset_free(v);
    return VALUE_REFUSED;
}

static const struct table *zset_table_within(struct value v) {
    return v.encoding == ZSET_ORDERED ? as_ordered(v)->members : NULL;
}

static void zset_unlink(struct value v, struct slice key) {
    if (v.encoding == ZSET_ORDERED) table_detach(as_ordered(v)->members);
}

static void check_listpack(const struct listpack *lp) {
    char scratch[LISTPACK_SCRATCH];
    listpack_check(lp);
    ASSERT(listpack_count(lp) % 2 == 0);
    for (uint32_t at = listpack_first(lp), next; at; at = next) {
        struct listpack_value member = listpack_get(lp, at);
        next = next_member(lp, at);
        if (!next) break;
        double score = score_behind(lp, at), above = score_behind(lp, next);
        ASSERT(score < above ||
               (score == above &&
                compare_member(lp, next, listpack_value_text(&member, scratch)) > 0));
    }
}

void zset_check(struct value v) {
    struct ordered_cursor c;
    size_t bytes = 0;
    if (v.encoding == ZSET_LISTPACK) {
        check_listpack(v.pointer);
        return;
    }
    const struct zset *z = as_ordered(v);
    table_check(z->members);
    ordered_check(z->order);
    ASSERT_COMPARE(table_count(z->members), ==, ordered_count(z->order));
    for (bool more = ordered_seek(z->order, 0, &c); more; more = ordered_next(&c)) {
        const struct ordered_element *e = ordered_get(&c);
        ASSERT(find_element(z, ordered_element_text(e)) == e);
        bytes += ordered_element_bytes(e);
    }
    ASSERT_COMPARE(bytes, ==, z->element_bytes);
}

static const char *const encodings[] = {"ziplist", "skiplist"};

/* Moves an element of the tree, which the table `members` has, too. */
static struct ordered_element *move_member(struct ordered_element *e, struct relocation *r,
                                           void *members) {
    struct slice text = ordered_element_text(e);
    table_slot slot = table_find_slot(members, text_hash(text), text.bytes, text.length);
    ASSERT(slot && table_slot_element(slot) == e);
    e = relocation_move(r, e, MEMORY_DATASET);
    table_slot_replace(slot, e);
    return e;
}

/* Elements and the tree's nodes by rank first, then the table's buckets. */
enum relocating { RELOCATING_NONE, RELOCATING_ORDER, RELOCATING_TABLE };

static bool zset_relocate(struct value *v, struct value_cursor *c, struct relocation *r) {
    if (v->encoding == ZSET_LISTPACK || c->further == RELOCATING_NONE)
        v->pointer = relocation_settle(r, v->pointer, MEMORY_DATASET);
    if (v->encoding == ZSET_LISTPACK) return true;
    struct zset *z = v->pointer;
    if (c->further == RELOCATING_NONE) {
        z->members = table_relocate(z->members, r);
        z->order = relocation_settle(r, z->order, MEMORY_DATASET);
        c->further = RELOCATING_ORDER;
    }
    while (c->further == RELOCATING_ORDER && r->budget > 0) {
        c->place = ordered_relocate_some(z->order, c->place, r, move_member, z->members);
        if (c->place == 0) c->further = RELOCATING_TABLE;
    }
    while (c->further == RELOCATING_TABLE && r->budget > 0) {
        c->place = table_relocate_some(z->members, c->place, r, NULL, NULL);
        if (c->place == 0) return true;
    }
    return false;
}

static const struct value_type row = {.name = "zset",
                                      .digest_number = 3,
                                      .encodings = encodings,
                                      .release = zset_free,
                                      .count = zset_count,
                                      .copy = zset_copy,
                                      .digest = zset_digest,
                                      .bytes = zset_value_bytes,
                                      .free_effort = zset_free_effort,
                                      .unlink = zset_unlink,
                                      .release_step = zset_release_step,
                                      .form = zset_form,
                                      .flat = zset_flat,
                                      .save = zset_save,
                                      .rewrite = zset_rewrite,
                                      .load = zset_load,
                                      .relocate = zset_relocate,
                                      .table = zset_table_within,
                                      .texts = element_texts};

static const struct option_row option_rows[] = {
    OPTION_INT("zset-max-ziplist-entries", &entries_max, "128", 0, INT64_MAX, OPTION_MUTABLE,
               "small values", 60, "Members up to which a sorted set is kept in its compact form."),
    OPTION_BYTES("zset-max-ziplist-value", &member_bytes_max, "64", 0, INT64_MAX, OPTION_MUTABLE,
                 "small values", 70, "Longest member in a compact sorted set."),
};

void value_zset_register(void) {
    value_type_register(VALUE_ZSET, &row);
    option_register(option_rows, sizeof(option_rows) / sizeof(option_rows[0]));
}
