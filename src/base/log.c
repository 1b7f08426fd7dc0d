/* SPDX-License-Identifier: BSD-3-Clause
 * The log: one write(2) a line, appended, so that lines of threads and children do not mix.
 *
 * Nothing here allocates or holds a lock, because a forked child and a crash report log too. The
 * one exception is a lock around syslog, so that syslog's own lock is known to be free at a fork.
 * The date is computed here, because localtime_r takes a lock that another thread may hold at a
 * fork. localtime_r is called for the zone's offset only, once in a quarter of an hour of wall time
 * (no zone changes its offset within one), and never in a child.
 *
 * Level and role may change while other threads log. Target and syslog may not: they are set at
 * start, before there are other threads.
 */
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <syslog.h>

#include "base/clock.h"
#include "base/number.h"
#include "base/system.h"

#define PREFIX_BYTES_MAX 96
#define SECONDS_PER_DAY 86400
#define QUARTER_SECONDS 900
#define FILE_MODE 0666 /* the umask decides, as in 6.2 */

static _Atomic enum log_level lowest_level = LOG_LEVEL_NOTICE;
static _Atomic char role = 'M';
static char path[PATH_MAX]; /* "" = standard output */
static bool to_syslog;
static void (*line_observer)(const char *line, size_t length);
static char syslog_ident[128];                                  /* openlog keeps the pointer */
static pthread_mutex_t syslog_lock = PTHREAD_MUTEX_INITIALIZER; /* around syslog */
static bool zone_stays; /* a forked child: the offset is not read again */
/* High bits: the quarter of an hour for which the offset was read; low 20 bits: offset +
 * OFFSET_BIAS. */
static _Atomic int64_t zone_reading = -1;
#define OFFSET_BIAS (1 << 19)

static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
static const uint8_t month_days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
static const char marks[] = ".-*#"; /* by level, as the priorities below */
static const int syslog_priorities[] = {LOG_DEBUG, LOG_INFO, LOG_NOTICE, LOG_WARNING};
static const char signal_role[] = ":signal-handler (";

void log_set_level(enum log_level level) {
    atomic_store_explicit(&lowest_level, level, memory_order_relaxed);
}

enum log_level log_level(void) { return atomic_load_explicit(&lowest_level, memory_order_relaxed); }

bool log_set_file(const char *new_path) {
    if (new_path == NULL) new_path = "";
    size_t length = strlen(new_path);
    if (length >= sizeof(path)) {
        errno = ENAMETOOLONG;
        return false;
    }
    if (length > 0) {
        int file = system_open(new_path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, FILE_MODE);
        if (file < 0) return false;
        system_close(file);
    }
    memmove(path, new_path, length + 1);
    return true;
}

void log_set_syslog(bool enabled, const char *ident, int facility) {
    if (to_syslog) closelog();
    to_syslog = enabled;
    if (!enabled) return;
    snprintf(syslog_ident, sizeof(syslog_ident), "%s", ident);
    openlog(syslog_ident, LOG_PID | LOG_NDELAY | LOG_NOWAIT, facility);
}

void log_set_observer(void (*observer)(const char *line, size_t length)) {
    line_observer = observer;
}

void log_set_role(char new_role) { atomic_store_explicit(&role, new_role, memory_order_relaxed); }

/* ---- Local time ---- */

static int64_t zone_offset_seconds(int64_t unix_seconds) {
    int64_t quarter = unix_seconds / QUARTER_SECONDS;
    int64_t reading = atomic_load_explicit(&zone_reading, memory_order_relaxed);
    if (reading >> 20 == quarter || zone_stays) return (reading & ((1 << 20) - 1)) - OFFSET_BIAS;
    time_t moment = (time_t)unix_seconds;
    struct tm local;
    if (localtime_r(&moment, &local) == NULL) return 0;
    reading = quarter * (1 << 20) + local.tm_gmtoff + OFFSET_BIAS;
    atomic_store_explicit(&zone_reading, reading, memory_order_relaxed);
    return local.tm_gmtoff;
}

static bool is_leap_year(int64_t year) {
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

/* "21 Nov 2026 00:41:09.956". A time before 1970 is written as 1 Jan 1970. */
static int format_local_time(char *out, size_t size, int64_t wall_usec) {
    int64_t seconds = wall_usec / 1000000;
    seconds += zone_offset_seconds(seconds);
    if (seconds < 0) seconds = 0;
    int64_t day = seconds / SECONDS_PER_DAY, second = seconds % SECONDS_PER_DAY;
    /* 400 years have 146,097 days, whichever is their first. */
    int64_t year = 1970 + day / 146097 * 400;
    day %= 146097;
    while (day >= 365 + is_leap_year(year)) day -= 365 + is_leap_year(year++);
    int month = 0;
    for (;; month++) {
        int days = month_days[month] + (month == 1 && is_leap_year(year));
        if (day < days) break;
        day -= days;
    }
    return snprintf(out, size, "%02d %.3s %04d %02d:%02d:%02d.%03d", (int)day + 1,
                    months + 3 * month, (int)year, (int)(second / 3600), (int)(second / 60 % 60),
                    (int)(second % 60), (int)(wall_usec / 1000 % 1000));
}

/* ---- Forks ---- */

void log_before_fork(void) {
    zone_offset_seconds(clock_wall_usec() / 1000000); /* a child reads it no more */
    pthread_mutex_lock(&syslog_lock);
}

void log_after_fork(bool in_child) {
    pthread_mutex_unlock(&syslog_lock);
    if (!in_child) return;
    zone_stays = true;
    log_set_role('C');
}

/* ---- Writing ---- */

/* Writes to the target, in as many writes as it takes. Errors are ignored, because there is nowhere
 * to report them. Async-signal-safe. */
static void write_target(const char *bytes, size_t length) {
    int saved_errno = errno;
    int file = STDOUT_FILENO;
    if (path[0] != '\0')
        file = system_open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, FILE_MODE);
    while (file >= 0 && length > 0) {
        ssize_t written = system_write(file, bytes, length);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) break;
        bytes += written;
        length -= (size_t)written;
    }
    if (file >= 0 && path[0] != '\0') system_close(file);
    errno = saved_errno;
}

static void send_to_syslog(enum log_level level, const char *text) {
    if (!to_syslog) return;
    pthread_mutex_lock(&syslog_lock);
    syslog(syslog_priorities[level], "%s", text);
    pthread_mutex_unlock(&syslog_lock);
}

static void log_message_v(enum log_level level, const char *format, va_list arguments) {
    if (level < log_level()) return;
    char line[PREFIX_BYTES_MAX + LOG_LINE_BYTES_MAX];
    char date[40];
    format_local_time(date, sizeof(date), clock_wall_usec());
    int prefix = snprintf(line, PREFIX_BYTES_MAX, "%d:%c %s %c ", (int)getpid(),
                          atomic_load_explicit(&role, memory_order_relaxed), date, marks[level]);
    int text = vsnprintf(line + prefix, LOG_LINE_BYTES_MAX, format, arguments);
    if (text < 0) return;
    if (text >= LOG_LINE_BYTES_MAX) text = LOG_LINE_BYTES_MAX - 1;
    send_to_syslog(level, line + prefix);
    if (line_observer) line_observer(line, (size_t)(prefix + text));
    line[prefix + text] = '\n';
    write_target(line, (size_t)(prefix + text + 1));
}

void log_message(enum log_level level, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    log_message_v(level, format, arguments);
    va_end(arguments);
}

void log_panic(const char *line) { log_warning("%s", line); }

void log_raw(enum log_level level, const char *text) {
    if (level < log_level()) return;
    write_target(text, strlen(text));
    send_to_syslog(level, text);
}

void log_raw_from_signal(const char *text) { write_target(text, strlen(text)); }

void log_from_signal(const char *text) {
    char line[PREFIX_BYTES_MAX + LOG_LINE_BYTES_MAX];
    size_t length = number_format_int64(line, getpid());
    memcpy(line + length, signal_role, sizeof(signal_role) - 1);
    length += sizeof(signal_role) - 1;
    length += number_format_int64(line + length, clock_wall_usec() / 1000000);
    line[length++] = ')';
    line[length++] = ' ';
    size_t text_length = strlen(text);
    if (text_length >= LOG_LINE_BYTES_MAX) text_length = LOG_LINE_BYTES_MAX - 1;
    memcpy(line + length, text, text_length);
    length += text_length;
    line[length++] = '\n';
    write_target(line, length);
}
