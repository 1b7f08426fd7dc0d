/* SPDX-License-Identifier: BSD-3-Clause
 * Assertions and the end of the process.
 *
 * ASSERT stays on in release builds; ASSERT_SLOW only in debug builds (EVENKEEL_DEBUG). A failure
 * of either writes the expression, file and line, calls the hook, and aborts; by the hook
 * process/crash adds registers, stack, client and the last events.
 */
#ifndef EVENKEEL_BASE_PANIC_H
#define EVENKEEL_BASE_PANIC_H

void panic_assert_failed(const char *expression, const char *file, int line)
    __attribute__((noreturn, cold));
/* ASSERT_COMPARE(a, <=, b) also prints both values. */
void panic_compare_failed(const char *expression, long long a, long long b, const char *file,
                          int line) __attribute__((noreturn, cold));
void panic(const char *file, int line, const char *format, ...)
    __attribute__((noreturn, cold, format(printf, 3, 4)));

#define ASSERT(expression)                         \
    (__builtin_expect(!!(expression), 1) ? (void)0 \
                                         : panic_assert_failed(#expression, __FILE__, __LINE__))
#define ASSERT_COMPARE(a, op, b)                                                                 \
    (__builtin_expect(!!((a)op(b)), 1) ? (void)0                                                 \
                                       : panic_compare_failed(#a " " #op " " #b, (long long)(a), \
                                                              (long long)(b), __FILE__, __LINE__))
#define PANIC(...) panic(__FILE__, __LINE__, __VA_ARGS__)
#ifdef EVENKEEL_DEBUG
#define ASSERT_SLOW(expression) ASSERT(expression)
#else
#define ASSERT_SLOW(expression) ((void)(0 && (expression)))
#endif

/* Sets the function that writes the line "<title>: <detail> (<file>:<line>)", without its line end:
 * log_panic. Until it is set, the line goes to standard error. */
void panic_set_writer(void (*write)(const char *line));
/* Sets the hook, which is called once, before abort(). `title` is "ASSERTION FAILED", "Guru
 * Meditation" ...; `detail` is one line. A failure inside the hook ends the process at once. */
void panic_set_hook(void (*hook)(const char *title, const char *detail, const char *file,
                                 int line));
#endif
