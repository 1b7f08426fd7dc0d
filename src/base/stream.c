/* SPDX-License-Identifier: BSD-3-Clause
 * The part that sinks and sources of all types share: windows, sticky errors, offsets, sums.
 *
 * Invariants of a sink:
 *  1. start <= next <= limit, and with a checksum start <= unsummed <= next.
 *  2. Once `error` is set, `drain` is not called any more: the window's bytes are dropped.
 * Of a source:
 *  1. unsummed <= next <= limit, all within the window (or the lender's bytes).
 *  2. status != SOURCE_GOOD: next == limit, so each read comes to the slow path, which refuses.
 *  3. fetched - (limit - next) is the offset of the next byte.
 */
#include "base/stream.h"

#include <errno.h>

#include "base/panic.h"

/* ---- Sinks ---- */

void sink_init(struct sink *s, const struct sink_type *type, char *window, size_t window_bytes) {
    *s = (struct sink){.type = type};
    sink_set_window(s, window, window_bytes);
}

static void sum_window(struct sink *s) {
    if (!s->checksum || s->unsummed == s->next) return;
    s->sum = s->checksum(s->sum, s->unsummed, (size_t)(s->next - s->unsummed));
    s->unsummed = s->next;
}

static void sink_drain(struct sink *s, const void *more, size_t length) {
    sum_window(s);
    if (s->checksum && length) s->sum = s->checksum(s->sum, more, length);
    s->drained += (uint64_t)(s->next - s->start) + length;
    if (!s->error && !s->type->drain(s, more, length)) s->error = errno ? errno : EIO;
    s->next = s->start;
    s->unsummed = s->start;
}

/* Bytes that fit into an empty window are kept there, so that a small piece costs no call of
 * `drain`. */
void sink_write_slow(struct sink *s, const void *bytes, size_t length) {
    if (length >= (size_t)(s->limit - s->start)) {
        sink_drain(s, bytes, length);
        return;
    }
    sink_drain(s, NULL, 0);
    if (length > (size_t)(s->limit - s->next)) { /* another window, and a smaller one */
        sink_drain(s, bytes, length);
        return;
    }
    memcpy(s->next, bytes, length);
    s->next += length;
}

bool sink_flush(struct sink *s) {
    sink_drain(s, NULL, 0);
    if (s->error) errno = s->error;
    return s->error == 0;
}

void sink_fail(struct sink *s, int error) {
    ASSERT(error != 0);
    if (!s->error) s->error = error;
}

void sink_checksum_begin(struct sink *s, stream_checksum *checksum, uint64_t sum) {
    s->checksum = checksum;
    s->sum = sum;
    s->unsummed = s->next;
}

uint64_t sink_checksum(struct sink *s) {
    sum_window(s);
    return s->sum;
}

/* ---- To a buffer: the window is the buffer's own room ---- */

#define BUFFER_WINDOW_MIN 64

static struct buffer_sink *buffer_sink_of(struct sink *s) {
    return (struct buffer_sink *)((char *)s - offsetof(struct buffer_sink, sink));
}

static void open_window(struct sink *s, struct buffer *out) {
    char *room = buffer_reserve(out, BUFFER_WINDOW_MIN);
    sink_set_window(s, room, out->capacity - out->length - 1);
}

static bool buffer_drain(struct sink *s, const void *more, size_t length) {
    struct buffer *out = buffer_sink_of(s)->out;
    out->length += (size_t)(s->next - s->start);
    buffer_append(out, more, length);
    open_window(s, out);
    return true;
}

static const struct sink_type buffer_type = {.drain = buffer_drain};

void buffer_sink_init(struct buffer_sink *b, struct buffer *out) {
    b->out = out;
    b->sink = (struct sink){.type = &buffer_type};
    open_window(&b->sink, out);
}

void buffer_sink_end(struct buffer_sink *b) {
    bool whole = sink_flush(&b->sink);
    ASSERT(whole);
}

/* ---- Sources ---- */

void source_init(struct source *s, const struct source_type *type, char *window,
                 size_t window_bytes, uint64_t length) {
    *s = (struct source){.next = window,
                         .limit = window,
                         .unsummed = window,
                         .window = window,
                         .window_bytes = window_bytes,
                         .length = length,
                         .type = type};
}

static void sum_read(struct source *s) {
    if (!s->checksum || s->unsummed == s->next) return;
    s->sum = s->checksum(s->sum, s->unsummed, (size_t)(s->next - s->unsummed));
    s->unsummed = s->next;
}

/* Sets the status, unless a fault was set before. The unread bytes are dropped as if they had never
 * come, so the offset stays that of the bytes that were read. */
static void source_fail(struct source *s, enum source_status status) {
    if (s->status != SOURCE_GOOD) return;
    sum_read(s);
    s->status = status;
    s->fetched -= (uint64_t)(s->limit - s->next);
    s->limit = s->next;
}

/* One call of the type's `read`. Returns how many bytes came, 0 after a fault. */
static size_t source_fetch(struct source *s, char *to, size_t room) {
    if (s->status != SOURCE_GOOD) return 0;
    if (s->progress && room > s->progress_bytes) room = s->progress_bytes;
    ssize_t got = s->window ? s->type->read(s, to, room) : 0;
    if (got <= 0) {
        int error = errno;
        s->next = s->limit;
        source_fail(s, got < 0 ? SOURCE_FAILED : SOURCE_ENDED);
        if (got < 0) s->error = error ? error : EIO;
        return 0;
    }
    ASSERT_COMPARE((size_t)got, <=, room);
    return (size_t)got;
}

static void tell_progress(struct source *s) {
    if (s->progress) s->progress(s, s->progress_argument);
}

/* Reads more bytes behind the unread ones, which move to the window's front. False where none came.
 */
static bool source_fill(struct source *s) {
    size_t unread = (size_t)(s->limit - s->next), room = 0;
    char *behind = NULL;
    if (s->window && s->status == SOURCE_GOOD) {
        sum_read(s);
        if (unread && s->next != s->window) memmove(s->window, s->next, unread);
        s->next = s->unsummed = s->window;
        s->limit = behind = s->window + unread;
        room = s->window_bytes - unread;
    }
    size_t got = source_fetch(s, behind, room);
    if (!got) return false;
    s->limit += got;
    s->fetched += got;
    tell_progress(s);
    return s->status == SOURCE_GOOD;
}

/* Copies at most `length` bytes out of the window; returns how many. */
static size_t copy_window(struct source *s, char *to, size_t length) {
    size_t unread = (size_t)(s->limit - s->next);
    if (length > unread) length = unread;
    if (length) memcpy(to, s->next, length);
    s->next += length;
    return length;
}

/* Reads past the window, which is empty, straight to `to`. */
static size_t read_direct(struct source *s, char *to, size_t length) {
    sum_read(s);
    size_t got = source_fetch(s, to, length);
    if (!got) return 0;
    if (s->checksum) s->sum = s->checksum(s->sum, to, got);
    s->fetched += got;
    tell_progress(s);
    return s->status == SOURCE_GOOD ? got : 0;
}

bool source_read_slow(struct source *s, void *bytes, size_t length) {
    char *to = bytes;
    size_t done = copy_window(s, to, length);
    while (done < length) {
        size_t got;
        if (length - done >= s->window_bytes) {
            got = read_direct(s, to + done, length - done);
        } else {
            got = source_fill(s) ? copy_window(s, to + done, length - done) : 0;
        }
        if (!got) {
            memset(bytes, 0, length);
            return false;
        }
        done += got;
    }
    return true;
}

bool source_skip(struct source *s, uint64_t length) {
    for (;;) {
        size_t unread = (size_t)(s->limit - s->next);
        if (length <= unread) {
            s->next += length;
            return s->status == SOURCE_GOOD;
        }
        s->next = s->limit;
        length -= unread;
        if (!source_fill(s)) return false;
    }
}

const char *source_take(struct source *s, size_t length) {
    size_t most = s->window ? s->window_bytes : SIZE_MAX;
    if (s->status != SOURCE_GOOD || length > most) return NULL;
    while (length > (size_t)(s->limit - s->next)) {
        if (!source_fill(s)) return NULL;
    }
    const char *at = s->next;
    s->next += length;
    return at;
}

bool source_at_end(struct source *s) {
    if (s->next != s->limit || (s->status != SOURCE_GOOD && s->status != SOURCE_ENDED))
        return false;
    if (s->status == SOURCE_ENDED) return true;
    if (source_fill(s)) return false;
    if (s->status != SOURCE_ENDED) return false;
    s->status = SOURCE_GOOD; /* no byte was wanted, so this is no fault */
    return true;
}

bool source_refuse(struct source *s, const char *reason) {
    ASSERT(reason != NULL);
    if (s->status == SOURCE_GOOD) s->reason = reason;
    source_fail(s, SOURCE_CORRUPT);
    return false;
}

const char *source_fault(const struct source *s) {
    switch (s->status) {
    case SOURCE_GOOD: return "";
    case SOURCE_ENDED: return "ended too early";
    case SOURCE_FAILED: return strerror(s->error);
    case SOURCE_CORRUPT: return s->reason;
    }
    return "";
}

void source_checksum_begin(struct source *s, stream_checksum *checksum, uint64_t sum) {
    s->checksum = checksum;
    s->sum = sum;
    s->unsummed = s->next;
}

uint64_t source_checksum(struct source *s) {
    sum_read(s);
    return s->sum;
}

void source_watch(struct source *s, size_t every_bytes,
                  void (*function)(struct source *s, void *argument), void *argument) {
    ASSERT(every_bytes > 0);
    s->progress = function;
    s->progress_argument = argument;
    s->progress_bytes = every_bytes;
}

/* ---- Of memory: everything is in the window, nothing follows ---- */

void slice_source_init(struct source *s, struct slice bytes) {
    source_init(s, NULL, NULL, 0, bytes.length);
    s->next = s->unsummed = bytes.length ? bytes.bytes : "";
    s->limit = s->next + bytes.length;
    s->fetched = bytes.length;
}
