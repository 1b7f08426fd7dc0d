/* SPDX-License-Identifier: BSD-3-Clause
 * Reading snapshots; rdb_save.c has the format. What older versions wrote is read too.
 *
 * A fault ends the load with its place and reason: what was loaded until then stays, and whoever
 * asked decides. A key that no database can have (a collection without members, which old versions
 * could write) is passed over, as is a key whose deadline is over.
 */
#include "persist/rdb_load.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/checksum.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/number.h"
#include "base/stream.h"
#include "exec/edit.h"
#include "option/option.h"
#include "persist/dump.h"
#include "persist/loading.h"
#include "persist/rdb_format.h"
#include "persist/rdb_save.h"
#include "store/entry.h"
#include "store/keyspace.h"
#include "store/recency.h"
#include "value/saved.h"

/* Buckets by which a database grows ahead at most: room for 5 million keys. */
#define RESERVE_STEPS (1 << 20)
/* A key takes so many bytes of a file at least: form, length, value. */
#define KEY_BYTES_MIN 3
/* Files of this version and later end with a checksum. */
#define CHECKSUM_SINCE 5
#define SHOWN_KEY_BYTES 64

static int64_t key_delay_usec;

struct load {
    struct source *in;
    const struct rdb_loading *how;
    struct rdb_loaded *result;
    struct keyspace *keyspace;
    int version;
    int64_t now_msec;
    struct buffer name, store; /* the key; what its value borrows */

    /* Of the next key. */
    int64_t deadline, idle_seconds, frequency;
};

/* Sets the first fault. */
static bool fault(struct load *l, const char *format, ...) __attribute__((format(printf, 2, 3)));
static bool fault(struct load *l, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(l->result->reason, sizeof(l->result->reason), format, arguments);
    va_end(arguments);
    l->result->offset = source_offset(l->in);
    return false;
}

static bool source_fault_seen(struct load *l) { return fault(l, "%s", source_fault(l->in)); }

static void next_key(struct load *l) {
    l->deadline = ENTRY_NO_DEADLINE;
    l->idle_seconds = l->frequency = -1;
}

static bool read_header(struct load *l) {
    char magic[sizeof(RDB_MAGIC) - 1 + 4];
    int64_t version;
    if (!source_read(l->in, magic, sizeof(magic))) return source_fault_seen(l);
    if (memcmp(magic, RDB_MAGIC, sizeof(RDB_MAGIC) - 1) != 0)
        return fault(l, "Wrong signature trying to load DB from file");
    version = 0;
    for (size_t i = sizeof(RDB_MAGIC) - 1; i < sizeof(magic); i++)
        version = magic[i] >= '0' && magic[i] <= '9' ? version * 10 + magic[i] - '0' : INT32_MAX;
    if (version < 1 || version > RDB_VERSION)
        return fault(l, "Can't handle RDB format version %.4s", magic + sizeof(RDB_MAGIC) - 1);
    l->version = (int)version;
    return true;
}

/* ---- one key ---- */

static unsigned recency_of_key(const struct load *l) {
    if (l->frequency >= 0) return recency_of_frequency((unsigned)l->frequency);
    if (l->idle_seconds >= 0) return recency_of_idle((uint64_t)l->idle_seconds);
    return recency_initial();
}

/* Takes the value. */
static bool put(struct load *l, struct slice name, enum value_kind kind, struct value v) {
    const struct key key = {l->keyspace, name, hash_bytes(name.bytes, name.length)};
    if (!l->how->replaces && keyspace_find(&key)) {
        int shown = name.length < SHOWN_KEY_BYTES ? (int)name.length : SHOWN_KEY_BYTES;
        value_type(kind)->release(v);
        return fault(l, "RDB has duplicated key '%.*s' in DB %d", shown, name.bytes,
                     keyspace_index(l->keyspace));
    }
    edit_load(&key, (enum entry_type)kind, v, l->deadline, recency_of_key(l));
    l->result->keys++;
    if (__builtin_expect(key_delay_usec == 0, 1)) return true;
    rdb_delay(key_delay_usec, l->result->keys);
    loading_look();
    return !loading_is_cut_short() || source_refuse(l->in, "the server is to stop");
}

static bool read_key(struct load *l, unsigned form) {
    struct string_value string;
    struct value v = {&string, 0};
    struct slice name;
    enum value_kind kind;
    if (form == SAVED_MODULE || form == SAVED_MODULE_OLD)
        return fault(l, "The RDB file contains module data I can't load: no matching module");
    if (!saved_form_kind(form, &kind))
        return fault(l, "Unknown RDB type or opcode %u: of a later version, or damaged", form);
    if (!saved_read_kept(l->in, &l->name, &name)) return source_fault_seen(l);
    if (name.length > UINT32_MAX) return fault(l, "A key is too long");
    enum value_loaded loaded = value_type(kind)->load(form, l->in, &l->store, &v);
    if (loaded == VALUE_REFUSED) return source_fault_seen(l);
    bool over = l->deadline != ENTRY_NO_DEADLINE && l->deadline <= l->now_msec;
    if (loaded == VALUE_EMPTY) {
        l->result->empty++;
        log_warning("rdbLoadObject skipping empty key: %.*s",
                    name.length < SHOWN_KEY_BYTES ? (int)name.length : SHOWN_KEY_BYTES, name.bytes);
    } else if (l->how->only_checks || (over && !l->how->keeps_expired)) {
        value_type(kind)->release(v);
        l->result->expired += over;
        l->result->keys += !over;
    } else if (!put(l, name, kind, v)) {
        return false;
    }
    next_key(l);
    return true;
}

/* ---- everything else ---- */

/* What operators want to know of where the file comes from. A name that nobody knows is for others,
 * or says something itself where it begins so. */
static void note_auxiliary(struct slice name, struct slice value) {
    int64_t number = 0;
    bool is_number = number_parse_int64(value.bytes, value.length, &number);
    if (slice_equal(name, SLICE("redis-ver"))) {
        log_notice("Loading RDB produced by version %.*s", (int)value.length, value.bytes);
    } else if (slice_equal(name, SLICE("ctime")) && is_number) {
        int64_t age = clock_wall_usec() / 1000000 - number;
        log_notice("RDB age %" PRId64 " seconds", age > 0 ? age : 0);
    } else if (slice_equal(name, SLICE("used-mem")) && is_number && number >= 0) {
        log_notice("RDB memory usage when created %.2f Mb", (double)number / (1024 * 1024));
        loading_note_memory((uint64_t)number);
    } else if (name.length && name.bytes[0] == '%') {
        log_notice("RDB '%.*s': %.*s", (int)name.length, name.bytes, (int)value.length,
                   value.bytes);
    }
}

static bool read_auxiliary(struct load *l) {
    struct slice name, value;
    if (!saved_read_kept(l->in, &l->name, &name) || !saved_read_text(l->in, &l->store, &value))
        return source_fault_seen(l);
    if (!l->how->only_checks) note_auxiliary(name, value);
    return true;
}

static bool read_sizes(struct load *l) {
    uint64_t keys, with_deadline;
    if (!saved_read_length(l->in, &keys) || !saved_read_length(l->in, &with_deadline))
        return source_fault_seen(l);
    if (keys > source_left_max(l->in) / KEY_BYTES_MIN) return true; /* a lie: nothing is reserved */
    if (!l->how->only_checks) edit_expect(l->keyspace, keys, RESERVE_STEPS);
    return true;
}

static bool read_database(struct load *l) {
    uint64_t index;
    if (!saved_read_length(l->in, &index)) return source_fault_seen(l);
    if (index >= (uint64_t)keyspace_databases())
        return fault(l,
                     "FATAL: Data file was created with a Redis server configured to handle more "
                     "than %d databases. Exiting",
                     keyspace_databases());
    l->keyspace = keyspace_at((int)index);
    return true;
}

static bool read_end(struct load *l) {
    uint64_t stated, sum = source_checksum(l->in);
    if (l->version < CHECKSUM_SINCE) return true;
    if (!saved_read_number(l->in, 8, &stated)) return source_fault_seen(l);
    if (stated == 0 || !rdb_checksums() || dump_skips_checksums() || stated == sum) return true;
    return fault(l,
                 "RDB CRC error: wrong RDB checksum expected: (%" PRIx64 ") but got (%" PRIx64 ")",
                 stated, sum);
}

static bool read_number(struct load *l, size_t bytes, int64_t *number) {
    uint64_t raw;
    if (!saved_read_number(l->in, bytes, &raw)) return source_fault_seen(l);
    *number = bytes == 4 ? (int64_t)(int32_t)raw : (int64_t)raw;
    return true;
}

static bool read_deadline(struct load *l, bool seconds) {
    if (!read_number(l, seconds ? 4 : 8, &l->deadline)) return false;
    if (seconds) l->deadline *= 1000;
    /* The two lowest numbers mean something else to the keyspace. */
    if (l->deadline < 0) l->deadline = 0;
    return true;
}

static bool read_idle(struct load *l) {
    uint64_t seconds;
    if (!saved_read_length(l->in, &seconds)) return source_fault_seen(l);
    l->idle_seconds = seconds < INT64_MAX ? (int64_t)seconds : INT64_MAX;
    return true;
}

static bool read_mark(struct load *l, unsigned char mark) {
    switch (mark) {
    case RDB_MODULE_AUX:
        return fault(l, "The RDB file contains AUX module data I can't load: no matching module");
    case RDB_IDLE: return read_idle(l);
    case RDB_FREQUENCY: return read_number(l, 1, &l->frequency);
    case RDB_AUX: return read_auxiliary(l);
    case RDB_SIZES: return read_sizes(l);
    case RDB_DEADLINE_MSEC: return read_deadline(l, false);
    case RDB_DEADLINE_SEC: return read_deadline(l, true);
    case RDB_DATABASE: return read_database(l);
    default: return read_key(l, mark);
    }
}

static bool read_all(struct load *l) {
    unsigned char mark;
    if (!read_header(l)) return false;
    do {
        if (!source_read(l->in, &mark, 1)) return source_fault_seen(l);
        if (mark != RDB_END && !read_mark(l, mark)) return false;
    } while (mark != RDB_END);
    return read_end(l);
}

bool rdb_load(struct source *in, const struct rdb_loading *how, struct rdb_loaded *result) {
    struct load l = {.in = in, .how = how, .result = result, .keyspace = keyspace_at(0)};
    *result = (struct rdb_loaded){0};
    l.now_msec = clock_wall_usec() / 1000;
    buffer_init(&l.name, MEMORY_OTHER);
    buffer_init(&l.store, MEMORY_OTHER);
    next_key(&l);
    if (rdb_checksums()) source_checksum_begin(in, checksum_crc64, 0);
    loading_watch(in);
    bool good = read_all(&l);
    buffer_free(&l.name);
    buffer_free(&l.store);
    return good;
}

int64_t rdb_load_delay_usec(void) { return key_delay_usec; }

static const struct option_row option_rows[] = {
    OPTION_INT("key-load-delay", &key_delay_usec, "0", INT32_MIN, INT32_MAX,
               OPTION_MUTABLE | OPTION_HIDDEN, "snapshots", 100,
               "For tests: microseconds to wait after each key that is loaded; -N: one after N."),
};

void rdb_load_register(void) {
    option_register(option_rows, sizeof(option_rows) / sizeof(option_rows[0]));
}
