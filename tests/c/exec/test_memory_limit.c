/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of exec/memory_limit: each option turned while a simulated load runs, and what the counters
 * say. The clock stands but for what a victim costs, which is added where its memory is freed.
 *
 * SEED=n runs the same random choices again; each run prints its seed.
 */
#include "exec/memory_limit.h"

#include "exec/pause.h"
#include "metric/metric.h"
#include "net/batch.h"
#include "net/client.h"
#include "store/evict.h"
#include "store/keys.h"
#include "store/lazyfree.h"
#include "store/recency.h"

#define KEYS 4000u
#define VICTIM_USEC 10
/* The last victim, and what the table gives back as it empties: more than was asked for. */
#define SLACK 10000

static struct loop *loop;
static int64_t victim_usec = VICTIM_USEC, spent_usec;
static size_t clients, leaving, arguments, disconnect_wanted, disconnect_given;
static void *client_block;

static void on_free(size_t bytes) {
    clock_advance_usec(victim_usec);
    spent_usec += victim_usec;
}
static const struct memory_hook hook = {.freed = on_free};

static bool try_set(const char *name, const char *value) {
    char reason[OPTION_REASON_BYTES] = "";
    struct slice word = slice_of(value);
    return option_set(option_find(slice_of(name)), &word, 1, OPTION_FROM_CONFIG_SET, reason,
                      sizeof(reason));
}
static void set(const char *name, const char *value) { assert_true(try_set(name, value)); }
static void set_bytes(const char *name, size_t bytes) {
    char text[32];
    snprintf(text, sizeof(text), "%zu", bytes);
    set(name, text);
}

static int64_t metric(const char *section, const char *name) {
    struct buffer text;
    buffer_init(&text, MEMORY_OTHER);
    metric_print(slice_of(section), &text);
    buffer_append_char(&text, '\0');
    char pattern[100];
    snprintf(pattern, sizeof(pattern), "\n%s:", name);
    char *found = strstr(text.bytes, pattern);
    assert_non_null(found);
    int64_t value = strtoll(found + strlen(pattern), NULL, 10);
    buffer_free(&text);
    return value;
}

static size_t fake_clients(void) { return clients; }
static size_t fake_disconnect(size_t wanted) {
    disconnect_wanted = wanted;
    size_t given = wanted < disconnect_given ? wanted : disconnect_given;
    leaving += given;
    return given;
}
static size_t fake_leaving(void) { return leaving; }
static size_t fake_arguments(void) { return arguments; }
static const struct memory_limit_clients how = {fake_clients, fake_leaving, fake_arguments,
                                                fake_disconnect};
static void clients_hold(size_t bytes) {
    memory_free(client_block, MEMORY_CLIENTS);
    client_block = bytes ? memory_alloc(bytes, MEMORY_CLIENTS) : NULL;
    clients = bytes ? memory_usable_size(client_block) : 0;
}

static unsigned next_key;
static void write_keys(unsigned count) {
    for (unsigned i = 0; i < count; i++)
        key_store(keyspace_at(0), next_key++, SLICE("some value of some forty bytes, or so"),
                  ENTRY_NO_DEADLINE);
}

static int begin(void **state) {
    static const char *const defaults[][2] = {{"maxmemory", "0"},
                                              {"maxmemory-policy", "allkeys-lru"},
                                              {"maxmemory-eviction-tenacity", "100"},
                                              {"maxmemory-eviction-cpu-budget", "100"},
                                              {"maxmemory-exclude-client-buffers", "no"},
                                              {"maxmemory-ceiling", "120%"},
                                              {"maxmemory-soft-limit", "0"}};
    keys_begin(state);
    for (size_t i = 0; i < sizeof(defaults) / sizeof(defaults[0]); i++)
        set(defaults[i][0], defaults[i][1]);
    victim_usec = VICTIM_USEC;
    clients = leaving = arguments = disconnect_wanted = disconnect_given = 0;
    metric_reset_all();
    memory_limit_turn();
    next_key = 0;
    write_keys(KEYS);
    spent_usec = 0;
    return 0;
}

static int end(void **state) {
    memory_set_hook(NULL);
    clients_hold(0);
    set("maxmemory", "0");
    return keys_nothing_left(state);
}

static size_t keys_now(void) { return keyspace_count(keyspace_at(0)); }

/* Room for all keys but this share of them. */
static void limit_by_percent(unsigned percent) {
    set_bytes("maxmemory",
              memory_limit_counted() - keyspace_entry_bytes(keyspace_at(0)) / 100 * percent);
    memory_set_hook(&hook);
}

/* ---- as 6.2 ---- */

static void test_down_to_the_limit_and_no_further(void **state) {
    limit_by_percent(10);
    size_t limit = (size_t)memory_limit_bytes();
    spent_usec = 0;
    assert_true(memory_limit_make_room());
    assert_in_range(memory_limit_counted(), limit - SLACK, limit);
    assert_in_range(keys_now(), KEYS * 88 / 100, KEYS * 92 / 100);
    size_t kept = keys_now();
    assert_true(memory_limit_make_room());
    assert_int_equal(keys_now(), kept);
    int64_t spent = spent_usec; /* more memory is freed below */
    assert_int_equal(metric("Stats", "eviction_cpu_usec_total"), spent);
    assert_true(metric("Memory", "maxmemory_overshoot_peak_bytes") > 0);
}

static void test_tenacity(void **state) {
    limit_by_percent(90);
    size_t limit = (size_t)memory_limit_bytes();
    set("maxmemory-eviction-tenacity", "0");
    assert_true(memory_limit_make_room());
    assert_int_equal(evict_count(), 16);
    spent_usec = 0;
    set("maxmemory-eviction-tenacity", "10");
    assert_true(memory_limit_make_room());
    assert_in_range(spent_usec, 500, 500 + 20 * VICTIM_USEC);
    spent_usec = 0;
    set("maxmemory-eviction-tenacity", "20");
    assert_true(memory_limit_make_room());
    assert_in_range(spent_usec, 2022, 2022 + 20 * VICTIM_USEC);
    /* What is left goes on between turns, a slice each. */
    int turns = 0;
    while (memory_limit_step()) turns++;
    assert_in_range(turns, 10, 25);
    assert_true(memory_limit_make_room());
    assert_false(memory_limit_step());
    assert_in_range(memory_limit_counted(), limit - SLACK, limit);
    assert_false(memory_limit_step());
}

/* ---- what is written is answered ---- */

#define LARGE_BYTES 20000

static void write_large(unsigned number) {
    struct key_text name;
    struct slice key = key_of(&name, number);
    struct string_value value = string_value_zeros(LARGE_BYTES);
    memory_set_hook(NULL); /* what writing frees is no victim */
    told_store(keyspace_at(0), key, key_hash(key), NULL, &value, ENTRY_NO_DEADLINE);
    memory_set_hook(&hook);
}

static size_t unanswered_at_most(void) { return (size_t)memory_limit_bytes() / 32; }

/* Each value asks for many more victims than tenacity has time for. */
static void test_large_values_are_answered(void **state) {
    set("maxmemory-eviction-tenacity", "10");
    limit_by_percent(0);
    size_t limit = (size_t)memory_limit_bytes();
    for (unsigned i = 0; i < 15; i++) {
        write_large(1000000 + i);
        assert_true(memory_limit_make_room());
        assert_in_range(memory_limit_counted(), 0, limit + unanswered_at_most() + SLACK);
    }
    while (memory_limit_step()) continue;
    assert_in_range(memory_limit_counted(), limit - SLACK - LARGE_BYTES, limit);
}

/* Also where others have the processor for most of the time: a slice's milliseconds are its own. */
static void test_large_values_on_a_busy_host(void **state) {
    set("maxmemory-eviction-tenacity", "10");
    limit_by_percent(0);
    size_t limit = (size_t)memory_limit_bytes();
    victim_usec = 3000;
    for (unsigned i = 0; i < 15; i++) {
        write_large(1000000 + i);
        assert_true(memory_limit_make_room());
        assert_in_range(memory_limit_counted(), 0, limit + unanswered_at_most() + SLACK);
    }
}

/* Not with a budget: that bounds what is spent, and the ceiling what is used. */
static void test_budget_comes_before_answers(void **state) {
    limit_by_percent(0);
    set("maxmemory-eviction-cpu-budget", "1");
    set("maxmemory-ceiling", "0");
    for (unsigned i = 0; i < 15; i++) write_large(1000000 + i);
    spent_usec = 0;
    assert_true(memory_limit_make_room());
    assert_in_range(spent_usec, 0, 150);
}

/* Large arguments are answered while they are read, before their command runs. */
static void test_arguments_are_answered(void **state) {
    set("maxmemory-eviction-tenacity", "10");
    limit_by_percent(0);
    size_t limit = (size_t)memory_limit_bytes();
    assert_false(memory_limit_step());
    for (size_t bytes = LARGE_BYTES; bytes < 15 * LARGE_BYTES; bytes += LARGE_BYTES) {
        memory_set_hook(NULL);
        clients_hold(bytes);
        memory_set_hook(&hook);
        arguments = clients;
        memory_limit_step();
        assert_in_range(memory_limit_counted(), 0, limit + unanswered_at_most() + SLACK);
    }
    while (memory_limit_step()) continue;
    assert_in_range(memory_limit_counted(), limit - SLACK, limit);
}

/* Nobody wrote what clients do not read: for their replies keys go at tenacity's pace. */
static void test_replies_are_not_answered(void **state) {
    set("maxmemory-eviction-tenacity", "10");
    limit_by_percent(0);
    memory_set_hook(NULL);
    clients_hold(15 * LARGE_BYTES);
    memory_set_hook(&hook);
    spent_usec = 0;
    assert_true(memory_limit_make_room());
    assert_in_range(spent_usec, 500, 500 + 20 * VICTIM_USEC);
}

static void test_config_set_evicts_by_itself(void **state) {
    limit_by_percent(20);
    int turns = 0;
    while (memory_limit_step()) turns++;
    assert_in_range(keys_now(), KEYS * 77 / 100, KEYS * 82 / 100);
}

static void test_no_room(void **state) {
    set("maxmemory-policy", "noeviction");
    limit_by_percent(10);
    assert_false(memory_limit_make_room());
    set("maxmemory-policy", "volatile-lru"); /* there is none */
    assert_false(memory_limit_make_room());
    assert_int_equal(keys_now(), KEYS);
    assert_false(memory_limit_step());
    /* Not enough of them: all of these go, and there is no room yet. */
    for (unsigned i = 0; i < 20; i++)
        key_store(keyspace_at(0), i, SLICE("v"), START_MSEC + 1000000);
    assert_false(memory_limit_make_room());
    assert_int_equal(keyspace_count_volatile(keyspace_at(0)), 0);
    set("maxmemory-policy", "allkeys-random");
    assert_true(memory_limit_make_room());
}

static void test_paused(void **state) {
    limit_by_percent(50);
    pause_start(PAUSE_WRITES, 1000);
    assert_true(memory_limit_make_room());
    assert_false(memory_limit_step());
    assert_int_equal(keys_now(), KEYS);
    pause_end();
    assert_true(memory_limit_make_room());
    assert_true(keys_now() < KEYS);
}

/* ---- the budget ---- */

#define TURNS 2000
static int64_t free_at[4 * KEYS];
static int free_count;
static void note_free(size_t bytes) {
    clock_advance_usec(VICTIM_USEC);
    assert_true(free_count < (int)(sizeof(free_at) / sizeof(free_at[0])));
    free_at[free_count++] = clock_monotonic_usec();
}

/* A turn a millisecond, twenty commands in each, that write nothing: all of the work is eviction.
 */
static void test_budget(void **state) {
    static const struct memory_hook noting = {.freed = note_free};
    limit_by_percent(95);
    size_t limit = (size_t)memory_limit_bytes();
    set("maxmemory-ceiling", "0");
    set("maxmemory-eviction-cpu-budget", "2");
    free_count = 0;
    memory_set_hook(&noting);
    int64_t begin_usec = clock_monotonic_usec();
    for (int turn = 0; turn < TURNS && memory_limit_counted() > limit; turn++) {
        memory_limit_turn();
        for (int command = 0; command < 20; command++) {
            assert_true(memory_limit_make_room());
            clock_advance_usec(50);
        }
        memory_limit_step();
    }
    int64_t passed_usec = clock_monotonic_usec() - begin_usec;
    assert_true(free_count > 2000);
    assert_true(metric("Stats", "eviction_budget_exhausted_count") > 500);
    int64_t spent = metric("Stats", "eviction_cpu_usec_total");
    assert_in_range(spent, (uint64_t)(passed_usec * 18 / 1000),
                    (uint64_t)(passed_usec * 22 / 1000));
    int first = 0, fullest = 0;
    for (int i = 0; i < free_count; i++) {
        while (free_at[first] <= free_at[i] - 100000) first++;
        if (i - first + 1 > fullest) fullest = i - first + 1;
    }
    /* 2 ms, and the end of the last victim, for which an emptying table gives back some memory. */
    assert_in_range(fullest, 100, 2000 / VICTIM_USEC + 10);
}

/* Turned while eviction goes on, it binds from then on: half a second with each. */
static void test_budget_turned(void **state) {
    static const char *const percents[] = {"1", "4", "2"};
    static const int64_t shares[] = {1, 4, 2};
    limit_by_percent(95);
    set("maxmemory-ceiling", "0");
    for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++) {
        set("maxmemory-eviction-cpu-budget", percents[i]);
        int64_t before = metric("Stats", "eviction_cpu_usec_total");
        int64_t begin_usec = clock_monotonic_usec();
        for (int turn = 0; turn < 500; turn++) {
            memory_limit_turn();
            for (int command = 0; command < 10; command++) {
                assert_true(memory_limit_make_room());
                clock_advance_usec(100);
            }
            memory_limit_step();
        }
        assert_true(metric("Memory", "maxmemory_overshoot_bytes") > 0);
        int64_t spent = metric("Stats", "eviction_cpu_usec_total") - before;
        int64_t granted = (clock_monotonic_usec() - begin_usec) * shares[i] / 100;
        assert_in_range(spent, (uint64_t)(granted * 9 / 10), (uint64_t)(granted * 11 / 10));
    }
    /* Without one a command goes on as long as its tenacity lets it. */
    set("maxmemory-eviction-cpu-budget", "100");
    set("maxmemory-eviction-tenacity", "100");
    assert_true(memory_limit_make_room());
    /* Entries are counted; merging buckets of the table may add an overflow bucket or two. */
    assert_in_range(metric("Memory", "maxmemory_overshoot_bytes"), 0, 1024);
}

static void test_budget_spent_lets_commands_go_on(void **state) {
    limit_by_percent(5);
    set("maxmemory-eviction-cpu-budget", "1"); /* 100 us a turn: 10 victims */
    assert_true(memory_limit_make_room());
    size_t victims = evict_count();
    assert_in_range(victims, 7, 12); /* they differ in size, and so do the pauses for the clock */
    for (int i = 0; i < 100; i++) assert_true(memory_limit_make_room());
    assert_int_equal(evict_count(), victims);
    assert_int_equal(metric("Stats", "eviction_budget_exhausted_count"), 1);
    assert_true(metric("Memory", "maxmemory_overshoot_bytes") > 0);
    /* The loop may sleep until there is budget again. */
    assert_false(memory_limit_step());
}

/* ---- exemption and ceiling ---- */

static void test_clients_do_not_count(void **state) {
    set("maxmemory-exclude-client-buffers", "yes");
    set("maxmemory-ceiling", "0");
    limit_by_percent(0);
    size_t before = memory_limit_counted();
    clients_hold(1000000);
    assert_int_equal(memory_limit_counted(), before);
    assert_true(memory_limit_make_room());
    assert_int_equal(keys_now(), KEYS);
    set("maxmemory-policy", "noeviction");
    assert_true(memory_limit_make_room());
    set("maxmemory-exclude-client-buffers", "no");
    assert_int_equal(memory_limit_counted(), before + clients);
    assert_false(memory_limit_make_room());
    set("maxmemory-policy", "allkeys-lru");
    assert_true(memory_limit_make_room() || keys_now() == 0);
    assert_true(keys_now() < KEYS);
}

static void test_ceiling_disconnects(void **state) {
    set("maxmemory-exclude-client-buffers", "yes");
    limit_by_percent(0);
    size_t limit = memory_limit_counted();
    set_bytes("maxmemory", limit);
    set_bytes("maxmemory-ceiling", limit + 300000);
    clients_hold(1000000);
    disconnect_given = 2000000;
    assert_true(memory_limit_make_room());
    assert_int_equal(disconnect_wanted, clients - 300000);
    assert_int_equal(metric("Stats", "maxmemory_ceiling_hits"), 1);
    assert_int_equal(keys_now(), KEYS);
    /* What leaves counts as gone until the turn ends. */
    disconnect_wanted = 0;
    assert_true(memory_limit_make_room());
    assert_int_equal(disconnect_wanted, 0);
    /* Nobody can be disconnected: keys go, down to the ceiling. */
    memory_limit_turn();
    disconnect_given = leaving = 0;
    clients_hold(400000);
    assert_true(memory_limit_make_room());
    assert_true(disconnect_wanted > 0);
    size_t total = memory_limit_counted() + clients;
    assert_in_range(total, limit + 300000 - SLACK, limit + 300000);
}

static void test_ceiling_breaks_the_budget(void **state) {
    limit_by_percent(60);
    size_t limit = (size_t)memory_limit_bytes();
    set("maxmemory-eviction-cpu-budget", "1");
    set_bytes("maxmemory-ceiling", limit + 50000);
    assert_true(memory_limit_make_room());
    assert_in_range(memory_limit_counted(), limit + 50000 - SLACK, limit + 50000);
    assert_int_equal(metric("Stats", "maxmemory_ceiling_hits"), 1);
    /* Without budget and exemption there is no ceiling: all goes down to the limit. */
    set("maxmemory-eviction-cpu-budget", "100");
    assert_true(memory_limit_make_room());
    assert_in_range(memory_limit_counted(), limit - SLACK, limit);
    assert_int_equal(metric("Stats", "maxmemory_ceiling_hits"), 1);
}

/* ---- the soft limit ---- */

static void test_soft_limit_idle(void **state) {
    limit_by_percent(0);
    size_t soft = memory_limit_counted() - 60000;
    set_bytes("maxmemory-soft-limit", soft);
    memory_limit_step(); /* what came before this turn */
    size_t slices = 1;
    while (memory_limit_step()) {
        assert_in_range(keys_now(), KEYS - 20 * (slices + 1), KEYS); /* 100 us a slice */
        slices++;
    }
    assert_in_range(memory_limit_counted(), soft - SLACK, soft);
    assert_int_equal(metric("Memory", "maxmemory_overshoot_peak_bytes"), 0);
}

static void test_soft_limit_busy(void **state) {
    set_bytes("maxmemory", memory_limit_counted() + 200000);
    set_bytes("maxmemory-soft-limit", memory_limit_counted() + 20000);
    memory_set_hook(&hook);
    for (int turn = 0; turn < 500; turn++) {
        memory_limit_turn();
        for (int command = 0; command < 8; command++) {
            assert_true(memory_limit_make_room());
            memory_set_hook(NULL); /* a split of the table frees, too */
            write_keys(1);
            memory_set_hook(&hook);
        }
        memory_limit_step();
    }
    assert_true(evict_count() > 3000);
    /* maxmemory was never met. */
    assert_int_equal(metric("Memory", "maxmemory_overshoot_peak_bytes"), 0);
}

/* ---- values ---- */

static void test_bad_values(void **state) {
    static const char *const bad[][2] = {
        {"maxmemory", "x"},
        {"maxmemory", "10%"},
        {"maxmemory-eviction-tenacity", "101"},
        {"maxmemory-eviction-tenacity", "-1"},
        {"maxmemory-eviction-cpu-budget", "0"},
        {"maxmemory-eviction-cpu-budget", "101"},
        {"maxmemory-exclude-client-buffers", "maybe"},
        {"maxmemory-ceiling", "99%"},
        {"maxmemory-ceiling", "1001%"},
        {"maxmemory-ceiling", "-1%"},
        {"maxmemory-ceiling", "%"},
        {"maxmemory-soft-limit", "101%"},
        {"maxmemory-soft-limit", "ten"},
        {"maxmemory-policy", "lru"},
        {"maxmemory-samples", "0"},
        {"maxmemory-eviction-algorithm", "hand"},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        if (try_set(bad[i][0], bad[i][1])) fail_msg("%s takes %s", bad[i][0], bad[i][1]);
    set("maxmemory-ceiling", "100%");
    set("maxmemory-ceiling", "0%");
    set("maxmemory-ceiling", "3gb");
    set("maxmemory-soft-limit", "95%");
}

static int open_all(void **state) {
    int result = keys_open();
    lazyfree_register();
    recency_register();
    evict_register();
    memory_limit_register();
    memory_limit_set_clients(&how);
    loop = loop_create();
    assert_true(client_open(loop, &batch_client_parts));
    return result;
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(test_down_to_the_limit_and_no_further),
        TEST(test_tenacity),
        TEST(test_large_values_are_answered),
        TEST(test_large_values_on_a_busy_host),
        TEST(test_budget_comes_before_answers),
        TEST(test_arguments_are_answered),
        TEST(test_replies_are_not_answered),
        TEST(test_config_set_evicts_by_itself),
        TEST(test_no_room),
        TEST(test_paused),
        TEST(test_budget),
        TEST(test_budget_turned),
        TEST(test_budget_spent_lets_commands_go_on),
        TEST(test_clients_do_not_count),
        TEST(test_ceiling_disconnects),
        TEST(test_ceiling_breaks_the_budget),
        TEST(test_soft_limit_idle),
        TEST(test_soft_limit_busy),
        TEST(test_bad_values),
    };
#undef TEST
    return cmocka_run_group_tests(tests, open_all, NULL);
}
