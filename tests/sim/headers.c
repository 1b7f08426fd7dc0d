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
/* A primary that was so long undisturbed hands over without loss. */
#define SOUND_NSEC (20 * NSEC_PER_SEC)

enum { AT_LENGTH = 4, AT_TYPE = 12, AT_CURRENT = 16, AT_CONFIG = 24, AT_SENDER = 40 };
enum { AT_SLOTS = 80, AT_PRIMARY = 2128, AT_FLAGS = 2250, AT_MARKS = 2253 };
enum { TYPE_FAIL = 3, TYPE_AUTH_REQUEST = 5, TYPE_AUTH_ACK = 6 };
enum { FLAG_PRIMARY = 1, FLAG_REPLICA = 2 };
#define MARK_FORCE_ACK 2

struct header {
    unsigned type, flags, marks;
    uint64_t current, config;
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
    size_t used, left;          /* of the header; of the frame's rest */
    uint8_t bytes[HEADER_BYTES];
} readings[LINKS_MAX][2];

static struct loss {
    int64_t nsec;
    int winner;
    bool lossy; /* else only reads of the former primary are stale */
} losses[HOT_SLOTS][LOSSES_MAX];
static unsigned losses_count[HOT_SLOTS];
static bool moving[HOT_SLOTS];

static int majority;
static bool bumps;
static int64_t takeover_nsec[NODES_MAX], force_nsec[NODES_MAX], failed_nsec[NODES_MAX];
static int64_t heard_nsec[NODES_MAX][NODES_MAX];
static bool is_primary[NODES_MAX];
static unsigned promotions, votes_read, candidacies;
static int last_voter = NOBODY, newest_primary;
static uint64_t newest_epoch;

void headers_open(int voters) { majority = voters / 2 + 1; }

unsigned headers_promotions(void) { return promotions; }
unsigned headers_votes(void) { return votes_read; }
int headers_last_voter(void) { return last_voter; }
unsigned headers_candidacies(void) { return candidacies; }
int headers_newest_primary(void) { return newest_primary; }
bool headers_is_primary(int node) { return is_primary[node]; }
int64_t headers_heard_nsec(int node, int from) { return heard_nsec[node][from]; }

/* ---- Orders ---- */

void headers_note_bumps(void) { bumps = true; }

void headers_note_takeover(int node) {
    bumps = true;
    takeover_nsec[node] = force_nsec[node] = world->now_nsec;
}

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
           !is_recent(world->nodes[node].stopped_nsec, SOUND_NSEC);
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

static char file_text[FILE_BYTES]; /* of the file that is looked at */

void headers_look_at_file(int node) {
    unsigned long long current, vote;
    const struct known *k = known_of(slots_node_id(node));
    const char *line;
    if (!node_read_file(node, "nodes.conf", file_text, sizeof(file_text))) return;
    line = strstr(file_text, "vars ");
    /* A fresh node has another id, or one that was not heard of. */
    if (!strstr(file_text, k->id) || !line) return;
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
    bool is_planned = !is_recent(force_nsec[winner], ORDERED_NSEC) && k->was_replica;
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
    if (h->type == TYPE_AUTH_REQUEST) candidacies++;
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

/* The body of FAIL, which is behind the header, begins with the id. */
static void take_failed(const struct reading *r, const uint8_t *body, size_t length) {
    if (number_at(r->bytes + AT_TYPE, 2) != TYPE_FAIL || length < NODE_ID_CHARS) return;
    int node = slots_node_of_id((const char *)body);
    if (node >= 0) failed_nsec[node] = world->now_nsec;
}

void headers_see(int link, int end, const uint8_t *bytes, size_t length) {
    const struct link *l = &network->links[link];
    struct reading *r = &readings[link][end];
    int from = l->ends[!end].node, to = l->ends[end].node;
    if (from == OUTSIDE || to == OUTSIDE) return;
    if (r->number != l->number + 1) *r = (struct reading){.number = l->number + 1};
    heard_nsec[to][from] = world->now_nsec;
    while (length) {
        size_t part = r->used < HEADER_BYTES ? HEADER_BYTES - r->used : r->left;
        if (part > length) part = length;
        if (r->used < HEADER_BYTES) {
            memcpy(r->bytes + r->used, bytes, part);
            r->used += part;
            if (r->used == HEADER_BYTES) {
                r->left = (size_t)number_at(r->bytes + AT_LENGTH, 4) - HEADER_BYTES;
                take_bytes(r, from, to);
            }
        } else {
            take_failed(r, bytes, part);
            r->left -= part;
        }
        bytes += part;
        length -= part;
        if (r->used == HEADER_BYTES && r->left == 0) r->used = 0;
    }
}
