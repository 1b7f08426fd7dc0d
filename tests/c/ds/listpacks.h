/* SPDX-License-Identifier: BSD-3-Clause
 * What tests append to listpacks. */
#ifndef EVENKEEL_TESTS_DS_LISTPACKS_H
#define EVENKEEL_TESTS_DS_LISTPACKS_H
#include "base/number.h"
#include "ds/listpack.h"

/* Stored as an integer, as every text is that is the decimal form of one. */
static inline void append_integer(struct listpack **lp, int64_t integer) {
    char digits[NUMBER_INT64_CHARS];
    listpack_append(lp, (struct slice){digits, number_format_int64(digits, integer)});
}
#endif
