/* SPDX-License-Identifier: BSD-3-Clause
 * DUMP and RESTORE: one value as a payload of bytes.
 */
#ifndef EVENKEEL_RDB_DUMP_H
#define EVENKEEL_RDB_DUMP_H
#include <stdbool.h>

#include "base/string.h"

struct entry;

/* The version of RDB that is written, and the newest that is read. */
#define RDB_VERSION 9

/* Registers the commands. Once, at start. */
void dump_register(void);

/* Appends the entry's value: its form, the value, the version, a checksum. O(value). */
void dump_append(const struct entry *e, struct buffer *out);

/* For tests: while `on`, checksums are written but not verified. */
void dump_skip_checksums(bool on);
bool dump_skips_checksums(void);
#endif
