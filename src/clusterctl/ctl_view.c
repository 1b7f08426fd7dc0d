/* SPDX-License-Identifier: BSD-3-Clause
 * The parser of CLUSTER NODES.
 *
 * Invariants
 *  1. An id is 40 hex digits, a host consists of printable characters other than a blank: both can
 *     be shown on a terminal, and be a word of a request.
 *  2. A line's slots are below KEY_SLOTS; no slot is marked twice.
 */
#include "clusterctl/ctl_view.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/panic.h"

#define FIELDS 8 /* before the slots */
enum field { ID, ADDRESS, FLAGS, OWN_PRIMARY, PING, PONG, EPOCH, LINK };

static const struct {
    const char *name;
    unsigned flag;
} flag_rows[] = {
    {"myself", CTL_MYSELF}, {"master", CTL_PRIMARY},
    {"slave", CTL_REPLICA}, {"fail?", CTL_PFAIL},
    {"fail", CTL_FAIL},     {"handshake", CTL_HANDSHAKE},
    {"noaddr", CTL_NOADDR}, {"nofailover", CTL_NOFAILOVER},
};
#define FLAG_ROWS (sizeof(flag_rows) / sizeof(flag_rows[0]))

/* --- a line ----------------------------------------------------------------------------------- */

const struct ctl_open_slot *ctl_line_find_open(const struct ctl_line *line, unsigned slot) {
    for (size_t i = 0; i < line->open_count; i++)
        if (line->open[i].slot == slot) return &line->open[i];
    return NULL;
}

void ctl_line_close(struct ctl_line *line, unsigned slot) {
    size_t kept = 0;
    for (size_t i = 0; i < line->open_count; i++)
        if (line->open[i].slot != slot) line->open[kept++] = line->open[i];
    line->open_count = kept;
}

void ctl_line_open(struct ctl_line *line, unsigned slot, bool migrating, const char *peer) {
    ctl_line_close(line, slot);
    size_t bytes = (line->open_count + 1) * sizeof(*line->open);
    line->open = memory_realloc(line->open, bytes, MEMORY_OTHER);
    struct ctl_open_slot *open = &line->open[line->open_count++];
    *open = (struct ctl_open_slot){.slot = slot, .migrating = migrating};
    snprintf(open->peer, sizeof(open->peer), "%s", peer);
}

void ctl_line_free(struct ctl_line *line) {
    memory_free(line->open, MEMORY_OTHER);
    line->open = NULL;
    line->open_count = 0;
}

void ctl_line_flags(const struct ctl_line *line, struct buffer *out) {
    const char *before = "";
    for (size_t i = 0; i < FLAG_ROWS; i++) {
        if (!(line->flags & flag_rows[i].flag) || flag_rows[i].flag == CTL_MYSELF) continue;
        buffer_printf(out, "%s%s", before, flag_rows[i].name);
        before = ",";
    }
}

/* --- fields ----------------------------------------------------------------------------------- */

/* Moves the part before the first `mark` from `rest` to `part`; all of it where there is none.
 * False where nothing is left. */
static bool next_part(struct slice *rest, char mark, struct slice *part) {
    if (!rest->bytes) return false;
    const char *at = rest->length ? memchr(rest->bytes, mark, rest->length) : NULL;
    *part = *rest;
    if (!at) {
        *rest = (struct slice){0};
        return true;
    }
    part->length = (size_t)(at - rest->bytes);
    *rest = (struct slice){at + 1, rest->length - part->length - 1};
    return true;
}

static bool take_id(struct slice text, char id[CTL_ID_CHARS + 1]) {
    if (text.length != CTL_ID_CHARS) return false;
    for (size_t i = 0; i < CTL_ID_CHARS; i++) {
        char c = text.bytes[i];
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'))) return false;
    }
    memcpy(id, text.bytes, CTL_ID_CHARS);
    id[CTL_ID_CHARS] = '\0';
    return true;
}

static bool take_port(struct slice text, int *port) {
    int64_t number;
    if (!number_parse_int64(text.bytes, text.length, &number)) return false;
    *port = (int)number;
    return number >= 0 && number <= UINT16_MAX;
}

static bool take_host(struct slice text, char host[CTL_HOST_CHARS]) {
    if (text.length >= CTL_HOST_CHARS) return false;
    for (size_t i = 0; i < text.length; i++)
        if (text.bytes[i] <= ' ' || text.bytes[i] > '~') return false;
    memcpy(host, text.bytes, text.length);
    host[text.length] = '\0';
    return true;
}

/* host:port; the host may have colons, and be empty. */
static bool take_host_port(struct slice text, char host[CTL_HOST_CHARS], int *port) {
    const char *colon = text.length ? memrchr(text.bytes, ':', text.length) : NULL;
    if (!colon) return false;
    size_t length = (size_t)(colon - text.bytes);
    return take_host((struct slice){text.bytes, length}, host) &&
           take_port((struct slice){colon + 1, text.length - length - 1}, port);
}

bool ctl_address_parse(struct slice text, char host[CTL_HOST_CHARS], int *port) {
    if (!take_host_port(text, host, port) || !*host || *port < 1) return false;
    size_t length = strlen(host);
    if (host[0] != '[' || host[length - 1] != ']') return true;
    memmove(host, host + 1, length - 2);
    host[length - 2] = '\0';
    return length > 2;
}

/* ip:port@busport,name; what stands behind the port may be missing. */
static bool take_address(struct slice text, struct ctl_line *line) {
    struct slice place, bus;
    if (!next_part(&text, '@', &place) || !take_host_port(place, line->host, &line->port))
        return false;
    line->bus_port = 0;
    return !text.bytes || (next_part(&text, ',', &bus) && take_port(bus, &line->bus_port));
}

static void take_flags(struct slice text, struct ctl_line *line) {
    struct slice word;
    while (next_part(&text, ',', &word))
        for (size_t i = 0; i < FLAG_ROWS; i++)
            if (slice_equal(word, slice_of(flag_rows[i].name))) line->flags |= flag_rows[i].flag;
}

/* "[5->-id]" or "[5-<-id]". */
static bool take_open(struct slice text, struct ctl_line *line) {
    char id[CTL_ID_CHARS + 1];
    struct ctl_slots one = {0};
    const char *mark = memchr(text.bytes, '-', text.length);
    size_t before = mark ? (size_t)(mark - text.bytes) : 0;
    if (before < 2 || text.length != before + 3 + CTL_ID_CHARS + 1 ||
        text.bytes[text.length - 1] != ']' || (mark[1] != '>' && mark[1] != '<') || mark[2] != '-')
        return false;
    if (!take_id((struct slice){mark + 3, CTL_ID_CHARS}, id) ||
        !ctl_slots_parse(&one, (struct slice){text.bytes + 1, before - 1}))
        return false;
    unsigned slot = (unsigned)ctl_slots_next(&one, 0);
    if (ctl_line_find_open(line, slot)) return false;
    ctl_line_open(line, slot, mark[1] == '>', id);
    return true;
}

static bool take_slots(struct slice rest, struct ctl_line *line) {
    struct slice word;
    while (next_part(&rest, ' ', &word)) {
        if (!word.length) continue;
        bool good =
            word.bytes[0] == '[' ? take_open(word, line) : ctl_slots_parse(&line->slots, word);
        if (!good) return false;
    }
    return true;
}

/* Parses a line into `*line`; false where a field is malformed. */
static bool take_line(struct slice text, struct ctl_line *line) {
    struct slice fields[FIELDS];
    int64_t epoch;
    for (int i = 0; i < FIELDS; i++)
        if (!next_part(&text, ' ', &fields[i])) return false;
    if (!take_id(fields[ID], line->id) || !take_address(fields[ADDRESS], line)) return false;
    take_flags(fields[FLAGS], line);
    if (!slice_equal(fields[OWN_PRIMARY], SLICE("-")) &&
        !take_id(fields[OWN_PRIMARY], line->primary))
        return false;
    if (!number_parse_int64(fields[EPOCH].bytes, fields[EPOCH].length, &epoch) || epoch < 0)
        return false;
    line->epoch = (uint64_t)epoch;
    if (!slice_equal(fields[LINK], SLICE("connected"))) line->flags |= CTL_DISCONNECTED;
    return take_slots(text, line);
}

/* --- the whole -------------------------------------------------------------------------------- */

void ctl_view_free(struct ctl_view *v) {
    for (size_t i = 0; i < v->count; i++) ctl_line_free(&v->lines[i]);
    memory_free(v->lines, MEMORY_OTHER);
    *v = (struct ctl_view){0};
}

static size_t count_lines(struct slice text) {
    size_t count = 1;
    for (size_t i = 0; i < text.length; i++) count += text.bytes[i] == '\n';
    return count;
}

static const char *parse_lines(struct ctl_view *v, struct slice text) {
    struct slice line;
    unsigned own = 0;
    while (next_part(&text, '\n', &line)) {
        if (line.length && line.bytes[line.length - 1] == '\r') line.length--;
        if (!line.length) continue;
        if (v->count == CTL_NODES_MAX) return "has too many nodes";
        if (!take_line(line, &v->lines[v->count++])) return "has a malformed line";
        own += (v->lines[v->count - 1].flags & CTL_MYSELF) != 0;
    }
    return own == 1 ? NULL : "must have one line of the node itself";
}

bool ctl_view_parse(struct ctl_view *v, struct slice text, char reason[CTL_VIEW_REASON_CHARS]) {
    size_t lines = count_lines(text);
    if (lines > CTL_NODES_MAX) lines = CTL_NODES_MAX;
    *v = (struct ctl_view){.lines = memory_zalloc(lines * sizeof(*v->lines), MEMORY_OTHER)};
    const char *wrong = parse_lines(v, text);
    if (!wrong) return true;
    snprintf(reason, CTL_VIEW_REASON_CHARS, "the reply to CLUSTER NODES %s (line %zu)", wrong,
             v->count);
    ctl_view_free(v);
    return false;
}

const struct ctl_line *ctl_view_myself(const struct ctl_view *v) {
    for (size_t i = 0; i < v->count; i++)
        if (v->lines[i].flags & CTL_MYSELF) return &v->lines[i];
    PANIC("a view has no line of its own node");
}

void ctl_view_sign(const struct ctl_view *v, struct buffer *out) {
    const char *last = "";
    for (;;) {
        const struct ctl_line *next = NULL;
        for (size_t i = 0; i < v->count; i++) {
            const struct ctl_line *line = &v->lines[i];
            if (strcmp(line->id, last) <= 0 || ctl_slots_next(&line->slots, 0) < 0) continue;
            if (!next || strcmp(line->id, next->id) < 0) next = line;
        }
        if (!next) return;
        buffer_printf(out, "%s:", next->id);
        ctl_slots_format(&next->slots, '-', out);
        buffer_append_char(out, '|');
        last = next->id;
    }
}
