/* SPDX-License-Identifier: BSD-3-Clause
 * Writes a trace file, block by block.
 *
 * Whatever happens to the program, the file holds whole blocks, and at most one torn block behind
 * them. Where a block cannot be written, the torn part is cut off again.
 */
#ifndef EVENKEEL_TRACE_FILE_TRACE_FILE_WRITER_H
#define EVENKEEL_TRACE_FILE_TRACE_FILE_WRITER_H
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "trace_file/trace_file.h"

struct trace_file_writer;

/* Creates the file, with its head. Only with `force` an old file is overwritten. NULL with a
 * reason.
 */
MUST_USE struct trace_file_writer *trace_file_create(const char *path, bool force,
                                                     const struct trace_file_head *head,
                                                     char reason[TRACE_FILE_REASON_CHARS]);
/* Appends a record, whose id must be above that of the record before. False where the file could
 * not be written: trace_file_write_error says why, and no further record is taken. */
MUST_USE bool trace_file_write(struct trace_file_writer *w, const struct trace_file_record *record);
/* Writes the records of the block that is begun. False as for trace_file_write. */
MUST_USE bool trace_file_flush(struct trace_file_writer *w);
/* The records that are in the file: those of written blocks. */
int64_t trace_file_written(const struct trace_file_writer *w);
/* Appends the end, syncs and closes the file, and frees the writer. `end->records` is filled in by
 * this function. False with a reason: the file is cut, or may not survive a power cut. After a
 * failed write the end is still tried, because it may fit in what the torn block has left. */
MUST_USE bool trace_file_finish(struct trace_file_writer *w, struct trace_file_end *end,
                                char reason[TRACE_FILE_REASON_CHARS]);
/* Why a write has failed, one line. */
const char *trace_file_write_error(const struct trace_file_writer *w);
#endif
