/* SPDX-License-Identifier: BSD-3-Clause
 * Replies as text, in three forms.
 *
 * Formatted: a type before each value that is no text, texts in quotes, elements numbered, those
 * within others set in below them. Raw: texts as they are, one a line, whatever is within what.
 * CSV: the same in quotes, one line a reply.
 *
 * Invariant: of what the server sends nothing that is formatted moves a terminal's cursor, changes
 * its colours or its title; texts like INFO's keep their tabs and line ends. Raw replies are as the
 * server has them.
 *
 * Depth is bounded by PEER_DEPTH_MAX, so the functions call themselves.
 */
#include "cli/cli_format.h"

#include <inttypes.h>

#define MARGIN_CHARS (PEER_DEPTH_MAX * 16)
#define DELETE_CHAR 0x7f
#define UTF8_OF_CONTROL 0xc2 /* before 0x80 to 0x9f it is a control character, too */

/* --- text without quotes ---------------------------------------------------------------------- */

/* Bytes from `at` on that a terminal obeys: 0, 1, or 2. */
static size_t count_obeyed(struct slice text, size_t at) {
    unsigned char c = (unsigned char)text.bytes[at];
    unsigned char next = at + 1 < text.length ? (unsigned char)text.bytes[at + 1] : 0;
    if (c == UTF8_OF_CONTROL && next >= 0x80 && next < 0xa0) return 2;
    return c < ' ' || c == DELETE_CHAR;
}

/* All but the characters of `kept`. */
static void append_harmless(struct buffer *out, struct slice text, const char *kept) {
    for (size_t i = 0; i < text.length;) {
        char c = text.bytes[i];
        size_t obeyed = c && strchr(kept, c) ? 0 : count_obeyed(text, i);
        if (!obeyed) buffer_append_char(out, text.bytes[i++]);
        for (; obeyed; obeyed--) buffer_printf(out, "\\x%02x", (unsigned char)text.bytes[i++]);
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
    char mark; /* behind an element's number */
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
        out->length--; /* the key's line end */
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

/* Returns what follows the reply. */
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
    const char *between; /* elements */
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
