/* SPDX-License-Identifier: BSD-3-Clause
 * Writing snapshots.
 *
 *   "REDIS0009"
 *   facts about the file: names with values (rdb/rdb_fields)
 *   each database that has keys: its number, how many keys and keys with deadlines, the keys
 *     a key: deadline, idle time or frequency, where it has any; form, key, value
 *   more of such names and values
 *   end, CRC-64 of all before it (8 bytes, lowest first; 0 where rdbchecksum is no)
 *
 * Keys go through a pipeline (io/pipeline): the saving thread walks over the table and copies
 * entries as they are, and only that must see the data of one moment. Any free thread encodes,
 * compresses and writes them. A copy is read as the entry itself; what it points to (another type's
 * value, a long string) is read in place, because no data changes meanwhile: the process that saves
 * serves no clients.
 */
#include "rdb/rdb_save.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "base/checksum.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/panic.h"
#include "base/stream.h"
#include "base/version.h"
#include "io/child.h"
#include "io/pipeline.h"
#include "io/signals.h"
#include "option/option.h"
#include "rdb/dump.h"
#include "rdb/piece.h"
#include "rdb/rdb_fields.h"
#include "rdb/rdb_format.h"
#include "store/keyspace.h"
#include "value/saved.h"

static bool checksums;
static int64_t key_delay_usec, threads;

bool rdb_checksums(void) { return checksums; }
unsigned rdb_threads(void) { return (unsigned)threads; }

static void write_number(struct sink *out, const char *name, int64_t number) {
    char digits[NUMBER_INT64_CHARS];
    rdb_field_write(out, name, (struct slice){digits, number_format_int64(digits, number)});
}

void rdb_delay(int64_t usec, uint64_t key) {
    if (usec < 0 && key % (uint64_t)-usec != 0) return;
    int64_t wait = usec < 0 ? 1 : usec;
    struct timespec left = {wait / 1000000, wait % 1000000 * 1000};
    while (nanosleep(&left, &left) && errno == EINTR && !signals_shutdown_requested()) continue;
}

/* ---- A file's parts ---- */

void rdb_save_head(struct sink *out, bool preamble) {
    char magic[sizeof(RDB_MAGIC) + 4];
    snprintf(magic, sizeof(magic), RDB_MAGIC "%04d", RDB_VERSION);
    sink_write(out, magic, sizeof(magic) - 1);
    rdb_field_write(out, "redis-ver", slice_of(REDIS_VERSION));
    write_number(out, "redis-bits", 64);
    write_number(out, "ctime", clock_wall_usec() / 1000000);
    write_number(out, "used-mem", (int64_t)memory_used_total());
    if (!preamble) rdb_fields_save(out, false);
    write_number(out, "aof-preamble", preamble);
}

void rdb_save_database(struct sink *out, int database, bool sizes) {
    const struct keyspace *ks = keyspace_at(database);
    sink_write_byte(out, RDB_DATABASE);
    saved_write_length(out, (uint64_t)database);
    if (!sizes) return;
    sink_write_byte(out, RDB_SIZES);
    saved_write_length(out, keyspace_count(ks));
    saved_write_length(out, keyspace_count_volatile(ks));
}

void rdb_save_tail(struct sink *out, bool preamble) {
    if (!preamble) rdb_fields_save(out, true);
}

void rdb_save_begin(struct sink *out) {
    if (checksums) sink_checksum_begin(out, checksum_crc64, 0);
}

bool rdb_save_end(struct sink *out) {
    sink_write_byte(out, RDB_END);
    saved_write_number(out, checksums ? sink_checksum(out) : 0, 8);
    sink_checksum_begin(out, NULL, 0);
    return sink_flush(out);
}

/* ---- All at once ---- */

struct save {
    struct pipeline *pipeline;
    uint64_t keys;
};

static void save_entry(struct entry *e, void *context) {
    struct save *save = context;
    char recency[PIECE_RECENCY_BYTES_MAX];
    if (pipeline_failed(save->pipeline)) return;
    size_t length = piece_recency(e, recency);
    if (length) piece_give_bytes(save->pipeline, (struct slice){recency, length});
    piece_give_entry(save->pipeline, e);
    child_note_keys(++save->keys);
    if (__builtin_expect(key_delay_usec != 0, 0)) rdb_delay(key_delay_usec, save->keys);
}

static void save_database(int database, struct save *save) {
    struct buffer head;
    struct buffer_sink out;
    buffer_init(&head, MEMORY_OTHER);
    buffer_sink_init(&out, &head);
    rdb_save_database(&out.sink, database, true);
    buffer_sink_end(&out);
    piece_give_bytes(save->pipeline, buffer_slice(&head));
    buffer_free(&head);
    keyspace_each(keyspace_at(database), save_entry, save);
}

static bool save_all_databases(struct sink *out) {
    struct save save = {pipeline_create(out, piece_encode_snapshot, rdb_threads()), 0};
    for (int i = 0; i < keyspace_databases(); i++)
        if (keyspace_count(keyspace_at(i))) save_database(i, &save);
    return pipeline_end(save.pipeline);
}

/* A replica keeps keys that are due until its primary deletes them, so they are saved too. */
static bool save_databases(struct sink *out) {
    if (!keyspace_expiry_is_elsewhere()) return save_all_databases(out);
    bool shown = keyspace_show_due(true);
    bool good = save_all_databases(out);
    keyspace_show_due(shown);
    return good;
}

static bool save_all(struct sink *out, bool preamble) {
    rdb_save_begin(out);
    rdb_save_head(out, preamble);
    if (!save_databases(out)) return false;
    rdb_save_tail(out, preamble);
    return rdb_save_end(out);
}

bool rdb_save(struct sink *out) { return save_all(out, false); }
bool rdb_save_preamble(struct sink *out) { return save_all(out, true); }

int64_t rdb_save_delay_usec(void) { return key_delay_usec; }

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
    OPTION_INT(
        "snapshot-threads", &threads, "1", 0, PIPELINE_THREADS_MAX, OPTION_MUTABLE, "snapshots", 35,
        "Threads that help the saving thread to encode, compress and write a snapshot (in SAVE, "
        "and in the children of BGSAVE and BGREWRITEAOF), and the loading thread to build values."),
};

void rdb_save_register(void) {
    option_register(option_rows, sizeof(option_rows) / sizeof(option_rows[0]));
}
