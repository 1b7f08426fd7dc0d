/* SPDX-License-Identifier: BSD-3-Clause
 * What the table costs: time of inserts, lookups one by one and in prefetched batches, scans and
 * picks, and its bytes a key.
 *
 *     cc -std=gnu11 -O2 -include src/base/forbidden.h -Isrc tests/measure/micro_table.c \
 *         build/release/libevenkeel.a -ljemalloc -lm -o /tmp/micro_table
 *     /tmp/micro_table [KEYS [BATCH]]     20,000,000 keys and batches of 16 where not given
 *
 * Elements are allocated one by one and hold a 16-byte key and nothing else; lookups take keys at
 * random. Printed is the thread's CPU time per operation, key and hash included. Not run in CI: run
 * it alone on a quiet machine.
 */
#include "base/clock.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/panic.h"
#include "base/random.h"
#include "ds/table.h"

#define KEY_BYTES 16
#define BATCH_MAX 64
#define LOOKUPS 4000000

struct element {
    char key[KEY_BYTES];
};

static uint64_t element_hash(const void *element) {
    return hash_bytes(((const struct element *)element)->key, KEY_BYTES);
}

static bool element_matches(const void *element, const void *key, size_t key_length) {
    return key_length == KEY_BYTES && memcmp(element, key, KEY_BYTES) == 0;
}

static const struct table_type type = {element_hash, element_matches, MEMORY_DATASET};

static void make_key(char key[KEY_BYTES], uint64_t number) {
    static const char digits[] = "0123456789";
    memcpy(key, "key:000000000000", KEY_BYTES);
    for (size_t i = KEY_BYTES; number != 0; number /= 10) key[--i] = digits[number % 10];
}

static int64_t started_nsec;

static void start_clock(void) { started_nsec = clock_thread_cpu_nsec(); }

static void report_cost(const char *what, uint64_t operations) {
    double nsec = (double)(clock_thread_cpu_nsec() - started_nsec);
    printf("%-36s %8.1f ns\n", what, nsec / (double)operations);
}

static void fill_table(struct element **elements, uint64_t keys) {
    start_clock();
    for (uint64_t i = 0; i < keys; i++) {
        elements[i] = memory_alloc(sizeof(**elements), MEMORY_DATASET);
        make_key(elements[i]->key, i);
    }
    report_cost("(make and allocate an element)", keys);
}

/* In groups of `batch`, each with its buckets prefetched where it is more than one. The clock is
 * read every 16 inserts. */
static void insert_all(struct table *t, struct element **elements, uint64_t keys, size_t batch) {
    int64_t slowest_nsec = 0, before_nsec = clock_thread_cpu_nsec();
    uint64_t hash[BATCH_MAX];
    start_clock();
    for (uint64_t i = 0; i < keys; i += batch) {
        size_t now = keys - i < batch ? keys - i : batch;
        for (size_t j = 0; j < now; j++) {
            hash[j] = element_hash(elements[i + j]);
            if (batch > 1) table_prefetch_bucket(t, hash[j]);
        }
        for (size_t j = 0; j < now; j++) table_insert(t, hash[j], elements[i + j]);
        if (i % 16 != 0) continue;
        int64_t nsec = clock_thread_cpu_nsec();
        if (nsec - before_nsec > slowest_nsec) slowest_nsec = nsec - before_nsec;
        before_nsec = nsec;
    }
    report_cost(batch > 1 ? "insert, batched" : "insert", keys);
    printf("%-36s %8.1f us\n", "slowest 16 inserts in a row", (double)slowest_nsec / 1e3);
}

static void find_single(struct table *t, uint64_t keys, uint64_t first, const char *what) {
    char key[KEY_BYTES];
    size_t found = 0;
    start_clock();
    for (size_t i = 0; i < LOOKUPS; i++) {
        make_key(key, first + random_below(keys));
        found += table_find(t, hash_bytes(key, KEY_BYTES), key, KEY_BYTES) != NULL;
    }
    report_cost(what, LOOKUPS);
    ASSERT(found == (first == 0 ? LOOKUPS : 0));
}

static void find_batched(struct table *t, uint64_t keys, size_t batch) {
    char key[BATCH_MAX][KEY_BYTES];
    uint64_t hash[BATCH_MAX];
    start_clock();
    for (size_t i = 0; i < LOOKUPS; i += batch) {
        for (size_t j = 0; j < batch; j++) {
            make_key(key[j], random_below(keys));
            hash[j] = hash_bytes(key[j], KEY_BYTES);
            table_prefetch_bucket(t, hash[j]);
        }
        for (size_t j = 0; j < batch; j++) table_prefetch_element(t, hash[j]);
        for (size_t j = 0; j < batch; j++)
            ASSERT(table_find(t, hash[j], key[j], KEY_BYTES) != NULL);
    }
    report_cost("find, batched", LOOKUPS);
}

static void make_only(uint64_t keys) {
    char key[KEY_BYTES];
    uint64_t sum = 0;
    start_clock();
    for (size_t i = 0; i < LOOKUPS; i++) {
        make_key(key, random_below(keys));
        sum += hash_bytes(key, KEY_BYTES);
    }
    report_cost("(key and hash alone, in each find)", LOOKUPS);
    ASSERT(sum != 0);
}

static void count_element(void *element, void *context) {
    *(uint64_t *)context += (uint8_t)((struct element *)element)->key[KEY_BYTES - 1];
}

static void walk_and_pick(struct table *t) {
    uint64_t cursor = 0, sum = 0;
    start_clock();
    do {
        cursor = table_scan(t, cursor, count_element, &sum);
    } while (cursor != 0);
    report_cost("scan, per element", table_count(t));
    size_t position = 0;
    start_clock();
    do {
        table_sweep(t, &position, count_element, &sum);
    } while (position != 0);
    report_cost("sweep, per element", table_count(t));
    start_clock();
    for (size_t i = 0; i < LOOKUPS / 8; i++) sum += (uintptr_t)table_random(t);
    report_cost("random pick", LOOKUPS / 8);
    void *sampled[5];
    start_clock();
    for (size_t i = 0; i < LOOKUPS / 8; i++) sum += table_sample(t, sampled, 5);
    report_cost("sample of 5", LOOKUPS / 8);
    ASSERT(sum != 0);
}

static void remove_all(struct table *t, uint64_t keys) {
    char key[KEY_BYTES];
    start_clock();
    for (uint64_t i = 0; i < keys; i++) {
        make_key(key, i);
        struct element *e = table_remove(t, hash_bytes(key, KEY_BYTES), key, KEY_BYTES);
        memory_free_sized(e, sizeof(*e), MEMORY_DATASET);
    }
    report_cost("remove and free", keys);
}

static uint64_t number_argument(int argc, char **argv, int index, uint64_t otherwise) {
    uint64_t value;
    if (index >= argc || !number_parse_uint64(argv[index], strlen(argv[index]), &value))
        return otherwise;
    return value;
}

int main(int argc, char **argv) {
    uint64_t keys = number_argument(argc, argv, 1, 20000000),
             batch = number_argument(argc, argv, 2, 16);
    if (batch < 2 || batch > BATCH_MAX) batch = BATCH_MAX;
    random_seed(1);
    struct element **elements = memory_alloc(keys * sizeof(*elements), MEMORY_OTHER);
    fill_table(elements, keys);
    struct table *t = table_create(&type);
    insert_all(t, elements, keys, batch);
    table_free(t);
    t = table_create(&type);
    insert_all(t, elements, keys, 1);
    memory_free(elements, MEMORY_OTHER);
    struct table_stats stats;
    table_stats(t, &stats);
    printf("%-36s %8.2f\n", "table bytes a key", (double)stats.bytes / (double)keys);
    printf("%zu buckets, %zu of overflow, longest chain %zu\n", stats.buckets,
           stats.overflow_buckets, stats.longest_chain);
    make_only(keys);
    find_single(t, keys, 0, "find, one by one");
    find_single(t, keys, keys, "find, missing");
    find_batched(t, keys, batch);
    walk_and_pick(t);
    remove_all(t, keys);
    printf("%-36s %8zu\n", "bytes left in the empty table", table_bytes(t));
    start_clock();
    while (table_pay(t, 1000) != 0) continue;
    report_cost("merges owed at the end, all", 1);
    table_free(t);
    ASSERT(memory_used(MEMORY_DATASET) == 0);
    return 0;
}
