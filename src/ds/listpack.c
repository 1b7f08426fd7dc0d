/* SPDX-License-Identifier: BSD-3-Clause
 * Listpacks: reading, editing and checking one block of elements. listpack.h has the format.
 *
 * The encodings, by first byte:
 *   0xxxxxxx                 integer 0..127
 *   10xxxxxx                 text of up to 63 bytes
 *   110xxxxx + 1 byte        integer of 13 bits, the high ones first
 *   1110xxxx + 1 byte        text of up to 4,095 bytes
 *   11110000 + 4 bytes       text, length lowest byte first
 *   11110001 .. 11110100     integer of 2, 3, 4 or 8 bytes, lowest byte first
 *   11111111                 end
 * The length behind an element (its "back") is in groups of seven bits, the lowest at the end; a
 * byte with its top bit set has another one before it. Its number of bytes is a function of the
 * length, on which a step forward relies. That function uses the next longer form for the largest
 * value of two, three and four bytes (seen in the bytes that 6.2 writes), so this file must do so
 * too.
 *
 * Every change is one splice: the bytes of some elements are replaced by those of others.
 *
 * Invariants (listpack_check):
 *  1. The block is memory_good_size(size) bytes, with the size in its header; so arithmetic tells
 *     whether a change needs another block.
 *  2. The header's count is true, or 65535.
 *  3. A text that is added and is an int64's canonical form stands as an integer, so two texts are
 *     equal exactly where their elements are. Foreign bytes may hold digits as text, so comparisons
 *     do not rely on this.
 */
#include "ds/listpack.h"

#include "base/memory.h"
#include "base/panic.h"

#define LIKELY(condition) __builtin_expect(!!(condition), 1)

#define END_MARK 0xff
#define COUNT_UNKNOWN 65535
#define HEAD_MAX 9 /* an integer of 8 bytes with its first byte */
#define BACK_MAX 5
#define BACK_5_BYTES_FROM 268435455 /* from this length on; see the essay */
#define BACK_4_BYTES_FROM 2097151
#define BACK_3_BYTES_FROM 16383
#define BACK_2_BYTES_FROM 128

enum {
    TEXT_6 = 0x80,
    INTEGER_13 = 0xc0,
    TEXT_12 = 0xe0,
    TEXT_32 = 0xf0,
    INTEGER_16 = 0xf1,
    INTEGER_24 = 0xf2,
    INTEGER_32 = 0xf3,
    INTEGER_64 = 0xf4
};

/* ---- Numbers in bytes ---- */

static inline uint32_t load_32(const uint8_t *b) {
    uint32_t v;
    memcpy(&v, b, sizeof(v)); /* little-endian machines only, as everywhere here */
    return v;
}

static inline uint16_t read_16(const uint8_t *b) {
    uint16_t v;
    memcpy(&v, b, sizeof(v));
    return v;
}

static inline uint8_t *listpack_bytes_at(const struct listpack *lp) {
    return (uint8_t *)(uintptr_t)lp;
}

static inline size_t listpack_read_size(const struct listpack *lp) {
    return load_32(listpack_bytes_at(lp));
}

static void set_size(uint8_t *bytes, size_t size) {
    uint32_t v = (uint32_t)size;
    memcpy(bytes, &v, sizeof(v));
}

static void listpack_set_count(uint8_t *bytes, size_t count) {
    uint16_t v = (uint16_t)(count < COUNT_UNKNOWN ? count : COUNT_UNKNOWN);
    memcpy(bytes + 4, &v, sizeof(v));
}

/* ---- One element ---- */

static inline size_t back_size(size_t length) {
    if (length < BACK_2_BYTES_FROM) return 1;
    if (length < BACK_3_BYTES_FROM) return 2;
    if (length < BACK_4_BYTES_FROM) return 3;
    return length < BACK_5_BYTES_FROM ? 4 : 5;
}

static size_t back_write(uint8_t *out, size_t length) {
    size_t size = back_size(length);
    for (size_t i = size; i-- > 0; length >>= 7)
        out[i] = (uint8_t)((length & 127) | (i > 0 ? 128 : 0));
    return size;
}

/* The length that ends right before `end`, reading `room` bytes at most; 0 where there is no valid
 * length. */
static inline size_t back_read(const uint8_t *end, size_t room) {
    size_t length = 0;
    for (unsigned i = 0; i < BACK_MAX && i < room; i++) {
        uint8_t byte = *--end;
        length |= (size_t)(byte & 127) << (7 * i);
        if (!(byte & 128)) return length;
    }
    return 0;
}

/* The bytes of an element's head (first byte and length) by its first byte; 0 = no such encoding.
 */
static inline size_t head_size(uint8_t first) {
    if (first < TEXT_6) return 1;
    if (first < INTEGER_13) return 1;
    if (first < TEXT_32) return 2;
    switch (first) {
    case TEXT_32: return 5;
    case INTEGER_16: return 3;
    case INTEGER_24: return 4;
    case INTEGER_32: return 5;
    case INTEGER_64: return 9;
    default: return 0;
    }
}

/* The bytes of encoding and data; the head must be readable. */
static inline size_t content_size(const uint8_t *e) {
    uint8_t first = *e;
    if (first < TEXT_6) return 1;
    if (first < INTEGER_13) return 1 + (size_t)(first & 63);
    if (first < TEXT_12) return 2;
    if (first < TEXT_32) return 2 + ((size_t)(first & 15) << 8 | e[1]);
    if (first == TEXT_32) return 5 + (size_t)load_32(e + 1);
    return head_size(first);
}

static inline size_t element_size(const uint8_t *e) {
    /* The usual encodings first: the length behind their element takes one byte. */
    if (*e < TEXT_6) return 2;
    if (*e < INTEGER_13) return 2 + (size_t)(*e & 63);
    size_t content = content_size(e);
    return content + back_size(content);
}

static inline struct listpack_value text_value(const uint8_t *text, size_t length) {
    return (struct listpack_value){{(const char *)text, length}, 0};
}

static inline struct listpack_value integer_value(int64_t integer) {
    return (struct listpack_value){{NULL, 0}, integer};
}

static struct listpack_value element_value(const uint8_t *e) {
    uint8_t first = *e;
    if (first < TEXT_6) return integer_value(first);
    if (first < INTEGER_13) return text_value(e + 1, first & 63);
    if (first < TEXT_12) {
        uint32_t raw = (uint32_t)(first & 31) << 8 | e[1];
        return integer_value((int32_t)(raw << 19) >> 19);
    }
    if (first < TEXT_32) return text_value(e + 2, (size_t)(first & 15) << 8 | e[1]);
    int64_t wide;
    switch (first) {
    case TEXT_32: return text_value(e + 5, load_32(e + 1));
    case INTEGER_16: return integer_value((int16_t)read_16(e + 1));
    case INTEGER_24:
        return integer_value((int32_t)((uint32_t)read_16(e + 1) << 8 | (uint32_t)e[3] << 24) >> 8);
    case INTEGER_32: return integer_value((int32_t)load_32(e + 1));
    default: memcpy(&wide, e + 1, sizeof(wide)); return integer_value(wide);
    }
}

/* An element to be written: its head, and, where it is a text, the text behind it. */
struct encoded {
    struct slice text;
    uint8_t head[HEAD_MAX];
    uint8_t head_size;
};

static void encode_integer(struct encoded *out, int64_t value) {
    uint8_t *h = out->head;
    size_t width;
    out->text = (struct slice){NULL, 0};
    if (value >= 0 && value < 128) {
        h[0] = (uint8_t)value;
        width = 0;
    } else if (value >= -4096 && value < 4096) {
        h[0] = (uint8_t)(INTEGER_13 | ((uint64_t)value >> 8 & 31));
        h[1] = (uint8_t)value;
        out->head_size = 2;
        return;
    } else if (value == (int16_t)value) {
        h[0] = INTEGER_16;
        width = 2;
    } else if (value >= -(1 << 23) && value < 1 << 23) {
        h[0] = INTEGER_24;
        width = 3;
    } else if (value == (int32_t)value) {
        h[0] = INTEGER_32;
        width = 4;
    } else {
        h[0] = INTEGER_64;
        width = 8;
    }
    memcpy(h + 1, &value, sizeof(value));
    out->head_size = (uint8_t)(1 + width);
}

static void encode_text(struct encoded *out, struct slice text) {
    int64_t integer;
    if (text.length < NUMBER_INT64_CHARS && number_parse_int64(text.bytes, text.length, &integer)) {
        encode_integer(out, integer);
        return;
    }
    uint8_t *h = out->head;
    out->text = text;
    if (text.length < 64) {
        h[0] = (uint8_t)(TEXT_6 | text.length);
        out->head_size = 1;
    } else if (text.length < 4096) {
        h[0] = (uint8_t)(TEXT_12 | text.length >> 8);
        h[1] = (uint8_t)text.length;
        out->head_size = 2;
    } else {
        uint32_t length = (uint32_t)text.length; /* no block holds more: see listpack_splice */
        h[0] = TEXT_32;
        memcpy(h + 1, &length, sizeof(length));
        out->head_size = 5;
    }
}

static size_t encoded_size(const struct encoded *e) {
    size_t content = e->head_size + e->text.length;
    return content + back_size(content);
}

static void encoded_write(uint8_t *out, const struct encoded *e) {
    size_t content = e->head_size + e->text.length;
    memcpy(out, e->head, e->head_size);
    if (e->text.length) memcpy(out + e->head_size, e->text.bytes, e->text.length);
    back_write(out + content, content);
}

/* ---- The block ---- */

/* Replaces `gone` bytes of elements at `at` by room for `room` bytes, and adds `delta` to the
 * number of elements. Returns the room. */
static uint8_t *listpack_splice(struct listpack **lp, size_t at, size_t gone, size_t room,
                                int64_t delta) {
    if (gone == room && delta == 0) return listpack_bytes_at(*lp) + at;
    size_t old_size = listpack_read_size(*lp), size = old_size - gone + room;
    ASSERT_COMPARE(size, <=, LISTPACK_BYTES_MAX);
    uint8_t *bytes = listpack_bytes_at(*lp);
    size_t good = memory_good_size(size);
    bool moves = good != memory_good_size(old_size);
    if (moves && size > old_size) bytes = memory_realloc(bytes, good, MEMORY_DATASET);
    if (gone != room) memmove(bytes + at + room, bytes + at + gone, old_size - at - gone);
    if (moves && size < old_size) bytes = memory_realloc(bytes, good, MEMORY_DATASET);
    set_size(bytes, size);
    size_t count = read_16(bytes + 4);
    if (count != COUNT_UNKNOWN) listpack_set_count(bytes, (size_t)((int64_t)count + delta));
    *lp = (struct listpack *)bytes;
    return bytes + at;
}

static struct listpack *block_create(size_t size) {
    return memory_alloc(memory_good_size(size), MEMORY_DATASET);
}

struct listpack *listpack_create(void) {
    struct listpack *lp = block_create(LISTPACK_EMPTY_BYTES);
    uint8_t *bytes = listpack_bytes_at(lp);
    set_size(bytes, LISTPACK_EMPTY_BYTES);
    listpack_set_count(bytes, 0);
    bytes[LISTPACK_HEADER_BYTES] = END_MARK;
    return lp;
}

void listpack_free(struct listpack *lp) {
    if (lp) memory_free_sized(lp, listpack_read_size(lp), MEMORY_DATASET);
}

struct listpack *listpack_from_bytes(const void *bytes, size_t size) {
    struct listpack *lp = block_create(size);
    memcpy(lp, bytes, size);
    return lp;
}

struct listpack *listpack_dup(const struct listpack *lp) {
    return listpack_from_bytes(lp, listpack_read_size(lp));
}

const uint8_t *listpack_bytes(const struct listpack *lp) { return listpack_bytes_at(lp); }

size_t listpack_size(const struct listpack *lp) { return listpack_read_size(lp); }

size_t listpack_memory(const struct listpack *lp) {
    return memory_good_size(listpack_read_size(lp));
}

size_t listpack_count(const struct listpack *lp) {
    size_t count = read_16(listpack_bytes_at(lp) + 4);
    if (count != COUNT_UNKNOWN) return count;
    count = 0;
    for (uint32_t at = listpack_first(lp); at; at = listpack_next(lp, at)) count++;
    return count;
}

size_t listpack_element_size(struct slice text) {
    struct encoded e;
    encode_text(&e, text);
    return encoded_size(&e);
}

size_t listpack_element_bytes(const struct listpack *lp, uint32_t at) {
    return element_size(listpack_bytes_at(lp) + at);
}

bool listpack_has_room(const struct listpack *lp, size_t more_bytes) {
    return more_bytes <= LISTPACK_BYTES_MAX - listpack_read_size(lp);
}

/* ---- Reading ---- */

uint32_t listpack_first(const struct listpack *lp) {
    return listpack_bytes_at(lp)[LISTPACK_HEADER_BYTES] == END_MARK ? 0 : LISTPACK_HEADER_BYTES;
}

static uint32_t element_before(const struct listpack *lp, size_t at) {
    if (at == LISTPACK_HEADER_BYTES) return 0;
    uint8_t nearest = listpack_bytes_at(lp)[at - 1];
    if (nearest < BACK_2_BYTES_FROM) return (uint32_t)(at - nearest - 1);
    size_t length = back_read(listpack_bytes_at(lp) + at, at);
    return (uint32_t)(at - length - back_size(length));
}

uint32_t listpack_last(const struct listpack *lp) {
    return element_before(lp, listpack_read_size(lp) - 1);
}

uint32_t listpack_prev(const struct listpack *lp, uint32_t at) { return element_before(lp, at); }

uint32_t listpack_next(const struct listpack *lp, uint32_t at) {
    const uint8_t *bytes = listpack_bytes_at(lp);
    size_t next = at + element_size(bytes + at);
    return bytes[next] == END_MARK ? 0 : (uint32_t)next;
}

uint32_t listpack_skip(const struct listpack *lp, uint32_t at, uint64_t count) {
    const uint8_t *bytes = listpack_bytes_at(lp), *e = bytes + at;
    for (; count > 0 && *e != END_MARK; count--) e += element_size(e);
    return *e == END_MARK ? 0 : (uint32_t)(e - bytes);
}

uint32_t listpack_seek(const struct listpack *lp, int64_t index) {
    size_t known = read_16(listpack_bytes_at(lp) + 4);
    if (known != COUNT_UNKNOWN) {
        int64_t count = (int64_t)known;
        if (index >= count || index < -count) return 0;
        if (index < 0 && -index > count / 2) index += count;
        if (index >= 0 && index > count / 2) index -= count;
    }
    uint32_t at;
    if (index >= 0) {
        for (at = listpack_first(lp); at && index > 0; index--) at = listpack_next(lp, at);
    } else {
        for (at = listpack_last(lp); at && index < -1; index++) at = listpack_prev(lp, at);
    }
    return at;
}

struct listpack_value listpack_get(const struct listpack *lp, uint32_t at) {
    ASSERT_SLOW(at >= LISTPACK_HEADER_BYTES && at < listpack_read_size(lp) - 1);
    return element_value(listpack_bytes_at(lp) + at);
}

struct listpack_value listpack_take(const struct listpack *lp, uint32_t *at) {
    const uint8_t *bytes = listpack_bytes_at(lp), *e = bytes + *at;
    struct listpack_value v;
    if (*e < TEXT_6) {
        v = integer_value(*e);
        e += 2;
    } else if (*e < INTEGER_13) {
        v = text_value(e + 1, *e & 63);
        e += v.text.length + 2;
    } else {
        v = element_value(e);
        e += element_size(e);
    }
    *at = *e == END_MARK ? 0 : (uint32_t)(e - bytes);
    return v;
}

int64_t listpack_take_integer(const struct listpack *lp, uint32_t *at) {
    const uint8_t *bytes = listpack_bytes_at(lp), *e = bytes + *at;
    int64_t integer = *e;
    if (*e < TEXT_6) {
        e += 2;
    } else {
        integer = element_value(e).integer;
        e += element_size(e);
    }
    *at = *e == END_MARK ? 0 : (uint32_t)(e - bytes);
    return integer;
}

struct slice listpack_value_text(const struct listpack_value *v, char scratch[LISTPACK_SCRATCH]) {
    if (v->text.bytes) return v->text;
    return (struct slice){scratch, number_format_int64(scratch, v->integer)};
}

/* A text to compare with, and the integer that it stands for, if any. */
struct needle {
    struct slice text;
    int64_t integer;
    bool is_integer;
};

static struct needle needle_of(struct slice text) {
    struct needle n = {text, 0, false};
    n.is_integer =
        text.length < NUMBER_INT64_CHARS && number_parse_int64(text.bytes, text.length, &n.integer);
    return n;
}

static inline bool element_equal(const uint8_t *e, const struct needle *n) {
    struct listpack_value v;
    if (*e >= TEXT_6 && *e < INTEGER_13) /* the usual case: a short text */
        v = text_value(e + 1, *e & 63);
    else
        v = element_value(e);
    if (!v.text.bytes) return n->is_integer && v.integer == n->integer;
    return v.text.length == n->text.length &&
           (v.text.length == 0 || memcmp(v.text.bytes, n->text.bytes, v.text.length) == 0);
}

bool listpack_equal(const struct listpack *lp, uint32_t at, struct slice text) {
    struct needle n = needle_of(text);
    return element_equal(listpack_bytes_at(lp) + at, &n);
}

uint32_t listpack_find(const struct listpack *lp, uint32_t at, struct slice text, size_t skip) {
    if (!at) return 0;
    struct needle n = needle_of(text);
    const uint8_t *bytes = listpack_bytes_at(lp), *e = bytes + at;
    while (*e != END_MARK) {
        if (element_equal(e, &n)) return (uint32_t)(e - bytes);
        e += element_size(e);
        for (size_t i = 0; i < skip && *e != END_MARK; i++) e += element_size(e);
    }
    return 0;
}

/* ---- Changing ---- */

static uint32_t insert_encoded(struct listpack **lp, size_t at, size_t gone,
                               const struct encoded *e) {
    size_t size = encoded_size(e);
    encoded_write(listpack_splice(lp, at, gone, size, gone ? 0 : 1), e);
    return (uint32_t)at;
}

void listpack_append(struct listpack **lp, struct slice text) {
    struct encoded e;
    encode_text(&e, text);
    insert_encoded(lp, listpack_read_size(*lp) - 1, 0, &e);
}

void listpack_append_batch(struct listpack **lp, const struct listpack_value *values,
                           size_t count) {
    struct encoded encoded[LISTPACK_BATCH];
    size_t size = 0;
    ASSERT_COMPARE(count, <=, LISTPACK_BATCH);
    for (size_t i = 0; i < count; i++) {
        if (values[i].text.bytes)
            encode_text(&encoded[i], values[i].text);
        else
            encode_integer(&encoded[i], values[i].integer);
        size += encoded_size(&encoded[i]);
    }
    uint8_t *out = listpack_splice(lp, listpack_read_size(*lp) - 1, 0, size, (int64_t)count);
    for (size_t i = 0; i < count; i++) {
        encoded_write(out, &encoded[i]);
        out += encoded_size(&encoded[i]);
    }
}

void listpack_build_begin(struct listpack_builder *b) {
    b->bytes = b->few;
    b->next = b->bytes + LISTPACK_HEADER_BYTES;
    b->limit = b->bytes + sizeof(b->few);
    b->count = 0;
}

static void build_release(struct listpack_builder *b) {
    if (b->bytes != b->few) memory_free(b->bytes, MEMORY_OTHER);
}

/* Makes room for so many further bytes and the end mark; false beyond LISTPACK_BYTES_MAX. */
static bool build_grow(struct listpack_builder *b, size_t bytes) {
    size_t used = (size_t)(b->next - b->bytes);
    if (bytes >= LISTPACK_BYTES_MAX - used) return false;
    size_t capacity = used + bytes + 1 > 2 * used ? used + bytes + 1 : 2 * used;
    if (capacity > LISTPACK_BYTES_MAX) capacity = LISTPACK_BYTES_MAX;
    uint8_t *room = memory_alloc(capacity, MEMORY_OTHER);
    memcpy(room, b->bytes, used);
    build_release(b);
    b->bytes = room;
    b->next = room + used;
    b->limit = room + capacity;
    return true;
}

static inline bool build_has_room(struct listpack_builder *b, size_t bytes) {
    return LIKELY((size_t)(b->limit - b->next) > bytes) || build_grow(b, bytes);
}

static inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* A quick test of first and last byte: false only for texts that are no integer. */
static inline bool looks_like_integer(struct slice text) {
    return (text.bytes[0] == '-' || is_digit(text.bytes[0])) &&
           is_digit(text.bytes[text.length - 1]);
}

/* Copies of constant lengths, which may overlap: half the time of a call for so few bytes. */
static inline void copy_short(uint8_t *to, struct slice text) {
    const char *from = text.bytes;
    size_t n = text.length;
    if (n >= 16) {
        for (size_t i = 0; i + 16 < n; i += 16) memcpy(to + i, from + i, 16);
        memcpy(to + n - 16, from + n - 16, 16);
    } else if (n >= 8) {
        memcpy(to, from, 8);
        memcpy(to + n - 8, from + n - 8, 8);
    } else if (n >= 4) {
        memcpy(to, from, 4);
        memcpy(to + n - 4, from + n - 4, 4);
    } else {
        for (size_t i = 0; i < n; i++) to[i] = (uint8_t)from[i];
    }
}

bool listpack_build_add(struct listpack_builder *b, const struct listpack_value *v) {
    struct encoded e;
    struct slice text = v->text;
    if (text.bytes && text.length < 64 && (!text.length || !looks_like_integer(text))) {
        if (!build_has_room(b, text.length + 2)) return false;
        *b->next++ = (uint8_t)(TEXT_6 | text.length);
        copy_short(b->next, text);
        b->next += text.length;
        *b->next++ = (uint8_t)(text.length + 1);
        b->count++;
        return true;
    }
    if (text.length > LISTPACK_BYTES_MAX) return false;
    if (text.bytes)
        encode_text(&e, text);
    else
        encode_integer(&e, v->integer);
    size_t size = encoded_size(&e);
    if (!build_has_room(b, size)) return false;
    encoded_write(b->next, &e);
    b->next += size;
    b->count++;
    return true;
}

struct listpack *listpack_build_end(struct listpack_builder *b) {
    *b->next++ = END_MARK;
    size_t size = (size_t)(b->next - b->bytes);
    set_size(b->bytes, size);
    listpack_set_count(b->bytes, b->count);
    struct listpack *lp = listpack_from_bytes(b->bytes, size);
    build_release(b);
    return lp;
}

void listpack_build_drop(struct listpack_builder *b) { build_release(b); }

uint32_t listpack_insert_before(struct listpack **lp, uint32_t at, struct slice text) {
    struct encoded e;
    encode_text(&e, text);
    return insert_encoded(lp, at ? at : listpack_read_size(*lp) - 1, 0, &e);
}

uint32_t listpack_insert_after(struct listpack **lp, uint32_t at, struct slice text) {
    struct encoded e;
    encode_text(&e, text);
    return insert_encoded(lp, at + element_size(listpack_bytes_at(*lp) + at), 0, &e);
}

void listpack_replace(struct listpack **lp, uint32_t at, struct slice text) {
    struct encoded e;
    encode_text(&e, text);
    insert_encoded(lp, at, element_size(listpack_bytes_at(*lp) + at), &e);
}

void listpack_replace_integer(struct listpack **lp, uint32_t at, int64_t integer) {
    struct encoded e;
    encode_integer(&e, integer);
    insert_encoded(lp, at, element_size(listpack_bytes_at(*lp) + at), &e);
}

uint32_t listpack_delete_range(struct listpack **lp, uint32_t at, size_t count) {
    const uint8_t *bytes = listpack_bytes_at(*lp);
    size_t end = at, deleted = 0;
    for (; deleted < count && bytes[end] != END_MARK; deleted++) end += element_size(bytes + end);
    const uint8_t *rest = listpack_splice(lp, at, end - at, 0, -(int64_t)deleted);
    return *rest == END_MARK ? 0 : at;
}

void listpack_merge(struct listpack **lp, const struct listpack *other) {
    size_t known = read_16(listpack_bytes_at(other) + 4);
    size_t count = known == COUNT_UNKNOWN ? listpack_count(other) : known;
    size_t more = listpack_read_size(other) - LISTPACK_EMPTY_BYTES;
    uint8_t *room = listpack_splice(lp, listpack_read_size(*lp) - 1, 0, more, (int64_t)count);
    memcpy(room, listpack_bytes_at(other) + LISTPACK_HEADER_BYTES, more);
}

struct listpack *listpack_split(struct listpack **lp, uint32_t at) {
    uint8_t *bytes = listpack_bytes_at(*lp);
    size_t size = listpack_read_size(*lp), rest = size - 1 - at, moved = 0;
    struct listpack *tail = block_create(LISTPACK_EMPTY_BYTES + rest);
    uint8_t *out = listpack_bytes_at(tail);
    for (const uint8_t *e = bytes + at; *e != END_MARK; e += element_size(e)) moved++;
    memcpy(out + LISTPACK_HEADER_BYTES, bytes + at, rest + 1);
    set_size(out, LISTPACK_EMPTY_BYTES + rest);
    listpack_set_count(out, moved);
    listpack_splice(lp, at, rest, 0, -(int64_t)moved);
    return tail;
}

/* ---- Checking ---- */

/* The size of the element at `at`, with the length behind it checked; 0 where it is malformed or
 * goes beyond `end`, the end mark's place. */
static size_t element_validate(const uint8_t *bytes, size_t at, size_t end) {
    size_t head = head_size(bytes[at]);
    if (head == 0 || head > end - at) return 0;
    size_t content = content_size(bytes + at);
    if (content > end - at) return 0;
    size_t size = content + back_size(content);
    if (size > end - at || back_read(bytes + at + size, size - content) != content) return 0;
    /* The length's bytes must be exactly those that this file writes: a length with leading zeros
     * would read alike. */
    uint8_t back[BACK_MAX];
    back_write(back, content);
    return memcmp(back, bytes + at + content, size - content) == 0 ? size : 0;
}

bool listpack_validate(const void *foreign, size_t size,
                       bool (*visit)(const struct listpack_value *v, size_t index, void *context),
                       void *context) {
    const uint8_t *bytes = foreign;
    if (size < LISTPACK_EMPTY_BYTES || size > LISTPACK_BYTES_MAX) return false;
    if (load_32(bytes) != size || bytes[size - 1] != END_MARK) return false;
    size_t count = 0;
    for (size_t at = LISTPACK_HEADER_BYTES; at != size - 1; count++) {
        size_t element = element_validate(bytes, at, size - 1);
        if (element == 0) return false;
        struct listpack_value v = element_value(bytes + at);
        if (visit && !visit(&v, count, context)) return false;
        at += element;
    }
    size_t stated = read_16(bytes + 4);
    return stated == COUNT_UNKNOWN || stated == count;
}

/* The size of the element at `at`, without a look at the length behind it; 0 where it is malformed
 * or goes beyond `end`. */
static size_t element_extent(const uint8_t *bytes, size_t at, size_t end) {
    size_t head = head_size(bytes[at]);
    if (head == 0 || head > end - at) return 0;
    size_t content = content_size(bytes + at);
    return content <= end - at && back_size(content) <= end - at - content
               ? content + back_size(content)
               : 0;
}

static void mend_last_back(uint8_t *bytes, size_t end) {
    size_t at = LISTPACK_HEADER_BYTES, last = at, size;
    for (; at != end && (size = element_extent(bytes, at, end)) != 0; at += size) last = at;
    if (last != end && at == end) {
        size_t content = content_size(bytes + last);
        back_write(bytes + last + content, content);
    }
}

struct listpack *listpack_from_foreign(const void *bytes, size_t size) {
    if (listpack_validate(bytes, size, NULL, NULL)) return listpack_from_bytes(bytes, size);
    if (size < LISTPACK_EMPTY_BYTES || size > LISTPACK_BYTES_MAX) return NULL;
    struct listpack *lp = listpack_from_bytes(bytes, size);
    mend_last_back(listpack_bytes_at(lp), size - 1);
    if (listpack_validate(lp, size, NULL, NULL)) return lp;
    memory_free(lp, MEMORY_DATASET);
    return NULL;
}

void listpack_check(const struct listpack *lp) {
    ASSERT(listpack_validate(lp, listpack_read_size(lp), NULL, NULL));
}
