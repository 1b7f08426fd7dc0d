/* SPDX-License-Identifier: BSD-3-Clause
 * Reading steal and throttling.
 *
 * /proc/self/cgroup has a line "0::<path>" for version 2 and a line "<id>:<controllers>:<path>" for
 * each hierarchy of version 1. In a container the path is often the one on the host, while the
 * container's group is mounted at the hierarchy's root. So the path is tried first, then the root.
 * A file without nr_throttled is skipped; that of the machine's root group has none.
 */
#include "report/host_cpu.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/string.h"
#include "metric/metric.h"

#define USEC_PER_SEC INT64_C(1000000)
#define NSEC_PER_USEC 1000
/* The longest line that is read; the lines that are needed are shorter. */
#define LINE_BYTES 512

/* The least time between two readings. A reading takes some 150 us, most of it for /proc/stat,
 * which the kernel computes as a whole each time; the fields of one INFO share a reading. */
#define SAMPLE_NSEC INT64_C(100000000)

static const char *root = "";
static struct host_cpu sample;
static int64_t sampled_nsec; /* when `sample` was read; 0 = not yet */

void host_cpu_set_root(const char *folder) {
    root = folder;
    sampled_nsec = 0;
}

static FILE *open_file(const char *path) {
    char whole[PATH_MAX];
    int length = snprintf(whole, sizeof(whole), "%s%s", root, path);
    if (length < 0 || (size_t)length >= sizeof(whole)) return NULL;
    return fopen(whole, "re");
}

static int64_t read_steal_usec(void) {
    char line[LINE_BYTES];
    int64_t ticks = -1;
    FILE *f = open_file("/proc/stat");
    if (!f) return -1;
    long per_second = sysconf(_SC_CLK_TCK);
    /* user nice system idle iowait irq softirq steal */
    if (!fgets(line, sizeof(line), f) ||
        sscanf(line, "cpu %*u %*u %*u %*u %*u %*u %*u %" SCNd64, &ticks) != 1)
        ticks = -1;
    fclose(f);
    if (ticks < 0 || per_second <= 0) return -1;
    return ticks * (USEC_PER_SEC / per_second);
}

/* Reads the throttling from a group's cpu.stat. Returns false if the file cannot be read or has no
 * nr_throttled. */
static bool read_cpu_stat(const char *path, struct host_cpu *cpu) {
    char line[LINE_BYTES];
    bool found = false;
    int64_t number;
    FILE *f = open_file(path);
    if (!f) return false;
    while (fgets(line, sizeof(line), f)) {
        if (sscanf(line, "nr_throttled %" SCNd64, &number) == 1) {
            cpu->throttled_count = number;
            found = true;
        } else if (sscanf(line, "throttled_usec %" SCNd64, &number) == 1) {
            cpu->throttled_usec = number;
        } else if (sscanf(line, "throttled_time %" SCNd64, &number) == 1) {
            cpu->throttled_usec = number / NSEC_PER_USEC;
        }
    }
    fclose(f);
    return found;
}

/* Reads the group's folder below `mount`, or else `mount` itself. Returns false if neither tells of
 * throttling. */
static bool read_group(const char *mount, const char *group, struct host_cpu *cpu) {
    char path[PATH_MAX];
    int length = snprintf(path, sizeof(path), "/sys/fs/cgroup%s%s/cpu.stat", mount, group);
    if (length > 0 && (size_t)length < sizeof(path) && read_cpu_stat(path, cpu)) return true;
    snprintf(path, sizeof(path), "/sys/fs/cgroup%s/cpu.stat", mount);
    return read_cpu_stat(path, cpu);
}

/* Returns whether "cpu" is one of a list such as "cpu,cpuacct". */
static bool has_cpu_controller(const char *controllers) {
    for (const char *word = controllers; *word;) {
        size_t length = strcspn(word, ",");
        if (length == 3 && !memcmp(word, "cpu", 3)) return true;
        word += length + (word[length] == ',');
    }
    return false;
}

/* Reads the group that a line of /proc/self/cgroup names. Returns false if the line has no such
 * group, or the group does not tell of throttling. */
static bool read_group_of_line(char *line, struct host_cpu *cpu) {
    line[strcspn(line, "\n")] = 0;
    char *controllers = strchr(line, ':');
    char *group = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!group) return false;
    *group++ = 0;
    controllers++;
    if (!strcmp(group, "/")) group = "";
    if (!*controllers) return read_group("", group, cpu) || read_group("/unified", group, cpu);
    if (!has_cpu_controller(controllers)) return false;
    char mount[LINE_BYTES];
    snprintf(mount, sizeof(mount), "/%s", controllers);
    return read_group(mount, group, cpu) || read_group("/cpu", group, cpu);
}

struct host_cpu host_cpu_read(void) {
    struct host_cpu cpu = {read_steal_usec(), -1, -1};
    char line[LINE_BYTES];
    FILE *f = open_file("/proc/self/cgroup");
    if (!f) return cpu;
    bool found = false;
    while (!found && fgets(line, sizeof(line), f)) found = read_group_of_line(line, &cpu);
    fclose(f);
    return cpu;
}

/* ---- INFO cpu ---- */

static const struct host_cpu *sampled_host_cpu(void) {
    int64_t now = clock_monotonic_nsec();
    if (!sampled_nsec || now - sampled_nsec > SAMPLE_NSEC) {
        sampled_nsec = now;
        sample = host_cpu_read();
    }
    return &sample;
}

static void print_steal(const struct metric_row *row, struct buffer *out) {
    buffer_printf(out, "%" PRId64, sampled_host_cpu()->steal_usec);
}
static void print_throttled(const struct metric_row *row, struct buffer *out) {
    buffer_printf(out, "%" PRId64, sampled_host_cpu()->throttled_usec);
}
static void print_throttled_count(const struct metric_row *row, struct buffer *out) {
    buffer_printf(out, "%" PRId64, sampled_host_cpu()->throttled_count);
}
static bool has_steal(void) { return sampled_host_cpu()->steal_usec >= 0; }
static bool has_throttling(void) { return sampled_host_cpu()->throttled_usec >= 0; }

static const struct metric_row metric_rows[] = {
    {.section = "CPU",
     .place = 1000,
     .name = "host_steal_usec",
     .measure = METRIC_COUNTER_USEC,
     .type = METRIC_FUNCTION,
     .print = print_steal,
     .present = has_steal,
     .help = "Time that the hypervisor took from this machine's processors, since its start."},
    {.section = "CPU",
     .place = 1010,
     .name = "cgroup_throttled_usec",
     .measure = METRIC_COUNTER_USEC,
     .type = METRIC_FUNCTION,
     .print = print_throttled,
     .present = has_throttling,
     .help = "Time for which the control group's CPU quota kept its threads from running."},
    {.section = "CPU",
     .place = 1020,
     .name = "cgroup_nr_throttled",
     .measure = METRIC_COUNTER,
     .type = METRIC_FUNCTION,
     .print = print_throttled_count,
     .present = has_throttling,
     .help = "Periods in which that quota was used up."},
};

void host_cpu_register(void) {
    metric_register(metric_rows, sizeof(metric_rows) / sizeof(metric_rows[0]));
}
