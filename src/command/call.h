/* SPDX-License-Identifier: BSD-3-Clause
 * One call of a command: its client, its arguments; and the call that is running.
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

/* Where a call comes from. exec/gates says which checks apply to which origin. */
enum call_origin {
    CALL_NETWORK,      /* a request of a client */
    CALL_QUEUED,       /* EXEC, of a request that its client has queued */
    CALL_QUEUED_AGAIN, /* EXEC, where the client is the primary */
    CALL_SCRIPT,
    CALL_SCRIPT_AGAIN, /* a script that the primary has sent, or that stands in the log */
    CALL_MODULE,
    CALL_PRIMARY, /* the stream of the server that this one is a replica of */
    CALL_LOG,     /* a log that is loaded */
    CALL_ORIGINS
};

struct call {
    struct client *client;
    struct command *command;
    int argc;
    const struct slice *argv;
    struct keyspace *keyspace; /* the database that the client has selected */
    struct request *request;   /* the request from the network; NULL in calls within calls */
    struct blob **blobs;       /* without a request: each argument's block, or NULL; NULL: there is
                                * none */
    enum call_origin origin;
    int hashed;        /* the argument whose hash is known; 0 = none */
    uint64_t key_hash; /* its hash */
    /* Calls of scripts and modules: gets the error where a gate stops the call, and the client gets
     * no reply. NULL: the client gets the error. */
    struct buffer *refusal;
};

/* Gets a call that does not run yet. False: no further calls are wanted. */
typedef bool call_visit(const struct call *call, void *context);

/* Whether the call repeats what another server, or this one before, has done. */
static inline bool call_is_repeated(const struct call *call) {
    return call->origin == CALL_PRIMARY || call->origin == CALL_QUEUED_AGAIN ||
           call->origin == CALL_LOG;
}

static inline bool call_is_scripts(const struct call *call) {
    return call->origin == CALL_SCRIPT || call->origin == CALL_SCRIPT_AGAIN;
}

/* The argument as MONITOR, SLOWLOG and crash reports may show it: "(redacted)" for a secret. */
struct slice call_argument_shown(const struct call *call, int index);

/* Gives the caller the block of argument `index`, and the block the class `class`; NULL if the
 * argument has no block of its own. The slice stays valid as long as the block lives. */
struct blob *call_take_argument(const struct call *call, int index, enum memory_class class);

/* hash_bytes of an argument that is a key: the value that prefetching computed, if it did. */
uint64_t call_key_hash(const struct call *call, int index);
/* Argument `index` as a key of the selected database. */
struct key call_key(const struct call *call, int index);

/* The entry of an argument that is a key: keyspace_find, keyspace_read and keyspace_peek. */
struct entry *call_find(const struct call *call, int index);
struct entry *call_read(const struct call *call, int index);
struct entry *call_peek(const struct call *call, int index);

/* ---- the call that runs ---- */

/* The innermost running call; NULL = none. For crash reports, the watchdog and tracking. */
const struct call *call_running(void);
/* Sets the running call and returns the previous one, which the caller sets again when `call` has
 * ended. */
const struct call *call_set_running(const struct call *call);
/* How many commands have run since start or CONFIG RESETSTAT, including those within other
 * commands. */
uint64_t call_count(void);
void call_count_one(void);
void call_register(void); /* total_commands_processed */
#endif
