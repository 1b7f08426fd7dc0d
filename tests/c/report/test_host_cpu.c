/* SPDX-License-Identifier: BSD-3-Clause
 * Steal and throttling, from trees of files as machines and containers have them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "report/host_cpu.h"

static char root[64];

/* Writes a file below the root, its folders too. */
static void put(const char *path, const char *text) {
    char whole[256];
    snprintf(whole, sizeof(whole), "%s%s", root, path);
    for (char *slash = whole + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = 0;
        mkdir(whole, 0700);
        *slash = '/';
    }
    FILE *f = fopen(whole, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static int begin(void **state) {
    snprintf(root, sizeof(root), "/tmp/test_host_cpu.XXXXXX");
    if (!mkdtemp(root)) return -1;
    host_cpu_set_root(root);
    return 0;
}

static int end(void **state) {
    char command[128];
    snprintf(command, sizeof(command), "rm -r %s", root);
    host_cpu_set_root("");
    return system(command);
}

static void test_nothing_there(void **state) {
    struct host_cpu cpu = host_cpu_read();
    assert_int_equal(cpu.steal_usec, -1);
    assert_int_equal(cpu.throttled_usec, -1);
    assert_int_equal(cpu.throttled_count, -1);
}

static void test_steal(void **state) {
    put("/proc/stat", "cpu  10 20 30 40 50 60 70 123 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\n");
    assert_int_equal(host_cpu_read().steal_usec, 123 * (1000000 / sysconf(_SC_CLK_TCK)));
    put("/proc/stat", "cpu  10 20 30\n");
    assert_int_equal(host_cpu_read().steal_usec, -1);
}

static void test_version_2(void **state) {
    put("/proc/self/cgroup", "0::/system.slice/redis.service\n");
    put("/sys/fs/cgroup/system.slice/redis.service/cpu.stat",
        "usage_usec 5\nnr_periods 10\nnr_throttled 7\nthrottled_usec 4321\n");
    struct host_cpu cpu = host_cpu_read();
    assert_int_equal(cpu.throttled_usec, 4321);
    assert_int_equal(cpu.throttled_count, 7);
}

/* In a container the path is the one outside, and the group is mounted at the root. */
static void test_container(void **state) {
    put("/proc/self/cgroup", "0::/docker/abc\n");
    put("/sys/fs/cgroup/cpu.stat", "nr_throttled 3\nthrottled_usec 99\n");
    assert_int_equal(host_cpu_read().throttled_usec, 99);
}

static void test_version_1(void **state) {
    put("/proc/self/cgroup", "12:cpuset:/x\n4:cpu,cpuacct:/docker/abc\n0::/y\n");
    put("/sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.stat",
        "nr_periods 1\nnr_throttled 2\nthrottled_time 5000000\n");
    struct host_cpu cpu = host_cpu_read();
    assert_int_equal(cpu.throttled_usec, 5000);
    assert_int_equal(cpu.throttled_count, 2);
}

/* The machine's root group has a cpu.stat that tells nothing of throttling. */
static void test_root_group(void **state) {
    put("/proc/self/cgroup", "0::/\n");
    put("/sys/fs/cgroup/cpu.stat", "usage_usec 5\n");
    assert_int_equal(host_cpu_read().throttled_usec, -1);
}

int main(void) {
#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        CASE(test_nothing_there), CASE(test_steal),     CASE(test_version_2),
        CASE(test_container),     CASE(test_version_1), CASE(test_root_group),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
