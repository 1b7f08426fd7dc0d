/* SPDX-License-Identifier: BSD-3-Clause
 * What nodes of a cluster say. headers.h has the idea.
 *
 * The format is read here once more, apart from the server's own code: a mistake there must not
 * hide itself. Only headers are kept, of frames of any length.
 */
#include "sim/headers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/key_slot.h"
#include "sim/faults.h"
#include "sim/network.h"
#include "sim/scheduler.h"
#include "sim/slots.h"
#include "sim/world.h"

#define HEADER_BYTES 2256
#define BITMAP_BYTES (KEY_SLOTS / 8)
#define EPOCHS_MAX 4096 /* more than a run can reach */
#define KNOWN_MAX 64    /* nodes by their ids, over RESET HARD */
#define CLAIMERS_MAX 4  /* of an epoch */
#define LOSSES_MAX 32
#define FILE_BYTES 65536
#define NOBODY (-1)
/* What a node that was replaced answers comes as late as that: for so long it may be isolated, and
 * not know it, and its answers under way. */
#define REPLACED_NSEC (60 * NSEC_PER_SEC)
/* An order of an operator may stand in a link for so long. */
#define ORDERED_NSEC (60 * NSEC_PER_SEC)
/* A ping is sent half a timeout after the last answer, and is without one for a timeout; then come
 * two ticks of 100 ms and the ways of the messages. */
#define LATE_NSEC (500 * NSEC_PER_MSEC)
/* What has come to a node so long ago is known to it, even where it has not run in between. */
#define KNOWN_NSEC (200 * NSEC_PER_MSEC)
/* So long after the last FAIL another one is about another failure. */
#define FAIL_NSEC (20 * NSEC_PER_SEC)
/* A primary that was so long undisturbed hands over without loss. */
#define SOUND_NSEC (20 * NSEC_PER_SEC)

enum { AT_LENGTH = 4, AT_TYPE = 12, AT_CURRENT = 16, AT_CONFIG = 24, AT_OFFSET = 32 };
enum { AT_SENDER = 40, AT_SLOTS = 80, AT_PRIMARY = 2128, AT_FLAGS = 2250, AT_MARKS = 2253 };
enum { TYPE_FAIL = 3, TYPE_AUTH_REQUEST = 5, TYPE_AUTH_ACK = 6 };
enum { FLAG_PRIMARY = 1, FLAG_REPLICA = 2 };
#define MARK_FORCE_ACK 2

struct header {
    unsigned type, flags, marks;
    uint64_t current, config, offset;
    char sender[NODE_ID_CHARS + 1], primary[NODE_ID_CHARS + 1];
    const uint8_t *slots;
    int from, to; /* nodes */
};

/* A number that does not fall. */
struct rise {
    uint64_t of_former_lives, of_this_life;
    unsigned life;
};

static struct known {
    char id[NODE_ID_CHARS + 1];
    struct rise current, config, vote;
    uint64_t claims; /* its last configuration epoch as a primary */
    bool was_replica, was_heard;
    uint8_t slots[BITMAP_BYTES]; /* of its last header */
} known[KNOWN_MAX];
static int known_count;

static struct epoch {
    struct claimer {
        struct known *who;
        bool is_elected;
        uint8_t slots[BITMAP_BYTES];
    } claimers[CLAIMERS_MAX];
    struct {
        const struct known *voter;
        int candidate; /* a node */
    } votes[NODES_MAX];
    int claimers_count, votes_count;
    bool is_won;
} * epochs[EPOCHS_MAX];

/* A stream of frames. */
static struct reading {
    uint64_t number; /* the link's, plus one */
    uint64_t current, config;
    char id[NODE_ID_CHARS + 1]; /* whose these are */
    size_t used, total;         /* of the frame; `total` once its header has come */
    uint8_t bytes[HEADERS_FRAME_BYTES];
} readings[LINKS_MAX][2];

static struct loss {
    int64_t nsec;
    int winner;
    bool lossy; /* else only reads of the former primary are stale */
} losses[HOT_SLOTS][LOSSES_MAX];
static unsigned losses_count[HOT_SLOTS];
static bool moving[HOT_SLOTS];

static int majority;
static int64_t suspects_nsec;
static bool bumps;
static int64_t takeover_nsec[NODES_MAX], force_nsec[NODES_MAX], failed_nsec[NODES_MAX];
static int64_t heard_nsec[NODES_MAX][NODES_MAX];
/* When FAIL about the node was sent first, lately. */
static int64_t fail_sent_nsec[NODES_MAX];
/* What a node has told another about its place in its primary's stream: the last, and the one that
 * had come long enough before to be known. */
static struct told {
    uint64_t offset;
    char primary[NODE_ID_CHARS + 1];
    int64_t nsec;
} told[NODES_MAX][NODES_MAX];
static bool is_primary[NODES_MAX];
static bool strangers_speak;
static headers_frame_observer *frame_observer;
static char file_text[FILE_BYTES]; /* a nodes.conf */
static unsigned promotions, votes_read, candidacies;
static int last_voter = NOBODY, newest_primary;
static uint64_t newest_epoch;

void headers_open(int voters, int64_t timeout_nsec) {
    majority = voters / 2 + 1;
    suspects_nsec = timeout_nsec + timeout_nsec / 2 + LATE_NSEC;
}

unsigned headers_promotions(void) { return promotions; }
unsigned headers_votes(void) { return votes_read; }
int headers_last_voter(void) { return last_voter; }
unsigned headers_candidacies(void) { return candidacies; }
int headers_newest_primary(void) { return newest_primary; }
bool headers_is_primary(int node) { return is_primary[node]; }

/* ---- Orders ---- */

void headers_note_bumps(void) { bumps = true; }

void headers_note_takeover(int node) {
    bumps = true;
    takeover_nsec[node] = force_nsec[node] = world->now_nsec;
}

void headers_expect_strangers(headers_frame_observer *seen) {
    strangers_speak = true;
    frame_observer = seen;
}

bool headers_has_strangers(void) { return strangers_speak; }

void headers_note_force(int node) { force_nsec[node] = world->now_nsec; }

void headers_set_moving(int hot, bool is_moving) { moving[hot] = is_moving; }

bool headers_is_moving(int hot) { return moving[hot]; }

static struct known *known_of(const char *id) {
    for (int i = 0; i < known_count; i++)
        if (memcmp(known[i].id, id, NODE_ID_CHARS) == 0) return &known[i];
    if (known_count == KNOWN_MAX) abort();
    struct known *k = &known[known_count++];
    memcpy(k->id, id, NODE_ID_CHARS);
    return k;
}

void headers_note_reset(int node) {
    bumps = true;
    takeover_nsec[node] = world->now_nsec;
    known_of(slots_node_id(node))->config = (struct rise){0};
}

static bool is_recent(int64_t nsec, int64_t within_nsec) {
    return nsec && world->now_nsec - nsec < within_nsec;
}

/* ---- Losses ---- */

static void note_loss(int hot, int winner, bool lossy) {
    losses[hot][losses_count[hot]++ % LOSSES_MAX] = (struct loss){world->now_nsec, winner, lossy};
}

bool headers_may_lose(int hot, int by, int64_t since_nsec, int node) {
    for (int i = 0; i < LOSSES_MAX; i++) {
        const struct loss *l = &losses[hot][i];
        if (!l->nsec || !l->lossy || l->nsec + REPLACED_NSEC < since_nsec) continue;
        if (node != by || l->nsec > since_nsec) return true;
    }
    return false;
}

bool headers_may_be_stale(int hot) {
    for (int i = 0; i < LOSSES_MAX; i++)
        if (is_recent(losses[hot][i].nsec, REPLACED_NSEC)) return true;
    return false;
}

/* A promotion of a replica: what it does not have is lost, of slots that it takes over. Where it
 * was told FAILOVER, and its primary was sound, it has all. */
static void note_promotion(int winner, const uint8_t *slots, bool is_planned) {
    for (int hot = 0; hot < HOT_SLOTS; hot++) {
        unsigned slot = slots_number(hot);
        if (moving[hot])
            note_loss(hot, winner, true);
        else if (slots[slot / 8] & 1U << slot % 8)
            note_loss(hot, winner, !is_planned);
    }
}

static bool is_sound(int node) {
    return node >= 0 && node_runs(node) && !is_recent(failed_nsec[node], SOUND_NSEC) &&
           !is_recent(world->nodes[node].start_nsec, SOUND_NSEC) &&
           !is_recent(world->nodes[node].stopped_nsec, SOUND_NSEC) &&
           !is_recent(faults_slow_until(node), SOUND_NSEC);
}

/* A node whose disk is slow, or that was stopped, has its lateness granted. */
void headers_look_at_write(int node, int64_t sent_nsec) {
    int heard = 1;
    if (strangers_speak) return;
    if (world->nodes[node].slow_disk || is_recent(faults_slow_until(node), SOUND_NSEC)) return;
    for (int from = 0; from < nodes_count(); from++)
        heard += from != node && heard_nsec[node][from] > sent_nsec - suspects_nsec;
    if (heard < majority)
        find(
            "node %d answers a write, although it has heard of %d nodes only, itself included, for "
            "%lld ms",
            node, heard, (long long)(suspects_nsec / NSEC_PER_MSEC));
}

/* ---- Numbers that do not fall ---- */

static bool is_of_this_life(int node) {
    return network_seen_sent_nsec() >= world->nodes[node].start_nsec;
}

static void compare(struct rise *r, const struct header *h, uint64_t value, const char *what) {
    unsigned life = world->nodes[h->from].starts;
    if (r->life != life) {
        if (r->of_this_life > r->of_former_lives) r->of_former_lives = r->of_this_life;
        r->of_this_life = 0;
        r->life = life;
    }
    if (!is_of_this_life(h->from)) {
        if (value > r->of_former_lives) r->of_former_lives = value;
        return;
    }
    if (value < r->of_former_lives)
        find("node %d (%.8s) says %s %llu; before it was started again it said %llu", h->from,
             h->sender, what, (unsigned long long)value, (unsigned long long)r->of_former_lives);
    if (value > r->of_this_life) r->of_this_life = value;
}

static void compare_in_link(struct reading *r, const struct header *h) {
    bool same = strcmp(r->id, h->sender) == 0;
    if (same && h->current < r->current)
        find("node %d (%.8s) goes back from current epoch %llu to %llu", h->from, h->sender,
             (unsigned long long)r->current, (unsigned long long)h->current);
    if (!same) r->config = 0;
    memcpy(r->id, h->sender, sizeof(r->id));
    r->current = h->current;
    if (!(h->flags & FLAG_PRIMARY)) {
        r->config = 0;
        return;
    }
    if (h->config < r->config)
        find("primary %d (%.8s) goes back from configuration epoch %llu to %llu", h->from,
             h->sender, (unsigned long long)r->config, (unsigned long long)h->config);
    r->config = h->config;
}

static uint64_t of_all_lives(const struct rise *r) {
    return r->of_this_life > r->of_former_lives ? r->of_this_life : r->of_former_lives;
}

void headers_look_at_file(int node) {
    unsigned long long current, vote;
    const struct known *k = known_of(slots_node_id(node));
    const char *line;
    if (!node_read_file(node, "nodes.conf", file_text, sizeof(file_text))) return;
    line = strstr(file_text, "vars ");
    if (!strstr(file_text, k->id) || !line)
        return; /* a fresh node, or one with an id not heard of */
    if (sscanf(line, "vars currentEpoch %llu lastVoteEpoch %llu", &current, &vote) != 2) return;
    if (current < of_all_lives(&k->current))
        find("node %d starts with current epoch %llu in its file; it has said %llu", node, current,
             (unsigned long long)of_all_lives(&k->current));
    if (vote < of_all_lives(&k->vote))
        find("node %d starts with its last vote in epoch %llu; it has voted in %llu", node, vote,
             (unsigned long long)of_all_lives(&k->vote));
}

/* ---- Votes ---- */

static struct epoch *epoch_at(uint64_t number) {
    if (number >= EPOCHS_MAX) {
        find("epoch %llu: nothing in a run leads there", (unsigned long long)number);
        number = 0;
    }
    if (!epochs[number]) epochs[number] = calloc(1, sizeof(*epochs[number]));
    if (!epochs[number]) abort();
    return epochs[number];
}

static int votes_for(const struct epoch *e, int candidate) {
    int sum = 0;
    for (int i = 0; i < e->votes_count; i++) sum += e->votes[i].candidate == candidate;
    return sum;
}

/* The last one of a majority has come to its candidate. */
static void win(struct epoch *e, const struct header *ack) {
    int winner = ack->to;
    const struct known *k = known_of(slots_node_id(winner));
    bool is_planned =
        !is_recent(force_nsec[winner], ORDERED_NSEC) && k->was_replica && !strangers_speak;
    e->is_won = true;
    int former = headers_newest_primary();
    for (int node = 0; node < nodes_count(); node++) {
        const struct known *other = known_of(slots_node_id(node));
        if (is_primary[node] && memcmp(other->slots, k->slots, BITMAP_BYTES) == 0) former = node;
    }
    note_promotion(winner, k->slots, is_planned && is_sound(former));
    tell("headers: node %d has a majority in epoch %llu", winner, (unsigned long long)ack->current);
}

static void take_vote(struct known *voter, const struct header *h) {
    struct epoch *e = epoch_at(h->current);
    compare(&voter->vote, h, h->current, "that its last vote is in epoch");
    for (int i = 0; i < e->votes_count; i++) {
        if (e->votes[i].voter != voter) continue;
        find("node %d votes twice in epoch %llu: for node %d, then for node %d", h->from,
             (unsigned long long)h->current, e->votes[i].candidate, h->to);
        return;
    }
    if (e->votes_count == NODES_MAX) abort();
    e->votes[e->votes_count].voter = voter;
    e->votes[e->votes_count++].candidate = h->to;
    votes_read++;
    last_voter = h->from;
    note("votes", h->from, h->to, (long)h->current);
    if (!e->is_won && votes_for(e, h->to) >= majority) win(e, h);
}

/* ---- Claims ---- */

static struct claimer *claimer_of(struct epoch *e, struct known *who) {
    for (int i = 0; i < e->claimers_count; i++)
        if (e->claimers[i].who == who) return &e->claimers[i];
    if (e->claimers_count == CLAIMERS_MAX) abort();
    e->claimers[e->claimers_count].who = who;
    return &e->claimers[e->claimers_count++];
}

/* A primary has an epoch that it had not before. */
static void take_epoch(const struct known *k, const struct header *h, struct epoch *e,
                       struct claimer *claimer) {
    int votes = votes_for(e, h->from);
    claimer->is_elected = votes >= majority;
    if (k->was_replica) promotions++;
    if (claimer->is_elected || !k->was_heard) return;
    if (k->was_replica && !is_recent(takeover_nsec[h->from], ORDERED_NSEC))
        find("node %d is a primary in epoch %llu with %d votes, of which %d are a majority",
             h->from, (unsigned long long)h->config, votes, majority);
    else if (k->was_replica)
        note_promotion(h->from, h->slots, false);
    else if (!bumps)
        find("primary %d takes epoch %llu, for which it has %d votes", h->from,
             (unsigned long long)h->config, votes);
}

static unsigned common_slot(const uint8_t *a, const uint8_t *b) {
    for (unsigned i = 0; i < BITMAP_BYTES; i++)
        if (a[i] & b[i]) return i * 8 + (unsigned)__builtin_ctz(a[i] & b[i]);
    return KEY_SLOTS;
}

static void compare_claims(struct epoch *e, const struct claimer *own, const struct header *h) {
    for (int i = 0; i < e->claimers_count; i++) {
        const struct claimer *other = &e->claimers[i];
        unsigned slot = other == own ? KEY_SLOTS : common_slot(own->slots, other->slots);
        if (slot == KEY_SLOTS) continue;
        if (bumps && !(own->is_elected && other->is_elected)) continue;
        find("slot %u: node %d (%.8s) claims it in epoch %llu, in which %.8s has it", slot, h->from,
             h->sender, (unsigned long long)h->config, other->who->id);
    }
}

static void take_claim(struct known *k, const struct header *h) {
    struct epoch *e = epoch_at(h->config);
    int before = e->claimers_count;
    struct claimer *claimer = claimer_of(e, k);
    if (e->claimers_count > before) take_epoch(k, h, e, claimer);
    if (h->config >= newest_epoch) newest_primary = h->from;
    if (h->config > newest_epoch) newest_epoch = h->config;
    uint8_t fresh = 0;
    for (unsigned i = 0; i < BITMAP_BYTES; i++) {
        fresh |= (uint8_t)(h->slots[i] & ~claimer->slots[i]);
        claimer->slots[i] |= h->slots[i];
    }
    if (fresh) compare_claims(e, claimer, h);
}

/* ---- Ranks ---- */

/* An offset rises, so that one which came KNOWN_NSEC ago is the least that is known now. */
static void note_told(const struct header *h) {
    struct told *t = &told[h->to][h->from];
    bool same = strcmp(t->primary, h->primary) == 0;
    if (same && t->nsec && world->now_nsec - t->nsec < KNOWN_NSEC) return;
    memcpy(t->primary, h->primary, sizeof(t->primary));
    t->offset = h->flags & FLAG_REPLICA ? h->offset : 0;
    t->nsec = world->now_nsec;
}

static bool is_ahead(const struct header *h, int sibling, int64_t sent_nsec) {
    const struct told *t = &told[h->from][sibling];
    return sibling != h->from && strcmp(t->primary, h->primary) == 0 && t->offset > h->offset &&
           sent_nsec - t->nsec > KNOWN_NSEC && sent_nsec - t->nsec < NSEC_PER_SEC * 3 &&
           !is_recent(failed_nsec[sibling], REPLACED_NSEC) && node_runs(sibling) &&
           !is_recent(world->nodes[sibling].start_nsec, REPLACED_NSEC);
}

/* A replica asks for votes: after half a second, and a second for each sibling that has more. */
static void take_request(const struct header *h) {
    int64_t sent_nsec = network_seen_sent_nsec();
    int primary = slots_node_of_id(h->primary), rank = 0;
    candidacies++;
    if (h->marks & MARK_FORCE_ACK || primary < 0 || !fail_sent_nsec[primary] || strangers_speak)
        return;
    for (int node = 0; node < nodes_count(); node++) rank += is_ahead(h, node, sent_nsec);
    int64_t least_nsec = NSEC_PER_SEC / 2 + rank * NSEC_PER_SEC - KNOWN_NSEC;
    if (sent_nsec - fail_sent_nsec[primary] < least_nsec)
        find(
            "node %d asks for votes %lld ms after FAIL; it knows %d siblings that have more than "
            "%llu",
            h->from, (long long)((sent_nsec - fail_sent_nsec[primary]) / NSEC_PER_MSEC), rank,
            (unsigned long long)h->offset);
}

static void note_fail(int node) {
    int64_t sent_nsec = network_seen_sent_nsec();
    if (world->now_nsec - failed_nsec[node] > FAIL_NSEC || sent_nsec < fail_sent_nsec[node])
        fail_sent_nsec[node] = sent_nsec;
    failed_nsec[node] = world->now_nsec;
}

/* ---- Headers ---- */

static uint64_t number_at(const uint8_t *bytes, unsigned width) {
    uint64_t value = 0;
    for (unsigned i = 0; i < width; i++) value = value << 8 | bytes[i];
    return value;
}

static void take_header(struct reading *r, const struct header *h) {
    struct known *k = known_of(h->sender);
    bool primary = h->flags & FLAG_PRIMARY;
    if (slots_node_of_id(h->sender) != h->from) {
        if (!is_of_this_life(h->from)) return;
        slots_set_node_id(h->from, h->sender);
    }
    compare_in_link(r, h);
    compare(&k->current, h, h->current, "current epoch");
    if (primary) compare(&k->config, h, h->config, "configuration epoch");
    if (primary && h->config && common_slot(h->slots, h->slots) < KEY_SLOTS) take_claim(k, h);
    if (h->type == TYPE_AUTH_ACK) take_vote(k, h);
    if (h->type == TYPE_AUTH_REQUEST) take_request(h);
    note_told(h);
    if (!is_of_this_life(h->from)) return;
    k->was_replica = h->flags & FLAG_REPLICA;
    k->was_heard = true;
    memcpy(k->slots, h->slots, BITMAP_BYTES);
    is_primary[h->from] = primary;
}

static void take_bytes(struct reading *r, int from, int to) {
    struct header h = {
        .type = (unsigned)number_at(r->bytes + AT_TYPE, 2),
        .flags = (unsigned)number_at(r->bytes + AT_FLAGS, 2),
        .marks = r->bytes[AT_MARKS],
        .current = number_at(r->bytes + AT_CURRENT, 8),
        .config = number_at(r->bytes + AT_CONFIG, 8),
        .offset = number_at(r->bytes + AT_OFFSET, 8),
        .slots = r->bytes + AT_SLOTS,
        .from = from,
        .to = to,
    };
    memcpy(h.sender, r->bytes + AT_SENDER, NODE_ID_CHARS);
    memcpy(h.primary, r->bytes + AT_PRIMARY, NODE_ID_CHARS);
    if (memcmp(r->bytes, "RCmb", 4) != 0)
        find("node %d sends what is no message of the bus", from);
    else
        take_header(r, &h);
}

/* The body of FAIL begins with the id. */
static void take_failed(const struct reading *r) {
    if (number_at(r->bytes + AT_TYPE, 2) != TYPE_FAIL) return;
    int node = slots_node_of_id((const char *)r->bytes + HEADER_BYTES);
    if (node >= 0) note_fail(node);
}

/* More of a frame has come, `part` bytes at most of it. */
static void take_part(struct reading *r, int from, int to, const uint8_t *bytes, size_t part) {
    bool had_header = r->used >= HEADER_BYTES;
    if (r->used < sizeof(r->bytes)) {
        size_t room = sizeof(r->bytes) - r->used;
        memcpy(r->bytes + r->used, bytes, part < room ? part : room);
    }
    r->used += part;
    if (!had_header && r->used == HEADER_BYTES) {
        r->total = (size_t)number_at(r->bytes + AT_LENGTH, 4);
        take_bytes(r, from, to);
    }
    if (r->used < HEADER_BYTES || r->used < r->total) return;
    take_failed(r);
    if (frame_observer && r->used <= sizeof(r->bytes)) frame_observer(to, r->bytes, r->used);
    r->used = 0;
}

void headers_see(int link, int end, const uint8_t *bytes, size_t length) {
    const struct link *l = &network->links[link];
    struct reading *r = &readings[link][end];
    int from = l->ends[!end].node, to = l->ends[end].node;
    if (from == OUTSIDE || to == OUTSIDE) return;
    if (r->number != l->number + 1) *r = (struct reading){.number = l->number + 1};
    heard_nsec[to][from] = world->now_nsec;
    while (length) {
        size_t part = (r->used < HEADER_BYTES ? HEADER_BYTES : r->total) - r->used;
        if (part > length) part = length;
        take_part(r, from, to, bytes, part);
        bytes += part;
        length -= part;
    }
}
