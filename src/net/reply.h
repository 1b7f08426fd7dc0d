/* SPDX-License-Identifier: BSD-3-Clause
 * Replies in RESP2 or RESP3, as the client's protocol says.
 *
 * While a batch runs, the replies to the client whose request runs are appended to the batch's
 * output buffer, and each client's replies are written with one call. Bytes that the socket does
 * not take, and bytes that another client's command sends, are kept in chunks that the client owns.
 */
#ifndef EVENKEEL_NET_REPLY_H
#define EVENKEEL_NET_REPLY_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attributes.h"
#include "base/string.h"

struct client;
struct iovec;
struct reply_chunk;

/* The size of an output buffer. Replies that do not fit into it go to chunks. */
#define REPLY_OUTPUT_BYTES 131072
/* At most so many clients have replies in an output buffer; replies to further clients go to
 * chunks. */
#define REPLY_REGIONS_MAX 256
/* A client's first chunk is as large as its content needs, and at least this. */
#define REPLY_CHUNK_BYTES_MIN 256
/* A client's later chunks are at least this large, so that a long reply has few chunks. */
#define REPLY_CHUNK_BYTES 16384
/* After so many bytes of chunks have been added, replies are written before the batch goes on, so
 * that many clients with large replies never hold all of them at once. */
#define REPLY_PENDING_BYTES 1048576
/* At most so many bytes are written to one client in one turn; the rest waits for the next turn. */
#define REPLY_TURN_BYTES 262144

struct reply_chunks {
    struct reply_chunk *first, *last; /* NULL = none */
};

/* The place where a turn builds its replies. Each nested turn has an output of its own. The outputs
 * of the turns around the innermost one contain only replies of the request that runs there. */
struct output {
    char *bytes; /* REPLY_OUTPUT_BYTES */
    size_t used, current_start;
    size_t base;               /* I/O threads write the bytes before this offset */
    struct client *current;    /* its replies go here, from current_start on; NULL = no client's */
    uint64_t record;           /* replies made now depend on this record: reply_depend */
    struct output *outer;      /* the output of the turn around this one, or NULL */
    struct client *runs;       /* its request has made nested turns; NULL = no client */
    struct reply_chunks own;   /* during a nested turn: what `runs` has been replied so far */
    struct reply_chunks later; /* what `runs` was sent in nested turns: reply_append_later */
};

void reply_register(void); /* options and metrics */
void reply_open(void);

/* Appends bytes that are RESP already: MONITOR's lines. Handlers use the functions below. */
void reply_raw(struct client *c, const char *bytes, size_t length);
/* Appends bytes of RESP that are no reply to a request, such as a published message. CLIENT REPLY
 * does not drop them. */
void reply_message(struct client *c, const char *bytes, size_t length);

void reply_ok(struct client *c);
void reply_status(struct client *c, const char *text);
void reply_status_slice(struct client *c, struct slice text);
/* Replies "-ERR text"; a text that starts with '-' has its own code: "-NOPROTO ...". Newlines at
 * the end are removed, other newlines become blanks. The error is counted in INFO errorstats. */
void reply_error(struct client *c, const char *text);
void reply_error_slice(struct client *c, struct slice text);
void reply_error_format(struct client *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void reply_integer(struct client *c, int64_t value);
void reply_bulk(struct client *c, struct slice text);
void reply_bulk_c_string(struct client *c, const char *text);
void reply_bulk_integer(struct client *c, int64_t value);
void reply_null(struct client *c);       /* RESP2: $-1 */
void reply_null_array(struct client *c); /* RESP2: *-1 */
void reply_array(struct client *c, int64_t length);
void reply_map(struct client *c, int64_t pairs); /* RESP2: an array of twice the length */
void reply_set(struct client *c, int64_t length);
void reply_push(struct client *c, int64_t length);     /* RESP3 only */
void reply_attribute(struct client *c, int64_t pairs); /* RESP3 only */
void reply_double(struct client *c, double value);
/* Replies a double that the caller has formatted. */
void reply_double_digits(struct client *c, struct slice digits);
void reply_bool(struct client *c, bool value);
void reply_big_number(struct client *c, struct slice digits);
/* `type` has three letters: "txt", "mkd". */
void reply_verbatim(struct client *c, struct slice text, const char *type);

/* ---- groups whose length comes after their elements ---- */

/* A group whose number of elements the handler learns only while it replies them: the field's
 * "deferred length". A function that begins a group is followed by as many replies as
 * reply_group_end says. The client receives the same bytes as if the number had been known first.
 *
 * Room for the header is left in the reply itself, in the output buffer or in a chunk; elements are
 * not buffered anywhere else. reply_group_end writes the header and closes the gap that it leaves.
 * For this it moves bytes of the buffer or chunk that has the header, never more than the group has
 * there.
 *
 * Groups may be nested; the group that began last ends first. The handler that begins a group ends
 * it. Between begin and end the handler only replies: it changes no key, publishes nothing, and
 * does not call batch_relieve, because a message to the client would stand between elements, and a
 * reply without its header must not be written. */
struct reply_group {
    struct client *client;
    struct reply_chunk *chunk; /* that has the header; NULL if it was begun in the output buffer */
    size_t offset;             /* of the header, from the first unsent byte there */
    uint8_t kind, place;       /* enums of capture.h and reply.c */
    bool doubled;              /* a map that RESP2 has as an array of twice the length */
    bool outermost;
};

MUST_USE struct reply_group reply_array_begin(struct client *c);
MUST_USE struct reply_group reply_map_begin(struct client *c); /* RESP2: an array */
MUST_USE struct reply_group reply_set_begin(struct client *c);
/* Ends the group, which has `count` elements, or a map's `count` pairs. */
void reply_group_end(const struct reply_group *g, int64_t count);

/* Called before and after a client's requests in a batch. In between, replies to this client go to
 * the output buffer. */
void reply_begin(struct client *c);
void reply_end(void);
/* Writes the output buffer, client by client, and empties it. Replies that may not leave yet are
 * kept in chunks. Chunks of clients with CLIENT_BELOW are kept until reply_leave. */
void reply_write_all(void);

/* ---- I/O threads: net/batch ---- */

/* Called once, when I/O threads exist; afterwards reply_write_batch may give them replies to
 * write. */
void reply_open_threads(void);
/* Writes replies after a batch, as reply_write_all does. If many clients have replies in the output
 * buffer, I/O threads write them, until reply_settle; the replies to `goes_on` (NULL = none) are
 * written here, because more of its requests may run before reply_settle. Requests of the other
 * clients with replies may not run before it. */
void reply_write_batch(const struct client *goes_on);
/* Waits until I/O threads have written what they were given, and handles the results: a client may
 * be closed, or wait for its socket. To be called before clients are freed and before nested turns.
 * Returns false if nothing was given to I/O threads. */
bool reply_settle(void);
/* The client's transport is used by no I/O thread any more. Chunks that waited for this are written
 * by the next reply_write_all. */
void reply_back(struct client *c);

/* ---- nested turns: net/batch ---- */

/* Begins a nested turn: writes the replies of requests that have ended, and gives the nested turn
 * an output of its own, until reply_leave. Replies of the nested turn depend on `record` at most
 * (see reply_depend). `runs` is the client whose request runs, or NULL. Its reply may be
 * incomplete, so bytes that others send it during the nested turn are set apart. */
void reply_enter(struct output *outer, struct client *runs, uint64_t record);
/* Ends a nested turn, whose replies have been written: the outer output is used again. */
void reply_leave(struct output *outer);
/* A request that made nested turns has ended: what was set apart for its client is appended to its
 * reply. O(bytes of the client in the output buffer). */
void reply_append_later(void);

/* ---- no reply before its record ---- */

/* A record is what one unit writes to the log; records are numbered in the order in which they
 * begin. All bytes that are sent to any client from now on depend on this record. The number never
 * falls. */
void reply_depend(uint64_t record);
/* Bytes that depend on this record, or an earlier one, may leave. Those that waited are written by
 * the next reply_write_all. */
void reply_allow(uint64_t record);
/* Whether bytes that depend on this record may leave. */
bool reply_may_leave(uint64_t record);

/* Sets the function that is called before replies are written, so that the log can write its
 * records at once. NULL = none. */
void reply_set_before_write(void (*before)(void));
/* Calls that function; for code that writes to clients by another way than reply_write_all. */
void reply_before_write(void);

/* Hands the client's unsent bytes to `take`, in order and whatever their record, and drops them
 * here. For a forked child that writes to its client by another way. */
void reply_hand_over(struct client *c,
                     void (*take)(void *context, const char *bytes, size_t length), void *context);
/* Whether REPLY_PENDING_BYTES of chunks have been added since all replies were written. */
bool reply_is_due(void);
/* The client's socket takes more bytes: writes its chunks. */
void reply_writable(struct client *c);
void reply_free(struct client *c);
/* Bytes of the client's chunks, unused room included. */
size_t reply_chunk_bytes(const struct client *c);
/* O(chunks). */
size_t reply_chunk_count(const struct client *c);
/* Bytes of the client's replies in the output buffers. O(clients in the batch). */
size_t reply_output_bytes(const struct client *c);
/* Whether the client's sums (reply_bytes, chunk_bytes) are right. O(chunks). */
FOR_TESTS bool reply_check(const struct client *c);

/* Bytes written to clients since start or CONFIG RESETSTAT. */
uint64_t reply_bytes_written(void);

/* Prints INFO errorstats: code and count of each error. */
FOR_TESTS void reply_error_stats_print(struct buffer *out);

/* ---- clients that are sent a stream ---- */

/* A stream that a client is sent after its replies, of which it gets no more: the bytes of a file,
 * or of a feed. */
struct reply_stream {
    /* Writes a part of the stream by reply_stream_send, about REPLY_TURN_BYTES at most. Returns
     * true if all that there is has been sent; false if it is to be called again when the socket
     * takes more. May close the client. */
    bool (*write)(struct client *c);
    /* A request of the client was answered with an error, which is dropped; `text` is the error
     * without its mark. NULL: errors are ignored. */
    void (*refused)(struct client *c, struct slice text);
};
/* From now on replies and messages to the client are dropped; the replies that it has are written
 * first, then the stream. NULL ends the stream. The struct lives as long as the process; the state
 * of one client's stream stands in a place of the client. */
void reply_set_stream(struct client *c, const struct reply_stream *stream);
/* The client's stream has more bytes: they are written now unless other bytes wait before them. */
void reply_stream_more(struct client *c);
/* Writes pieces to the client's socket. Returns how many bytes the socket took, 0 if it takes none
 * now, -1 if the connection has failed: the client closes then. */
ssize_t reply_stream_send(struct client *c, const struct iovec *pieces, int count);
/* Sets the function that continues all streams that have more bytes. NULL: there are no streams. */
void reply_set_streams(void (*send)(void));
/* Continues all streams; called when no request runs, before replies are written. So a client that
 * has received a reply finds its effects in every stream whose socket had room, as in 6.2. */
void reply_write_streams(void);

/* ---- CLIENT REPLY ---- */

/* Sets whether replies to the client are dropped from now on. A client that closes after its reply,
 * and whose later replies are dropped for this reason, stays off. */
void reply_set_off(struct client *c, bool off);
/* Sets whether the replies to the next request are dropped. */
void reply_skip_next(struct client *c, bool skip);
/* The replies to this request are not dropped after all. */
void reply_skip_no_more(struct client *c);
#endif
