/* SPDX-License-Identifier: BSD-3-Clause
 * A writable replica's own keys. own_keys.h has the idea.
 *
 * They stand in a table by name and in an index by deadline. The keyspace's own index cannot be
 * used, because it also has the primary's keys, which stay until the primary deletes them.
 *
 * Invariants
 *  1. A row is in the table and in the index, or in neither.
 *  2. Interest in the keyspace's changes is declared exactly while own keys are noticed or there
 *     are any.
 *  3. A row's deadline is its key's at the last change that was observed. A key that changed
 *     otherwise (SWAPDB) is looked up when its row is due.
 */
#include "replication/own_keys.h"

#include "base/clock.h"
#include "base/list.h"
#include "command/call.h"
#include "ds/timebuckets.h"
#include "metric/row.h"
#include "store/entry.h"
#include "store/key_table.h"
#include "store/keyspace.h"

/* The most keys that a cron deletes. */
#define DUE_MAX 1000

struct own_key {
    struct key_row row;
    struct list_link link; /* of `all` */
    int64_t deadline;
    uint32_t reference;
};

static struct list_link all = {&all, &all};
static struct key_table keys = {.row_bytes = sizeof(struct own_key)};
static struct timebuckets *deadlines;
static bool notices, interested;

static int64_t deadline_of(const void *element) {
    return ((const struct own_key *)element)->deadline;
}
static uint32_t reference_of(const void *element) {
    return ((const struct own_key *)element)->reference;
}
static void set_reference(void *element, uint32_t reference) {
    ((struct own_key *)element)->reference = reference;
}

static const struct timebuckets_type by_deadline = {deadline_of, reference_of, set_reference,
                                                    MEMORY_OTHER};

static void own_keys_look_at_interest(void) {
    bool wants = notices || key_table_count(&keys);
    if (wants == interested) return;
    interested = wants;
    keyspace_add_interest(KEYSPACE_WRITES, wants ? 1 : -1);
    keyspace_add_interest(KEYSPACE_REMOVALS, wants ? 1 : -1);
    keyspace_add_interest(KEYSPACE_SWEEPS, wants ? 1 : -1);
}

/* ---- rows ---- */

static void own_key_drop(struct own_key *k) {
    timebuckets_remove(deadlines, k);
    list_remove(&k->link);
    key_table_free(&keys, &k->row);
}

static void own_key_note(const struct key *key, int64_t deadline) {
    struct own_key *k = key_table_find(&keys, key);
    bool more;
    if (!deadlines) {
        deadlines = timebuckets_create(&by_deadline);
        timebuckets_peek_due(deadlines, clock_cached_msec(), &more); /* sets the index's time */
    }
    if (k) {
        timebuckets_remove(deadlines, k);
    } else {
        k = key_table_create(&keys, key);
        list_append(&all, &k->link);
    }
    k->deadline = deadline;
    timebuckets_insert(deadlines, k);
}

/* ---- what the keyspace tells ---- */

static bool is_clients(const struct call *call) {
    return call && !call_is_repeated(call) && call->origin != CALL_SCRIPT_AGAIN;
}

static void own_keys_changed(const struct key *key, enum keyspace_cause cause) {
    int64_t deadline = keyspace_deadline(key);
    struct own_key *k = key_table_find(&keys, key);
    bool own = cause == KEYSPACE_WRITTEN && deadline != ENTRY_NO_DEADLINE &&
               is_clients(call_running()) && (notices || k);
    if (own)
        own_key_note(key, deadline);
    else if (k)
        own_key_drop(k);
}

static void own_keys_flushing(struct keyspace *ks) {
    LIST_FOR_EACH (link, following, &all) {
        struct own_key *k = LIST_ENTRY(link, struct own_key, link);
        if (k->row.database == keyspace_index(ks)) own_key_drop(k);
    }
}

const struct keyspace_observer own_keys_observer = {.changed = own_keys_changed,
                                                    .flushing = own_keys_flushing};

/* ---- from outside ---- */

void own_keys_notice(bool notice) {
    notices = notice;
    own_keys_look_at_interest();
}

void own_keys_forget(void) {
    LIST_FOR_EACH (link, following, &all) own_key_drop(LIST_ENTRY(link, struct own_key, link));
    own_keys_look_at_interest();
}

/* True where the key was deleted, or is no own key any more; false: no key may expire now. */
static bool own_key_expire(struct own_key *k) {
    const struct key key = key_row_key(&k->row);
    int64_t deadline = keyspace_deadline(&key);
    if (deadline != ENTRY_NO_DEADLINE && deadline <= clock_cached_msec())
        return keyspace_expire_own(&key);
    own_key_drop(k); /* another key has the name now */
    return true;
}

void own_keys_cron(void) {
    bool more = true;
    for (int left = DUE_MAX; key_table_count(&keys) && left && more; left--) {
        struct own_key *k = timebuckets_peek_due(deadlines, clock_cached_msec(), &more);
        if (k) more = own_key_expire(k);
    }
    own_keys_look_at_interest();
}

static void print_own_keys(const struct metric_row *row, struct buffer *out) {
    buffer_printf(out, "%zu", key_table_count(&keys));
}

static const struct metric_row metric_rows[] = {
    METRIC_PRINT("Stats", 240, "slave_expires_tracked_keys", METRIC_GAUGE, print_own_keys,
                 "Keys with a deadline that clients of this writable replica have made."),
};

void own_keys_register(void) {
    metric_register(metric_rows, sizeof(metric_rows) / sizeof(metric_rows[0]));
}
