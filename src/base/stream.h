/* SPDX-License-Identifier: BSD-3-Clause
 * Sinks and sources: the streams by which values are saved and loaded, wherever the bytes go or
 * come from.
 *
 * A sink takes bytes in order, a source gives them. Both have a buffer, the window, so that a small
 * write or read is a test and a copy; bytes that the window cannot hold go through the type's one
 * function. The types for files, descriptors and sockets are in io/, those for memory here.
 *
 * Errors are sticky, so that a caller that writes or reads many small pieces checks once:
 *
 *  - A sink that failed drops all that is written to it. sink_flush, at the latest, reports it.
 *  - A source's status says why it gives no more: its bytes ended too early, reading failed, or the
 *    reader refused them as corrupt. Each later read fails too, and fills with zeros.
 *
 * A running checksum (base/checksum.h has one) covers what was written, or what was read by the
 * caller, never what only lies in the window.
 *
 * Ownership: the creator of a sink or source owns its memory, and closes the file or socket behind
 * it. Neither may be used by two threads at once. A sink or source whose window lies inside its own
 * struct must not be copied or moved.
 */
#ifndef EVENKEEL_BASE_STREAM_H
#define EVENKEEL_BASE_STREAM_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/attributes.h"
#include "base/string.h"

/* The sum of the bytes that `sum` covers and of `length` bytes more. */
typedef uint64_t stream_checksum(uint64_t sum, const void *bytes, size_t length);

/* ---- Sinks ---- */

struct sink;

struct sink_type {
    /* Takes the window's bytes, then `more` (`length` may be 0): all of them, or false with errno
     * set. The window is empty afterwards; the type may have set another one (sink_set_window). */
    bool (*drain)(struct sink *s, const void *more, size_t length);
    /* Takes a copy of bytes that are slow to encode; another thread encodes them later in the way
     * that `how` names (a value's saving defines it, see value/saved.h). NULL: the writer encodes
     * them itself. */
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

/* For a type's constructor: begins with an empty window, which may be 0 bytes long but not NULL. */
void sink_init(struct sink *s, const struct sink_type *type, char *window, size_t window_bytes);
/* Called by `drain`: sets an empty window. */
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

/* Drains the window. Returns false if this or an earlier write failed: `s->error` (and errno) says
 * why. Does not sync a file. */
MUST_USE bool sink_flush(struct sink *s);
/* errno of the first failure; 0 = none so far, among the bytes that have left the window. */
static inline int sink_error(const struct sink *s) { return s->error; }
/* Makes the sink fail with `error` (an errno, not 0), unless it failed before: for a writer that
 * finds that a value cannot be written. */
void sink_fail(struct sink *s, int error);
/* Bytes written so far, those in the window and those that a failed sink dropped included. */
static inline uint64_t sink_written(const struct sink *s) {
    return s->drained + (uint64_t)(s->next - s->start);
}
/* Sums all bytes that are written from now on, beginning with `sum`. NULL ends it. */
void sink_checksum_begin(struct sink *s, stream_checksum *checksum, uint64_t sum);
/* The sum of all bytes written since sink_checksum_begin. */
uint64_t sink_checksum(struct sink *s);

/* A sink that appends to a buffer. Until the sink is flushed, `out` belongs to it: the buffer's
 * length is not true, and nothing else may append. Fails only by sink_fail, and needs no closing.
 */
struct buffer_sink {
    struct sink sink;
    struct buffer *out;
};
void buffer_sink_init(struct buffer_sink *b, struct buffer *out);
/* Flushes: all bytes are in the buffer then. Asserts that the sink has not failed. */
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
    /* Reads once: returns how many bytes came, 1 to `length` (> 0); 0 at the end; -1 with errno
     * set. Handles EINTR and the like itself. */
    ssize_t (*read)(struct source *s, void *bytes, size_t length);
};

struct source {
    const char *next, *limit; /* the window's unread bytes */
    const char *unsummed;     /* [unsummed, next) is not in `sum` yet */
    char *window;             /* where `read` puts bytes; NULL: reads the lender's bytes in place */
    size_t window_bytes;
    uint64_t fetched; /* offset of `limit`: bytes that came in, into the window or past it */
    uint64_t length;  /* of the whole source, or SOURCE_LENGTH_UNKNOWN */
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

/* For a type's constructor. `length` is the whole source's, or SOURCE_LENGTH_UNKNOWN; the window
 * has at least one byte. */
void source_init(struct source *s, const struct source_type *type, char *window,
                 size_t window_bytes, uint64_t length);

MUST_USE bool source_read_slow(struct source *s, void *bytes, size_t length);
/* Reads the next `length` bytes. Returns false if fewer come: `bytes` are zeros then, the status
 * says why, and the offset stands where the source's bytes end. */
MUST_USE static inline bool source_read(struct source *s, void *bytes, size_t length) {
    if (__builtin_expect(length > (size_t)(s->limit - s->next), 0)) {
        return source_read_slow(s, bytes, length);
    }
    if (length) memcpy(bytes, s->next, length);
    s->next += length;
    return true;
}
/* Skips `length` bytes, which count for the checksum; false, with the status set, where fewer
 * come. */
MUST_USE bool source_skip(struct source *s, uint64_t length);
/* The unread bytes that are in memory already: for a look without a copy, until the next call. They
 * are still to be read or skipped. Empty after a fault. */
static inline struct slice source_window(const struct source *s) {
    return (struct slice){s->next, (size_t)(s->limit - s->next)};
}
/* Reads the next `length` bytes in place, valid until the next call. Returns NULL if fewer come
 * (the status says why), and where `length` is larger than the window: then the status is good,
 * nothing is read, and source_read must be used. A source of memory has no such limit. */
MUST_USE const char *source_take(struct source *s, size_t length);

/* Whether no byte follows. Reads ahead where the window is empty; where that read fails, the result
 * is false and the status says why. */
MUST_USE bool source_at_end(struct source *s);
/* The most bytes that can follow; UINT64_MAX where the source's length is not known. A length that
 * is read from the bytes must be compared with it before memory is allocated for it. */
static inline uint64_t source_left_max(const struct source *s) {
    if (s->length == SOURCE_LENGTH_UNKNOWN) return UINT64_MAX;
    uint64_t rest = s->length > s->fetched ? s->length - s->fetched : 0;
    return rest + (uint64_t)(s->limit - s->next);
}
/* Bytes read so far. */
static inline uint64_t source_offset(const struct source *s) {
    return s->fetched - (uint64_t)(s->limit - s->next);
}
/* Marks the source as corrupt, for `reason` (a text that stays), unless it has a fault already.
 * Returns false, so that a reader can end with `return source_refuse(...)`. */
bool source_refuse(struct source *s, const char *reason);
/* The fault, for the log: "ended too early", strerror, or the reason. "" while good. */
const char *source_fault(const struct source *s);
/* Sums all bytes that are read from now on, beginning with `sum`. NULL ends it. */
void source_checksum_begin(struct source *s, stream_checksum *checksum, uint64_t sum);
uint64_t source_checksum(struct source *s);
/* Sets the function that is called as bytes come in, at least once each `every_bytes` (> 0); NULL =
 * none. It is called in the midst of a long read too, so it must touch neither the source's bytes
 * nor the memory that they are read into. If it refuses the source (source_refuse), the read ends.
 */
void source_watch(struct source *s, size_t every_bytes,
                  void (*function)(struct source *s, void *argument), void *argument);

/* A source of bytes in memory, which the lender keeps and which must outlive the source. It calls
 * no `read`. */
void slice_source_init(struct source *s, struct slice bytes);
#endif
