/* SPDX-License-Identifier: BSD-3-Clause
 * The writer: a block in memory, and a descriptor.
 *
 * Invariants
 *  1. The file's first `good_bytes` bytes are magic, version and whole blocks.
 *  2. `block` holds the records that are not in the file yet; none where it is empty.
 *  3. After a failed write only the end is written.
 */
#include "trace_file/trace_file_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>

#include "base/checksum.h"
#include "base/memory.h"
#include "base/panic.h"
#include "base/system.h"
#include "io/file.h"

/* A block is written when it has so many bytes; a record more fits into TRACE_FILE_BLOCK_BYTES_MAX.
 */
#define BLOCK_BYTES_FULL 65536
#define RECORD_BYTES_MAX (TRACE_FILE_BLOCK_BYTES_MAX - BLOCK_BYTES_FULL)
#define FILE_MODE 0600 /* keys can be private */

struct trace_file_writer {
    int fd, error; /* the errno of the first failed write */
    off_t good_bytes;
    uint64_t ordinal; /* of the next block */
    struct buffer block, one;
    uint64_t last_id;
    int64_t last_usec, records, block_records;
    char reason[TRACE_FILE_REASON_CHARS];
};

/* --- numbers ---------------------------------------------------------------------------------- */

static void append_little(struct buffer *out, uint64_t value, unsigned bytes) {
    for (unsigned i = 0; i < bytes; i++) buffer_append_char(out, (char)(value >> (8 * i)));
}

/* Seven bits a byte, the low ones first; the high bit says that another byte follows. */
static void append_varint(struct buffer *out, uint64_t value) {
    while (value >= 128) {
        buffer_append_char(out, (char)(value | 128));
        value >>= 7;
    }
    buffer_append_char(out, (char)value);
}

/* Small numbers of both signs become small ones without: 0, -1, 1, -2 ... */
static void append_signed(struct buffer *out, int64_t value) {
    append_varint(out, ((uint64_t)value << 1) ^ (uint64_t)(value >> 63));
}

/* --- blocks ----------------------------------------------------------------------------------- */

static bool note_error(struct trace_file_writer *w, int error) {
    if (!w->error) {
        w->error = error;
        snprintf(w->reason, sizeof(w->reason), "the trace file cannot be written: %s",
                 strerror(error));
    }
    return false;
}

/* Writes bytes behind the good ones. After a failure the torn rest is cut off. */
static bool write_good(struct trace_file_writer *w, struct slice bytes) {
    if (!file_write(w->fd, bytes, NULL)) {
        int error = errno;
        /* Where this fails too, a reader sees a torn block, which is no harm. */
        if (file_truncate(w->fd, w->good_bytes)) (void)lseek(w->fd, w->good_bytes, SEEK_SET);
        return note_error(w, error);
    }
    w->good_bytes += (off_t)bytes.length;
    return true;
}

static bool write_block(struct trace_file_writer *w, enum trace_file_block kind,
                        struct slice payload) {
    struct buffer out = {.class = MEMORY_OTHER};
    ASSERT(payload.length <= TRACE_FILE_BLOCK_BYTES_MAX);
    append_little(&out, w->ordinal, 8);
    buffer_append_char(&out, (char)kind);
    append_little(&out, payload.length, 4);
    buffer_append(&out, payload.bytes, payload.length);
    append_little(&out, checksum_crc64(0, out.bytes, out.length), TRACE_FILE_BLOCK_SUM_BYTES);
    /* The ordinal is covered by the sum, but not written. */
    bool good = write_good(w, (struct slice){out.bytes + 8, out.length - 8});
    buffer_free(&out);
    w->ordinal += good;
    return good;
}

/* --- records ---------------------------------------------------------------------------------- */

static void append_argument(struct buffer *out, const struct trace_file_argument *a) {
    uint64_t size = a->kind == TRACE_FILE_VALUE ? (uint64_t)a->size : a->text.length;
    append_varint(out, size << 2 | (uint64_t)a->kind);
    buffer_append(out, a->text.bytes, a->text.length);
    if (a->kind != TRACE_FILE_KEY) return;
    append_varint(out, (uint64_t)(a->bytes + 1));
    if (a->bytes >= 0) append_varint(out, (uint64_t)(a->ttl_msec + 1));
}

bool trace_file_write(struct trace_file_writer *w, const struct trace_file_record *record) {
    ASSERT(record->id > w->last_id && record->argument_count);
    ASSERT(record->argument_count <= TRACE_FILE_ARGUMENTS_MAX);
    if (w->error) return false;
    bool first = !w->block_records;
    buffer_clear(&w->one);
    append_varint(&w->one, first ? record->id : record->id - w->last_id);
    append_signed(&w->one, first ? record->wall_usec : record->wall_usec - w->last_usec);
    append_varint(&w->one, record->client);
    append_varint(&w->one, (uint64_t)record->database << 1 | record->by_script);
    append_varint(&w->one, record->argument_count);
    for (uint32_t i = 0; i < record->argument_count; i++)
        append_argument(&w->one, &record->arguments[i]);
    if (w->one.length > RECORD_BYTES_MAX) return true; /* its missing id is seen as a gap */
    buffer_append(&w->block, w->one.bytes, w->one.length);
    w->block_records++;
    w->last_id = record->id;
    w->last_usec = record->wall_usec;
    return w->block.length < BLOCK_BYTES_FULL || trace_file_flush(w);
}

bool trace_file_flush(struct trace_file_writer *w) {
    if (w->error) return false;
    if (!w->block_records) return true;
    if (!write_block(w, TRACE_FILE_RECORDS, buffer_slice(&w->block))) return false;
    w->records += w->block_records;
    w->block_records = 0;
    buffer_clear(&w->block);
    return true;
}

/* --- begin and end ---------------------------------------------------------------------------- */

/* A figure that a reader takes: what a server says may be absurd. */
static int64_t sound_figure(int64_t figure, int64_t least) {
    return figure < least ? least : figure > TRACE_FILE_NUMBER_MAX ? TRACE_FILE_NUMBER_MAX : figure;
}

/* A line end in a server's text would begin a line of its own. */
static void append_text_line(struct buffer *out, const char *name, const char *text) {
    char shown[TRACE_FILE_WORD_CHARS];
    buffer_printf(out, "%s %s\n", name, string_show(slice_of(text), shown, sizeof(shown)));
}

static bool write_head(struct trace_file_writer *w, const struct trace_file_head *head) {
    struct buffer text = {.class = MEMORY_OTHER};
    buffer_append(&text, TRACE_FILE_MAGIC, TRACE_FILE_MAGIC_BYTES);
    append_little(&text, TRACE_FILE_VERSION, 4);
    bool good = write_good(w, buffer_slice(&text));
    buffer_clear(&text);
    buffer_printf(&text, "began_usec %" PRId64 "\nsample %" PRId64 "\nhashed %d\n",
                  head->began_usec, head->sample, head->hashed);
    append_text_line(&text, "server", head->server);
    append_text_line(&text, "policy", head->policy);
    buffer_printf(&text,
                  "maxmemory %" PRId64 "\nused_bytes %" PRId64 "\noverhead_bytes %" PRId64
                  "\nkeys %" PRId64 "\n",
                  sound_figure(head->maxmemory, -1), sound_figure(head->used_bytes, -1),
                  sound_figure(head->overhead_bytes, -1), sound_figure(head->keys, -1));
    good = good && write_block(w, TRACE_FILE_HEAD, buffer_slice(&text));
    buffer_free(&text);
    return good;
}

static void free_writer(struct trace_file_writer *w) {
    if (w->fd >= 0) system_close(w->fd);
    buffer_free(&w->block);
    buffer_free(&w->one);
    memory_free(w, MEMORY_OTHER);
}

struct trace_file_writer *trace_file_create(const char *path, bool force,
                                            const struct trace_file_head *head,
                                            char reason[TRACE_FILE_REASON_CHARS]) {
    int fd =
        system_open(path, O_WRONLY | O_CREAT | O_CLOEXEC | (force ? O_TRUNC : O_EXCL), FILE_MODE);
    if (fd < 0) {
        snprintf(reason, TRACE_FILE_REASON_CHARS, "%.200s: %s", path,
                 errno == EEXIST ? "the file exists; --force overwrites it" : strerror(errno));
        return NULL;
    }
    struct trace_file_writer *w = memory_zalloc(sizeof(*w), MEMORY_OTHER);
    w->fd = fd;
    w->block.class = w->one.class = MEMORY_OTHER;
    if (write_head(w, head)) return w;
    snprintf(reason, TRACE_FILE_REASON_CHARS, "%s", w->reason);
    free_writer(w);
    return NULL;
}

static const char *const endings[] = {[TRACE_FILE_ENDED] = "ended",
                                      [TRACE_FILE_SERVER_LOST] = "server-lost",
                                      [TRACE_FILE_DISK_FULL] = "disk-full"};

bool trace_file_finish(struct trace_file_writer *w, struct trace_file_end *end,
                       char reason[TRACE_FILE_REASON_CHARS]) {
    struct buffer text = {.class = MEMORY_OTHER};
    bool written = trace_file_flush(w);
    end->records = w->records;
    if (w->error) end->ending = TRACE_FILE_DISK_FULL;
    buffer_printf(&text,
                  "ending %s\nended_usec %" PRId64 "\nrecords %" PRId64 "\nmissing %" PRId64
                  "\nwithout_keys %" PRId64 "\n",
                  endings[end->ending], end->ended_usec, end->records,
                  sound_figure(end->missing, 0), sound_figure(end->without_keys, 0));
    bool good = write_block(w, TRACE_FILE_LAST, buffer_slice(&text)) && written;
    buffer_free(&text);
    /* EINVAL: what is written to is no file that could be synced. */
    if (good && !file_sync(w->fd) && errno != EINVAL) good = note_error(w, errno);
    if (system_close(w->fd) < 0 && good) good = note_error(w, errno);
    w->fd = -1;
    snprintf(reason, TRACE_FILE_REASON_CHARS, "%s", w->reason);
    free_writer(w);
    return good;
}

int64_t trace_file_written(const struct trace_file_writer *w) { return w->records; }

const char *trace_file_write_error(const struct trace_file_writer *w) { return w->reason; }
