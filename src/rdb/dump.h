/* SPDX-License-Identifier: BSD-3-Clause
 * DUMP and RESTORE: one value as a payload of bytes.
 */
#ifndef EVENKEEL_RDB_DUMP_H
#define EVENKEEL_RDB_DUMP_H
#include <stdbool.h>

#include "base/string.h"
#include "value/string.h"

struct entry;

/* The version of RDB that is written; up to it is read. */
#define RDB_VERSION 9

/* Registers commands and metrics. Once, at start. */
void dump_register(void);

/* Appends the entry's value: its form, the value, the version, a checksum. O(value). */
void dump_append(const struct entry *e, struct buffer *out);

/* A value that was taken out of a payload. */
struct dump_value {
    enum value_kind kind;
    struct value value; /* a string's is `string`, and its text in `store` or the payload */
    struct string_value string;
    struct buffer store;
};
/* NULL, or what is wrong with the payload, as RESTORE says it; then there is no value. A value is
 * to be taken before dump_value_end, which is called in both cases. `d` may not move. */
MUST_USE const char *dump_load(struct slice payload, struct dump_value *d);
void dump_value_end(struct dump_value *d);

/* For tests: checksums are written and not looked at. */
void dump_skip_checksums(bool on);
bool dump_skips_checksums(void);
#endif
