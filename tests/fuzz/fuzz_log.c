/* SPDX-License-Identifier: BSD-3-Clause
 * Fuzzes the append only file's parser: what is read is, written again, the bytes that stand there;
 * a window of any size and names alone give the same commands and the same end; what is at fault is
 * said with its place.
 *
 * Covers: src/aof/aof_read.c
 *
 * The first byte is the size of the window.
 */
#include <string.h>

#include "aof/aof_format.h"
#include "aof/aof_read.h"
#include "base/memory.h"
#include "base/panic.h"

#define WINDOW_MAX 256

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Gives its bytes window by window. */
struct pieces {
    struct source source;
    struct slice rest;
    char window[WINDOW_MAX];
};

static ssize_t give(struct source *s, void *bytes, size_t length) {
    struct pieces *p = (struct pieces *)s;
    if (length > p->rest.length) length = p->rest.length;
    if (length) memcpy(bytes, p->rest.bytes, length);
    p->rest.bytes += length;
    p->rest.length -= length;
    return (ssize_t)length;
}

static const struct source_type pieces_type = {give};

struct end {
    enum aof_read status;
    uint64_t commands, begin, offset, line;
};

/* A number with zeros before it is the same number, and shorter. */
static void check_command(const struct aof_reader *r, struct slice log, struct buffer *again) {
    buffer_clear(again);
    aof_format_append(again, r->argc, r->argv);
    ASSERT(again->length <= r->end - r->begin);
    if (again->length == r->end - r->begin)
        ASSERT(memcmp(again->bytes, log.bytes + r->begin, again->length) == 0);
}

static struct end read_all(struct source *in, struct slice log, bool only_names) {
    struct aof_reader r;
    struct buffer again;
    struct end end = {0};
    buffer_init(&again, MEMORY_OTHER);
    aof_reader_open(&r, in);
    r.only_names = only_names;
    for (; (end.status = aof_read(&r)) == AOF_READ_COMMAND; end.commands++) {
        ASSERT(r.argc > 0 && r.begin == end.begin);
        end.begin = r.end;
        if (!only_names) check_command(&r, log, &again);
    }
    ASSERT(end.status != AOF_READ_FAILED && r.begin == end.begin);
    ASSERT(end.status == AOF_READ_END || r.fault[0]);
    end.offset = r.offset;
    end.line = r.line;
    ASSERT(end.offset >= end.begin && end.offset <= log.length);
    aof_reader_close(&r);
    buffer_free(&again);
    return end;
}

static void assert_same(struct end a, struct end b) {
    ASSERT(a.status == b.status && a.commands == b.commands && a.begin == b.begin);
    ASSERT(a.offset == b.offset && a.line == b.line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    size_t used = memory_used(MEMORY_CLIENTS), other = memory_used(MEMORY_OTHER);
    if (size == 0) return 0;
    struct slice log = {(const char *)data + 1, size - 1};
    struct source whole;
    slice_source_init(&whole, log);
    struct end end = read_all(&whole, log, false);
    for (int names = 0; names < 2; names++) {
        struct pieces p = {.rest = log};
        source_init(&p.source, &pieces_type, p.window, 1U + data[0], log.length);
        assert_same(end, read_all(&p.source, log, names));
    }
    ASSERT(memory_used(MEMORY_CLIENTS) == used && memory_used(MEMORY_OTHER) == other);
    return 0;
}
