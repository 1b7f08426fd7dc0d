/* SPDX-License-Identifier: BSD-3-Clause
 * What replicas are sent. history.h has the idea.
 *
 * A link from a node to a node is read so:
 *
 *   LINES --+FULLRESYNC--> HEAD --$length--> BULK --all of it------> STREAM
 *     |                      `---$EOF:mark-> MARKED --the mark-------^  ^
 *     `--+CONTINUE------------------------------------------------------'
 */
#include "sim/history.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "sim/network.h"
#include "sim/world.h"

#define LINE_BYTES 256
#define TALK_BYTES 1024
#define PLACES_MAX (64 << 20)
#define COMPARED_BYTES 4096 /* of the past, at a partial sync */

enum reading { LINES, HEAD, BULK, MARKED, STREAM };

/* A link, from the replica's side. */
static struct watch {
    uint64_t number; /* the link's, plus one */
    enum reading reading;
    unsigned epoch; /* the primary's, when the stream began */
    char line[LINE_BYTES];
    size_t line_used;
    long long bulk_left;
    char mark[HISTORY_ID_CHARS], tail[HISTORY_ID_CHARS];
    unsigned tail_at;
    char id[HISTORY_ID_CHARS + 1];
    long long place;
    char talk[TALK_BYTES]; /* what the replica says: the last of it */
    size_t talk_used;
} watches[LINKS_MAX];

/* What a node has. */
static struct text {
    char id[HISTORY_ID_CHARS + 1];
    unsigned epoch, starts, full_syncs, partial_syncs;
    long long acknowledged; /* as a replica, since its start */
    uint8_t *bytes;
    bool *known;
    size_t room;
} texts[NODES_MAX];

/* ---- Texts ---- */

static void make_room(struct text *t, long long place) {
    if (place < 0 || place >= PLACES_MAX) abort();
    size_t room = t->room ? t->room : 1 << 16;
    while (room <= (size_t)place) room *= 2;
    if (room == t->room) return;
    t->bytes = realloc(t->bytes, room);
    t->known = realloc(t->known, room);
    if (!t->bytes || !t->known) abort();
    memset(t->known + t->room, 0, room - t->room);
    t->room = room;
}

static void forget_from(struct text *t, long long place) {
    if (place < 0) place = 0;
    if ((size_t)place < t->room) memset(t->known + place, 0, t->room - (size_t)place);
}

static bool knows(const struct text *t, long long place) {
    return place >= 0 && (size_t)place < t->room && t->known[place];
}

static void set_byte(struct text *t, long long place, uint8_t byte) {
    make_room(t, place);
    t->bytes[place] = byte;
    t->known[place] = true;
}

static void copy_until(struct text *to, const struct text *from, long long place) {
    forget_from(to, 0);
    if (place < 0 || !from->room) return;
    make_room(to, place);
    size_t length = (size_t)place + 1 < from->room ? (size_t)place + 1 : from->room;
    memcpy(to->bytes, from->bytes, length);
    memcpy(to->known, from->known, length);
}

/* A primary goes by this id now. */
static void take_id(int node, const char *id) {
    struct text *t = &texts[node];
    unsigned starts = world->nodes[node].starts;
    if (strcmp(t->id, id) == 0 && t->starts == starts) return;
    forget_from(t, t->starts == starts && t->id[0] ? t->acknowledged + 1 : 0);
    snprintf(t->id, sizeof(t->id), "%s", id);
    t->starts = starts;
    t->epoch++;
}

/* ---- Beginnings ---- */

static void begin_full(struct watch *w, int primary, int replica) {
    struct text *t = &texts[replica];
    take_id(primary, w->id);
    copy_until(t, &texts[primary], w->place - 1);
    snprintf(t->id, sizeof(t->id), "%s", w->id);
    t->starts = world->nodes[replica].starts;
    t->acknowledged = -1; /* until the copy is loaded it has nothing */
    t->epoch++;
    t->full_syncs++;
    w->epoch = texts[primary].epoch;
    w->reading = HEAD;
    note("full sync", primary, replica, (long)w->place);
}

static void begin_partial(struct watch *w, int primary, int replica) {
    struct text *t = &texts[replica];
    const struct text *p = &texts[primary];
    take_id(primary, w->id);
    long long from = w->place > COMPARED_BYTES ? w->place - COMPARED_BYTES : 0;
    for (long long at = from; at < w->place; at++) {
        if (!knows(t, at) || !knows(p, at) || t->bytes[at] == p->bytes[at]) continue;
        find("node %d goes on from node %d at %lld, but their histories part at %lld", replica,
             primary, w->place, at);
        break;
    }
    forget_from(t, w->place);
    snprintf(t->id, sizeof(t->id), "%s", w->id);
    t->starts = world->nodes[replica].starts;
    t->acknowledged = w->place - 1;
    t->epoch++;
    t->partial_syncs++;
    w->epoch = p->epoch;
    w->reading = STREAM;
    note("partial sync", primary, replica, (long)w->place);
}

/* The words of the replica's last PSYNC. */
static bool read_request(const struct watch *w, char *id, long long *place) {
    char talk[TALK_BYTES + 1], *at = NULL, *rest = NULL;
    memcpy(talk, w->talk, w->talk_used);
    talk[w->talk_used] = '\0';
    for (char *next = talk; (next = strcasestr(next, "psync")) != NULL; next++)
        if (strncasecmp(next, "psync2", 6) != 0) at = next;
    if (!at) return false;
    char *words[3];
    int count = 0;
    for (char *word = strtok_r(at, "\r\n ", &rest); word && count < 3;
         word = strtok_r(NULL, "\r\n ", &rest))
        if (word[0] != '$') words[count++] = word;
    if (count < 3) return false;
    snprintf(id, HISTORY_ID_CHARS + 1, "%s", words[1]);
    *place = strtoll(words[2], NULL, 10);
    return true;
}

static void take_line(struct watch *w, int primary, int replica) {
    char id[HISTORY_ID_CHARS + 1];
    long long place;
    if (sscanf(w->line, "+FULLRESYNC %40s %lld", id, &place) == 2) {
        memcpy(w->id, id, sizeof(id));
        w->place = place + 1;
        begin_full(w, primary, replica);
    } else if (strncmp(w->line, "+CONTINUE", 9) == 0) {
        if (!read_request(w, w->id, &w->place)) {
            find("node %d says +CONTINUE to node %d, which did not ask", primary, replica);
            return;
        }
        if (sscanf(w->line, "+CONTINUE %40s", id) == 1) memcpy(w->id, id, sizeof(id));
        begin_partial(w, primary, replica);
    }
}

static void take_head(struct watch *w) {
    memset(w->tail, 0, sizeof(w->tail));
    if (strncmp(w->line, "$EOF:", 5) == 0 && w->line_used >= 5 + HISTORY_ID_CHARS) {
        memcpy(w->mark, w->line + 5, HISTORY_ID_CHARS);
        w->reading = MARKED;
    } else if (w->line[0] == '$') {
        w->bulk_left = strtoll(w->line + 1, NULL, 10);
        w->reading = w->bulk_left ? BULK : STREAM;
    }
}

/* ---- Bytes ---- */

static bool add_to_line(struct watch *w, uint8_t byte) {
    if (byte == '\r') return false;
    if (byte != '\n') {
        if (w->line_used + 1 < sizeof(w->line)) w->line[w->line_used++] = (char)byte;
        return false;
    }
    w->line[w->line_used] = '\0';
    return w->line_used > 0;
}

static void take_marked(struct watch *w, uint8_t byte) {
    w->tail[w->tail_at] = (char)byte;
    w->tail_at = (w->tail_at + 1) % HISTORY_ID_CHARS;
    if (byte != (uint8_t)w->mark[HISTORY_ID_CHARS - 1]) return;
    for (unsigned i = 0; i < HISTORY_ID_CHARS; i++)
        if (w->tail[(w->tail_at + i) % HISTORY_ID_CHARS] != w->mark[i]) return;
    w->reading = STREAM;
}

static void take_streamed(struct watch *w, int primary, int replica, uint8_t byte) {
    struct text *p = &texts[primary];
    long long place = w->place++;
    if (w->epoch == p->epoch) {
        if (knows(p, place) && p->bytes[place] != byte)
            find("node %d sends node %d another byte for place %lld than it had there", primary,
                 replica, place);
        set_byte(p, place, byte);
    }
    set_byte(&texts[replica], place, byte);
}

static void take_byte(struct watch *w, int primary, int replica, uint8_t byte) {
    switch (w->reading) {
    case LINES:
    case HEAD:
        if (!add_to_line(w, byte)) return;
        if (w->reading == LINES)
            take_line(w, primary, replica);
        else
            take_head(w);
        w->line_used = 0;
        break;
    case BULK:
        if (--w->bulk_left == 0) w->reading = STREAM;
        break;
    case MARKED: take_marked(w, byte); break;
    case STREAM: take_streamed(w, primary, replica, byte); break;
    }
}

/* The last REPLCONF ACK that is whole. */
static void read_acknowledgement(const struct watch *w, int replica) {
    long long place = -1;
    size_t length;
    for (size_t at = 0; at + 8 < w->talk_used; at++) {
        if (strncasecmp(w->talk + at, "ACK\r\n$", 6) != 0) continue;
        const char *digits = memchr(w->talk + at + 6, '\n', w->talk_used - at - 6);
        if (!digits) break;
        length = w->talk_used - (size_t)(++digits - w->talk);
        if (!memchr(digits, '\r', length)) break;
        place = strtoll(digits, NULL, 10);
    }
    if (place < 0 || w->reading != STREAM) return;
    if (place >= w->place)
        find("node %d acknowledges place %lld; only what is before %lld has come to it", replica,
             place, w->place);
    if (place > texts[replica].acknowledged) texts[replica].acknowledged = place;
}

static void hear(struct watch *w, int replica, const uint8_t *bytes, size_t length) {
    while (length) {
        if (w->talk_used == TALK_BYTES) {
            w->talk_used = TALK_BYTES / 2;
            memmove(w->talk, w->talk + TALK_BYTES / 2, w->talk_used);
        }
        size_t part = TALK_BYTES - w->talk_used;
        if (part > length) part = length;
        memcpy(w->talk + w->talk_used, bytes, part);
        w->talk_used += part;
        bytes += part;
        length -= part;
    }
    if (w->reading == STREAM) read_acknowledgement(w, replica);
}

static struct watch *watch_of(int link) {
    struct watch *w = &watches[link];
    uint64_t number = network->links[link].number + 1;
    if (w->number != number) *w = (struct watch){.number = number};
    return w;
}

void history_see(int link, int end, const uint8_t *bytes, size_t length) {
    const struct link *l = &network->links[link];
    int replica = l->ends[0].node, primary = l->ends[1].node;
    if (replica == OUTSIDE) return;
    struct watch *w = watch_of(link);
    if (end == 1) {
        hear(w, replica, bytes, length);
        return;
    }
    for (size_t i = 0; i < length; i++) take_byte(w, primary, replica, bytes[i]);
}

unsigned history_full_syncs(int node) { return texts[node].full_syncs; }
unsigned history_partial_syncs(int node) { return texts[node].partial_syncs; }

struct history_position history_of_link(int link) {
    const struct watch *w = watch_of(link);
    struct history_position p = {.streams = w->reading == STREAM, .place = w->place};
    memcpy(p.id, w->id, sizeof(p.id));
    return p;
}
