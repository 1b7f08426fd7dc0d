/* SPDX-License-Identifier: BSD-3-Clause
 * Ziplists to listpacks and back.
 *
 * The format: total bytes (4), offset of the last element (4; of the end mark where there is
 * none), number of elements (2, 65535 = count them), elements, 0xff; numbers lowest byte first. An
 * element begins with the size of the element before it: one byte below 254, or 254 and four bytes
 * (which may hold a small number too). Then, by first byte:
 *   00xxxxxx           text of up to 63 bytes
 *   01xxxxxx + 1 byte  text of up to 16,383 bytes, the high bits first
 *   10xxxxxx + 4 bytes text, its length highest byte first
 *   11000000, 11010000, 11100000, 11110000, 11111110   integer of 2, 4, 8, 3, 1 bytes
 *   11110001 .. 11111101   integer 0 to 12
 */
#include "ds/ziplist.h"

#include <stdint.h>

#include "base/panic.h"
#include "ds/distinct.h"
#include "ds/listpack.h"

#define HEADER_BYTES 10
#define END_MARK 0xff
#define COUNT_UNKNOWN 65535
#define LONG_BEFORE 254 /* from this size on, the size of the element before has five bytes */

enum {
    TEXT_6 = 0x00,
    TEXT_14 = 0x40,
    TEXT_32 = 0x80,
    INTEGER_16 = 0xc0,
    INTEGER_32 = 0xd0,
    INTEGER_64 = 0xe0,
    INTEGER_24 = 0xf0,
    INTEGER_SMALL = 0xf1, /* 0; 0xfd = 12 */
    INTEGER_8 = 0xfe
};
#define SMALL_MAX 12
#define TEXT_HEAD_MAX                                                          \
    6 /* of a first element: the size of the one before, and the text's length \
       */

/* ---- Reading ---- */

static uint32_t ziplist_read_32(const uint8_t *b) {
    return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

/* The bytes still to be read. */
struct reader {
    const uint8_t *at, *end;
};

static bool ziplist_has(const struct reader *r, size_t bytes) {
    return (size_t)(r->end - r->at) >= bytes;
}

/* The size of the element before; false where it is cut off. */
static inline bool read_before(struct reader *r, size_t *before) {
    if (!ziplist_has(r, 1)) return false;
    if (*r->at < LONG_BEFORE) {
        *before = *r->at++;
        return true;
    }
    if (*r->at != LONG_BEFORE || !ziplist_has(r, 5)) return false;
    *before = ziplist_read_32(r->at + 1);
    r->at += 5;
    return true;
}

/* The bytes of an integer of this encoding; 0 = no such encoding. */
static size_t integer_width(uint8_t encoding) {
    switch (encoding) {
    case INTEGER_8: return 1;
    case INTEGER_16: return 2;
    case INTEGER_24: return 3;
    case INTEGER_32: return 4;
    case INTEGER_64: return 8;
    default: return 0;
    }
}

static bool read_integer(struct reader *r, int64_t *integer) {
    uint8_t encoding = *r->at++;
    if (encoding >= INTEGER_SMALL && encoding <= INTEGER_SMALL + SMALL_MAX) {
        *integer = encoding - INTEGER_SMALL;
        return true;
    }
    size_t width = integer_width(encoding);
    if (width == 0 || !ziplist_has(r, width)) return false;
    uint64_t raw = 0;
    for (size_t i = width; i-- > 0;) raw = raw << 8 | r->at[i];
    unsigned unused = 64 - 8 * (unsigned)width;
    *integer = (int64_t)(raw << unused) >> unused;
    r->at += width;
    return true;
}

static inline bool read_text(struct reader *r, struct slice *text) {
    const uint8_t *b = r->at;
    size_t head, length;
    if (*b < TEXT_14) {
        head = 1;
        length = *b;
    } else if (*b < TEXT_32) {
        head = 2;
        if (!ziplist_has(r, head)) return false;
        length = (size_t)(*b & 63) << 8 | b[1];
    } else {
        head = 5;
        if (!ziplist_has(r, head)) return false;
        length = (size_t)b[1] << 24 | (size_t)b[2] << 16 | (size_t)b[3] << 8 | b[4];
    }
    if (!ziplist_has(r, head + length)) return false;
    *text = (struct slice){(const char *)b + head, length};
    r->at += head + length;
    return true;
}

static inline bool read_element(struct reader *r, struct listpack_value *v) {
    *v = (struct listpack_value){{NULL, 0}, 0};
    if (!ziplist_has(r, 1)) return false;
    return *r->at >= INTEGER_16 ? read_integer(r, &v->integer) : read_text(r, &v->text);
}

static inline __attribute__((always_inline)) bool ziplist_walk(const void *foreign, size_t size,
                                                               ziplist_visit *visit,
                                                               void *context) {
    const uint8_t *bytes = foreign;
    if (size < HEADER_BYTES + 1 || ziplist_read_32(bytes) != size || bytes[size - 1] != END_MARK)
        return false;
    struct reader r = {bytes + HEADER_BYTES, bytes + size - 1};
    size_t count = 0, last_size = 0, last_at = HEADER_BYTES;
    for (; r.at < r.end; count++) {
        const uint8_t *start = r.at;
        struct listpack_value v;
        size_t before;
        if (!read_before(&r, &before) || before != last_size || !read_element(&r, &v) ||
            !visit(&v, context))
            return false;
        last_size = (size_t)(r.at - start);
        last_at = (size_t)(start - bytes);
    }
    size_t stated = bytes[8] | (size_t)bytes[9] << 8;
    return ziplist_read_32(bytes + 4) == last_at && (stated == COUNT_UNKNOWN || stated == count);
}

bool ziplist_each(const void *foreign, size_t size, ziplist_visit *visit, void *context) {
    return ziplist_walk(foreign, size, visit, context);
}

static inline bool build_visited(const struct listpack_value *v, void *context) {
    return listpack_build_add(context, v);
}

struct listpack *ziplist_to_listpack(const void *bytes, size_t size) {
    struct listpack_builder builder;
    listpack_build_begin(&builder);
    if (ziplist_walk(bytes, size, build_visited, &builder)) return listpack_build_end(&builder);
    listpack_build_drop(&builder);
    return NULL;
}

/* A listpack of pairs that is being built. */
struct pairs {
    struct listpack_builder builder;
    struct distinct seen;
    size_t left; /* elements that may still come */
    bool is_first, distinct;
};

static inline bool build_paired(const struct listpack_value *v, void *context) {
    struct pairs *p = context;
    char scratch[LISTPACK_SCRATCH];
    if (p->left-- == 0) return false;
    if (p->is_first && p->distinct)
        p->distinct =
            distinct_add(&p->seen, listpack_build_view(&p->builder),
                         listpack_build_place(&p->builder), listpack_value_text(v, scratch));
    p->is_first = !p->is_first;
    return listpack_build_add(&p->builder, v);
}

/* Whether all pairs begin with different texts: a second walk, for a header that does not say how
 * many elements there are. */
static bool pairs_are_distinct(const struct listpack *lp) {
    char scratch[LISTPACK_SCRATCH];
    struct distinct seen;
    bool distinct = true;
    distinct_begin(&seen, (listpack_count(lp) + 1) / 2);
    for (uint32_t at = listpack_first(lp); at && distinct; at = listpack_skip(lp, at, 2)) {
        struct listpack_value v = listpack_get(lp, at);
        distinct = distinct_add(&seen, lp, at, listpack_value_text(&v, scratch));
    }
    distinct_end(&seen);
    return distinct;
}

struct listpack *ziplist_pairs_to_listpack(const void *foreign, size_t size, bool *distinct) {
    const uint8_t *bytes = foreign;
    struct pairs p;
    if (size < HEADER_BYTES) return NULL;
    p.left = bytes[8] | (size_t)bytes[9] << 8;
    if (p.left == COUNT_UNKNOWN) {
        struct listpack *lp = ziplist_to_listpack(bytes, size);
        if (lp) *distinct = pairs_are_distinct(lp);
        return lp;
    }
    p.is_first = p.distinct = true;
    distinct_begin(&p.seen, (p.left + 1) / 2);
    listpack_build_begin(&p.builder);
    bool good = ziplist_walk(bytes, size, build_paired, &p);
    distinct_end(&p.seen);
    *distinct = p.distinct;
    if (good) return listpack_build_end(&p.builder);
    listpack_build_drop(&p.builder);
    return NULL;
}

/* ---- Writing ---- */

/* Writes elements one after another, into room that suffices for all of them. */
struct writer {
    struct buffer *out;
    size_t room;
    char *start, *next, *last;
    size_t before, count;
};

static inline void write_byte(struct writer *w, uint64_t value) { *w->next++ = (char)value; }

/* Writes a number lowest byte first. It writes 8 bytes at `next`, of which `width` stay. */
static inline void write_bytes(struct writer *w, uint64_t value, size_t width) {
    memcpy(w->next, &value, sizeof(value));
    w->next += width;
}

static void write_integer(struct writer *w, int64_t v) {
    if (v >= 0 && v <= SMALL_MAX) {
        write_byte(w, INTEGER_SMALL + (uint64_t)v);
        return;
    }
    uint8_t encoding = INTEGER_64;
    if (v == (int8_t)v)
        encoding = INTEGER_8;
    else if (v == (int16_t)v)
        encoding = INTEGER_16;
    else if (v >= -(1 << 23) && v < 1 << 23)
        encoding = INTEGER_24;
    else if (v == (int32_t)v)
        encoding = INTEGER_32;
    write_byte(w, encoding);
    write_bytes(w, (uint64_t)v, integer_width(encoding));
}

static void write_text(struct writer *w, struct slice text) {
    size_t n = text.length;
    if (n < 64) {
        write_byte(w, n);
    } else if (n < 1 << 14) {
        write_byte(w, TEXT_14 | n >> 8);
        write_byte(w, n);
    } else {
        write_byte(w, TEXT_32);
        for (int shift = 24; shift >= 0; shift -= 8) write_byte(w, n >> shift);
    }
    if (n) memcpy(w->next, text.bytes, n);
    w->next += n;
}

static void patch_32(char *place, size_t value) {
    for (int i = 0; i < 4; i++) place[i] = (char)(value >> (8 * i));
}

/* write_bytes writes so many bytes at once. */
#define SLACK_BYTES 8

/* Begins a ziplist whose elements take up to `bytes` bytes together. */
static struct writer write_begin(struct buffer *out, size_t bytes) {
    size_t room = HEADER_BYTES + bytes + 1;
    char *start = buffer_reserve(out, room + SLACK_BYTES), *next = start + HEADER_BYTES;
    memset(start, 0, HEADER_BYTES);
    return (struct writer){out, room, start, next, next, 0, 0};
}

static void write_element(struct writer *w, const struct listpack_value *v) {
    w->last = w->next;
    if (w->before < LONG_BEFORE) {
        write_byte(w, w->before);
    } else {
        write_byte(w, LONG_BEFORE);
        write_bytes(w, w->before, 4);
    }
    if (v->text.bytes)
        write_text(w, v->text);
    else
        write_integer(w, v->integer);
    w->before = (size_t)(w->next - w->last);
    w->count++;
}

static size_t write_end(struct writer *w) {
    write_byte(w, END_MARK);
    size_t size = (size_t)(w->next - w->start);
    ASSERT_COMPARE(size, <=, w->room);
    size_t count = w->count < COUNT_UNKNOWN ? w->count : COUNT_UNKNOWN;
    patch_32(w->start, size);
    patch_32(w->start + 4, (size_t)(w->last - w->start));
    w->start[8] = (char)count;
    w->start[9] = (char)(count >> 8);
    w->out->length += size;
    return size;
}

size_t ziplist_from_listpack(const struct listpack *lp, struct buffer *out) {
    /* In a ziplist an element is one byte longer at most, or five if it follows an element of 254
     * bytes or more. */
    size_t size = listpack_size(lp);
    struct writer w = write_begin(out, size + listpack_count(lp) + size / 32);
    for (uint32_t at = listpack_first(lp); at;) {
        struct listpack_value v = listpack_take(lp, &at);
        write_element(&w, &v);
    }
    return write_end(&w);
}

size_t ziplist_from_text(struct slice text, struct buffer *out) {
    struct writer w = write_begin(out, text.length + TEXT_HEAD_MAX);
    write_element(&w, &(struct listpack_value){text, 0});
    return write_end(&w);
}
