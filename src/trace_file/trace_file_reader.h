/* SPDX-License-Identifier: BSD-3-Clause
 * Reads a trace file, which may come from anywhere.
 *
 * The reader holds one block at a time: TRACE_FILE_BLOCK_BYTES_MAX, whatever the file says. Each
 * block's checksum is tested before anything in the block is believed, and each number is tested
 * against the bounds of trace_file.h.
 */
#ifndef EVENKEEL_TRACE_FILE_TRACE_FILE_READER_H
#define EVENKEEL_TRACE_FILE_TRACE_FILE_READER_H
#include <stdbool.h>

#include "base/attributes.h"
#include "trace_file/trace_file.h"

struct trace_file_reader;

enum trace_file_status {
    TRACE_FILE_HAS_RECORD,
    TRACE_FILE_IS_WHOLE, /* the end was read: trace_file_end has it */
    TRACE_FILE_IS_CUT,   /* the file ends without an end block: the records before it are good */
    TRACE_FILE_IS_BAD,   /* trace_file_read_error says what is wrong */
};

/* Opens the file and reads its head. NULL with a reason of one line: it cannot be read, is empty,
 * is no trace file, has another version, or has no whole head. */
MUST_USE struct trace_file_reader *trace_file_open(const char *path,
                                                   char reason[TRACE_FILE_REASON_CHARS]);
/* NULL is harmless. */
void trace_file_close(struct trace_file_reader *r);
/* Goes back to the first record. False where the file cannot be read again from its beginning:
 * the reader can then only be closed. */
MUST_USE bool trace_file_rewind(struct trace_file_reader *r);
const struct trace_file_head *trace_file_head(const struct trace_file_reader *r);
/* Reads the next record, which is valid until the next call with the reader. Each result other than
 * TRACE_FILE_HAS_RECORD is final until trace_file_rewind. */
MUST_USE enum trace_file_status trace_file_next(struct trace_file_reader *r,
                                                struct trace_file_record *record);
/* The end; only after TRACE_FILE_IS_WHOLE. */
const struct trace_file_end *trace_file_end(const struct trace_file_reader *r);
/* What is wrong with the file, and in which block; only after TRACE_FILE_IS_BAD. */
const char *trace_file_read_error(const struct trace_file_reader *r);
#endif
