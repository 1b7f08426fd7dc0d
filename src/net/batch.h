/* SPDX-License-Identifier: BSD-3-Clause
 * Batches: how a turn's input becomes commands and replies, a bounded piece at a time.
 *
 * Ready clients are read into one input buffer that belongs to the thread, their requests parsed to
 * slices in it. When the batch is full, or the turn's events are through, it is run: keys are
 * prefetched a group at a time, requests executed in order, and each client's replies written in
 * one call. A client with much input fills several batches, one after the other; what it has not
 * sent completely is moved into a query of its own.
 *
 * A client may be held: by a command that waits (its reply comes later), or because its request may
 * not run yet. Then the requests of it that stand in the batch are kept, in order, nothing more is
 * read from its socket, and all goes on where it stopped when whoever holds it calls batch_resume.
 *
 * A turn may be made within a command, or a load, that takes long (batch_turn_within; exec/run has
 * what else it takes). It is one batch and one output more. First what others have been answered is
 * written, and what stands behind the running request in its batch is run; then what is ready is
 * accepted, read, run as far as gates let it, and written, without a wait.
 *  - Those outside hold nothing meanwhile but their own running clients and requests: no entry, no
 *    iterator, no list of clients.
 *  - A client whose request runs outside (CLIENT_BELOW) is not read, and nothing is written to it;
 *    one that is just being parsed outside is not read. Their input waits in the socket.
 *  - A client that is killed or breaks off is closed there. One with CLIENT_BELOW is only marked:
 *    its command ends as any other, its replies go nowhere, and it is closed after that. No struct
 *    is freed before the outermost turn ends; the others' connections end with the turn.
 *  - No timer runs, and no hook: no expiry, eviction, table work or freeing between turns happens
 *    in the midst of a command. The clock goes on, and figures do (server/cron's cron_within).
 *  - Held clients do not go on; those that wait for keys are served when the outermost call ends.
 *
 * With I/O threads (io-threads above 1) a turn's ready clients are first only collected
 * (CLIENT_AWAITED). After its events they are read, up to sixty at a time: the last of them by the
 * other threads, those before them meanwhile by the main thread, and over TLS all by the others.
 * What was read the main thread takes in the order of collecting, parses and runs as one batch, and
 * gives the replies away to be written, while the next clients are being read. So the order of one
 * client's requests, and of commands as a whole, is that of one thread: what others do is system
 * calls and encryption.
 *  - Where few are ready the main thread reads and writes as it does alone, and nobody is woken.
 *  - All that was given is back when batch_run_threads returns: between turns, in timers and hooks,
 *    and in turns within others, no thread has anything. What a turn had no time for stays
 *    collected, and comes first in the next one.
 *  - In between, a request may close, or send messages to, a client that a thread is reading or
 *    writing to. Its struct and its descriptor live on until the turn's end; its messages wait
 *    where it is written to, or where its transport is in use (CLIENT_AWAY), and leave behind what
 *    went before. What was read of one that is closing is dropped.
 */
#ifndef EVENKEEL_NET_BATCH_H
#define EVENKEEL_NET_BATCH_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/blob.h"
#include "base/string.h"

struct client;
struct query;

#define BATCH_REQUESTS_MAX 256
#define BATCH_ARGUMENTS_MAX 1024
/* Looked up side by side: as many misses as a core keeps in flight, twice. */
#define BATCH_GROUP 32
/* One read at most; more stays in the socket until the client's next turn. */
#define BATCH_READ_BYTES 16384
/* The thread's input buffer; a batch is run when it has no room for another read. */
#define BATCH_INPUT_BYTES 131072
/* Arguments of this length or more are read into a block of their own that a command can keep. */
#define BATCH_ADOPT_BYTES 32768
/* A turn that has run batches for so long hands out no further clients before the loop has come
 * round: timers, new connections and active expiry wait no longer than this and one batch. */
#define BATCH_TURN_USEC 1000
/* One read into such a block at most. */
#define BATCH_READ_LARGE_BYTES 262144
/* Turns within each other besides the outermost. What is let in while a script or a load runs makes
 * none itself; a module's command, or one for tests, may make one or two more. Each takes some
 * 300 KiB while it lasts. In the last one exec/run lets in nothing that may last. */
#define BATCH_DEPTH_MAX 4

struct request {
    struct client *client;
    struct slice *argv;
    int argc;
    const char *error; /* a protocol error (as request_parser.error) instead of a command */
    char error_byte;
    uint64_t key_hash;       /* of argument `hashed`, the first key, as prefetch computed it */
    int hashed;              /* 0 = of none */
    void *command;           /* the row, as found by prefetch; NULL = unknown */
    struct query *query;     /* where its arguments stand; NULL = in the thread's input buffer */
    const char *start, *end; /* its bytes as they were sent, where query is NULL */
    bool finished;           /* set by the executor: it has run and does not wait */
    bool apart;              /* it stands in no batch: see batch_apart_begin */
};

/* What runs requests: exec/dispatch. */
struct batch_executor {
    /* Finds the command, hashes its first key and asks for its bucket. */
    void (*prefetch_bucket)(struct request *request);
    /* Asks for the entry. */
    void (*prefetch_entry)(struct request *request);
    void (*execute)(struct request *request);
    /* No request runs now, and the batch goes on to something else than requests: to write
     * replies, to read. For whoever counts the time of commands. May be NULL. */
    void (*pause)(void);
    /* The replies are handed to the sockets, `nsec` after the loop knew that the clients were
     * ready; to I/O threads, where there are any that write them. Not called where the requests had
     * been held. May be NULL. */
    void (*after_replies)(const struct request *requests, int count, int64_t nsec);
};

void batch_register(void); /* options and metrics */
void batch_open(const struct batch_executor *executor);
/* From here on there are I/O threads (io/threads.h, net/reply.h). Before the first client. */
void batch_open_threads(void);
/* For client_open; the second where there are I/O threads. */
extern const struct client_parts batch_client_parts, batch_client_parts_threads;
/* Runs what stands in the batch; after a turn's events. */
void batch_run(void);
/* In place of it where there are I/O threads: they read what is ready, where that is many, and it
 * is run; what they were given is settled when this returns. */
void batch_run_threads(void);
/* Where REPLY_PENDING_BYTES are reached, writes what clients were sent so far, also in the middle
 * of a request: for one that sends to many. May close clients, the request's own included. */
void batch_relieve(void);
/* proto-max-bulk-len, which also bounds how long strings may grow. */
int64_t batch_bulk_bytes_max(void);
/* Bytes read from clients since start or CONFIG RESETSTAT. */
uint64_t batch_bytes_read(void);
/* So many more, by who reads them himself. */
void batch_note_read(size_t bytes);
/* Bytes that the client's query, and what is held of it, takes, and those of them in use. */
FOR_TESTS size_t batch_query_bytes(const struct client *c);
size_t batch_query_used(const struct client *c);
/* Room in the buffers of these. */
size_t batch_query_room(const struct client *c);
/* What all arguments take that have a block of their own: being read, or whole and not yet taken by
 * their command. O(1). */
size_t batch_large_bytes(void);
/* Bytes of the requests of this batch that belong to the client whose request runs; 0 for all
 * others. */
size_t batch_input_bytes(const struct client *c);

/* ---- requests apart ---- */

/* For who reads a client's input himself (CLIENT_PRIMARY), and runs its requests one after the
 * other, each between these two, while no batch runs. They stand in memory of the caller's, with
 * `apart` set, and have no query. Between the two the client is only marked when it is to close;
 * whether it was, or is held, is to be looked at afterwards: one that is held as
 * CLIENT_HELD_REQUEST is to run the same request again when it is held no longer. */
void batch_apart_begin(struct client *c);
void batch_apart_end(void);

/* Holds a client: no request of it runs after the present one, until batch_resume. The caller puts
 * held_link into a list of its own if it wants; batch_resume and closing take it out. */
void batch_hold(struct client *c);
/* As batch_hold, and `request`, which must not have done anything, runs again first. From the
 * executor only. */
void batch_hold_request(struct request *request);
/* Lets it go on, before the loop sleeps next. It may be held again then. Clients go on in the order
 * of these calls, and what one had sent meanwhile runs before the next one goes on. */
void batch_resume(struct client *c);
/* Takes up the clients to be resumed; true where some are left, their time being up. Writes, too,
 * the replies that were added outside of a batch. To be called before the loop sleeps. */
bool batch_run_resumed(void);
/* Whether clients have been resumed since, or were left: the loop is not to sleep. */
bool batch_has_resumed(void);
FOR_TESTS uint64_t batch_held_clients(void);
/* Whose request is being executed, its checks included; NULL = nobody's. */
const struct client *batch_running_client(void);
/* A turn within the request that runs, or within a load: see above. Replies of it tell of what was
 * done under `record` at most (net/reply.h). False, with nothing done, where BATCH_DEPTH_MAX turns
 * are within each other. O(what is ready), about BATCH_TURN_USEC and one batch at most. */
MUST_USE bool batch_turn_within(uint64_t record);
/* How many more may be made within each other. */
unsigned batch_turns_left(void);
/* Whether this is one: no timer runs until it has ended, and the one around it. */
static inline bool batch_is_within(void) { return batch_turns_left() < BATCH_DEPTH_MAX; }
/* Makes argument `index` the caller's, where it has a block of its own; NULL where it has not. The
 * block's class becomes `class`. The slice stays valid as long as the block lives. */
struct blob *batch_take_argument(struct request *request, int index, enum memory_class class);
#endif
