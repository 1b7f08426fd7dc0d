/* SPDX-License-Identifier: BSD-3-Clause
 * Loads against a server of the test's own (answerer.h). Nothing here depends on how fast the
 * machine is: times are lower bounds, and counts are exact.
 */
#include "load/load_run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/memory.h"
#include "load/answerer.h"
#include "load/load_pace.h"

#define BATCH_MAX 64
#define DUES_MAX 1000
#define OUTCOMES (LOAD_UNANSWERED + 1)
#define MSEC INT64_C(1000000)
#define HUGE_BYTES ((size_t)4 << 20)

static struct answerer server;
static struct load_target target;
static struct load_result *result;

/* What the source sends again and again, and what the sink has been told. */
static struct {
    const char *letters; /* the requests of a batch; a batch of `most` takes the first of them */
    const int64_t *dues; /* open loop: due times, ended by LOAD_NEVER */
    unsigned next_due;
    unsigned batches_max; /* 0 = no end of its own */
    _Atomic unsigned batches;
    int64_t naps_msec; /* the source sleeps so long before each batch */
    _Atomic uint64_t outcomes[OUTCOMES];
    _Atomic uint64_t answers, unsent, late, waited;
    enum load_outcome by_place[BATCH_MAX];
    char bodies[64], error[64];
    size_t body_length;
    atomic_bool stop;
    unsigned stop_after;
} told;

static int64_t each_msec[DUES_MAX];
static char scratch[4][2 * BATCH_MAX]; /* one for each thread */

static int64_t listed_due(void *unused, unsigned thread) { return told.dues[told.next_due++]; }

static bool letters_batch(void *unused, unsigned thread, unsigned most, struct load_batch *batch) {
    char *own = scratch[thread];
    unsigned count = (unsigned)strlen(told.letters);
    if (told.naps_msec) usleep((unsigned)told.naps_msec * 1000);
    if (told.batches_max && told.batches >= told.batches_max) return false;
    told.batches++;
    if (count > most) count = most;
    for (unsigned i = 0; i < count; i++) {
        own[2 * i] = told.letters[i];
        own[2 * i + 1] = '\n';
    }
    *batch = (struct load_batch){.bytes = {own, 2 * (size_t)count}, .replies = count, .about = 7};
    return true;
}

static void take(void *unused, unsigned thread, const struct load_answer *a) {
    told.outcomes[a->outcome] += a->count;
    told.answers += a->count;
    told.unsent += a->sent_nsec < 0 ? a->count : 0;
    told.late += a->late_nsec > LOAD_LATE_NSEC ? a->count : 0;
    told.waited += a->sent_nsec - a->due_nsec >= 50 * MSEC ? a->count : 0;
    if (a->sent_nsec >= 0) assert_int_equal(a->about, 7);
    assert_true(a->answered_nsec >= a->sent_nsec && a->due_nsec <= a->answered_nsec);
    for (unsigned i = 0; i < a->count; i++) told.by_place[a->first + i] = a->outcome;
    if (a->error) snprintf(told.error, sizeof(told.error), "%s", a->error);
    if (told.stop_after && told.answers >= told.stop_after) atomic_store(&told.stop, true);
}

static void take_body(void *unused, unsigned thread, struct slice bytes) {
    assert_true(told.body_length + bytes.length < sizeof(told.bodies));
    memcpy(told.bodies + told.body_length, bytes.bytes, bytes.length);
    told.body_length += bytes.length;
}

/* So many batches are due, one each millisecond. */
static void due_each_msec(int count) {
    assert_true(count < DUES_MAX);
    for (int i = 0; i < count; i++) each_msec[i] = i * MSEC;
    each_msec[count] = LOAD_NEVER;
    told.dues = each_msec;
}

static struct load_stream stream_of(const char *letters) {
    told.letters = letters;
    return (struct load_stream){.targets = &target,
                                .target_count = 1,
                                .source = {NULL, letters_batch, NULL},
                                .sink = {take, NULL, NULL},
                                .connections = 1,
                                .pipeline = (unsigned)strlen(letters)};
}

static bool run_stream(const struct load_stream *stream, struct load load) {
    load.streams = stream;
    load.stream_count = 1;
    if (!load.threads) load.threads = 1;
    return load_run(&load, result);
}

static int set_up(void **state) {
    memset(&told, 0, sizeof(told));
    result = memory_zalloc(sizeof(*result), MEMORY_OTHER);
    if (!answerer_open(&server)) return -1;
    target = (struct load_target){.address = {.host = "localhost", .port = server.port}};
    return 0;
}

static int tear_down(void **state) {
    memory_free(result, MEMORY_OTHER);
    return answerer_close(&server) ? -1 : 0;
}

static void test_threads_send_as_many_as_asked(void **state) {
    struct load_stream stream = stream_of("PPPPPPPPPPPPPPPP");
    stream.connections = 7;
    stream.requests = 1003;
    assert_true(run_stream(&stream, (struct load){.threads = 3}));
    assert_int_equal(result->requests, 1003);
    assert_int_equal(told.outcomes[LOAD_OK], 1003);
    assert_int_equal(server.requests, 1003);
    assert_int_equal(server.accepted, 7);
    assert_int_equal(result->latency.count, 1003);
    assert_true(result->seconds > 0);
    assert_int_equal(result->late.handled, 0); /* a closed loop has no schedule */
}

static void test_each_reply_is_told_by_its_place(void **state) {
    static const enum load_outcome expected[] = {LOAD_OK, LOAD_NIL, LOAD_NIL, LOAD_ZERO,
                                                 LOAD_OK, LOAD_OOM, LOAD_OK,  LOAD_ERROR};
    struct load_stream stream = stream_of("PNNZHOPE");
    stream.requests = 800;
    stream.tolerates = true;
    stream.sink.body = take_body;
    told.batches_max = 1;
    assert_true(run_stream(&stream, (struct load){.threads = 1}));
    for (size_t i = 0; i < 8; i++) assert_int_equal(told.by_place[i], expected[i]);
    assert_int_equal(result->requests, 6);
    assert_int_equal(result->errors, 2);
    assert_string_equal(told.error, "ERR no");
    assert_string_equal(told.bodies, "hello\r\n");
}

static void test_an_error_ends_a_strict_load(void **state) {
    struct load_stream stream = stream_of("PE");
    assert_false(run_stream(&stream, (struct load){.threads = 2}));
    assert_string_equal(result->reason, "Error from server: ERR no");
}

static void test_a_lost_connection_ends_a_strict_load(void **state) {
    struct load_stream stream = stream_of("PC");
    assert_false(run_stream(&stream, (struct load){.threads = 1}));
    assert_string_equal(result->reason, "Error: Server closed the connection");
}

static void test_a_lost_connection_is_made_anew(void **state) {
    struct load_stream stream = stream_of("PPC");
    stream.tolerates = true;
    stream.connections = 3;
    told.batches_max = 30;
    assert_true(run_stream(&stream, (struct load){.threads = 1}));
    assert_int_equal(told.answers, 90);
    assert_int_equal(told.outcomes[LOAD_OK] + told.outcomes[LOAD_LOST], 90);
    assert_in_range(told.outcomes[LOAD_LOST], 30, 90);
    assert_int_equal(result->lost, 30);
    assert_true(server.accepted >= 30);
}

static void test_a_server_that_is_gone_is_tried_again(void **state) {
    static const int64_t dues[] = {0, MSEC, 2 * MSEC, LOAD_NEVER};
    struct load_stream stream = stream_of("C");
    stream.tolerates = true;
    stream.source.due = listed_due;
    told.dues = dues;
    assert_true(run_stream(&stream, (struct load){.drain_nsec = 5000 * MSEC}));
    assert_int_equal(told.outcomes[LOAD_LOST], 3);
    assert_int_equal(result->lost,
                     3); /* each before it was answered: they are made after a pause */
}

/* The first batch takes the server away: its connection and the listener are closed. */
static bool last_batch(void *listener, unsigned thread, unsigned most, struct load_batch *batch) {
    int *fd = listener;
    struct socket_peer from;
    if (*fd >= 0) close(socket_accept(*fd, &from));
    if (*fd >= 0) close(*fd);
    *fd = -1;
    *batch = (struct load_batch){.bytes = {"P\n", 2}, .replies = 1, .about = 7};
    return true;
}

static void test_a_server_that_has_gone_is_seen(void **state) {
    struct load_stream stream = stream_of("P");
    struct socket_peer local;
    int listener = socket_listen_tcp("127.0.0.1", 0, 8, (char[64]){0}, 64);
    assert_true(socket_local_of(listener, &local));
    target.address.port = local.port;
    stream.source = (struct load_source){listed_due, last_batch, &listener};
    stream.tolerates = true;
    due_each_msec(2);
    assert_true(run_stream(&stream, (struct load){.drain_nsec = 250 * MSEC}));
    assert_true(result->refused >= 1);
    assert_int_equal(result->lost, 1);
    assert_int_equal(told.outcomes[LOAD_LOST], 1);
    assert_int_equal(told.outcomes[LOAD_UNANSWERED], 1);
    assert_int_equal(told.unsent, 1); /* it waits in line for a connection */
}

static void test_a_stall_is_charged_to_all_that_are_due_in_it(void **state) {
    due_each_msec(100);
    struct load_stream stream = stream_of("S");
    stream.source.due = listed_due;
    stream.requests = 100;
    stream.pipeline = 1;
    told.stop_after = 3; /* three sleeps are enough */
    assert_true(run_stream(&stream, (struct load){.stop = &told.stop}));
    assert_int_equal(told.answers, 100);
    assert_true(told.outcomes[LOAD_OK] >= 3);
    assert_true(told.unsent > 0 && told.outcomes[LOAD_UNANSWERED] >= told.unsent);
    assert_true(told.waited >= 2);
    assert_true(result->most_waiting >= 90);
    assert_true(result->latency.most_usec >= 2 * ANSWERER_SLEEP_MSEC * 1000);
}

static void test_what_is_never_answered_is_told(void **state) {
    struct load_stream stream = stream_of("PP_");
    told.batches_max = 1;
    assert_true(
        run_stream(&stream, (struct load){.duration_nsec = 20 * MSEC, .drain_nsec = 20 * MSEC}));
    assert_int_equal(told.outcomes[LOAD_OK], 2);
    assert_int_equal(told.outcomes[LOAD_UNANSWERED], 1);
    assert_int_equal(told.by_place[2], LOAD_UNANSWERED);
}

static void test_in_turn_means_without_waiting(void **state) {
    due_each_msec(10);
    struct load_stream stream = stream_of("_");
    stream.source.due = listed_due;
    stream.pick = LOAD_PICK_IN_TURN;
    stream.connections = 3;
    assert_true(run_stream(&stream, (struct load){.drain_nsec = 20 * MSEC}));
    assert_int_equal(told.outcomes[LOAD_UNANSWERED], 10);
    assert_int_equal(told.unsent, 0);
    assert_int_equal(result->most_waiting, 0);
}

static void test_a_load_that_is_late_itself_shows(void **state) {
    due_each_msec(20);
    struct load_stream stream = stream_of("P");
    stream.source.due = listed_due;
    stream.connections = 20;
    told.naps_msec = 10;
    assert_true(run_stream(&stream, (struct load){0}));
    assert_int_equal(result->late.handled, 20);
    assert_in_range(result->late.late, 15, 20);
    assert_in_range(result->late.own_late, 10, 20); /* asleep, not without a processor */
    assert_true(result->late.most_nsec >= 100 * MSEC);
    assert_true(told.late >= 15);
}

static void test_the_warm_up_is_not_counted(void **state) {
    due_each_msec(40);
    struct load_stream stream = stream_of("P");
    stream.source.due = listed_due;
    assert_true(
        run_stream(&stream, (struct load){.warmup_nsec = 10 * MSEC, .duration_nsec = 20 * MSEC}));
    assert_int_equal(told.outcomes[LOAD_OK], 30);
    assert_int_equal(result->requests, 20);
}

static void test_idle_connections_are_renewed(void **state) {
    static const int64_t dues[] = {0, 100 * MSEC, LOAD_NEVER};
    struct load_stream stream = stream_of("P");
    stream.source.due = listed_due;
    stream.connections = 4;
    stream.pick = LOAD_PICK_RANDOM;
    stream.renew_nsec = 10 * MSEC;
    told.dues = dues;
    assert_true(run_stream(&stream, (struct load){.seed = 5}));
    assert_in_range(result->renewed, 5, 12);
    assert_int_equal(told.outcomes[LOAD_OK], 2);
}

static void test_the_second_stream_ends_with_the_first(void **state) {
    due_each_msec(999);
    struct load_stream streams[] = {stream_of("P"), stream_of("P")};
    streams[0].requests = 300;
    streams[1].source.due = listed_due;
    streams[1].sink = (struct load_sink){0};
    const struct load load = {.streams = streams, .stream_count = 2, .threads = 1};
    assert_true(load_run(&load, result));
    assert_int_equal(told.outcomes[LOAD_OK], 300);
    assert_true(told.next_due < 999);
}

static void test_a_duration_is_kept_for_the_second_stream(void **state) {
    static const int64_t dues[] = {0, LOAD_NEVER};
    struct load_stream streams[] = {stream_of("P"), stream_of("P")};
    streams[0].source.due = listed_due;
    told.dues = dues;
    const struct load load = {
        .streams = streams, .stream_count = 2, .threads = 1, .duration_nsec = 60 * MSEC};
    int64_t began = clock_monotonic_msec();
    assert_true(load_run(&load, result));
    assert_true(clock_monotonic_msec() - began >= 60);
    assert_true(told.outcomes[LOAD_OK] > 1);
}

/* A batch that no socket takes at once; the source overwrites its bytes at the next batch. */
static char *huge;

static bool huge_batch(void *unused, unsigned thread, unsigned most, struct load_batch *batch) {
    if (told.batches >= 3) return false;
    memset(huge, 'x', HUGE_BYTES); /* not a request: must never arrive */
    told.batches++;
    for (size_t i = 0; i < HUGE_BYTES; i += 2)
        memcpy(huge + i, i + 2 < HUGE_BYTES ? "_\n" : "P\n", 2);
    *batch = (struct load_batch){.bytes = {huge, HUGE_BYTES}, .replies = 1, .about = 7};
    return true;
}

static void test_bytes_that_the_socket_does_not_take_are_kept(void **state) {
    struct load_stream stream = stream_of("P");
    stream.source.next = huge_batch;
    stream.connections = 3;
    huge = malloc(HUGE_BYTES);
    assert_true(run_stream(&stream, (struct load){0}));
    assert_int_equal(told.outcomes[LOAD_OK], 3);
    assert_int_equal(server.requests, 3 * HUGE_BYTES / 2);
    assert_int_equal(server.faults, 0);
    free(huge);
}

static void test_a_greeting_comes_first(void **state) {
    struct load_stream stream = stream_of("P");
    target.greeting = SLICE("PN");
    target.greeting_replies = 2;
    stream.requests = 10;
    assert_true(run_stream(&stream, (struct load){.threads = 1}));
    assert_int_equal(told.outcomes[LOAD_OK], 10);
    assert_int_equal(server.requests, 12);
    target.greeting = SLICE("E");
    target.greeting_replies = 1;
    assert_false(run_stream(&stream, (struct load){.threads = 1}));
    assert_string_equal(result->reason, "Error from server: ERR no");
}

static void test_a_server_that_is_not_there(void **state) {
    struct load_stream stream = stream_of("P");
    int gone = socket_listen_tcp("127.0.0.1", 0, 1, (char[64]){0}, 64);
    struct socket_peer local;
    assert_true(socket_local_of(gone, &local));
    close(gone);
    target.address.port = local.port;
    stream.tolerates = true; /* of a load that runs; it must be able to begin */
    assert_false(run_stream(&stream, (struct load){.threads = 2}));
    assert_string_equal(result->reason, "Could not connect: connect: Connection refused");
    target.address.host = "no such name";
    assert_false(run_stream(&stream, (struct load){.threads = 1}));
    assert_non_null(strstr(result->reason, "Could not connect: "));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_threads_send_as_many_as_asked, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_each_reply_is_told_by_its_place, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_an_error_ends_a_strict_load, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_lost_connection_ends_a_strict_load, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_a_lost_connection_is_made_anew, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_server_that_is_gone_is_tried_again, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_a_server_that_has_gone_is_seen, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_stall_is_charged_to_all_that_are_due_in_it, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_what_is_never_answered_is_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_in_turn_means_without_waiting, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_load_that_is_late_itself_shows, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_warm_up_is_not_counted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_idle_connections_are_renewed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_second_stream_ends_with_the_first, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_a_duration_is_kept_for_the_second_stream, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_bytes_that_the_socket_does_not_take_are_kept, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_a_greeting_comes_first, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_server_that_is_not_there, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
