/* SPDX-License-Identifier: BSD-3-Clause
 * LATENCY DOCTOR on machines that take processor time away: what it says of steal and throttling,
 * in numbers since LATENCY RESET.
 */
#include "commands/latency.h"

#include "command/call.h"
#include "command/command.h"
#include "metric/latency.h"
#include "net/peers.h"
#include "report/host_files.h"

static void execute(struct request *r) {
    struct call call = {
        .client = r->client, .command = command_find(r->argv[0]), .argc = r->argc, .argv = r->argv};
    call.command->handler(&call);
}
static void no_prefetch(struct request *r, int count) {}
static const struct batch_executor executor = {.prefetch = no_prefetch, .execute = execute};

static int begin_all(void **state) {
    if (peers_open(&executor)) return -1;
    commands_latency_register();
    return 0;
}

/* What the machine has taken so far. */
static void host_says(int64_t steal_msec, int64_t throttled_msec, int64_t throttled_count) {
    char text[256];
    int64_t ticks = steal_msec * sysconf(_SC_CLK_TCK) / 1000;
    snprintf(text, sizeof(text), "cpu  1 2 3 4 5 6 7 %lld 0 0\n", (long long)ticks);
    host_put("/proc/stat", text);
    host_put("/proc/self/cgroup", "0::/a\n");
    snprintf(text, sizeof(text), "nr_periods 9\nnr_throttled %lld\nthrottled_usec %lld\n",
             (long long)throttled_count, (long long)throttled_msec * 1000);
    host_put("/sys/fs/cgroup/a/cpu.stat", text);
}

/* The lines of DOCTOR that begin with "- steal" and "- throttling", up to their first full stop. */
static void assert_doctor(struct peer *p, const char *expected) {
    struct buffer found = {.class = MEMORY_OTHER};
    latency_note("command", 200);
    peer_send(p, SLICE("latency doctor\r\n"));
    buffer_append_char(&p->got, '\n');
    for (const char *line = p->got.bytes; *line; line = strchr(line, '\n') + 1) {
        if (strncmp(line, "- steal", 7) && strncmp(line, "- throttling", 12)) continue;
        buffer_append(&found, line, strcspn(line, "."));
        buffer_append_char(&found, '\n');
    }
    assert_string_equal(found.bytes ? found.bytes : "", expected);
    buffer_free(&found);
    buffer_clear(&p->got);
}

static void reset(struct peer *p) {
    peer_send(p, SLICE("latency reset\r\n"));
    buffer_clear(&p->got);
}

#define STEAL(msec) \
    "- steal: for " msec " ms the hypervisor gave this machine's processors to others\n"
#define THROTTLING(count, msec)                                      \
    "- throttling: the control group's CPU quota was used up " count \
    " times and kept threads from running for " msec " ms\n"

static void test_doctor(void **state) {
    struct peer p = peer_connect();
    option_set_text("latency-monitor-threshold", "100");
    host_says(5000, 3000, 10);
    reset(&p);
    assert_doctor(&p, "");
    /* Below the threshold, at it, above it. */
    host_says(5090, 3099, 11);
    assert_doctor(&p, "");
    host_says(5100, 3100, 12);
    assert_doctor(&p, STEAL("100") THROTTLING("2", "100"));
    host_says(5100, 3250, 15);
    assert_doctor(&p, STEAL("100") THROTTLING("5", "250"));
    host_says(7000, 3050, 15);
    assert_doctor(&p, STEAL("2000"));
    /* From now on. */
    reset(&p);
    assert_doctor(&p, "");
    host_says(7000, 4050, 17);
    assert_doctor(&p, THROTTLING("2", "1000"));
    peer_close(&p);
}

/* Every event counts: what was not taken is no event. */
static void test_threshold_of_a_millisecond(void **state) {
    struct peer p = peer_connect();
    option_set_text("latency-monitor-threshold", "1");
    host_says(100, 100, 1);
    reset(&p);
    assert_doctor(&p, "");
    host_says(110, 101, 2);
    assert_doctor(&p, STEAL("10") THROTTLING("1", "1"));
    /* Switched off, the events that there are can still be asked about. */
    reset(&p);
    latency_note("command", 200);
    option_set_text("latency-monitor-threshold", "0");
    assert_doctor(&p, "");
    host_says(120, 103, 3);
    assert_doctor(&p, STEAL("10") THROTTLING("1", "2"));
    peer_close(&p);
}

/* What cannot be read now, or could not be at the reset, is no reason for a line. */
static void test_unknown(void **state) {
    struct peer p = peer_connect();
    option_set_text("latency-monitor-threshold", "1");
    reset(&p); /* nothing is there */
    assert_doctor(&p, "");
    host_says(500, 500, 5);
    assert_doctor(&p, "");
    reset(&p);
    host_put("/proc/stat", "\n");
    host_put("/sys/fs/cgroup/a/cpu.stat", "\n");
    assert_doctor(&p, "");
    peer_close(&p);
}

static int begin(void **state) { return host_begin(state) || peers_begin(state); }
static int end(void **state) {
    latency_reset_all();
    return host_end(state) || peers_nothing_left(state);
}

int main(void) {
#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        CASE(test_doctor),
        CASE(test_threshold_of_a_millisecond),
        CASE(test_unknown),
    };
    return cmocka_run_group_tests(tests, begin_all, NULL);
}
