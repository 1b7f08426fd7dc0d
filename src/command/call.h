/* SPDX-License-Identifier: BSD-3-Clause
 * One running command: who called it, its arguments, and the call that runs now.
 */
#ifndef EVENKEEL_COMMAND_CALL_H
#define EVENKEEL_COMMAND_CALL_H
#include <stdbool.h>
#include <stdint.h>

#include "base/memory.h"
#include "base/string.h"
#include "store/key.h"

struct blob;
struct client;
struct command;
struct entry;
struct keyspace;
struct request;

/* Who wants a call. exec/gates says what is asked of which. */
enum call_origin {
    CALL_NETWORK,      /* a client, now */
    CALL_QUEUED,       /* EXEC, what its client has queued */
    CALL_QUEUED_AGAIN, /* the same, where that client is the primary */
    CALL_SCRIPT,
    CALL_SCRIPT_AGAIN, /* one that the primary has sent, or that stands in the log */
    CALL_MODULE,
    CALL_PRIMARY, /* the stream of the server that this one is a replica of */
    CALL_LOG,     /* what is loaded at start */
    CALL_ORIGINS
};

struct call {
    struct client *client;
    struct command *command;
    int argc;
    const struct slice *argv;
    struct keyspace *keyspace; /* the client's selected one */
    struct request *request;   /* where it came over the network; NULL in calls within calls */
    struct blob **blobs; /* of those: each argument's block, or NULL; NULL where none has one */
    enum call_origin origin;
    int hashed;        /* the argument whose hash is known; 0 = of none */
    uint64_t key_hash; /* its hash */
    /* Of scripts and modules: gets why a gate stops the call, which their client is then not told;
     * NULL: it is told. */
    struct buffer *refusal;
};

/* What another server, or this one before, has done: it is done again. */
static inline bool call_is_repeated(const struct call *call) {
    return call->origin == CALL_PRIMARY || call->origin == CALL_QUEUED_AGAIN ||
           call->origin == CALL_LOG;
}

static inline bool call_is_scripts(const struct call *call) {
    return call->origin == CALL_SCRIPT || call->origin == CALL_SCRIPT_AGAIN;
}

/* The argument as MONITOR, SLOWLOG and crash reports show it: "(redacted)" for a secret. */
struct slice call_argument_shown(const struct call *call, int index);

/* Makes argument `index` the caller's, where it has a block of its own; NULL where it has not. The
 * block's class becomes `class`. The slice stays valid as long as the block lives. */
struct blob *call_take_argument(const struct call *call, int index, enum memory_class class);

/* hash_bytes of an argument that is a key: what prefetch computed, where it did. */
uint64_t call_key_hash(const struct call *call, int index);
/* Argument `index` as a key of the selected database. */
struct key call_key(const struct call *call, int index);

/* The entry of an argument that is a key: keyspace_find, keyspace_read and keyspace_peek. */
struct entry *call_find(const struct call *call, int index);
struct entry *call_read(const struct call *call, int index);
struct entry *call_peek(const struct call *call, int index);

/* ---- the call that runs ---- */

/* The innermost one; NULL = none: a crash report, a watchdog and tracking ask. */
const struct call *call_running(void);
/* Returns the call that ran until now: to be set again when `call` has ended. */
const struct call *call_set_running(const struct call *call);
/* Commands that have run since start or CONFIG RESETSTAT, those within commands included. */
uint64_t call_count(void);
void call_count_one(void);
void call_register(void); /* total_commands_processed */
#endif
