/* SPDX-License-Identifier: BSD-3-Clause
 * SORT: the elements of a list, set or sorted set in another order, or the values of keys that are
 * named after them. The row stands at the end.
 *
 * The elements are read once into an array of texts. The sort moves only places of 16 bytes: a key
 * and an index. The key is a number with the same order as the weights: of a double, or of eight
 * bytes of a text behind the prefix that all texts share. Texts with equal keys are sorted by the
 * next eight bytes, and so on (a radix sort whose digits are words), so that each text is read a
 * few times, not once a comparison. Where LIMIT wants few of many elements, places that cannot be
 * in the result are dropped on the way.
 *
 * Order: numbers by value, equal ones by the bytes of their elements. Texts (ALPHA) by the locale's
 * order, or by their bytes where the result is stored; those without a weight come first. Elements
 * that are still equal keep their order; DESC reverses all orders but this one. BY a pattern
 * without an asterisk sorts nothing: lists and sorted sets keep their order, which DESC reverses.
 *
 * Invariants
 *  1. Weights and results are looked up in batches. A text that a lookup returned stays valid until
 *     the command ends (keyspace_read), and so do elements of sets and sorted sets. Elements of
 *     lists are copied, and so are all texts that are compared by the locale, because that needs a
 *     NUL behind them.
 *  2. Nothing is stored before the last lookup.
 *  3. No step is worse than O(n log n); memory is O(n), and O(wanted) for places under LIMIT.
 */
#include "commands/sort.h"

#include <endian.h>
#include <errno.h>
#include <float.h>
#include <locale.h>
#include <math.h>

#include "base/number.h"
#include "base/panic.h"
#include "base/places.h"
#include "command/arguments.h"
#include "command/call.h"
#include "command/command.h"
#include "command/command_keys.h"
#include "command/row.h"
#include "ds/intset.h"
#include "exec/edit.h"
#include "net/client.h"
#include "net/reply.h"
#include "store/keyspace.h"
#include "value/hash.h"
#include "value/list.h"
#include "value/set.h"
#include "value/zset.h"

/* How many keys are prefetched before the first of them is read. */
#define BATCH_KEYS 16
/* Where LIMIT wants less than one in FEW_SHARE elements, only the first places are kept: twice as
 * many as wanted and FEW_ROOM more, so that they are not sorted too often. */
#define FEW_SHARE 4
#define FEW_ROOM 256
/* Copies of texts are allocated in blocks of this, longer ones by themselves. */
#define BLOCK_BYTES 16384
#define NUMBER_TEXT_ON_STACK 128
/* Bytes of a text that a key holds. */
#define KEY_BYTES sizeof(uint64_t)
/* Texts are sorted by radix up to so many keys deep; texts that are still equal are compared as a
 * whole. */
#define TEXT_LEVELS 16
/* For fewer texts with the same key, comparing is faster. */
#define COMPARED_PLACES 8

/* Whether the environment's order of texts differs from the order of their bytes. */
static bool has_locale;

/* ---- texts ---- */

/* A text, or, where `bytes` is NULL, an integer; `bytes` is no_text where there is none. */
struct text {
    const char *bytes;
    union {
        size_t length;
        int64_t integer;
    };
};

static const char no_text[1];

static bool text_is_missing(const struct text *t) { return t->bytes == no_text; }

static struct slice text_slice(const struct text *t, char scratch[NUMBER_INT64_CHARS]) {
    if (t->bytes) return (struct slice){t->bytes, t->length};
    return (struct slice){scratch, number_format_int64(scratch, t->integer)};
}

static struct text text_of(struct slice s) {
    return (struct text){.bytes = s.bytes, .length = s.length};
}

static struct text text_of_value(const struct listpack_value *v) {
    if (v->text.bytes) return text_of(v->text);
    return (struct text){.integer = v->integer};
}

/* Copies of texts; each has a NUL behind it. */
struct block {
    struct block *next;
    size_t used, size;
    char bytes[];
};

struct block_list {
    struct block *first;
};

static void block_list_free(struct block_list *l) {
    for (struct block *next; l->first; l->first = next) {
        next = l->first->next;
        memory_free(l->first, MEMORY_OTHER);
    }
}

static char *block_list_room(struct block_list *l, size_t bytes) {
    struct block *b = l->first;
    if (!b || b->size - b->used < bytes) {
        size_t size = bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES;
        b = memory_alloc(sizeof(*b) + size, MEMORY_OTHER);
        *b = (struct block){.next = l->first, .size = size};
        l->first = b;
    }
    b->used += bytes;
    return b->bytes + b->used - bytes;
}

static struct text text_copy(struct block_list *l, struct slice s) {
    char *copy = block_list_room(l, s.length + 1);
    memcpy(copy, s.bytes, s.length);
    copy[s.length] = 0;
    return (struct text){.bytes = copy, .length = s.length};
}

/* ---- the request ---- */

/* A pattern of BY or GET, taken apart. */
struct pattern {
    bool is_self;     /* "#": the element itself */
    bool is_constant; /* no asterisk: names no key */
    struct slice before, after, field;
};

struct sort {
    struct call *call;
    bool alpha, descending, unsorted, has_by;
    int store; /* argument of the key; 0: none */
    int64_t limit_start, limit_count;
    struct pattern by;
    struct pattern *columns;
    size_t column_count;

    struct value value;
    unsigned type; /* enum entry_type */
    size_t total;  /* number of elements */
    size_t start, wanted;

    bool copies; /* texts must be copied: invariant 1 */
    struct text *elements;
    size_t count;         /* number of elements that were read */
    struct text *weights; /* the weights of BY, where they are compared as texts */
    bool has_nul;         /* a compared text has a NUL within */
    size_t common;        /* how many first bytes all compared texts share */
    struct block_list blocks;
    struct buffer names; /* the names of a batch of keys */
};

/* 6.2 takes patterns as texts that end at a NUL. */
static struct pattern pattern_parse(struct slice text) {
    struct pattern p = {0};
    size_t shown = strnlen(text.bytes, text.length);
    const char *star = memchr(text.bytes, '*', shown);
    p.is_self = shown == 1 && text.bytes[0] == '#';
    p.is_constant = !star;
    if (!star) return p;
    const char *end = text.bytes + text.length, *shown_end = text.bytes + shown;
    p.before = (struct slice){text.bytes, (size_t)(star - text.bytes)};
    p.after = (struct slice){star + 1, (size_t)(end - star - 1)};
    const char *arrow = memmem(star + 1, (size_t)(shown_end - star - 1), "->", 2);
    if (arrow && arrow + 2 < shown_end) {
        p.after.length = (size_t)(arrow - star - 1);
        p.field = (struct slice){arrow + 2, (size_t)(end - arrow - 2)};
    }
    return p;
}

/* The keys of patterns may be on other nodes of a cluster. Whether the option is refused for that;
 * then replies an error. */
static bool cluster_denies(const struct sort *s, const char *option) {
    if (!keyspace_is_of_cluster()) return false;
    reply_error_format(s->call->client, "%s option of SORT denied in Cluster mode.", option);
    return true;
}

/* Parses an option at argument `i`; returns how many arguments it took, 0 after an error reply. */
static int sort_parse_option(struct sort *s, int i) {
    const struct call *call = s->call;
    int left = call->argc - i - 1;
    if (argument_is(call, i, "asc")) {
        s->descending = false;
    } else if (argument_is(call, i, "desc")) {
        s->descending = true;
    } else if (argument_is(call, i, "alpha")) {
        s->alpha = true;
    } else if (left >= 2 && argument_is(call, i, "limit")) {
        if (!argument_int64(call, i + 1, &s->limit_start, NULL)) return 0;
        if (!argument_int64(call, i + 2, &s->limit_count, NULL)) return 0;
        return 3;
    } else if (left >= 1 && argument_is(call, i, "store")) {
        s->store = i + 1;
        return 2;
    } else if (left >= 1 && argument_is(call, i, "by")) {
        s->by = pattern_parse(call->argv[i + 1]);
        s->has_by = true;
        if (s->by.is_constant) s->unsorted = true;
        if (!s->by.is_constant && cluster_denies(s, "BY")) return 0;
        return 2;
    } else if (left >= 1 && argument_is(call, i, "get")) {
        if (cluster_denies(s, "GET")) return 0;
        s->columns[s->column_count++] = pattern_parse(call->argv[i + 1]);
        return 2;
    } else {
        reply_syntax_error(call->client);
        return 0;
    }
    return 1;
}

static bool sort_parse_options(struct sort *s) {
    for (int i = 2, taken; i < s->call->argc; i += taken)
        if (!(taken = sort_parse_option(s, i))) return false;
    return true;
}

/* With STORE this is a command that writes, so its lookups count as no hits or misses. */
static struct entry *look_up(const struct sort *s, const struct key *key) {
    if (!s->store) return keyspace_read(key);
    struct entry *e = keyspace_find(key);
    if (e) keyspace_note_access(e);
    return e;
}

/* Finds the value and the window to be replied; false after a reply of wrong type. */
static bool find_value(struct sort *s) {
    struct call *call = s->call;
    const struct key key = call_key(call, 1);
    struct entry *e = look_up(s, &key);
    s->type = ENTRY_LIST;
    if (e) {
        s->type = e->type;
        if (s->type != ENTRY_LIST && s->type != ENTRY_SET && s->type != ENTRY_ZSET) {
            reply_wrong_type(call->client);
            return false;
        }
        s->value = entry_object(e);
        s->total = s->type == ENTRY_LIST  ? quicklist_count(list_of(s->value))
                   : s->type == ENTRY_SET ? set_count(s->value)
                                          : zset_count(s->value);
    }
    s->start = s->limit_start < 0                    ? 0
               : (uint64_t)s->limit_start > s->total ? s->total
                                                     : (size_t)s->limit_start;
    s->wanted = s->total - s->start;
    if (s->limit_count >= 0 && (uint64_t)s->limit_count < s->wanted)
        s->wanted = (size_t)s->limit_count;
    /* A set has no order of its own. A result that is stored, and so replicated, needs one, and so
     * does the result of a script's call, because a script may be repeated. */
    bool repeats = s->store || call_is_scripts(s->call);
    if (s->unsorted && repeats && s->type == ENTRY_SET) {
        s->unsorted = false;
        s->alpha = true;
        s->has_by = false;
    }
    return true;
}

/* ---- reading the elements ---- */

static void element_add(struct sort *s, struct text t) {
    char scratch[NUMBER_INT64_CHARS];
    if (t.bytes ? s->copies : s->alpha) t = text_copy(&s->blocks, text_slice(&t, scratch));
    s->elements[s->count++] = t;
}

static void read_list(struct sort *s, size_t first, size_t count, bool backwards) {
    struct quicklist_cursor at;
    bool more = quicklist_seek(list_of(s->value), (int64_t)first, backwards, &at);
    for (; more && s->count < count; more = quicklist_step(&at)) {
        struct listpack_value v = quicklist_get(&at);
        element_add(s, text_of_value(&v));
    }
    if (more) quicklist_end(&at);
}

static void read_zset(struct sort *s, size_t first, size_t count, bool backwards) {
    struct zset_cursor at;
    bool more = zset_seek(s->value, first, &at);
    for (; more && s->count < count; more = backwards ? zset_prev(&at) : zset_next(&at)) {
        struct zset_item item = zset_get(&at);
        element_add(s, text_of_value(&item.member));
    }
}

static void read_member(struct slice member, void *context) {
    element_add(context, text_of(member));
}

static void read_set(struct sort *s) {
    if (s->value.encoding == SET_INTSET) {
        const struct intset *members = set_intset(s->value);
        for (size_t i = 0; i < s->total; i++)
            element_add(s, (struct text){.integer = intset_at(members, i)});
    } else {
        set_each(s->value, read_member, s);
    }
}

/* Reads all elements; where they keep an order of their own, only the window, in the wanted
 * direction. */
static void read_elements(struct sort *s) {
    bool windowed = s->unsorted && s->type != ENTRY_SET;
    bool backwards = windowed && s->descending;
    size_t count = windowed ? s->wanted : s->total;
    size_t first = !windowed ? 0 : backwards ? s->total - 1 - s->start : s->start;
    s->copies = s->type == ENTRY_LIST || (has_locale && s->alpha && !s->store);
    if (!count) return;
    s->elements = memory_alloc(count * sizeof(*s->elements), MEMORY_OTHER);
    if (s->type == ENTRY_LIST)
        read_list(s, first, count, backwards);
    else if (s->type == ENTRY_ZSET)
        read_zset(s, first, count, backwards);
    else
        read_set(s);
    ASSERT_COMPARE(s->count, ==, count);
    if (windowed) s->start = 0;
}

/* ---- looking up what patterns name ---- */

struct job {
    const struct pattern *pattern;
    const struct text *element;
    struct text result;
};

/* The text of the key's value, or of its field's. */
static struct text text_in(const struct entry *e, const struct pattern *p) {
    char scratch[ENTRY_STRING_SCRATCH];
    struct listpack_value v;
    struct text missing = {.bytes = no_text};
    if (!e) return missing;
    if (p->field.length) {
        bool found = e->type == ENTRY_HASH && hash_get(entry_object(e), p->field, &v);
        return found ? text_of_value(&v) : missing;
    }
    if (e->type != ENTRY_STRING) return missing;
    if (e->encoding == STRING_INT) return (struct text){.integer = entry_integer(e)};
    return text_of(entry_string(e, scratch));
}

/* Answers a job that needs no lookup; false where it needs one. */
static bool job_is_trivial(struct job *j) {
    if (j->pattern->is_self)
        j->result = *j->element;
    else if (j->pattern->is_constant)
        j->result = (struct text){.bytes = no_text};
    else
        return false;
    return true;
}

/* Runs up to BATCH_KEYS jobs. */
static void run_jobs(struct sort *s, struct job *jobs, size_t count) {
    struct keyspace *ks = s->call->keyspace;
    size_t ends[BATCH_KEYS + 1] = {0};
    uint64_t hashes[BATCH_KEYS];
    struct job *looked_up[BATCH_KEYS];
    size_t keys = 0;
    buffer_clear(&s->names);
    for (size_t i = 0; i < count; i++) {
        char scratch[NUMBER_INT64_CHARS];
        const struct pattern *p = jobs[i].pattern;
        if (job_is_trivial(&jobs[i])) continue;
        struct slice element = text_slice(jobs[i].element, scratch);
        buffer_append(&s->names, p->before.bytes, p->before.length);
        buffer_append(&s->names, element.bytes, element.length);
        buffer_append(&s->names, p->after.bytes, p->after.length);
        hashes[keys] =
            key_hash_of((struct slice){s->names.bytes + ends[keys], s->names.length - ends[keys]});
        looked_up[keys++] = &jobs[i];
        ends[keys] = s->names.length;
    }
    keyspace_prefetch(ks, hashes, keys);
    for (size_t i = 0; i < keys; i++) {
        struct slice name = {s->names.bytes + ends[i], ends[i + 1] - ends[i]};
        const struct key key = {ks, name, hashes[i]};
        struct entry *e = look_up(s, &key);
        looked_up[i]->result = text_in(e, looked_up[i]->pattern);
    }
}

/* ---- weights ---- */

/* Parses a number as strtod does, up to a NUL. As in 6.2, leading blanks and an empty text are
 * accepted, a number too small for a normal double is not. */
static bool parse_odd_number(struct slice s, double *value) {
    char stack[NUMBER_TEXT_ON_STACK], *text = stack, *end;
    if (s.length >= sizeof(stack))
        text = slice_dup_c_string(s, MEMORY_OTHER);
    else
        *(char *)mempcpy(stack, s.bytes, s.length) = 0;
    errno = 0;
    *value = strtod(text, &end);
    bool fits = *end == 0 && errno != ERANGE && !isnan(*value);
    if (text != stack) memory_free(text, MEMORY_OTHER);
    return fits;
}

static bool parse_number(const struct text *t, double *value) {
    if (!t->bytes) {
        *value = (double)t->integer;
        return true;
    }
    bool usual =
        number_parse_double(t->bytes, t->length, value) && (*value == 0 || fabs(*value) >= DBL_MIN);
    return usual || parse_odd_number((struct slice){t->bytes, t->length}, value);
}

/* ---- texts as weights ---- */

static bool uses_locale(const struct sort *s) { return has_locale && !s->store; }

/* The part of a text that is compared: where nothing is stored, up to a NUL, as in 6.2. */
static struct slice compared_part(const struct sort *s, const struct text *t) {
    return (struct slice){t->bytes, s->has_nul ? strnlen(t->bytes, t->length) : t->length};
}

static const struct text *texts_to_compare(const struct sort *s) {
    return s->weights ? s->weights : s->elements;
}

static size_t common_length(struct slice a, struct slice b) {
    size_t most = a.length < b.length ? a.length : b.length, i = 0;
    while (i < most && a.bytes[i] == b.bytes[i]) i++;
    return i;
}

/* Examines all texts that will be compared: the shared prefix, and NULs. */
static void study_texts(struct sort *s) {
    const struct text *texts = texts_to_compare(s), *first = NULL;
    for (size_t i = 0; i < s->count; i++) {
        const struct text *t = &texts[i];
        if (text_is_missing(t)) continue;
        size_t length = s->store ? t->length : strnlen(t->bytes, t->length);
        s->has_nul = s->has_nul || length < t->length;
        if (!first) s->common = length;
        if (!first) first = t;
        if (length >= s->common && memcmp(t->bytes, first->bytes, s->common) == 0) continue;
        s->common = common_length((struct slice){t->bytes, length},
                                  (struct slice){first->bytes, s->common});
    }
}

/* The eight bytes from `depth` on as a number, padded with zeros. */
static uint64_t key_of_text(const struct sort *s, const struct text *t, size_t depth) {
    uint64_t word = 0;
    if (!text_is_missing(t)) {
        struct slice text = compared_part(s, t);
        size_t left = text.length > depth ? text.length - depth : 0;
        if (left >= sizeof(word))
            memcpy(&word, text.bytes + depth, sizeof(word));
        else if (left)
            memcpy(&word, text.bytes + depth, left);
        word = be64toh(word);
    }
    return s->descending ? ~word : word;
}

static int compare_texts(const struct sort *s, const struct text *a, const struct text *b) {
    if (text_is_missing(a) || text_is_missing(b))
        return (int)text_is_missing(b) - (int)text_is_missing(a);
    if (uses_locale(s)) return strcoll(a->bytes, b->bytes);
    return slice_compare(compared_part(s, a), compared_part(s, b));
}

static int compare_places_of_texts(const void *context, size_t a, size_t b) {
    const struct sort *s = context;
    const struct text *texts = texts_to_compare(s);
    int order = compare_texts(s, &texts[a], &texts[b]);
    return s->descending ? -order : order;
}

static bool all_longer(const struct sort *s, const struct place *p, size_t count, size_t depth) {
    const struct text *texts = texts_to_compare(s);
    for (size_t i = 0; i < count; i++) {
        const struct text *t = &texts[p[i].index];
        if (text_is_missing(t) || compared_part(s, t).length <= depth) return false;
    }
    return true;
}

/* Sorts places whose texts are equal up to `depth`, and whose keys are the eight bytes from there
 * on. Small groups with equal keys, and those at level 0, are compared as a whole, which ends the
 * recursion. */
static void sort_texts(const struct sort *s, struct place *p, size_t count, size_t depth,
                       int level) {
    places_sort(p, count, NULL, NULL);
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && p[end].key == p[i].key;) end++;
        size_t equal = end - i;
        if (equal == 1) continue;
        if (!level || equal < COMPARED_PLACES || !all_longer(s, p + i, equal, depth + KEY_BYTES)) {
            places_sort(p + i, equal, compare_places_of_texts, s);
            continue;
        }
        uint64_t key = p[i].key;
        for (size_t j = i; j < end; j++)
            p[j].key = key_of_text(s, &texts_to_compare(s)[p[j].index], depth + KEY_BYTES);
        sort_texts(s, p + i, equal, depth + KEY_BYTES, level - 1);
        for (size_t j = i; j < end; j++) p[j].key = key;
    }
}

/* ---- order ---- */

/* Compares the elements of equal numbers. */
static int compare_places_of_numbers(const void *context, size_t a, size_t b) {
    const struct sort *s = context;
    char scratch_a[NUMBER_INT64_CHARS], scratch_b[NUMBER_INT64_CHARS];
    int order = slice_compare(text_slice(&s->elements[a], scratch_a),
                              text_slice(&s->elements[b], scratch_b));
    return s->descending ? -order : order;
}

/* The first places so far. Where few are wanted, the places behind them are dropped whenever the
 * array is full, and places that cannot be among the first are not added any more. */
struct first {
    struct place *places;
    size_t count, room, wanted;
    bool bounded;
    uint64_t worst_key; /* the largest key of the wanted places, where `bounded` */
};

static void first_open(struct first *f, size_t wanted, size_t total) {
    size_t room = wanted < total / FEW_SHARE ? wanted * 2 + FEW_ROOM : total;
    if (room > total) room = total;
    *f = (struct first){.room = room, .wanted = wanted};
    f->places = memory_alloc(room * sizeof(*f->places), MEMORY_OTHER);
}

static void first_sort(const struct sort *s, struct first *f) {
    if (!s->alpha)
        places_sort(f->places, f->count, compare_places_of_numbers, s);
    else if (uses_locale(s))
        places_sort(f->places, f->count, compare_places_of_texts, s);
    else
        sort_texts(s, f->places, f->count, s->common, TEXT_LEVELS);
}

static void first_add(const struct sort *s, struct first *f, uint64_t key, size_t index) {
    if (f->bounded && key > f->worst_key) return;
    if (f->count == f->room) {
        first_sort(s, f);
        f->count = f->wanted;
        f->bounded = f->wanted > 0;
        if (f->bounded) f->worst_key = f->places[f->wanted - 1].key;
        if (f->bounded && key > f->worst_key) return;
    }
    f->places[f->count++] = (struct place){key, index};
}

/* Adds a place for element `index` with this weight. False where the weight is no number. */
static bool add_number(const struct sort *s, struct first *first, const struct text *weight,
                       size_t index) {
    double number = 0;
    if (!text_is_missing(weight) && !parse_number(weight, &number)) return false;
    uint64_t key = places_key_of_double(number);
    first_add(s, first, s->descending ? ~key : key, index);
    return true;
}

static void add_texts(struct sort *s, struct first *first) {
    const struct text *texts = texts_to_compare(s);
    if (!uses_locale(s)) study_texts(s);
    for (size_t i = 0; i < s->count; i++)
        first_add(s, first, uses_locale(s) ? 0 : key_of_text(s, &texts[i], s->common), i);
}

static bool add_numbers(struct sort *s, struct first *first) {
    for (size_t i = 0; i < s->count; i++)
        if (!add_number(s, first, &s->elements[i], i)) return false;
    return true;
}

/* Keeps a weight that was looked up, for later comparisons. */
static struct text keep_weight(struct sort *s, struct text t) {
    char scratch[NUMBER_INT64_CHARS];
    if (text_is_missing(&t) || (t.bytes && !uses_locale(s))) return t;
    return text_copy(&s->blocks, text_slice(&t, scratch));
}

/* Looks up the weights that BY names: texts are kept, numbers become places. Returns false after a
 * weight that is no number; the lookups go on nevertheless, because 6.2 counts them all. */
static bool add_by_pattern(struct sort *s, struct first *first) {
    struct job jobs[BATCH_KEYS];
    bool numbers = true;
    if (s->alpha) s->weights = memory_alloc(s->count * sizeof(*s->weights), MEMORY_OTHER);
    for (size_t i = 0; i < s->count; i += BATCH_KEYS) {
        size_t batch = s->count - i < BATCH_KEYS ? s->count - i : BATCH_KEYS;
        for (size_t j = 0; j < batch; j++)
            jobs[j] = (struct job){.pattern = &s->by, .element = &s->elements[i + j]};
        run_jobs(s, jobs, batch);
        for (size_t j = 0; j < batch; j++) {
            if (s->alpha)
                s->weights[i + j] = keep_weight(s, jobs[j].result);
            else
                numbers = numbers && add_number(s, first, &jobs[j].result, i + j);
        }
    }
    return numbers;
}

/* Sorts the elements: sets *places, an allocated array, whose window is the result. False after an
 * error reply. */
static bool order_elements(struct sort *s, struct place **places) {
    struct first first;
    bool numbers = true;
    first_open(&first, s->start + s->wanted, s->count);
    if (s->has_by) numbers = add_by_pattern(s, &first);
    if (s->alpha)
        add_texts(s, &first);
    else if (!s->has_by)
        numbers = add_numbers(s, &first);
    if (numbers) first_sort(s, &first);
    *places = first.places;
    if (!numbers) reply_error(s->call->client, "One or more scores can't be converted into double");
    return numbers;
}

/* ---- results ---- */

/* Calls `give` with each result in order. */
typedef void give_result(void *context, const struct text *t);

static void each_result(struct sort *s, const struct place *places, give_result *give,
                        void *context) {
    static const struct pattern self = {.is_self = true};
    const struct pattern *columns = s->column_count ? s->columns : &self;
    size_t column_count = s->column_count ? s->column_count : 1, pending = 0;
    struct job jobs[BATCH_KEYS];
    for (size_t i = s->start; i < s->start + s->wanted; i++) {
        const struct text *element = &s->elements[places ? places[i].index : i];
        for (size_t g = 0; g < column_count; g++) {
            jobs[pending++] = (struct job){.pattern = &columns[g], .element = element};
            if (pending < BATCH_KEYS) continue;
            run_jobs(s, jobs, pending);
            for (size_t j = 0; j < pending; j++) give(context, &jobs[j].result);
            pending = 0;
        }
    }
    run_jobs(s, jobs, pending);
    for (size_t j = 0; j < pending; j++) give(context, &jobs[j].result);
}

static void give_to_client(void *context, const struct text *t) {
    struct client *c = context;
    if (text_is_missing(t))
        reply_null(c);
    else if (t->bytes)
        reply_bulk(c, (struct slice){t->bytes, t->length});
    else
        reply_bulk_integer(c, t->integer);
}

static void give_to_list(void *context, const struct text *t) {
    char scratch[NUMBER_INT64_CHARS];
    struct slice text = text_is_missing(t) ? SLICE("") : text_slice(t, scratch);
    quicklist_push(context, QUICKLIST_TAIL, text);
}

static void store_results(struct sort *s, const struct place *places, size_t results) {
    const struct key key = call_key(s->call, s->store);
    struct value v = list_create();
    each_result(s, places, give_to_list, list_of(v));
    edit_store(&key, ENTRY_LIST, v, results, NOTIFY_LIST, "sortstore");
    reply_integer(s->call->client, (int64_t)results);
}

static void sort_close(struct sort *s) {
    memory_free(s->columns, MEMORY_OTHER);
    memory_free(s->elements, MEMORY_OTHER);
    memory_free(s->weights, MEMORY_OTHER);
    block_list_free(&s->blocks);
    buffer_free(&s->names);
}

static void command_sort(struct call *call) {
    struct sort s = {.call = call, .limit_count = -1};
    struct place *places = NULL;
    buffer_init(&s.names, MEMORY_OTHER);
    if (call->argc > 3)
        s.columns = memory_alloc((size_t)call->argc / 2 * sizeof(*s.columns), MEMORY_OTHER);
    if (sort_parse_options(&s) && find_value(&s)) {
        read_elements(&s);
        if (s.unsorted || order_elements(&s, &places)) {
            size_t results = s.wanted * (s.column_count ? s.column_count : 1);
            if (s.store) {
                store_results(&s, places, results);
            } else {
                reply_array(call->client, (int64_t)results);
                each_result(&s, places, give_to_client, call->client);
            }
        }
    }
    memory_free(places, MEMORY_OTHER);
    sort_close(&s);
}

/* ---- row ---- */

/* Names the key, and the target of the last STORE. What follows a STORE is looked at as an option,
 * too, as in 6.2. */
static bool sort_keys(const struct key_search *s) {
    int target = 0;
    for (int i = 2; i + 1 < s->argc; i++) {
        if (slice_is(s->argv[i], "limit"))
            i += 2;
        else if (slice_is(s->argv[i], "by") || slice_is(s->argv[i], "get"))
            i++;
        else if (slice_is(s->argv[i], "store"))
            target = i + 1;
    }
    if (key_named(s, 1) && target) key_named(s, target);
    return true;
}

static struct command rows[] = {
    COMMAND(
        "sort", command_sort, -2, GROW | MOVABLE,
        ACL_SET | ACL_SORTEDSET | ACL_LIST | ACL_DANGEROUS, CHANGES(WHOLE, ONE_KEY),
        "The elements of a list, set or sorted set in order, or values of keys named after them.",
        .keys = sort_keys, .traced = "2.. by? limit## get? asc desc alpha store"),
};

/* Whether a locale orders texts otherwise than by their bytes: not the C locale, nor those derived
 * from it ("C.UTF-8"), which differ only in the encoding. */
static bool takes_locale(const char *name) {
    return name && strcmp(name, "C") && strncmp(name, "C.", 2) && strcmp(name, "POSIX");
}

void commands_sort_register(void) {
    has_locale = takes_locale(setlocale(LC_COLLATE, ""));
    command_register(COMMAND_ROWS(rows));
}
