/* SPDX-License-Identifier: BSD-3-Clause
 * Making a call: the one way for every origin. The result is handed to call_run (exec/run.h).
 *
 *   origin                            made by                 from
 *   CALL_NETWORK, CALL_PRIMARY        call_of_request         a parsed request
 *   CALL_QUEUED, CALL_QUEUED_AGAIN    exec/transaction        a command in a client's queue
 *   CALL_SCRIPT, CALL_SCRIPT_AGAIN    script/bridge           redis.call, for a captured client
 *   CALL_LOG                          aof/aof_load            a command of the log
 */
#ifndef EVENKEEL_COMMAND_CALL_MAKE_H
#define EVENKEEL_COMMAND_CALL_MAKE_H
#include <stdint.h>

#include "base/string.h"
#include "command/call.h"
#include "net/batch.h"
#include "net/client.h"
#include "store/keyspace.h"

/* What the caller of call_make gives. All pointers are borrowed until the call has
 * ended. */
struct call_parts {
    struct command *command; /* the row of argv[0]; NULL = no such command */
    int argc;
    const struct slice *argv;
    struct request *request; /* the request that the call comes from; NULL = none */
    struct blob **blobs;     /* each argument's own block, or NULL; NULL if no argument has one */
    int hashed;              /* the argument whose hash is key_hash; 0 = no hash is known */
    uint64_t key_hash;       /* hash_bytes of argument `hashed` */
    struct buffer *refusal;  /* struct call.refusal; NULL = the client is told of a refusal */
};

/* Fills `*call` with a call by `client` in the database that the client has selected. Inlined, and
 * filled in place, because every request passes here. */
static inline __attribute__((always_inline)) void call_make(struct call *call,
                                                            enum call_origin origin,
                                                            struct client *client,
                                                            struct call_parts parts) {
    *call = (struct call){
        .client = client,
        .command = parts.command,
        .argc = parts.argc,
        .argv = parts.argv,
        .keyspace = keyspace_at(client->database),
        .request = parts.request,
        .blobs = parts.blobs,
        .origin = origin,
        .hashed = parts.hashed,
        .key_hash = parts.key_hash,
        .refusal = parts.refusal,
    };
}

/* Fills `*call` from a parsed request, whose row and hash prefetching has found. The row becomes
 * the client's last command. */
static inline __attribute__((always_inline)) void call_of_request(struct call *call,
                                                                  enum call_origin origin,
                                                                  struct request *r) {
    call_make(call, origin, r->client,
              (struct call_parts){.command = r->command,
                                  .argc = r->argc,
                                  .argv = r->argv,
                                  .request = r,
                                  .hashed = r->hashed,
                                  .key_hash = r->key_hash});
    r->client->command = r->command;
}

/* The origin of a call within `outer`: `first`, or `again` where `outer` repeats what another
 * server, or this one before, has done. */
static inline enum call_origin call_origin_within(const struct call *outer, enum call_origin first,
                                                  enum call_origin again) {
    return call_is_repeated(outer) ? again : first;
}
#endif
