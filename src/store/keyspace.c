/* SPDX-License-Identifier: BSD-3-Clause
 * The keyspace: a table of entries, or one for each slot (store/key_map.h), and an index by
 * deadline for each database.
 *
 * Invariants
 *  1. An entry is in its database's table, and in its deadline index exactly when it has a deadline
 *     (entry_has_deadline). Table and index are created with the first entry that needs them, so
 *     that an unused database costs nothing, and stay then.
 *  2. A function that moves an entry (another size) puts the new address into both before it
 *     returns.
 *  3. No lookup returns an entry whose deadline has passed. The first lookup that meets it deletes
 *     it. While expiry is held it stays, hidden, until a new entry takes its place. While due keys
 *     are shown it is returned, and not deleted.
 *  4. Entries that leave, and their memory, are retired (limbo.h), and a nested call changes no
 *     value in place.
 *  5. next_due has a lower bound of each database's next deadline: inserting an entry into an index
 *     lowers it.
 *  6. A database's `entry_bytes` is the sum of entry_bytes() over its entries, `deadlines` that of
 *     entry_deadline() over the entries in its index. So INFO need not look at keys.
 *
 * Ownership: the tables own the entries; entries own their values.
 */
#include "store/keyspace.h"

#include <limits.h>

#include "base/clock.h"
#include "base/panic.h"
#include "base/random.h"
#include "ds/table.h"
#include "ds/timebuckets.h"
#include "metric/cause.h"
#include "metric/latency.h"
#include "metric/metric.h"
#include "option/option.h"
#include "store/frontier.h"
#include "store/key_map.h"
#include "store/keyspace_change.h"
#include "store/lazyfree.h"
#include "store/limbo.h"
#include "store/next_due.h"
#include "store/recency.h"
#include "store/relocate.h"

static struct cause tables_cause = {
    .name = "tables", .place = 50, .verdict = "hash tables were resized"};

/* A sum of deadlines, each of which may be near the limits of 64 bits. */
__extension__ typedef __int128 deadline_sum;

struct keyspace {
    struct key_map map;            /* empty until the first key */
    struct timebuckets *volatiles; /* NULL until the first key with a deadline */
    size_t entry_bytes;            /* of all entries with their values */
    deadline_sum deadlines;        /* of all keys that have one */
    struct frontier_part *part;    /* in the save under way; NULL where it has none */
};

/* Keys that expire as a group: all are prefetched before the first is touched. Processors have ten
 * to sixteen cache misses in flight; a larger group keeps them busy. */
#define EXPIRE_GROUP_MAX 32
/* The most due keys that one call of keyspace_scan deletes; a bucket seldom has ten keys. Further
 * ones stay hidden until the next call. */
#define SCAN_DUE_MAX 32
/* While tables owe shrinking, one lookup of so many pays a step: some 100 ns and two cache misses.
 * Each draw of a random key, which costs more in a sparser table, and each bucket of a scan pay
 * several. */
#define LOOKUPS_PER_STEP 8
#define STEPS_PER_DRAW 4
#define STEPS_PER_SCAN 1
/* How often keyspace_random draws before it searches, because nearly all keys are due. */
#define RANDOM_DRAWS 100

static struct keyspace *databases;
static int64_t databases_wanted;
static int64_t min_fill_percent;
static bool resize_tables, active_rehashing, by_slot;
static bool of_cluster; /* partitioned by keyspace_partition, and not by the option for tests */
static const struct keyspace_observer *const no_observers[] = {NULL};
static const struct keyspace_observer *const *observers = no_observers;
static unsigned interested[KEYSPACE_EVENTS]; /* parties interested in each event */
static unsigned interest;                    /* a bit for each event with an interested party */
static uint64_t hits, misses, expired;
static uint64_t written, gone; /* changes by commands, and expired keys */
static unsigned lookups;       /* while a table owes */
/* The number of holders that hold, and of those of them with `elsewhere`. */
static unsigned expiry_holders, holders_elsewhere;
static bool due_is_shown;
static size_t volatile_keys;    /* of all databases */
static int settle_at = INT_MAX; /* the database whose index settles; beyond the last: none */
static struct histogram expiry_lag;

/* ---- what the index must know of entries ---- */

static int64_t element_deadline(const void *element) { return entry_deadline(element); }
static uint32_t element_reference(const void *element) { return entry_reference(element); }
static void element_set_reference(void *element, uint32_t reference) {
    entry_set_reference(element, reference);
}

static const struct timebuckets_type entry_index_type = {element_deadline, element_reference,
                                                         element_set_reference, MEMORY_DATASET};

/* ---- options ---- */

static unsigned min_fill_now(void) { return resize_tables ? (unsigned)min_fill_percent : 0; }

static bool apply_min_fill(const struct option_row *row, char *reason, size_t reason_size) {
    table_set_min_fill(min_fill_now());
    for (int i = 0; databases && i < databases_wanted; i++) key_map_reconsider(&databases[i].map);
    return true;
}

static const struct option_row option_rows[] = {
    OPTION_INT("databases", &databases_wanted, "16", 1, INT32_MAX, 0, "general", 10,
               "Number of databases that SELECT can choose from, numbered from 0."),
    OPTION_BOOL("keyspace-by-slot", &by_slot, false, OPTION_FILE_ONLY | OPTION_HIDDEN, "general",
                11,
                "For tests: keep the keys of each slot in a table of their own, as a node of a "
                "cluster does."),
    OPTION_BOOL("activerehashing", &active_rehashing, true, OPTION_MUTABLE, "memory", 200,
                "Let tables that owe shrinking give their capacity back while the server would "
                "otherwise sleep. With no, only deletes pay for it."),
    {.name = "resize-hashtables",
     .alias = "resize-hashtables-enabled",
     .type = OPTION_TYPE_BOOL,
     .flags = OPTION_MUTABLE,
     .section = "memory",
     .place = 210,
     .fallback = "yes",
     .variable = &resize_tables,
     .apply = apply_min_fill,
     .help = "With no, tables keep their capacity when keys leave. Growth is never stopped. For a "
             "key count that falls and rises every day."},
    {.name = "hashtable-min-fill",
     .type = OPTION_TYPE_INT,
     .flags = OPTION_MUTABLE,
     .section = "memory",
     .place = 220,
     .fallback = "10",
     .variable = &min_fill_percent,
     .low = 1,
     .high = 50,
     .apply = apply_min_fill,
     .help = "Fill, in percent, below which a table begins to give capacity back, a bucket at a "
             "time."},
};

/* ---- metrics ---- */

static void print_databases(const struct metric_row *row, struct buffer *out) {
    for (int i = 0; databases && i < databases_wanted; i++) {
        struct keyspace *ks = &databases[i];
        if (!keyspace_count(ks)) continue;
        buffer_printf(out, "db%d:keys=%zu,expires=%zu,avg_ttl=%lld\r\n", i, keyspace_count(ks),
                      keyspace_count_volatile(ks), (long long)keyspace_average_ttl_msec(ks));
    }
}

struct database_figure {
    uint64_t (*of)(struct keyspace *ks);
};
static uint64_t figure_keys(struct keyspace *ks) { return keyspace_count(ks); }
static uint64_t figure_volatile(struct keyspace *ks) { return keyspace_count_volatile(ks); }
static uint64_t figure_ttl(struct keyspace *ks) {
    int64_t msec = keyspace_average_ttl_msec(ks);
    return msec > 0 ? (uint64_t)msec : 0;
}
static const struct database_figure keys_figure = {figure_keys},
                                    volatile_figure = {figure_volatile}, ttl_figure = {figure_ttl};

static enum metric_presence sample_database(const struct metric_family *family, size_t index,
                                            struct metric_sample *s) {
    const struct database_figure *figure = family->context;
    if (!databases || index >= (size_t)databases_wanted) return METRIC_END;
    struct keyspace *ks = &databases[index];
    if (!keyspace_count(ks)) return METRIC_ABSENT;
    s->labels[0] = (struct metric_label){
        "db", {s->text, (size_t)snprintf(s->text, sizeof(s->text), "db%zu", index)}};
    s->value = figure->of(ks);
    return METRIC_PRESENT;
}
static const struct metric_family database_families[] = {
    {"db_keys", METRIC_GAUGE, "Keys of each database that is not empty.", sample_database,
     &keys_figure},
    {"db_keys_expiring", METRIC_GAUGE, "Keys with a deadline of each database that is not empty.",
     sample_database, &volatile_figure},
    {"db_avg_ttl", METRIC_MSEC, "Mean time to live of those keys; 0: not known.", sample_database,
     &ttl_figure},
    {0}};

static void print_table_bytes(const struct metric_row *row, struct buffer *out) {
    size_t bytes = 0;
    for (int i = 0; databases && i < databases_wanted; i++)
        bytes += keyspace_table_bytes(&databases[i]);
    buffer_printf(out, "%zu", bytes);
}

static void print_owing(const struct metric_row *row, struct buffer *out) {
    buffer_printf(out, "%zu", table_owing());
}

static const struct metric_row metric_rows[] = {
    {.section = "Stats",
     .place = 120,
     .name = "expired_keys",
     .measure = METRIC_COUNTER,
     .type = METRIC_UINT64,
     .variable = &expired,
     .reset = true,
     .help = "Keys deleted because their time had come."},
    {.section = "Stats",
     .place = 170,
     .name = "keyspace_hits",
     .measure = METRIC_COUNTER,
     .type = METRIC_UINT64,
     .variable = &hits,
     .reset = true,
     .help = "Lookups by reading commands that found their key."},
    {.section = "Stats",
     .place = 180,
     .name = "keyspace_misses",
     .measure = METRIC_COUNTER,
     .type = METRIC_UINT64,
     .variable = &misses,
     .reset = true,
     .help = "Lookups by reading commands that found none."},
    {.section = "Memory",
     .place = 1320,
     .name = "mem_overhead_hashtables",
     .measure = METRIC_BYTES,
     .type = METRIC_FUNCTION,
     .print = print_table_bytes,
     .help = "Bytes of the databases' hash tables, without the keys."},
    {.section = "Memory",
     .place = 1330,
     .name = "hashtables_owing",
     .measure = METRIC_GAUGE,
     .type = METRIC_FUNCTION,
     .print = print_owing,
     .help = "Hash tables that owe growing or shrinking."},
    {.section = "Keyspace",
     .place = 10,
     .name = "db<N>",
     .measure = METRIC_FAMILIES,
     .print_lines = print_databases,
     .families = database_families,
     .help = "Keys, keys with a deadline, and their mean time to live in ms, of each database that "
             "is not empty."},
};

static void reset_lag(void) { histogram_clear(&expiry_lag); }

void keyspace_register(void) {
    option_register(option_rows, sizeof(option_rows) / sizeof(option_rows[0]));
    metric_register(metric_rows, sizeof(metric_rows) / sizeof(metric_rows[0]));
    metric_register_reset(reset_lag);
    cause_register(&tables_cause);
}

static const struct frontier_host frontier_host;

static void set_partitioned(bool on) {
    for (int i = 0; databases && i < databases_wanted; i++) {
        struct keyspace *ks = &databases[i];
        ASSERT(!keyspace_count(ks) && !ks->part);
        key_map_free_step(&ks->map, SIZE_MAX, NULL, NULL);
    }
    key_hash_set_slots(on);
}

void keyspace_partition(bool on) {
    set_partitioned(on);
    of_cluster = on;
}

bool keyspace_is_partitioned(void) { return key_hash_has_slots(); }
bool keyspace_is_of_cluster(void) { return of_cluster; }

void keyspace_open(void) {
    if (by_slot) set_partitioned(true);
    databases = memory_zalloc((size_t)databases_wanted * sizeof(*databases), MEMORY_OTHER);
    next_due_open((int)databases_wanted);
    frontier_set_host(&frontier_host);
}

int keyspace_databases(void) { return (int)databases_wanted; }
struct keyspace *keyspace_at(int index) {
    ASSERT(index >= 0 && index < databases_wanted);
    return &databases[index];
}
int keyspace_index(const struct keyspace *ks) { return (int)(ks - databases); }
size_t keyspace_count(const struct keyspace *ks) { return key_map_count(&ks->map); }
size_t keyspace_count_volatile(const struct keyspace *ks) {
    return ks->volatiles ? timebuckets_count(ks->volatiles) : 0;
}
const struct key_map *keyspace_map(const struct keyspace *ks) { return &ks->map; }
const struct timebuckets *keyspace_deadlines(const struct keyspace *ks) { return ks->volatiles; }
uint64_t keyspace_changes(void) { return written + gone; }
uint64_t keyspace_written(void) { return written; }

/* ---- observers ---- */

void keyspace_set_observers(const struct keyspace_observer *const *list) { observers = list; }

void keyspace_add_interest(enum keyspace_event event, int delta) {
    ASSERT(delta >= 0 || interested[event] >= (unsigned)-delta);
    interested[event] += (unsigned)delta;
    if (interested[event])
        interest |= 1u << event;
    else
        interest &= ~(1u << event);
}

static inline bool anybody_hears(enum keyspace_event event) {
    return __builtin_expect(interest & 1u << event, 0);
}

static __attribute__((noinline)) void tell_changed(const struct key *key,
                                                   enum keyspace_cause cause) {
    for (const struct keyspace_observer *const *o = observers; *o; o++)
        if ((*o)->changed) (*o)->changed(key, cause);
}

/* Tells observers that a key has expired, was evicted or dropped. */
static void tell_removed(const struct key *key, enum keyspace_cause cause) {
    if (anybody_hears(KEYSPACE_REMOVALS)) tell_changed(key, cause);
}

void keyspace_tell_written(const struct key *key) {
    if (anybody_hears(KEYSPACE_WRITES)) tell_changed(key, KEYSPACE_WRITTEN);
}

void keyspace_count_written(uint64_t count) { written += count; }
void keyspace_count_hit(void) { hits++; }

static __attribute__((noinline)) void tell_missed(const struct key *key) {
    for (const struct keyspace_observer *const *o = observers; *o; o++)
        if ((*o)->missed) (*o)->missed(key);
}

int64_t keyspace_average_ttl_msec(const struct keyspace *ks) {
    size_t count = keyspace_count_volatile(ks);
    if (!count) return 0;
    deadline_sum mean = ks->deadlines / (deadline_sum)count - clock_cached_msec();
    if (mean < 0) return 0;
    return mean < INT64_MAX ? (int64_t)mean : INT64_MAX;
}

/* ---- the index by deadline ---- */

static void index_insert(struct keyspace *ks, struct entry *e) {
    if (!entry_has_deadline(e)) return;
    if (!ks->volatiles) {
        bool more;
        ks->volatiles = timebuckets_create(&entry_index_type);
        /* Gives the index the time; otherwise all keys of a load would be in one bucket and move
         * again. */
        timebuckets_peek_due(ks->volatiles, clock_cached_msec(), &more);
    }
    timebuckets_insert(ks->volatiles, e);
    next_due_lower(keyspace_index(ks), entry_deadline(e));
    ks->deadlines += entry_deadline(e);
    volatile_keys++;
}

static void index_remove(struct keyspace *ks, struct entry *e) {
    if (!entry_has_deadline(e)) return;
    timebuckets_remove(ks->volatiles, e);
    ks->deadlines -= entry_deadline(e);
    volatile_keys--;
}

/* ---- lookups ---- */

/* Whether the entry is due and hidden. due_is_shown is tested last, because few entries are due. */
static bool is_due(const struct entry *e) {
    return entry_has_deadline(e) && entry_deadline(e) <= clock_held_msec() && !due_is_shown;
}

bool keyspace_may_expire(void) { return !expiry_holders && !due_is_shown; }

bool keyspace_is_over(int64_t deadline) { return deadline <= clock_cached_msec() && !due_is_shown; }

/* The doors of a save (frontier.h). */

static inline void before_change(struct keyspace *ks, struct entry *e, uint64_t hash) {
    if (__builtin_expect(ks->part != NULL, 0)) frontier_change(ks->part, e, hash);
}

static inline void before_change_of_members(struct keyspace *ks, struct entry *e, uint64_t hash) {
    if (__builtin_expect(ks->part != NULL, 0)) frontier_change_members(ks->part, e, hash);
}

static inline void before_removal(struct keyspace *ks, struct entry *e, uint64_t hash) {
    if (__builtin_expect(ks->part != NULL, 0)) frontier_remove(ks->part, e, hash);
}

static inline void note_added(struct keyspace *ks, struct entry *e, uint64_t hash) {
    if (__builtin_expect(ks->part != NULL, 0)) frontier_add(ks->part, e, hash);
}

/* Frees an entry that is in no table any more. */
static inline void free_entry(struct entry *e, bool lazily) {
    if (__builtin_expect(e->flags & ENTRY_WAITS, 0))
        frontier_keep(e, lazily);
    else
        lazyfree_entry(e, lazily);
}

static inline void free_expired(struct entry *e) {
    if (__builtin_expect(e->flags & ENTRY_WAITS, 0))
        frontier_keep(e, lazyfree_wanted(LAZYFREE_EXPIRE));
    else
        lazyfree_expired(e);
}

/* Removes an entry from table and index. */
static void take_out(struct keyspace *ks, struct entry *e, uint64_t hash) {
    before_removal(ks, e, hash);
    index_remove(ks, e);
    bool there = key_map_remove_entry(&ks->map, hash, e);
    ASSERT(there);
    ks->entry_bytes -= entry_bytes(e);
}

/* A deadline may lie beyond any clock, so the difference may not fit. */
static void note_lag(const struct entry *e) {
    uint64_t lag_msec = (uint64_t)clock_held_msec() - (uint64_t)entry_deadline(e);
    uint64_t part_usec = (uint64_t)(clock_held_usec() % 1000);
    histogram_add(&expiry_lag,
                  lag_msec < INT64_MAX / 1000 ? lag_msec * 1000 + part_usec : INT64_MAX);
}

static void expire_now(struct keyspace *ks, struct entry *e, uint64_t hash) {
    if (!keyspace_may_expire()) return;
    int64_t begin_nsec = latency_is_on() ? clock_monotonic_nsec() : 0;
    note_lag(e);
    take_out(ks, e, hash);
    tell_removed(&(struct key){ks, entry_key(e), hash}, KEYSPACE_EXPIRED);
    free_expired(e);
    if (begin_nsec) latency_note("expire-del", (clock_monotonic_nsec() - begin_nsec) / 1000000);
    expired++;
    gone++;
}

/* A reader's share of the resizing that a table owes; entries do not move. */
static size_t share_of(size_t steps) { return active_rehashing ? steps : 0; }

/* A lookup's share of the resizing that tables owe, which the key's table pays. */
static __attribute__((noinline)) void pay_share(const struct key *key) {
    if (++lookups % LOOKUPS_PER_STEP == 0) key_map_pay(&key->keyspace->map, key->hash, share_of(1));
}

static __attribute__((noinline)) struct entry *expire_found(const struct key *key,
                                                            struct entry *e) {
    expire_now(key->keyspace, e, key->hash);
    return NULL;
}

struct entry *keyspace_find(const struct key *key) {
    const struct table *t = key_map_table(&key->keyspace->map, key->hash);
    if (__builtin_expect(!t, 0)) return NULL;
    if (__builtin_expect(table_any_payable(), 0)) pay_share(key);
    struct entry *e = table_find(t, key->hash, key->name.bytes, key->name.length);
    return e && __builtin_expect(is_due(e), 0) ? expire_found(key, e) : e;
}

void keyspace_note_access(struct entry *e) { recency_note(e); }

struct entry *keyspace_peek_quietly(const struct key *key) {
    struct entry *e = keyspace_find(key);
    if (e)
        hits++;
    else
        misses++;
    return e;
}

struct entry *keyspace_peek(const struct key *key) {
    struct entry *e = keyspace_peek_quietly(key);
    if (!e && anybody_hears(KEYSPACE_MISSES)) tell_missed(key);
    return e;
}

struct entry *keyspace_read(const struct key *key) {
    struct entry *e = keyspace_peek(key);
    if (e) keyspace_note_access(e);
    return e;
}

static struct entry *find_due_or_not(const struct key *key) {
    const struct table *t = key_map_table(&key->keyspace->map, key->hash);
    return t ? table_find(t, key->hash, key->name.bytes, key->name.length) : NULL;
}

bool keyspace_awaits_save(const struct key *key, unsigned changes) {
    struct frontier_part *part = key->keyspace->part;
    struct entry *e = part ? find_due_or_not(key) : NULL;
    return e && frontier_should_wait(part, e, key->hash, changes);
}

enum keyspace_presence keyspace_presence(const struct key *key) {
    const struct entry *e = find_due_or_not(key);
    if (!e) return KEYSPACE_ABSENT;
    return is_due(e) ? KEYSPACE_HIDDEN : KEYSPACE_PRESENT;
}

const struct entry *keyspace_look(const struct key *key) {
    const struct entry *e = find_due_or_not(key);
    return e && !is_due(e) ? e : NULL;
}

/* ---- changes ---- */

static table_slot slot_of(struct keyspace *ks, const struct entry *e, uint64_t hash) {
    struct slice key = entry_key(e);
    struct table *t = key_map_table(&ks->map, hash);
    table_slot slot = t ? table_find_slot(t, hash, key.bytes, key.length) : NULL;
    ASSERT(slot && table_slot_element(slot) == e);
    return slot;
}

/* Removes a due entry that is hidden, because its key gets a new entry. */
static void remove_hidden(struct keyspace *ks, struct slice key, uint64_t hash) {
    struct entry *hidden = find_due_or_not(&(struct key){ks, key, hash});
    if (!hidden) return;
    ASSERT(is_due(hidden));
    take_out(ks, hidden, hash);
    tell_removed(&(struct key){ks, entry_key(hidden), hash}, KEYSPACE_EXPIRED);
    free_expired(hidden);
    expired++;
}

/* Tells observers of a new entry of another type than string: clients do not wait for strings. */
static void announce_added(struct keyspace *ks, struct entry *e, uint64_t hash) {
    if (e->type == ENTRY_STRING) return;
    const struct key key = {ks, entry_key(e), hash};
    for (const struct keyspace_observer *const *o = observers; *o; o++)
        if ((*o)->added) (*o)->added(&key);
}

/* Puts an entry into table and index; the key must have none. */
static void put_new(struct keyspace *ks, struct entry *e, uint64_t hash) {
    note_added(ks, e, hash);
    key_map_insert(&ks->map, hash, e);
    index_insert(ks, e);
    ks->entry_bytes += entry_bytes(e);
    announce_added(ks, e, hash);
}

static void put_in(struct keyspace *ks, struct entry *e, uint64_t hash) {
    if (__builtin_expect(expiry_holders, 0)) remove_hidden(ks, entry_key(e), hash);
    put_new(ks, e, hash);
}

static struct entry *insert_new(struct keyspace *ks, struct slice key, uint64_t hash,
                                const struct string_value *value, int64_t deadline) {
    struct entry *e = entry_create(key, value, deadline, recency_initial());
    put_in(ks, e, hash);
    return e;
}

/* Puts an entry in the place of the key's old one; the deadlines may differ. The caller owns the
 * old one then. */
static void put_instead(struct keyspace *ks, struct entry *old, uint64_t hash, struct entry *e) {
    before_removal(ks, old, hash);
    note_added(ks, e, hash);
    table_slot_replace(slot_of(ks, old, hash), e);
    index_remove(ks, old);
    index_insert(ks, e);
    ks->entry_bytes += entry_bytes(e) - entry_bytes(old);
    announce_added(ks, e, hash);
}

/* Overwrites the value in place, if it fits and no outer call may be reading it. The entry's own
 * good size stays. */
static bool overwrite_string(struct keyspace *ks, struct entry *e, uint64_t hash,
                             const struct string_value *value) {
    if (__builtin_expect(limbo_nested(), 0)) return false;
    if (__builtin_expect(ks->part != NULL, 0)) {
        if (frontier_would_keep(ks->part, e, hash)) return false;
        frontier_change(ks->part, e, hash);
    }
    size_t before = entry_outside_bytes(e);
    if (!entry_try_overwrite(e, value)) return false;
    ks->entry_bytes += entry_outside_bytes(e) - before;
    return true;
}

struct entry *keyspace_put_string(const struct key *key, struct entry *existing,
                                  const struct string_value *value, int64_t deadline) {
    struct keyspace *ks = key->keyspace;
    uint64_t hash = key->hash;
    if (deadline == KEYSPACE_KEEP_DEADLINE)
        deadline = existing ? entry_deadline(existing) : ENTRY_NO_DEADLINE;
    if (!existing) return insert_new(ks, key->name, hash, value, deadline);

    int64_t old_deadline = entry_deadline(existing);
    bool same_shape = entry_has_deadline(existing) == (deadline != ENTRY_NO_DEADLINE);
    bool lazily = lazyfree_wanted(LAZYFREE_SERVER_DEL) && lazyfree_is_large(existing);
    if (same_shape && !lazily && overwrite_string(ks, existing, hash, value)) {
        if (deadline != old_deadline) {
            index_remove(ks, existing);
            entry_set_deadline(existing, deadline);
            index_insert(ks, existing);
        }
        keyspace_note_access(existing);
        return existing;
    }
    struct entry *e = entry_create(key->name, value, deadline, recency_successor(existing));
    put_instead(ks, existing, hash, e);
    free_entry(existing, lazily);
    return e;
}

/* Makes the string writable in place; false where its allocation is too small. */
static bool make_writable(struct keyspace *ks, struct entry *e, size_t length) {
    size_t before = entry_outside_bytes(e);
    if (!entry_try_make_writable(e, length)) return false;
    ks->entry_bytes += entry_outside_bytes(e) - before;
    return true;
}

/* Puts a copy in the entry's place, which a nested call may change. */
static struct entry *replace_by_copy(struct keyspace *ks, struct entry *e, uint64_t hash) {
    struct entry *copy = entry_dup(e, entry_key(e), entry_deadline(e), e->recency);
    put_instead(ks, e, hash, copy);
    free_entry(e, lazyfree_wanted(LAZYFREE_SERVER_DEL));
    return copy;
}

char *keyspace_put_bytes(const struct key *key, struct entry *existing, size_t length) {
    struct keyspace *ks = key->keyspace;
    uint64_t hash = key->hash;
    if (!existing) {
        struct string_value value = string_value_zeros(length);
        return entry_raw_bytes(insert_new(ks, key->name, hash, &value, ENTRY_NO_DEADLINE));
    }
    if (__builtin_expect(limbo_nested(), 0)) existing = replace_by_copy(ks, existing, hash);
    before_change(ks, existing, hash);
    if (!make_writable(ks, existing, length)) {
        table_slot slot = slot_of(ks, existing, hash);
        index_remove(ks, existing);
        ks->entry_bytes -= entry_bytes(existing);
        existing = entry_take_writable(existing, length);
        note_added(ks, existing, hash);
        ks->entry_bytes += entry_bytes(existing);
        table_slot_replace(slot, existing);
        index_insert(ks, existing);
    }
    keyspace_note_access(existing);
    return entry_raw_bytes(existing);
}

struct entry *keyspace_put_value(const struct key *key, struct entry *existing,
                                 enum entry_type type, struct value v, int64_t deadline,
                                 unsigned recency) {
    struct keyspace *ks = key->keyspace;
    struct entry *e = entry_create_value(key->name, type, v, deadline, recency);
    if (existing) {
        put_instead(ks, existing, key->hash, e);
        free_entry(existing, lazyfree_wanted(LAZYFREE_SERVER_DEL));
    } else {
        put_in(ks, e, key->hash);
    }
    return e;
}

bool keyspace_put_loaded(struct keyspace *ks, struct entry *e, uint64_t hash, bool replaces) {
    struct slice name = entry_key(e);
    const struct key key = {ks, name, hash};
    struct entry *there = find_due_or_not(&key);
    if (__builtin_expect(!there, 1)) {
        put_new(ks, e, hash);
        return true;
    }
    if (!replaces) return false;
    put_instead(ks, there, hash, e);
    free_entry(there, lazyfree_wanted(LAZYFREE_SERVER_DEL));
    return true;
}

bool keyspace_reserve(struct keyspace *ks, size_t keys, size_t steps) {
    return key_map_reserve(&ks->map, keys, steps);
}

struct entry *keyspace_put_object(const struct key *key, struct entry *existing,
                                  enum entry_type type, struct value v) {
    unsigned recency = existing ? recency_successor(existing) : recency_initial();
    return keyspace_put_value(key, existing, type, v, ENTRY_NO_DEADLINE, recency);
}

struct entry *keyspace_change_begin(const struct key *key, struct entry *e, struct value *v) {
    struct keyspace *ks = key->keyspace;
    ASSERT_SLOW(e->type != ENTRY_STRING);
    if (__builtin_expect(limbo_nested(), 0)) e = replace_by_copy(ks, e, key->hash);
    before_change_of_members(ks, e, key->hash);
    recency_note(e);
    *v = entry_object(e);
    ks->entry_bytes -= entry_outside_bytes(e);
    return e;
}

void keyspace_change_end(const struct key *key, struct entry *e, struct value v) {
    entry_set_object(e, v);
    key->keyspace->entry_bytes += entry_outside_bytes(e);
}

size_t keyspace_evict(struct keyspace *ks, struct entry *e, uint64_t hash, bool lazily) {
    size_t bytes = entry_bytes(e);
    take_out(ks, e, hash);
    tell_removed(&(struct key){ks, entry_key(e), hash}, KEYSPACE_EVICTED);
    free_entry(e, lazily);
    return bytes;
}

void keyspace_drop(struct keyspace *ks, struct entry *e, uint64_t hash) {
    take_out(ks, e, hash);
    tell_removed(&(struct key){ks, entry_key(e), hash}, KEYSPACE_DROPPED);
    free_entry(e, true);
    gone++;
}

bool keyspace_remove(const struct key *key, bool lazily) {
    struct keyspace *ks = key->keyspace;
    /* A hidden key counts as absent, and stays. */
    if (__builtin_expect(expiry_holders, 0) && keyspace_presence(key) == KEYSPACE_HIDDEN)
        return false;
    struct entry *e = key_map_remove(&ks->map, key);
    if (!e) return false;
    bool due = is_due(e);
    before_removal(ks, e, key->hash);
    index_remove(ks, e);
    ks->entry_bytes -= entry_bytes(e);
    if (due) {
        expired++;
        gone++;
        tell_removed(key, KEYSPACE_EXPIRED);
    }
    free_entry(e, lazily);
    return !due;
}

void keyspace_remove_emptied(const struct key *key, struct entry *e) {
    take_out(key->keyspace, e, key->hash);
    free_entry(e, lazyfree_wanted(LAZYFREE_SERVER_DEL));
}

struct entry *keyspace_put_deadline(const struct key *key, struct entry *e, int64_t deadline) {
    struct keyspace *ks = key->keyspace;
    table_slot slot = slot_of(ks, e, key->hash);
    before_change(ks, e, key->hash);
    index_remove(ks, e);
    ks->entry_bytes -= entry_bytes(e);
    struct entry *moved = entry_take_with_deadline(e, deadline);
    note_added(ks, moved, key->hash);
    ks->entry_bytes += entry_bytes(moved);
    table_slot_replace(slot, moved);
    index_insert(ks, moved);
    return moved;
}

/* Removes the entry of a key that gets another value. */
static void make_way(struct keyspace *ks, struct slice key, uint64_t hash) {
    struct entry *e = keyspace_find(&(struct key){ks, key, hash});
    if (!e) return;
    take_out(ks, e, hash);
    free_entry(e, lazyfree_wanted(LAZYFREE_SERVER_DEL));
}

struct entry *keyspace_put_renamed(const struct key *from, struct entry *e, const struct key *to) {
    struct keyspace *ks = from->keyspace;
    make_way(ks, to->name, to->hash);
    before_change(ks, e, from->hash);
    take_out(ks, e, from->hash);
    struct entry *moved = entry_take_with_key(e, to->name);
    put_in(ks, moved, to->hash);
    return moved;
}

void keyspace_put_moved(const struct key *key, struct entry *e, struct keyspace *to) {
    ASSERT_SLOW(!keyspace_find(&(struct key){to, entry_key(e), key->hash}));
    before_change(key->keyspace, e, key->hash);
    take_out(key->keyspace, e, key->hash);
    frontier_add(NULL, e, key->hash);
    put_in(to, e, key->hash);
}

struct entry *keyspace_put_copy(const struct key *to, const struct entry *source) {
    make_way(to->keyspace, to->name, to->hash);
    struct entry *e = entry_dup(source, to->name, entry_deadline(source), recency_initial());
    put_in(to->keyspace, e, to->hash);
    return e;
}

void keyspace_swap(struct keyspace *a, struct keyspace *b) {
    if (anybody_hears(KEYSPACE_SWEEPS))
        for (const struct keyspace_observer *const *o = observers; *o; o++)
            if ((*o)->swapping) (*o)->swapping(a, b);
    struct keyspace c = *a;
    *a = *b;
    *b = c;
    frontier_exchange();
    int64_t bound = next_due_bound(keyspace_index(a));
    next_due_set(keyspace_index(a), next_due_bound(keyspace_index(b)));
    next_due_set(keyspace_index(b), bound);
    written++;
}

/* Before values are handed to the background thread: their tables must not be in the list of tables
 * that owe. */
static void leave_values_to_background(void) {
    if (!table_owing()) return;
    table_forget_owing();
    for (int i = 0; i < databases_wanted; i++) key_map_reconsider(&databases[i].map);
}

static void tell_flushing(struct keyspace *ks) {
    if (!anybody_hears(KEYSPACE_SWEEPS)) return;
    for (const struct keyspace_observer *const *o = observers; *o; o++)
        if ((*o)->flushing) (*o)->flushing(ks);
}

/* Takes a database's contents: the caller owns them, and the database is empty. */
static struct keyspace take_contents(struct keyspace *ks) {
    struct keyspace contents = *ks;
    volatile_keys -= keyspace_count_volatile(ks);
    next_due_set(keyspace_index(ks), INT64_MAX);
    *ks = (struct keyspace){0};
    return contents;
}

static void free_contents(struct key_map map, struct timebuckets *index, size_t entry_bytes,
                          enum lazyfree_way way) {
    if (way != LAZYFREE_NOW && (map.table || map.slots)) leave_values_to_background();
    lazyfree_keys(map, index, entry_bytes, way);
}

static struct key_map database_map(int database) { return databases[database].map; }
static void set_part(int database, struct frontier_part *part) { databases[database].part = part; }

static const struct frontier_host frontier_host = {keyspace_databases, database_map, set_part,
                                                   free_contents};

size_t keyspace_flush(struct keyspace *ks, enum lazyfree_way way) {
    size_t count = keyspace_count(ks);
    tell_flushing(ks);
    struct keyspace old = take_contents(ks);
    if (!old.part || !frontier_take_keys(old.part, old.volatiles, old.entry_bytes, way))
        free_contents(old.map, old.volatiles, old.entry_bytes, way);
    return count;
}

/* ---- all contents, set aside ---- */

struct keyspace_aside {
    int databases;
    struct keyspace contents[];
};

struct keyspace_aside *keyspace_set_aside(void) {
    size_t count = (size_t)databases_wanted;
    struct keyspace_aside *aside =
        memory_alloc(sizeof(*aside) + count * sizeof(aside->contents[0]), MEMORY_OTHER);
    aside->databases = (int)count;
    for (int i = 0; i < aside->databases; i++) {
        ASSERT(!databases[i].part);
        tell_flushing(&databases[i]);
        aside->contents[i] = take_contents(&databases[i]);
    }
    return aside;
}

void keyspace_take_back(struct keyspace_aside *aside) {
    for (int i = 0; i < aside->databases; i++) {
        struct keyspace *ks = &databases[i];
        struct keyspace none = take_contents(ks);
        ASSERT(!keyspace_count(&none));
        lazyfree_keys(none.map, none.volatiles, none.entry_bytes, LAZYFREE_NOW);
        *ks = aside->contents[i];
        if (!ks->volatiles) continue;
        volatile_keys += keyspace_count_volatile(ks);
        next_due_lower(i, timebuckets_next_deadline(ks->volatiles));
    }
    memory_free(aside, MEMORY_OTHER);
    frontier_note_foreign();
}

void keyspace_drop_aside(struct keyspace_aside *aside, enum lazyfree_way way) {
    if (way != LAZYFREE_NOW) leave_values_to_background();
    for (int i = 0; i < aside->databases; i++) {
        const struct keyspace *old = &aside->contents[i];
        lazyfree_keys(old->map, old->volatiles, old->entry_bytes, way);
    }
    memory_free(aside, MEMORY_OTHER);
}

/* ---- walks ---- */

struct walk {
    keyspace_visit *visit;
    void *context;
    struct entry *due[SCAN_DUE_MAX];
    size_t due_count;
};

static void walk_visit(void *element, void *context) {
    struct walk *w = context;
    if (!is_due(element))
        w->visit(element, w->context);
    else if (w->due_count < SCAN_DUE_MAX)
        w->due[w->due_count++] = element;
}

/* Deletes the due keys that a walk has met. */
static void expire_met(struct keyspace *ks, const struct walk *w) {
    for (size_t i = 0; i < w->due_count; i++) expire_now(ks, w->due[i], key_map_hash(w->due[i]));
}

size_t keyspace_slot_count(const struct keyspace *ks, unsigned slot) {
    return key_map_slot_count(&ks->map, slot);
}

struct slot_walk {
    struct walk all;
    size_t visited, wanted;
    bool enough;
};

static void slot_visit(void *element, void *context) {
    struct slot_walk *w = context;
    if (w->enough) return;
    w->visited += !is_due(element);
    w->enough = w->visited == w->wanted;
    walk_visit(element, &w->all);
}

size_t keyspace_slot_each(struct keyspace *ks, unsigned slot, size_t wanted, keyspace_visit *visit,
                          void *context) {
    struct slot_walk w = {.all = {.visit = visit, .context = context}, .wanted = wanted};
    if (wanted == 0 || key_map_slot_count(&ks->map, slot) == 0) return 0;
    table_each_until(key_map_slot_table(&ks->map, slot), &w.enough, slot_visit, &w);
    expire_met(ks, &w.all);
    return w.visited;
}

uint64_t keyspace_scan(struct keyspace *ks, uint64_t cursor, size_t wanted, keyspace_visit *visit,
                       void *context) {
    struct walk w = {.visit = visit, .context = context};
    cursor = key_map_scan(&ks->map, cursor, wanted, share_of(STEPS_PER_SCAN), walk_visit, &w);
    expire_met(ks, &w);
    return cursor;
}

void keyspace_each(const struct keyspace *ks, keyspace_visit *visit, void *context) {
    struct walk w = {.visit = visit, .context = context};
    key_map_each(&ks->map, walk_visit, &w);
}

static void keep_one(struct entry *e, void *context) { *(struct entry **)context = e; }

/* Searches for a key that is not due, from a random place on, wrapping. */
static struct entry *search_live(struct keyspace *ks) {
    struct entry *found = NULL;
    struct walk w = {.visit = keep_one, .context = &found};
    uint64_t cursor = random_u64();
    for (int round = 0; round < 2 && !found; round++) {
        do {
            cursor = key_map_scan(&ks->map, cursor, SIZE_MAX, 0, walk_visit, &w);
        } while (cursor && !found);
    }
    return found;
}

struct entry *keyspace_random(struct keyspace *ks) {
    size_t steps = share_of(STEPS_PER_DRAW);
    for (int i = 0; i < RANDOM_DRAWS; i++, steps = 0) {
        struct entry *e = key_map_random(&ks->map, steps);
        if (!e || !is_due(e)) return e;
        expire_now(ks, e, key_map_hash(e));
    }
    return search_live(ks);
}

/* Asks for the buckets of a group, and first for their tables' headers where there are many. */
static void prefetch_buckets(const struct keyspace *ks, const uint64_t *hashes, size_t count) {
    for (size_t i = 0; keyspace_is_partitioned() && i < count; i++)
        key_map_prefetch_table(&ks->map, hashes[i]);
    for (size_t i = 0; i < count; i++) key_map_prefetch_bucket(&ks->map, hashes[i]);
}

/* Prefetches the entries and then the buckets of a group, so that their cache misses overlap. */
static void prefetch_group(const struct keyspace *ks, void *const *group, uint64_t *hashes,
                           size_t count) {
    for (size_t i = 0; i < count; i++) __builtin_prefetch(group[i]);
    for (size_t i = 0; i < count; i++) hashes[i] = key_map_hash(group[i]);
    prefetch_buckets(ks, hashes, count);
}

size_t keyspace_expire_due(struct keyspace *ks, int64_t now_msec, size_t keys_max, bool *more) {
    void *group[EXPIRE_GROUP_MAX];
    uint64_t hashes[EXPIRE_GROUP_MAX];
    size_t done = 0;
    *more = false;
    if (!keyspace_may_expire()) return 0;
    while (ks->volatiles && done < keys_max) {
        size_t left = keys_max - done, wanted = left < EXPIRE_GROUP_MAX ? left : EXPIRE_GROUP_MAX;
        size_t count = timebuckets_peek_due_group(ks->volatiles, now_msec, group, wanted, more);
        if (!count) return done;
        prefetch_group(ks, group, hashes, count);
        for (size_t i = 0; i < count; i++) expire_now(ks, group[i], hashes[i]);
        done += count;
    }
    *more = ks->volatiles != NULL;
    return done;
}

struct entry *keyspace_random_volatile(struct keyspace *ks) {
    return ks->volatiles ? timebuckets_random(ks->volatiles) : NULL;
}

bool keyspace_expire_if_due(struct keyspace *ks, struct entry *e) {
    if (!keyspace_may_expire() || !is_due(e)) return false;
    expire_now(ks, e, key_map_hash(e));
    return true;
}

int64_t keyspace_deadline(const struct key *key) {
    const struct entry *e = find_due_or_not(key);
    return e ? entry_deadline(e) : ENTRY_NO_DEADLINE;
}

bool keyspace_expire_own(const struct key *key) {
    unsigned holders = expiry_holders;
    struct entry *e = find_due_or_not(key);
    if (holders > holders_elsewhere || !e || !is_due(e)) return false;
    expiry_holders = 0;
    expire_now(key->keyspace, e, key->hash);
    expiry_holders = holders;
    return true;
}

size_t keyspace_volatile_total(void) { return volatile_keys; }

const struct histogram *keyspace_expiry_lag(void) { return &expiry_lag; }

void keyspace_hold_expiry(struct keyspace_holder *holder, bool on) {
    if (holder->holds == on) return;
    holder->holds = on;
    expiry_holders = on ? expiry_holders + 1 : expiry_holders - 1;
    if (holder->elsewhere) holders_elsewhere = on ? holders_elsewhere + 1 : holders_elsewhere - 1;
}

bool keyspace_expiry_is_elsewhere(void) { return holders_elsewhere; }

bool keyspace_show_due(bool show) {
    bool before = due_is_shown;
    due_is_shown = show;
    return before;
}

size_t keyspace_due(const struct keyspace *ks, int64_t now_msec) {
    return ks->volatiles ? timebuckets_due(ks->volatiles, now_msec) : 0;
}

int64_t keyspace_next_deadline(const struct keyspace *ks) {
    return ks->volatiles ? timebuckets_next_deadline(ks->volatiles) : INT64_MAX;
}

const struct table *keyspace_prefetch_table(const struct keyspace *ks, uint64_t hash) {
    return key_map_prefetch_table(&ks->map, hash);
}

void keyspace_prefetch_bucket(const struct keyspace *ks, uint64_t hash) {
    key_map_prefetch_bucket(&ks->map, hash);
}

void keyspace_prefetch_entry(const struct keyspace *ks, uint64_t hash) {
    key_map_prefetch_entry(&ks->map, hash);
}

void keyspace_prefetch(const struct keyspace *ks, const uint64_t *hashes, size_t count) {
    prefetch_buckets(ks, hashes, count);
    for (size_t i = 0; i < count; i++) key_map_prefetch_entry(&ks->map, hashes[i]);
}

/* ---- moving blocks ---- */

static bool relocating_is_safe(void) { return !limbo_is_open() && !frontier_is_open(); }

void keyspace_relocate_some(struct keyspace *ks, struct key_walk *walk,
                            struct relocate_work *work) {
    struct relocate_entries entries = {work, ks->volatiles};
    ASSERT_SLOW(relocating_is_safe());
    key_map_relocate_some(&ks->map, walk, &work->moves, relocate_group, &entries);
}

bool keyspace_relocate_value(struct keyspace *ks, const struct entry *e, uint64_t hash,
                             unsigned type_number, struct value_cursor *c, struct relocation *r) {
    ASSERT_SLOW(relocating_is_safe());
    struct table *t = key_map_table(&ks->map, hash);
    if (!t || !table_holds(t, hash, e)) return true;
    struct entry *found = (struct entry *)(uintptr_t)e;
    if (found->type == ENTRY_STRING || found->type != type_number) return true;
    const struct value_type *type = value_type(found->type);
    struct value v = entry_object(found);
    bool through = !type->relocate || type->relocate(&v, c, r);
    entry_set_object(found, v);
    return through;
}

uint64_t keyspace_relocate_deadlines(struct keyspace *ks, uint64_t cursor, struct relocation *r) {
    ASSERT_SLOW(relocating_is_safe());
    return ks->volatiles ? timebuckets_relocate_some(ks->volatiles, cursor, r) : 0;
}

/* ---- work that was put off ---- */

void keyspace_settle(void) { settle_at = 0; }

/* Settles each database's index once. An index that SWAPDB moves past this walk settles while it is
 * asked for due keys. */
static void settle_step(size_t steps) {
    for (; settle_at < databases_wanted && steps; steps--) {
        struct timebuckets *volatiles = databases[settle_at].volatiles;
        if (!volatiles || !timebuckets_settle(volatiles, 1)) settle_at++;
    }
}

bool keyspace_maintain(size_t steps) {
    bool payable = active_rehashing && table_any_payable(), settles = settle_at < databases_wanted;
    if (!payable && !settles) return false;
    const struct cause *before = cause_enter(&tables_cause, clock_monotonic_nsec());
    if (payable) table_pay_owed(steps);
    if (settles) settle_step(steps);
    cause_leave(before, clock_monotonic_nsec());
    return (active_rehashing && table_any_payable()) || settle_at < databases_wanted;
}

size_t keyspace_table_bytes(const struct keyspace *ks) { return key_map_bytes(&ks->map); }

size_t keyspace_deadline_bytes(const struct keyspace *ks) {
    return ks->volatiles ? timebuckets_bytes(ks->volatiles) : 0;
}

size_t keyspace_overhead_bytes(void) {
    size_t bytes = 0;
    for (int i = 0; databases && i < databases_wanted; i++)
        bytes += keyspace_table_bytes(&databases[i]) + keyspace_deadline_bytes(&databases[i]);
    return bytes;
}

size_t keyspace_entry_bytes(const struct keyspace *ks) { return ks->entry_bytes; }

size_t keyspace_key_bytes(const struct entry *e) {
    size_t index = entry_has_deadline(e) ? TIMEBUCKETS_ELEMENT_BYTES : 0;
    return entry_bytes(e) + TABLE_ELEMENT_BYTES + index;
}

static void add_bytes(void *element, void *context) { *(size_t *)context += entry_bytes(element); }

static size_t entry_bytes_walked(const struct keyspace *ks) {
    struct key_walk walk = {0};
    size_t bytes = 0;
    while (!walk.done) key_walk_run(&walk, &ks->map, SIZE_MAX, NULL, add_bytes, &bytes);
    return bytes;
}

struct deadline_check {
    int64_t bound;
    deadline_sum sum;
};

static void check_deadline(void *element, void *context) {
    struct deadline_check *check = context;
    ASSERT(entry_deadline(element) >= check->bound);
    check->sum += entry_deadline(element);
}

/* The index does not change, so the walk comes to each element exactly once. */
static void check_deadlines(const struct keyspace *ks) {
    struct deadline_check check = {.bound = next_due_bound(keyspace_index(ks))};
    uint64_t cursor = 0;
    timebuckets_check(ks->volatiles);
    do {
        cursor = timebuckets_walk(ks->volatiles, cursor, check_deadline, &check);
    } while (cursor);
    ASSERT(check.sum == ks->deadlines);
}

void keyspace_check(const struct keyspace *ks) {
    key_map_check(&ks->map);
    if (ks->volatiles) check_deadlines(ks);
    ASSERT_COMPARE(entry_bytes_walked(ks), ==, ks->entry_bytes);
}
