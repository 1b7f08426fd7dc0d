/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of report/trace: the buffer keeps the newest records in order and whole, drops and counts
 * the oldest, holds no more than its option, and nothing while the trace is off.
 *
 * SEED=n repeats the random lengths.
 */
#include "report/trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/random.h"
#include "base/seed.h"
#include "metric/metric.h"
#include "net/client.h"
#include "option/option.h"
#include "store/keyspace.h"
#include "store/told.h"

#define KEY_BYTES_MAX 3000

static struct client client;
static struct command get = {.name = "get",
                             .arity = 2,
                             .first_key = 1,
                             .last_key = 1,
                             .key_step = 1},
                      ping = {.name = "ping", .arity = -1};
static size_t other_before;

static void set_option(const char *name, const char *value) {
    char reason[OPTION_REASON_BYTES];
    struct slice word = slice_of(value);
    assert_true(option_set(option_find(slice_of(name)), &word, 1, OPTION_FROM_CONFIG_SET, reason,
                           sizeof(reason)));
}

static void trace_request(struct command *command, struct slice key) {
    struct slice argv[] = {slice_of(command->name), key};
    struct call call = {.client = &client,
                        .command = command,
                        .argc = key.length ? 2 : 1,
                        .argv = argv,
                        .keyspace = keyspace_at(0)};
    if (command->first_key) {
        call.hashed = 1;
        call.key_hash = hash_bytes(key.bytes, key.length);
    }
    if (trace_may_want(&call)) trace_call(&call);
}

static int begin(void **state) {
    set_option("trace-sample", "0");
    other_before = memory_used(MEMORY_OTHER);
    set_option("trace-buffer-size", "64kb");
    set_option("trace-sample", "1");
    metric_reset_all();
    return 0;
}

/* A key whose length and bytes follow from the record's id. */
static struct slice key_of_id(uint64_t id, char *bytes) {
    size_t length = 1 + (size_t)(id * UINT64_C(0x9e3779b97f4a7c15) >> 32) % KEY_BYTES_MAX;
    memset(bytes, (int)('a' + id % 26), length);
    return (struct slice){bytes, length};
}

static void assert_is_record(const struct trace_record *record, uint64_t id) {
    char bytes[KEY_BYTES_MAX];
    struct trace_argument a;
    const char *cursor = NULL;
    assert_int_equal(record->id, id);
    assert_true(trace_record_next(record, &cursor, &a) && slice_is(a.text, "get"));
    assert_true(trace_record_next(record, &cursor, &a));
    assert_true(slice_equal(a.text, key_of_id(id, bytes)));
    assert_false(trace_record_next(record, &cursor, &a));
}

static void test_ring(void **state) {
    char bytes[KEY_BYTES_MAX];
    uint64_t next = trace_status().next_id, oldest = next;
    for (int round = 0; round < 20000; round++) {
        if (random_below(4)) {
            uint64_t dropped = trace_status().dropped;
            trace_request(&get, key_of_id(next++, bytes));
            oldest += trace_status().dropped - dropped;
        } else if (trace_oldest()) {
            assert_is_record(trace_oldest(), oldest++);
            trace_take();
        }
        struct trace_status s = trace_status();
        assert_int_equal(s.waiting, next - oldest);
        assert_true(s.waiting_bytes <= 65536);
    }
    assert_true(trace_status().dropped > 0);
    while (oldest < next) {
        assert_is_record(trace_oldest(), oldest++);
        trace_take();
    }
    assert_null(trace_oldest());
    assert_int_equal(trace_status().waiting_bytes, 0);
}

static void test_memory(void **state) {
    assert_int_equal(memory_used(MEMORY_OTHER), other_before); /* nothing before the first record */
    trace_request(&get, SLICE("k"));
    size_t used = memory_used(MEMORY_OTHER) - other_before;
    assert_true(used >= 65536 && used < 65536 + 65536);
    set_option("trace-sample", "0");
    assert_null(trace_oldest());
    assert_true(memory_used(MEMORY_OTHER) - other_before <= 4096); /* what records are made with */
}

static void test_new_size(void **state) {
    trace_request(&get, SLICE("k"));
    trace_request(&get, SLICE("k"));
    set_option("trace-buffer-size", "1mb");
    assert_null(trace_oldest());
    assert_int_equal(trace_status().dropped, 2);
    for (int i = 0; i < 2000; i++) trace_request(&get, SLICE("k"));
    assert_int_equal(trace_status().dropped, 2);
    trace_reset();
    assert_int_equal(trace_status().waiting, 0);
    assert_int_equal(trace_status().dropped, 2);
}

/* One key in so many, all requests of it; a request without keys is counted. */
static void test_sample(void **state) {
    set_option("trace-sample", "10");
    int keys = 0;
    for (int i = 0; i < 10000; i++) {
        char text[16];
        struct slice key = {text, (size_t)snprintf(text, sizeof(text), "key:%d", i)};
        uint64_t recorded = trace_status().recorded;
        trace_request(&get, key);
        trace_request(&get, key);
        uint64_t more = trace_status().recorded - recorded;
        assert_true(more == 0 || more == 2);
        keys += more == 2;
    }
    assert_in_range(keys, 800, 1200);
    assert_int_equal(trace_status().without_keys, 0);
    trace_request(&ping, (struct slice){0});
    assert_int_equal(trace_status().without_keys, 1);
}

static void test_too_large_is_counted(void **state) {
    char key[TRACE_RECORD_BYTES_MAX];
    memset(key, 'k', sizeof(key));
    uint64_t next = trace_status().next_id;
    trace_request(&get, (struct slice){key, sizeof(key)});
    assert_int_equal(trace_status().dropped, 1);
    assert_int_equal(trace_status().next_id, next + 1); /* a reader sees the gap */
    assert_null(trace_oldest());
}

static int setup(void **state) {
    seed_from_environment();
    keyspace_register();
    keyspace_open();
    trace_register();
    get.has_one_key = true;
    clock_use_fixed(INT64_C(1750000000000000), 1000000);
    clock_refresh();
    return 0;
}

static int teardown(void **state) {
    set_option("trace-sample", "0");
    clock_use_system();
    option_reset_all();
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_ring, begin),
        cmocka_unit_test_setup(test_memory, begin),
        cmocka_unit_test_setup(test_new_size, begin),
        cmocka_unit_test_setup(test_sample, begin),
        cmocka_unit_test_setup(test_too_large_is_counted, begin),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
