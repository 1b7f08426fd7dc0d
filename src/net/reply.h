/* SPDX-License-Identifier: BSD-3-Clause
 * Replies: RESP2 and RESP3 by the client's protocol.
 *
 * While a batch runs, replies of the client whose turn it is go into the batch's output buffer and
 * are written with one call; only what the socket does not take, or what another client's command
 * sends, is kept in chunks of the client's own.
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

/* An output buffer; fuller replies go to chunks. */
#define REPLY_OUTPUT_BYTES 131072
/* So many clients have replies in it at most; those of others go to chunks. */
#define REPLY_REGIONS_MAX 256
/* A client's first chunk is as large as it must be, at least this. */
#define REPLY_CHUNK_BYTES_MIN 256
/* Later ones at least this, so that long replies have few. */
#define REPLY_CHUNK_BYTES 16384
/* When chunks of so many bytes were added, what is there is written before the batch goes on: so
 * many clients that ask for much at once never hold it all together. */
#define REPLY_PENDING_BYTES 1048576
/* Written in one turn to one client at most; the rest waits for its next turn. */
#define REPLY_TURN_BYTES 262144

struct reply_chunks {
    struct reply_chunk *first, *last; /* NULL = none */
};

/* Where a turn's replies are built: one for each turn that is made within another. Of those around
 * the innermost one nothing but the request that runs there has replies in it. */
struct output {
    char *bytes; /* REPLY_OUTPUT_BYTES */
    size_t used, current_start;
    size_t base;             /* what stands before it I/O threads have, and write */
    struct client *current;  /* whose replies go here, from current_start on; NULL = nobody's */
    uint64_t record;         /* what is replied now tells of what was done under it: reply_depend */
    struct output *outer;    /* that of the turn around this one, or NULL */
    struct client *runs;     /* whose request has made turns within; NULL = nobody's */
    struct reply_chunks own; /* while such a turn lasts: what it has replied so far */
    struct reply_chunks later; /* what `runs` was sent meanwhile: reply_append_later */
};

void reply_register(void); /* options and metrics */
void reply_open(void);

/* Bytes as they are: MONITOR's lines. Handlers have the functions below. */
void reply_raw(struct client *c, const char *bytes, size_t length);
/* Bytes of what is not the reply to a request, such as a published message: CLIENT REPLY does not
 * drop them. */
void reply_message(struct client *c, const char *bytes, size_t length);

void reply_ok(struct client *c);
void reply_status(struct client *c, const char *text);
void reply_status_slice(struct client *c, struct slice text);
/* "-ERR text", or with a code of its own where the text starts with '-': "-NOPROTO ...". Newlines
 * at the end go, others become blanks. Counted in INFO errorstats. */
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
/* The same, with the number as the caller writes it. */
void reply_double_digits(struct client *c, struct slice digits);
void reply_bool(struct client *c, bool value);
void reply_big_number(struct client *c, struct slice digits);
/* `type` has three letters: "txt", "mkd". */
void reply_verbatim(struct client *c, struct slice text, const char *type);

/* ---- groups whose length comes after their elements ---- */

/* A group of whose elements the handler knows the number only when it has replied them. Each of the
 * functions that begin one is followed by as many replies as reply_group_end says. The client gets
 * the bytes that it would get if the number had been said first.
 *
 * The header's room stands in the reply itself, in the output buffer or in a chunk, and no element
 * is kept elsewhere. Ending a group closes what the header leaves of its room: that moves some of
 * the bytes of the header's buffer or chunk, never more than the group has there.
 *
 * Groups stand within groups; the one that began last ends first. All are ended by the handler that
 * began them. Between begin and end the handler makes nothing but the reply: no key changes,
 * nothing is published, and batch_relieve is not called, because a message to the client would
 * stand between elements, and a reply without its header must not be written. */
struct reply_group {
    struct client *client;
    struct reply_chunk *chunk; /* of its header; NULL where the reply began in the output buffer */
    size_t offset;             /* of the header, from the first byte that stands there unsent */
    uint8_t kind, place;       /* reply.c knows */
    bool doubled;              /* pairs, as an array of RESP2 */
    bool outermost;
};

MUST_USE struct reply_group reply_array_begin(struct client *c);
MUST_USE struct reply_group reply_map_begin(struct client *c); /* RESP2: an array */
MUST_USE struct reply_group reply_set_begin(struct client *c);
/* The group has so many elements; of a map so many pairs. */
void reply_group_end(const struct reply_group *g, int64_t count);

/* Before and after a client's requests in a batch: between these its replies go to the output
 * buffer. */
void reply_begin(struct client *c);
void reply_end(void);
/* Writes what stands in the output buffer, client by client, and empties it. What may not leave yet
 * is kept in chunks; so is what was added to clients with CLIENT_BELOW, until reply_leave. */
void reply_write_all(void);

/* ---- I/O threads: net/batch ---- */

/* From here on there are I/O threads, and reply_write_batch may give them replies to write. */
void reply_open_threads(void);
/* As reply_write_all, where a batch has run, but where many clients have replies in the output
 * buffer these go to I/O threads, until reply_settle; but for those of `goes_on` (NULL = none), of
 * whom more requests may run before. No request of any other that got one may. */
void reply_write_batch(const struct client *goes_on);
/* Waits until what was given is written, and sees to what is left: a client may be closed, or wait
 * for its socket. To be called before clients are freed, and before turns within. False where
 * nothing was given. */
bool reply_settle(void);
/* Its transport is free again: what waited for that is written with the next reply_write_all. */
void reply_back(struct client *c);

/* ---- nested turns: net/batch ---- */

/* What has been replied to requests that have ended is written; from here on replies go to an
 * output of their own, until reply_leave. They tell of what was done under this record at most:
 * see reply_depend. `runs`, or NULL: the client whose request runs, whose reply may be half made:
 * what others send it meanwhile is set apart. */
void reply_enter(struct output *outer, struct client *runs, uint64_t record);
/* All is written: back to the output before. */
void reply_leave(struct output *outer);
/* The request that made turns within has ended: its client gets what was set apart, behind its
 * reply. O(1) but for what stands of the client in the output buffer. */
void reply_append_later(void);

/* ---- no reply before its record ---- */

/* Records are numbered as they are begun: the effects of a unit, for the log. All that anybody is
 * sent from now on tells of what is done under this number, which never falls. */
void reply_depend(uint64_t record);
/* What depends on this record, or an earlier one, may leave; what waited for it is written with
 * the next reply_write_all. */
void reply_allow(uint64_t record);
/* Whether what tells of this record may leave. */
bool reply_may_leave(uint64_t record);

/* What is called before replies are written: who makes records safe may do so there at once. NULL =
 * nothing. */
void reply_set_before_write(void (*before)(void));
/* Calls it, for who writes to clients outside of reply_write_all. */
void reply_before_write(void);

/* All that its replies wait with is handed to `take`, in order, and dropped here, whatever its
 * record: for a child that writes to its client by another way. */
void reply_hand_over(struct client *c,
                     void (*take)(void *context, const char *bytes, size_t length), void *context);
/* Whether REPLY_PENDING_BYTES are reached. */
bool reply_is_due(void);
/* The socket takes more: writes chunks. */
void reply_writable(struct client *c);
void reply_free(struct client *c);
/* Bytes of the client's chunks, unused room included. */
size_t reply_chunk_bytes(const struct client *c);
/* O(chunks). */
size_t reply_chunk_count(const struct client *c);
/* Bytes of its replies in the output buffer. O(clients in the batch). */
size_t reply_output_bytes(const struct client *c);
/* True where the client's sums (reply_bytes, chunk_bytes) are those of its chunks; walks them. */
FOR_TESTS bool reply_check(const struct client *c);

/* Bytes written to clients since start or CONFIG RESETSTAT. */
uint64_t reply_bytes_written(void);

/* INFO errorstats: code and count of each error seen. */
FOR_TESTS void reply_error_stats_print(struct buffer *out);

/* ---- clients that are sent a stream ---- */

/* What follows the replies of a client that gets no more of them: the bytes of a file, of a feed.
 */
struct reply_stream {
    /* Writes of it by reply_stream_send, up to some REPLY_TURN_BYTES. True: all that there is has
     * been sent; false: it goes on when the socket takes more. May close the client. */
    bool (*write)(struct client *c);
    /* A request of it was answered with this error, without the mark, which nobody hears; not a
     * reply that was set off. NULL: nobody asks. */
    void (*refused)(struct client *c, struct slice text);
};
/* From here on replies to it are dropped, and messages, too: what it has been replied leaves, then
 * the stream. NULL: no longer. The struct lives as long as the process; its client's state stands
 * in a place of the client's. */
void reply_set_stream(struct client *c, const struct reply_stream *stream);
/* There is more of the stream: it is written where nothing waits before it. */
void reply_stream_more(struct client *c);
/* Writes pieces; returns how many bytes the socket took, 0 where none now. -1: the connection is
 * gone, and the client closes. */
ssize_t reply_stream_send(struct client *c, const struct iovec *pieces, int count);
/* `send` goes on with all streams that have more. NULL: there are none. */
void reply_set_streams(void (*send)(void));
/* No request runs, and replies are about to be written: streams go on first. So who has a reply
 * finds what it tells of in all streams whose sockets have room, as in 6.2. */
void reply_write_streams(void);

/* ---- CLIENT REPLY ---- */

/* Whether replies are dropped from now on. A client that closes after its reply, and whose later
 * replies are dropped for that, stays off. */
void reply_set_off(struct client *c, bool off);
/* Whether those of the next request are dropped. */
void reply_skip_next(struct client *c, bool skip);
/* Those of this request are sent after all. */
void reply_skip_no_more(struct client *c);
#endif
