/* SPDX-License-Identifier: BSD-3-Clause
 * A Sentinel without a mode: its events are gathered from the log, its record is a count, its time
 * stands still until a test moves it.
 */
#ifndef EVENKEEL_TESTS_SENTINEL_WATCHING_H
#define EVENKEEL_TESTS_SENTINEL_WATCHING_H
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "base/clock.h"
#include "base/log.h"
#include "io/loop.h"
#include "sentinel/record.h"
#include "sentinel/settings.h"
#include "sentinel/watched.h"

#define WATCHING_ID "0123456789abcdef0123456789abcdef01234567"
#define WATCHING_OTHER_ID "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define WATCHING_THIRD_ID "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define WATCHING_START_USEC INT64_C(1700000000000000)
#define WATCHING_LINE_WORDS 6 /* of a log line, before its text */

static char watching_told[8192]; /* events since watching_forget, a line each */
static bool watching_disk_is_full;
static int watching_writes;

static void watching_note_line(const char *line, size_t length) {
    size_t at = 0, used = strlen(watching_told);
    for (int word = 0; word < WATCHING_LINE_WORDS && at < length; at++) word += line[at] == ' ';
    if (line[at] != '+' && line[at] != '-') return;
    snprintf(watching_told + used, sizeof(watching_told) - used, "%.*s\n", (int)(length - at),
             line + at);
}

static bool watching_write(void) {
    watching_writes++;
    return !watching_disk_is_full;
}

static inline void watching_forget(void) { watching_told[0] = '\0'; }

static inline struct primary *watching_add(const char *name, int port, int quorum) {
    const char *reason;
    struct primary *p =
        sentinel_add_primary(slice_of(name), SLICE("127.0.0.1"), port, quorum, &reason);
    assert_non_null(p);
    return p;
}

static inline void watching_drop_all(void) {
    while (!list_is_empty(sentinel_primaries()))
        sentinel_drop_primary(LIST_ENTRY(sentinel_primaries()->next, struct primary, in_watched));
}

static inline void watching_begin(void) {
    struct sentinel_settings *s = sentinel_settings_change();
    clock_use_fixed(WATCHING_START_USEC, INT64_C(1000000000000));
    assert_true(log_set_file("/dev/null"));
    log_set_level(LOG_LEVEL_VERBOSE);
    log_set_observer(watching_note_line);
    sentinel_record_open(watching_write);
    watching_disk_is_full = false;
    watching_writes = 0;
    s->epoch = 0;
    s->resolve_hostnames = s->announce_hostnames = false;
    snprintf(s->id, sizeof(s->id), "%s", WATCHING_ID);
    watching_forget();
}

static inline void watching_end(void) {
    watching_drop_all();
    log_set_observer(NULL);
    clock_use_system();
}
#endif
