/* SPDX-License-Identifier: BSD-3-Clause
 * The watchdog.
 *
 * Each run of the cron restarts a timer of watchdog-period milliseconds. If the timer expires, a
 * command or other code has blocked the loop for so long, and the timer's signal writes the main
 * thread's stack into the log. A hang is reported once.
 *
 *  1. The signal handler writes straight to the log's target, because the thread may have been
 *     interrupted inside syslog or the allocator, while it held their locks.
 *  2. A period shorter than two of the cron's is raised to two, because it would report a healthy
 *     server.
 */
#include "process/watchdog.h"

#include "base/log.h"
#include "base/number.h"
#include "io/signals.h"
#include "option/option.h"
#include "process/stack_trace.h"

#define RUNNING_BYTES_MAX 256

static int64_t period_msec;
static int64_t turn_msec;
static void (*describe_running)(char *text, size_t size);

static void watchdog_write_report(void *ucontext) {
    char text[RUNNING_BYTES_MAX];
    log_from_signal("\n--- WATCHDOG TIMER EXPIRED ---");
    describe_running(text, sizeof(text));
    log_raw_from_signal(text);
    stack_trace_write(ucontext, log_raw_from_signal);
    log_from_signal("--------\n");
}

void watchdog_set_turn(int64_t msec) { turn_msec = msec; }

void watchdog_reset(void) {
    if (period_msec) signals_watchdog(period_msec, watchdog_write_report);
}

/* As in 6.2, the option is set only by CONFIG SET, never by a file or the command line. */
static bool period_parse(const struct option_row *row, const struct slice *words, size_t count,
                         char *reason, size_t reason_size) {
    int64_t period;
    enum option_source source = option_source_now();
    if (source == OPTION_FROM_FILE || source == OPTION_FROM_COMMAND_LINE || count != 1 ||
        !number_parse_int64(words[0].bytes, words[0].length, &period) || period < 0 ||
        period > INT32_MAX)
        return false;
    int64_t least = 2 * turn_msec;
    period_msec = period && period < least ? least : period;
    if (source == OPTION_FROM_CONFIG_SET) signals_watchdog(period_msec, watchdog_write_report);
    return true;
}

static void period_print(const struct option_row *row, struct buffer *out) {
    buffer_printf(out, "%lld", (long long)period_msec);
}

static void period_rewrite(const struct option_row *row, struct buffer *out) {}

static const struct option_row option_rows[] = {
    {.name = "watchdog-period",
     .type = OPTION_TYPE_CUSTOM,
     .flags = OPTION_MUTABLE | OPTION_HIDDEN,
     .section = "process",
     .place = 250,
     .fallback = "0",
     .parse = period_parse,
     .print = period_print,
     .rewrite = period_rewrite,
     .help = "Milliseconds that the event loop may be held up before its stack is written into the "
             "log; 0 = off. At least two of the cron's periods. For a server that hangs, not for "
             "every day."},
};

void watchdog_register(void (*describe)(char *text, size_t size)) {
    describe_running = describe;
    option_register(option_rows, sizeof(option_rows) / sizeof(option_rows[0]));
}
