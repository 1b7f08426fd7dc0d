/* SPDX-License-Identifier: BSD-3-Clause
 * Lists: the quicklist with its options, and walks over it.
 */
#include "value/list.h"

#include <errno.h>

#include "ds/ziplist.h"
#include "option/missing.h"
#include "value/rewritten.h"
#include "value/saved.h"

static int64_t fill, depth;

struct value list_create(void) {
    return (struct value){quicklist_create((int)fill, (unsigned)depth), LIST_QUICKLIST};
}

size_t list_remove_equal(struct value v, struct slice text, size_t count, bool backwards) {
    struct quicklist_cursor c;
    size_t removed = 0;
    bool there = quicklist_seek(list_of(v), backwards ? -1 : 0, backwards, &c);
    while (there && (count == 0 || removed < count)) {
        if (quicklist_equal(&c, text)) {
            removed++;
            there = quicklist_delete(&c);
        } else {
            there = quicklist_step(&c);
        }
    }
    quicklist_end(&c);
    return removed;
}

void list_positions(struct value v, struct slice text, int64_t rank, size_t count,
                    size_t compare_max, void (*found)(size_t index, void *context), void *context) {
    struct quicklist *q = list_of(v);
    struct quicklist_cursor c;
    bool backwards = rank < 0;
    /* The smallest rank cannot be negated; 6.2 skips no match with it. */
    if (rank == INT64_MIN) rank = -1;
    uint64_t skipped = (uint64_t)(backwards ? -rank : rank) - 1;
    size_t matched = 0, compared = 0, size = quicklist_count(q);
    bool there = quicklist_seek(q, backwards ? -1 : 0, backwards, &c);
    for (; there && (compare_max == 0 || compared < compare_max); there = quicklist_step(&c)) {
        size_t index = backwards ? size - 1 - compared : compared;
        compared++;
        if (!quicklist_equal(&c, text)) continue;
        if (skipped > 0) {
            skipped--;
            continue;
        }
        found(index, context);
        if (++matched == count) break;
    }
    quicklist_end(&c);
}

void list_trim(struct value v, size_t index, size_t count) {
    struct quicklist *q = list_of(v);
    size_t size = quicklist_count(q);
    if (index > size) index = size;
    if (count > size - index) count = size - index;
    quicklist_delete_range(q, index + count, size - index - count);
    quicklist_delete_range(q, 0, index);
}

/* ---- The type's row ---- */

static void list_free(struct value v) { quicklist_free(list_of(v)); }

static bool list_release_step(struct value v, size_t effort) {
    return quicklist_free_step(list_of(v), effort);
}

static struct value list_copy(struct value v, struct slice key, struct slice to) {
    return (struct value){quicklist_dup(list_of(v)), LIST_QUICKLIST};
}

static void list_digest(struct value v, struct value_digest *d) {
    char scratch[LISTPACK_SCRATCH];
    struct quicklist_cursor c;
    bool there = quicklist_seek(list_of(v), 0, false, &c);
    for (; there; there = quicklist_step(&c)) {
        struct listpack_value element = quicklist_get(&c);
        value_digest_next(d, listpack_value_text(&element, scratch));
    }
    quicklist_end(&c);
}

static size_t list_bytes(struct value v) { return quicklist_bytes(list_of(v)); }

static size_t list_free_effort(struct value v, struct slice key) {
    return quicklist_nodes(list_of(v));
}

static const char *const encodings[] = {"quicklist"};

static void list_describe(struct value v, struct buffer *out) {
    const struct quicklist *q = list_of(v);
    struct quicklist_stats stats;
    size_t nodes = quicklist_nodes(q);
    quicklist_stats(q, &stats);
    buffer_printf(out,
                  " ql_nodes:%zu ql_avg_node:%.2f ql_ziplist_max:%d ql_compressed:%d "
                  "ql_uncompressed_size:%zu",
                  nodes, nodes ? (double)quicklist_count(q) / (double)nodes : 0, quicklist_fill(q),
                  quicklist_depth(q) != 0, stats.raw_bytes);
}

/* ---- Saving and loading ---- */

/* A node of the widest fill is no larger as a ziplist; only a text with a node of its own may be.
 */
#define NODE_BYTES_MAX (size_t)(80 << 10)

static unsigned list_form(struct value v) { return SAVED_LIST_QUICKLIST; }

/* The cursor's `place` is the next node. */
static bool list_save(struct value v, struct save_cursor *c, struct sink *out) {
    if (c->phase++ == 0) {
        saved_write_length(out, quicklist_nodes(list_of(v)));
        c->place = quicklist_node_first(list_of(v));
    }
    struct buffer bytes;
    buffer_init(&bytes, MEMORY_OTHER);
    while (c->place && c->budget > 0) {
        const struct quicklist_node *n = c->place;
        const struct listpack *pack = quicklist_node_pack(n);
        buffer_clear(&bytes);
        if (!pack && !quicklist_node_to_ziplist(n, &bytes)) sink_fail(out, EFBIG);
        if (pack)
            saved_write_ziplist(out, pack);
        else
            saved_write_text(out, buffer_slice(&bytes));
        value_spend(&c->budget, quicklist_node_count(n), pack ? listpack_size(pack) : bytes.length);
        c->place = quicklist_node_next(n);
    }
    buffer_free(&bytes);
    return !c->place;
}

static void rewrite_element(const struct listpack_value *v, void *context) {
    struct rewritten *r = context;
    char scratch[LISTPACK_SCRATCH];
    rewritten_member(r);
    rewritten_text(r->out, listpack_value_text(v, scratch));
}

/* The cursor's `place` is the next node, at[0] the number of elements written. */
static bool list_rewrite(struct value v, struct slice key, struct save_cursor *c,
                         struct sink *out) {
    struct rewritten r = {out, key, SLICE("RPUSH"), 1, quicklist_count(list_of(v)), c->at[0]};
    if (c->phase++ == 0) c->place = quicklist_node_first(list_of(v));
    while (c->place && c->budget > 0) {
        uint64_t before = sink_written(out);
        quicklist_node_each(c->place, rewrite_element, &r);
        value_spend(&c->budget, quicklist_node_count(c->place), sink_written(out) - before);
        c->place = quicklist_node_next(c->place);
    }
    c->at[0] = r.done;
    return !c->place;
}

/* False for a text that could not be saved again: with such a list all snapshots would fail. */
static bool push_loaded(struct quicklist *q, struct slice text) {
    if (text.length > QUICKLIST_TEXT_BYTES_MAX) return false;
    quicklist_push(q, QUICKLIST_TAIL, text);
    return true;
}

static bool push_visited(const struct listpack_value *v, void *list) {
    char scratch[LISTPACK_SCRATCH];
    return push_loaded(list, listpack_value_text(v, scratch));
}

static bool load_texts(struct source *in, struct buffer *store, struct quicklist *q) {
    uint64_t count;
    struct slice text;
    if (!saved_read_count(in, 1, &count)) return false;
    for (; count > 0; count--) {
        if (!saved_read_text(in, store, &text)) return false;
        if (!push_loaded(q, text)) return source_refuse(in, "a text is too long for a list");
    }
    return true;
}

/* Loads a ziplist: as one node where `whole` is true and it is no larger than a node, else element
 * by element. */
static bool load_ziplist(struct source *in, struct buffer *store, struct quicklist *q, bool whole) {
    struct slice text;
    if (!saved_read_text(in, store, &text)) return false;
    saved_note_checked();
    if (!whole || text.length > NODE_BYTES_MAX)
        return ziplist_each(text.bytes, text.length, push_visited, q) ||
               source_refuse(in, "Ziplist integrity check failed");
    struct listpack *lp = ziplist_to_listpack(text.bytes, text.length);
    if (!lp) return source_refuse(in, "Ziplist integrity check failed");
    if (listpack_count(lp))
        quicklist_take_pack(q, lp);
    else
        listpack_free(lp); /* 6.2 skips an empty one, too */
    return true;
}

static bool load_nodes(struct source *in, struct buffer *store, struct quicklist *q) {
    uint64_t nodes;
    if (!saved_read_count(in, 1, &nodes)) return false;
    for (; nodes > 0; nodes--) {
        if (!load_ziplist(in, store, q, true)) return false;
    }
    return true;
}

static enum value_loaded list_load(unsigned form, struct slice key, struct source *in,
                                   struct buffer *store, struct value *out) {
    struct value v = list_create();
    struct quicklist *q = list_of(v);
    bool good = form == SAVED_LIST           ? load_texts(in, store, q)
                : form == SAVED_LIST_ZIPLIST ? load_ziplist(in, store, q, false)
                                             : load_nodes(in, store, q);
    if (good && quicklist_count(q) > 0) {
        *out = v;
        return VALUE_LOADED;
    }
    list_free(v);
    return good ? VALUE_EMPTY : VALUE_REFUSED;
}

static size_t list_count(struct value v) { return quicklist_count(v.pointer); }

static bool list_relocate(struct value *v, struct value_cursor *c, struct relocation *r) {
    struct quicklist *q = list_of(*v);
    bool through = quicklist_relocate_some(&q, c->place == 0, r);
    v->pointer = q;
    c->place = 1;
    return through;
}

static const struct value_type row = {.name = "list",
                                      .digest_number = 1,
                                      .encodings = encodings,
                                      .release = list_free,
                                      .count = list_count,
                                      .copy = list_copy,
                                      .digest = list_digest,
                                      .bytes = list_bytes,
                                      .free_effort = list_free_effort,
                                      .describe = list_describe,
                                      .release_step = list_release_step,
                                      .form = list_form,
                                      .save = list_save,
                                      .rewrite = list_rewrite,
                                      .relocate = list_relocate,
                                      .load = list_load};

/* Directives of old versions: accepted and ignored, as in 6.2. */
static bool ignored_parse(const struct option_row *ignored, const struct slice *words, size_t count,
                          char *reason, size_t reason_size) {
    return count == 1;
}

#define IGNORED(n, pl)                                                                     \
    {                                                                                      \
        MISSING(n, NULL, OPTION_TYPE_CUSTOM, NULL, NULL,                                   \
                OPTION_FILE_ONLY | OPTION_MULTI | OPTION_HIDDEN, "small values", pl, NULL, \
                "Of old versions; taken and passed over, as by 6.2."),                     \
            .parse = ignored_parse                                                         \
    }

static const struct option_row option_rows[] = {
    OPTION_INT("list-max-ziplist-size", &fill, "-2", INT32_MIN, INT32_MAX, OPTION_MUTABLE,
               "small values", 30,
               "Elements in a list's node, or, below zero, its bytes: -1 to -5 are 4, 8, 16, 32 "
               "and 64 kb."),
    OPTION_INT("list-compress-depth", &depth, "0", 0, INT32_MAX, OPTION_MUTABLE, "small values", 40,
               "Nodes at each end of a list that are not compressed; 0 = none is compressed."),
    IGNORED("list-max-ziplist-entries", 110),
    IGNORED("list-max-ziplist-value", 120),
};

void value_list_register(void) {
    value_type_register(VALUE_LIST, &row);
    option_register(option_rows, sizeof(option_rows) / sizeof(option_rows[0]));
}
