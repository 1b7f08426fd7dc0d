/* SPDX-License-Identifier: BSD-3-Clause
 * Binding threads to processors.
 *
 * The form of a list is checked when the option is read, so that a typing error ends the start with
 * a reason. Whether the host has the listed processors is left to the kernel: it accepts a list if
 * at least one of them exists. A list that it refuses is only logged, because a configuration may
 * be meant for a larger host.
 */
#include "io/affinity.h"

#include <errno.h>
#include <stdint.h>

#include "base/log.h"

struct affinity_role affinity_server, affinity_background = {.all_if_empty = true};

static cpu_set_t at_start;
static bool at_start_known;

/* ---- lists ---- */

/* Takes digits from the front of the text; returns false if there are none or the number is not
 * below CPU_SETSIZE. */
static bool take_number(struct slice *text, int *number) {
    size_t digits = 0;
    for (*number = 0; digits < text->length && text->bytes[digits] >= '0' &&
                      text->bytes[digits] <= '9' && *number < CPU_SETSIZE;
         digits++)
        *number = *number * 10 + text->bytes[digits] - '0';
    text->bytes += digits;
    text->length -= digits;
    return digits > 0 && *number < CPU_SETSIZE;
}

static bool take_char(struct slice *text, char c) {
    if (!text->length || *text->bytes != c) return false;
    text->bytes++;
    text->length--;
    return true;
}

/* "3", "0-7" or "0-7:2". */
static bool take_range(struct slice *text, cpu_set_t *processors) {
    int first, last, step = 1;
    if (!take_number(text, &first)) return false;
    last = first;
    if (take_char(text, '-')) {
        if (!take_number(text, &last) || last < first) return false;
        if (take_char(text, ':') && (!take_number(text, &step) || step == 0)) return false;
    }
    for (int i = first; i <= last; i += step) CPU_SET(i, processors);
    return true;
}

bool affinity_parse(struct slice list, cpu_set_t *processors, char *reason, size_t reason_size) {
    struct slice rest = list;
    CPU_ZERO(processors);
    do {
        if (!take_range(&rest, processors)) break;
        if (!rest.length) return true;
    } while (take_char(&rest, ','));
    snprintf(reason, reason_size,
             "argument must be a list of processors below %d, such as 0,2,4-7 or 0-7:2",
             CPU_SETSIZE);
    return false;
}

/* ---- binding ---- */

static void bind_to(const cpu_set_t *processors, const char *list) {
    if (sched_setaffinity(0, sizeof(*processors), processors) == 0) return;
    log_warning("This thread cannot be bound to the processors %s: %s", list, strerror(errno));
}

void affinity_apply(const struct affinity_role *role) {
    cpu_set_t processors;
    char reason[OPTION_REASON_BYTES];
    const char *list = role->list;
    if (list && *list) {
        if (affinity_parse(slice_of(list), &processors, reason, sizeof(reason)))
            bind_to(&processors, list);
    } else if (role->all_if_empty) {
        affinity_restore();
    }
}

void affinity_restore(void) {
    if (at_start_known) bind_to(&at_start, "of the start");
}

/* ---- options ---- */

bool affinity_check_option(const struct option_row *row, struct slice value, char *reason,
                           size_t reason_size) {
    cpu_set_t processors;
    return !value.length || affinity_parse(value, &processors, reason, reason_size);
}

static const struct option_row option_rows[] = {
    AFFINITY_OPTION("server_cpulist", 30, affinity_server,
                    "Processors of the main thread: 0-3, or 0,2,4, or 0-7:2 for every second one."),
    AFFINITY_OPTION("bio_cpulist", 40, affinity_background,
                    "Processors of the background threads; all that the process has if empty."),
};

void affinity_register(void) {
    at_start_known = sched_getaffinity(0, sizeof(at_start), &at_start) == 0;
    option_register(option_rows, sizeof(option_rows) / sizeof(option_rows[0]));
}
