/* SPDX-License-Identifier: BSD-3-Clause
 * Fuzzes hashes, sets and sorted sets at the limits where they change their form: against a model,
 * with members of any length.
 *
 * Covers: src/value/hash.c src/value/set.c src/value/zset.c src/ds/ordered.c src/ds/twins.c
 *
 * The input's first byte chooses the type, the second one the options; then three bytes are one
 * change: what is done, to which member, with which text or score.
 */
#include <math.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/panic.h"
#include "option/option.h"
#include "value/hash.h"
#include "value/set.h"
#include "value/types.h"
#include "value/zset.h"

#define CHANGE_BYTES 3
#define CHANGES_MAX 1000
#define MEMBERS 256
#define TEXT_MAX 70000

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What each member should have; texts stand for hashes, scores for sorted sets. */
static struct {
    bool there;
    uint8_t text;
    double score;
} model[MEMBERS];
static char member_bytes[TEXT_MAX], text_bytes[TEXT_MAX];

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    value_register();
    return 0;
}

static void set_option(const char *name, const char *value) {
    char reason[OPTION_REASON_BYTES];
    struct slice word = slice_of(value);
    ASSERT(option_set(option_find(slice_of(name)), &word, 1, OPTION_FROM_CONFIG_SET, reason,
                      sizeof(reason)));
}

static void set_options(uint8_t choice) {
    static const char *const entries[] = {"0", "1", "8", "100", "9223372036854775807"};
    static const char *const bytes[] = {"0", "5", "64", "1gb", "9223372036854775807"};
    const char *e = entries[choice % 5], *b = bytes[choice / 5 % 5];
    set_option("hash-max-ziplist-entries", e);
    set_option("hash-max-ziplist-value", b);
    set_option("zset-max-ziplist-entries", e);
    set_option("zset-max-ziplist-value", b);
    set_option("set-max-intset-entries", e);
}

/* Numbers of all widths, and texts whose lengths are at the steps of their encodings. */
static struct slice text_of(uint8_t number, char bytes[TEXT_MAX]) {
    static const size_t lengths[] = {0,    1,    5,     62,    63,    64,    65,    127,   128,
                                     252,  253,  254,   255,   256,   1000,  4094,  4095,  4096,
                                     4097, 8000, 16370, 16382, 16383, 16390, 32768, 65535, 65536};
    size_t kinds = sizeof(lengths) / sizeof(*lengths);
    if (number < 2 * kinds) {
        memset(bytes, number % 2 ? 'a' : 0xff, lengths[number / 2]);
        return (struct slice){bytes, lengths[number / 2]};
    }
    uint64_t power = (uint64_t)1 << (number - 2 * kinds) / 3 % 64;
    int64_t integer = (int64_t)(power - number % 3);
    if (number > 230) integer = number;
    return (struct slice){bytes, number_format_int64(bytes, integer)};
}

static double score_of(uint8_t number) {
    static const double scores[] = {0,     -0.0,   1,        -1,        0.1,    1e17,
                                    1e308, -1e308, INFINITY, -INFINITY, 5e-324, 9007199254740993.0};
    return number < 12 ? scores[number] : (double)(number % 50) - 20;
}

static bool is_the_same_member(uint8_t a, uint8_t b) {
    struct slice first = text_of(a, member_bytes), second = text_of(b, text_bytes);
    return slice_equal(first, second);
}

/* Members of equal text count as the lowest of them. */
static uint8_t canonical[MEMBERS];

static void find_canonical(void) {
    if (canonical[MEMBERS - 1]) return;
    for (unsigned i = 0; i < MEMBERS; i++) {
        unsigned lowest = 0;
        while (!is_the_same_member((uint8_t)lowest, (uint8_t)i)) lowest++;
        canonical[i] = (uint8_t)lowest;
    }
}

static void change_hash(struct value *v, const uint8_t *change, uint8_t member) {
    struct slice field = text_of(member, member_bytes), text = text_of(change[2], text_bytes);
    bool there = model[member].there;
    if (change[0] % 4 == 0) {
        ASSERT(hash_delete(v, field) == there);
        model[member].there = false;
        return;
    }
    bool added =
        change[0] % 4 == 1 ? hash_set_of_any_length(v, field, text) : hash_set(v, field, text);
    ASSERT(added == !there);
    model[member].there = true;
    model[member].text = change[2];
}

static void change_set(struct value *v, const uint8_t *change, uint8_t member) {
    struct slice text = text_of(member, member_bytes);
    bool there = model[member].there, adds = change[0] % 4;
    ASSERT((adds ? set_add(v, text) : set_remove(v, text)) == (adds ? !there : there));
    model[member].there = adds;
}

static void change_zset(struct value *v, const uint8_t *change, uint8_t member) {
    struct slice text = text_of(member, member_bytes);
    bool there = model[member].there;
    if (change[0] % 4 == 0) {
        ASSERT(zset_remove(v, text) == there);
        model[member].there = false;
        return;
    }
    ASSERT(zset_set(v, text, score_of(change[2])) == !there);
    model[member].there = true;
    model[member].score = score_of(change[2]);
}

static void check_hash(struct value v) {
    char scratch[LISTPACK_SCRATCH];
    hash_check(v);
    for (unsigned i = 0; i < MEMBERS; i++) {
        struct listpack_value now;
        if (canonical[i] != i) continue;
        ASSERT(hash_get(v, text_of((uint8_t)i, member_bytes), &now) == model[i].there);
        if (!model[i].there) continue;
        struct slice expected = text_of(model[i].text, text_bytes);
        ASSERT(slice_equal(listpack_value_text(&now, scratch), expected));
    }
}

static void check_set(struct value v) {
    set_check(v);
    for (unsigned i = 0; i < MEMBERS; i++)
        if (canonical[i] == i)
            ASSERT(set_has(v, text_of((uint8_t)i, member_bytes)) == model[i].there);
}

static void check_zset(struct value v) {
    size_t rank;
    zset_check(v);
    for (unsigned i = 0; i < MEMBERS; i++) {
        double score;
        struct zset_cursor c;
        if (canonical[i] != i) continue;
        struct slice text = text_of((uint8_t)i, member_bytes);
        ASSERT(zset_score(v, text, &score) == model[i].there);
        if (!model[i].there) continue;
        ASSERT(score == model[i].score);
        ASSERT(zset_rank(v, text, &rank) && zset_seek(v, rank, &c));
        ASSERT(zset_get(&c).score == score);
        struct zset_scores range = {score, score, false, false};
        struct zset_span span = zset_span_of_scores(v, &range);
        ASSERT(span.first <= rank && rank < span.first + span.count);
    }
}

static const struct {
    enum value_kind kind;
    struct value (*create)(void);
    void (*change)(struct value *v, const uint8_t *change, uint8_t member);
    void (*check)(struct value v);
    size_t (*count)(struct value v);
} types[] = {{VALUE_HASH, hash_create, change_hash, check_hash, hash_count},
             {VALUE_SET, set_create, change_set, check_set, set_count},
             {VALUE_ZSET, zset_create, change_zset, check_zset, zset_count}};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2) return 0;
    size_t type = data[0] % 3, count = 0;
    find_canonical();
    set_options(data[1]);
    memset(model, 0, sizeof(model));
    struct value v = types[type].create();
    for (size_t i = 2; i + CHANGE_BYTES <= size && i < CHANGES_MAX * CHANGE_BYTES;
         i += CHANGE_BYTES)
        types[type].change(&v, data + i, canonical[data[i + 1]]);
    types[type].check(v);
    for (unsigned i = 0; i < MEMBERS; i++) count += model[i].there;
    ASSERT(types[type].count(v) == count);
    struct value copy = value_type(types[type].kind)->copy(v, SLICE(""), SLICE(""));
    while (!value_type(types[type].kind)->release_step(v, 3)) continue;
    types[type].check(copy);
    value_type(types[type].kind)->release(copy);
    return 0;
}
