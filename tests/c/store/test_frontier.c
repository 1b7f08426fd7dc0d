/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of store/frontier: saves of one moment while keys are written, deleted, moved, expired and
 * evicted, tables grow and shrink, and databases are exchanged and emptied. What a save hands on is
 * compared with a list of all entries that was made at its moment.
 *
 * SEED=n runs the same random choices again; each run prints its seed. ROUNDS=n runs more of them.
 */
#include "store/frontier.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/random.h"
#include "ds/table.h"
#include "io/background.h"
#include "store/digest.h"
#include "store/key_map.h"
#include "store/keys.h"
#include "store/keyspace_change.h"
#include "store/limbo.h"
#include "value/hash.h"
#include "value/shadow.h"
#include "value/types.h"

/* In each form of the keyspace. */
#define ROUNDS 5
#define DATABASES 4
#define KEYS_MAX 1500
#define LARGE_FIELDS 600
#define HUGE_FIELDS (FRONTIER_RUSH_EFFORT_MAX + 100)
#define LARGE_TEXT 20000

/* ---- entries as they were ---- */

struct state {
    int database;
    char key[400];
    size_t key_length;
    unsigned char digest[SHA1_BYTES];
    int64_t deadline;
};

struct states {
    struct state *at;
    size_t count, room;
};

static struct states moment, saved;

static void states_add(struct states *s, int database, const struct entry *e) {
    if (s->count == s->room) {
        s->room = s->room ? 2 * s->room : 1024;
        s->at = realloc(s->at, s->room * sizeof(*s->at));
        assert_non_null(s->at);
    }
    struct state *state = &s->at[s->count++];
    memset(state, 0, sizeof(*state));
    state->database = database;
    state->key_length = entry_key(e).length;
    assert_true(state->key_length <= sizeof(state->key));
    memcpy(state->key, entry_key(e).bytes, state->key_length);
    digest_value(e, state->digest);
    state->deadline = entry_deadline(e);
}

static int states_compare(const void *a, const void *b) {
    return memcmp(a, b, sizeof(struct state));
}

static void states_sort(struct states *s) {
    if (s->count) qsort(s->at, s->count, sizeof(*s->at), states_compare);
}

static int moment_database;
static void moment_visit(void *element, void *context) {
    states_add(&moment, moment_database, element);
}

static void moment_take(void) {
    moment.count = saved.count = 0;
    for (int i = 0; i < keyspace_databases(); i++) {
        moment_database = i;
        key_map_each(keyspace_map(keyspace_at(i)), moment_visit, NULL);
    }
    states_sort(&moment);
}

/* ---- a save ---- */

/* The entry that is out in part: nothing of it may change until it is whole, but where it has a
 * shadow. */
static const struct entry *begun;
static unsigned char begun_digest[SHA1_BYTES];
static int begun_steps;
static struct value begun_members; /* what its shadow has shown so far */
static unsigned shadows_seen;

static void show_member(struct value_texts member, void *hash) {
    assert_true(hash_set(hash, member.first, member.second));
}

static void shown_whole(int database, const struct entry *e, struct value members) {
    struct entry *shown = entry_create_object(entry_key(e), e->type, members, entry_deadline(e), 0);
    assert_int_equal(hash_count(members), shadow_count(shadow_of(e->type, entry_object(e))));
    states_add(&saved, database, shown);
    entry_free(shown);
    shadows_seen++;
}

/* As a save goes on with it: some members at a time. One that is not begun comes whole. */
static bool emit_shadow(int database, const struct entry *e, struct shadow *s, size_t budget) {
    struct value members = e == begun ? begun_members : hash_create();
    bool all = shadow_step(s, &budget, show_member, &members);
    if (all) {
        if (e == begun) {
            begun = NULL;
            begun_members.pointer = NULL;
        }
        shown_whole(database, e, members);
        return true;
    }
    begun = e;
    begun_members = members;
    return false;
}

static bool emit(int database, const struct entry *e, size_t budget, void *context) {
    unsigned char digest[SHA1_BYTES];
    assert_ptr_equal(context, &saved);
    struct shadow *s = e->type == ENTRY_STRING ? NULL : shadow_of(e->type, entry_object(e));
    if (s) return emit_shadow(database, e, s, budget);
    digest_value(e, digest);
    if (e == begun) {
        assert_memory_equal(digest, begun_digest, SHA1_BYTES);
        if (budget != SIZE_MAX && --begun_steps) return false;
        begun = NULL;
        return true;
    }
    states_add(&saved, database, e);
    if (budget == SIZE_MAX) return true;
    assert_null(begun);
    begun = e;
    begun_steps = 1 + (int)random_below(3);
    memcpy(begun_digest, digest, SHA1_BYTES);
    return false;
}

/* The save is given up: what it has of one goes. */
static void drop_begun(void) {
    if (begun && begun_members.pointer) hash_free(begun_members);
    begun = NULL;
    begun_members.pointer = NULL;
}

static void save_begin(void) {
    while (!frontier_may_begin()) assert_true(frontier_clean(3) == frontier_may_begin());
    moment_take();
    drop_begun();
    frontier_begin(emit, &saved);
}

static void check_unmarked(void *element, void *context) {
    const struct entry *e = element;
    assert_int_equal(entry_mark(e), 0);
    assert_int_equal(e->flags & ENTRY_WAITS, 0);
}

static void check_no_marks(void) {
    for (int i = 0; i < keyspace_databases(); i++)
        key_map_each(keyspace_map(keyspace_at(i)), check_unmarked, NULL);
}

static void check_equal(void) {
    struct frontier_progress progress;
    frontier_progress(&progress);
    assert_int_equal(progress.keys, moment.count);
    assert_int_equal(progress.done, moment.count);
    states_sort(&saved);
    assert_int_equal(saved.count, moment.count);
    for (size_t i = 0; i < saved.count; i++)
        assert_memory_equal(&saved.at[i], &moment.at[i], sizeof(saved.at[i]));
    assert_false(frontier_is_open());
    check_no_marks();
}

/* ---- the tests' own keys ---- */

static struct keyspace *any_database(void) { return keyspace_at((int)random_below(DATABASES)); }
static unsigned any_key(void) { return (unsigned)random_below(KEYS_MAX); }

static struct value hash_of(unsigned fields) {
    struct value v = hash_create();
    for (unsigned i = 0; i < fields; i++) {
        char name[16];
        int length = snprintf(name, sizeof(name), "f%u", i);
        hash_set(&v, (struct slice){name, (size_t)length}, SLICE("text"));
    }
    return v;
}

/* Of texts that no small form takes. */
static struct value hash_of_long(unsigned fields) {
    struct value v = hash_create();
    char text[100];
    memset(text, 'l', sizeof(text));
    for (unsigned i = 0; i < fields; i++) {
        char name[16];
        int length = snprintf(name, sizeof(name), "f%u", i);
        hash_set(&v, (struct slice){name, (size_t)length}, (struct slice){text, sizeof(text)});
    }
    return v;
}

static struct value any_hash(void) {
    if (random_below(200) == 0) return hash_of(HUGE_FIELDS);
    return hash_of(random_below(60) == 0 ? LARGE_FIELDS : 1 + (unsigned)random_below(8));
}

static char long_text[LARGE_TEXT];

static struct slice any_text(void) {
    size_t length = random_below(60) == 0 ? sizeof(long_text) : random_below(100);
    if (random_below(40) == 0) length = 2000;
    memset(long_text, 'a' + (int)random_below(26), length);
    return (struct slice){long_text, length};
}

static int64_t any_deadline(void) {
    return random_below(3) ? ENTRY_NO_DEADLINE
                           : clock_cached_msec() + 1 + (int64_t)random_below(50);
}

static struct key key_make(struct keyspace *ks, struct key_text *name) {
    struct slice key = key_of(name, any_key());
    return (struct key){ks, key, key_hash(key)};
}

static void write_string(void) {
    struct key_text name;
    const struct key key = key_make(any_database(), &name);
    struct string_value v = string_value_of_text(any_text());
    keyspace_put_string(&key, keyspace_find(&key), &v, any_deadline());
}

static void write_hash(void) {
    struct key_text name;
    const struct key key = key_make(any_database(), &name);
    keyspace_put_object(&key, keyspace_find(&key), ENTRY_HASH, any_hash());
}

static void change_hash(void) {
    struct key_text name;
    const struct key key = key_make(any_database(), &name);
    struct entry *e = keyspace_find(&key);
    struct value v;
    if (!e || e->type != ENTRY_HASH) return;
    e = keyspace_change_begin(&key, e, &v);
    char field[16];
    size_t fields = hash_count(v) < LARGE_FIELDS ? 20 : 2 * hash_count(v);
    int length = snprintf(field, sizeof(field), "f%u", (unsigned)random_below(fields));
    struct slice name_of_field = {field, (size_t)length};
    if (fields > 20 && random_below(2))
        hash_delete(&v, name_of_field);
    else
        hash_set(&v, name_of_field, SLICE("another"));
    keyspace_change_end(&key, e, v);
}

static void change_bytes(void) {
    struct key_text name;
    const struct key key = key_make(any_database(), &name);
    struct entry *e = keyspace_find(&key);
    if (e && e->type != ENTRY_STRING) return;
    keyspace_put_bytes(&key, e, 1 + random_below(300))[0] = 'z';
}

static void change_deadline(void) {
    struct key_text name;
    const struct key key = key_make(any_database(), &name);
    struct entry *e = keyspace_find(&key);
    if (e) keyspace_put_deadline(&key, e, any_deadline());
}

static void remove_key(void) {
    struct key_text name;
    const struct key key = key_make(any_database(), &name);
    keyspace_remove(&key, random_below(2));
}

static void evict_key(void) {
    struct keyspace *ks = any_database();
    struct entry *e = keyspace_random(ks);
    if (e) keyspace_evict(ks, e, key_hash(entry_key(e)), random_below(2));
}

static void rename_key(void) {
    struct key_text name, other;
    struct keyspace *ks = any_database();
    const struct key from = key_make(ks, &name), to = key_make(ks, &other);
    struct entry *e = keyspace_find(&from);
    if (e && from.hash != to.hash) keyspace_put_renamed(&from, e, &to);
}

static void move_key(void) {
    struct key_text name;
    const struct key key = key_make(any_database(), &name);
    struct key there = key;
    there.keyspace = any_database();
    if (there.keyspace == key.keyspace || keyspace_find(&there)) return;
    struct entry *e = keyspace_find(&key);
    if (e) keyspace_put_moved(&key, e, there.keyspace);
}

static void copy_key(void) {
    struct key_text name, other;
    const struct key from = key_make(any_database(), &name), to = key_make(any_database(), &other);
    const struct entry *e = keyspace_find(&from);
    if (e && from.hash != to.hash) keyspace_put_copy(&to, e);
}

/* Deletes many keys, so that tables shrink, or makes many. */
static void rush(void) {
    bool away = random_below(2);
    for (size_t i = 100 + random_below(600); i; i--) away ? remove_key() : write_string();
}

static void pass_time(void) {
    bool more;
    clock_set_msec(clock_cached_msec() + 1 + (int64_t)random_below(20));
    for (int i = 0; i < DATABASES; i++)
        keyspace_expire_due(keyspace_at(i), clock_cached_msec(), random_below(100), &more);
}

static void sweep(void) {
    if (random_below(3))
        keyspace_swap(any_database(), any_database());
    else
        keyspace_flush(any_database(), random_below(2) ? LAZYFREE_NOW : LAZYFREE_LATER);
}

static void change_nested(void) {
    limbo_enter();
    change_hash();
    limbo_enter();
    for (int i = 0; i < 10; i++) {
        change_hash();
        change_bytes();
        write_string();
    }
    limbo_leave();
    limbo_leave();
}

static void (*const often[])(void) = {write_string,    write_hash, change_hash, change_bytes,
                                      change_deadline, remove_key, evict_key,   rename_key,
                                      move_key,        copy_key};

static void act(void) {
    size_t drawn = random_below(600);
    if (drawn == 0)
        sweep();
    else if (drawn < 4)
        rush();
    else if (drawn < 10)
        pass_time();
    else if (drawn < 20)
        change_nested();
    else if (drawn < 40)
        keyspace_maintain(1 + random_below(20));
    else
        often[random_below(sizeof(often) / sizeof(often[0]))]();
}

/* ---- tests ---- */

static int begin(void **state) { return keys_begin(state); }

static void fill(void) {
    for (size_t i = random_below(2 * KEYS_MAX); i; i--)
        random_below(6) ? write_string() : write_hash();
}

/* True where it came to its end. */
static bool save_among_changes(bool gives_up) {
    size_t steps_each = 1 + random_below(40);
    save_begin();
    for (;;) {
        for (size_t i = random_below(steps_each); i; i--) act();
        if (random_below(10)) frontier_turn();
        if (gives_up && random_below(50) == 0) break;
        if (frontier_step(1 + random_below(12), 1 + random_below(100))) return true;
    }
    frontier_abort();
    return false;
}

static void test_any_changes(void **state) {
    const char *given = getenv("ROUNDS");
    int rounds = given ? (int)strtol(given, NULL, 10) : ROUNDS;
    for (int round = 0; round < rounds; round++) {
        fill();
        if (save_among_changes(random_below(2))) check_equal();
        for (int i = 0; i < DATABASES; i++) keyspace_check(keyspace_at(i));
        if (random_below(4) == 0) told_flush(any_database());
    }
}

/* More saves are given up than there are marks. */
static void test_marks_run_out(void **state) {
    fill();
    for (unsigned i = 0; i < 2 * ENTRY_MARK_MAX; i++) {
        save_begin();
        while (random_below(10)) {
            act();
            if (frontier_step(1, 1)) break;
        }
        frontier_abort();
    }
    while (!save_among_changes(false)) continue;
    check_equal();
}

static struct key first_key(struct key_text *name) {
    struct slice text = key_of(name, 1);
    return (struct key){keyspace_at(0), text, key_hash(text)};
}

/* Members of a huge value change, and nobody waits or has it handed on at once. */
static void test_members_change(void **state) {
    struct key_text name;
    const struct key key = first_key(&name);
    struct frontier_progress progress;
    struct value v;
    bool over = false;
    struct entry *e = keyspace_put_object(&key, NULL, ENTRY_HASH, hash_of(HUGE_FIELDS));
    save_begin();
    shadows_seen = 0;
    assert_true(keyspace_awaits_save(&key, ENTRY_CHANGES_ANYTHING));
    assert_false(keyspace_awaits_save(&key, ENTRY_CHANGES_HASH));
    for (unsigned i = 0; i < HUGE_FIELDS; i++) {
        e = keyspace_change_begin(&key, e, &v);
        hash_set(&v, SLICE("another"), SLICE("text"));
        hash_delete(&v, SLICE("f7"));
        keyspace_change_end(&key, e, v);
        if (i % 100 == 0 && !over) over = frontier_step(1, 8);
    }
    while (!over) over = frontier_step(1, 8);
    frontier_progress(&progress);
    assert_int_equal(progress.rushed, 0);
    assert_int_equal(shadows_seen, 1);
    assert_int_equal(shadow_bytes(), 0);
    check_equal();
}

static struct key numbered_key(struct key_text *name, unsigned i) {
    struct slice text = key_of(name, i);
    return (struct key){keyspace_at(0), text, key_hash(text)};
}

/* A huge value is kept where it goes as a whole, and changes of other types do not touch it: nobody
 * waits. */
static void test_goes_whole(void **state) {
    struct key_text name, other_name;
    const struct key key = first_key(&name), other = numbered_key(&other_name, 2);
    struct frontier_progress progress;
    struct string_value text = string_value_zeros(FRONTIER_RUSH_BYTES_MAX + 1);
    keyspace_put_object(&key, NULL, ENTRY_HASH, hash_of(HUGE_FIELDS));
    keyspace_put_string(&other, NULL, &text, ENTRY_NO_DEADLINE);
    save_begin();
    assert_false(keyspace_awaits_save(&other, ENTRY_CHANGES_WHOLE));
    assert_false(keyspace_awaits_save(&other, ENTRY_CHANGES_HASH));
    assert_true(keyspace_remove(&other, false));
    assert_false(keyspace_awaits_save(&key, ENTRY_CHANGES_NOTHING));
    assert_false(keyspace_awaits_save(&key, ENTRY_CHANGES_WHOLE));
    assert_false(keyspace_awaits_save(&key, ENTRY_CHANGES_LIST | ENTRY_CHANGES_WHOLE));
    assert_true(keyspace_remove(&key, false));
    assert_true(frontier_kept_bytes() > 0);
    frontier_progress(&progress);
    assert_int_equal(progress.rushed, 0);
    while (!frontier_step(1, 8)) continue;
    check_equal();
}

/* One that waits is changed otherwise than in its members: then it is handed on at once. */
static void test_waiting_one_changes(void **state) {
    struct key_text name;
    const struct key key = first_key(&name);
    struct frontier_progress progress;
    struct entry *e = keyspace_put_object(&key, NULL, ENTRY_HASH, hash_of(HUGE_FIELDS));
    save_begin();
    assert_true(keyspace_awaits_save(&key, ENTRY_CHANGES_ANYTHING));
    keyspace_put_deadline(&key, e, clock_cached_msec() + 1000000);
    frontier_progress(&progress);
    assert_int_equal(progress.rushed, 1);
    while (!frontier_step(1, 8)) continue;
    check_equal();
}

/* Of many large values that change in one turn a few are handed on at once. The others have shadows
 * where members change, or their writers wait, until the next turn begins. */
static void test_many_in_a_turn(void **state) {
    enum { MANY = 40, AT_ONCE_MAX = FRONTIER_RUSH_EFFORT_MAX / LARGE_FIELDS + 1 };
    struct key_text name;
    struct frontier_progress progress;
    for (unsigned i = 0; i < MANY + 2; i++) {
        const struct key key = numbered_key(&name, i);
        keyspace_put_object(&key, NULL, ENTRY_HASH, hash_of(LARGE_FIELDS));
    }
    save_begin();
    shadows_seen = 0;
    for (unsigned i = 0; i < MANY; i++) {
        const struct key key = numbered_key(&name, i);
        struct value v;
        struct entry *e = keyspace_change_begin(&key, keyspace_find(&key), &v);
        hash_set(&v, SLICE("another"), SLICE("text"));
        keyspace_change_end(&key, e, v);
    }
    frontier_progress(&progress);
    size_t at_once = progress.rushed;
    assert_in_range(at_once, 2, AT_ONCE_MAX);
    assert_int_equal(progress.ahead, MANY);
    const struct key other = numbered_key(&name, MANY);
    assert_false(keyspace_awaits_save(&other, ENTRY_CHANGES_HASH));
    assert_true(keyspace_awaits_save(&other, ENTRY_CHANGES_ANYTHING));
    frontier_turn();
    const struct key another = numbered_key(&name, MANY + 1);
    assert_false(keyspace_awaits_save(&another, ENTRY_CHANGES_ANYTHING));
    while (!frontier_step(1, 8)) continue;
    assert_int_equal(shadows_seen, MANY + 2 - at_once);
    check_equal();
}

/* All its members go, and the key with them; then another value stands there. */
static void test_members_go(void **state) {
    struct key_text name;
    const struct key key = first_key(&name);
    struct value v;
    struct entry *e = keyspace_put_object(&key, NULL, ENTRY_HASH, hash_of(HUGE_FIELDS));
    save_begin();
    e = keyspace_change_begin(&key, e, &v);
    for (unsigned i = 0; i < HUGE_FIELDS; i++) {
        char field[16];
        int length = snprintf(field, sizeof(field), "f%u", i);
        assert_true(hash_delete(&v, (struct slice){field, (size_t)length}));
    }
    keyspace_change_end(&key, e, v);
    keyspace_remove_emptied(&key, e);
    keyspace_put_object(&key, NULL, ENTRY_HASH, hash_of(3));
    while (!frontier_step(1, 8)) continue;
    check_equal();
}

static void test_nothing(void **state) {
    save_begin();
    write_string();
    assert_true(frontier_step(1, 1));
    check_equal();
    frontier_abort();
}

/* What is deleted before it is out is kept, counts as free, and is freed when it is out. */
static void test_kept(void **state) {
    struct key_text name;
    const struct key key = first_key(&name);
    struct value v = hash_of(LARGE_FIELDS);
    size_t bytes = entry_bytes(keyspace_put_object(&key, NULL, ENTRY_HASH, v));
    save_begin();
    assert_true(keyspace_remove(&key, false));
    assert_int_equal(keyspace_count(keyspace_at(0)), 0);
    assert_int_equal(lazyfree_pending_bytes(), bytes);
    assert_true(memory_used(MEMORY_DATASET) - keys_dataset_before >= bytes);
    while (!frontier_step(1, 1)) continue;
    keys_free_slices();
    assert_int_equal(lazyfree_pending_bytes(), 0);
    check_equal();
}

/* What is kept for a save that is given up is freed in slices, however many small values it is. */
static void test_kept_given_up(void **state) {
    enum { MANY = 300, FIELDS = LAZYFREE_BLOCKS_AT_ONCE - 1 };
    struct keyspace *ks = keyspace_at(0);
    size_t bytes = 0;
    for (unsigned i = 0; i < MANY; i++) {
        struct key_text name;
        struct slice text = key_of(&name, i);
        const struct key key = {ks, text, key_hash(text)};
        bytes += entry_bytes(keyspace_put_object(&key, NULL, ENTRY_HASH, hash_of_long(FIELDS)));
    }
    save_begin();
    for (unsigned i = 0; i < MANY; i++) {
        struct key_text name;
        struct slice text = key_of(&name, i);
        const struct key key = {ks, text, key_hash(text)};
        assert_true(keyspace_remove(&key, i % 2));
        if (i == MANY / 2) assert_false(frontier_step(1, 1));
    }
    assert_true(lazyfree_pending_bytes() > 0);
    frontier_abort();
    drop_begun();
    assert_true(lazyfree_pending_bytes() > bytes / 2);
    assert_int_equal(frontier_kept_bytes(), 0);
    /* The next save has nothing to do with them. */
    save_begin();
    while (!frontier_step(10, 10)) continue;
    assert_int_equal(saved.count, 0);
    keys_free_slices();
    background_drain(&background_free);
    assert_int_equal(lazyfree_pending_bytes(), 0);
}

/* One that moves is out before, for nobody knows who changes it there. */
static void test_moved(void **state) {
    struct key_text name;
    const struct key key = first_key(&name);
    struct entry *e = keyspace_put_object(&key, NULL, ENTRY_HASH, hash_of(LARGE_FIELDS));
    save_begin();
    keyspace_put_moved(&key, e, keyspace_at(1));
    assert_int_equal(saved.count, 1);
    assert_int_equal(lazyfree_pending_bytes(), 0);
    while (!frontier_step(1, 1)) continue;
    check_equal();
}

/* Keys behind the frontier come to stand in a position ahead when the table shrinks: the position
 * where the walk rests is joined with others, most likely. */
static void test_merged(void **state) {
    struct keyspace *ks = keyspace_at(0);
    for (int round = 0; round < 10; round++) {
        for (unsigned i = 0; i < 2000; i++) key_store(ks, i, SLICE("text"), ENTRY_NO_DEADLINE);
        save_begin();
        size_t buckets = keys_stats(ks).buckets;
        for (size_t i = random_below(buckets); i; i--) assert_false(frontier_step(1, 1));
        for (unsigned i = 0; i < 1850; i++) {
            struct key_text name;
            struct slice text = key_of(&name, i);
            keyspace_remove(&(struct key){ks, text, key_hash(text)}, false);
        }
        while (keyspace_maintain(100)) continue;
        assert_true(keys_stats(ks).buckets < buckets / 2);
        while (!frontier_step(1, 1)) continue;
        check_equal();
    }
}

/* Marks go from databases that are exchanged while they are being looked for. */
static void test_exchanged_while_cleaning(void **state) {
    for (unsigned i = 0; i < 3; i++) key_store(keyspace_at(1), i, SLICE("a"), ENTRY_NO_DEADLINE);
    for (unsigned round = 0; round < ENTRY_MARK_MAX; round++) {
        save_begin();
        for (unsigned i = 0; i < 3; i++)
            key_store(keyspace_at(1), i, SLICE("b"), ENTRY_NO_DEADLINE);
        frontier_abort();
    }
    assert_false(frontier_may_begin());
    assert_false(frontier_clean(1));
    keyspace_swap(keyspace_at(0), keyspace_at(1));
    while (!frontier_clean(1)) continue;
    check_no_marks();
}

/* An emptied database is saved as it was; its memory counts as free at once. */
static void test_emptied(void **state) {
    for (unsigned i = 0; i < 1000; i++)
        key_store(keyspace_at(0), i, SLICE("text"), ENTRY_NO_DEADLINE);
    save_begin();
    assert_false(frontier_step(10, 1));
    assert_int_equal(told_flush(keyspace_at(0)), 1000);
    assert_true(lazyfree_pending_bytes() > 0);
    assert_int_equal(memory_used(MEMORY_DATASET) - keys_dataset_before, lazyfree_pending_bytes());
    key_store(keyspace_at(0), 1, SLICE("another"), ENTRY_NO_DEADLINE);
    while (!frontier_step(10, 1)) continue;
    background_drain(&background_free);
    assert_int_equal(lazyfree_pending_bytes(), 0);
    assert_int_equal(keyspace_count(keyspace_at(0)), 1);
    check_equal();
}

/* A database is emptied when all of its table is behind the frontier, and a large value waits. */
static void test_emptied_while_one_waits(void **state) {
    struct key_text name;
    const struct key key = first_key(&name);
    struct value v = hash_of(LARGE_FIELDS);
    size_t bytes = entry_bytes(keyspace_put_object(&key, NULL, ENTRY_HASH, v));
    save_begin();
    assert_false(frontier_step(1000, 1));
    assert_int_equal(saved.count, 0);
    assert_int_equal(told_flush(keyspace_at(0)), 1);
    assert_true(lazyfree_pending_bytes() >= bytes);
    while (!frontier_step(10, 1)) continue;
    keys_free_slices();
    background_drain(&background_free);
    assert_int_equal(lazyfree_pending_bytes(), 0);
    check_equal();
}

/* A step over a table hands on a bounded number of bytes and members, however large values are that
 * come whole. */
static void test_step_is_bounded(void **state) {
    enum { MANY = 1000, TEXT = FRONTIER_STEP_BYTES * 3 / 4, POSITION_MOST = 30 };
    struct key_text name;
    struct slice text = {long_text, TEXT};
    memset(long_text, 'a', sizeof(long_text));
    for (unsigned i = 0; i < MANY; i++) {
        const struct key key = numbered_key(&name, i);
        if (i % 2)
            key_store(keyspace_at(0), i, text, ENTRY_NO_DEADLINE);
        else
            keyspace_put_object(&key, NULL, ENTRY_HASH, hash_of_long(FRONTIER_STEP_EFFORT / 2));
    }
    size_t most = FRONTIER_STEP_EFFORT_MAX / (FRONTIER_STEP_EFFORT / 2) + POSITION_MOST;
    save_begin();
    for (size_t before = 0;; before = saved.count) {
        bool over = frontier_step(256, 1);
        assert_in_range(saved.count - before, 0, most);
        if (over) break;
    }
    check_equal();
}

static atomic_bool blocked;

static void wait_until_let_go(void *unused) {
    while (atomic_load(&blocked)) sched_yield();
}

/* What was noted of a huge value is freed in the background, whether the save ends or is given
 * up. */
static void test_noted_are_freed_in_background(void **state) {
    struct key_text name;
    const struct key key = first_key(&name);
    for (int gives_up = 0; gives_up < 2; gives_up++) {
        struct value v = hash_of(HUGE_FIELDS);
        struct entry *e = keyspace_put_object(&key, keyspace_find(&key), ENTRY_HASH, v);
        background_drain(&background_free);
        save_begin();
        size_t before = memory_used(MEMORY_SAVES);
        for (unsigned i = 0; i < HUGE_FIELDS; i++) {
            char field[16];
            int length = snprintf(field, sizeof(field), "f%u", i);
            e = keyspace_change_begin(&key, e, &v);
            hash_set(&v, (struct slice){field, (size_t)length}, SLICE("another"));
            keyspace_change_end(&key, e, v);
        }
        size_t noted = memory_used(MEMORY_SAVES) - before;
        assert_true(noted > HUGE_FIELDS * sizeof("f1text"));
        atomic_store(&blocked, true);
        background_submit(&background_free, wait_until_let_go, NULL);
        if (gives_up)
            frontier_abort();
        else
            while (!frontier_step(1, SIZE_MAX)) continue;
        size_t left = memory_used(MEMORY_SAVES) - before;
        assert_int_equal(shadow_bytes(), 0);
        atomic_store(&blocked, false);
        background_drain(&background_free);
        assert_true(left >= noted / 2);
        assert_true(memory_used(MEMORY_SAVES) <= before + 4096);
    }
}

/* A child that was forked meanwhile has no save: whatever waits in the parent goes as ever. */
static void change_in_child(void) {
    background_in_child();
    frontier_forget();
    if (frontier_is_open()) _exit(1);
    for (unsigned i = 0; i < 40; i++) {
        struct key_text name;
        struct slice text = key_of(&name, i);
        const struct key key = {keyspace_at(0), text, key_hash(text)};
        struct entry *e = keyspace_find(&key);
        struct value v;
        if (i % 2) {
            if (!keyspace_remove(&key, i % 4 == 1)) _exit(2);
        } else {
            e = keyspace_change_begin(&key, e, &v);
            hash_set(&v, SLICE("another"), SLICE("text"));
            keyspace_change_end(&key, e, v);
        }
    }
    told_flush(keyspace_at(0));
    _exit(0);
}

static void test_forked(void **state) {
    char out[4096];
    for (unsigned i = 0; i < 40; i++) {
        struct key_text name;
        struct slice text = key_of(&name, i);
        const struct key key = {keyspace_at(0), text, key_hash(text)};
        keyspace_put_object(&key, NULL, ENTRY_HASH, hash_of(LARGE_FIELDS));
    }
    save_begin();
    for (unsigned step = 0; step < 3; step++) assert_false(frontier_step(1000, 1));
    int status = run_in_child(change_in_child, out, sizeof(out));
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) fail_msg("%s", out);
    while (!frontier_step(1000, 1)) continue;
    check_equal();
}

static int end(void **state) {
    frontier_abort();
    drop_begun();
    keys_free_slices();
    background_drain(&background_free);
    return keys_nothing_left(state);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void) {
    int by_slot = keys_in_both_forms();
    value_register();
    keys_open();
    const struct CMUnitTest tests[] = {
        TEST(test_any_changes),
        TEST(test_marks_run_out),
        TEST(test_members_change),
        TEST(test_waiting_one_changes),
        TEST(test_many_in_a_turn),
        TEST(test_members_go),
        TEST(test_nothing),
        TEST(test_goes_whole),
        TEST(test_kept),
        TEST(test_kept_given_up),
        TEST(test_moved),
        TEST(test_merged),
        TEST(test_exchanged_while_cleaning),
        TEST(test_emptied),
        TEST(test_emptied_while_one_waits),
        TEST(test_step_is_bounded),
        TEST(test_noted_are_freed_in_background),
        TEST(test_forked),
    };
    assert_true(background_start(&background_free));
    int failed = by_slot + cmocka_run_group_tests(tests, NULL, NULL);
    background_stop();
    return failed;
}
