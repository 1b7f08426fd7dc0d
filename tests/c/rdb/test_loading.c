/* SPDX-License-Identifier: BSD-3-Clause
 * While databases are filled: who is answered, when turns are made, what rests, and what INFO says.
 */
#include "rdb/loading.h"

#include "server/whole.h"

#include "base/stream.h"
#include "command/command.h"
#include "exec/gates.h"
#include "metric/metric.h"
#include "store/expire.h"

#define LOADING "-LOADING Redis is loading the dataset in memory\r\n"
#define INTERVAL 2097152 /* the option's default */

static struct peer client, other;

static int begin(void **state) {
    if (loading_is_under_way()) loading_end(false);
    int failed = whole_begin(state);
    client = peer_connect();
    other = peer_connect();
    return failed;
}

static int end(void **state) {
    assert_false(loading_is_under_way());
    peer_close(&client);
    peer_close(&other);
    return whole_nothing_left(state);
}

/* Without a turn of the loop. */
static void send_line(struct peer *p, const char *line) {
    assert_int_equal(peer_try_send(p, line, strlen(line)), strlen(line));
}

static void assert_has(struct peer *p, const char *wanted) {
    peer_receive(p, SIZE_MAX);
    peer_assert_got(p, slice_of(wanted));
}

/* Without a load. */
static void ask(struct peer *p, const char *line, const char *wanted) {
    peer_send(p, slice_of(line));
    assert_has(p, wanted);
}

static uint64_t turns(void) { return loop_stats(peers_loop)->turns; }

static char value[64];

/* The value of a field of INFO, "" = it is not there. Valid until the next. */
static const char *field(const char *name) {
    struct buffer text;
    char key[64];
    value[0] = '\0';
    buffer_init(&text, MEMORY_OTHER);
    metric_print(SLICE("persistence"), &text);
    int length = snprintf(key, sizeof(key), "\n%s:", name);
    const char *at = strstr(text.bytes, key);
    if (at) {
        size_t width = strcspn(at + length, "\r");
        assert_true(width < sizeof(value));
        memcpy(value, at + length, width);
        value[width] = '\0';
    }
    buffer_free(&text);
    return value;
}

static const char *const fields[] = {"loading_start_time",   "loading_total_bytes",
                                     "loading_rdb_used_mem", "loading_loaded_bytes",
                                     "loading_loaded_perc",  "loading_eta_seconds"};

/* ---- when nothing is loaded ---- */

static void test_nothing_is_loaded(void **state) {
    uint64_t before = turns();
    loading_advance(10 * INTERVAL);
    loading_look();
    assert_int_equal(turns(), before);
    assert_string_equal(field("loading"), "0");
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
        assert_string_equal(field(fields[i]), "");
    ask(&client, "PING\r\n", "+PONG\r\n");
}

/* ---- turns ---- */

static void test_turns_come_by_bytes(void **state) {
    loading_begin("test", 10 * INTERVAL);
    uint64_t before = turns();
    for (uint64_t done = 0; done < INTERVAL; done += 1024) loading_advance(done);
    assert_int_equal(turns(), before);
    loading_advance(INTERVAL);
    assert_int_equal(turns(), before + 1);
    loading_advance(INTERVAL + 1);
    loading_advance(2 * INTERVAL - 1);
    assert_int_equal(turns(), before + 1);
    loading_advance(7 * INTERVAL);
    assert_int_equal(turns(), before + 2);
    loading_end(true);
}

static void test_turns_come_by_time(void **state) {
    loading_begin("test", 0);
    uint64_t before = turns();
    clock_advance_usec(LOADING_TURN_MSEC * 1000 - 1);
    loading_look();
    loading_advance(100000);
    assert_int_equal(turns(), before);
    clock_advance_usec(1);
    loading_advance(100001); /* so few bytes that the clock is not asked */
    assert_int_equal(turns(), before);
    loading_look();
    assert_int_equal(turns(), before + 1);
    clock_advance_usec(LOADING_TURN_MSEC * 1000);
    loading_advance(200000);
    assert_int_equal(turns(), before + 2);
    loading_end(true);
}

static void test_interval_is_an_option(void **state) {
    ask(&client, "CONFIG SET loading-process-events-interval-bytes 1024\r\n", "+OK\r\n");
    loading_begin("test", 0);
    uint64_t before = turns();
    for (uint64_t done = 0; done <= 10240; done += 512) loading_advance(done);
    assert_int_equal(turns(), before + 10);
    loading_end(true);
    ask(&client, "CONFIG SET loading-process-events-interval-bytes 2mb\r\n", "+OK\r\n");
}

/* ---- observers ---- */

static char heard[16];

static void note(char letter) {
    size_t length = strlen(heard);
    assert_true(length + 1 < sizeof(heard));
    heard[length] = letter;
    heard[length + 1] = 0;
}

static void first_hears(void) { note('1'); }
static void first_hears_began(const char *what) {
    assert_string_equal(what, "test");
    assert_true(loading_is_under_way());
    note('b');
}
static void first_hears_end(bool good) {
    assert_false(loading_is_under_way());
    note(good ? 'g' : 'f');
}

/* It hears of a turn before clients are served in it. */
static void second_hears(void) {
    note('2');
    send_line(&client, "PING\r\n");
}
static void second_hears_end(bool good) { note(good ? 'G' : 'F'); }

static const struct loading_observer first = {first_hears_began, first_hears, first_hears_end},
                                     second = {.before_turn = second_hears,
                                               .ended = second_hears_end};
static const struct loading_observer *const observers[] = {&first, &second, NULL};
static const struct loading_observer *const none[] = {NULL};

static void test_observers_hear_of_loads(void **state) {
    loading_set_observers(observers);
    ask(&client, "ECHO a\r\n", "$1\r\na\r\n");
    assert_string_equal(heard, "");
    loading_begin("test", 0);
    assert_string_equal(heard, "b");
    loading_advance(INTERVAL);
    assert_string_equal(heard, "b12");
    assert_has(&client, LOADING);
    loading_advance(2 * INTERVAL);
    assert_string_equal(heard, "b1212");
    assert_has(&client, LOADING);
    loading_end(true);
    assert_string_equal(heard, "b1212gG");
    loading_begin("test", 0);
    loading_end(false);
    assert_string_equal(heard, "b1212gGbfF");
    loading_set_observers(none);
}

/* ---- clients ---- */

static void test_clients_are_told(void **state) {
    uint64_t rejected = command_find(SLICE("get"))->rejected_calls;
    ask(&client, "SET k 1\r\n", "+OK\r\n");
    loading_begin("test", 0);
    send_line(&client, "GET k\r\nPING\r\nSELECT 1\r\nECHO x\r\nSELECT 0\r\n");
    send_line(&other, "DEBUG POPULATE 3\r\nDEBUG RELOAD\r\nLASTSAVE x\r\n");
    loading_advance(INTERVAL);
    assert_has(&client, LOADING LOADING "+OK\r\n" LOADING "+OK\r\n");
    assert_has(&other, LOADING LOADING "-ERR wrong number of arguments for 'lastsave' command\r\n");
    assert_int_equal(command_find(SLICE("get"))->rejected_calls, rejected + 1);
    loading_end(false);
    ask(&client, "GET k\r\n", "$1\r\n1\r\n");
}

static void test_transactions(void **state) {
    ask(&client, "MULTI\r\nSET k 1\r\n", "+OK\r\n+QUEUED\r\n");
    ask(&other, "MULTI\r\nGET k\r\n", "+OK\r\n+QUEUED\r\n");
    loading_begin("test", 0);
    send_line(&client, "GET k\r\n");
    send_line(&other, "EXEC\r\nMULTI\r\n");
    loading_advance(INTERVAL);
    assert_has(&client, LOADING);
    assert_has(&other,
               "-EXECABORT Transaction discarded because of: LOADING Redis is loading the "
               "dataset in memory\r\n+OK\r\n");
    loading_end(true);
    ask(&client, "EXEC\r\nEXISTS k\r\n",
        "-EXECABORT Transaction discarded because of previous errors.\r\n:0\r\n");
    ask(&other, "EXISTS k\r\nEXEC\r\n", "+QUEUED\r\n*1\r\n:0\r\n");
}

/* One that waits goes on waiting, may give up, and may be killed. */
static void test_blocked_clients(void **state) {
    struct peer third = peer_connect();
    char line[64];
    ask(&client, "BLPOP l 0\r\n", "");
    ask(&third, "BLPOP l 0\r\n", "");
    loading_begin("test", 0);
    snprintf(line, sizeof(line), "CLIENT KILL ID %llu\r\n", (unsigned long long)third.id);
    send_line(&other, line);
    loading_advance(INTERVAL);
    assert_has(&other, ":1\r\n");
    assert_has(&third, "");
    assert_true(third.ended); /* its descriptor is closed before the load ends */
    loading_end(true);
    assert_has(&client, "");
    ask(&other, "RPUSH l a\r\n", ":1\r\n");
    assert_has(&client, "*2\r\n$1\r\nl\r\n$1\r\na\r\n");
    peer_close(&third);
}

/* ---- what rests ---- */

static void test_nothing_expires(void **state) {
    ask(&client, "SET k 1 PX 5\r\nSET l 1\r\n", "+OK\r\n+OK\r\n");
    loading_begin("test", 0);
    whole_pass(1000);
    assert_int_equal(keyspace_count(keyspace_at(0)), 2);
    loading_end(true);
    whole_pass(1000);
    assert_int_equal(keyspace_count(keyspace_at(0)), 1);
}

static void test_nothing_is_evicted(void **state) {
    ask(&client, "SET k 1\r\n", "+OK\r\n");
    ask(&client, "CONFIG SET maxmemory-policy allkeys-random\r\n", "+OK\r\n");
    loading_begin("test", 0);
    char reason[OPTION_REASON_BYTES];
    assert_true(option_set(option_find(SLICE("maxmemory")), &SLICE("1"), 1, OPTION_FROM_CONFIG_SET,
                           reason, sizeof(reason)));
    send_line(&client, "CONFIG SET maxmemory 1\r\nPUBLISH c m\r\nGET k\r\n");
    loading_advance(INTERVAL);
    loading_advance(2 * INTERVAL);
    assert_has(&client, "-ERR Only CONFIG GET is allowed during loading\r\n:0\r\n" LOADING);
    assert_int_equal(keyspace_count(keyspace_at(0)), 1);
    loading_end(true);
    ask(&client, "PING\r\n", "+PONG\r\n");
    assert_int_equal(keyspace_count(keyspace_at(0)), 0);
    ask(&client, "CONFIG SET maxmemory 0\r\n", "+OK\r\n");
    ask(&client, "CONFIG SET maxmemory-policy noeviction\r\n", "+OK\r\n");
}

/* ---- INFO ---- */

static void assert_fields(const char *const wanted[6]) {
    assert_string_equal(field("loading"), "1");
    for (int i = 0; i < 6; i++) assert_string_equal(field(fields[i]), wanted[i]);
}

static void test_info(void **state) {
    loading_begin("test", 4000);
    assert_fields((const char *[]){"1750000000", "4000", "0", "0", "0.00", "1"});
    loading_note_memory(12345);
    whole_pass(10000);
    loading_advance(999);
    assert_fields((const char *[]){"1750000000", "4000", "12345", "999", "24.98", "30"});
    loading_advance(4000);
    assert_fields((const char *[]){"1750000000", "4000", "12345", "4000", "100.00", "0"});
    loading_end(true);
}

/* Without a length what is known of memory is the guess, and it may be wrong. */
static void test_info_without_a_length(void **state) {
    loading_begin("test", 0);
    loading_advance(999);
    assert_string_equal(field("loading_loaded_perc"), "0.00");
    whole_pass(10000);
    assert_string_equal(field("loading_eta_seconds"), "0");
    loading_note_memory(1998);
    assert_string_equal(field("loading_loaded_perc"), "50.00");
    assert_string_equal(field("loading_eta_seconds"), "9");
    loading_advance(5000);
    assert_string_equal(field("loading_loaded_perc"), "99.99");
    assert_string_equal(field("loading_eta_seconds"), "0");
    loading_end(true);
}

/* A file may say that it took any number of bytes. */
static void test_info_of_a_lie(void **state) {
    loading_begin("test", 0);
    loading_note_memory(INT64_MAX);
    whole_pass(1000000);
    loading_advance(1);
    assert_string_equal(field("loading_eta_seconds"), "9223372036854775807");
    assert_string_equal(field("loading_loaded_perc"), "0.00");
    loading_end(true);
}

/* ---- sources ---- */

/* One that gives zeros for ever, a little at a time. */
static ssize_t read_zeros(struct source *s, void *bytes, size_t length) {
    memset(bytes, 0, length);
    return (ssize_t)length;
}

static const struct source_type zeros = {read_zeros};
static char window[65536], bytes[4 * INTERVAL];

static void test_source_is_watched(void **state) {
    struct source s;
    source_init(&s, &zeros, window, sizeof(window), SOURCE_LENGTH_UNKNOWN);
    loading_begin("test", 0);
    loading_watch(&s);
    uint64_t before = turns();
    for (int i = 0; i <= INTERVAL; i += 1024) assert_true(source_read(&s, bytes, 1024));
    assert_int_equal(turns(), before + 1);
    /* Also in the midst of a long value. */
    assert_true(source_read(&s, bytes, sizeof(bytes)));
    assert_int_equal(turns(), before + 5);
    loading_end(true);
    /* A source outlives its load. */
    assert_true(source_read(&s, bytes, sizeof(bytes)));
    assert_int_equal(turns(), before + 5);
}

/* ---- the end of the server: last, for it remains ---- */

static void test_cut_short(void **state) {
    struct source s;
    source_init(&s, &zeros, window, sizeof(window), SOURCE_LENGTH_UNKNOWN);
    loading_begin("test", 0);
    loading_watch(&s);
    assert_false(loading_is_cut_short());
    send_line(&client, "SHUTDOWN SAVE\r\n");
    uint64_t before = turns();
    int reads = 0;
    while (source_read(&s, bytes, 65536)) assert_true(++reads <= INTERVAL / 65536);
    assert_int_equal(turns(), before + 1);
    assert_true(loading_is_cut_short());
    assert_string_equal(source_fault(&s), "the server is to stop");
    loading_advance(100 * INTERVAL);
    assert_int_equal(turns(), before + 1);
    loading_end(false);
    assert_true(loading_is_cut_short());
}

static int open(void **state) { return whole_open(); }

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_nothing_is_loaded, begin, end),
        cmocka_unit_test_setup_teardown(test_turns_come_by_bytes, begin, end),
        cmocka_unit_test_setup_teardown(test_turns_come_by_time, begin, end),
        cmocka_unit_test_setup_teardown(test_interval_is_an_option, begin, end),
        cmocka_unit_test_setup_teardown(test_observers_hear_of_loads, begin, end),
        cmocka_unit_test_setup_teardown(test_clients_are_told, begin, end),
        cmocka_unit_test_setup_teardown(test_transactions, begin, end),
        cmocka_unit_test_setup_teardown(test_blocked_clients, begin, end),
        cmocka_unit_test_setup_teardown(test_nothing_expires, begin, end),
        cmocka_unit_test_setup_teardown(test_nothing_is_evicted, begin, end),
        cmocka_unit_test_setup_teardown(test_info, begin, end),
        cmocka_unit_test_setup_teardown(test_info_without_a_length, begin, end),
        cmocka_unit_test_setup_teardown(test_info_of_a_lie, begin, end),
        cmocka_unit_test_setup_teardown(test_source_is_watched, begin, end),
        cmocka_unit_test_setup_teardown(test_cut_short, begin, end),
    };
    return cmocka_run_group_tests(tests, open, NULL);
}
