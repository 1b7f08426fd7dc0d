/* SPDX-License-Identifier: BSD-3-Clause
 * The reader.
 *
 *   HEAD --records--> RECORDS --end block, end of the file--> WHOLE
 *                        |----- end of the file, torn block --> CUT
 *                        |----- anything else ----------------> BAD
 *
 * Invariants
 *  1. No byte of a block is looked at before its checksum is tested, but for kind and length.
 *  2. `at` <= `end` within the payload; each read of a number or a text tests that first.
 *  3. Ids rise from record to record over the whole file.
 *
 * A torn block is one that the end of the file cuts. A block that is whole but has a wrong checksum
 * is damage: a reader that went on would not know what it has.
 */
#include "trace_file/trace_file_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <unistd.h>

#include "base/checksum.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/panic.h"
#include "base/system.h"
#include "io/file.h"

#define ORDINAL_BYTES 8
#define VARINT_BYTES_MAX 10
#define HEAD_TEXT_BYTES_MAX 4096 /* of the head and of the end */
#define HEADER_BYTES (TRACE_FILE_MAGIC_BYTES + 4)

enum block_status { BLOCK_GOOD, BLOCK_NONE, BLOCK_TORN, BLOCK_BAD };

struct trace_file_reader {
    int fd;
    enum trace_file_status status; /* TRACE_FILE_HAS_RECORD = further records may follow */
    uint64_t ordinal;              /* of the next block */
    char kind;                     /* of the block at hand */
    const char *at, *end;          /* of its payload, what is left */
    bool first;                    /* the next record is the block's first */
    uint64_t last_id;
    int64_t last_usec, records;
    struct trace_file_head head;
    struct trace_file_end last;
    char *bytes; /* the block, with room for its ordinal before it */
    struct trace_file_argument *arguments;
    char reason[TRACE_FILE_REASON_CHARS];
};

/* --- blocks ----------------------------------------------------------------------------------- */

static uint64_t little_number(const char *bytes, unsigned count) {
    uint64_t value = 0;
    for (unsigned i = count; i-- > 0;) value = value << 8 | (unsigned char)bytes[i];
    return value;
}

static bool call_bad(struct trace_file_reader *r, const char *why) {
    snprintf(r->reason, sizeof(r->reason), "the trace file is damaged in block %" PRIu64 ": %s",
             r->ordinal ? r->ordinal - 1 : 0, why);
    return false;
}

/* Reads up to `length` bytes. BLOCK_NONE: the file has none left. */
static enum block_status read_part(struct trace_file_reader *r, char *to, size_t length) {
    ssize_t got = file_read_some(r->fd, to, length);
    if (got < 0) {
        snprintf(r->reason, sizeof(r->reason), "the trace file cannot be read: %s",
                 strerror(errno));
        return BLOCK_BAD;
    }
    if ((size_t)got == length) return BLOCK_GOOD;
    return got ? BLOCK_TORN : BLOCK_NONE;
}

/* Reads the next block, and tests its sum. */
static enum block_status read_block(struct trace_file_reader *r) {
    char *head = r->bytes + ORDINAL_BYTES, *payload = head + TRACE_FILE_BLOCK_HEAD_BYTES;
    for (unsigned i = 0; i < ORDINAL_BYTES; i++) r->bytes[i] = (char)(r->ordinal >> (8 * i));
    enum block_status status = read_part(r, head, TRACE_FILE_BLOCK_HEAD_BYTES);
    if (status != BLOCK_GOOD) return status;
    r->ordinal++;
    uint64_t length = little_number(head + 1, 4);
    if (length > TRACE_FILE_BLOCK_BYTES_MAX) {
        call_bad(r, "a block is too long");
        return BLOCK_BAD;
    }
    status = read_part(r, payload, length + TRACE_FILE_BLOCK_SUM_BYTES);
    if (status != BLOCK_GOOD) return status == BLOCK_NONE ? BLOCK_TORN : status;
    size_t summed = (size_t)(payload - r->bytes) + length;
    if (checksum_crc64(0, r->bytes, summed) != little_number(r->bytes + summed, 8)) {
        call_bad(r, "its checksum is wrong");
        return BLOCK_BAD;
    }
    r->kind = *head;
    r->at = payload;
    r->end = payload + length;
    r->first = true;
    return BLOCK_GOOD;
}

/* --- the texts of head and end ---------------------------------------------------------------- */

/* Takes the next line apart. False where none is left. A line without a blank has an empty value.
 */
static bool next_line(struct trace_file_reader *r, struct slice *name, struct slice *value) {
    if (r->at == r->end) return false;
    const char *stop = memchr(r->at, '\n', (size_t)(r->end - r->at));
    if (!stop) stop = r->end;
    const char *blank = memchr(r->at, ' ', (size_t)(stop - r->at));
    if (!blank) blank = stop;
    *name = (struct slice){r->at, (size_t)(blank - r->at)};
    *value = blank == stop ? (struct slice){stop, 0}
                           : (struct slice){blank + 1, (size_t)(stop - blank - 1)};
    r->at = stop == r->end ? stop : stop + 1;
    return true;
}

struct figure {
    const char *name;
    int64_t *place, least, most;
};

/* False where the value is no number within the figure's bounds. Names that are unknown are passed
 * over, so that later versions may say more. */
static bool take_figure(const struct figure *figures, size_t count, struct slice name,
                        struct slice value) {
    int64_t number;
    for (size_t i = 0; i < count; i++) {
        if (!slice_is(name, figures[i].name)) continue;
        if (!number_parse_int64(value.bytes, value.length, &number)) return false;
        if (number < figures[i].least || number > figures[i].most) return false;
        *figures[i].place = number;
        return true;
    }
    return true;
}

static bool read_head_text(struct trace_file_reader *r) {
    struct trace_file_head *h = &r->head;
    int64_t hashed = 0;
    const struct figure figures[] = {
        {"began_usec", &h->began_usec, 0, TRACE_FILE_WALL_USEC_MAX},
        {"sample", &h->sample, 1, INT32_MAX},
        {"hashed", &hashed, 0, 1},
        {"maxmemory", &h->maxmemory, -1, TRACE_FILE_NUMBER_MAX},
        {"used_bytes", &h->used_bytes, -1, TRACE_FILE_NUMBER_MAX},
        {"overhead_bytes", &h->overhead_bytes, -1, TRACE_FILE_NUMBER_MAX},
        {"keys", &h->keys, -1, TRACE_FILE_NUMBER_MAX},
    };
    struct slice name, value;
    *h = (struct trace_file_head){
        .maxmemory = -1, .used_bytes = -1, .overhead_bytes = -1, .keys = -1};
    while (next_line(r, &name, &value)) {
        if (slice_is(name, "server")) string_show(value, h->server, sizeof(h->server));
        if (slice_is(name, "policy")) string_show(value, h->policy, sizeof(h->policy));
        if (!take_figure(figures, sizeof(figures) / sizeof(figures[0]), name, value))
            return call_bad(r, "a figure of the head is no number, or out of range");
    }
    h->hashed = hashed;
    if (!*h->server) snprintf(h->server, sizeof(h->server), "an unknown server");
    if (!*h->policy) snprintf(h->policy, sizeof(h->policy), "an unknown policy");
    return h->sample ? true : call_bad(r, "the head lacks `sample`");
}

static bool read_end_text(struct trace_file_reader *r) {
    struct trace_file_end *e = &r->last;
    const struct figure figures[] = {
        {"ended_usec", &e->ended_usec, 0, TRACE_FILE_WALL_USEC_MAX},
        {"records", &e->records, 0, TRACE_FILE_NUMBER_MAX},
        {"missing", &e->missing, 0, TRACE_FILE_NUMBER_MAX},
        {"without_keys", &e->without_keys, 0, TRACE_FILE_NUMBER_MAX},
    };
    struct slice name, value;
    *e = (struct trace_file_end){.records = -1};
    while (next_line(r, &name, &value)) {
        if (slice_is(name, "ending"))
            e->ending = slice_is(value, "server-lost") ? TRACE_FILE_SERVER_LOST
                        : slice_is(value, "disk-full") ? TRACE_FILE_DISK_FULL
                                                       : TRACE_FILE_ENDED;
        if (!take_figure(figures, sizeof(figures) / sizeof(figures[0]), name, value))
            return call_bad(r, "a figure of the end is no number, or out of range");
    }
    if (e->records != r->records) return call_bad(r, "the end counts other records than there are");
    char more;
    if (file_read_some(r->fd, &more, 1) != 0) return call_bad(r, "bytes follow the end");
    return true;
}

/* --- records ---------------------------------------------------------------------------------- */

static bool get_varint(struct trace_file_reader *r, uint64_t *value) {
    *value = 0;
    for (unsigned i = 0; i < VARINT_BYTES_MAX && r->at < r->end; i++) {
        uint64_t byte = (unsigned char)*r->at++;
        if (i == VARINT_BYTES_MAX - 1 && byte > 1) return false; /* above 64 bits */
        *value |= (byte & 127) << (7 * i);
        if (byte < 128) return true;
    }
    return false;
}

static bool get_number(struct trace_file_reader *r, uint64_t most, uint64_t *value) {
    return get_varint(r, value) && *value <= most;
}

static bool get_signed(struct trace_file_reader *r, int64_t *value) {
    uint64_t code;
    if (!get_varint(r, &code)) return false;
    *value = (int64_t)(code >> 1) ^ -(int64_t)(code & 1);
    return true;
}

static bool get_argument(struct trace_file_reader *r, struct trace_file_argument *a) {
    uint64_t code, number;
    if (!get_varint(r, &code)) return false;
    *a = (struct trace_file_argument){
        .kind = (enum trace_file_kind)(code & 3), .bytes = -1, .ttl_msec = -1};
    uint64_t size = code >> 2;
    if (a->kind == TRACE_FILE_VALUE) {
        a->size = (int64_t)size;
        return size <= TRACE_FILE_VALUE_BYTES_MAX;
    }
    if (size > (uint64_t)(r->end - r->at)) return false;
    a->text = (struct slice){r->at, size};
    r->at += size;
    if (a->kind != TRACE_FILE_KEY) return true;
    if (!get_number(r, TRACE_FILE_NUMBER_MAX, &number)) return false;
    a->bytes = (int64_t)number - 1;
    if (a->bytes < 0) return true;
    if (!get_number(r, TRACE_FILE_NUMBER_MAX, &number)) return false;
    a->ttl_msec = (int64_t)number - 1;
    return true;
}

/* False: the bytes are no record. */
static bool get_record(struct trace_file_reader *r, struct trace_file_record *record) {
    uint64_t id, place, count;
    int64_t usec;
    if (!get_varint(r, &id) || !get_signed(r, &usec)) return false;
    if (!r->first &&
        (id > UINT64_MAX - r->last_id || __builtin_add_overflow(usec, r->last_usec, &usec)))
        return false;
    record->id = r->first ? id : r->last_id + id;
    record->wall_usec = usec;
    if (record->id <= r->last_id || usec < 0 || usec > TRACE_FILE_WALL_USEC_MAX) return false;
    if (!get_varint(r, &record->client)) return false;
    if (!get_number(r, ((uint64_t)TRACE_FILE_DATABASE_MAX << 1) | 1, &place)) return false;
    record->database = (uint32_t)(place >> 1);
    record->by_script = place & 1;
    if (!get_number(r, TRACE_FILE_ARGUMENTS_MAX, &count) || !count) return false;
    record->argument_count = (uint32_t)count;
    record->arguments = r->arguments;
    for (uint64_t i = 0; i < count; i++)
        if (!get_argument(r, &r->arguments[i])) return false;
    if (r->arguments[0].kind != TRACE_FILE_WORD) return false;
    r->first = false;
    r->last_id = record->id;
    r->last_usec = usec;
    r->records++;
    return true;
}

/* --- the file --------------------------------------------------------------------------------- */

/* Goes to the next block. False where no block of records follows: r->status says why. */
static bool enter_block(struct trace_file_reader *r) {
    enum block_status status = read_block(r);
    bool good = status == BLOCK_GOOD;
    if (status == BLOCK_BAD || status == BLOCK_TORN || status == BLOCK_NONE) {
        r->status = status == BLOCK_BAD ? TRACE_FILE_IS_BAD : TRACE_FILE_IS_CUT;
    } else if (r->kind == TRACE_FILE_LAST) {
        r->status = read_end_text(r) ? TRACE_FILE_IS_WHOLE : TRACE_FILE_IS_BAD;
        good = false;
    } else if (r->kind != TRACE_FILE_RECORDS) {
        good = call_bad(r, "it is of no known kind");
        r->status = TRACE_FILE_IS_BAD;
    }
    return good;
}

enum trace_file_status trace_file_next(struct trace_file_reader *r,
                                       struct trace_file_record *record) {
    while (r->status == TRACE_FILE_HAS_RECORD && r->at == r->end)
        if (!enter_block(r)) break;
    if (r->status != TRACE_FILE_HAS_RECORD) return r->status;
    if (get_record(r, record)) return TRACE_FILE_HAS_RECORD;
    call_bad(r, "a record makes no sense");
    return r->status = TRACE_FILE_IS_BAD;
}

/* Reads magic, version and head. False with r->reason. */
static bool read_begin(struct trace_file_reader *r) {
    char header[HEADER_BYTES] = {0};
    const char *why = NULL;
    enum block_status status = read_part(r, header, sizeof(header));
    if (status == BLOCK_BAD) return false;
    uint64_t version = little_number(header + TRACE_FILE_MAGIC_BYTES, 4);
    if (status == BLOCK_NONE) {
        why = "the file is empty";
    } else if (status == BLOCK_TORN ||
               memcmp(header, TRACE_FILE_MAGIC, TRACE_FILE_MAGIC_BYTES) != 0) {
        why = "this is no trace file of redis-lab record";
    } else if (version != TRACE_FILE_VERSION) {
        snprintf(r->reason, sizeof(r->reason),
                 "the trace file has version %" PRIu64 ", and this program reads version %d",
                 version, TRACE_FILE_VERSION);
        return false;
    }
    if (!why) {
        status = read_block(r);
        if (status == BLOCK_BAD) return false;
        if (status != BLOCK_GOOD) {
            why = "the trace file is cut within its head";
        } else if (r->kind != TRACE_FILE_HEAD || r->end - r->at > HEAD_TEXT_BYTES_MAX) {
            return call_bad(r, "it is no head");
        } else {
            return read_head_text(r);
        }
    }
    snprintf(r->reason, sizeof(r->reason), "%s", why);
    return false;
}

struct trace_file_reader *trace_file_open(const char *path, char reason[TRACE_FILE_REASON_CHARS]) {
    int fd = system_open(path, O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0) {
        snprintf(reason, TRACE_FILE_REASON_CHARS, "%.200s: %s", path, strerror(errno));
        return NULL;
    }
    struct trace_file_reader *r = memory_zalloc(sizeof(*r), MEMORY_OTHER);
    r->fd = fd;
    r->bytes = memory_alloc(ORDINAL_BYTES + TRACE_FILE_BLOCK_HEAD_BYTES +
                                TRACE_FILE_BLOCK_BYTES_MAX + TRACE_FILE_BLOCK_SUM_BYTES,
                            MEMORY_OTHER);
    r->arguments = memory_alloc(TRACE_FILE_ARGUMENTS_MAX * sizeof(*r->arguments), MEMORY_OTHER);
    if (read_begin(r)) {
        r->at = r->end;
        return r;
    }
    snprintf(reason, TRACE_FILE_REASON_CHARS, "%.100s: %.200s", path, r->reason);
    trace_file_close(r);
    return NULL;
}

bool trace_file_rewind(struct trace_file_reader *r) {
    r->ordinal = r->last_id = 0;
    r->records = 0;
    bool good = lseek(r->fd, 0, SEEK_SET) == 0 && read_begin(r);
    r->at = r->end;
    r->status = good ? TRACE_FILE_HAS_RECORD : TRACE_FILE_IS_BAD;
    return good;
}

void trace_file_close(struct trace_file_reader *r) {
    if (!r) return;
    system_close(r->fd);
    memory_free(r->bytes, MEMORY_OTHER);
    memory_free(r->arguments, MEMORY_OTHER);
    memory_free(r, MEMORY_OTHER);
}

const struct trace_file_head *trace_file_head(const struct trace_file_reader *r) {
    return &r->head;
}

const struct trace_file_end *trace_file_end(const struct trace_file_reader *r) {
    ASSERT(r->status == TRACE_FILE_IS_WHOLE);
    return &r->last;
}

const char *trace_file_read_error(const struct trace_file_reader *r) { return r->reason; }
