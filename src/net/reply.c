/* SPDX-License-Identifier: BSD-3-Clause
 * Replies: output buffers, clients' chunks, and the forms of RESP2 and RESP3.
 *
 * A group whose length comes after its elements (struct reply_group) begins with room for the
 * longest header. When the group ends, the header is written and the gap that it leaves is closed
 * from the side that has fewer bytes: either the bytes behind the gap move down, or the bytes
 * before it, in the same region or chunk, move up, and the region or chunk then begins later. A
 * group knows its header by the distance from the first unsent byte there, because closing the gap
 * of an inner group does not change that distance for the groups around it.
 *
 * Invariants
 *  1. Bytes of one client leave in the order in which they were added: a client that has chunks
 *     gets further replies in chunks, never in the output buffer.
 *  2. The output buffer is empty between batches. Each nested turn has its own (reply_enter). The
 *     output buffer of an outer turn contains, during the nested turn, only what the request that
 *     runs there has replied so far.
 *  3. A client with chunks is watched for writability (CLIENT_WRITE_WAITS), or is in the list of
 *     clients to be written to, or in the list of clients that wait for a record (`gated`) because
 *     their first chunk may not leave yet.
 *  4. A client's chunk_bytes is the memory of its chunks. Whenever it grows the limits are checked,
 *     which may mark the client as closing. A closing client has no chunks, gets none, and is in no
 *     list of this file.
 *  5. Nothing is written to a client whose request runs in an outer turn (CLIENT_BELOW), because
 *     its chunks may come after bytes in the outer output. It waits in `below` for reply_leave.
 *     During the nested turn the chunks of its reply are in the output's `own`, not in its
 *     `replies`.
 * Bytes that are added then are messages of other clients; they are kept apart (`later`) until the
 *     request has ended.
 *  6. I/O threads may be given a batch's regions (reply_write_batch). The bytes stay where they are
 *     until reply_settle: further replies go behind them (`base`) or to another output buffer.
 * While an I/O thread writes a client's region, or reads by its transport (CLIENT_AWAY), no other
 * code writes to the client: bytes that are added become chunks, and the client waits in `away`.
 * The unsent rest of its region comes before these chunks.
 *  7. While a group of a client's reply is open (CLIENT_OPEN_GROUP) none of the client's bytes are
 *     written, and only the reply is added to. A group that began in the output buffer is still
 *     there, or, if the buffer became full, at the same distance from the start of the client's
 *     first chunk, because a client whose replies go to the output buffer has no chunks (1).
 *
 * Source of the formats: the Redis serialization protocol's specification, versions 2 and 3.
 */
#include "net/reply.h"

#include <errno.h>
#include <sys/uio.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/number.h"
#include "base/panic.h"
#include "io/child.h"
#include "metric/metric.h"
#include "net/capture.h"
#include "net/client.h"
#include "net/client_memory.h"
#include "net/limits.h"
#include "net/transfer.h"

struct reply_chunk {
    struct reply_chunk *next;
    uint64_t record; /* the chunk may leave when this record is safe: see reply_depend */
    size_t used, sent, capacity;
    char bytes[];
};

/* The replies of one client in the output buffer. */
struct region {
    struct client *client;
    uint64_t record;
    size_t start, length;
};

/* So many error codes are counted separately; further codes are counted in the total only. 6.2
 * itself has about thirty; scripts and modules may add more. */
#define ERROR_CODES_MAX 128
#define ERROR_CODE_CHARS 32
struct error_count {
    char code[ERROR_CODE_CHARS];
    uint64_t count;
};

/* At most so many pieces are written with one call. */
#define WRITE_PIECES_MAX 32
/* With I/O threads, so many output buffers are used in rotation, so that the next batch has room
 * while the previous one is written. */
#define OUTPUTS_MAX 4
/* The next output buffer is used if less than this is free: a batch of small replies needs no more.
 */
#define OUTPUT_ROOM_MIN (REPLY_OUTPUT_BYTES / 2)
/* At most so many transfers are under way: two batches with as many regions as possible. */
#define TRANSFERS_MAX (2 * REPLY_REGIONS_MAX / TRANSFER_PIECES_MAX)
/* The longest header: a mark, 20 digits, "\r\n". */
#define HEADER_CHARS 24

static struct output output;                     /* the innermost turn's */
static struct region regions[REPLY_REGIONS_MAX]; /* in it */
static int region_count;
static size_t pending; /* bytes of chunks that were added since all was written */
static struct list_link to_write = {&to_write, &to_write};
/* Of write_link: clients that wait for a record, for their outer turn, for an I/O thread. */
static struct list_link gated = {&gated, &gated};
static struct list_link below = {&below, &below};
static struct list_link away = {&away, &away};
static struct transfer *transfers; /* TRANSFERS_MAX; NULL = no I/O threads */
static int transfers_count;        /* of them on their way, from the first */
static char *outputs[OUTPUTS_MAX];
static bool outputs_given[OUTPUTS_MAX]; /* regions in it are on their way */
static int output_number;               /* of the outermost turn's */
static void (*before_write)(void);
static void (*send_streams)(void); /* NULL: no client is sent one */
static uint64_t record_safe;       /* bytes that depend on this or an earlier record may leave */
static struct error_count error_counts[ERROR_CODES_MAX];
static int error_codes;
static uint64_t error_replies, unexpected_errors, bytes_written, writes;

static void print_error_stats(const struct metric_row *row, struct buffer *out) {
    reply_error_stats_print(out);
}

static enum metric_presence sample_error_code(const struct metric_family *family, size_t index,
                                              struct metric_sample *s) {
    if (index >= (size_t)error_codes) return METRIC_END;
    s->labels[0] = (struct metric_label){"err", slice_of(error_counts[index].code)};
    s->value = error_counts[index].count;
    return METRIC_PRESENT;
}
static const struct metric_family error_families[] = {
    {"errors", METRIC_COUNTER, "Error replies by their code.", sample_error_code}, {0}};

static const struct metric_row metric_rows[] = {
    {.section = "Stats",
     .place = 50,
     .name = "total_net_output_bytes",
     .measure = METRIC_COUNTER_BYTES,
     .type = METRIC_UINT64,
     .variable = &bytes_written,
     .reset = true,
     .help = "Bytes written to clients."},
    {.section = "Stats",
     .place = 320,
     .name = "unexpected_error_replies",
     .measure = METRIC_COUNTER,
     .type = METRIC_UINT64,
     .variable = &unexpected_errors,
     .reset = true,
     .help = "Error replies to a primary or from a replica's stream."},
    {.section = "Stats",
     .place = 330,
     .name = "total_error_replies",
     .measure = METRIC_COUNTER,
     .type = METRIC_UINT64,
     .variable = &error_replies,
     .reset = true,
     .help = "Error replies sent."},
    {.section = "Stats",
     .place = 360,
     .name = "total_writes_processed",
     .measure = METRIC_COUNTER,
     .type = METRIC_UINT64,
     .variable = &writes,
     .reset = true,
     .help = "Writes to clients' sockets."},
    {.section = "Errorstats",
     .place = 10,
     .name = "errorstat_<code>",
     .measure = METRIC_FAMILIES,
     .print_lines = print_error_stats,
     .families = error_families,
     .help = "Error replies by their code."},
};

static void reset_errors(void) { error_codes = 0; }

void reply_register(void) {
    metric_register(metric_rows, sizeof(metric_rows) / sizeof(metric_rows[0]));
    metric_register_reset(reset_errors);
}

uint64_t reply_bytes_written(void) { return bytes_written; }

void reply_open(void) { output.bytes = memory_alloc(REPLY_OUTPUT_BYTES, MEMORY_POOLS); }

/* ---- chunks ---- */

static size_t chunk_bytes(const struct reply_chunk *chunk) {
    return sizeof(*chunk) + chunk->capacity;
}

/* Frees the client's first chunk. */
static void chunk_free_first(struct client *c) {
    struct reply_chunk *chunk = c->replies;
    c->replies = chunk->next;
    if (!c->replies) c->replies_last = NULL;
    size_t bytes = chunk_bytes(chunk);
    c->chunk_bytes -= bytes;
    memory_free_sized(chunk, bytes, MEMORY_CLIENTS);
    client_memory_note_chunks(c, -(ptrdiff_t)bytes);
}

static struct reply_chunk *chunk_add(struct client *c, size_t at_least) {
    size_t wanted = c->replies ? REPLY_CHUNK_BYTES : REPLY_CHUNK_BYTES_MIN;
    if (wanted < at_least) wanted = at_least;
    size_t good = memory_good_size(sizeof(struct reply_chunk) + wanted);
    struct reply_chunk *chunk = memory_alloc(good, MEMORY_CLIENTS);
    chunk->next = NULL;
    chunk->used = chunk->sent = 0;
    chunk->capacity = good - sizeof(*chunk);
    if (c->replies_last)
        c->replies_last->next = chunk;
    else
        c->replies = chunk;
    c->replies_last = chunk;
    c->chunk_bytes += good;
    pending += good;
    if (pending >= REPLY_PENDING_BYTES) client_interrupted = true;
    client_note_output(c->chunk_bytes);
    client_memory_note_chunks(c, (ptrdiff_t)good);
    return chunk;
}

/* Makes the chunk wait for the output's record. A nested turn's record may be lower than that of
 * the bytes before, so the chunk keeps the higher one. */
static inline void note_record(struct reply_chunk *chunk) {
    if (chunk->record < output.record) chunk->record = output.record;
}

/* Adds bytes to the client's chunks without checking the limits, so the client is not closed. */
static void chunk_store(struct client *c, const char *bytes, size_t length) {
    if (!(c->flags & CLIENT_WRITE_WAITS) && list_is_empty(&c->write_link))
        list_append(&to_write, &c->write_link);
    c->reply_bytes += length;
    struct reply_chunk *chunk = c->replies_last;
    size_t room = chunk ? chunk->capacity - chunk->used : 0;
    if (room > length) room = length;
    if (room) {
        memcpy(chunk->bytes + chunk->used, bytes, room);
        chunk->used += room;
        note_record(chunk);
    }
    if (room == length) return;
    chunk = chunk_add(c, length - room);
    chunk->record = output.record;
    memcpy(chunk->bytes, bytes + room, length - room);
    chunk->used = length - room;
}

/* Returns where `length` bytes may be written at the end of the last chunk; chunk_commit follows.
 * NULL if the chunk has no room. The chunks take no more memory by this, so the limits are checked
 * only for a client that is above its soft limit, whose time may be up. */
static inline char *chunk_reserve(const struct client *c, size_t length) {
    struct reply_chunk *chunk = c->replies_last;
    if (!chunk || chunk->capacity - chunk->used < length) return NULL;
    bool watched = c->flags & CLIENT_CLOSING || c->over_soft_nsec;
    return watched ? NULL : chunk->bytes + chunk->used;
}

static inline void chunk_commit(struct client *c, const char *end) {
    struct reply_chunk *chunk = c->replies_last;
    size_t used = (size_t)(end - chunk->bytes);
    c->reply_bytes += used - chunk->used;
    chunk->used = used;
    note_record(chunk);
}

static void chunk_append(struct client *c, const char *bytes, size_t length) {
    if (c->flags & CLIENT_CLOSING) return;
    char *place = chunk_reserve(c, length);
    if (place) {
        memcpy(place, bytes, length);
        chunk_commit(c, place + length);
        return;
    }
    if (__builtin_expect(c->flags & CLIENT_CAPTURED, 0)) {
        capture_take(c, bytes, length);
        return;
    }
    chunk_store(c, bytes, length);
    limits_check_output(c);
}

size_t reply_chunk_bytes(const struct client *c) { return c->chunk_bytes; }

static size_t count_chunks(const struct reply_chunk *chunk) {
    size_t count = 0;
    for (; chunk; chunk = chunk->next) count++;
    return count;
}

size_t reply_chunk_count(const struct client *c) {
    size_t chunks = count_chunks(c->replies);
    for (const struct output *o = &output; o; o = o->outer)
        if (o->runs == c) chunks += count_chunks(o->own.first) + count_chunks(o->later.first);
    return chunks;
}

size_t reply_output_bytes(const struct client *c) {
    size_t bytes = 0;
    for (const struct output *o = &output; o; o = o->outer)
        if (o->current == c) bytes += o->used - o->current_start;
    for (int i = 0; i < region_count; i++)
        if (regions[i].client == c) bytes += regions[i].length;
    return bytes;
}

/* Adds the memory of the chunks to *taken and their unsent bytes to *unsent. False if `last` is not
 * the last chunk. */
static bool add_up(struct reply_chunks chunks, size_t *taken, size_t *unsent) {
    const struct reply_chunk *last = NULL;
    for (const struct reply_chunk *chunk = chunks.first; chunk; chunk = chunk->next) {
        *taken += chunk_bytes(chunk);
        *unsent += chunk->used - chunk->sent;
        last = chunk;
    }
    return last == chunks.last;
}

bool reply_check(const struct client *c) {
    size_t taken = 0, unsent = 0;
    bool sound = add_up((struct reply_chunks){c->replies, c->replies_last}, &taken, &unsent);
    for (const struct output *o = &output; o; o = o->outer) {
        if (o->runs != c) continue;
        sound = add_up(o->own, &taken, &unsent) && add_up(o->later, &taken, &unsent) && sound;
    }
    return sound && taken == c->chunk_bytes && unsent == c->reply_bytes;
}

/* Puts the chunks before those of the client. */
static void put_before(struct client *c, struct reply_chunks chunks) {
    if (!chunks.first) return;
    chunks.last->next = c->replies;
    c->replies = chunks.first;
    if (!c->replies_last) c->replies_last = chunks.last;
}

static void put_behind(struct client *c, struct reply_chunks chunks) {
    if (!chunks.first) return;
    if (c->replies_last)
        c->replies_last->next = chunks.first;
    else
        c->replies = chunks.first;
    c->replies_last = chunks.last;
}

/* Takes all chunks away from the client. */
static struct reply_chunks take_chunks(struct client *c) {
    struct reply_chunks chunks = {c->replies, c->replies_last};
    c->replies = c->replies_last = NULL;
    return chunks;
}

void reply_free(struct client *c) {
    for (struct output *o = &output; o; o = o->outer) {
        if (o->current == c) {
            o->used = o->current_start;
            o->current = NULL;
        }
        if (o->runs == c) {
            put_before(c, o->later);
            put_before(c, o->own);
            o->own = o->later = (struct reply_chunks){NULL, NULL};
        }
    }
    list_remove(&c->write_link);
    while (c->replies) chunk_free_first(c);
    c->reply_bytes = 0;
    c->over_soft_nsec = 0;
}

void reply_hand_over(struct client *c,
                     void (*take)(void *context, const char *bytes, size_t length), void *context) {
    reply_end();
    for (int i = 0; i < region_count; i++) {
        struct region *r = &regions[i];
        if (r->client != c) continue;
        take(context, output.bytes + r->start, r->length);
        r->length = 0;
    }
    for (; c->replies; chunk_free_first(c)) {
        const struct reply_chunk *chunk = c->replies;
        take(context, chunk->bytes + chunk->sent, chunk->used - chunk->sent);
    }
    reply_free(c);
}

/* ---- where bytes go ---- */

void reply_begin(struct client *c) {
    if (output.current == c) return;
    reply_end();
    if (c->replies || region_count == REPLY_REGIONS_MAX) return;
    output.current = c;
    output.current_start = output.used;
}

void reply_end(void) {
    size_t start = output.current_start;
    if (output.current && output.used > start)
        regions[region_count++] =
            (struct region){output.current, output.record, start, output.used - start};
    output.current = NULL;
}

/* The output buffer is full: the current client's bytes in it are moved to chunks, and its further
 * replies go to chunks, too. */
static void output_spill(void) {
    struct client *c = output.current;
    output.current = NULL;
    ASSERT_SLOW(!c->replies);
    size_t start = output.current_start, length = output.used - start;
    output.used = start;
    ASSERT_SLOW(output.bytes);
    if (length) chunk_append(c, output.bytes + start, length);
}

/* Returns where `length` bytes may be written in the output buffer; output_commit follows. NULL:
 * the caller uses chunk_append instead. */
static inline char *output_reserve(struct client *c, size_t length) {
    if (__builtin_expect(c != output.current, 0)) return NULL;
    if (__builtin_expect(length > REPLY_OUTPUT_BYTES - output.used, 0)) {
        output_spill();
        return NULL;
    }
    return output.bytes + output.used;
}

static inline void output_commit(const char *end) { output.used = (size_t)(end - output.bytes); }

static inline void output_append(struct client *c, const char *bytes, size_t length) {
    char *place = output_reserve(c, length);
    if (place) {
        memcpy(place, bytes, length);
        output_commit(place + length);
    } else {
        chunk_append(c, bytes, length);
    }
}

/* Whether replies to the client are dropped, or handed to a capture as values. */
static inline bool is_aside(const struct client *c) {
    return __builtin_expect(c->flags & CLIENT_REPLIES_ASIDE, 0);
}

void reply_raw(struct client *c, const char *bytes, size_t length) {
    if (!is_aside(c)) output_append(c, bytes, length);
}

void reply_message(struct client *c, const char *bytes, size_t length) {
    /* The message would stand between elements, unless a nested turn has set the reply apart. */
    ASSERT_SLOW(!(c->flags & CLIENT_OPEN_GROUP) || c->flags & CLIENT_BELOW);
    if (!(c->flags & (CLIENT_CLOSING | CLIENT_STREAMED))) output_append(c, bytes, length);
}

/* ---- forms ---- */

static inline char *header_write(char *out, char mark, int64_t value) {
    *out++ = mark;
    if (value >= 0 && value < 10) {
        *out++ = (char)('0' + value);
    } else if (value >= 10 && value < 100) {
        *out++ = (char)('0' + value / 10);
        *out++ = (char)('0' + value % 10);
    } else {
        out += number_format_int64(out, value);
    }
    *out++ = '\r';
    *out++ = '\n';
    return out;
}

static void append_header(struct client *c, char mark, int64_t value) {
    char text[HEADER_CHARS];
    output_append(c, text, (size_t)(header_write(text, mark, value) - text));
}

static const char group_marks[] = {[CAPTURE_ARRAY] = '*',
                                   [CAPTURE_MAP] = '%',
                                   [CAPTURE_SET] = '~',
                                   [CAPTURE_PUSH] = '>',
                                   [CAPTURE_ATTRIBUTE] = '|'};

static inline void reply_group(struct client *c, enum capture_group kind, int64_t count) {
    if (is_aside(c))
        capture_group(c, kind, count);
    else
        append_header(c, group_marks[kind], count);
}

void reply_ok(struct client *c) {
    if (is_aside(c))
        capture_status(c, SLICE("OK"));
    else
        output_append(c, "+OK\r\n", 5);
}

void reply_status_slice(struct client *c, struct slice text) {
    if (is_aside(c)) {
        capture_status(c, text);
        return;
    }
    char *place = output_reserve(c, text.length + 3);
    if (__builtin_expect(place != NULL, 1)) {
        *place++ = '+';
        memcpy(place, text.bytes, text.length);
        place += text.length;
        *place++ = '\r';
        *place++ = '\n';
        output_commit(place);
        return;
    }
    reply_raw(c, "+", 1);
    reply_raw(c, text.bytes, text.length);
    reply_raw(c, "\r\n", 2);
}

void reply_status(struct client *c, const char *text) { reply_status_slice(c, slice_of(text)); }

/* The code of an error line: its first word. A line of a single word, or one whose first word is
 * longer than any code, counts as ERR. */
static struct slice code_of(const char *line) {
    size_t length = strcspn(line, " \r\n");
    if (line[length] != ' ' || length >= ERROR_CODE_CHARS - 1) return SLICE("ERR");
    return (struct slice){line, length};
}

static void count_error(const char *line) {
    error_replies++;
    struct slice code = code_of(line);
    for (int i = 0; i < error_codes; i++) {
        if (!slice_equal(slice_of(error_counts[i].code), code)) continue;
        error_counts[i].count++;
        return;
    }
    if (error_codes == ERROR_CODES_MAX) return;
    struct error_count *added = &error_counts[error_codes++];
    memcpy(added->code, code.bytes, code.length);
    added->code[code.length] = 0;
    added->count = 1;
}

static void set_flag(struct client *c, enum client_flags flag, bool on) {
    c->flags = on ? c->flags | flag : c->flags & ~(unsigned)flag;
}

void reply_set_off(struct client *c, bool off) {
    bool stays = c->flags & CLIENT_CLOSE_AFTER_REPLY && c->flags & CLIENT_REPLY_OFF;
    set_flag(c, CLIENT_REPLY_OFF, off || stays);
}
void reply_skip_next(struct client *c, bool skip) { set_flag(c, CLIENT_REPLY_SKIP_NEXT, skip); }
void reply_skip_no_more(struct client *c) { set_flag(c, CLIENT_REPLY_SKIP, false); }

static void note_unexpected(struct client *c, struct slice text) {
    const struct reply_stream *stream = client_place_of_net(c, CLIENT_PLACE_STREAM);
    unexpected_errors++;
    if (stream->refused) stream->refused(c, text);
}

void reply_error(struct client *c, const char *text) { reply_error_slice(c, slice_of(text)); }

void reply_error_slice(struct client *c, struct slice text) {
    struct buffer line;
    buffer_init(&line, MEMORY_OTHER);
    bool whole = text.length && text.bytes[0] == '-';
    while (text.length && memchr("\r\n", text.bytes[text.length - 1], 2)) text.length--;
    buffer_append_c_string(&line, whole ? "" : "-ERR ");
    buffer_append(&line, text.bytes, text.length);
    for (size_t i = 0; i < line.length; i++)
        if (line.bytes[i] == '\r' || line.bytes[i] == '\n') line.bytes[i] = ' ';
    buffer_append_c_string(&line, "\r\n");
    count_error(line.bytes + 1);
    c->flags |= CLIENT_ERROR_REPLIED;
    if (c->flags & CLIENT_STREAMED)
        note_unexpected(c, (struct slice){line.bytes + 1, line.length - 3});
    if (is_aside(c))
        capture_error(c, (struct slice){line.bytes + 1, line.length - 3});
    else
        output_append(c, line.bytes, line.length);
    buffer_free(&line);
}

void reply_error_format(struct client *c, const char *format, ...) {
    struct buffer text;
    buffer_init(&text, MEMORY_OTHER);
    va_list arguments;
    va_start(arguments, format);
    buffer_vprintf(&text, format, arguments);
    va_end(arguments);
    reply_error_slice(c, buffer_slice(&text));
    buffer_free(&text);
}

void reply_integer(struct client *c, int64_t value) {
    if (is_aside(c))
        capture_integer(c, value);
    else
        append_header(c, ':', value);
}

static inline char *bulk_write(char *out, struct slice text) {
    out = header_write(out, '$', (int64_t)text.length);
    memcpy(out, text.bytes, text.length);
    out += text.length;
    *out++ = '\r';
    *out++ = '\n';
    return out;
}

void reply_bulk(struct client *c, struct slice text) {
    if (is_aside(c)) {
        capture_bulk(c, text);
        return;
    }
    size_t most = text.length + HEADER_CHARS + 2;
    char *place = output_reserve(c, most);
    if (__builtin_expect(place != NULL, 1)) {
        output_commit(bulk_write(place, text));
        return;
    }
    place = chunk_reserve(c, most);
    if (place) {
        chunk_commit(c, bulk_write(place, text));
        return;
    }
    append_header(c, '$', (int64_t)text.length);
    reply_raw(c, text.bytes, text.length);
    reply_raw(c, "\r\n", 2);
}

void reply_bulk_c_string(struct client *c, const char *text) { reply_bulk(c, slice_of(text)); }

void reply_bulk_integer(struct client *c, int64_t value) {
    char text[NUMBER_INT64_CHARS];
    reply_bulk(c, (struct slice){text, number_format_int64(text, value)});
}

void reply_null(struct client *c) {
    if (is_aside(c))
        capture_null(c);
    else if (c->protocol == 3)
        output_append(c, "_\r\n", 3);
    else
        output_append(c, "$-1\r\n", 5);
}

void reply_null_array(struct client *c) {
    if (is_aside(c))
        capture_null(c);
    else if (c->protocol == 3)
        output_append(c, "_\r\n", 3);
    else
        output_append(c, "*-1\r\n", 5);
}

void reply_array(struct client *c, int64_t length) { reply_group(c, CAPTURE_ARRAY, length); }

void reply_map(struct client *c, int64_t pairs) {
    if (c->protocol == 3)
        reply_group(c, CAPTURE_MAP, pairs);
    else
        reply_array(c, 2 * pairs);
}

void reply_set(struct client *c, int64_t length) {
    if (c->protocol == 3)
        reply_group(c, CAPTURE_SET, length);
    else
        reply_array(c, length);
}

void reply_push(struct client *c, int64_t length) {
    ASSERT(c->protocol == 3);
    reply_group(c, CAPTURE_PUSH, length);
}

void reply_attribute(struct client *c, int64_t pairs) {
    ASSERT(c->protocol == 3);
    reply_group(c, CAPTURE_ATTRIBUTE, pairs);
}

void reply_double(struct client *c, double value) {
    char text[NUMBER_DOUBLE_CHARS];
    reply_double_digits(c, (struct slice){text, number_format_double(text, sizeof(text), value)});
}

void reply_double_digits(struct client *c, struct slice digits) {
    if (c->protocol != 3) {
        reply_bulk(c, digits);
        return;
    }
    if (is_aside(c)) {
        capture_number(c, digits);
        return;
    }
    reply_raw(c, ",", 1);
    reply_raw(c, digits.bytes, digits.length);
    reply_raw(c, "\r\n", 2);
}

void reply_bool(struct client *c, bool value) {
    if (c->protocol != 3)
        reply_integer(c, value);
    else if (is_aside(c))
        capture_boolean(c, value);
    else
        output_append(c, value ? "#t\r\n" : "#f\r\n", 4);
}

void reply_big_number(struct client *c, struct slice digits) {
    if (c->protocol != 3) {
        reply_bulk(c, digits);
        return;
    }
    if (is_aside(c)) {
        capture_big_number(c, digits);
        return;
    }
    reply_raw(c, "(", 1);
    reply_raw(c, digits.bytes, digits.length);
    reply_raw(c, "\r\n", 2);
}

void reply_verbatim(struct client *c, struct slice text, const char *type) {
    if (c->protocol != 3) {
        reply_bulk(c, text);
        return;
    }
    if (is_aside(c)) {
        capture_verbatim(c, text, type);
        return;
    }
    append_header(c, '=', (int64_t)text.length + 4);
    reply_raw(c, type, 3);
    reply_raw(c, ":", 1);
    reply_raw(c, text.bytes, text.length);
    reply_raw(c, "\r\n", 2);
}

/* ---- groups whose length comes after their elements ---- */

/* Where the header of a group will be. */
enum group_place {
    GROUP_DROPPED,   /* nowhere, because the reply is dropped */
    GROUP_TYPED,     /* nowhere: a typed capture is told of the group's end */
    GROUP_CAPTURED,  /* among a capture's bytes, where no room is left for it */
    GROUP_IN_OUTPUT, /* in the output buffer, or, if that became full, in the first chunk */
    GROUP_IN_CHUNK,
};

/* Leaves room for the header, in one piece, at the end of the client's chunks. False if this has
 * closed the client, because its chunks passed a limit. */
static bool chunk_leave_room(struct client *c, struct reply_group *g) {
    static const char room[HEADER_CHARS];
    const struct reply_chunk *last = c->replies_last;
    if (c->flags & CLIENT_CLOSING) return false;
    if (!last || last->capacity - last->used < HEADER_CHARS)
        chunk_add(c, HEADER_CHARS)->record = output.record;
    chunk_store(c, room, HEADER_CHARS);
    limits_check_output(c);
    if (c->flags & CLIENT_CLOSING) return false;
    g->chunk = c->replies_last;
    g->offset = g->chunk->used - HEADER_CHARS - g->chunk->sent;
    return true;
}

static struct reply_group group_begin(struct client *c, enum capture_group kind, bool doubled) {
    struct reply_group g = {.client = c, .kind = (uint8_t)kind, .doubled = doubled};
    if (is_aside(c)) {
        g.place = c->flags & CLIENT_REPLIES_DROPPED ? GROUP_DROPPED : GROUP_TYPED;
        capture_group(c, kind, CAPTURE_COUNT_LATER);
        return g;
    }
    if (c->flags & CLIENT_CAPTURED) {
        g.place = GROUP_CAPTURED;
        g.offset = capture_gathered(c);
        return g;
    }
    char *room = output_reserve(c, HEADER_CHARS);
    if (room) {
        g.place = GROUP_IN_OUTPUT;
        g.offset = output.used - output.current_start;
        output_commit(room + HEADER_CHARS);
    } else if (chunk_leave_room(c, &g)) {
        g.place = GROUP_IN_CHUNK;
    } else {
        return g; /* the client closes */
    }
    g.outermost = !(c->flags & CLIENT_OPEN_GROUP);
    c->flags |= CLIENT_OPEN_GROUP;
    return g;
}

struct reply_group reply_array_begin(struct client *c) {
    return group_begin(c, CAPTURE_ARRAY, false);
}

struct reply_group reply_map_begin(struct client *c) {
    return c->protocol == 3 ? group_begin(c, CAPTURE_MAP, false)
                            : group_begin(c, CAPTURE_ARRAY, true);
}

struct reply_group reply_set_begin(struct client *c) {
    return group_begin(c, c->protocol == 3 ? CAPTURE_SET : CAPTURE_ARRAY, false);
}

/* Writes the header into its room, which begins `before` bytes behind `start`, and closes the gap
 * that the header leaves. True if the bytes before the header have moved: they begin later then, by
 * the length of the gap. */
static bool put_header(char *start, size_t before, const char *end, struct slice header) {
    char *room = start + before;
    size_t rest = HEADER_CHARS - header.length, behind = (size_t)(end - room) - HEADER_CHARS;
    if (before <= behind) {
        memmove(start + rest, start, before);
        memcpy(room + rest, header.bytes, header.length);
        return true;
    }
    memcpy(room, header.bytes, header.length);
    memmove(room + header.length, room + HEADER_CHARS, behind);
    return false;
}

static void put_in_output(size_t offset, struct slice header) {
    size_t rest = HEADER_CHARS - header.length;
    if (put_header(output.bytes + output.current_start, offset, output.bytes + output.used, header))
        output.current_start += rest;
    else
        output.used -= rest;
}

static void put_in_chunk(struct client *c, struct reply_chunk *chunk, size_t offset,
                         struct slice header) {
    size_t rest = HEADER_CHARS - header.length;
    if (put_header(chunk->bytes + chunk->sent, offset, chunk->bytes + chunk->used, header))
        chunk->sent += rest;
    else
        chunk->used -= rest;
    c->reply_bytes -= rest;
    note_record(chunk);
}

void reply_group_end(const struct reply_group *g, int64_t count) {
    struct client *c = g->client;
    char text[HEADER_CHARS];
    if (g->doubled) count *= 2;
    size_t length = (size_t)(header_write(text, group_marks[g->kind], count) - text);
    struct slice header = {text, length};
    switch ((enum group_place)g->place) {
    case GROUP_DROPPED: return;
    case GROUP_TYPED: capture_group_end(c, count); return;
    case GROUP_CAPTURED: capture_insert(c, g->offset, text, length); return;
    case GROUP_IN_OUTPUT:
        if (c->flags & CLIENT_CLOSING) break;
        if (output.current == c)
            put_in_output(g->offset, header);
        else
            put_in_chunk(c, c->replies, g->offset, header);
        break;
    case GROUP_IN_CHUNK:
        if (!(c->flags & CLIENT_CLOSING)) put_in_chunk(c, g->chunk, g->offset, header);
    }
    if (g->outermost) c->flags &= ~(unsigned)CLIENT_OPEN_GROUP;
}

/* ---- writing ---- */

static void watch_for_writing(struct client *c, bool wanted) {
    c->flags = wanted ? c->flags | CLIENT_WRITE_WAITS : c->flags & ~(unsigned)CLIENT_WRITE_WAITS;
    client_watch(c);
}

/* Counts the bytes that a write took, and returns them. -1 if the connection has failed: the client
 * is closed then. */
static ssize_t count_written(struct client *c, ssize_t sent) {
    if (sent < 0) {
        if (errno == EAGAIN || errno == EINTR) return 0;
        client_close_later(c);
        return -1;
    }
    writes++;
    bytes_written += (uint64_t)sent;
    c->active_msec = clock_cached_msec();
    return sent;
}

static void drop_sent(struct client *c, size_t sent) {
    c->reply_bytes -= sent;
    while (c->replies) {
        struct reply_chunk *chunk = c->replies;
        size_t left = chunk->used - chunk->sent;
        if (sent < left) {
            chunk->sent += sent;
            return;
        }
        sent -= left;
        chunk_free_first(c);
    }
    c->over_soft_nsec = 0; /* all is sent */
}

/* ---- the gate ---- */

static inline bool may_leave(uint64_t record) { return record <= record_safe; }

void reply_depend(uint64_t record) {
    ASSERT(record >= output.record);
    output.record = record;
}

void reply_allow(uint64_t record) {
    if (record <= record_safe) return;
    record_safe = record;
    while (!list_is_empty(&gated)) {
        struct list_link *link = gated.next;
        list_remove(link);
        list_append(&to_write, link);
    }
}

/* The client's first chunk may not leave yet, so its socket is not watched for writability. */
static void wait_for_record(struct client *c) {
    list_remove(&c->write_link);
    list_append(&gated, &c->write_link);
    c->flags &= ~(unsigned)CLIENT_WRITE_WAITS;
    c->flags |= CLIENT_GATED;
    client_watch(c);
}

/* Writes chunks with one call. False if the socket took less than was offered. */
static bool write_chunks(struct client *c, size_t *budget) {
    struct iovec pieces[WRITE_PIECES_MAX];
    int count = 0;
    size_t offered = 0;
    for (struct reply_chunk *chunk = c->replies;
         chunk && count < WRITE_PIECES_MAX && offered < *budget && may_leave(chunk->record);
         chunk = chunk->next) {
        pieces[count++] = (struct iovec){chunk->bytes + chunk->sent, chunk->used - chunk->sent};
        offered += chunk->used - chunk->sent;
    }
    ssize_t sent = count_written(c, client_send_pieces(c, pieces, count));
    if (sent < 0) return false;
    drop_sent(c, (size_t)sent);
    *budget -= (size_t)sent < *budget ? (size_t)sent : *budget;
    return (size_t)sent == offered;
}

ssize_t reply_stream_send(struct client *c, const struct iovec *pieces, int count) {
    return count_written(c, client_send_pieces(c, pieces, count));
}

static void write_stream(struct client *c) {
    const struct reply_stream *stream = client_place_of_net(c, CLIENT_PLACE_STREAM);
    bool waits = !stream->write(c);
    if (c->flags & CLIENT_CLOSING) return;
    if (waits || c->flags & CLIENT_WRITE_WAITS) watch_for_writing(c, waits);
}

static void flush_chunks(struct client *c) {
    size_t budget = REPLY_TURN_BYTES;
    ASSERT_SLOW(reply_check(c));
    c->flags &= ~(unsigned)CLIENT_GATED;
    while (c->replies && budget && may_leave(c->replies->record) && write_chunks(c, &budget))
        continue;
    if (c->flags & CLIENT_CLOSING) return;
    if (c->replies && !may_leave(c->replies->record)) {
        wait_for_record(c);
    } else if (c->replies) {
        limits_check_unread(c);
        watch_for_writing(c, true);
    } else if (c->flags & CLIENT_CLOSE_AFTER_REPLY) {
        client_close_later(c);
    } else if (c->flags & CLIENT_STREAMED) {
        write_stream(c);
    } else if (c->flags & CLIENT_WRITE_WAITS) {
        watch_for_writing(c, false);
    }
}

void reply_writable(struct client *c) { flush_chunks(c); }

/* If chunks wait for the socket or for a record, flush_chunks continues the stream behind them. */
void reply_stream_more(struct client *c) {
    if (c->flags & (CLIENT_CLOSING | CLIENT_WRITE_WAITS) || c->replies) return;
    if (c->flags & CLIENT_STREAMED) write_stream(c);
}

void reply_set_stream(struct client *c, const struct reply_stream *stream) {
    if (stream && c->flags & CLIENT_CLOSED) return;
    void *place;
    memcpy(&place, &stream, sizeof(place)); /* it is only read, and places have no const */
    client_set_place_of_net(c, CLIENT_PLACE_STREAM, place);
    set_flag(c, CLIENT_STREAMED, stream != NULL);
}

/* Compiled twice: for plain sockets, and for transports. */
static inline __attribute__((always_inline)) void write_region(
    const struct region *r,
    ssize_t (*send)(const struct client *c, const void *bytes, size_t length)) {
    struct client *c = r->client;
    if (!limits_allow(c, r->length)) return;
    const char *bytes = output.bytes + r->start;
    if (c->replies) {
        /* Chunks were added after the region: it must go first. */
        struct reply_chunks later = take_chunks(c);
        chunk_store(c, bytes, r->length);
        put_behind(c, later);
        limits_check_output(c);
        return; /* the client is in the list of clients to be written to */
    }
    if (__builtin_expect(!may_leave(r->record), 0)) {
        chunk_append(c, bytes, r->length);
        return;
    }
    ssize_t sent = count_written(c, send(c, bytes, r->length));
    if (sent < 0) return;
    if ((size_t)sent < r->length) {
        limits_check_unread(c);
        chunk_append(c, bytes + sent, r->length - (size_t)sent);
    } else if (c->flags & CLIENT_CLOSE_AFTER_REPLY) {
        client_close_later(c);
    }
}

static __attribute__((noinline)) void write_unusual(const struct region *r) {
    ASSERT(!(r->client->flags & CLIENT_AWAY)); /* else it had been given with other regions */
    if (!(r->client->flags & CLIENT_CLOSING)) write_region(r, client_send_carried);
}

static inline void write_regions(void) {
    for (int i = 0; i < region_count; i++) {
        const struct region *r = &regions[i];
        if (__builtin_expect(r->client->flags & (CLIENT_CLOSING | CLIENT_CARRIED | CLIENT_AWAY), 0))
            write_unusual(r);
        else
            write_region(r, client_send_plain);
    }
    region_count = 0;
}

void reply_set_streams(void (*send)(void)) { send_streams = send; }

void reply_write_streams(void) {
    if (__builtin_expect(!send_streams, 1)) return;
    reply_before_write();
    send_streams();
}

bool reply_may_leave(uint64_t record) { return may_leave(record); }

void reply_set_before_write(void (*before)(void)) { before_write = before; }

void reply_before_write(void) {
    if (before_write) before_write();
}

static inline __attribute__((always_inline)) void write_rest(void) {
    write_regions();
    output.used = output.base;
    while (!list_is_empty(&to_write)) {
        struct client *c = LIST_ENTRY(to_write.next, struct client, write_link);
        list_remove(&c->write_link);
        if (__builtin_expect(c->flags & (CLIENT_BELOW | CLIENT_AWAY), 0))
            list_append(c->flags & CLIENT_BELOW ? &below : &away, &c->write_link);
        else
            flush_chunks(c);
    }
    pending = 0;
}

void reply_write_all(void) {
    if (__builtin_expect(before_write != NULL, 0)) before_write();
    write_rest();
}

/* ---- I/O threads ---- */

void reply_open_threads(void) {
    ASSERT(output.bytes && !transfers);
    transfers = memory_zalloc(TRANSFERS_MAX * sizeof(*transfers), MEMORY_POOLS);
    outputs[0] = output.bytes;
    for (int i = 1; i < OUTPUTS_MAX; i++)
        outputs[i] = memory_alloc(REPLY_OUTPUT_BYTES, MEMORY_POOLS);
}

/* Whether an I/O thread may write the region; otherwise the main thread writes it. */
static bool may_be_given(const struct region *r, const struct client *goes_on) {
    struct client *c = r->client;
    unsigned unusual = CLIENT_CLOSING | CLIENT_STREAMED | CLIENT_AWAY;
    return c != goes_on && !(c->flags & unusual) && !c->replies && may_leave(r->record) &&
           limits_allow(c, r->length);
}

/* Returns an empty transfer. May call reply_settle to get one. */
static struct transfer *transfer_next(void) {
    if (transfers_count == TRANSFERS_MAX) reply_settle();
    struct transfer *t = &transfers[transfers_count];
    transfer_begin(t);
    return t;
}

static void transfer_give(struct transfer *t) {
    if (!t->count) return;
    transfers_count++;
    outputs_given[output_number] = true;
    transfer_write(t);
}

/* Gives regions to I/O threads. The regions that are not given stay for the main thread. */
static void give_regions(const struct client *goes_on) {
    int kept = 0;
    struct transfer *t = transfer_next();
    for (int i = 0; i < region_count; i++) {
        struct region *r = &regions[i];
        if (!may_be_given(r, goes_on)) {
            regions[kept++] = *r;
            continue;
        }
        r->client->flags |= CLIENT_AWAY;
        transfer_add(t, r->client, output.bytes + r->start, r->length);
        if (t->count < TRANSFER_PIECES_MAX) continue;
        transfer_give(t);
        t = transfer_next();
    }
    transfer_give(t);
    region_count = kept;
    if (outputs_given[output_number]) output.base = output.used;
}

/* The next batch's replies go behind the bytes that I/O threads were given, or to another output
 * buffer if little room is left there. */
static void output_go_on(void) {
    if (REPLY_OUTPUT_BYTES - output.base >= OUTPUT_ROOM_MIN) return;
    int next = (output_number + 1) % OUTPUTS_MAX;
    if (outputs_given[next]) reply_settle();
    output_number = next;
    output.bytes = outputs[next];
    output.used = output.base = 0;
}

void reply_write_batch(const struct client *goes_on) {
    if (before_write) before_write();
    bool gives = region_count >= transfer_pieces_min() && !output.outer;
    if (gives) give_regions(goes_on);
    write_rest();
    if (gives) output_go_on();
}

void reply_back(struct client *c) {
    c->flags &= ~(unsigned)CLIENT_AWAY;
    if (list_is_empty(&c->write_link) || c->flags & CLIENT_CLOSING) return;
    list_remove(&c->write_link);
    list_append(&to_write, &c->write_link);
}

/* Handles what an I/O thread has written, as the end of write_region does for the main thread.
 * Chunks that were added since come behind the unsent rest. */
static void settle_piece(const struct transfer_piece *p) {
    struct client *c = p->client;
    reply_back(c);
    if (c->flags & CLIENT_CLOSING) return;
    transfer_settle_write(p);
    errno = p->error;
    ssize_t sent = count_written(c, p->done);
    if (sent < 0) return;
    if ((size_t)sent < p->length) {
        limits_check_unread(c);
        if (c->flags & CLIENT_CLOSING) return;
        struct reply_chunks later = take_chunks(c);
        chunk_store(c, p->bytes + sent, p->length - (size_t)sent);
        put_behind(c, later);
        limits_check_output(c);
    } else if (c->flags & CLIENT_CLOSE_AFTER_REPLY && !c->replies) {
        client_close_later(c);
    }
}

bool reply_settle(void) {
    if (!transfers_count) return false;
    if (child_here()) { /* the transfers are the parent's, which settles them */
        transfers_count = 0;
        return false;
    }
    /* The last one is waited for first: most others are done by then, and cost no sleep. */
    for (int i = transfers_count; i--;) threads_wait(&transfers[i].job);
    for (int i = 0; i < transfers_count; i++)
        for (int k = 0; k < transfers[i].count; k++) settle_piece(&transfers[i].pieces[k]);
    transfers_count = 0;
    for (int i = 0; i < OUTPUTS_MAX; i++) outputs_given[i] = false;
    output.base = 0;
    return true;
}

/* ---- nested turns ---- */

void reply_enter(struct output *outer, struct client *runs, uint64_t record) {
    if (before_write) before_write();
    write_regions();
    if (runs) {
        output.runs = runs;
        output.own = take_chunks(runs);
    }
    *outer = output;
    output = (struct output){.bytes = memory_alloc(REPLY_OUTPUT_BYTES, MEMORY_POOLS),
                             .record = record < outer->record ? record : outer->record,
                             .outer = outer};
}

/* A nested turn has ended: what it has sent to the client whose request runs is appended to what
 * earlier nested turns of the request have sent. */
static void set_apart(struct client *c) {
    struct reply_chunks more = take_chunks(c);
    put_behind(c, output.own);
    output.own = (struct reply_chunks){NULL, NULL};
    if (!more.first) return;
    if (output.later.first)
        output.later.last->next = more.first;
    else
        output.later.first = more.first;
    output.later.last = more.last;
}

void reply_leave(struct output *outer) {
    ASSERT(output.outer == outer && !output.current && !region_count);
    memory_free_sized(output.bytes, REPLY_OUTPUT_BYTES, MEMORY_POOLS);
    if (outer->record < output.record) outer->record = output.record;
    output = *outer;
    if (output.runs) set_apart(output.runs);
    while (!list_is_empty(&below)) {
        struct list_link *link = below.next;
        list_remove(link);
        list_append(&to_write, link);
    }
}

void reply_append_later(void) {
    struct client *c = output.runs;
    if (output.later.first && output.current == c) output_spill(); /* may close the client */
    struct reply_chunks later = output.later;
    output.runs = NULL;
    output.later = (struct reply_chunks){NULL, NULL};
    if (!later.first) return;
    put_behind(c, later);
    if (!(c->flags & CLIENT_WRITE_WAITS) && list_is_empty(&c->write_link))
        list_append(&to_write, &c->write_link);
}

bool reply_is_due(void) { return pending >= REPLY_PENDING_BYTES; }

void reply_error_stats_print(struct buffer *out) {
    for (int i = 0; i < error_codes; i++) {
        buffer_append_c_string(out, "errorstat_");
        metric_append_name(out, error_counts[i].code);
        buffer_printf(out, ":count=%llu\r\n", (unsigned long long)error_counts[i].count);
    }
}
