/* SPDX-License-Identifier: BSD-3-Clause
 * The texts of nodes. node_text.h has the format.
 *
 * The file is read in two passes over its lines: the first makes the nodes, so that the second can
 * refer to any of them, whatever the order of the lines.
 *
 * Invariants
 *  1. What cluster_file_print writes is read again to a cluster that prints to the same text, but
 *     for the times, which begin anew.
 *  2. No proper prefix of such a text is taken: a whole file ends with the line of variables and a
 *     newline, and only blank lines may follow it.
 *  3. A word is taken as a whole or refused: no number is cut short, no unknown flag ignored.
 */
#include "topology/node_text.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/number.h"
#include "topology/slots.h"

/* In the order in which a line has them. */
static const struct {
    unsigned flag;
    const char *name;
} flag_names[] = {
    {CLUSTER_NODE_MYSELF, "myself"},
    {CLUSTER_NODE_PRIMARY, "master"},
    {CLUSTER_NODE_REPLICA, "slave"},
    {CLUSTER_NODE_SUSPECTED, "fail?"},
    {CLUSTER_NODE_FAILED, "fail"},
    {CLUSTER_NODE_HANDSHAKE, "handshake"},
    {CLUSTER_NODE_NO_ADDRESS, "noaddr"},
    {CLUSTER_NODE_NO_FAILOVER, "nofailover"},
    {0, "noflags"},
};
#define FLAG_NAMES (sizeof(flag_names) / sizeof(flag_names[0]))

/* ---- Printing ---- */

static void print_flags(unsigned flags, struct buffer *out) {
    size_t start = out->length;
    for (size_t i = 0; i < FLAG_NAMES; i++) {
        bool named = flag_names[i].flag ? flags & flag_names[i].flag : out->length == start;
        if (!named) continue;
        if (out->length > start) buffer_append_char(out, ',');
        buffer_append_c_string(out, flag_names[i].name);
    }
}

/* `kept`: also those of unconfirmed slots, which nodes.conf keeps; for clients nothing moves there.
 */
static void print_marks(const struct cluster *c, bool kept, struct buffer *out) {
    unsigned left = c->open_marks;
    for (unsigned slot = 0; slot < KEY_SLOTS && left; slot++) {
        const struct cluster_node *to = c->migrating_to[slot], *from = c->importing_from[slot];
        if (to) buffer_printf(out, " [%u->-%s]", slot, to->id.text);
        if (from && (kept || c->owners[slot] != c->self))
            buffer_printf(out, " [%u-<-%s]", slot, from->id.text);
        left -= (to != NULL) + (unsigned)(from != NULL);
    }
}

static void print_number(unsigned number, struct buffer *out) {
    char text[NUMBER_INT64_CHARS];
    buffer_append(out, text, number_format_uint64(text, number));
}

/* Without printf, because a fragmented cluster has thousands of runs. */
static void print_run(const struct cluster_run *run, struct buffer *out) {
    buffer_append_char(out, ' ');
    print_number(run->first, out);
    if (run->first == run->last) return;
    buffer_append_char(out, '-');
    print_number(run->last, out);
}

/* All of the line but the slots. */
static void print_fields(const struct cluster *c, const struct cluster_node *node, bool plain,
                         struct buffer *out) {
    const struct cluster_address *at = &node->address;
    unsigned port = plain && at->plain_port ? at->plain_port : at->port;
    bool linked = node == c->self || node->link;
    buffer_printf(out, "%s %s:%u@%u ", node->id.text, at->host, port, (unsigned)at->bus_port);
    print_flags(node->flags, out);
    buffer_printf(out, " %s %lld %lld %llu %s", node->primary ? node->primary->id.text : "-",
                  (long long)node->ping_sent_msec, (long long)node->pong_received_msec,
                  (unsigned long long)cluster_node_epoch(node),
                  linked ? "connected" : "disconnected");
}

void cluster_node_print(const struct cluster *c, const struct cluster_node *node, bool plain,
                        struct buffer *out) {
    struct cluster_run run;
    print_fields(c, node, plain, out);
    unsigned left = node->slot_count;
    for (unsigned from = 0; left && cluster_run_next(c, from, &run); from = run.last + 1) {
        if (run.owner != node) continue;
        print_run(&run, out);
        left -= run.last - run.first + 1;
    }
    if (node == c->self) print_marks(c, false, out);
}

/* A node and its place in the order of the nodes. */
struct placed_node {
    const struct cluster_node *node;
    size_t place;
};

static int node_compare(const void *a, const void *b) {
    uintptr_t x = (uintptr_t)((const struct placed_node *)a)->node;
    uintptr_t y = (uintptr_t)((const struct placed_node *)b)->node;
    return (x > y) - (x < y);
}

static size_t place_of(const struct placed_node *by_address, size_t count,
                       const struct cluster_node *node) {
    const struct placed_node wanted = {.node = node};
    const struct placed_node *found =
        bsearch(&wanted, by_address, count, sizeof(wanted), node_compare);
    return found->place;
}

/* The runs that have an owner, in the order of the nodes, and within a node of the slots: they are
 * counted for each node, and then put where the counts say. All lines are printed in O(slots + runs
 * x log nodes). The caller frees them. */
static struct cluster_run *list_runs(const struct cluster *c, size_t *count) {
    struct cluster_run *runs = memory_alloc(c->assigned * sizeof(*runs), MEMORY_OTHER), run;
    struct placed_node *nodes = memory_alloc(c->count * sizeof(*nodes), MEMORY_OTHER);
    size_t *begins = memory_zalloc((c->count + 1) * sizeof(*begins), MEMORY_OTHER);
    for (size_t i = 0; i < c->count; i++) nodes[i] = (struct placed_node){c->nodes[i], i};
    qsort(nodes, c->count, sizeof(*nodes), node_compare);
    for (unsigned from = 0; cluster_run_next(c, from, &run); from = run.last + 1)
        if (run.owner) begins[place_of(nodes, c->count, run.owner) + 1]++;
    for (size_t i = 0; i < c->count; i++) begins[i + 1] += begins[i];
    *count = begins[c->count];
    for (unsigned from = 0; cluster_run_next(c, from, &run); from = run.last + 1)
        if (run.owner) runs[begins[place_of(nodes, c->count, run.owner)]++] = run;
    memory_free(begins, MEMORY_OTHER);
    memory_free(nodes, MEMORY_OTHER);
    return runs;
}

/* The lines of all nodes but those in a state of `without`. */
static void print_nodes(const struct cluster *c, bool plain, unsigned without, bool kept,
                        struct buffer *out) {
    size_t count, at = 0;
    struct cluster_run *runs = list_runs(c, &count);
    for (size_t i = 0; i < c->count; i++) {
        const struct cluster_node *node = c->nodes[i];
        bool shown = !cluster_node_has(node, without);
        if (shown) print_fields(c, node, plain, out);
        for (; at < count && runs[at].owner == node; at++)
            if (shown) print_run(&runs[at], out);
        if (!shown) continue;
        if (node == c->self) print_marks(c, kept, out);
        buffer_append_char(out, '\n');
    }
    memory_free(runs, MEMORY_OTHER);
}

void cluster_nodes_print(const struct cluster *c, bool plain, struct buffer *out) {
    print_nodes(c, plain, 0, false, out);
}

void cluster_file_print(const struct cluster *c, struct buffer *out) {
    print_nodes(c, false, CLUSTER_NODE_HANDSHAKE, true, out);
    buffer_printf(out, "vars currentEpoch %llu lastVoteEpoch %llu\n",
                  (unsigned long long)c->current_epoch, (unsigned long long)c->last_vote_epoch);
}

/* ---- Reading ---- */

struct file_reading {
    struct cluster *c;
    struct slice rest;
    unsigned line; /* of `words`, from 1 on */
    struct buffer storage;
    struct slice *words;
    int count;
    int64_t now_msec;
    bool myself, variables; /* their lines have been read */
    struct buffer *why;
};

/* The fields before the slots. */
enum { ID, ADDRESS, FLAGS, PRIMARY, PING_SENT, PONG_RECEIVED, EPOCH, LINK, FIELDS };

#define SHOWN_CHARS 80
static const char *show_word(struct slice word, char shown[SHOWN_CHARS]) {
    return string_show(word, shown, SHOWN_CHARS);
}

/* Says what is wrong in the present line. Returns false. */
static bool __attribute__((format(printf, 2, 3)))
line_refuse(struct file_reading *r, const char *format, ...) {
    va_list arguments;
    buffer_printf(r->why, "line %u: ", r->line);
    va_start(arguments, format);
    buffer_vprintf(r->why, format, arguments);
    va_end(arguments);
    return false;
}

static bool word_refuse(struct file_reading *r, struct slice word, const char *wanted) {
    char shown[SHOWN_CHARS];
    return line_refuse(r, "'%s' is not %s", show_word(word, shown), wanted);
}

static void reading_rewind(struct file_reading *r, struct slice text) {
    r->rest = text;
    r->line = 0;
}

/* Takes the next line that is not blank apart. False at the end, and where the line has no words
 * because its quotes are wrong: `why` says so then. */
static bool next_line(struct file_reading *r) {
    while (r->rest.length) {
        const char *end = memchr(r->rest.bytes, '\n', r->rest.length);
        size_t length = end ? (size_t)(end - r->rest.bytes) : r->rest.length;
        struct slice line = {r->rest.bytes, length};
        r->line++;
        r->rest.bytes += length + (end != NULL);
        r->rest.length -= length + (end != NULL);
        memory_free(r->words, MEMORY_OTHER);
        buffer_clear(&r->storage);
        r->count = string_split_words(line, &r->storage, &r->words);
        if (r->count < 0) return line_refuse(r, "a quote is not closed");
        if (r->count == 0) continue;
        if (!end) return line_refuse(r, "the file was cut: its last line has no end");
        return true;
    }
    return false;
}

static bool is_variables(const struct file_reading *r) { return slice_is(r->words[0], "vars"); }

/* ---- First pass: the nodes ---- */

static bool flags_parse(struct file_reading *r, unsigned *flags) {
    struct slice rest = r->words[FLAGS];
    *flags = 0;
    for (bool more = true; more;) {
        const char *comma = rest.length ? memchr(rest.bytes, ',', rest.length) : NULL;
        struct slice word = {rest.bytes, comma ? (size_t)(comma - rest.bytes) : rest.length};
        size_t i = 0;
        while (i < FLAG_NAMES && !slice_is(word, flag_names[i].name)) i++;
        if (i == FLAG_NAMES) return word_refuse(r, word, "a flag of a node");
        *flags |= flag_names[i].flag;
        more = comma != NULL;
        rest = (struct slice){rest.bytes + word.length + more, rest.length - word.length - more};
    }
    return true;
}

static bool flags_check(struct file_reading *r, unsigned flags) {
    unsigned roles = flags & (CLUSTER_NODE_PRIMARY | CLUSTER_NODE_REPLICA);
    if (roles == (CLUSTER_NODE_PRIMARY | CLUSTER_NODE_REPLICA))
        return line_refuse(r, "a node is either 'master' or 'slave'");
    if (!(flags & CLUSTER_NODE_MYSELF)) return true;
    if (r->myself) return line_refuse(r, "a second line says 'myself'");
    if (!roles) return line_refuse(r, "'myself' must be 'master' or 'slave'");
    r->myself = true;
    return true;
}

static bool line_take(struct file_reading *r) {
    unsigned flags;
    struct cluster_id id = {""};
    bool taken;
    if (r->variables) return line_refuse(r, "no line may stand behind 'vars'");
    if (r->count < FIELDS)
        return line_refuse(r, "a node has %d fields, and here are %d", FIELDS, r->count);
    if (!cluster_id_is_valid(r->words[ID])) return word_refuse(r, r->words[ID], "an id of a node");
    memcpy(id.text, r->words[ID].bytes, CLUSTER_ID_CHARS);
    if (!flags_parse(r, &flags) || !flags_check(r, flags)) return false;
    if (flags & CLUSTER_NODE_MYSELF)
        taken = cluster_rename(r->c, r->c->self, &id);
    else if (r->c->count == CLUSTER_NODES_MAX)
        return line_refuse(r, "there are more than %d nodes", CLUSTER_NODES_MAX);
    else
        taken = cluster_add(r->c, &id, flags) != NULL;
    return taken || line_refuse(r, "a second line is about node %s", id.text);
}

static bool read_nodes(struct file_reading *r) {
    while (next_line(r)) {
        if (is_variables(r) && r->variables) return line_refuse(r, "a second line says 'vars'");
        if (is_variables(r))
            r->variables = true;
        else if (!line_take(r))
            return false;
    }
    if (r->why->length) return false;
    if (!r->variables) {
        buffer_append_c_string(r->why, "the file was cut: its last line, 'vars ...', is missing");
        return false;
    }
    if (!r->myself) {
        buffer_append_c_string(r->why, "no line says 'myself'");
        return false;
    }
    return true;
}

/* ---- Second pass: all else ---- */

static bool number_read(struct file_reading *r, struct slice word, const char *wanted, uint64_t max,
                        uint64_t *value) {
    if (number_parse_uint64(word.bytes, word.length, value) && *value <= max) return true;
    return word_refuse(r, word, wanted);
}

static bool port_read(struct file_reading *r, struct slice word, uint16_t *port) {
    uint64_t value;
    if (!number_read(r, word, "a port", UINT16_MAX, &value)) return false;
    *port = (uint16_t)value;
    return true;
}

/* The part of the text before the last `mark`, and the part behind it. */
static bool cut_at_last(struct slice text, char mark, struct slice *before, struct slice *behind) {
    size_t at = text.length;
    while (at && text.bytes[at - 1] != mark) at--;
    if (at == 0) return false;
    *behind = (struct slice){text.bytes + at, text.length - at};
    *before = (struct slice){text.bytes, at - 1};
    return true;
}

/* Redis 7 writes a comma and more behind the ports (a host name, a shard id). 6.2 does not read
 * that either. */
static bool address_read(struct file_reading *r, struct cluster_node *node) {
    struct slice text = r->words[ADDRESS], host, port, bus;
    const char *comma = text.length ? memchr(text.bytes, ',', text.length) : NULL;
    if (comma) text.length = (size_t)(comma - text.bytes);
    bool has_bus = cut_at_last(text, '@', &text, &bus);
    if (!cut_at_last(text, ':', &host, &port) || (host.length && !cluster_host_is_valid(host)))
        return word_refuse(r, r->words[ADDRESS], "an address, host:port@busport");
    if (!port_read(r, port, &node->address.port)) return false;
    memcpy(node->address.host, host.bytes, host.length);
    node->address.host[host.length] = '\0';
    if (has_bus) return port_read(r, bus, &node->address.bus_port);
    if (node->address.port > UINT16_MAX - CLUSTER_BUS_PORT_OFFSET)
        return word_refuse(r, r->words[ADDRESS], "an address whose bus port can be told");
    node->address.bus_port = (uint16_t)(node->address.port + CLUSTER_BUS_PORT_OFFSET);
    return true;
}

/* The node that a word names, which 6.2 adds if it does not know it: such a node has no line of its
 * own yet. NULL where the word is refused. */
static struct cluster_node *named_node(struct file_reading *r, struct slice word) {
    struct cluster_id id = {""};
    if (!cluster_id_is_valid(word)) {
        (void)word_refuse(r, word, "an id of a node");
        return NULL;
    }
    struct cluster_node *node = cluster_find(r->c, word);
    if (node) return node;
    memcpy(id.text, word.bytes, CLUSTER_ID_CHARS);
    node = cluster_add(r->c, &id, 0);
    if (!node) (void)line_refuse(r, "there are more than %d nodes", CLUSTER_NODES_MAX);
    return node;
}

static bool role_read(struct file_reading *r, struct cluster_node *node, unsigned flags) {
    struct slice word = r->words[PRIMARY];
    struct cluster_node *primary = NULL;
    if (!slice_is(word, "-")) {
        if (!(flags & CLUSTER_NODE_REPLICA)) return line_refuse(r, "only a 'slave' has a primary");
        primary = named_node(r, word);
        if (!primary) return false;
        if (primary == node) return line_refuse(r, "a node is not its own primary");
    }
    if (flags & CLUSTER_NODE_REPLICA)
        cluster_set_replica(r->c, node, primary);
    else if (flags & CLUSTER_NODE_PRIMARY)
        cluster_set_primary(r->c, node);
    return true;
}

/* A ping that was pending, and the last answer, are dated now, as in 6.2: how long this process was
 * not there is not the other node's fault. */
static bool times_read(struct file_reading *r, struct cluster_node *node) {
    uint64_t ping, pong;
    if (!number_read(r, r->words[PING_SENT], "a time", INT64_MAX, &ping) ||
        !number_read(r, r->words[PONG_RECEIVED], "a time", INT64_MAX, &pong))
        return false;
    if (node == r->c->self) return true;
    node->ping_sent_msec = ping ? r->now_msec : 0;
    node->pong_received_msec = pong ? r->now_msec : 0;
    if (node->flags & CLUSTER_NODE_FAILED) node->failed_msec = r->now_msec;
    return true;
}

static bool epoch_read(struct file_reading *r, struct cluster_node *node) {
    uint64_t epoch;
    if (!number_read(r, r->words[EPOCH], "an epoch", UINT64_MAX, &epoch)) return false;
    if (epoch > r->c->current_epoch) r->c->current_epoch = epoch;
    /* A replica's line has its primary's. */
    if (!(node->flags & CLUSTER_NODE_REPLICA)) node->config_epoch = epoch;
    return true;
}

static bool slot_read(struct file_reading *r, struct slice word, struct slice number,
                      unsigned *slot) {
    uint64_t value;
    if (!number_parse_uint64(number.bytes, number.length, &value) || value >= KEY_SLOTS)
        return word_refuse(r, word, "a slot, first-last or [slot->-id], below 16384");
    *slot = (unsigned)value;
    return true;
}

static bool range_read(struct file_reading *r, struct cluster_node *node, struct slice word) {
    struct slice first_text = word, last_text = word;
    unsigned first = 0, last = 0;
    (void)cut_at_last(word, '-', &first_text, &last_text);
    if (!slot_read(r, word, first_text, &first) || !slot_read(r, word, last_text, &last))
        return false;
    if (first > last) return word_refuse(r, word, "a range that ascends");
    for (unsigned slot = first; slot <= last; slot++) {
        if (r->c->owners[slot])
            return line_refuse(r, "slot %u has an owner already, node %s", slot,
                               r->c->owners[slot]->id.text);
        cluster_slot_assign(r->c, slot, node);
    }
    return true;
}

/* [slot->-id] or [slot-<-id]. */
static bool mark_read(struct file_reading *r, const struct cluster_node *node, struct slice word) {
    const size_t id_chars = CLUSTER_ID_CHARS, arrow_chars = 3, brackets = 2;
    unsigned slot = 0;
    if (node != r->c->self) return line_refuse(r, "only 'myself' has open slots");
    if (word.length <= brackets + arrow_chars + id_chars || word.bytes[word.length - 1] != ']')
        return word_refuse(r, word, "an open slot, [slot->-id] or [slot-<-id]");
    size_t digits = word.length - brackets - arrow_chars - id_chars;
    struct slice number = {word.bytes + 1, digits}, arrow = {word.bytes + 1 + digits, arrow_chars};
    struct slice id = {arrow.bytes + arrow_chars, id_chars};
    bool migrating = slice_equal(arrow, SLICE("->-"));
    if (!migrating && !slice_equal(arrow, SLICE("-<-")))
        return word_refuse(r, word, "an open slot, [slot->-id] or [slot-<-id]");
    if (!slot_read(r, word, number, &slot)) return false;
    struct cluster_node *other = named_node(r, id);
    if (!other) return false;
    if (migrating ? r->c->migrating_to[slot] : r->c->importing_from[slot])
        return line_refuse(r, "slot %u is open twice in the same way", slot);
    if (migrating)
        cluster_slot_set_migrating(r->c, slot, other);
    else
        cluster_slot_set_importing(r->c, slot, other);
    return true;
}

static bool node_read(struct file_reading *r) {
    struct cluster_node *node = cluster_find(r->c, r->words[ID]);
    unsigned flags;
    if (!flags_parse(r, &flags)) return false;
    if (!slice_is(r->words[LINK], "connected") && !slice_is(r->words[LINK], "disconnected"))
        return word_refuse(r, r->words[LINK], "'connected' or 'disconnected'");
    if (!address_read(r, node) || !role_read(r, node, flags) || !times_read(r, node) ||
        !epoch_read(r, node))
        return false;
    if (node == r->c->self) node->flags |= flags & CLUSTER_NODE_NO_FAILOVER;
    for (int i = FIELDS; i < r->count; i++) {
        struct slice word = r->words[i];
        bool open = word.length && word.bytes[0] == '[';
        if (!(open ? mark_read(r, node, word) : range_read(r, node, word))) return false;
    }
    return true;
}

static bool variables_read(struct file_reading *r) {
    bool current = false, vote = false;
    char shown[SHOWN_CHARS];
    uint64_t value;
    if (r->count % 2 == 0) return line_refuse(r, "a variable has no value");
    for (int i = 1; i < r->count; i += 2) {
        bool is_current = slice_is(r->words[i], "currentEpoch");
        if (!is_current && !slice_is(r->words[i], "lastVoteEpoch")) {
            log_warning("Skipping unknown cluster config variable '%s'",
                        show_word(r->words[i], shown));
            continue;
        }
        if (is_current ? current : vote)
            return line_refuse(r, "'%s' stands there twice", show_word(r->words[i], shown));
        if (!number_read(r, r->words[i + 1], "an epoch", UINT64_MAX, &value)) return false;
        if (is_current) {
            current = true;
            /* Lines above may have a greater one. */
            if (value > r->c->current_epoch) r->c->current_epoch = value;
        } else {
            vote = true;
            r->c->last_vote_epoch = value;
        }
    }
    if (!current || !vote)
        return line_refuse(r, "'vars' has no %s", current ? "lastVoteEpoch" : "currentEpoch");
    if (r->c->last_vote_epoch > r->c->current_epoch)
        return line_refuse(r, "the last vote is later than the current epoch");
    return true;
}

static bool read_all(struct file_reading *r, struct slice text) {
    reading_rewind(r, text);
    if (!read_nodes(r)) return false;
    reading_rewind(r, text);
    while (next_line(r))
        if (!(is_variables(r) ? variables_read(r) : node_read(r))) return false;
    return true;
}

struct cluster *cluster_file_parse(struct slice text, struct buffer *why) {
    struct file_reading r = {
        .c = cluster_new(), .why = why, .now_msec = clock_wall_msec(), .storage = {0}};
    buffer_init(&r.storage, MEMORY_OTHER);
    buffer_clear(why);
    bool done = read_all(&r, text);
    memory_free(r.words, MEMORY_OTHER);
    buffer_free(&r.storage);
    if (done) return r.c;
    cluster_free(r.c);
    return NULL;
}
