/* SPDX-License-Identifier: BSD-3-Clause
 * The server's log: one line an event, to standard output, a file or syslog.
 *
 * A line is "<pid>:<role> <day month year time.ms> <mark> <text>", as Redis 6.2 writes it, with the
 * marks . - * # for debug, verbose, notice and warning, and the role X (sentinel), C (child),
 * S (replica) or M. The file is opened for each line, so that log rotation needs no signal.
 */
#ifndef EVENKEEL_BASE_LOG_H
#define EVENKEEL_BASE_LOG_H
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"

enum log_level { LOG_LEVEL_DEBUG, LOG_LEVEL_VERBOSE, LOG_LEVEL_NOTICE, LOG_LEVEL_WARNING };

#define LOG_LINE_BYTES_MAX 1024 /* a longer line is cut: as 6.2 */

void log_set_level(enum log_level level);
enum log_level log_level(void);
/* NULL or "" = standard output. Copies the path. Returns false (errno set) where it cannot be
 * opened for appending; the old target then stays. */
MUST_USE bool log_set_file(const char *path);
void log_set_syslog(bool enabled, const char *ident, int facility);
void log_set_role(char role); /* 'M' at start */
/* Around a fork whose child logs: takes the lock of syslog, so that no other thread holds it, and
 * gives it back. The child's role is C; it keeps the zone's offset of the fork for ever. */
void log_before_fork(void);
void log_after_fork(bool in_child);

void log_message(enum log_level level, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void log_panic(const char *line); /* a warning: for panic_set_writer */
/* The text as it is, without pid, time and mark (the logo, the crash report). */
void log_raw(enum log_level level, const char *text);
/* Hears each line that log_message writes, without its line end, in the thread that logs; may not
 * log, lock or allocate. NULL = none. Set at start, as the target is. */
void log_set_observer(void (*observer)(const char *line, size_t length));
/* Async-signal-safe: "<pid>:signal-handler (<unix time>) <text>", straight to the target. */
void log_from_signal(const char *text);
/* Async-signal-safe: the text as it is, straight to the target. */
void log_raw_from_signal(const char *text);

#define log_debug(...) log_message(LOG_LEVEL_DEBUG, __VA_ARGS__)
#define log_verbose(...) log_message(LOG_LEVEL_VERBOSE, __VA_ARGS__)
#define log_notice(...) log_message(LOG_LEVEL_NOTICE, __VA_ARGS__)
#define log_warning(...) log_message(LOG_LEVEL_WARNING, __VA_ARGS__)
#endif
