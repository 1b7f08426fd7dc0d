/* SPDX-License-Identifier: BSD-3-Clause
 * Sinks and sources: through which values are saved and loaded, wherever the bytes go or come from.
 *
 * A sink takes bytes in order, a source gives them. Both have a window of memory, so that a small
 * write or read is a test and a copy; what the window does not hold goes through the type's one
 * function. Files, descriptors and sockets have theirs in io/; memory has its here.
 *
 * Errors are sticky, so that who writes or reads many small pieces asks once:
 *
 *  - A sink that failed drops what is written to it. sink_flush, at the latest, tells.
 *  - A source tells why it gives no more: its bytes ended too early, reading failed, or whoever
 *    read found that they mean nothing. Each later read fails too, and fills with zeros.
 *
 * A running checksum (base/checksum.h has one) covers what was written, or what was read by the
 * caller, never what only lies in the window.
 *
 * Ownership: whoever makes a sink or source owns its memory, and closes what stands behind it. None
 * may be used by two threads at once. One that is copied or moved is broken where the window lies
 * inside.
 */
#ifndef EVENKEEL_BASE_STREAM_H
#define EVENKEEL_BASE_STREAM_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/attributes.h"
#include "base/string.h"

/* The sum of what `sum` stood for and `length` bytes more. */
typedef uint64_t stream_checksum(uint64_t sum, const void *bytes, size_t length);

/* ---- Sinks ---- */

struct sink;

struct sink_type {
    /* Takes the window's bytes, then `more` (`length` may be 0): all of them, or false with errno
     * set. The window is empty afterwards; it may be another one (sink_set_window). */
    bool (*drain)(struct sink *s, const void *more, size_t length);
    /* For who writes what takes long to make of bytes that are there: takes a copy of the bytes,
     * to be made into what stands in the stream later, by who knows what `how` means. NULL: the
     * writer makes it itself. */
    void (*defer)(struct sink *s, unsigned how, struct slice bytes);
};

struct sink {
    char *next, *limit;   /* the window's free room */
    char *start;          /* the window's first byte: [start, next) is still to be drained */
    const char *unsummed; /* [unsummed, next) is not in `sum` yet */
    uint64_t drained;     /* bytes before the window's */
    uint64_t sum;
    stream_checksum *checksum; /* NULL: none is kept */
    int error;                 /* errno of the first failure, 0 = none */
    const struct sink_type *type;
};

/* For those who make one: with an empty window, which may be 0 bytes long but not NULL. */
void sink_init(struct sink *s, const struct sink_type *type, char *window, size_t window_bytes);
/* From `drain`: an empty window. */
static inline void sink_set_window(struct sink *s, char *window, size_t window_bytes) {
    s->start = s->next = window;
    s->unsummed = window;
    s->limit = window + window_bytes;
}
/* The window's bytes, for `drain`. */
static inline struct slice sink_window(const struct sink *s) {
    return (struct slice){s->start, (size_t)(s->next - s->start)};
}

void sink_write_slow(struct sink *s, const void *bytes, size_t length);
static inline void sink_write(struct sink *s, const void *bytes, size_t length) {
    if (__builtin_expect(length > (size_t)(s->limit - s->next), 0)) {
        sink_write_slow(s, bytes, length);
    } else if (length) {
        memcpy(s->next, bytes, length);
        s->next += length;
    }
}
static inline void sink_write_byte(struct sink *s, unsigned char byte) { sink_write(s, &byte, 1); }

/* Hands on what lies in the window. False where this or anything before failed: `s->error` (and
 * errno) says why. That a file's bytes are on disk is another matter: sync it. */
MUST_USE bool sink_flush(struct sink *s);
/* errno of the first failure, 0 = none so far (of what left the window). */
static inline int sink_error(const struct sink *s) { return s->error; }
/* From now on the sink has failed, with `error` (not 0), unless it had before. For whoever finds
 * that what is to be written cannot be. */
void sink_fail(struct sink *s, int error);
/* Bytes written so far, those in the window and those that a failed sink dropped included. */
static inline uint64_t sink_written(const struct sink *s) {
    return s->drained + (uint64_t)(s->next - s->start);
}
/* What is written from now on is summed, beginning with `sum`. NULL ends it. */
void sink_checksum_begin(struct sink *s, stream_checksum *checksum, uint64_t sum);
/* The sum of all written since then. */
uint64_t sink_checksum(struct sink *s);

/* To the end of a buffer. `out` is the sink's until it is flushed: its length is not true before;
 * nothing else may append to it meanwhile. Never fails but by sink_fail, and needs no closing. */
struct buffer_sink {
    struct sink sink;
    struct buffer *out;
};
void buffer_sink_init(struct buffer_sink *b, struct buffer *out);
/* All is in the buffer; where nobody has failed the sink, which is asserted. */
void buffer_sink_end(struct buffer_sink *b);

/* ---- Sources ---- */

struct source;

enum source_status {
    SOURCE_GOOD,
    SOURCE_ENDED,  /* bytes were wanted where there are no more: a file that is cut off */
    SOURCE_FAILED, /* a read failed: `error` is its errno */
    SOURCE_CORRUPT /* the reader refused what it read: `reason` says why */
};

struct source_type {
    /* Once: up to `length` (> 0) bytes, at least one. 0: no more. -1: errno is set. EINTR and the
     * like are its own affair. */
    ssize_t (*read)(struct source *s, void *bytes, size_t length);
};

struct source {
    const char *next, *limit; /* the window's unread bytes */
    const char *unsummed;     /* [unsummed, next) is not in `sum` yet */
    char *window;             /* where `read` puts bytes; NULL: all there is lies in the lender's */
    size_t window_bytes;
    uint64_t fetched; /* offset of `limit`: bytes that came in, into the window or past it */
    uint64_t length;  /* of all there is, SOURCE_LENGTH_UNKNOWN where nobody knows */
    uint64_t sum;
    stream_checksum *checksum; /* NULL: none is kept */
    enum source_status status;
    int error;          /* SOURCE_FAILED: errno */
    const char *reason; /* SOURCE_CORRUPT: a text that stays */
    const struct source_type *type;
    /* Called as bytes come in, at least once for each progress_bytes of them. */
    void (*progress)(struct source *s, void *argument);
    void *progress_argument;
    size_t progress_bytes;
};

#define SOURCE_LENGTH_UNKNOWN UINT64_MAX

/* For those who make one. `length` as above; the window has at least one byte. */
void source_init(struct source *s, const struct source_type *type, char *window,
                 size_t window_bytes, uint64_t length);

MUST_USE bool source_read_slow(struct source *s, void *bytes, size_t length);
/* The next `length` bytes. False where that many do not come: `bytes` are zeros then, the status
 * says why, and the offset stands where the source's bytes end. */
MUST_USE static inline bool source_read(struct source *s, void *bytes, size_t length) {
    if (__builtin_expect(length > (size_t)(s->limit - s->next), 0)) {
        return source_read_slow(s, bytes, length);
    }
    if (length) memcpy(bytes, s->next, length);
    s->next += length;
    return true;
}
/* Passes over bytes; false as above. They count for the checksum. */
MUST_USE bool source_skip(struct source *s, uint64_t length);
/* What of the next bytes lies in memory already, up to all: may be looked at without a copy until
 * the next call, and is still to be read or skipped. After a fault nothing. */
static inline struct slice source_window(const struct source *s) {
    return (struct slice){s->next, (size_t)(s->limit - s->next)};
}
/* The next `length` bytes in place, read. NULL where they do not come (the status says why), and
 * where they are more than the window is large: then the status is good, nothing is read, and
 * source_read has them. Valid until the next call. A source of memory has all in its window. */
MUST_USE const char *source_take(struct source *s, size_t length);

/* Whether no byte follows. Reads ahead where the window is empty; a failure of that shows in the
 * status, and is no end. */
MUST_USE bool source_at_end(struct source *s);
/* No more than so many bytes follow: what a length that stands in the bytes must be held against
 * before anything is allocated for it. UINT64_MAX where the length is not known. */
static inline uint64_t source_left_max(const struct source *s) {
    if (s->length == SOURCE_LENGTH_UNKNOWN) return UINT64_MAX;
    uint64_t rest = s->length > s->fetched ? s->length - s->fetched : 0;
    return rest + (uint64_t)(s->limit - s->next);
}
/* Bytes read so far. */
static inline uint64_t source_offset(const struct source *s) {
    return s->fetched - (uint64_t)(s->limit - s->next);
}
/* The bytes mean nothing, for `reason` (a text that stays). The first fault counts. Returns false,
 * so that a reader can end with `return source_refuse(...)`. */
bool source_refuse(struct source *s, const char *reason);
/* Why no more comes, for the log: "ended too early", strerror, or the reason. "" while good. */
const char *source_fault(const struct source *s);
/* What is read from now on is summed, beginning with `sum`. NULL ends it. */
void source_checksum_begin(struct source *s, stream_checksum *checksum, uint64_t sum);
uint64_t source_checksum(struct source *s);
/* `function` is called as bytes come in, at least once each `every_bytes` (> 0): also in the midst
 * of a long read, so it must not touch the source's bytes nor what they are read into. NULL = none.
 * Its call ends the read where it has refused or failed the source. */
void source_watch(struct source *s, size_t every_bytes,
                  void (*function)(struct source *s, void *argument), void *argument);

/* Of bytes in memory, which stay the lender's and must outlive it. No reads, no failures. */
void slice_source_init(struct source *s, struct slice bytes);
#endif
