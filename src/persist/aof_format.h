/* SPDX-License-Identifier: BSD-3-Clause
 * The form of commands in the append only file: arrays of bulks, as clients send them.
 *
 *     *3\r\n$3\r\nSET\r\n$1\r\nk\r\n$5\r\nvalue\r\n
 *
 * A command is about the database that the last SELECT before it named; a reader begins with 0.
 * Who begins a file, or a part of one that is to be read after another part, begins with a SELECT.
 */
#ifndef EVENKEEL_PERSIST_AOF_FORMAT_H
#define EVENKEEL_PERSIST_AOF_FORMAT_H
#include <stddef.h>
#include <stdint.h>

#include "base/string.h"

struct sink;

/* No database is selected yet: the next command has a SELECT before it. */
#define AOF_FORMAT_NO_DATABASE (-1)

/* ---- to memory ---- */

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

/* ---- to a sink, piece by piece ---- */

/* A command of so many words begins; each of them follows by one of those below. */
void aof_format_begin(struct sink *out, size_t words);
void aof_format_word(struct sink *out, struct slice word);
void aof_format_word_integer(struct sink *out, int64_t value);
/* A whole command. */
void aof_format_command(struct sink *out, int argc, const struct slice *argv);
void aof_format_select(struct sink *out, int database);
#endif
