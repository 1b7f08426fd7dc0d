/* SPDX-License-Identifier: BSD-3-Clause
 * What a keyspace costs that is partitioned by slots: bytes a key, and time of lookups, inserts and
 * random picks, against one table of the same keys.
 *
 *     cc -std=gnu11 -O2 -include src/base/forbidden.h -Isrc tests/measure/micro_slots.c \
 *         build/release/libevenkeel.a -ljemalloc -lm -lcrypto -o /tmp/micro_slots
 *     /tmp/micro_slots [bytes | time]
 *
 * `bytes` prints the bytes a key of the tables alone (entries not counted): with all slots in use
 * and with the first third of them, which is what a node of three serves. Keys fall into slots by
 * chance, as a cluster's do. `time` prints the thread's CPU time an operation over a million keys,
 * one by one and in batches of 16 whose tables, buckets and entries are prefetched, the keys'
 * hashes and slots included; interleaved runs, of which the median and the extremes are printed.
 * Not run in CI: run it alone on a quiet machine.
 */
#include "base/clock.h"
#include "base/memory.h"
#include "base/panic.h"
#include "base/random.h"
#include "ds/table.h"
#include "store/entry.h"
#include "store/key_map.h"

#define KEY_BYTES 16
#define TIME_KEYS 1000000
#define LOOKUPS 500000
#define BATCH 16
#define RUNS 5

struct text {
    char bytes[KEY_BYTES];
};

static struct slice make_key(struct text *text, uint64_t number) {
    static const char digits[] = "0123456789";
    memcpy(text->bytes, "key:000000000000", KEY_BYTES);
    for (size_t i = KEY_BYTES; number != 0; number /= 10) text->bytes[--i] = digits[number % 10];
    return (struct slice){text->bytes, KEY_BYTES};
}

static void insert_key(struct key_map *map, struct slice key, uint64_t hash) {
    struct string_value v = string_value_of_text(SLICE("value"));
    key_map_insert(map, hash, entry_create(key, &v, ENTRY_NO_DEADLINE, 0));
}

static void release(void *entry, void *context) { entry_free(entry); }

/* Fills a map with the first `keys` keys of slots below `slots`. */
static void fill(struct key_map *map, size_t keys, unsigned slots) {
    struct text text;
    for (uint64_t number = 0; key_map_count(map) < keys; number++) {
        struct slice key = make_key(&text, number);
        if (key_slot_of(key) < slots) insert_key(map, key, key_hash_of(key));
    }
}

/* Bytes a key of the tables. */
static double bytes_of(bool by_slot, size_t keys, unsigned slots) {
    struct key_map map = {NULL, NULL};
    key_hash_set_slots(by_slot);
    fill(&map, keys, slots);
    double bytes = (double)key_map_bytes(&map) / (double)keys;
    while (!key_map_free_step(&map, 100000, release, NULL)) continue;
    return bytes;
}

static void print_bytes(unsigned slots) {
    static const size_t each[] = {10, 30, 61, 183, 610, 6100};
    for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
        /* The entries of 6,100 keys in each slot would take 6 GB, and the tables' shares do not
         * depend on the number of slots, but for the blocks of structs. */
        unsigned used = each[i] == 6100 ? slots / 8 : slots;
        size_t keys = each[i] * used;
        double one = bytes_of(false, keys, used), many = bytes_of(true, keys, used);
        printf("%5u slots  %5zu keys a slot  one table %6.2f  by slot %6.2f  more %6.2f\n", used,
               each[i], one, many, many - one);
    }
}

/* ---- time ---- */

static struct key_map maps[2];
static uint64_t found;

static void look_up(const struct key_map *map, struct slice key, uint64_t hash) {
    const struct table *t = key_map_table(map, hash);
    found += table_find(t, hash, key.bytes, key.length) != NULL;
}

static void look_up_one(const struct key_map *map) {
    struct text text;
    struct slice key = make_key(&text, random_below(TIME_KEYS));
    look_up(map, key, key_hash_of(key));
}

static void look_up_batch(const struct key_map *map, bool tables) {
    struct text texts[BATCH];
    uint64_t hashes[BATCH];
    for (int i = 0; i < BATCH; i++) {
        hashes[i] = key_hash_of(make_key(&texts[i], random_below(TIME_KEYS)));
        if (tables)
            key_map_prefetch_table(map, hashes[i]);
        else
            key_map_prefetch_bucket(map, hashes[i]);
    }
    for (int i = 0; tables && i < BATCH; i++) key_map_prefetch_bucket(map, hashes[i]);
    for (int i = 0; i < BATCH; i++) key_map_prefetch_entry(map, hashes[i]);
    for (int i = 0; i < BATCH; i++)
        look_up(map, (struct slice){texts[i].bytes, KEY_BYTES}, hashes[i]);
}

static void run_one(const struct key_map *map) {
    for (int i = 0; i < LOOKUPS; i++) look_up_one(map);
}
static void run_batch(const struct key_map *map) {
    for (int i = 0; i < LOOKUPS; i += BATCH) look_up_batch(map, false);
}
static void run_batch_tables(const struct key_map *map) {
    for (int i = 0; i < LOOKUPS; i += BATCH) look_up_batch(map, true);
}
static void run_random(const struct key_map *map) {
    for (int i = 0; i < LOOKUPS; i++) found += key_map_random(map, 0) != NULL;
}
static void run_sample(const struct key_map *map) {
    void *entries[5];
    for (int i = 0; i < LOOKUPS; i++) found += key_map_sample(map, entries, 5);
}
static void run_hash(const struct key_map *map) {
    struct text text;
    for (int i = 0; i < LOOKUPS; i++)
        found += key_hash_of(make_key(&text, random_below(TIME_KEYS)));
}

static const struct measure {
    const char *name;
    void (*run)(const struct key_map *map);
} measures[] = {
    {"make and hash a key", run_hash},
    {"look up one by one", run_one},
    {"look up in batches, two stages", run_batch},
    {"look up in batches, three stages", run_batch_tables},
    {"random key", run_random},
    {"sample of 5", run_sample},
};

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print_time(void) {
    for (int form = 0; form < 2; form++) {
        key_hash_set_slots(form == 1);
        fill(&maps[form], TIME_KEYS, KEY_SLOTS);
    }
    for (size_t m = 0; m < sizeof(measures) / sizeof(measures[0]); m++) {
        double nsec[2][RUNS];
        for (int i = 0; i < 2 * RUNS; i++) {
            key_hash_set_slots(i % 2 == 1);
            int64_t begin = clock_thread_cpu_nsec();
            measures[m].run(&maps[i % 2]);
            nsec[i % 2][i / 2] = (double)(clock_thread_cpu_nsec() - begin) / LOOKUPS;
        }
        for (int form = 0; form < 2; form++) qsort(nsec[form], RUNS, sizeof(double), compare);
        printf("%-36s one table %6.1f (%.1f-%.1f)  by slot %6.1f (%.1f-%.1f) ns\n",
               measures[m].name, nsec[0][RUNS / 2], nsec[0][0], nsec[0][RUNS - 1],
               nsec[1][RUNS / 2], nsec[1][0], nsec[1][RUNS - 1]);
    }
}

int main(int argc, char **argv) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    bool time_only = argc > 1 && strcmp(argv[1], "time") == 0;
    bool bytes_only = argc > 1 && strcmp(argv[1], "bytes") == 0;
    random_seed(1);
    if (!time_only) {
        print_bytes(KEY_SLOTS);
        print_bytes(KEY_SLOTS / 3);
    }
    if (!bytes_only) print_time();
    ASSERT(bytes_only || found > 0);
    return 0;
}
