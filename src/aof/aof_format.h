/* SPDX-License-Identifier: BSD-3-Clause
 * The form of commands in the append only file: arrays of bulks, as clients send them.
 *
 *     *3\r\n$3\r\nSET\r\n$1\r\nk\r\n$5\r\nvalue\r\n
 *
 * A command is about the database that the last SELECT before it named; a reader begins with 0.
 * Who begins a file, or a part of one that is to be read after another part, begins with a SELECT.
 * Here to memory; value/rewritten.h has the same form piece by piece, to a sink.
 */
#ifndef EVENKEEL_AOF_AOF_FORMAT_H
#define EVENKEEL_AOF_AOF_FORMAT_H
#include <stddef.h>
#include <stdint.h>

#include "base/string.h"

/* No database is selected yet: the next command has a SELECT before it. */
#define AOF_FORMAT_NO_DATABASE (-1)

/* The command takes no more than so many bytes. O(argc). */
size_t aof_format_bytes_max(int argc, const struct slice *argv);
/* Writes it where there is room for so many; returns the first byte behind it. */
char *aof_format_write(char *out, int argc, const struct slice *argv);
/* SELECT takes no more than this. */
#define AOF_FORMAT_SELECT_BYTES_MAX 64
char *aof_format_write_select(char *out, int database);

/* At the end of a buffer. */
void aof_format_append(struct buffer *out, int argc, const struct slice *argv);
/* The same, after SELECT where `*selected` is another database; it is this one then. */
void aof_format_append_in(struct buffer *out, int *selected, int database, int argc,
                          const struct slice *argv);
#endif
