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

#define LOG_LINE_BYTES_MAX 1024 /* a longer line is cut, as in 6.2 */

void log_set_level(enum log_level level);
enum log_level log_level(void);
/* NULL or "" = standard output. Copies the path. False (errno set), with the old target kept, where
 * the file cannot be opened for appending. */
MUST_USE bool log_set_file(const char *path);
void log_set_syslog(bool enabled, const char *ident, int facility);
void log_set_role(char role); /* 'M' at start */
/* Called around a fork whose child logs. The first takes syslog's lock, so that no other thread
 * holds it at the fork; the second gives it back. The child's role is C; it uses the time zone's
 * offset at the fork for ever. */
void log_before_fork(void);
void log_after_fork(bool in_child);

void log_message(enum log_level level, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void log_panic(const char *line); /* a warning: for panic_set_writer */
/* Writes the text as it is, without pid, time and mark (the logo, the crash report). */
void log_raw(enum log_level level, const char *text);
/* Sets the function that is called with each line that log_message writes, without its line end, in
 * the thread that logs; it may not log, lock or allocate. NULL = none. Set at start, before there
 * are threads. */
void log_set_observer(void (*observer)(const char *line, size_t length));
/* Async-signal-safe: "<pid>:signal-handler (<unix time>) <text>", straight to the target. */
void log_from_signal(const char *text);
/* Async-signal-safe: writes the text as it is, straight to the target. */
void log_raw_from_signal(const char *text);

#define log_debug(...) log_message(LOG_LEVEL_DEBUG, __VA_ARGS__)
#define log_verbose(...) log_message(LOG_LEVEL_VERBOSE, __VA_ARGS__)
#define log_notice(...) log_message(LOG_LEVEL_NOTICE, __VA_ARGS__)
#define log_warning(...) log_message(LOG_LEVEL_WARNING, __VA_ARGS__)
#endif
