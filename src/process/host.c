/* SPDX-License-Identifier: BSD-3-Clause
 * The host's settings.
 *
 * Three settings of the host harm a server, and show only under load: net.core.somaxconn, which
 * cuts the queue of connections shorter than the option says; vm.overcommit_memory, by which the
 * kernel may refuse a fork; and transparent huge pages, of which 2 MiB are copied at the first
 * write after a fork. The server logs a line for each at start, which says what will happen and
 * what to do.
 */
#include "process/host.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/prctl.h>

#include "base/huge_pages.h"
#include "base/log.h"
#include "base/number.h"
#include "base/system.h"
#include "option/option.h"

#define BACKLOG_FILE "/proc/sys/net/core/somaxconn"
#define OVERCOMMIT_FILE "/proc/sys/vm/overcommit_memory"
#define HUGE_PAGES_FILE "/sys/kernel/mm/transparent_hugepage/enabled"

/* A flag of Linux 6.18 and later: huge pages are switched off except in memory for which the
 * process asked for them (madvise). */
#define EXCEPT_ADVISED (1UL << 1)

static bool disable_thp, heap_huge_pages;
static char *ignored_warnings;

/* ---- huge pages ---- */

static bool apply_thp(const struct option_row *row, char *reason, size_t reason_size) {
    unsigned long off = disable_thp ? 1 : 0;
    /* The call fails if the kernel has no huge pages; there is then nothing to switch off. */
    if (!heap_huge_pages) {
        prctl(PR_SET_THP_DISABLE, off, 0UL, 0UL, 0UL);
        return true;
    }
    /* Kernels before 6.18 refuse the flag. Huge pages then stay on for the whole process, because
     * those of the heap are wanted. */
    if (!off || prctl(PR_SET_THP_DISABLE, 1UL, EXCEPT_ADVISED, 0UL, 0UL) != 0)
        prctl(PR_SET_THP_DISABLE, 0UL, 0UL, 0UL, 0UL);
    return true;
}

static bool apply_heap(const struct option_row *row, char *reason, size_t reason_size) {
    if (!huge_pages_ask(heap_huge_pages)) {
        snprintf(reason, reason_size,
                 "the allocator is not jemalloc, or does not let itself be asked");
        return false;
    }
    return apply_thp(row, reason, reason_size);
}

void host_open(void) {
    if (!huge_pages_ask(heap_huge_pages)) {
        log_warning(
            "WARNING: heap-huge-pages is yes, but the allocator does not let itself be asked.");
        heap_huge_pages = false;
    }
    apply_thp(NULL, NULL, 0);
}

/* ---- warnings ---- */

/* Reads the first line of a file of /proc or /sys, cut to `size` - 1 bytes. Returns false if the
 * file cannot be read or is empty. */
static bool read_setting(const char *path, char *text, size_t size) {
    int fd = system_open(path, O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0) return false;
    ssize_t length = system_read(fd, text, size - 1);
    system_close(fd);
    if (length <= 0) return false;
    text[length] = 0;
    text[strcspn(text, "\n")] = 0;
    return true;
}

static bool read_number(const char *path, int64_t *number) {
    char text[64];
    return read_setting(path, text, sizeof(text)) && number_parse_int64(text, strlen(text), number);
}

static void warn_of_backlog(int64_t backlog) {
    int64_t most;
    if (!read_number(BACKLOG_FILE, &most) || most <= 0 || most >= backlog) return;
    log_warning(
        "WARNING: tcp-backlog is %lld, but the system cuts it to %lld: where more "
        "connections wait than that they are dropped. Raise net.core.somaxconn (sysctl).",
        (long long)backlog, (long long)most);
}

static void warn_of_overcommit(void) {
    int64_t mode;
    if (!read_number(OVERCOMMIT_FILE, &mode) || mode == 1) return;
    log_warning(
        "WARNING: vm.overcommit_memory is %lld: starting a child process can be refused "
        "while memory is free, since the child is counted at its full size. Set "
        "vm.overcommit_memory = 1 (sysctl, /etc/sysctl.conf).",
        (long long)mode);
}

static void warn_of_huge_pages(void) {
    char text[128];
    if (disable_thp || !read_setting(HUGE_PAGES_FILE, text, sizeof(text)) ||
        !strstr(text, "[always]"))
        return;
    log_warning(
        "WARNING: huge pages are always on, and disable-thp is no: writes while a child "
        "process saves will be slow and take memory. Set disable-thp yes, or write "
        "madvise into " HUGE_PAGES_FILE ".");
}

void host_announce_warnings(int64_t backlog) {
    warn_of_backlog(backlog);
    warn_of_overcommit();
    warn_of_huge_pages();
}

/* ---- options ---- */

static const struct option_row option_rows[] = {
    {.name = "disable-thp",
     .type = OPTION_TYPE_BOOL,
     .flags = OPTION_MUTABLE,
     .section = "process",
     .place = 100,
     .fallback = "yes",
     .variable = &disable_thp,
     .apply = apply_thp,
     .help = "Switch the kernel's transparent huge pages off for this process: they cost latency "
             "and memory while a child saves. Those of heap-huge-pages are kept."},
    {.name = "heap-huge-pages",
     .type = OPTION_TYPE_BOOL,
     .flags = OPTION_MUTABLE,
     .section = "process",
     .place = 101,
     .fallback = "no",
     .variable = &heap_huge_pages,
     .apply = apply_heap,
     .help = "Ask the kernel for huge pages for the data, where its setting is madvise or always: "
             "looking keys up takes less time. For memory that is taken from now on: at start for "
             "all of it. Only with snapshot-method walk, as a child's first write to such a page "
             "copies 2 MiB."},
    OPTION_STRING("ignore-warnings", &ignored_warnings, "", OPTION_MUTABLE, "process", 230,
                  "Warnings at which the start would end, to be passed over: ARM64-COW-BUG in 6.2. "
                  "This server ends at none, so the value changes nothing."),
};

void host_register(void) {
    option_register(option_rows, sizeof(option_rows) / sizeof(option_rows[0]));
}
