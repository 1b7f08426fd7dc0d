/* SPDX-License-Identifier: BSD-3-Clause
 * Reading a log. Source of the format: the files of Redis 6.2.
 *
 *   a command lies whole in the window, as nearly all do    read_in_window: slices of the window
 *   it does not, has a long argument, or is at fault        read_in_parts: arguments are copied
 *
 * net/request's parser reads the commands in both ways, as it reads the requests of clients and of
 * a primary: it knows the numbers, counts and limits of a command. In the first way the parser is
 * given the window, in the second way one header after the other, because an argument's bytes go
 * from the source straight to their place.
 *
 * A log is stricter than a connection, and a fault is reported with its place and its bytes, in the
 * words of 6.2. The parser does neither, so this file does: request_is_canonical in the first way,
 * read_header and read_line_end in the second. Where the first way fails it has changed nothing,
 * and the second way begins again; so faults are always found and reported by the second way.
 *
 * A power cut may leave a file whose end was never written and reads as zeros. Such a file is
 * treated as one that ends where the zeros begin.
 *
 * Invariants
 *  1. The source stands at `end` of the command that was read, but for `taken` bytes before it.
 *  2. kept[0..argc) are blocks that were not taken, or NULL; all further elements are NULL. The
 *     blocks are of class MEMORY_OTHER while the command is being read, because turns of the loop
 *     may come meanwhile, and during a turn all memory of MEMORY_CLIENTS belongs to clients
 *     (net/client_memory.c).
 *  3. What is allocated for a command is in proportion to the bytes of it that have come.
 */
#include "aof/aof_read.h"

#include <ctype.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/blob.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/panic.h"
#include "net/batch.h"
#include "net/request.h"

/* How many digits a number may have: more would not fit 64 bits. */
#define DIGITS_MAX 18
/* The fewest bytes of an argument: "$0\r\n\r\n". */
#define ARGUMENT_BYTES_MIN 6
/* Room that is made for the arguments of a command at first. */
#define ROOM_FIRST 16
/* A buffer that has grown beyond this is freed after the command. */
#define TEXT_BYTES_KEPT (1 << 20)
#define ARGUMENTS_KEPT (1 << 16)
/* How many bytes are compared at a time. */
#define ZEROS_BYTES 4096

void aof_reader_open(struct aof_reader *r, struct source *in) {
    *r = (struct aof_reader){.in = in, .line = 1};
    buffer_init(&r->text, MEMORY_OTHER);
}

static void free_room(struct aof_reader *r) {
    memory_free(r->argv, MEMORY_OTHER);
    memory_free(r->kept, MEMORY_OTHER);
    r->argv = NULL;
    r->kept = NULL;
    r->room = 0;
}

static void make_room(struct aof_reader *r, size_t arguments) {
    if (arguments <= r->room) return;
    size_t room = r->room ? r->room : ROOM_FIRST;
    while (room < arguments) room *= 2;
    r->argv = memory_realloc(r->argv, room * sizeof(r->argv[0]), MEMORY_OTHER);
    r->kept = memory_realloc(r->kept, room * sizeof(r->kept[0]), MEMORY_OTHER);
    memset(r->kept + r->room, 0, (room - r->room) * sizeof(r->kept[0]));
    r->room = room;
}

/* Frees what the last command left. */
static void drop_command(struct aof_reader *r) {
    for (int i = 0; r->blobs && i < r->argc; i++) {
        blob_free(r->kept[i], r->whole ? MEMORY_CLIENTS : MEMORY_OTHER);
        r->kept[i] = NULL;
    }
    r->whole = false;
    r->blobs = NULL;
    r->argc = 0;
    if (r->room > ARGUMENTS_KEPT) free_room(r);
    if (r->text.capacity > TEXT_BYTES_KEPT) {
        buffer_free(&r->text);
        buffer_init(&r->text, MEMORY_OTHER);
    }
    buffer_clear(&r->text);
}

void aof_reader_close(struct aof_reader *r) {
    drop_command(r);
    free_room(r);
    buffer_free(&r->text);
}

bool aof_read_is(const struct aof_reader *r, const char *name) {
    return slice_equal_nocase(r->argv[0], slice_of(name));
}

/* ---- in the window ---- */

/* Requests of clients have this form, too, so their parser reads it. It takes more than a log may
 * have: only the canonical form is believed. */
static bool read_in_window(struct aof_reader *r) {
    struct slice window = source_window(r->in);
    const char *at = window.bytes, *end = at + window.length;
    if (!window.length || *at != '*') return false;
    struct request_parser parser = {.argv = r->argv,
                                    .capacity = (int)r->room,
                                    .bulk_length = -1,
                                    .authenticated = true,
                                    .bulk_max = BATCH_ADOPT_BYTES - 1};
    enum request_status status = request_parse(&parser, &at, end, NULL);
    if (status == REQUEST_ROOM) {
        if ((uint64_t)parser.room > window.length / ARGUMENT_BYTES_MIN) return false;
        make_room(r, (size_t)parser.room);
        parser.argv = r->argv;
        parser.capacity = (int)r->room;
        status = request_parse(&parser, &at, end, NULL);
    }
    struct slice command = {window.bytes, (size_t)(at - window.bytes)};
    if (status != REQUEST_READY || !parser.argc) return false;
    if (!request_is_canonical(command, parser.argc, parser.argv)) return false;
    r->argc = parser.argc;
    r->taken = command.length;
    r->end = r->begin + r->taken;
    r->line += 1 + 2 * (uint64_t)parser.argc;
    return true;
}

/* ---- in parts ---- */

static enum aof_read tell_read(struct aof_reader *r, enum aof_read what, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static enum aof_read tell_read(struct aof_reader *r, enum aof_read what, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(r->fault, sizeof(r->fault), format, arguments);
    va_end(arguments);
    return what;
}

/* Reports that the source gives no more bytes. */
static enum aof_read tell_end(struct aof_reader *r, const char *wanted) {
    if (r->in->status == SOURCE_GOOD || r->in->status == SOURCE_ENDED)
        return tell_read(r, AOF_READ_CUT, "Reached EOF before reading %s", wanted);
    return tell_read(r, AOF_READ_FAILED, "%s", source_fault(r->in));
}

/* The next byte; -1: there is none. */
static int next_byte(struct aof_reader *r) {
    unsigned char byte;
    if (source_at_end(r->in) || !source_read(r->in, &byte, 1)) return -1;
    return byte;
}

/* Whether only zeros follow, up to the end. */
static bool zeros_follow(struct aof_reader *r) {
    static const char zeros[ZEROS_BYTES];
    while (!source_at_end(r->in)) {
        struct slice window = source_window(r->in);
        size_t length = window.length < sizeof(zeros) ? window.length : sizeof(zeros);
        if (!length || memcmp(window.bytes, zeros, length) != 0) return false;
        if (!source_skip(r->in, length)) return false;
    }
    return r->in->status == SOURCE_GOOD;
}

/* Reports a fault whose first byte is `byte`: AOF_READ_CUT where only zeros follow. */
static enum aof_read tell_bad(struct aof_reader *r, int byte) {
    if (byte || !zeros_follow(r)) return AOF_READ_BAD;
    return tell_read(r, AOF_READ_CUT, "Nothing but zeros up to the end");
}

/* Reads the two bytes that end a line or an argument; `first` is the first of them. */
static enum aof_read read_line_end(struct aof_reader *r, int first) {
    if (first < 0) return tell_end(r, "\\r\\n");
    int second = next_byte(r);
    if (first == '\r' && second < 0) return tell_end(r, "\\n");
    if (first == '\r' && second == '\n') {
        r->line++;
        return AOF_READ_COMMAND;
    }
    tell_read(r, AOF_READ_BAD, "Expected \\r\\n, got: %02x%02x", (unsigned)first,
              second < 0 ? 0U : (unsigned)second);
    if (second > 0 && first != '\r') return AOF_READ_BAD;
    return tell_bad(r, first == '\r' ? second : first);
}

/* A header's bytes, without superfluous zeros: "*2\r\n". */
struct header {
    char bytes[1 + DIGITS_MAX + 2];
    size_t length;
};

static enum aof_read read_header(struct aof_reader *r, char prefix, struct header *h) {
    *h = (struct header){{prefix}, 1};
    r->offset = source_offset(r->in);
    int byte = next_byte(r), digits = 0;
    if (byte < 0) return tell_end(r, prefix == '*' ? "a command" : "an argument's length");
    if (byte != prefix) {
        tell_read(
            r, AOF_READ_BAD,
            isprint(byte) ? "Expected prefix '%c', got: '%c'" : "Expected prefix '%c', got: %02x",
            prefix, (unsigned)byte);
        return tell_bad(r, byte);
    }
    while ((byte = next_byte(r)) >= '0' && byte <= '9') {
        if (++digits > DIGITS_MAX)
            return tell_read(r, AOF_READ_BAD, "A number has too many digits");
        if (h->length == 2 && h->bytes[1] == '0') h->length = 1;
        h->bytes[h->length++] = (char)byte;
    }
    if (byte >= 0 && !digits) {
        tell_read(r, AOF_READ_BAD, "Expected a number behind '%c'", prefix);
        return tell_bad(r, byte);
    }
    enum aof_read status = read_line_end(r, byte);
    memcpy(h->bytes + h->length, "\r\n", 2);
    h->length += 2;
    return status;
}

/* Gives the parser a header. False where it refuses the number; a number that is taken stands in
 * the parser, which waits for what the header announces. */
static bool parse_header(struct request_parser *p, const struct header *h) {
    const char *at = h->bytes;
    return request_parse(p, &at, h->bytes + h->length, NULL) == REQUEST_INCOMPLETE;
}

/* The header's number, which a message says also where the parser refuses it. */
static int64_t header_number(const struct header *h) {
    int64_t number = 0;
    bool is_number = number_parse_int64(h->bytes + 1, h->length - 3, &number);
    ASSERT(is_number);
    return number;
}

/* Reads the bytes of argument `index`, which `argc` counts already. */
static bool read_text(struct aof_reader *r, int index, size_t length) {
    if (r->only_names) {
        size_t shown = index ? 0 : length < AOF_NAME_BYTES_MAX ? length : AOF_NAME_BYTES_MAX;
        if (!source_read(r->in, buffer_reserve(&r->text, shown), shown)) return false;
        r->text.length += shown;
        if (index == 0) r->argv[0] = (struct slice){NULL, shown};
        return source_skip(r->in, length - shown);
    }
    if (length >= BATCH_ADOPT_BYTES) {
        struct blob *b = r->kept[index] = blob_create(length, MEMORY_OTHER);
        r->blobs = r->kept;
        b->length = length;
        r->argv[index] = blob_slice(b);
        return source_read(r->in, b->bytes, length);
    }
    r->argv[index] = (struct slice){NULL, length};
    bool good = source_read(r->in, buffer_reserve(&r->text, length), length);
    if (good) r->text.length += length;
    return good;
}

/* Reads the argument that the parser wants next, past its line end. */
static enum aof_read read_argument(struct aof_reader *r, struct request_parser *p) {
    struct header h;
    enum aof_read status = read_header(r, '$', &h);
    if (status != AOF_READ_COMMAND) return status;
    r->offset = source_offset(r->in);
    bool is_taken = parse_header(p, &h);
    int64_t length = header_number(&h);
    uint64_t left = source_left_max(r->in);
    if ((uint64_t)length + 2 > left)
        return tell_read(r, AOF_READ_CUT,
                         "Expected to read %" PRId64 " bytes, got %" PRIu64 " bytes", length + 2,
                         left);
    if (!is_taken)
        return tell_read(r, AOF_READ_BAD, "An argument of %" PRId64 " bytes is too long", length);
    make_room(r, r->only_names ? 1 : (size_t)p->argc + 1);
    r->argc = p->argc + 1;
    if (!read_text(r, p->argc, (size_t)length)) return tell_end(r, "all of an argument");
    p->argc++;
    p->bulk_length = -1;
    return read_line_end(r, next_byte(r));
}

/* Sets the arguments' addresses, now that `text` has them all and does not move any more. */
static void place_texts(struct aof_reader *r) {
    const char *at = r->text.bytes;
    for (int i = 0; i < (r->only_names ? 1 : r->argc); i++) {
        if (r->argv[i].bytes) continue;
        r->argv[i].bytes = at;
        at += r->argv[i].length;
    }
}

/* The command is whole: gives its blocks the class that their taker expects. */
static void hand_over(struct aof_reader *r) {
    r->whole = true;
    for (int i = 0; r->blobs && i < r->argc; i++)
        if (r->kept[i])
            memory_move(r->kept[i], blob_bytes(r->kept[i]), MEMORY_OTHER, MEMORY_CLIENTS);
}

static enum aof_read read_in_parts(struct aof_reader *r) {
    struct request_parser parser = {.capacity = INT_MAX, /* the arguments are placed here */
                                    .bulk_length = -1,
                                    .authenticated = true,
                                    .bulk_max = REQUEST_BULK_MAX_MOST};
    struct header h;
    enum aof_read status = read_header(r, '*', &h);
    if (status != AOF_READ_COMMAND) return status;
    if (!parse_header(&parser, &h))
        return tell_read(r, AOF_READ_BAD, "A command of %" PRId64 " arguments", header_number(&h));
    buffer_reserve(&r->text, 1); /* an empty text has an address too */
    while (parser.argc < parser.arguments && status == AOF_READ_COMMAND)
        status = read_argument(r, &parser);
    if (status != AOF_READ_COMMAND) return status;
    place_texts(r);
    hand_over(r);
    r->end = source_offset(r->in);
    return AOF_READ_COMMAND;
}

enum aof_read aof_read(struct aof_reader *r) {
    drop_command(r);
    if (r->taken && !source_skip(r->in, r->taken)) return tell_end(r, "on");
    r->taken = 0;
    r->begin = r->offset = source_offset(r->in);
    if (source_at_end(r->in)) return AOF_READ_END;
    if (r->in->status != SOURCE_GOOD) return tell_end(r, "on");
    return read_in_window(r) ? AOF_READ_COMMAND : read_in_parts(r);
}
