/* SPDX-License-Identifier: BSD-3-Clause
 * What the tests of options share: setting one as CONFIG SET does, and what it must then be.
 */
#ifndef EVENKEEL_TESTS_OPTION_SETTINGS_H
#define EVENKEEL_TESTS_OPTION_SETTINGS_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "option/option.h"

static char last_reason[OPTION_REASON_BYTES]; /* why the last value was refused */

static inline const struct option_row *row_of(const char *name) {
    const struct option_row *row = option_find(slice_of(name));
    if (!row) fail_msg("no option '%s'", name);
    return row;
}

static inline bool set_bytes(const char *name, const char *value, size_t length) {
    struct slice word = {value, length};
    return option_set(row_of(name), &word, 1, OPTION_FROM_CONFIG_SET, last_reason,
                      sizeof(last_reason));
}

static inline bool set(const char *name, const char *value) {
    return set_bytes(name, value, strlen(value));
}

static inline void assert_value(const char *name, const char *expected) {
    struct buffer out;
    buffer_init(&out, MEMORY_OTHER);
    option_print(row_of(name), &out);
    assert_string_equal(out.bytes ? out.bytes : "", expected);
    buffer_free(&out);
}

static inline void assert_takes(const char *name, const char *value, const char *expected) {
    if (!set(name, value)) fail_msg("%s '%s': %s", name, value, last_reason);
    assert_value(name, expected);
}

/* The value must be refused for this reason and nothing change. */
static inline void assert_refuses(const char *name, const char *value, const char *reason) {
    struct buffer before;
    buffer_init(&before, MEMORY_OTHER);
    option_print(row_of(name), &before);
    assert_false(set(name, value));
    assert_string_equal(last_reason, reason);
    assert_value(name, before.bytes ? before.bytes : "");
    buffer_free(&before);
}

/* The text of a file must be taken, without a word of complaint. */
static inline void assert_loads(const char *text) {
    struct buffer error;
    buffer_init(&error, MEMORY_OTHER);
    if (!option_load_text(slice_of(text), OPTION_FROM_FILE, &error)) fail_msg("%s", error.bytes);
    assert_int_equal(error.length, 0);
    buffer_free(&error);
}

/* The line must be refused, with `reason` at the end of the text. */
static inline void assert_line_refused(const char *line, const char *reason) {
    struct buffer error;
    buffer_init(&error, MEMORY_OTHER);
    if (option_load_text(slice_of(line), OPTION_FROM_FILE, &error)) fail_msg("taken: %s", line);
    const char *at = strstr(error.bytes, "'\n");
    assert_non_null(at);
    assert_memory_equal(at + 2, reason, strlen(reason));
    assert_string_equal(at + 2 + strlen(reason), "\n");
    buffer_free(&error);
}
#endif
