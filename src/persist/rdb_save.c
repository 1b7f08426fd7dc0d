/* SPDX-License-Identifier: BSD-3-Clause
 * Writing snapshots.
 *
 *   "REDIS0009"
 *   what there is to know of the file: names with values
 *   each database that has keys: its number, how many keys and keys with deadlines, the keys
 *     a key: deadline, idle time or frequency, where it has any; form, key, value
 *   end, CRC-64 of all before it (8 bytes, lowest first; 0 where rdbchecksum is no)
 */
#include "persist/rdb_save.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "base/checksum.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/stream.h"
#include "base/version.h"
#include "io/child.h"
#include "io/signals.h"
#include "option/option.h"
#include "persist/dump.h"
#include "persist/rdb_format.h"
#include "store/entry.h"
#include "store/evict.h"
#include "store/keyspace.h"
#include "store/recency.h"
#include "value/saved.h"

static bool checksums;
static int64_t key_delay_usec;

bool rdb_checksums(void) { return checksums; }

struct save {
    struct sink *out;
    uint64_t keys;
};

static void write_auxiliary(struct sink *out, const char *name, struct slice value) {
    sink_write_byte(out, RDB_AUX);
    saved_write_text(out, slice_of(name));
    saved_write_text(out, value);
}

static void write_number(struct sink *out, const char *name, int64_t number) {
    char digits[NUMBER_INT64_CHARS];
    write_auxiliary(out, name, (struct slice){digits, number_format_int64(digits, number)});
}

static void save_recency(const struct entry *e, struct sink *out) {
    if (recency_uses_frequency()) {
        sink_write_byte(out, RDB_FREQUENCY);
        sink_write_byte(out, (unsigned char)recency_frequency(e));
    } else if (evict_policy() == EVICT_VOLATILE_LRU || evict_policy() == EVICT_ALLKEYS_LRU) {
        sink_write_byte(out, RDB_IDLE);
        saved_write_length(out, recency_idle_seconds(e));
    }
}

void rdb_delay(int64_t usec, uint64_t key) {
    if (usec < 0 && key % (uint64_t)-usec != 0) return;
    int64_t wait = usec < 0 ? 1 : usec;
    struct timespec left = {wait / 1000000, wait % 1000000 * 1000};
    while (nanosleep(&left, &left) && errno == EINTR && !signals_shutdown_requested()) continue;
}

static void save_entry(struct entry *e, void *context) {
    struct save *save = context;
    struct string_value room;
    struct value v = entry_value(e, &room);
    if (sink_error(save->out)) return;
    if (entry_has_deadline(e)) {
        sink_write_byte(save->out, RDB_DEADLINE_MSEC);
        saved_write_number(save->out, (uint64_t)entry_deadline(e), 8);
    }
    save_recency(e, save->out);
    saved_write_form(save->out, (enum value_kind)e->type, v);
    saved_write_text(save->out, entry_key(e));
    saved_write_value(save->out, (enum value_kind)e->type, v);
    child_note_keys(++save->keys);
    if (__builtin_expect(key_delay_usec != 0, 0)) rdb_delay(key_delay_usec, save->keys);
}

static void save_database(struct keyspace *ks, struct save *save) {
    if (keyspace_count(ks) == 0) return;
    sink_write_byte(save->out, RDB_DATABASE);
    saved_write_length(save->out, (uint64_t)keyspace_index(ks));
    sink_write_byte(save->out, RDB_SIZES);
    saved_write_length(save->out, keyspace_count(ks));
    saved_write_length(save->out, keyspace_count_volatile(ks));
    keyspace_each(ks, save_entry, save);
}

bool rdb_save(struct sink *out) {
    struct save save = {out, 0};
    if (checksums) sink_checksum_begin(out, checksum_crc64, 0);
    char magic[sizeof(RDB_MAGIC) + 4];
    snprintf(magic, sizeof(magic), RDB_MAGIC "%04d", RDB_VERSION);
    sink_write(out, magic, sizeof(magic) - 1);
    write_auxiliary(out, "redis-ver", slice_of(REDIS_VERSION));
    write_number(out, "redis-bits", 64);
    write_number(out, "ctime", clock_wall_usec() / 1000000);
    write_number(out, "used-mem", (int64_t)memory_used_total());
    write_number(out, "aof-preamble", 0);
    for (int i = 0; i < keyspace_databases(); i++) save_database(keyspace_at(i), &save);
    sink_write_byte(out, RDB_END);
    saved_write_number(out, checksums ? sink_checksum(out) : 0, 8);
    return sink_flush(out);
}

uint64_t rdb_keys_total(void) {
    uint64_t keys = 0;
    for (int i = 0; i < keyspace_databases(); i++) keys += keyspace_count(keyspace_at(i));
    return keys;
}

static const struct option_row option_rows[] = {
    OPTION_BOOL("rdbchecksum", &checksums, true, 0, "snapshots", 40,
                "Write and check a checksum at the end of a snapshot."),
    OPTION_INT("rdb-key-save-delay", &key_delay_usec, "0", INT32_MIN, INT32_MAX,
               OPTION_MUTABLE | OPTION_HIDDEN, "snapshots", 90,
               "For tests: microseconds to wait after each key that is saved; -N: one after N."),
};

void rdb_save_register(void) {
    option_register(option_rows, sizeof(option_rows) / sizeof(option_rows[0]));
}
