/* SPDX-License-Identifier: BSD-3-Clause
 * Replies as text, in three forms.
 *
 * Formatted: strings are quoted, other values are preceded by their type, elements are numbered,
 * and nested elements are indented. Raw: each string as it is on a line of its own, nesting is not
 * shown. CSV: strings are quoted, and a reply is one line.
 *
 * Invariant: formatted output has no byte from the server that moves a terminal's cursor or changes
 * its colours or title; texts like INFO's keep their tabs and line ends. Raw replies are written as
 * the server sent them.
 *
 * The functions may recurse, because PEER_DEPTH_MAX limits the depth of a reply.
 */
#include "cli/cli_format.h"

#include <inttypes.h>

#define MARGIN_CHARS (PEER_DEPTH_MAX * 16)
#define DELETE_CHAR 0x7f
/* --- text without quotes ---------------------------------------------------------------------- */

/* A range of multi-byte characters in UTF-8 (RFC 3629): the first byte's range, the number of bytes
 * that follow it, and the second byte's range. The table leaves out overlong encodings, surrogates
 * and code points above U+10FFFF. It also leaves out U+0080 to U+009F, because terminals obey these
 * control characters (C1). */
static const struct utf8_range {
    unsigned char first, last, following, second_least, second_most;
} utf8_ranges[] = {
    {0xc2, 0xc2, 1, 0xa0, 0xbf}, {0xc3, 0xdf, 1, 0x80, 0xbf}, {0xe0, 0xe0, 2, 0xa0, 0xbf},
    {0xe1, 0xec, 2, 0x80, 0xbf}, {0xed, 0xed, 2, 0x80, 0x9f}, {0xee, 0xef, 2, 0x80, 0xbf},
    {0xf0, 0xf0, 3, 0x90, 0xbf}, {0xf1, 0xf3, 3, 0x80, 0xbf}, {0xf4, 0xf4, 3, 0x80, 0x8f},
};

/* The number of bytes of the printable character at `at`; 0 where none begins there. */
static size_t printable_bytes(const unsigned char *at, size_t left) {
    if (*at < 0x80) return *at >= ' ' && *at != DELETE_CHAR;
    for (size_t i = 0; i < sizeof(utf8_ranges) / sizeof(utf8_ranges[0]); i++) {
        const struct utf8_range *range = &utf8_ranges[i];
        if (*at < range->first || *at > range->last) continue;
        if (left <= range->following) return 0;
        if (at[1] < range->second_least || at[1] > range->second_most) return 0;
        for (size_t n = 2; n <= range->following; n++)
            if (at[n] < 0x80 || at[n] > 0xbf) return 0;
        return range->following + 1U;
    }
    return 0;
}

/* Appends printable characters and the characters of `kept` unchanged, and each other byte as \xNN.
 * Single bytes from 0x80 to 0x9f are escaped, too, because a terminal in 8-bit mode obeys them. */
static void append_harmless(struct buffer *out, struct slice text, const char *kept) {
    for (size_t i = 0; i < text.length;) {
        const char *at = text.bytes + i;
        size_t bytes = printable_bytes((const unsigned char *)at, text.length - i);
        if (*at && strchr(kept, *at)) bytes = 1;
        if (bytes)
            buffer_append(out, at, bytes);
        else
            buffer_printf(out, "\\x%02x", (unsigned char)*at);
        i += bytes ? bytes : 1;
    }
}

void cli_format_plain(struct buffer *out, struct slice text) { append_harmless(out, text, ""); }
void cli_format_text(struct buffer *out, struct slice text) {
    append_harmless(out, text, "\t\r\n");
}

void cli_format_complain(const char *before, struct slice text) {
    struct buffer line = {.class = MEMORY_OTHER};
    cli_format_plain(&line, text);
    fprintf(stderr, "%s%.*s\n", before, (int)line.length, line.length ? line.bytes : "");
    buffer_free(&line);
}

/* --- formatted -------------------------------------------------------------------------------- */

static int digits_of(uint32_t number) {
    int digits = 1;
    for (; number >= 10; number /= 10) digits++;
    return digits;
}

static const struct peer_reply *format_one(struct buffer *out, const struct peer_reply *reply,
                                           const char *margin);

struct aggregate_form {
    enum peer_type type;
    char mark; /* printed after an element's number */
    const char *empty;
};
static const struct aggregate_form aggregate_forms[] = {
    {PEER_ARRAY, ')', "(empty array)\n"},
    {PEER_MAP, '#', "(empty hash)\n"},
    {PEER_SET, '~', "(empty set)\n"},
    {PEER_PUSH, ')', "(empty push)\n"},
};

static const struct aggregate_form *form_of(enum peer_type type) {
    const struct aggregate_form *form = aggregate_forms;
    while (form->type != type) form++;
    return form;
}

static void format_aggregate(struct buffer *out, const struct peer_reply *reply,
                             const char *margin) {
    const struct aggregate_form *form = form_of(reply->type);
    bool pairs = reply->type == PEER_MAP;
    uint32_t count = pairs ? reply->children / 2 : reply->children;
    int width = digits_of(count);
    char inner[MARGIN_CHARS];
    if (!count) {
        buffer_append_c_string(out, form->empty);
        return;
    }
    snprintf(inner, sizeof(inner), "%s%*s", margin, width + 2, "");
    const struct peer_reply *child = peer_reply_first(reply);
    for (uint32_t i = 1; i <= count; i++) {
        buffer_printf(out, "%s%*" PRIu32 "%c ", i > 1 ? margin : "", width, i, form->mark);
        child = format_one(out, child, inner);
        if (!pairs) continue;
        out->length--; /* removes the key's line end */
        buffer_append_c_string(out, " => ");
        child = format_one(out, child, inner);
    }
}

static void append_text(struct buffer *out, const char *before, struct slice text) {
    buffer_append_c_string(out, before);
    cli_format_plain(out, text);
    buffer_append_char(out, '\n');
}

static void format_bulk(struct buffer *out, const struct peer_reply *reply) {
    if (reply->verbatim) {
        cli_format_text(out, reply->text);
    } else {
        buffer_append_quoted(out, reply->text);
    }
    buffer_append_char(out, '\n');
}

/* Appends the reply; returns the reply that follows it. */
static const struct peer_reply *format_one(struct buffer *out, const struct peer_reply *reply,
                                           const char *margin) {
    switch (reply->type) {
    case PEER_STATUS: append_text(out, "", reply->text); break;
    case PEER_ERROR: append_text(out, "(error) ", reply->text); break;
    case PEER_INTEGER: buffer_printf(out, "(integer) %" PRId64 "\n", reply->integer); break;
    case PEER_BULK: format_bulk(out, reply); break;
    case PEER_NIL: buffer_append_c_string(out, "(nil)\n"); break;
    case PEER_DOUBLE: append_text(out, "(double) ", reply->text); break;
    case PEER_BOOLEAN:
        buffer_append_c_string(out, reply->integer ? "(true)\n" : "(false)\n");
        break;
    case PEER_BIG_NUMBER: append_text(out, "(big number) ", reply->text); break;
    case PEER_ARRAY:
    case PEER_MAP:
    case PEER_SET:
    case PEER_PUSH: format_aggregate(out, reply, margin); break;
    }
    return peer_reply_next(reply);
}

/* --- raw and CSV ------------------------------------------------------------------------------ */

struct flat {
    bool csv;
    const char *between; /* printed between two elements */
};

static void flat_text(struct buffer *out, const struct peer_reply *reply, bool csv) {
    if (csv) {
        buffer_append_quoted(out, reply->text);
    } else {
        buffer_append(out, reply->text.bytes, reply->text.length);
    }
}

static const struct peer_reply *flat_one(struct buffer *out, const struct peer_reply *reply,
                                         const struct flat *flat);

static void flat_aggregate(struct buffer *out, const struct peer_reply *reply,
                           const struct flat *flat) {
    bool pairs = reply->type == PEER_MAP && !flat->csv;
    const struct peer_reply *child = reply + 1;
    for (uint32_t i = 0; i < reply->children; i++) {
        if (i) buffer_append_c_string(out, pairs && i % 2 ? " " : flat->between);
        child = flat_one(out, child, flat);
    }
}

static void flat_error(struct buffer *out, const struct peer_reply *reply, bool csv) {
    if (csv) buffer_append_c_string(out, "ERROR,");
    flat_text(out, reply, csv);
    if (!csv) buffer_append_char(out, '\n');
}

static const struct peer_reply *flat_one(struct buffer *out, const struct peer_reply *reply,
                                         const struct flat *flat) {
    bool csv = flat->csv;
    switch (reply->type) {
    case PEER_STATUS:
    case PEER_BULK: flat_text(out, reply, csv); break;
    case PEER_ERROR: flat_error(out, reply, csv); break;
    case PEER_INTEGER: buffer_printf(out, "%" PRId64, reply->integer); break;
    case PEER_NIL: buffer_append_c_string(out, csv ? "NULL" : ""); break;
    case PEER_DOUBLE:
    case PEER_BIG_NUMBER: buffer_append(out, reply->text.bytes, reply->text.length); break;
    case PEER_BOOLEAN:
        buffer_printf(out, csv ? "%s" : "(%s)", reply->integer ? "true" : "false");
        break;
    case PEER_ARRAY:
    case PEER_MAP:
    case PEER_SET:
    case PEER_PUSH: flat_aggregate(out, reply, flat); break;
    }
    return peer_reply_next(reply);
}

void cli_format_reply(struct buffer *out, const struct peer_reply *reply, enum cli_output output,
                      const struct cli_options *o, bool as_text) {
    if (as_text && (reply->type == PEER_BULK || reply->type == PEER_ERROR)) {
        if (output == CLI_RAW) {
            buffer_append(out, reply->text.bytes, reply->text.length);
        } else {
            cli_format_text(out, reply->text);
        }
        if (!out->length || out->bytes[out->length - 1] != '\n') buffer_append_char(out, '\n');
    } else if (output == CLI_FORMATTED) {
        format_one(out, reply, "");
    } else if (output == CLI_CSV) {
        flat_one(out, reply, &(struct flat){true, ","});
        buffer_append_char(out, '\n');
    } else {
        flat_one(out, reply, &(struct flat){false, o->delimiter});
        buffer_append_c_string(out, o->reply_delimiter);
    }
}

void cli_format_flush(struct buffer *out) {
    if (!out->length) return;
    if (fwrite(out->bytes, 1, out->length, stdout) != out->length || fflush(stdout) != 0) exit(1);
    buffer_clear(out);
}

bool cli_format_is_text_command(const struct slice *words, size_t count) {
    static const char *const names[][2] = {
        {"info"},
        {"lolwut"},
        {"debug", "htstats"},
        {"debug", "htstats-key"},
        {"memory", "doctor"},
        {"memory", "malloc-stats"},
        {"cluster", "info"},
        {"cluster", "nodes"},
        {"client", "list"},
        {"client", "info"},
        {"latency", "graph"},
        {"latency", "doctor"},
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (slice_is(words[0], names[i][0]) &&
            (!names[i][1] || (count > 1 && slice_is(words[1], names[i][1])))) {
            return true;
        }
    }
    return false;
}
