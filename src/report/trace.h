/* SPDX-License-Identifier: BSD-3-Clause
 * The trace: a sample of the calls of clients, in a bounded buffer, for TRACE READ.
 *
 * One key in `trace-sample` is sampled, chosen by its hash, so all calls of a sampled key are in
 * the trace and none of another key: a cache of an Nth of the memory behaves under the trace as the
 * whole cache does under the whole load. A call of several keys is recorded where one of them is
 * sampled. A call without keys is only counted.
 *
 * Recorded are the calls that run: of clients, of EXEC, and those that scripts make. What a primary
 * or a log repeats is not recorded.
 */
#ifndef EVENKEEL_REPORT_TRACE_H
#define EVENKEEL_REPORT_TRACE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "command/call.h"
#include "command/command.h"
#include "report/observed.h"
#include "report/trace_record.h"

void trace_register(void); /* trace-sample, trace-buffer-size, their metrics */

/* False for most calls of keys that are not sampled, while OBSERVED_BY_TRACE is set. A call whose
 * first key was not hashed yet has the hash 0. */
static inline bool trace_may_want(const struct call *call) {
    return call->key_hash <= observed_now.hash_max || !call->command->has_one_key;
}
/* To be called before each call that trace_may_want wants, because the call may take its arguments
 * over. */
void trace_call(const struct call *call);

/* The oldest record that was not taken, valid until the next call with the trace; NULL = none. */
const struct trace_record *trace_oldest(void);
/* Removes the oldest record. Only where there is one. */
void trace_take(void);
/* Empties the buffer; what was in it does not count as dropped. */
void trace_reset(void);

struct trace_status {
    int64_t sample, buffer_bytes; /* the options */
    size_t waiting, waiting_bytes;
    uint64_t next_id, recorded, dropped, without_keys; /* the counts since CONFIG RESETSTAT */
};
struct trace_status trace_status(void);
#endif
