/* SPDX-License-Identifier: BSD-3-Clause
 * The keyspace: a table of entries and an index by deadline for each database.
 *
 * Invariants
 *  1. An entry stands in its database's table; it stands in the deadline index exactly when it has
 *     a deadline (entry_has_deadline). Table and index are created with the first entry that needs
 *     them and kept, so that an unused database costs nothing.
 *  2. What moves an entry (another size) puts its new address into both before it returns.
 *  3. No lookup returns an entry whose deadline has passed; the first that meets it deletes it.
 *
 * Ownership: the table owns the entries; entries own their values.
 */
#include "store/keyspace.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/panic.h"
#include "ds/table.h"
#include "ds/timebuckets.h"
#include "metric/metric.h"
#include "option/option.h"

struct keyspace {
    struct table *table;           /* NULL until the first key */
    struct timebuckets *volatiles; /* NULL until the first key with a deadline */
};

/* Recency has 24 bits of seconds, as 6.2's LRU clock. */
#define LRU_CLOCK_MASK 0xffffffu
/* Keys looked at to estimate the mean time to live in INFO. */
#define AVERAGE_TTL_SAMPLE 16

static struct keyspace *databases;
static int64_t databases_wanted;
static int64_t min_fill_percent;
static bool resize_tables, active_rehashing;
static uint64_t hits, misses, expired, changes;

/* ---- what table and index must know of entries ---- */

static uint64_t element_hash(const void *element) {
    struct slice key = entry_key(element);
    return hash_bytes(key.bytes, key.length);
}

static bool element_matches(const void *element, const void *key, size_t key_length) {
    struct slice own = entry_key(element);
    return own.length == key_length && memcmp(own.bytes, key, key_length) == 0;
}

static const struct table_type entry_table_type = {element_hash, element_matches, MEMORY_DATASET};

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
    for (int i = 0; databases && i < databases_wanted; i++)
        if (databases[i].table) table_set_min_fill(databases[i].table, min_fill_now());
    return true;
}

static const struct option_row option_rows[] = {
    OPTION_INT("databases", &databases_wanted, "16", 1, INT32_MAX, 0, "general", 10,
               "Number of databases that SELECT can choose from, numbered from 0."),
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

static void print_databases(struct buffer *out) {
    for (int i = 0; databases && i < databases_wanted; i++) {
        struct keyspace *ks = &databases[i];
        if (!keyspace_count(ks)) continue;
        buffer_printf(out, "db%d:keys=%zu,expires=%zu,avg_ttl=%lld\r\n", i, keyspace_count(ks),
                      keyspace_count_volatile(ks), (long long)keyspace_average_ttl_msec(ks));
    }
}

static void print_due(struct buffer *out) {
    size_t due = 0;
    for (int i = 0; databases && i < databases_wanted; i++)
        due += keyspace_due(&databases[i], clock_cached_msec());
    buffer_printf(out, "%zu", due);
}

static const struct metric_row metric_rows[] = {
    {.section = "Stats",
     .place = 120,
     .name = "expired_keys",
     .type = METRIC_UINT64,
     .variable = &expired,
     .reset = true,
     .help = "Keys deleted because their time had come."},
    {.section = "Stats",
     .place = 170,
     .name = "keyspace_hits",
     .type = METRIC_UINT64,
     .variable = &hits,
     .reset = true,
     .help = "Lookups by reading commands that found their key."},
    {.section = "Stats",
     .place = 180,
     .name = "keyspace_misses",
     .type = METRIC_UINT64,
     .variable = &misses,
     .reset = true,
     .help = "Lookups by reading commands that found none."},
    {.section = "Stats",
     .place = 1010,
     .name = "expire_due_backlog",
     .type = METRIC_FUNCTION,
     .print = print_due,
     .help = "Keys that are due and not yet deleted."},
    {.section = "Keyspace",
     .place = 10,
     .name = "db<N>",
     .print_lines = print_databases,
     .help = "Keys, keys with a deadline, and their mean time to live in ms, of each database that "
             "is not empty."},
};

void keyspace_register(void) {
    option_register(option_rows, sizeof(option_rows) / sizeof(option_rows[0]));
    metric_register(metric_rows, sizeof(metric_rows) / sizeof(metric_rows[0]));
}

void keyspace_open(void) {
    databases = memory_zalloc((size_t)databases_wanted * sizeof(*databases), MEMORY_OTHER);
}

int keyspace_databases(void) { return (int)databases_wanted; }
struct keyspace *keyspace_at(int index) {
    ASSERT(index >= 0 && index < databases_wanted);
    return &databases[index];
}
int keyspace_index(const struct keyspace *ks) { return (int)(ks - databases); }
size_t keyspace_count(const struct keyspace *ks) { return ks->table ? table_count(ks->table) : 0; }
size_t keyspace_count_volatile(const struct keyspace *ks) {
    return ks->volatiles ? timebuckets_count(ks->volatiles) : 0;
}
const struct table *keyspace_table(const struct keyspace *ks) { return ks->table; }
uint64_t keyspace_changes(void) { return changes; }
void keyspace_note_change(uint64_t count) { changes += count; }
unsigned keyspace_lru_clock(void) {
    return (unsigned)(clock_cached_msec() / 1000) & LRU_CLOCK_MASK;
}

int64_t keyspace_average_ttl_msec(struct keyspace *ks) {
    if (!keyspace_count_volatile(ks)) return 0;
    int64_t now = clock_cached_msec();
    double sum = 0;
    for (int i = 0; i < AVERAGE_TTL_SAMPLE; i++) {
        int64_t left = entry_deadline(timebuckets_random(ks->volatiles)) - now;
        if (left > 0) sum += (double)left;
    }
    return (int64_t)(sum / AVERAGE_TTL_SAMPLE);
}

/* ---- the index by deadline ---- */

static void index_insert(struct keyspace *ks, struct entry *e) {
    if (!entry_has_deadline(e)) return;
    if (!ks->volatiles) ks->volatiles = timebuckets_create(&entry_index_type);
    timebuckets_insert(ks->volatiles, e);
}

static void index_remove(struct keyspace *ks, struct entry *e) {
    if (entry_has_deadline(e)) timebuckets_remove(ks->volatiles, e);
}

/* ---- lookups ---- */

static bool is_due(const struct entry *e) {
    return entry_has_deadline(e) && entry_deadline(e) <= clock_cached_msec();
}

/* Out of table and index, and freed. */
static void drop(struct keyspace *ks, struct entry *e, uint64_t hash) {
    index_remove(ks, e);
    bool there = table_remove_element(ks->table, hash, e);
    ASSERT(there);
    entry_free(e);
}

static void expire_now(struct keyspace *ks, struct entry *e, uint64_t hash) {
    drop(ks, e, hash);
    expired++;
    changes++;
}

struct entry *keyspace_find(struct keyspace *ks, struct slice key, uint64_t hash) {
    if (!ks->table) return NULL;
    struct entry *e = table_find(ks->table, hash, key.bytes, key.length);
    if (e && __builtin_expect(is_due(e), 0)) {
        expire_now(ks, e, hash);
        return NULL;
    }
    return e;
}

struct entry *keyspace_read(struct keyspace *ks, struct slice key, uint64_t hash) {
    struct entry *e = keyspace_find(ks, key, hash);
    if (!e) {
        misses++;
        return NULL;
    }
    hits++;
    unsigned now = keyspace_lru_clock();
    if (e->recency != now) e->recency = now & LRU_CLOCK_MASK;
    return e;
}

/* ---- changes ---- */

static table_slot slot_of(struct keyspace *ks, const struct entry *e, uint64_t hash) {
    struct slice key = entry_key(e);
    table_slot slot = table_find_slot(ks->table, hash, key.bytes, key.length);
    ASSERT(slot && table_slot_element(slot) == e);
    return slot;
}

static struct entry *insert_new(struct keyspace *ks, struct slice key, uint64_t hash,
                                const struct entry_value *value, int64_t deadline) {
    if (!ks->table) {
        ks->table = table_create(&entry_table_type);
        table_set_min_fill(ks->table, min_fill_now());
    }
    struct entry *e = entry_create(key, value, deadline, keyspace_lru_clock());
    table_insert(ks->table, hash, e);
    index_insert(ks, e);
    return e;
}

struct entry *keyspace_store(struct keyspace *ks, struct slice key, uint64_t hash,
                             struct entry *existing, const struct entry_value *value,
                             int64_t deadline) {
    changes++;
    if (deadline == KEYSPACE_KEEP_DEADLINE)
        deadline = existing ? entry_deadline(existing) : ENTRY_NO_DEADLINE;
    if (!existing) return insert_new(ks, key, hash, value, deadline);

    int64_t old_deadline = entry_deadline(existing);
    bool same_shape = entry_has_deadline(existing) == (deadline != ENTRY_NO_DEADLINE);
    if (same_shape && entry_try_overwrite(existing, value)) {
        if (deadline != old_deadline) {
            timebuckets_remove(ks->volatiles, existing);
            entry_set_deadline(existing, deadline);
            timebuckets_insert(ks->volatiles, existing);
        }
        unsigned now = keyspace_lru_clock();
        if (existing->recency != now) existing->recency = now & LRU_CLOCK_MASK;
        return existing;
    }
    struct entry *e = entry_create(key, value, deadline, keyspace_lru_clock());
    table_slot_replace(slot_of(ks, existing, hash), e);
    index_remove(ks, existing);
    index_insert(ks, e);
    entry_free(existing);
    return e;
}

bool keyspace_delete(struct keyspace *ks, struct slice key, uint64_t hash) {
    if (!ks->table) return false;
    struct entry *e = table_remove(ks->table, hash, key.bytes, key.length);
    if (!e) return false;
    bool due = is_due(e);
    index_remove(ks, e);
    entry_free(e);
    if (due) expired++;
    changes++;
    return !due;
}

struct entry *keyspace_set_deadline(struct keyspace *ks, struct entry *e, uint64_t hash,
                                    int64_t deadline) {
    table_slot slot = slot_of(ks, e, hash);
    index_remove(ks, e);
    struct entry *moved = entry_take_with_deadline(e, deadline);
    table_slot_replace(slot, moved);
    index_insert(ks, moved);
    changes++;
    return moved;
}

static void release_entry(void *element, void *context) { entry_free(element); }

size_t keyspace_flush(struct keyspace *ks) {
    size_t count = keyspace_count(ks);
    if (ks->volatiles) timebuckets_free(ks->volatiles);
    ks->volatiles = NULL;
    if (ks->table) {
        while (!table_free_step(ks->table, SIZE_MAX, release_entry, NULL)) continue;
        ks->table = NULL;
    }
    changes += count;
    return count;
}

size_t keyspace_expire_due(struct keyspace *ks, int64_t now_msec, size_t keys_max, bool *more) {
    size_t done = 0;
    *more = false;
    while (ks->volatiles && done < keys_max) {
        struct entry *e = timebuckets_peek_due(ks->volatiles, now_msec, more);
        if (!e) return done;
        expire_now(ks, e, element_hash(e));
        done++;
    }
    *more = ks->volatiles != NULL;
    return done;
}

size_t keyspace_due(const struct keyspace *ks, int64_t now_msec) {
    return ks->volatiles ? timebuckets_due(ks->volatiles, now_msec) : 0;
}

int64_t keyspace_next_deadline(const struct keyspace *ks) {
    return ks->volatiles ? timebuckets_next_deadline(ks->volatiles) : INT64_MAX;
}

void keyspace_prefetch_bucket(const struct keyspace *ks, uint64_t hash) {
    if (ks->table) table_prefetch_bucket(ks->table, hash);
}

void keyspace_prefetch_entry(const struct keyspace *ks, uint64_t hash) {
    if (ks->table) table_prefetch_element(ks->table, hash);
}

bool keyspace_maintain(size_t steps) {
    bool owed = false;
    if (!active_rehashing) return false;
    for (int i = 0; databases && i < databases_wanted; i++) {
        struct table *t = databases[i].table;
        if (!t || !table_owes(t)) continue;
        if (steps) steps -= table_pay(t, steps);
        owed = owed || table_owes(t);
    }
    return owed;
}

size_t keyspace_overhead_bytes(void) {
    size_t bytes = 0;
    for (int i = 0; databases && i < databases_wanted; i++) {
        if (databases[i].table) bytes += table_bytes(databases[i].table);
        if (databases[i].volatiles) bytes += timebuckets_bytes(databases[i].volatiles);
    }
    return bytes;
}

void keyspace_check(const struct keyspace *ks) {
    if (ks->table) table_check(ks->table);
    if (ks->volatiles) timebuckets_check(ks->volatiles);
}
