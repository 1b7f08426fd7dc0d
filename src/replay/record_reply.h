/* SPDX-License-Identifier: BSD-3-Clause
 * One record of a TRACE READ reply, as a trace file has it.
 */
#ifndef EVENKEEL_REPLAY_RECORD_REPLY_H
#define EVENKEEL_REPLAY_RECORD_REPLY_H
#include <stdbool.h>

#include "base/attributes.h"
#include "peer/peer_reply.h"
#include "trace_file/trace_file.h"

/* Takes the record apart. Its texts are borrowed from the reply, and its arguments are stored in
 * `arguments`. False where the reply is no record, or has a number that no trace file takes. */
MUST_USE bool record_reply_take(const struct peer_reply *reply,
                                struct trace_file_argument arguments[TRACE_FILE_ARGUMENTS_MAX],
                                struct trace_file_record *record);
#endif
