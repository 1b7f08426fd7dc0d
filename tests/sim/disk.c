/* SPDX-License-Identifier: BSD-3-Clause
 * The simulated disk. disk.h has the idea: faults.h and power.h, which define base/system's calls,
 * define ours by the macros below.
 */
#include "sim/disk.h"

#define system_read disk_read
#define system_pread disk_pread
#define system_write disk_write
#define system_writev disk_writev
#define system_send disk_send
#define system_recv disk_recv
#define system_accept disk_accept
#define system_epoll_ctl disk_epoll_ctl
#define system_epoll_wait disk_epoll_wait
#define system_open disk_open
#define system_close disk_close
#define system_fsync disk_fsync
#define system_fdatasync disk_fdatasync
#define system_sync_file_range disk_sync_file_range
#define system_ftruncate disk_ftruncate
#define system_rename disk_rename
#define system_unlink disk_unlink
#define system_fork disk_fork
#include "io/power.h"

void disk_record(const char *folder, const char *notes) { power_record(folder, notes); }

void disk_cut(const char *folder, const char *notes, uint64_t seed) {
    power_record(folder, notes);
    power_cut(seed);
    power_record_end();
}
