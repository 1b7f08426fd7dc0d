/* SPDX-License-Identifier: BSD-3-Clause
 * Batches: how a turn's input becomes commands and replies, a bounded piece at a time.
 *
 * Ready clients are read into one input buffer, which belongs to the thread, and their requests are
 * parsed to slices in it. The batch is run when it is full, or after the turn's last event: keys
 * are prefetched a group at a time, requests are executed in order, and each client's replies are
 * written with one call. A client with much input fills several batches, one after the other. The
 * bytes of an incomplete request are moved into a query of the client's own.
 *
 * A client may be held: by a command that blocks (its reply comes later), or because its request
 * may not run yet. Its requests in the batch are kept then, in order. Its socket is read on up to a
 * bound, because the end of a connection stands behind the last bytes sent; these bytes are not
 * parsed. When the holder calls batch_resume, the client continues where it stopped.
 *
 * A nested turn may be made within a command, or a load, that takes long (batch_turn_within;
 * exec/run.h has the rest). It has a batch and an output of its own. First the replies of the outer
 * turns are written, and the requests behind the running one in its batch are run. Then ready
 * connections are accepted and read, their requests run as far as gates allow, and the replies are
 * written, without waiting.
 *  - Code of the outer turns may hold only its running client and request meanwhile: no entry, no
 *    iterator, no list of clients.
 *  - A client whose request runs in an outer turn (CLIENT_BELOW) is not read, and nothing is
 *    written to it. A client whose bytes are being parsed in an outer turn is not read. Their input
 *    waits in the socket.
 *  - A client that is killed or disconnects is closed in the nested turn, and its connection ends
 *    with that turn. A client with CLIENT_BELOW is only marked: its command ends as usual, its
 *    replies are dropped, and then it is closed. The struct of a client that was there before is
 *    freed when the outermost turn ends.
 *  - No timer runs, and no hook: expiry, eviction and work on tables do not happen in the midst of
 *    a command. The clock goes on, and figures are kept (server/cron's cron_within).
 *  - Held clients are not resumed; clients that wait for keys are served when the outermost call
 *    ends.
 *
 * With I/O threads (io-threads above 1) ready clients are first only collected (CLIENT_AWAITED).
 * After the turn's events they are read, up to TRANSFER_PIECES_MAX at a time: the last of them by
 * the other threads, those before them by the main thread meanwhile; over TLS the other threads
 * read all. The main thread takes the bytes in the order of collecting, parses and runs them as one
 * batch, and gives the replies away to be written, while the next clients are being read. So the
 * order of one client's requests, and of all commands, is that of one thread: the other threads
 * only make system calls and encrypt.
 *  - If few clients are ready, the main thread reads and writes alone, and no thread is woken.
 *  - All transfers are back when batch_run_threads returns: between turns, in timers and hooks, and
 *    in nested turns, no thread has any. Clients for which a turn had no time stay collected, and
 *    come first in the next turn.
 *  - Meanwhile a request may close, or send messages to, a client that a thread reads or writes to.
 *    The client's struct and descriptor live until the turn's end. Its messages wait while a thread
 *    writes to it or uses its transport (CLIENT_AWAY), and are sent behind the earlier bytes. Input
 *    of a client that is closing is dropped.
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
/* Requests whose keys are prefetched side by side: twice as many as a core has misses in flight. */
#define BATCH_GROUP 32
/* Most bytes of one read; more input stays in the socket until the client's next turn. */
#define BATCH_READ_BYTES 16384
/* Size of the thread's input buffer; a batch is run when the buffer has no room for another
 * read. */
#define BATCH_INPUT_BYTES 131072
/* Arguments of this length or more are read into a block of their own, which a command can keep. */
#define BATCH_ADOPT_BYTES 32768
/* A turn that has run batches for so long serves no further clients before the loop has come round,
 * so that timers, new connections and active expiry wait no longer than this and one batch. */
#define BATCH_TURN_USEC 1000
/* Most bytes of one read into the block of a large argument. */
#define BATCH_READ_LARGE_BYTES 262144
/* A held client is read until this much of its input waits: more than a socket holds (tcp_rmem:
 * 6 MiB), so that the end of a usual pipeline is reached. Further input stays in the socket, and
 * the end behind it is seen when the client is resumed, or by tcp-keepalive. 6.2 reads up to
 * client-query-buffer-limit (1 GiB). */
#define BATCH_HELD_BYTES_MAX ((size_t)8 << 20)
/* At most so many nested turns within each other. Commands that are served during a script or a
 * load do not start a nested turn; a module's command, or a command for tests, may make one or two
 * more. Each takes some 300 KiB while it lasts. In the innermost one exec/run refuses commands that
 * may take long. */
#define BATCH_DEPTH_MAX 4

struct request {
    struct client *client;
    struct slice *argv;
    int argc;
    const char *error; /* this is a protocol error (request_parser.error) and no command; or NULL */
    char error_byte;
    uint64_t key_hash;       /* hash of argument `hashed`, the first key, computed by prefetch */
    int hashed;              /* 0 = no hash is known */
    void *command;           /* the row, found by prefetch; NULL = unknown */
    struct query *query;     /* has its arguments; NULL = the thread's input buffer has them */
    const char *start, *end; /* its bytes as they were sent, if query is NULL */
    bool finished;           /* set by the executor: it has run and does not wait */
    bool apart;              /* it is in no batch: see batch_apart_begin */
};

/* The functions that run requests: exec/run has them. */
struct batch_executor {
    /* Prepares up to BATCH_GROUP requests that stand side by side: finds each command, hashes its
     * first key, and asks for what the lookup of that key will read. Leaves requests with an
     * `error` alone. Each request is prepared before it is executed. */
    void (*prefetch)(struct request *requests, int count);
    void (*execute)(struct request *request);
    /* Called when the batch turns from running requests to other work (writing replies, reading),
     * for code that counts the time of commands. May be NULL. */
    void (*pause)(void);
    /* Called when the replies have been handed to the sockets, or to I/O threads that write them,
     * `nsec` after the loop knew that the clients were ready. Not called for requests that had been
     * held. May be NULL. */
    void (*after_replies)(const struct request *requests, int count, int64_t nsec);
};

void batch_register(void); /* options and metrics */
void batch_open(const struct batch_executor *executor);
/* Called if there are I/O threads (io/threads.h, net/reply.h), before the first client. */
void batch_open_threads(void);
/* For client_open; the second if there are I/O threads. */
extern const struct client_parts batch_client_parts, batch_client_parts_threads;
/* Runs the requests in the batch. Called after a turn's events. */
void batch_run(void);
/* Called instead of batch_run if there are I/O threads: lets them read the ready clients, if these
 * are many, and runs the requests. All transfers are back and settled when this returns. */
void batch_run_threads(void);
/* If REPLY_PENDING_BYTES are reached, writes the replies of all clients, also in the middle of a
 * request: for a request that sends to many clients. May close clients, also the request's own. */
void batch_relieve(void);
/* The option proto-max-bulk-len, which also bounds the length of strings. */
int64_t batch_bulk_bytes_max(void);
/* Bytes read from clients since start or CONFIG RESETSTAT. */
uint64_t batch_bytes_read(void);
/* Adds bytes that other code than net/batch has read. */
void batch_note_read(size_t bytes);
/* Bytes that the client's query and its held requests take; batch_query_used: those in use. */
FOR_TESTS size_t batch_query_bytes(const struct client *c);
size_t batch_query_used(const struct client *c);
/* Unused bytes in the buffers of the client's query and its held requests. */
size_t batch_query_room(const struct client *c);
/* Bytes of all arguments that have a block of their own: those being read, and whole ones that no
 * command has taken yet. O(1). */
size_t batch_large_bytes(void);
/* Bytes of the client's requests in this batch, if its request runs now; 0 for all other
 * clients. */
size_t batch_input_bytes(const struct client *c);

/* ---- requests apart ---- */

/* For code that reads a client's input itself (CLIENT_PRIMARY). It runs the client's requests one
 * after the other, each between batch_apart_begin and batch_apart_end, while no batch runs. The
 * requests are in the caller's memory, have `apart` set and no query. Between the two functions the
 * client is at most marked as closing. Afterwards the caller must look whether the client is
 * closing or held; a request that was held (CLIENT_HELD_REQUEST) must be run again when the client
 * is resumed. */
void batch_apart_begin(struct client *c);
void batch_apart_end(void);

/* Holds a client: no request of it runs after the present one, until batch_resume. The caller may
 * put held_link into a list of its own; batch_resume and closing take it out. */
void batch_hold(struct client *c);
/* Holds the request's client; `request`, which must not have changed anything, runs again first
 * when the client is resumed. Called only by the executor. */
void batch_hold_request(struct request *request);
/* Resumes a held client before the loop sleeps next. It may be held again then. Clients are resumed
 * in the order of these calls, and the requests that a client has sent meanwhile run before the
 * next client is resumed. */
void batch_resume(struct client *c);
/* Resumes clients and runs their requests. Returns true if some clients are left because the turn's
 * time is up. Also writes replies that were added outside of a batch. To be called before the loop
 * sleeps. */
bool batch_run_resumed(void);
/* Whether clients are left to be resumed, so that the loop must not sleep. */
bool batch_has_resumed(void);
FOR_TESTS uint64_t batch_held_clients(void);
/* The client whose request is being executed, gates included; NULL = none. */
const struct client *batch_running_client(void);
/* Makes a nested turn within the running request, or within a load: see above. Its replies depend
 * on `record` at most (net/reply.h). Returns false, with nothing done, if BATCH_DEPTH_MAX turns are
 * nested. O(ready clients), at most about BATCH_TURN_USEC and one batch. */
MUST_USE bool batch_turn_within(uint64_t record);
/* How many more nested turns may be made within each other. */
unsigned batch_turns_left(void);
/* Whether this is a nested turn: no timer runs until all nested turns have ended. */
static inline bool batch_is_within(void) { return batch_turns_left() < BATCH_DEPTH_MAX; }
/* Gives argument `index` to the caller, if it has a block of its own; otherwise returns NULL. The
 * block's memory class becomes `class`. The slice stays valid as long as the block lives. */
struct blob *batch_take_argument(struct request *request, int index, enum memory_class class);
#endif
