/* SPDX-License-Identifier: BSD-3-Clause
 * Processor time that the host or a quota has taken from this machine or container.
 *
 * Sources: the steal column of /proc/stat (proc(5)), and cpu.stat of the process's cgroup, version
 * 2 or 1 (the kernel's admin-guide/cgroup-v2.rst and scheduler/sched-bwc.rst).
 */
#ifndef EVENKEEL_REPORT_HOST_CPU_H
#define EVENKEEL_REPORT_HOST_CPU_H
#include <stdint.h>

#include "base/attributes.h"

/* Counted from the machine's, or the cgroup's, start; -1 where the system does not tell. */
struct host_cpu {
    int64_t steal_usec;     /* of all processors together */
    int64_t throttled_usec; /* of all threads together */
    int64_t throttled_count;
};

void host_cpu_register(void); /* INFO cpu */
/* Reads files of the system: some 150 us. Not for use within a command; INFO shows figures of up to
 * 100 ms ago. */
struct host_cpu host_cpu_read(void);
/* Tests: the files are looked for below this folder, which is borrowed; "" is the real root. */
FOR_TESTS void host_cpu_set_root(const char *folder);
#endif
