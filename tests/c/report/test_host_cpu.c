/* SPDX-License-Identifier: BSD-3-Clause
 * Steal and throttling, from trees of files as machines and containers have them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "metric/metric.h"
#include "report/host_files.h"

static void test_nothing_there(void **state) {
    struct host_cpu cpu = host_cpu_read();
    assert_int_equal(cpu.steal_usec, -1);
    assert_int_equal(cpu.throttled_usec, -1);
    assert_int_equal(cpu.throttled_count, -1);
}

static void test_steal(void **state) {
    host_put("/proc/stat", "cpu  10 20 30 40 50 60 70 123 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\n");
    assert_int_equal(host_cpu_read().steal_usec, 123 * (1000000 / sysconf(_SC_CLK_TCK)));
    host_put("/proc/stat", "cpu  10 20 30\n");
    assert_int_equal(host_cpu_read().steal_usec, -1);
}

static void test_version_2(void **state) {
    host_put("/proc/self/cgroup", "0::/system.slice/redis.service\n");
    host_put("/sys/fs/cgroup/system.slice/redis.service/cpu.stat",
             "usage_usec 5\nnr_periods 10\nnr_throttled 7\nthrottled_usec 4321\n");
    struct host_cpu cpu = host_cpu_read();
    assert_int_equal(cpu.throttled_usec, 4321);
    assert_int_equal(cpu.throttled_count, 7);
}

/* In a container the path is the one outside, and the group is mounted at the root. */
static void test_container(void **state) {
    host_put("/proc/self/cgroup", "0::/docker/abc\n");
    host_put("/sys/fs/cgroup/cpu.stat", "nr_throttled 3\nthrottled_usec 99\n");
    assert_int_equal(host_cpu_read().throttled_usec, 99);
}

static void test_version_1(void **state) {
    host_put("/proc/self/cgroup", "12:cpuset:/x\n4:cpu,cpuacct:/docker/abc\n0::/y\n");
    host_put("/sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.stat",
             "nr_periods 1\nnr_throttled 2\nthrottled_time 5000000\n");
    struct host_cpu cpu = host_cpu_read();
    assert_int_equal(cpu.throttled_usec, 5000);
    assert_int_equal(cpu.throttled_count, 2);
}

/* The machine's root group has a cpu.stat that tells nothing of throttling. */
static void test_root_group(void **state) {
    host_put("/proc/self/cgroup", "0::/\n");
    host_put("/sys/fs/cgroup/cpu.stat", "usage_usec 5\n");
    assert_int_equal(host_cpu_read().throttled_usec, -1);
}

/* The fields that INFO has, as "name:value" lines; a field that cannot be known is left out. */
static void assert_info(const char *expected) {
    struct buffer text;
    buffer_init(&text, MEMORY_OTHER);
    host_cpu_set_root(host_root); /* nothing is remembered */
    metric_declare_section("CPU", true);
    host_cpu_register();
    metric_print(SLICE("cpu"), &text);
    assert_string_equal(text.bytes, expected);
    buffer_free(&text);
    metric_forget_all();
}

static void test_info(void **state) {
    char expected[256];
    assert_info("# CPU\r\n");
    host_put("/proc/self/cgroup", "0::/a\n");
    host_put("/sys/fs/cgroup/a/cpu.stat", "usage_usec 5\n");
    assert_info("# CPU\r\n");
    host_put("/sys/fs/cgroup/a/cpu.stat", "nr_throttled 7\nthrottled_usec 4321\n");
    assert_info("# CPU\r\ncgroup_throttled_usec:4321\r\ncgroup_nr_throttled:7\r\n");
    host_put("/sys/fs/cgroup/a/cpu.stat", "nr_throttled 0\nthrottled_usec 0\n");
    assert_info("# CPU\r\ncgroup_throttled_usec:0\r\ncgroup_nr_throttled:0\r\n");
    host_put("/proc/stat", "cpu  10 20 30 40 50 60 70 5 0 0\n");
    snprintf(expected, sizeof(expected),
             "# CPU\r\nhost_steal_usec:%ld\r\ncgroup_throttled_usec:0\r\ncgroup_nr_throttled:0\r\n",
             5 * (1000000 / sysconf(_SC_CLK_TCK)));
    assert_info(expected);
}

/* The files are read once for all fields, and not again so soon. */
static void test_info_remembers(void **state) {
    char expected[64];
    struct buffer text;
    long tick_usec = 1000000 / sysconf(_SC_CLK_TCK);
    clock_use_fixed(1000000, 1000000000);
    buffer_init(&text, MEMORY_OTHER);
    metric_declare_section("CPU", true);
    host_cpu_register();
    for (int passed_msec = 0; passed_msec < 200; passed_msec += 50) {
        char line[64];
        snprintf(line, sizeof(line), "cpu 1 2 3 4 5 6 7 %d 0 0\n", passed_msec);
        host_put("/proc/stat", line);
        buffer_clear(&text);
        metric_print(SLICE("cpu"), &text);
        int seen = passed_msec < 150 ? 0 : 150;
        snprintf(expected, sizeof(expected), "# CPU\r\nhost_steal_usec:%ld\r\n", seen * tick_usec);
        assert_string_equal(text.bytes, expected);
        clock_advance_usec(50000);
    }
    buffer_free(&text);
    metric_forget_all();
    clock_use_system();
}

int main(void) {
#define CASE(name) cmocka_unit_test_setup_teardown(name, host_begin, host_end)
    const struct CMUnitTest tests[] = {
        CASE(test_nothing_there), CASE(test_steal),          CASE(test_version_2),
        CASE(test_container),     CASE(test_version_1),      CASE(test_root_group),
        CASE(test_info),          CASE(test_info_remembers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
