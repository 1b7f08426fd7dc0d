/* SPDX-License-Identifier: BSD-3-Clause
 * The running call, the number of calls, and a call's arguments.
 *
 * Invariant: `running` is the innermost call whose handler has begun and not ended. Every setter
 * restores the previous value, so `running` is NULL between commands.
 */
#include "command/call.h"

#include "base/blob.h"
#include "command/command.h"
#include "metric/metric.h"
#include "net/batch.h"
#include "store/keyspace.h"

static const struct call *running;
static uint64_t count;

static const struct metric_row metric_rows[] = {
    {.section = "Stats",
     .place = 20,
     .name = "total_commands_processed",
     .measure = METRIC_COUNTER,
     .type = METRIC_UINT64,
     .variable = &count,
     .reset = true,
     .help = "Commands that were run."},
};

void call_register(void) {
    metric_register(metric_rows, sizeof(metric_rows) / sizeof(metric_rows[0]));
}

const struct call *call_running(void) { return running; }

const struct call *call_set_running(const struct call *call) {
    const struct call *outer = running;
    running = call;
    return outer;
}

uint64_t call_count(void) { return count; }
void call_count_one(void) { count++; }

struct slice call_argument_shown(const struct call *call, int index) {
    const struct command *command = call->command;
    bool secret = command->is_secret && command->is_secret(call, index);
    return secret ? SLICE("(redacted)") : call->argv[index];
}

struct blob *call_take_argument(const struct call *call, int index, enum memory_class class) {
    if (call->request) return batch_take_argument(call->request, index, class);
    if (!call->blobs || !call->blobs[index]) return NULL;
    struct blob *b = call->blobs[index];
    call->blobs[index] = NULL;
    memory_move(b, blob_bytes(b), MEMORY_CLIENTS, class);
    return b;
}

uint64_t call_key_hash(const struct call *call, int index) {
    if (index == call->hashed) return call->key_hash;
    return key_hash_of(call->argv[index]);
}

struct key call_key(const struct call *call, int index) {
    return (struct key){call->keyspace, call->argv[index], call_key_hash(call, index)};
}

struct entry *call_find(const struct call *call, int index) {
    const struct key key = call_key(call, index);
    return keyspace_find(&key);
}

struct entry *call_read(const struct call *call, int index) {
    const struct key key = call_key(call, index);
    return keyspace_read(&key);
}

struct entry *call_peek(const struct call *call, int index) {
    const struct key key = call_key(call, index);
    return keyspace_peek(&key);
}
