/* SPDX-License-Identifier: BSD-3-Clause
 * Records become events of the simulated caches.
 *
 * Where the traced server evicts, the caches alone say what is there: a key that the server had
 * evicted may still be in a larger cache. Only where a request may have taken the last element of a
 * key is the trace believed that the key is gone.
 *
 * Invariants
 *  1. Column `policy` of the caches has no limit. The columns behind stand in groups of
 *     CURVE_POLICIES, a group for each size, in the order of `groups`.
 *  2. A key is in the table exactly if its hash is at most `hash_max`.
 *  3. A key with a deadline is in the heap.
 */
#include "replay/curve_model.h"

#include <math.h>

#include "base/heap.h"
#include "base/memory.h"
#include "base/panic.h"
#include "replay/curve_distance.h"
#include "replay/replay_commands.h"
#include "replay/replay_keys.h"

#define LADDER_BASE_BYTES 4096.0
/* The histogram of distances: sixteenths of a doubling, from one byte to 2^60. */
#define DISTANCE_STEPS 16
#define DISTANCE_SLOTS (60 * DISTANCE_STEPS + 1)
/* What a string takes besides the lengths of key and value, before the trace has told. */
#define OVERHEAD_BYTES_FIRST 48.0
/* The size of a key, whatever the trace says: sums over CURVE_KEYS_MOST do not overflow. */
#define KEY_BYTES_MAX (INT64_C(1) << 40)
#define OVERHEAD_LEARNS 0.05 /* the weight of each observation */

struct known_key {
    struct heap_item item; /* in the heap of deadlines */
    uint64_t hash;         /* 0 = free */
    int64_t deadline_msec; /* as the caches have it; 0 = none */
    bool may_be_gone;      /* a request may have taken its last element */
    int64_t written_bytes; /* of the string that was written last, without overhead; 0 = unknown */
};

struct group {
    double bytes; /* of the whole server */
    uint32_t column;
};

struct curve_model {
    struct curve_settings settings;
    struct curve_caches *caches;
    struct curve_distance *distance;
    struct known_key *known;
    uint32_t *table; /* open addressing; a key's number plus 1 */
    uint32_t table_room, known_count, free_from;
    uint64_t hash_max;
    double kept_share;
    struct heap deadlines;
    struct group groups[CURVE_SIZES_MAX];
    unsigned group_count, group_max, next_size; /* next_size: of the ladder, or of the list */
    double overhead_bytes, peak_bytes, reads, first_reads;
    double distances[DISTANCE_SLOTS]; /* reads by their distance */
    int64_t traced_hits, traced_misses, unknown, now_msec;
    uint64_t keys;
};

static const char *const policy_names[CURVE_POLICIES] = {
    "allkeys-lru",  "allkeys-lfu",     "allkeys-random", "volatile-lru",
    "volatile-lfu", "volatile-random", "volatile-ttl",   "noeviction"};

const char *curve_policy_name(enum curve_policy policy) { return policy_names[policy]; }

/* Bytes of the whole server for one of a simulated cache. */
static double scale_of(const struct curve_model *m) {
    return (double)m->settings.sample / m->kept_share;
}

/* --- begin and end ---------------------------------------------------------------------------- */

static struct known_key *known_of(struct heap_item *item) {
    return (struct known_key *)(void *)item;
}

static uint32_t number_of(const struct curve_model *m, const struct known_key *key) {
    return (uint32_t)(key - m->known);
}

static bool is_due_before(const struct heap_item *a, const struct heap_item *b) {
    return ((const struct known_key *)(const void *)a)->deadline_msec <
           ((const struct known_key *)(const void *)b)->deadline_msec;
}

struct curve_model *curve_model_create(const struct curve_settings *settings) {
    struct curve_model *m = memory_zalloc(sizeof(*m), MEMORY_OTHER);
    ASSERT(settings->keys_max >= CURVE_KEYS_LEAST && settings->keys_max <= CURVE_KEYS_MOST);
    ASSERT(settings->size_count <= CURVE_SIZES_MAX);
    m->settings = *settings;
    m->group_max = settings->size_count ? settings->size_count : CURVE_LADDER_SIZES;
    m->caches = curve_caches_create(settings->keys_max, (m->group_max + 1) * CURVE_POLICIES,
                                    settings->samples);
    m->distance = curve_distance_create(settings->keys_max);
    m->known = memory_zalloc(settings->keys_max * sizeof(*m->known), MEMORY_OTHER);
    for (m->table_room = 1; m->table_room < 2 * settings->keys_max;) m->table_room *= 2;
    m->table = memory_zalloc(m->table_room * sizeof(*m->table), MEMORY_OTHER);
    heap_init(&m->deadlines, is_due_before, MEMORY_OTHER);
    m->hash_max = UINT64_MAX;
    m->kept_share = 1;
    m->overhead_bytes = OVERHEAD_BYTES_FIRST;
    for (unsigned p = 0; p < CURVE_POLICIES; p++)
        curve_cache_begin(m->caches, p, (enum curve_policy)p);
    return m;
}

void curve_model_free(struct curve_model *m) {
    heap_free(&m->deadlines);
    curve_caches_free(m->caches);
    curve_distance_free(m->distance);
    memory_free(m->known, MEMORY_OTHER);
    memory_free(m->table, MEMORY_OTHER);
    memory_free(m, MEMORY_OTHER);
}

/* --- keys ------------------------------------------------------------------------------------- */

static void set_key_deadline(struct curve_model *m, struct known_key *key, int64_t deadline_msec) {
    if (key->deadline_msec == deadline_msec) return;
    if (heap_has(&key->item)) heap_remove(&m->deadlines, &key->item);
    key->deadline_msec = deadline_msec;
    if (deadline_msec) heap_insert(&m->deadlines, &key->item);
    curve_caches_set_deadline(m->caches, number_of(m, key), deadline_msec);
}

/* The key is gone from all caches. */
static void remove_known(struct curve_model *m, struct known_key *key) {
    curve_caches_remove(m->caches, number_of(m, key));
    curve_distance_remove(m->distance, number_of(m, key));
    set_key_deadline(m, key, 0);
    key->may_be_gone = false;
    key->written_bytes = 0;
}

static void resize_known(struct curve_model *m, struct known_key *key, int64_t bytes) {
    if (bytes > KEY_BYTES_MAX) bytes = KEY_BYTES_MAX;
    curve_caches_resize(m->caches, number_of(m, key), bytes);
    curve_distance_resize(m->distance, number_of(m, key), bytes);
}

static void expire_keys(struct curve_model *m) {
    for (;;) {
        struct heap_item *first = heap_first(&m->deadlines);
        if (!first || known_of(first)->deadline_msec > m->now_msec) return;
        remove_known(m, known_of(first));
    }
}

static uint32_t *find_in_table(struct curve_model *m, uint64_t hash) {
    uint32_t at = (uint32_t)hash & (m->table_room - 1);
    while (m->table[at] && m->known[m->table[at] - 1].hash != hash)
        at = (at + 1) & (m->table_room - 1);
    return &m->table[at];
}

static void scale_capacities(struct curve_model *m) {
    for (unsigned i = 0; i < m->group_count; i++)
        for (unsigned p = 0; p < CURVE_POLICIES; p++)
            curve_cache_set_capacity(m->caches, m->groups[i].column + p,
                                     m->groups[i].bytes / scale_of(m));
}

/* Drops the keys of the upper half of the hashes. */
static void halve_keys(struct curve_model *m) {
    m->hash_max /= 2;
    m->kept_share /= 2;
    memset(m->table, 0, m->table_room * sizeof(*m->table));
    for (uint32_t i = 0; i < m->settings.keys_max; i++) {
        struct known_key *key = &m->known[i];
        if (!key->hash) continue;
        if (key->hash > m->hash_max) {
            remove_known(m, key);
            *key = (struct known_key){0};
            m->known_count--;
        } else {
            *find_in_table(m, key->hash) = i + 1;
        }
    }
    m->free_from = 0;
    scale_capacities(m);
}

/* The key of the hash, which is at most hash_max; `is_new`: it was not in the table. NULL where the
 * table is full of other keys and this one has been dropped with their half. */
static struct known_key *find_known(struct curve_model *m, uint64_t hash, bool *is_new) {
    uint32_t *place = find_in_table(m, hash);
    *is_new = !*place;
    if (*place) return &m->known[*place - 1];
    while (m->known_count == m->settings.keys_max) halve_keys(m);
    if (hash > m->hash_max) return NULL;
    while (m->known[m->free_from].hash) m->free_from++;
    struct known_key *key = &m->known[m->free_from];
    *key = (struct known_key){.hash = hash};
    *curve_caches_key(m->caches, m->free_from) = (struct curve_key){0};
    *find_in_table(m, hash) = m->free_from + 1;
    m->known_count++;
    m->keys++;
    return key;
}

/* --- sizes ------------------------------------------------------------------------------------ */

/* The next size of which no cache was made; 0 = there is none. */
static double upcoming_size(const struct curve_model *m) {
    if (!m->settings.size_count) return LADDER_BASE_BYTES * pow(2, m->next_size / 2.0);
    return m->next_size < m->settings.size_count ? (double)m->settings.sizes[m->next_size] : 0;
}

static void add_group(struct curve_model *m, double bytes) {
    uint32_t column = (m->group_count + 1) * CURVE_POLICIES;
    if (m->group_count == m->group_max) { /* the ladder: the smallest goes */
        column = m->groups[0].column;
        for (unsigned p = 0; p < CURVE_POLICIES; p++) curve_cache_end(m->caches, column + p);
        memmove(m->groups, m->groups + 1, (m->group_count - 1) * sizeof(m->groups[0]));
        m->group_count--;
    }
    for (unsigned p = 0; p < CURVE_POLICIES; p++)
        curve_cache_copy(m->caches, column + p, p, bytes / scale_of(m));
    m->groups[m->group_count++] = (struct group){bytes, column};
    m->next_size++;
}

/* Makes a cache of each size that the one without a limit has outgrown. */
static void follow_growth(struct curve_model *m) {
    double bytes = (double)curve_cache_used(m->caches, 0) * scale_of(m), size;
    if (bytes > m->peak_bytes) m->peak_bytes = bytes;
    while ((size = upcoming_size(m)) > 0 && bytes > size) add_group(m, size);
}

/* --- events ----------------------------------------------------------------------------------- */

static bool has_option(const struct trace_file_record *record, const char *word) {
    for (uint32_t i = 2; i < record->argument_count; i++)
        if (record->arguments[i].kind == TRACE_FILE_WORD &&
            slice_is(record->arguments[i].text, word))
            return true;
    return false;
}

/* Believes what the record says of the key before the request. */
static void believe_record(struct curve_model *m, struct known_key *key,
                           const struct trace_file_argument *a) {
    if (a->bytes < 0) {
        if (key->may_be_gone || !m->settings.server_evicts) remove_known(m, key);
        return;
    }
    double overhead = (double)(a->bytes - (int64_t)a->text.length - key->written_bytes);
    if (key->written_bytes && overhead >= 0 && overhead < (double)a->bytes)
        m->overhead_bytes += OVERHEAD_LEARNS * (overhead - m->overhead_bytes);
    key->written_bytes = 0;
    key->may_be_gone = false;
    resize_known(m, key, a->bytes);
    set_key_deadline(m, key, a->ttl_msec < 0 ? 0 : m->now_msec + a->ttl_msec + 1);
}

static void note_distance(struct curve_model *m, int64_t distance, double weight) {
    double real = (double)distance * scale_of(m);
    int slot = real <= 1 ? 0 : (int)ceil(log2(real) * DISTANCE_STEPS);
    m->distances[slot < DISTANCE_SLOTS ? slot : DISTANCE_SLOTS - 1] += weight;
}

static void read_key(struct curve_model *m, struct known_key *key, bool was_there, bool is_new) {
    uint32_t number = number_of(m, key);
    bool counts = !is_new || !was_there;
    double weight = 1 / m->kept_share;
    int64_t distance = curve_distance_of(m->distance, number);
    if (counts) {
        m->reads += weight;
        if (distance >= 0) note_distance(m, distance, weight);
    } else {
        m->first_reads += weight;
    }
    curve_caches_read(m->caches, number, m->now_msec, counts ? weight : 0, was_there);
    if (distance >= 0 || was_there)
        curve_distance_use(m->distance, number, curve_caches_key(m->caches, number)->bytes);
}

/* The sizes of all values of the request. */
static int64_t values_of(const struct trace_file_record *record) {
    int64_t sum = 0;
    for (uint32_t i = 1; i < record->argument_count; i++)
        if (record->arguments[i].kind == TRACE_FILE_VALUE) sum += record->arguments[i].size;
    return sum;
}

/* The bytes of the key after the request, as far as it tells: the next record of the key corrects
 * them. */
static int64_t bytes_after(struct curve_model *m, struct known_key *key,
                           const struct trace_file_record *record,
                           const struct replay_command *command, uint32_t index) {
    const struct trace_file_argument *a = &record->arguments[index];
    uint32_t number = number_of(m, key);
    int64_t bare = (int64_t)(m->overhead_bytes + 0.5) + (int64_t)a->text.length;
    bool replaces = command->type == REPLAY_STRING && *command->values &&
                    (command->ttl != REPLAY_TTL_STAYS || command->rest == REPLAY_WRITES ||
                     !strcmp(command->name, "setnx"));
    key->written_bytes = 0;
    if (replaces) {
        bool has_own = command->rest == REPLAY_WRITES && index + 1 < record->argument_count;
        key->written_bytes = has_own ? record->arguments[index + 1].size : values_of(record);
        bare += key->written_bytes;
        return bare < KEY_BYTES_MAX ? bare : KEY_BYTES_MAX;
    }
    bool is_there = curve_distance_of(m->distance, number) >= 0;
    int64_t bytes = is_there ? curve_caches_key(m->caches, number)->bytes : bare + 1;
    if (command->first == REPLAY_WRITES) bytes += values_of(record);
    return bytes < KEY_BYTES_MAX ? bytes : KEY_BYTES_MAX;
}

static void write_key(struct curve_model *m, struct known_key *key, int64_t bytes) {
    uint32_t number = number_of(m, key);
    resize_known(m, key, bytes);
    curve_caches_write(m->caches, number, m->now_msec);
    curve_distance_use(m->distance, number, bytes);
}

static void apply_ttl(struct curve_model *m, struct known_key *key, int64_t ttl_msec) {
    if (ttl_msec == REPLAY_TTL_AS_BEFORE) return;
    if (ttl_msec == REPLAY_TTL_NONE) {
        set_key_deadline(m, key, 0);
    } else if (ttl_msec <= 0) {
        remove_known(m, key);
    } else {
        set_key_deadline(m, key, m->now_msec + ttl_msec);
    }
}

static void take_key(struct curve_model *m, const struct trace_file_record *record,
                     const struct replay_command *command, uint32_t index, bool is_first) {
    const struct trace_file_argument *a = &record->arguments[index];
    uint64_t hash = replay_key_hash(record->database, a->text);
    unsigned effect = !command ? 0 : is_first ? command->first : command->rest;
    bool is_new, was_there = a->bytes >= 0;
    if (hash > m->hash_max) return;
    struct known_key *key = find_known(m, hash, &is_new);
    if (!key) return;
    believe_record(m, key, a);
    if (effect & REPLAY_LOOKS) read_key(m, key, was_there, is_new);
    if (effect & REPLAY_WRITES && !(has_option(record, "xx") && !was_there))
        write_key(m, key, bytes_after(m, key, record, command, index));
    if (command && (is_first || command->ttl == REPLAY_TTL_ENDS) && !(effect & REPLAY_DELETES) &&
        (effect & REPLAY_WRITES || command->ttl != REPLAY_TTL_ENDS))
        apply_ttl(m, key, replay_ttl_after(command, record));
    if (effect & REPLAY_TAKES) key->may_be_gone = true;
    if (effect & REPLAY_DELETES) remove_known(m, key);
    curve_caches_key(m->caches, number_of(m, key))->used_msec = m->now_msec;
    follow_growth(m);
}

void curve_model_take(struct curve_model *m, const struct trace_file_record *record) {
    const struct replay_command *command = replay_command_of(record);
    int64_t now_msec = record->wall_usec / 1000;
    bool is_first = true;
    if (now_msec > m->now_msec) m->now_msec = now_msec; /* wall time may go back */
    expire_keys(m);
    m->unknown += !command;
    for (uint32_t i = 1; i < record->argument_count; i++) {
        const struct trace_file_argument *a = &record->arguments[i];
        if (a->kind != TRACE_FILE_KEY && a->kind != TRACE_FILE_OTHER_KEY) continue;
        if (a->kind == TRACE_FILE_KEY) {
            unsigned effect = !command ? 0 : is_first ? command->first : command->rest;
            if (effect & REPLAY_LOOKS) *(a->bytes >= 0 ? &m->traced_hits : &m->traced_misses) += 1;
            take_key(m, record, command, i, is_first);
        }
        is_first = false;
    }
}

/* --- results ---------------------------------------------------------------------------------- */

/* Where only a part of the keys is simulated: how many reads of all keys the simulated ones stand
 * for too few, or, below 0, too many. The difference is due to a few keys that are read very often,
 * which every cache holds: so it counts as hits (SHARDS-adj). */
static double reads_amiss(const struct curve_model *m) {
    if (m->kept_share >= 1) return 0;
    return (double)(m->traced_hits + m->traced_misses) - m->reads - m->first_reads;
}

static double share_of_reads(const struct curve_model *m, double hits) {
    double amiss = reads_amiss(m), reads = m->reads + amiss;
    if (m->reads <= 0 || reads <= 0) return m->reads > 0 ? hits / m->reads : (double)NAN;
    return hits + amiss > 0 ? (hits + amiss) / reads : 0;
}

/* The share of reads whose distance is at most so many bytes. */
static double exact_share(const struct curve_model *m, double bytes) {
    double hits = 0, most = floor(log2(bytes) * DISTANCE_STEPS + 1e-9);
    for (int slot = 0; slot < DISTANCE_SLOTS && slot <= most; slot++) hits += m->distances[slot];
    return share_of_reads(m, hits);
}

static void add_point(const struct curve_model *m, struct curve_result *result, double bytes,
                      uint32_t column, double distance_most) {
    struct curve_point *point = &result->points[result->point_count++];
    point->bytes = bytes;
    point->exact_lru_share = exact_share(m, distance_most);
    for (unsigned p = 0; p < CURVE_POLICIES; p++)
        point->hit_share[p] = share_of_reads(m, curve_cache_hits(m->caches, column + p));
}

void curve_model_finish(const struct curve_model *m, struct curve_result *result) {
    *result = (struct curve_result){.reads = m->reads,
                                    .first_reads = m->first_reads,
                                    .traced_hits = m->traced_hits,
                                    .traced_misses = m->traced_misses,
                                    .unknown = m->unknown,
                                    .keys = m->keys,
                                    .kept_share = m->kept_share,
                                    .peak_bytes = m->peak_bytes};
    for (unsigned i = 0; i < m->group_count; i++)
        add_point(m, result, m->groups[i].bytes, m->groups[i].column, m->groups[i].bytes);
    for (unsigned i = m->next_size; i < m->settings.size_count; i++)
        add_point(m, result, (double)m->settings.sizes[i], 0, (double)m->settings.sizes[i]);
    add_point(m, result, m->peak_bytes, 0, (double)INFINITY);
}
