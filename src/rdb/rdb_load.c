/* SPDX-License-Identifier: BSD-3-Clause
 * Reading snapshots; rdb_save.c has the format. Files of older versions are read too.
 *
 * A fault ends the load and is reported with its place and reason. Keys that were loaded until then
 * stay; the caller decides what becomes of them. A collection without members, which old versions
 * could write, is skipped, and so is a key whose deadline has passed.
 *
 *   file --> name, value --> built here ------------------------------------> pending --> database
 *                  \--> batch --> built by whoever is free --> taken back -----/
 *
 * A value that takes more than a copy to build goes through a batch (rdb/rdb_batch.h), if all of it
 * lies in the source's window; so does every key that is read while batches are on their way. No
 * thread builds during a turn of the loop (loading_set_rest).
 */
#include "rdb/rdb_load.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/checksum.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/number.h"
#include "base/stream.h"
#include "exec/edit.h"
#include "io/crew.h"
#include "option/option.h"
#include "rdb/dump.h"
#include "rdb/loading.h"
#include "rdb/rdb_batch.h"
#include "rdb/rdb_fields.h"
#include "rdb/rdb_format.h"
#include "rdb/rdb_module.h"
#include "rdb/rdb_save.h"
#include "rdb/sanitize.h"
#include "store/entry.h"
#include "store/keyspace.h"
#include "store/recency.h"
#include "store/saving.h"
#include "value/saved.h"

/* A file says how many keys a database has, and room is made for them, so many buckets at a time
 * (some milliseconds) between two looks at waiting clients; but for no more keys than ... */
#define RESERVE_STEPS 65536
/* ... the rest of the file can hold, if each takes so many bytes of it. A bucket is 12 bytes a key,
 * so a file with a false count cannot make the table much larger than the file itself. Where keys
 * are shorter than this, the table grows as they come. */
#define RESERVE_KEY_BYTES 12
/* ... or for so many keys (some 12 MiB of buckets) where the number of bytes that follow is not
 * known, as with a copy that a primary sends by a socket: the count alone is not trusted. */
#define RESERVE_KEYS_UNKNOWN ((uint64_t)1 << 20)
/* Keys that have been read and wait for their bucket to arrive from memory. */
#define PENDING_KEYS 16
/* Files of this version and later end with a checksum. */
#define CHECKSUM_SINCE 5

static int64_t key_delay_usec;

/* A key that has been read. */
struct pending {
    struct keyspace *keyspace;
    struct entry *entry;
    uint64_t hash, offset;
};

struct load {
    struct source *in;
    const struct rdb_loading *how;
    struct rdb_loaded *result;
    struct keyspace *keyspace; /* NULL while a file is only checked */
    int version;
    int64_t now_msec;
    struct buffer name, store; /* the key; what its value borrows */

    /* Of the key that comes next. */
    int64_t deadline, idle_seconds, frequency;

    struct pending pending[PENDING_KEYS]; /* read n is in place n modulo their number */
    uint64_t read, put;
    uint64_t expected; /* read + the keys that room was made for */

    struct crew *crew;         /* NULL: no key has gone by a batch yet */
    struct rdb_batch *filling; /* not NULL with a crew */
    struct rdb_batch *spare;   /* linked by `next` */
    bool broken;               /* a key that came back could not be put */
};

/* ---- faults ---- */

/* Makes a file's text fit to be shown on a line: other than printable bytes become \xNN, and what
 * does not fit is cut. */
static void show_text(struct slice name, char shown[RDB_SHOWN_KEY_BYTES]) {
    size_t length = 0;
    for (size_t i = 0; i < name.length && length + 5 <= RDB_SHOWN_KEY_BYTES; i++) {
        unsigned char byte = (unsigned char)name.bytes[i];
        if (byte >= ' ' && byte < 0x7f)
            shown[length++] = (char)byte;
        else
            length += (size_t)snprintf(shown + length, 5, "\\x%02x", byte);
    }
    shown[length] = '\0';
}

/* Sets the first fault. */
static bool load_fault(struct load *l, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static bool load_fault(struct load *l, const char *format, ...) {
    va_list arguments;
    if (l->result->reason[0]) return false;
    va_start(arguments, format);
    vsnprintf(l->result->reason, sizeof(l->result->reason), format, arguments);
    va_end(arguments);
    l->result->offset = source_offset(l->in);
    l->result->keys_before = l->result->read - l->result->has_key;
    if (l->result->has_key) show_text(buffer_slice(&l->name), l->result->key);
    return false;
}

static bool source_fault_seen(struct load *l) {
    bool cut_off = l->in->status == SOURCE_ENDED;
    return load_fault(l, "%s", cut_off ? "Unexpected EOF reading RDB file" : source_fault(l->in));
}

const char *rdb_form_name(int form) {
    static const char *const names[] = {[SAVED_STRING] = "string",
                                        [SAVED_LIST] = "list-linked",
                                        [SAVED_SET] = "set-hashtable",
                                        [SAVED_ZSET_TEXT] = "zset-v1",
                                        [SAVED_HASH] = "hash-hashtable",
                                        [SAVED_ZSET] = "zset-v2",
                                        [SAVED_MODULE_OLD] = "module-value",
                                        [SAVED_MODULE] = "module-value",
                                        [SAVED_HASH_ZIPMAP] = "hash-zipmap",
                                        [SAVED_LIST_ZIPLIST] = "list-ziplist",
                                        [SAVED_SET_INTSET] = "set-intset",
                                        [SAVED_ZSET_ZIPLIST] = "zset-ziplist",
                                        [SAVED_HASH_ZIPLIST] = "hash-ziplist",
                                        [SAVED_LIST_QUICKLIST] = "quicklist",
                                        [SAVED_STREAM] = "stream"};
    bool known = form >= 0 && form < (int)(sizeof(names) / sizeof(names[0])) && names[form];
    return known ? names[form] : "unknown";
}

void rdb_describe_fault(const struct rdb_loaded *result, struct buffer *out) {
    buffer_printf(out, "at offset %" PRIu64 ", after %" PRIu64 " keys", result->offset,
                  result->keys_before);
    if (result->has_key)
        buffer_printf(out, ", in key '%s' of database %" PRId64 " (%s, from offset %" PRIu64 ")",
                      result->key, result->database, rdb_form_name(result->form),
                      result->key_offset);
    buffer_printf(out, ": %s", result->reason);
}

static void next_key(struct load *l) {
    l->deadline = ENTRY_NO_DEADLINE;
    l->idle_seconds = l->frequency = -1;
    l->result->form = RDB_NO_FORM;
    l->result->has_key = false;
}

static bool read_header(struct load *l) {
    char magic[sizeof(RDB_MAGIC) - 1 + 4];
    int64_t version;
    if (!source_read(l->in, magic, sizeof(magic))) return source_fault_seen(l);
    if (memcmp(magic, RDB_MAGIC, sizeof(RDB_MAGIC) - 1) != 0)
        return load_fault(l, "Wrong signature trying to load DB from file");
    version = 0;
    for (size_t i = sizeof(RDB_MAGIC) - 1; i < sizeof(magic); i++)
        version = magic[i] >= '0' && magic[i] <= '9' ? version * 10 + magic[i] - '0' : INT32_MAX;
    if (version < 1 || version > RDB_VERSION)
        return load_fault(l, "Can't handle RDB format version %.4s", magic + sizeof(RDB_MAGIC) - 1);
    l->version = (int)version;
    return true;
}

/* ---- one key ---- */

static unsigned recency_of_key(const struct load *l) {
    if (l->frequency >= 0) return recency_of_frequency((unsigned)l->frequency);
    if (l->idle_seconds >= 0) return recency_of_idle((uint64_t)l->idle_seconds);
    return recency_initial();
}

static bool load_duplicate(struct load *l, const struct pending *p) {
    char shown[RDB_SHOWN_KEY_BYTES];
    bool first = !l->result->reason[0];
    show_text(entry_key(p->entry), shown);
    load_fault(l, "RDB has duplicated key '%s' in DB %d", shown, keyspace_index(p->keyspace));
    if (first) { /* another key is being read by now */
        l->result->offset = p->offset;
        l->result->keys_before = l->result->keys;
        l->result->has_key = false;
        l->result->form = RDB_NO_FORM;
    }
    entry_free(p->entry);
    return false;
}

/* Puts the key that has waited longest. */
static bool put_oldest(struct load *l) {
    const struct pending *p = &l->pending[l->put++ % PENDING_KEYS];
    if (!edit_load(p->keyspace, p->entry, p->hash, l->how->replaces)) return load_duplicate(l, p);
    l->result->keys++;
    if (__builtin_expect(key_delay_usec == 0, 1)) return true;
    rdb_delay(key_delay_usec, l->result->keys);
    loading_look();
    return !loading_is_cut_short() || source_refuse(l->in, "the server is to stop");
}

/* Puts all keys that were read, up to a duplicate. Also called after a fault has ended the reading:
 * the first fault remains the reported one. */
static bool put_all(struct load *l) {
    bool good = true;
    while (good && l->put < l->read) good = put_oldest(l);
    for (; l->put < l->read; l->put++) entry_free(l->pending[l->put % PENDING_KEYS].entry);
    return good;
}

/* Queues the entry and takes it, also on failure. Its bucket is prefetched; the entry is put after
 * more keys have been read. */
static bool put_later(struct load *l, const struct pending *next) {
    if (l->read - l->put == PENDING_KEYS && !put_oldest(l)) {
        entry_free(next->entry);
        return false;
    }
    l->pending[l->read++ % PENDING_KEYS] = *next;
    keyspace_prefetch_bucket(next->keyspace, next->hash);
    return true;
}

static void note_empty(struct load *l, struct slice name) {
    char shown[RDB_SHOWN_KEY_BYTES];
    show_text(name, shown);
    l->result->empty++;
    if (l->how->checks_for)
        l->how->checks_for->empty(source_offset(l->in), shown);
    else
        log_warning("rdbLoadObject skipping empty key: %s", shown);
}

/* ---- batches ---- */

/* Replaces any fault found since, because this key stands before it in the file. */
static void fault_in_batch(struct load *l, const struct rdb_batch_key *key) {
    struct rdb_loaded *result = l->result;
    snprintf(result->reason, sizeof(result->reason), "%s", key->reason);
    result->stage = RDB_AT_VALUE;
    result->offset = key->offset;
    result->keys_before = key->keys_before;
    result->database = key->database;
    result->form = (int)key->form;
    result->key_offset = key->key_offset;
    result->has_key = true;
    show_text(key->name, result->key);
}

static bool put_built(struct load *l, struct rdb_batch_key *key) {
    struct pending next = {key->keyspace, key->entry, key->hash, key->offset};
    key->entry = NULL;
    switch (key->loaded) {
    case VALUE_LOADED: return put_later(l, &next);
    case VALUE_EMPTY: note_empty(l, key->name); return true;
    case VALUE_REFUSED: break;
    }
    fault_in_batch(l, key);
    return false;
}

/* Takes batches back until `left` remain with the crew. After a key could not be put, the keys of
 * later batches are dropped. */
static bool take_back(struct load *l, size_t left) {
    while (crew_given(l->crew) > left) {
        struct rdb_batch *b = crew_take(l->crew);
        for (size_t i = 0; i < b->count && !l->broken; i++) l->broken = !put_built(l, &b->keys[i]);
        rdb_batch_clear(b);
        b->next = l->spare;
        l->spare = b;
    }
    return !l->broken;
}

static bool hand_on(struct load *l) {
    if (!take_back(l, crew_room(l->crew) - 1)) return false;
    crew_give(l->crew, l->filling);
    l->filling = l->spare;
    if (l->filling)
        l->spare = l->filling->next;
    else
        l->filling = rdb_batch_create();
    return true;
}

static void rest_crew(void *crew) { crew_rest(crew); }

static void begin_batches(struct load *l) {
    l->crew = crew_create(rdb_batch_build, rdb_threads());
    l->filling = rdb_batch_create();
    loading_set_rest(rest_crew, l->crew);
}

/* Takes all batches back. False where a key could not be put. */
static bool end_batches(struct load *l) {
    if (!l->crew) return true;
    if (hand_on(l)) (void)take_back(l, 0);
    bool good = take_back(l, 0);
    loading_set_rest(NULL, NULL);
    crew_free(l->crew);
    rdb_batch_free(l->filling);
    while (l->spare) {
        struct rdb_batch *b = l->spare;
        l->spare = b->next;
        rdb_batch_free(b);
    }
    return good;
}

/* Adds a key with what the loader knows of it; NULL where a key of an earlier batch could not be
 * put. */
static struct rdb_batch_key *add_to_batch(struct load *l, struct slice name, struct slice bytes) {
    if (!rdb_batch_has_room(l->filling, name.length + bytes.length) && !hand_on(l)) return NULL;
    struct rdb_batch_key *key = rdb_batch_add(l->filling, name, bytes);
    key->keyspace = l->keyspace;
    key->deadline = l->deadline;
    key->recency = recency_of_key(l);
    key->form = (unsigned)l->result->form;
    key->key_offset = l->result->key_offset;
    key->offset = source_offset(l->in);
    key->keys_before = l->result->read - 1;
    key->database = l->result->database;
    return key;
}

/* How many bytes the next value has, if a thread of the crew is to build it; 0 = it is built
 * here. */
static size_t extent_for_batch(const struct load *l, unsigned form, size_t name_length) {
    struct slice window = source_window(l->in);
    if (l->how->checks_for || rdb_threads() == 0 || saving_now()) return 0;
    if (form == SAVED_STRING && !saved_is_compressed(window)) return 0;
    if (window.length > RDB_BATCH_BYTES) window.length = RDB_BATCH_BYTES;
    size_t extent = saved_extent(form, window);
    return extent + name_length <= RDB_BATCH_BYTES ? extent : 0;
}

static bool read_for_batch(struct load *l, enum value_kind kind, struct slice name, size_t extent) {
    struct slice bytes = {source_take(l->in, extent), extent};
    if (!l->crew) begin_batches(l);
    struct rdb_batch_key *key = add_to_batch(l, name, bytes);
    if (key) key->kind = kind;
    return key != NULL;
}

/* ---- one value ---- */

/* Takes a value that was built here. */
static bool put_value(struct load *l, struct slice name, enum value_kind kind, struct value v) {
    struct entry *e =
        entry_create_value(name, (enum entry_type)kind, v, l->deadline, recency_of_key(l));
    struct pending next = {l->keyspace, e, key_hash_of(name), source_offset(l->in)};
    if (!l->crew || (crew_given(l->crew) == 0 && l->filling->count == 0))
        return put_later(l, &next);
    struct rdb_batch_key *key = add_to_batch(l, SLICE(""), (struct slice){NULL, 0});
    if (!key) {
        entry_free(e);
        return false;
    }
    key->loaded = VALUE_LOADED;
    key->entry = e;
    key->hash = next.hash;
    return true;
}

/* A module's value is only skipped, and only by a check; a load refuses the file. */
static bool pass_module(struct load *l, unsigned form) {
    char name[RDB_MODULE_NAME_BYTES];
    if (!rdb_module_read_name(l->in, name)) return source_fault_seen(l);
    if (!l->how->checks_for || form == SAVED_MODULE_OLD)
        return load_fault(
            l, "The RDB file contains module data I can't load: no matching module '%s'", name);
    if (!rdb_module_skip(l->in)) return source_fault_seen(l);
    l->how->checks_for->module(source_offset(l->in), name);
    return true;
}

static bool read_value(struct load *l, unsigned form, enum value_kind kind, struct slice name) {
    struct string_value string;
    struct value v = {&string, 0};
    bool over = l->deadline != ENTRY_NO_DEADLINE && l->deadline <= l->now_msec;
    bool expired = over && !l->how->keeps_expired;
    size_t extent = expired ? 0 : extent_for_batch(l, form, name.length);
    if (extent) return read_for_batch(l, kind, name, extent);
    enum value_loaded loaded = value_type(kind)->load(form, name, l->in, &l->store, &v);
    if (loaded == VALUE_REFUSED) return source_fault_seen(l);
    l->result->expired += expired;
    if (loaded == VALUE_EMPTY) {
        note_empty(l, name);
    } else if (l->how->checks_for || expired) {
        value_type(kind)->release(v);
    } else if (!put_value(l, name, kind, v)) {
        return false;
    }
    return true;
}

static bool read_key(struct load *l, unsigned form) {
    struct slice name;
    enum value_kind kind = VALUE_STRING;
    bool is_module = form == SAVED_MODULE || form == SAVED_MODULE_OLD;
    if (!is_module && !saved_form_kind(form, &kind))
        return load_fault(l, "Unknown RDB type or opcode %u: of a later version, or damaged", form);
    l->result->stage = RDB_AT_KEY;
    l->result->form = (int)form;
    l->result->key_offset = source_offset(l->in) - 1;
    if (!saved_read_kept(l->in, &l->name, &name)) return source_fault_seen(l);
    l->result->has_key = true;
    l->result->stage = RDB_AT_VALUE;
    l->result->read++;
    l->result->with_deadline += l->deadline != ENTRY_NO_DEADLINE;
    if (name.length > UINT32_MAX) return load_fault(l, "A key is too long");
    if (!(is_module ? pass_module(l, form) : read_value(l, form, kind, name))) return false;
    next_key(l);
    return true;
}

/* ---- everything else ---- */

/* Logs what operators want to know of the file's origin. A name that begins with '%' is logged as
 * it is; other unknown names are ignored. */
static void note_auxiliary(struct slice name, struct slice value) {
    int64_t number = 0;
    char what[RDB_SHOWN_KEY_BYTES], text[RDB_SHOWN_KEY_BYTES];
    show_text(name, what);
    show_text(value, text);
    bool is_number = number_parse_int64(value.bytes, value.length, &number);
    if (slice_equal(name, SLICE("redis-ver"))) {
        log_notice("Loading RDB produced by version %s", text);
    } else if (slice_equal(name, SLICE("ctime")) && is_number) {
        int64_t now = clock_wall_usec() / 1000000;
        uint64_t age = now > number ? (uint64_t)now - (uint64_t)number : 0;
        log_notice("RDB age %" PRIu64 " seconds", age);
    } else if (slice_equal(name, SLICE("used-mem")) && is_number && number >= 0) {
        log_notice("RDB memory usage when created %.2f Mb", (double)number / (1024 * 1024));
        loading_note_memory((uint64_t)number);
    } else if (name.length && name.bytes[0] == '%') {
        log_notice("RDB '%s': %s", what, text);
    }
}

static bool read_auxiliary(struct load *l) {
    struct slice name, value;
    if (!saved_read_kept(l->in, &l->name, &name) || !saved_read_text(l->in, &l->store, &value))
        return source_fault_seen(l);
    if (l->how->checks_for) {
        l->how->checks_for->auxiliary(source_offset(l->in), name, value);
        return true;
    }
    char reason[sizeof(l->result->reason)];
    const struct rdb_field *row = rdb_field_named(name);
    if (row) return row->load(value, reason, sizeof(reason)) || load_fault(l, "%s", reason);
    note_auxiliary(name, value);
    return true;
}

static bool read_module_auxiliary(struct load *l) {
    char name[RDB_MODULE_NAME_BYTES];
    if (!rdb_module_read_name(l->in, name)) return source_fault_seen(l);
    if (!l->how->checks_for)
        return load_fault(
            l, "The RDB file contains AUX module data I can't load: no matching module '%s'", name);
    if (!rdb_module_skip_auxiliary(l->in)) return source_fault_seen(l);
    l->how->checks_for->module(source_offset(l->in), name);
    return true;
}

/* For how many more keys room may be made. Room that was made for any database counts until its
 * keys have come, so that a file cannot get more room by repeating its promise. */
static uint64_t room_for_keys(struct load *l) {
    uint64_t left = source_left_max(l->in), read = l->result->read;
    uint64_t most = left == UINT64_MAX ? RESERVE_KEYS_UNKNOWN : left / RESERVE_KEY_BYTES;
    if (l->expected < read) l->expected = read;
    uint64_t missing = l->expected - read;
    return most > missing ? most - missing : 0;
}

static bool read_sizes(struct load *l) {
    uint64_t keys, with_deadline;
    if (!saved_read_length(l->in, &keys) || !saved_read_length(l->in, &with_deadline))
        return source_fault_seen(l);
    if (l->how->checks_for) return true;
    uint64_t most = room_for_keys(l);
    if (keys > most) keys = most;
    l->expected += keys;
    while (!edit_expect(l->keyspace, keys, RESERVE_STEPS) && !loading_is_cut_short())
        loading_look();
    return !loading_is_cut_short() || source_refuse(l->in, "the server is to stop");
}

static bool read_database(struct load *l) {
    uint64_t index;
    if (!saved_read_length(l->in, &index)) return source_fault_seen(l);
    l->result->database = index < INT64_MAX ? (int64_t)index : INT64_MAX;
    if (l->how->checks_for) {
        l->how->checks_for->database(source_offset(l->in), index);
        return true;
    }
    if (index >= (uint64_t)keyspace_databases())
        return load_fault(
            l,
            "FATAL: Data file was created with a Redis server configured to handle more "
            "than %d databases. Exiting",
            keyspace_databases());
    l->keyspace = keyspace_at((int)index);
    return true;
}

static bool read_end(struct load *l) {
    uint64_t stated, sum = source_checksum(l->in);
    l->result->stage = RDB_AT_CHECKSUM;
    if (l->version < CHECKSUM_SINCE) return true;
    if (!saved_read_number(l->in, 8, &stated)) return source_fault_seen(l);
    bool absent = stated == 0 || !rdb_checksums() || dump_skips_checksums();
    if (absent || stated == sum) {
        if (l->how->checks_for)
            l->how->checks_for->checksum(source_offset(l->in),
                                         absent ? RDB_CHECKSUM_ABSENT : RDB_CHECKSUM_RIGHT);
        return true;
    }
    return load_fault(
        l, "RDB CRC error: wrong RDB checksum expected: (%" PRIx64 ") but got (%" PRIx64 ")",
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
    /* The two lowest numbers have a special meaning in the keyspace. */
    if (l->deadline < 0) l->deadline = 0;
    return true;
}

static bool read_idle(struct load *l) {
    uint64_t seconds;
    if (!saved_read_length(l->in, &seconds)) return source_fault_seen(l);
    l->idle_seconds = seconds < INT64_MAX ? (int64_t)seconds : INT64_MAX;
    return true;
}

static enum rdb_stage stage_of(unsigned char mark) {
    switch (mark) {
    case RDB_MODULE_AUX: return RDB_AT_MODULE;
    case RDB_AUX: return RDB_AT_AUXILIARY;
    case RDB_SIZES:
    case RDB_DATABASE: return RDB_AT_LENGTH;
    case RDB_DEADLINE_MSEC:
    case RDB_DEADLINE_SEC: return RDB_AT_DEADLINE;
    default: return RDB_AT_MARK;
    }
}

static bool read_mark(struct load *l, unsigned char mark) {
    l->result->stage = stage_of(mark);
    switch (mark) {
    case RDB_MODULE_AUX: return read_module_auxiliary(l);
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
        l->result->stage = RDB_AT_MARK;
        if (!source_read(l->in, &mark, 1)) return source_fault_seen(l);
        if (mark != RDB_END && !read_mark(l, mark)) return false;
    } while (mark != RDB_END);
    return read_end(l);
}

bool rdb_load(struct source *in, const struct rdb_loading *how, struct rdb_loaded *result) {
    struct load l = {.in = in, .how = how, .result = result};
    *result = (struct rdb_loaded){0};
    if (!how->checks_for) l.keyspace = keyspace_at(0);
    l.now_msec = clock_wall_usec() / 1000;
    buffer_init(&l.name, MEMORY_OTHER);
    buffer_init(&l.store, MEMORY_OTHER);
    next_key(&l);
    if (rdb_checksums()) source_checksum_begin(in, checksum_crc64, 0);
    loading_watch(in);
    uint64_t checked = saved_checked();
    bool good = read_all(&l);
    if (!end_batches(&l)) good = false;
    if (!put_all(&l)) good = false;
    sanitize_note_file(saved_checked() - checked);
    buffer_free(&l.name);
    buffer_free(&l.store);
    return good;
}

int64_t rdb_load_delay_usec(void) { return key_delay_usec; }
void rdb_load_set_delay(int64_t usec) { key_delay_usec = usec; }

static const struct option_row option_rows[] = {
    OPTION_INT("key-load-delay", &key_delay_usec, "0", INT32_MIN, INT32_MAX,
               OPTION_MUTABLE | OPTION_HIDDEN, "snapshots", 100,
               "For tests: microseconds to wait after each key that is loaded; -N: one after N."),
};

void rdb_load_register(void) {
    option_register(option_rows, sizeof(option_rows) / sizeof(option_rows[0]));
}
