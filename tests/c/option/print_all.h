/* SPDX-License-Identifier: BSD-3-Clause
 * What a test and a fuzzer of options share: all values, to compare them before and after.
 */
#ifndef EVENKEEL_TESTS_OPTION_PRINT_ALL_H
#define EVENKEEL_TESTS_OPTION_PRINT_ALL_H
#include "option/option.h"

/* Puts every option into `out`, a line each, as CONFIG GET shows it. */
static inline void print_all(struct buffer *out) {
    buffer_clear(out);
    for (size_t i = 0; i < option_count(); i++) {
        buffer_printf(out, "%s=", option_at(i)->name);
        option_print(option_at(i), out);
        buffer_append_char(out, '\n');
    }
}
#endif
