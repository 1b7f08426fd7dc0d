/* SPDX-License-Identifier: BSD-3-Clause
 * The parser of replies. Source of the formats: the Redis serialization protocol's specification,
 * versions 2 and 3.
 *
 * Input is copied to one text buffer as it comes, so the caller's bytes need not stay. A line is
 * gathered at the end of that buffer and read when it is complete. It is cut off again unless part
 * of it is text of the reply. Nodes are appended to one array; open aggregates, which wait for
 * children, are on a stack of frames.
 *
 * Invariants
 *  1. Memory grows with the bytes that have come, never with an announced length or count.
 *  2. text.length <= text_bytes_max and count <= nodes_max at all times.
 *  3. Until the reply is complete, a node has only the length of its text, and `starts` has the
 *     text's offset in the buffer, because the buffer may move. Then the texts become slices.
 *  4. A frame's `left` is above 0. When it falls to 0, the node count of the aggregate is set and
 *     the frame is popped. The nodes and texts of an attribute are removed with its frame: an
 *     attribute is not a child of its parent.
 *  5. After an error nothing is parsed until the parser is reset.
 */
#include "peer/peer_reply.h"

#include <math.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/panic.h"

enum state { STATE_LINE, STATE_BODY };

struct frame {
    uint32_t node; /* index of the aggregate's node */
    uint32_t left; /* children that are still to come */
    size_t text_start;
    bool attribute;
};

struct peer_parser {
    struct peer_limits limits;
    enum memory_class class;
    enum state state;
    enum peer_type body_type;
    bool verbatim, ready;
    size_t token_start; /* offset in `text` of the line or body that is being read */
    uint64_t body_left; /* bytes of the body still to come, with its line end */
    struct buffer text; /* the reply's texts, and the line that is being read */
    struct peer_reply *nodes;
    size_t *starts; /* offset of each node's text */
    uint32_t count, capacity;
    unsigned depth;
    struct frame frames[PEER_DEPTH_MAX];
    const char *error;
};

#define NODES_AT_FIRST 16

struct peer_parser *peer_parser_create(enum memory_class class, const struct peer_limits *limits) {
    struct peer_parser *p = memory_zalloc(sizeof(*p), class);
    p->limits = *limits;
    p->class = class;
    buffer_init(&p->text, class);
    return p;
}

static void free_nodes(struct peer_parser *p) {
    memory_free(p->nodes, p->class);
    memory_free(p->starts, p->class);
    p->nodes = NULL;
    p->starts = NULL;
    p->capacity = 0;
}

void peer_parser_free(struct peer_parser *p) {
    if (!p) return;
    free_nodes(p);
    buffer_free(&p->text);
    memory_free(p, p->class);
}

void peer_parser_reset(struct peer_parser *p) {
    if (p->text.capacity > PEER_KEPT_BYTES) buffer_free(&p->text);
    if (p->capacity * sizeof(*p->nodes) > PEER_KEPT_BYTES) free_nodes(p);
    buffer_clear(&p->text);
    p->state = STATE_LINE;
    p->ready = false;
    p->token_start = 0;
    p->count = 0;
    p->depth = 0;
    p->error = NULL;
}

static bool parser_fail(struct peer_parser *p, const char *error) {
    p->error = error;
    return false;
}

static bool append_text(struct peer_parser *p, const char *bytes, size_t length) {
    if (length > p->limits.text_bytes_max - p->text.length) {
        return parser_fail(p, "the reply's text is larger than allowed");
    }
    buffer_append(&p->text, bytes, length);
    return true;
}

/* Appends a node with an empty text. NULL, with the error set, if there are too many. */
static struct peer_reply *add_node(struct peer_parser *p, enum peer_type type) {
    if (p->count == p->limits.nodes_max) {
        parser_fail(p, "the reply has more elements than allowed");
        return NULL;
    }
    if (p->count == p->capacity) {
        uint32_t capacity = p->capacity ? p->capacity + p->capacity / 2 : NODES_AT_FIRST;
        if (capacity > p->limits.nodes_max || capacity < p->capacity)
            capacity = p->limits.nodes_max;
        p->nodes = memory_realloc(p->nodes, capacity * sizeof(*p->nodes), p->class);
        p->starts = memory_realloc(p->starts, capacity * sizeof(*p->starts), p->class);
        p->capacity = capacity;
    }
    p->starts[p->count] = 0;
    struct peer_reply *node = &p->nodes[p->count++];
    *node = (struct peer_reply){.type = type, .nodes = 1};
    return node;
}

static void resolve_texts(struct peer_parser *p) {
    for (uint32_t i = 0; i < p->count; i++) {
        if (p->nodes[i].text.length) p->nodes[i].text.bytes = p->text.bytes + p->starts[i];
    }
}

/* The last node is complete. Closes the aggregates that it completes, and the reply if there are no
 * others. */
static void close_node(struct peer_parser *p) {
    while (p->depth) {
        struct frame *top = &p->frames[p->depth - 1];
        if (--top->left) return;
        p->depth--;
        if (top->attribute) {
            p->count = top->node;
            p->text.length = top->text_start;
            p->token_start = top->text_start;
            return;
        }
        p->nodes[top->node].nodes = p->count - top->node;
    }
    p->ready = true;
    resolve_texts(p);
}

/* Makes a node of the text from `start` to the end of the buffer. */
static bool add_text(struct peer_parser *p, enum peer_type type, size_t start) {
    struct peer_reply *node = add_node(p, type);
    if (!node) return false;
    node->text = (struct slice){"", p->text.length - start};
    p->starts[p->count - 1] = start;
    p->token_start = p->text.length;
    close_node(p);
    return true;
}

/* Cuts off the line that was read, because no part of it is text of the reply. */
static void drop_token(struct peer_parser *p) { p->text.length = p->token_start; }

static bool add_integer(struct peer_parser *p, enum peer_type type, int64_t value) {
    drop_token(p);
    struct peer_reply *node = add_node(p, type);
    if (!node) return false;
    node->integer = value;
    close_node(p);
    return true;
}

static bool add_double(struct peer_parser *p, struct slice words) {
    double value = NAN;
    if (!slice_is(words, "nan") && !slice_is(words, "-nan") &&
        !number_parse_double(words.bytes, words.length, &value)) {
        return parser_fail(p, "a double is not a number");
    }
    uint32_t place = p->count;
    if (!add_text(p, PEER_DOUBLE, p->token_start + 1)) return false;
    p->nodes[place].real = value;
    return true;
}

static bool add_aggregate(struct peer_parser *p, char mark, struct slice words) {
    static const char marks[] = "*%~>|";
    static const enum peer_type types[] = {PEER_ARRAY, PEER_MAP, PEER_SET, PEER_PUSH, PEER_MAP};
    int64_t count;
    if (!number_parse_int64(words.bytes, words.length, &count)) {
        return parser_fail(p, "a count of elements is not a number");
    }
    if (mark == '*' && count == -1) return add_integer(p, PEER_NIL, 0);
    if (count < 0) return parser_fail(p, "a count of elements is negative");
    bool pairs = mark == '%' || mark == '|';
    if (count > (pairs ? p->limits.nodes_max / 2 : p->limits.nodes_max)) {
        return parser_fail(p, "the reply has more elements than allowed");
    }
    drop_token(p);
    if (mark == '|' && count == 0) return true;
    struct peer_reply *node = add_node(p, types[strchr(marks, mark) - marks]);
    if (!node) return false;
    node->children = (uint32_t)(pairs ? count * 2 : count);
    if (!node->children) {
        close_node(p);
        return true;
    }
    if (p->depth == PEER_DEPTH_MAX)
        return parser_fail(p, "the reply is nested deeper than allowed");
    p->frames[p->depth++] = (struct frame){.node = p->count - 1,
                                           .left = node->children,
                                           .text_start = p->text.length,
                                           .attribute = mark == '|'};
    return true;
}

static bool begin_body(struct peer_parser *p, char mark, struct slice words) {
    int64_t length;
    if (!number_parse_int64(words.bytes, words.length, &length)) {
        return parser_fail(p, "a length is not a number");
    }
    if (mark == '$' && length == -1) return add_integer(p, PEER_NIL, 0);
    if (length < 0) return parser_fail(p, "a length is negative");
    drop_token(p);
    if ((uint64_t)length > p->limits.text_bytes_max - p->text.length) {
        return parser_fail(p, "the reply's text is larger than allowed");
    }
    p->state = STATE_BODY;
    p->body_type = mark == '!' ? PEER_ERROR : PEER_BULK;
    p->verbatim = mark == '=';
    p->body_left = (uint64_t)length + 2;
    return true;
}

static bool is_big_number(struct slice words) {
    size_t at = words.length && (words.bytes[0] == '-' || words.bytes[0] == '+');
    if (at == words.length) return false;
    for (; at < words.length; at++) {
        if (words.bytes[at] < '0' || words.bytes[at] > '9') return false;
    }
    return true;
}

/* Reads the complete line at token_start, whose line end is cut off. */
static bool read_line(struct peer_parser *p) {
    struct slice words = {p->text.bytes + p->token_start, p->text.length - p->token_start};
    if (!words.length) return parser_fail(p, "a line is empty");
    char mark = words.bytes[0];
    words.bytes++;
    words.length--;
    int64_t integer;
    switch (mark) {
    case '+': return add_text(p, PEER_STATUS, p->token_start + 1);
    case '-': return add_text(p, PEER_ERROR, p->token_start + 1);
    case '(':
        if (!is_big_number(words)) return parser_fail(p, "a big number is not a number");
        return add_text(p, PEER_BIG_NUMBER, p->token_start + 1);
    case ':':
        if (!number_parse_int64(words.bytes, words.length, &integer)) {
            return parser_fail(p, "an integer is not a number");
        }
        return add_integer(p, PEER_INTEGER, integer);
    case '#':
        if (words.length != 1 || (words.bytes[0] != 't' && words.bytes[0] != 'f')) {
            return parser_fail(p, "a boolean is neither t nor f");
        }
        return add_integer(p, PEER_BOOLEAN, words.bytes[0] == 't');
    case '_':
        if (words.length) return parser_fail(p, "a null has a value");
        return add_integer(p, PEER_NIL, 0);
    case ',': return add_double(p, words);
    case '$':
    case '!':
    case '=': return begin_body(p, mark, words);
    case '*':
    case '%':
    case '~':
    case '>':
    case '|': return add_aggregate(p, mark, words);
    default: return parser_fail(p, "a reply begins with a byte that marks no type");
    }
}

/* False after an error. True does not mean that the line is complete. */
static bool parse_line(struct peer_parser *p, const char **cursor, const char *end) {
    if (peer_parser_is_between(p) && **cursor == '\n') {
        (*cursor)++;
        return true;
    }
    size_t gathered = p->text.length - p->token_start, offered = (size_t)(end - *cursor);
    const char *newline = memchr(*cursor, '\n', offered);
    size_t length = newline ? (size_t)(newline - *cursor) + 1 : offered;
    if (gathered + length > PEER_LINE_BYTES_MAX)
        return parser_fail(p, "a line is longer than allowed");
    if (!append_text(p, *cursor, length)) return false;
    *cursor += length;
    if (!newline) return true;
    if (gathered + length < 2 || p->text.bytes[p->text.length - 2] != '\r') {
        return parser_fail(p, "a line does not end with CR and LF");
    }
    p->text.length -= 2;
    return read_line(p);
}

static bool take_body(struct peer_parser *p, const char **cursor, const char *end) {
    size_t length = (size_t)(end - *cursor);
    if (length > p->body_left) length = (size_t)p->body_left;
    /* The line end is checked but not kept, so a text of exactly the limit fits. */
    uint64_t kept = p->body_left > 2 ? p->body_left - 2 : 0;
    if (kept > length) kept = length;
    if (!append_text(p, *cursor, (size_t)kept)) return false;
    *cursor += kept;
    p->body_left -= kept;
    for (size_t i = kept; i < length; i++) {
        if (*(*cursor)++ != (p->body_left-- == 2 ? '\r' : '\n')) {
            return parser_fail(p, "a text does not end with CR and LF");
        }
    }
    if (p->body_left) return true;
    p->state = STATE_LINE;
    size_t start = p->token_start;
    if (p->verbatim) {
        if (p->text.length - start < 4 || p->text.bytes[start + 3] != ':') {
            return parser_fail(p, "a verbatim text has no format");
        }
        start += 4;
    }
    uint32_t place = p->count;
    if (!add_text(p, p->body_type, start)) return false;
    p->nodes[place].verbatim = p->verbatim;
    return true;
}

enum peer_parse_status peer_parse(struct peer_parser *p, const char **cursor, const char *end) {
    if (p->ready) peer_parser_reset(p);
    while (!p->error && !p->ready && *cursor < end) {
        if (p->state == STATE_LINE) {
            parse_line(p, cursor, end);
        } else {
            take_body(p, cursor, end);
        }
    }
    if (p->error) return PEER_PARSE_ERROR;
    return p->ready ? PEER_PARSE_READY : PEER_PARSE_INCOMPLETE;
}

const struct peer_reply *peer_parser_reply(const struct peer_parser *p) {
    return p->ready ? p->nodes : NULL;
}

const char *peer_parser_error(const struct peer_parser *p) { return p->error; }

bool peer_parser_is_between(const struct peer_parser *p) {
    return p->ready || (p->state == STATE_LINE && !p->count && !p->depth && !p->text.length);
}
