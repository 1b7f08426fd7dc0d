/* SPDX-License-Identifier: BSD-3-Clause
 * Pieces of saved values, and the code that the types share.
 *
 * The two highest bits of a length tell its form: 6 bits; 14 bits; 4 or 8 bytes behind it (highest
 * byte first); or a text in another form: an integer of 1, 2 or 4 bytes (lowest first), or LZF, as
 * the length of the compressed bytes, that of the text, and the compressed bytes.
 */
#include "value/saved.h"

#include <math.h>
#include <stdatomic.h>

#include "base/blob.h"
#include "base/compress.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/panic.h"
#include "ds/distinct.h"
#include "ds/table.h"
#include "ds/ziplist.h"
#include "option/option.h"
#include "value/shadow.h"

enum { LENGTH_6 = 0x00, LENGTH_14 = 0x40, LENGTH_32 = 0x80, LENGTH_64 = 0x81, LENGTH_CODED = 0xc0 };
enum { CODED_INT8, CODED_INT16, CODED_INT32, CODED_LZF };
/* The byte before a number that is saved as text: the text's length, or one of these. */
enum { DOUBLE_NAN = 253, DOUBLE_INFINITE, DOUBLE_NEGATIVE_INFINITE };

/* Texts up to here may be the canonical form of an int32. */
#define INTEGER_TEXT_MAX 11
/* Shorter texts are not worth compressing; the result must be shorter by so many bytes. */
#define UNCOMPRESSED_MAX 20
#define COMPRESSION_GAIN 4
/* Up to so many bytes are compressed on the stack: the ziplists of most collections. */
#define PACKED_ON_STACK 8192
/* LZF expands three bytes to 264 at most. */
#define EXPANSION_MAX 88
/* How much of a text is allocated at first, where the source's length is not known. */
#define UNKNOWN_CHUNK_BYTES 65536
/* Longer strings are read into the block that will be stored. */
#define BLOB_BYTES_MIN 1024

static bool wanted_compression;
static atomic_bool compression = true; /* rdbcompression, for all threads */
static _Atomic uint64_t checked;

static bool apply_compression(const struct option_row *row, char *reason, size_t reason_size) {
    atomic_store_explicit(&compression, wanted_compression, memory_order_relaxed);
    return true;
}

static const struct option_row option_rows[] = {
    {.name = "rdbcompression",
     .type = OPTION_TYPE_BOOL,
     .flags = OPTION_MUTABLE,
     .section = "snapshots",
     .place = 30,
     .fallback = "yes",
     .variable = &wanted_compression,
     .apply = apply_compression,
     .help = "Compress long strings in snapshots."},
};

void saved_register(void) {
    distinct_open();
    option_register(option_rows, sizeof(option_rows) / sizeof(option_rows[0]));
}

/* ---- Writing ---- */

void saved_write_number(struct sink *out, uint64_t number, size_t bytes) {
    unsigned char b[8];
    for (size_t i = 0; i < bytes; i++) b[i] = (unsigned char)(number >> (8 * i));
    sink_write(out, b, bytes);
}

/* Highest byte first. */
static void write_big_endian(struct sink *out, uint64_t number, size_t bytes) {
    unsigned char b[8];
    for (size_t i = 0; i < bytes; i++) b[i] = (unsigned char)(number >> (8 * (bytes - 1 - i)));
    sink_write(out, b, bytes);
}

void saved_write_length(struct sink *out, uint64_t length) {
    if (length < 1 << 6) {
        sink_write_byte(out, (unsigned char)length);
    } else if (length < 1 << 14) {
        write_big_endian(out, LENGTH_14 << 8 | length, 2);
    } else if (length <= UINT32_MAX) {
        sink_write_byte(out, LENGTH_32);
        write_big_endian(out, length, 4);
    } else {
        sink_write_byte(out, LENGTH_64);
        write_big_endian(out, length, 8);
    }
}

/* False, with nothing written, for an integer that needs more than four bytes. */
static bool write_coded_integer(struct sink *out, int64_t v) {
    if (v != (int32_t)v) return false;
    unsigned code = v == (int8_t)v ? CODED_INT8 : v == (int16_t)v ? CODED_INT16 : CODED_INT32;
    sink_write_byte(out, (unsigned char)(LENGTH_CODED | code));
    saved_write_number(out, (uint64_t)v, (size_t)1 << code);
    return true;
}

/* False, with nothing written, where compression does not make the text shorter. */
static bool write_compressed(struct sink *out, struct slice text) {
    if (text.length > UINT32_MAX) return false;
    char few[PACKED_ON_STACK];
    size_t room = text.length - COMPRESSION_GAIN;
    char *packed = room <= sizeof(few) ? few : memory_alloc(room, MEMORY_OTHER);
    size_t size = compress_lzf(text, packed, room);
    if (size) {
        sink_write_byte(out, LENGTH_CODED | CODED_LZF);
        saved_write_length(out, size);
        saved_write_length(out, text.length);
        sink_write(out, packed, size);
    }
    if (packed != few) memory_free(packed, MEMORY_OTHER);
    return size > 0;
}

static bool saved_compresses(void) {
    return atomic_load_explicit(&compression, memory_order_relaxed);
}

void saved_write_text(struct sink *out, struct slice text) {
    int64_t integer;
    if (out->type->defer && text.length >= SAVED_DEFERRED_MIN) {
        out->type->defer(out, SAVED_DEFERRED_TEXT, text);
        return;
    }
    if (text.length <= INTEGER_TEXT_MAX && number_parse_int64(text.bytes, text.length, &integer) &&
        write_coded_integer(out, integer))
        return;
    if (text.length > UNCOMPRESSED_MAX && saved_compresses() && write_compressed(out, text)) return;
    saved_write_length(out, text.length);
    sink_write(out, text.bytes, text.length);
}

void saved_write_integer(struct sink *out, int64_t integer) {
    char digits[NUMBER_INT64_CHARS];
    if (write_coded_integer(out, integer)) return;
    size_t length = number_format_int64(digits, integer);
    saved_write_length(out, length);
    sink_write(out, digits, length);
}

void saved_write_double(struct sink *out, double number) {
    uint64_t bits;
    memcpy(&bits, &number, sizeof(bits));
    saved_write_number(out, bits, sizeof(bits));
}

/* ---- Reading ---- */

bool saved_read_number(struct source *in, size_t bytes, uint64_t *number) {
    unsigned char b[8] = {0};
    bool good = source_read(in, b, bytes);
    *number = 0;
    for (size_t i = bytes; i-- > 0;) *number = *number << 8 | b[i];
    return good;
}

bool saved_read_double(struct source *in, double *number) {
    uint64_t bits;
    if (!saved_read_number(in, sizeof(bits), &bits)) return false;
    memcpy(number, &bits, sizeof(bits));
    return !isnan(*number) || source_refuse(in, "a score is no number");
}

static bool read_big_endian(struct source *in, size_t bytes, uint64_t *number) {
    unsigned char b[8];
    *number = 0;
    if (!source_read(in, b, bytes)) return false;
    for (size_t i = 0; i < bytes; i++) *number = *number << 8 | b[i];
    return true;
}

/* Reads a length, or, with `*coded` true, the number of a text's other form. */
static bool read_head(struct source *in, uint64_t *length, bool *coded) {
    unsigned char first;
    *length = 0;
    *coded = false;
    if (!source_read(in, &first, 1)) return false;
    switch (first & LENGTH_CODED) {
    case LENGTH_6: *length = first; return true;
    case LENGTH_14:
        if (!read_big_endian(in, 1, length)) return false;
        *length |= (uint64_t)(first & 0x3f) << 8;
        return true;
    case LENGTH_CODED:
        *length = first & 0x3f;
        *coded = true;
        return true;
    default: break;
    }
    if (first != LENGTH_32 && first != LENGTH_64) return source_refuse(in, "an unknown length");
    return read_big_endian(in, first == LENGTH_32 ? 4 : 8, length);
}

bool saved_read_length(struct source *in, uint64_t *length) {
    bool coded;
    if (!read_head(in, length, &coded)) return false;
    return !coded || source_refuse(in, "a text where a length should be");
}

bool saved_read_count(struct source *in, size_t bytes_each, uint64_t *count) {
    if (!saved_read_length(in, count)) return false;
    return *count <= source_left_max(in) / bytes_each ||
           source_refuse(in, "more members than there are bytes");
}

bool saved_read_double_text(struct source *in, double *number) {
    unsigned char length;
    char text[DOUBLE_NAN];
    if (!source_read(in, &length, 1)) return false;
    if (length == DOUBLE_NAN) return source_refuse(in, "a score is no number");
    if (length > DOUBLE_NAN) {
        *number = length == DOUBLE_INFINITE ? INFINITY : -INFINITY;
        return true;
    }
    if (!source_read(in, text, length)) return false;
    return number_parse_double(text, length, number) || source_refuse(in, "a score is no number");
}

/* Refuses a longer member of a collection than fits, because members' lengths have 32 bits. */
static bool fits_member(struct source *in, uint64_t length) {
    if (length > source_left_max(in)) return source_refuse(in, "a text is longer than its file");
    return length <= UINT32_MAX || source_refuse(in, "a text is too long for a member");
}

/* A text that needs more memory than there is is refused; it must not end the server. */
static bool refuse_memory(struct source *in) {
    return source_refuse(in, "there is no memory for a text");
}

/* Reads a text's plain bytes to the end of `store`, which grows as they come. */
static bool append_plain(struct source *in, struct buffer *store, uint64_t length) {
    if (length > source_left_max(in)) return source_refuse(in, "a text is longer than its file");
    bool known = source_left_max(in) != UINT64_MAX;
    while (length > 0) {
        size_t chunk = store->length > UNKNOWN_CHUNK_BYTES ? store->length : UNKNOWN_CHUNK_BYTES;
        if (known || chunk > length) chunk = (size_t)length;
        char *to = buffer_try_reserve(store, chunk);
        if (!to) return refuse_memory(in);
        if (!source_read(in, to, chunk)) return false;
        store->length += chunk;
        length -= chunk;
    }
    return true;
}

/* Reads the lengths of the compressed bytes and of their text, and the compressed bytes: in place,
 * or into `store`. */
static bool read_packed(struct source *in, struct buffer *store, struct slice *packed,
                        uint64_t *length) {
    uint64_t size;
    *packed = SLICE("");
    if (!saved_read_length(in, &size) || !saved_read_length(in, length)) return false;
    if (size == 0 || *length == 0 || *length > UINT32_MAX || *length / EXPANSION_MAX > size)
        return source_refuse(in, "a compressed text of an impossible length");
    if (size > source_left_max(in)) return source_refuse(in, "a text is longer than its file");
    *packed = (struct slice){source_take(in, size), size};
    if (packed->bytes) return true;
    if (in->status != SOURCE_GOOD || !append_plain(in, store, size)) return false;
    *packed = buffer_slice(store);
    return true;
}

/* `to` is NULL where there was no memory. */
static bool saved_unpack(struct source *in, struct slice packed, char *to, size_t length) {
    if (!to) return refuse_memory(in);
    return decompress_lzf(packed, to, length) || source_refuse(in, "compressed bytes are damaged");
}

static bool append_compressed(struct source *in, struct buffer *store) {
    struct buffer bytes;
    struct slice packed;
    uint64_t length;
    buffer_init(&bytes, MEMORY_OTHER);
    bool good = read_packed(in, &bytes, &packed, &length) &&
                saved_unpack(in, packed, buffer_try_reserve(store, length), length);
    if (good) store->length += length;
    buffer_free(&bytes);
    return good;
}

static bool read_coded_integer(struct source *in, uint64_t code, int64_t *integer) {
    uint64_t raw;
    *integer = 0;
    if (code > CODED_INT32) return source_refuse(in, "a text of an unknown form");
    if (!saved_read_number(in, (size_t)1 << code, &raw)) return false;
    unsigned unused = 64 - (8U << code);
    *integer = (int64_t)(raw << unused) >> unused;
    return true;
}

/* Reads a text in another form than plain bytes to `store`. */
static bool read_coded(struct source *in, uint64_t code, struct buffer *store) {
    int64_t integer;
    if (code == CODED_LZF) return append_compressed(in, store);
    if (!read_coded_integer(in, code, &integer)) return false;
    store->length = number_format_int64(buffer_reserve(store, NUMBER_INT64_CHARS), integer);
    return true;
}

bool saved_read_kept(struct source *in, struct buffer *store, struct slice *text) {
    uint64_t length;
    bool coded;
    buffer_clear(store);
    *text = SLICE("");
    if (!read_head(in, &length, &coded)) return false;
    if (!coded && !fits_member(in, length)) return false;
    if (!(coded ? read_coded(in, length, store) : append_plain(in, store, length))) return false;
    if (store->length) *text = buffer_slice(store);
    return true;
}

bool saved_read_text(struct source *in, struct buffer *store, struct slice *text) {
    uint64_t length;
    bool coded;
    buffer_clear(store);
    *text = SLICE("");
    if (!read_head(in, &length, &coded)) return false;
    if (!coded) {
        if (length == 0) return true;
        if (!fits_member(in, length)) return false;
        const char *bytes = source_take(in, length);
        if (bytes) *text = (struct slice){bytes, length};
        if (bytes) return true;
        if (in->status != SOURCE_GOOD || !append_plain(in, store, length)) return false;
    } else if (!read_coded(in, length, store)) {
        return false;
    }
    *text = buffer_slice(store);
    return true;
}

static bool read_blob(struct source *in, uint64_t length, struct blob **blob) {
    struct blob *b = blob_try_create(length, MEMORY_DATASET);
    if (!b) return refuse_memory(in);
    b->length = length;
    if (source_read(in, b->bytes, length)) {
        *blob = b;
        return true;
    }
    blob_free(b, MEMORY_DATASET);
    return false;
}

/* Reads a compressed text: a long one to a block, others to `store`. */
static bool read_compressed(struct source *in, struct buffer *store, struct blob **blob) {
    struct buffer bytes;
    struct slice packed;
    uint64_t length;
    buffer_init(&bytes, MEMORY_OTHER);
    bool good = read_packed(in, &bytes, &packed, &length);
    if (good && length > BLOB_BYTES_MIN) {
        *blob = blob_try_create(length, MEMORY_DATASET);
        good = saved_unpack(in, packed, *blob ? (*blob)->bytes : NULL, length);
        if (good) (*blob)->length = length;
    } else if (good) {
        good = saved_unpack(in, packed, buffer_try_reserve(store, length), length);
        if (good) store->length = length;
    }
    buffer_free(&bytes);
    if (good) return true;
    blob_free(*blob, MEMORY_DATASET);
    *blob = NULL;
    return false;
}

bool saved_read_string(struct source *in, struct buffer *store, struct slice *text,
                       struct blob **blob, int64_t *integer) {
    uint64_t length;
    bool coded;
    buffer_clear(store);
    *text = (struct slice){NULL, 0};
    *blob = NULL;
    if (!read_head(in, &length, &coded)) return false;
    if (coded && length != CODED_LZF) return read_coded_integer(in, length, integer);
    if (coded) {
        if (!read_compressed(in, store, blob)) return false;
    } else if (length > BLOB_BYTES_MIN && source_left_max(in) != UINT64_MAX) {
        if (length > source_left_max(in))
            return source_refuse(in, "a text is longer than its file");
        if (!read_blob(in, length, blob)) return false;
    } else {
        const char *bytes = source_take(in, length);
        if (bytes) *text = (struct slice){bytes, length};
        if (bytes) return true;
        buffer_reserve(store, 1); /* so that an empty text has an address, too */
        if (in->status != SOURCE_GOOD || !append_plain(in, store, length)) return false;
    }
    *text = *blob ? blob_slice(*blob) : buffer_slice(store);
    return true;
}

/* ---- Extents ---- */

static bool pass_text(struct source *in) {
    uint64_t length, code, unpacked;
    bool coded;
    if (!read_head(in, &code, &coded)) return false;
    if (!coded) return source_skip(in, code);
    if (code < CODED_LZF) return source_skip(in, UINT64_C(1) << code);
    return code == CODED_LZF && saved_read_length(in, &length) &&
           saved_read_length(in, &unpacked) && source_skip(in, length);
}

static bool pass_double_text(struct source *in) {
    unsigned char length;
    if (!source_read(in, &length, 1)) return false;
    return length >= DOUBLE_NAN || source_skip(in, length);
}

static bool pass_member(struct source *in, unsigned form) {
    if (!pass_text(in)) return false;
    switch (form) {
    case SAVED_HASH: return pass_text(in);
    case SAVED_ZSET: return source_skip(in, sizeof(double));
    case SAVED_ZSET_TEXT: return pass_double_text(in);
    default: return true;
    }
}

static bool pass_members(struct source *in, unsigned form) {
    uint64_t count;
    if (!saved_read_count(in, 1, &count)) return false;
    for (; count > 0; count--) {
        if (!pass_member(in, form)) return false;
    }
    return true;
}

size_t saved_extent(unsigned form, struct slice bytes) {
    struct source in;
    bool whole = false;
    slice_source_init(&in, bytes);
    switch (form) {
    case SAVED_STRING:
    case SAVED_HASH_ZIPMAP:
    case SAVED_LIST_ZIPLIST:
    case SAVED_SET_INTSET:
    case SAVED_ZSET_ZIPLIST:
    case SAVED_HASH_ZIPLIST: whole = pass_text(&in); break;
    case SAVED_LIST:
    case SAVED_SET:
    case SAVED_ZSET_TEXT:
    case SAVED_HASH:
    case SAVED_ZSET:
    case SAVED_LIST_QUICKLIST: whole = pass_members(&in, form); break;
    default: break;
    }
    return whole ? (size_t)source_offset(&in) : 0;
}

bool saved_is_compressed(struct slice bytes) {
    return bytes.length && (unsigned char)bytes.bytes[0] == (LENGTH_CODED | CODED_LZF);
}

/* ---- Values ---- */

void save_cursor_end(struct save_cursor *c) {
    for (size_t i = 0; i < sizeof(c->names) / sizeof(c->names[0]); i++) {
        if (c->names[i].bytes) buffer_free(&c->names[i]);
    }
}

bool saved_form_kind(unsigned form, enum value_kind *kind) {
    switch (form) {
    case SAVED_STRING: *kind = VALUE_STRING; return true;
    case SAVED_LIST:
    case SAVED_LIST_ZIPLIST:
    case SAVED_LIST_QUICKLIST: *kind = VALUE_LIST; return true;
    case SAVED_SET:
    case SAVED_SET_INTSET: *kind = VALUE_SET; return true;
    case SAVED_ZSET_TEXT:
    case SAVED_ZSET:
    case SAVED_ZSET_ZIPLIST: *kind = VALUE_ZSET; return true;
    case SAVED_HASH:
    case SAVED_HASH_ZIPMAP:
    case SAVED_HASH_ZIPLIST: *kind = VALUE_HASH; return true;
    case SAVED_STREAM: *kind = VALUE_STREAM; return true;
    default: return false;
    }
}

void saved_write_form(struct sink *out, enum value_kind kind, struct value v) {
    sink_write_byte(out, (unsigned char)value_type(kind)->form(v));
}

void saved_write_value(struct sink *out, enum value_kind kind, struct value v, struct slice key) {
    struct save_cursor c = {.budget = SIZE_MAX, .key = key};
    bool whole = value_type(kind)->save(v, &c, out);
    ASSERT(whole);
}

static bool drop_bytes(struct sink *s, const void *more, size_t length) {
    sink_set_window(s, s->start, (size_t)(s->limit - s->start));
    return true;
}

size_t saved_bytes(enum value_kind kind, struct value v) {
    static const struct sink_type counting = {.drain = drop_bytes};
    char window[4096];
    struct sink out;
    sink_init(&out, &counting, window, sizeof(window));
    saved_write_value(&out, kind, v, SLICE(""));
    return sink_written(&out);
}

void saved_write_table(const struct table *t, struct sink *out,
                       void (*write)(void *element, void *sink)) {
    saved_write_length(out, table_count(t));
    table_each(t, write, out);
}

bool saved_write_shadow(struct save_cursor *c, struct sink *out, value_visit *visit) {
    if (c->phase == 0) saved_write_length(out, shadow_count(c->shadow));
    c->phase = 1;
    return shadow_step(c->shadow, &c->budget, visit, out);
}

/* ---- Ziplists, and listpacks of pairs ---- */

void saved_note_checked(void) { atomic_fetch_add_explicit(&checked, 1, memory_order_relaxed); }
uint64_t saved_checked(void) { return atomic_load_explicit(&checked, memory_order_relaxed); }

struct listpack *saved_read_ziplist(struct source *in, struct buffer *store) {
    struct slice text;
    if (!saved_read_text(in, store, &text)) return NULL;
    saved_note_checked();
    struct listpack *lp = ziplist_to_listpack(text.bytes, text.length);
    if (!lp) source_refuse(in, "Ziplist integrity check failed");
    return lp;
}

bool saved_listpack_fits(const struct listpack *lp, size_t more_bytes) {
    size_t size = listpack_size(lp);
    return size <= SAVED_LISTPACK_BYTES_MAX && more_bytes <= SAVED_LISTPACK_BYTES_MAX - size;
}

void saved_write_ziplist(struct sink *out, const struct listpack *lp) {
    struct buffer bytes;
    if (out->type->defer) {
        struct slice pack = {(const char *)listpack_bytes(lp), listpack_size(lp)};
        out->type->defer(out, SAVED_DEFERRED_ZIPLIST, pack);
        return;
    }
    buffer_init(&bytes, MEMORY_OTHER);
    ziplist_from_listpack(lp, &bytes);
    saved_write_text(out, buffer_slice(&bytes));
    buffer_free(&bytes);
}

void saved_write_deferred(struct sink *out, unsigned how, struct slice bytes) {
    ASSERT(!out->type->defer);
    if (how == SAVED_DEFERRED_ZIPLIST)
        saved_write_ziplist(out, listpack_view(bytes.bytes));
    else
        saved_write_text(out, bytes);
}

static bool firsts_differ(const struct listpack *lp, struct distinct *seen) {
    char scratch[LISTPACK_SCRATCH];
    for (uint32_t at = listpack_first(lp), next = at; at; at = next) {
        struct listpack_value v = listpack_take(lp, &next);
        if (!distinct_add(seen, lp, at, listpack_value_text(&v, scratch))) return false;
        listpack_take(lp, &next);
    }
    return true;
}

static bool refuse_twice(struct source *in) {
    return source_refuse(in, "a member stands there twice");
}

bool saved_pairs_are_distinct(struct source *in, const struct listpack *lp) {
    struct distinct seen;
    size_t elements = listpack_count(lp);
    if (elements % 2 != 0) return source_refuse(in, "a member without its other half");
    distinct_begin(&seen, elements / 2);
    bool distinct = firsts_differ(lp, &seen);
    distinct_end(&seen);
    return distinct || refuse_twice(in);
}

struct listpack *saved_read_pairs(struct source *in, struct buffer *store) {
    struct slice text;
    bool distinct;
    if (!saved_read_text(in, store, &text)) return NULL;
    saved_note_checked();
    struct listpack *lp = ziplist_pairs_to_listpack(text.bytes, text.length, &distinct);
    if (!lp)
        source_refuse(in, "Ziplist integrity check failed");
    else if (listpack_count(lp) % 2 != 0)
        source_refuse(in, "a member without its other half");
    else if (distinct)
        return lp;
    else
        refuse_twice(in);
    listpack_free(lp);
    return NULL;
}
