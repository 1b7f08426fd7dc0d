/* SPDX-License-Identifier: BSD-3-Clause
 * The form of commands in the append-only file: arrays of bulks, as clients send them.
 *
 *     *3\r\n$3\r\nSET\r\n$1\r\nk\r\n$5\r\nvalue\r\n
 *
 * A command is about the database that the last SELECT before it named; a reader begins with
 * database 0. A file, and each part that is written separately, begins with a SELECT. These
 * functions write to memory; value/rewritten.h writes the same form to a sink, piece by piece.
 */
#ifndef EVENKEEL_AOF_AOF_FORMAT_H
#define EVENKEEL_AOF_AOF_FORMAT_H
#include <stddef.h>
#include <stdint.h>

#include "base/string.h"

/* No database is selected yet: the next command needs a SELECT before it. */
#define AOF_FORMAT_NO_DATABASE (-1)

/* An upper bound for the bytes of the command. O(argc). */
size_t aof_format_bytes_max(int argc, const struct slice *argv);
/* Writes the command to `out`, which has room for aof_format_bytes_max. Returns the first byte
 * behind it. */
char *aof_format_write(char *out, int argc, const struct slice *argv);
/* Writes a SELECT, which takes at most AOF_FORMAT_SELECT_BYTES_MAX. Returns the first byte behind
 * it. */
#define AOF_FORMAT_SELECT_BYTES_MAX 64
char *aof_format_write_select(char *out, int database);

/* Appends the command to a buffer. */
void aof_format_append(struct buffer *out, int argc, const struct slice *argv);
#endif
