/* SPDX-License-Identifier: BSD-3-Clause
 * Moving all data while it changes: random changes of keys and values of all types, and walks that
 * move blocks in between. Which blocks are wanted elsewhere is drawn by chance, also where the
 * allocator could tell, so that with a sanitizer each pointer to a block that has moved is caught.
 * After each walk the data's digest is what it was, and all invariants hold.
 *
 * SEED=n runs the same random choices again; each run prints its seed. ROUNDS=n runs more of them.
 */
#include "store/relocate.h"

#include <stdlib.h>

#include "base/random.h"
#include "ds/quicklist.h"
#include "store/digest.h"
#include "store/keys.h"
#include "store/keyspace_change.h"
#include "value/hash.h"
#include "value/list.h"
#include "value/set.h"
#include "value/stream.h"
#include "value/types.h"
#include "value/zset.h"

#ifdef EVENKEEL_SANITIZER
#define ROUNDS 6
#else
#define ROUNDS 10
#endif
#define KEYS_MAX 400
#define CHANGES 300
#define LARGE_MAX 4096

/* ---- changes ---- */

static struct slice random_text(char room[200]) {
    size_t length = random_below(12) == 0 ? random_below(200) : random_below(60);
    for (size_t i = 0; i < length; i++) room[i] = (char)('a' + random_below(26));
    return (struct slice){room, length};
}

static struct slice member_text(char room[200]) {
    size_t length = (size_t)snprintf(room, 200, "%u", (unsigned)random_below(900));
    size_t more = random_below(2) ? 0 : (size_t)(room[0] - '0') * 4;
    memset(room + length, 'm', more);
    return (struct slice){room, length + more};
}

static void change_list(struct value *v) {
    char text[200];
    struct quicklist *q = list_of(*v);
    size_t count = quicklist_count(q);
    if (random_below(3) > 0 || count == 0)
        quicklist_push(q, random_below(2) ? QUICKLIST_HEAD : QUICKLIST_TAIL, random_text(text));
    else if (random_below(4) > 0)
        quicklist_drop(q, random_below(2) ? QUICKLIST_HEAD : QUICKLIST_TAIL);
    else
        list_trim(*v, random_below(count), count);
}

static void change_hash(struct value *v) {
    char field[200], text[200];
    struct slice name = member_text(field);
    if (random_below(3) > 0)
        hash_set(v, name, random_text(text));
    else
        hash_delete(v, name);
}

static void change_set(struct value *v) {
    char text[200];
    struct slice member = member_text(text);
    if (random_below(3) > 0)
        set_add(v, member);
    else
        set_remove(v, member);
}

static void change_zset(struct value *v) {
    char text[200];
    struct slice member = member_text(text);
    if (random_below(3) > 0)
        zset_set(v, member, (double)random_below(50));
    else
        zset_remove(v, member);
}

/* One of three names, of which one is empty and one is long. */
static struct slice random_name(void) {
    static const char *const names[] = {
        "", "reader", "a name of a group or of a consumer that is longer than most of them"};
    return slice_of(names[random_below(3)]);
}

/* A few entries become pending, and others are acknowledged. */
static void change_pending(struct value *v, struct stream_group *g, struct stream_consumer *c) {
    struct stream_id last = stream_last_id(*v);
    for (unsigned i = random_below(20); i > 0; i--) {
        struct stream_id id = {last.msec - random_below(60), last.sequence};
        if (random_below(3) == 0)
            stream_pending_remove(*v, g, id);
        else
            stream_pending_assign(*v, g, c, id)->deliveries = random_below(5);
    }
}

/* Groups and consumers come and go. */
static void change_group(struct value *v) {
    struct value taken;
    struct slice name = random_name(), reader = random_name();
    struct stream_group *g = stream_group_find(*v, name);
    if (!g) {
        stream_group_create(*v, name, stream_last_id(*v));
        return;
    }
    struct stream_consumer *c = stream_consumer_find(g, reader);
    if (!c) {
        stream_consumer_create(*v, g, reader, START_MSEC);
    } else if (random_below(40) == 0) {
        stream_consumer_take(*v, g, c, &taken);
        stream_free(taken);
    } else if (random_below(80) == 0) {
        assert_true(stream_group_take(*v, name, &taken));
        stream_free(taken);
    } else {
        change_pending(v, g, c);
    }
}

static void change_stream(struct value *v) {
    char text[200];
    struct stream_id last = stream_last_id(*v);
    if (random_below(3) == 0) {
        change_group(v);
    } else if (random_below(4) > 0) {
        struct slice fields[2] = {{"field", 5}, random_text(text)};
        struct stream_id next = {last.msec + random_below(3), last.sequence + 1};
        assert_true(stream_append(*v, next, fields, 1));
    } else {
        stream_delete(*v, (struct stream_id){last.msec - random_below(40), last.sequence});
        struct stream_trim trim = {.by = STREAM_TRIM_COUNT, .count = random_below(400)};
        if (random_below(20) == 0) stream_trim(*v, &trim);
    }
}

static void (*const changes[])(struct value *v) = {[ENTRY_LIST] = change_list,
                                                   [ENTRY_SET] = change_set,
                                                   [ENTRY_ZSET] = change_zset,
                                                   [ENTRY_HASH] = change_hash,
                                                   [ENTRY_STREAM] = change_stream};
static struct value (*const creators[])(void) = {[ENTRY_LIST] = list_create,
                                                 [ENTRY_SET] = set_create,
                                                 [ENTRY_ZSET] = zset_create,
                                                 [ENTRY_HASH] = hash_create,
                                                 [ENTRY_STREAM] = stream_create};

static int64_t random_deadline(void) {
    return random_below(3) ? ENTRY_NO_DEADLINE : START_MSEC + 1 + (int64_t)random_below(1 << 20);
}

static void put_string(struct keyspace *ks, unsigned number) {
    char text[3000];
    size_t length = random_below(4) ? random_below(80) : random_below(sizeof(text));
    memset(text, 'v', length);
    key_store(ks, number, (struct slice){text, length}, random_deadline());
}

static void change_value(const struct key *key, struct entry *e) {
    struct value v;
    unsigned type = e->type;
    e = keyspace_change_begin(key, e, &v);
    for (unsigned i = random_below(30) == 0 ? 1500 : 1 + random_below(20); i > 0; i--)
        changes[type](&v);
    keyspace_change_end(key, e, v);
    if (value_type(type)->count && value_type(type)->count(v) == 0) keyspace_remove_emptied(key, e);
}

static void change_key(struct keyspace *ks) {
    struct key_text name;
    unsigned number = random_below(KEYS_MAX);
    struct slice text = key_of(&name, number);
    const struct key key = {ks, text, key_hash(text)};
    struct entry *e = keyspace_find(&key);
    unsigned type = number % 6;
    if (type == ENTRY_STRING) {
        put_string(ks, number);
    } else if (!e) {
        e = keyspace_put_object(&key, NULL, type, creators[type]());
        change_value(&key, e);
    } else if (random_below(25) == 0) {
        keyspace_remove(&key, false);
    } else if (random_below(10) == 0) {
        (void)keyspace_put_deadline(&key, e, random_deadline());
    } else {
        change_value(&key, e);
    }
}

/* ---- moving ---- */

static unsigned chance_percent;
static bool by_chance(const void *block) { return random_below(100) < chance_percent; }

struct large {
    const struct entry *entry;
    uint64_t hash;
    unsigned type;
};
static struct large large[LARGE_MAX];
static unsigned large_count;

static void note_large(const struct entry *e, void *context) {
    assert_true(large_count < LARGE_MAX);
    large[large_count++] = (struct large){e, key_map_hash(e), e->type};
}

/* Moves what is to move; changes keys in between where `changing`. */
static size_t move_all(struct keyspace *ks, size_t budget, size_t effort_max, bool changing) {
    struct key_walk walk = {0};
    struct relocate_work work = {.effort_max = effort_max, .large = note_large};
    uint64_t at = 0;
    large_count = 0;
    while (!walk.done) {
        work.moves.budget = budget;
        keyspace_relocate_some(ks, &walk, &work);
        if (changing) change_key(ks);
    }
    for (unsigned i = 0; i < large_count; i++) {
        struct value_cursor cursor = {0};
        do {
            work.moves.budget = budget;
            if (changing) change_key(ks);
        } while (!keyspace_relocate_value(ks, large[i].entry, large[i].hash, large[i].type, &cursor,
                                          &work.moves));
    }
    do {
        work.moves.budget = budget;
        at = keyspace_relocate_deadlines(ks, at, &work.moves);
    } while (at != 0);
    return (size_t)work.moves.moved;
}

struct digest_sum {
    unsigned char bytes[SHA1_BYTES];
};

static struct digest_sum sum_of_all(void) {
    struct digest_sum sum;
    digest_all(sum.bytes);
    return sum;
}

static void check_values(struct entry *e, void *context) {
    if (entry_table(e)) table_check(entry_table(e));
    if (e->type == ENTRY_LIST) quicklist_check(list_of(entry_object(e)));
    if (e->type == ENTRY_STREAM) stream_check(entry_object(e));
}

static void check_all(struct keyspace *ks) {
    keyspace_check(ks);
    keyspace_each(ks, check_values, NULL);
}

static void run_round(struct keyspace *ks) {
    static const unsigned chances[] = {0, 5, 50, 100};
    for (int i = 0; i < CHANGES; i++) change_key(ks);
    chance_percent = chances[random_below(4)];
    size_t budget = 1 + random_below(300);
    size_t effort_max = random_below(2) ? 50 : 1000000;
    struct digest_sum before = sum_of_all();
    size_t used = memory_used(MEMORY_DATASET);
    move_all(ks, budget, effort_max, false);
    check_all(ks);
    struct digest_sum after = sum_of_all();
    assert_memory_equal(&before, &after, sizeof(after));
    assert_int_equal(memory_used(MEMORY_DATASET), used);
    move_all(ks, budget, effort_max, true);
    check_all(ks);
}

static void test_changes_and_walks(void **state) {
    const char *wanted = getenv("ROUNDS");
    int rounds = wanted ? (int)strtol(wanted, NULL, 10) : ROUNDS;
    relocation_set_chooser(by_chance, 0);
    for (int i = 0; i < rounds; i++) run_round(keyspace_at(i % 2));
    relocation_set_chooser(NULL, 0);
}

/* A cursor of one type is never used for a value of another one that has taken its entry's place:
 * the walk would not end. */
static void test_type_changes(void **state) {
    struct keyspace *ks = keyspace_at(0);
    struct key_text name;
    struct slice text = key_of(&name, 1);
    const struct key key = {ks, text, key_hash(text)};
    struct value v = zset_create();
    struct relocation r = {.budget = 1000};
    char member[20];
    for (unsigned i = 0; i < 1000; i++) {
        snprintf(member, sizeof(member), "%u", i);
        zset_set(&v, slice_of(member), i);
    }
    const struct entry *e = keyspace_put_object(&key, NULL, ENTRY_ZSET, v);
    relocation_set_chooser(by_chance, 0);
    struct value_cursor of_stream = {77, 4711};
    assert_true(keyspace_relocate_value(ks, e, key.hash, ENTRY_STREAM, &of_stream, &r));
    assert_int_equal(r.moved, 0);
    struct value_cursor cursor = {0};
    for (unsigned calls = 0;; calls++) {
        assert_true(calls < 1000);
        r.budget = 1000;
        if (keyspace_relocate_value(ks, e, key.hash, ENTRY_ZSET, &cursor, &r)) break;
    }
    relocation_set_chooser(NULL, 0);
}

/* The smallest budget brings each large value on, even where all its blocks move in each step. */
static void test_smallest_budget(void **state) {
    struct keyspace *ks = keyspace_at(0);
    chance_percent = 100;
    for (unsigned type = 0; type < sizeof(creators) / sizeof(creators[0]); type++) {
        if (!creators[type]) continue;
        struct key_text name;
        struct slice text = key_of(&name, KEYS_MAX + type);
        const struct key key = {ks, text, key_hash(text)};
        struct value_cursor cursor = {0};
        struct relocation r = {0};
        struct value v = creators[type]();
        for (unsigned i = 0; i < 3000; i++) changes[type](&v);
        const struct entry *e = keyspace_put_object(&key, NULL, type, v);
        relocation_set_chooser(by_chance, 0);
        unsigned calls = 0;
        do {
            if (calls++ > 100000) fail_msg("a value of type %u is never through", type);
            r.budget = 1;
        } while (!keyspace_relocate_value(ks, e, key.hash, type, &cursor, &r));
        relocation_set_chooser(NULL, 0);
        check_all(ks);
        keyspace_remove(&key, false);
    }
}

/* Everything that can move moves: no entry, no value stays at its address. */
struct address {
    const struct entry *entry;
    const void *value;
};
static struct address addresses[KEYS_MAX];
static unsigned address_count;

static void note_address(struct entry *e, void *context) {
    const void *value = e->type == ENTRY_STRING ? NULL : entry_object(e).pointer;
    addresses[address_count++] = (struct address){e, value};
}

static void assert_moved(struct entry *e, void *context) {
    for (unsigned i = 0; i < address_count; i++) {
        assert_ptr_not_equal(addresses[i].entry, e);
        if (e->type != ENTRY_STRING)
            assert_ptr_not_equal(addresses[i].value, entry_object(e).pointer);
    }
}

static void test_all_moves(void **state) {
    struct keyspace *ks = keyspace_at(0);
    for (int i = 0; i < 3000; i++) change_key(ks);
    chance_percent = 100;
    relocation_set_chooser(by_chance, 0);
    address_count = 0;
    keyspace_each(ks, note_address, NULL);
#ifdef EVENKEEL_SANITIZER
    /* Without a sanitizer a block that was freed may be the next one's. */
    move_all(ks, 1000, 50, false);
    keyspace_each(ks, assert_moved, NULL);
#else
    assert_true(move_all(ks, 1000, 50, false) >= address_count);
    (void)assert_moved;
#endif
    relocation_set_chooser(NULL, 0);
}

int main(void) {
    int by_slot = keys_in_both_forms();
    value_register();
    keys_open();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_changes_and_walks, keys_begin, keys_nothing_left),
        cmocka_unit_test_setup_teardown(test_type_changes, keys_begin, keys_nothing_left),
        cmocka_unit_test_setup_teardown(test_smallest_budget, keys_begin, keys_nothing_left),
        cmocka_unit_test_setup_teardown(test_all_moves, keys_begin, keys_nothing_left),
    };
    return by_slot + cmocka_run_group_tests(tests, NULL, NULL);
}
