/* SPDX-License-Identifier: BSD-3-Clause
 * What Sentinels say. witness.h has the idea.
 *
 * A stream is read item by item; a message is one reply or one request, with its items in a row,
 * nested ones too. Only the first items and bytes are kept: what is looked for is short.
 */
#include "sim/witness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "sim/network.h"
#include "sim/scheduler.h"
#include "sim/world.h"

#define ITEMS_MAX 8
#define TEXT_CHARS 200
#define ID_CHARS 40
#define EPOCHS_MAX 4096 /* more than a run can reach */
#define ASKS_MAX 256
#define IDS_MAX 64
#define NOBODY (-1)
#define FIRST_PRIMARY 0 /* the server that starts as the primary */
/* So long a forced failover may take until all know its configuration. */
#define FORCED_NSEC (60 * NSEC_PER_SEC)
/* So much later than the next one an answer may be sent that came before it. */
#define LATE_NSEC (100 * NSEC_PER_MSEC)
#define MACHINES 2 /* of a Sentinel: this one, and the one before it */

/* A Sentinel's request of votes for itself, an epoch. */
struct ask {
    int64_t sent_nsec; /* first */
    int id;
    uint64_t epoch;
};

/* ---- What is known ---- */

static int servers, nodes;
static unsigned promotions, votes_read, candidacies;
static int last_voter = NOBODY;

/* Ids in the order in which they were met. */
static char ids[IDS_MAX][ID_CHARS + 1];
static int ids_count;

static int index_of_id(const char *id) {
    for (int i = 0; i < ids_count; i++)
        if (strcasecmp(ids[i], id) == 0) return i;
    if (ids_count == IDS_MAX || strlen(id) != ID_CHARS) return NOBODY;
    memcpy(ids[ids_count], id, ID_CHARS + 1);
    return ids_count++;
}

static struct sentinel {
    int id;          /* of its last hello message; NOBODY */
    bool is_ordered; /* to fail over, and has not answered yet */
    /* Until then what it does may be a failover that was forced in an epoch that is not known. */
    int64_t forced_until_nsec;
    uint64_t forced_epoch; /* of the last one that is known; 0 = none */
    struct asks {
        struct ask last[ASKS_MAX];
        unsigned count; /* of all that there were */
    } asks[MACHINES];
    bool former_was_forced; /* whether the machine before this one may have had to fail over */
    uint64_t epoch_of_former_lives, epoch_of_this_life; /* the highest of configurations */
    unsigned life;
    bool may_fall;
    uint64_t config_epoch; /* of its last hello message */
    int named;             /* by that, plus one; 0 = there was none */
    int64_t renewed_nsec;  /* when its machine was new; 0 = it is the first */
    struct vote {
        int id;             /* plus one */
        int64_t known_nsec; /* it was given before then; 0 = the vote is a guess */
        int64_t told_nsec;  /* when the Sentinel that it is for heard of it first; 0 = not yet */
    } votes[MACHINES][EPOCHS_MAX];
} sentinels[NODES_MAX];

static struct epoch {
    int address;    /* plus one */
    int promoted;   /* server plus one */
    int promoter;   /* id of a Sentinel, plus one */
    bool is_exempt; /* witness.h */
} epochs[EPOCHS_MAX];

static uint64_t highest_epoch; /* that was asked or published */
static uint64_t newest_epoch;  /* of a configuration */
static int newest_primary;
static int64_t newest_nsec, promoted_nsec[NODES_MAX];
static bool is_demoted[NODES_MAX];

void witness_open(int servers_count, int nodes_all) {
    servers = servers_count;
    nodes = nodes_all;
    for (int i = 0; i < nodes; i++) sentinels[i].id = NOBODY;
}

unsigned witness_promotions(void) { return promotions; }
unsigned witness_votes(void) { return votes_read; }
int witness_last_voter(void) { return last_voter; }
unsigned witness_candidacies(void) { return candidacies; }
int witness_primary(int64_t *since_nsec) {
    *since_nsec = newest_nsec;
    return newest_primary;
}
int64_t witness_promoted_nsec(int server) { return promoted_nsec[server]; }
bool witness_is_demoted(int server) { return is_demoted[server]; }

/* ---- Orders ---- */

void witness_note_order(int sentinel) { sentinels[sentinel].is_ordered = true; }
void witness_note_refusal(int sentinel) { sentinels[sentinel].is_ordered = false; }

void witness_note_forced(int sentinel, const char *leader, uint64_t epoch) {
    struct sentinel *s = &sentinels[sentinel];
    bool is_known = leader && s->id != NOBODY && index_of_id(leader) == s->id;
    s->is_ordered = false;
    if (!is_known) s->forced_until_nsec = world->now_nsec + FORCED_NSEC;
    if (!is_known || epoch >= EPOCHS_MAX) return;
    s->forced_epoch = epoch;
    epochs[epoch].is_exempt = true;
}

static bool may_be_forced(const struct sentinel *s) {
    return s->is_ordered || world->now_nsec < s->forced_until_nsec;
}

static unsigned asks_kept(const struct asks *a) {
    return a->count < ASKS_MAX ? a->count : ASKS_MAX;
}

/* A candidate that has asked for votes has voted for itself, perhaps. */
void witness_note_renewed(int sentinel) {
    struct sentinel *s = &sentinels[sentinel];
    for (unsigned i = 0; i < asks_kept(&s->asks[0]); i++) {
        const struct ask *a = &s->asks[0].last[i];
        struct vote *v = &s->votes[0][a->epoch];
        if (!v->id) v->id = a->id + 1;
    }
    for (int epoch = 0; epoch < EPOCHS_MAX; epoch++)
        if (s->votes[0][epoch].id) s->votes[1][epoch] = s->votes[0][epoch];
    memset(s->votes[0], 0, sizeof(s->votes[0]));
    s->former_was_forced = s->forced_epoch || may_be_forced(s);
    s->asks[1] = s->asks[0];
    s->asks[0].count = 0;
    s->id = NOBODY;
    s->may_fall = true;
    s->forced_epoch = s->config_epoch = 0;
    s->named = 0;
    s->forced_until_nsec = 0;
    s->is_ordered = false;
    s->renewed_nsec = world->now_nsec;
}

static int server_at(const char *ip, int port) {
    char own[32];
    for (int node = 0; node < servers; node++) {
        snprintf(own, sizeof(own), "10.0.0.%d", node + 1);
        if (port == network_port(node) && strcmp(ip, own) == 0) return node;
    }
    return NOBODY;
}

/* Which machine has sent the bytes that are looked at: 0 = the present one, 1 = the one before it.
 * A link does not tell, because one that was called before may be accepted by the new machine. */
static int machine_of(int node) { return network_seen_sent_nsec() <= sentinels[node].renewed_nsec; }

/* ---- Hello messages ---- */

struct hello {
    char ip[64], id[64], name[64], primary_ip[64];
    int port, primary_port;
    unsigned long long current, config;
};

/* The last configuration that came over a link. */
struct heard {
    bool any;
    uint64_t epoch;
    int address;
};

static bool read_hello(const char *text, struct hello *h) {
    return sscanf(text, "%63[^,],%d,%63[^,],%llu,%63[^,],%63[^,],%d,%llu", h->ip, &h->port, h->id,
                  &h->current, h->name, h->primary_ip, &h->primary_port, &h->config) == 8;
}

/* A configuration in the midst of a link, after one before it. */
static void compare_heard(int node, const struct heard *before, const struct heard *now) {
    if (now->epoch < before->epoch)
        find("Sentinel %d goes back from configuration epoch %llu to %llu", node,
             (unsigned long long)before->epoch, (unsigned long long)now->epoch);
    if (now->address != before->address && now->epoch <= before->epoch)
        find("Sentinel %d names another address, %d after %d, in configuration epoch %llu", node,
             now->address, before->address, (unsigned long long)now->epoch);
}

static void begin_life(int node, struct sentinel *s) {
    if (s->epoch_of_this_life > s->epoch_of_former_lives)
        s->epoch_of_former_lives = s->epoch_of_this_life;
    s->epoch_of_this_life = 0;
    s->life = world->nodes[node].starts;
    s->may_fall = s->may_fall || world->nodes[node].file_is_old;
}

/* Over restarts; links of former lives may still bring their last bytes. */
static void compare_lives(int node, struct sentinel *s, bool is_of_this_life, uint64_t epoch) {
    if (s->life != world->nodes[node].starts) begin_life(node, s);
    if (!is_of_this_life) {
        bool binds = machine_of(node) == 0 && epoch > s->epoch_of_former_lives;
        if (binds) s->epoch_of_former_lives = epoch;
        return;
    }
    if (s->may_fall) {
        s->epoch_of_former_lives = 0;
        s->may_fall = false;
    }
    if (epoch < s->epoch_of_former_lives && s->epoch_of_this_life == 0)
        find("Sentinel %d starts again with configuration epoch %llu; it had %llu", node,
             (unsigned long long)epoch, (unsigned long long)s->epoch_of_former_lives);
    if (epoch > s->epoch_of_this_life) s->epoch_of_this_life = epoch;
}

/* An epoch that no failover was elected for is exempt where its Sentinel has passed an exempt one,
 * which may have two addresses. */
static bool has_passed_exempt(uint64_t before, uint64_t epoch) {
    for (int node = servers; node < nodes; node++)
        if (may_be_forced(&sentinels[node])) return true;
    while (before < epoch)
        if (epochs[before++].is_exempt) return true;
    return false;
}

/* A Sentinel that asked for votes in the epoch finds its replica a primary that another Sentinel
 * has promoted, or that was never told to be anything else, while its own SLAVEOF NO ONE waits in a
 * connection or is lost with one. */
static bool is_found_primary(int sentinel, uint64_t epoch, int address) {
    bool is_new = sentinels[sentinel].named && sentinels[sentinel].named - 1 != address;
    bool is_primary = promoted_nsec[address] || (is_new && address == FIRST_PRIMARY);
    if (!is_primary || is_demoted[address]) return false;
    for (int node = servers; node < nodes; node++) {
        for (int machine = 0; machine < MACHINES; machine++) {
            const struct asks *asks = &sentinels[node].asks[machine];
            for (unsigned i = 0; i < asks_kept(asks); i++)
                if (asks->last[i].epoch == epoch) return true;
        }
    }
    return false;
}

static void begin_epoch(int node, uint64_t before, uint64_t epoch, int address) {
    struct epoch *e = &epochs[epoch];
    e->address = address + 1;
    if (epoch == 0 || e->is_exempt) return;
    if (e->promoted == 0 && has_passed_exempt(before, epoch))
        e->is_exempt = true;
    else if (e->promoted == 0 && is_found_primary(node, epoch, address))
        e->promoted = address + 1;
    else if (e->promoted == 0)
        find("Sentinel %d names server %d in configuration epoch %llu, which no failover has taken",
             node, address, (unsigned long long)epoch);
    else if (e->promoted - 1 != address)
        find("Sentinel %d names server %d in configuration epoch %llu, in which %d was promoted",
             node, address, (unsigned long long)epoch, e->promoted - 1);
}

static void compare_epochs(int node, uint64_t before, uint64_t epoch, int address) {
    struct epoch *e = &epochs[epoch];
    if (may_be_forced(&sentinels[node])) e->is_exempt = true;
    if (!e->address) begin_epoch(node, before, epoch, address);
    if (e->address - 1 != address && !e->is_exempt)
        find("Sentinel %d names server %d in configuration epoch %llu, which is that of server %d",
             node, address, (unsigned long long)epoch, e->address - 1);
    if (epoch <= newest_epoch) return;
    if (address != newest_primary) newest_nsec = world->now_nsec;
    newest_epoch = epoch;
    newest_primary = address;
}

static void take_hello(int node, struct heard *heard, bool is_of_this_life, const char *text) {
    struct sentinel *s = &sentinels[node];
    struct hello h;
    if (!read_hello(text, &h)) {
        find("Sentinel %d publishes %.100s", node, text);
        return;
    }
    int address = server_at(h.primary_ip, h.primary_port);
    if (h.config > h.current || h.current >= EPOCHS_MAX - 1 || address == NOBODY) {
        find("Sentinel %d names what there is not: %.100s", node, text);
        return;
    }
    if (h.current > highest_epoch) highest_epoch = h.current;
    struct heard now = {.any = true, .epoch = h.config, .address = address};
    if (is_of_this_life) s->id = index_of_id(h.id);
    if (heard->any) compare_heard(node, heard, &now);
    compare_lives(node, s, is_of_this_life, h.config);
    compare_epochs(node, s->config_epoch, h.config, address);
    if (is_of_this_life) {
        s->config_epoch = h.config;
        s->named = address + 1;
    }
    *heard = now;
}

/* ---- Votes ---- */

static void take_ask(int node, uint64_t epoch, const char *id) {
    struct sentinel *s = &sentinels[node];
    if (id[0] == '*' || epoch >= EPOCHS_MAX - 1) return;
    if (epoch > highest_epoch) highest_epoch = epoch;
    s->id = index_of_id(id);
    struct asks *asks = &s->asks[0];
    for (unsigned i = 0; i < asks_kept(asks); i++) {
        struct ask *a = &asks->last[i];
        if (a->epoch != epoch || a->id != s->id) continue;
        if (network_seen_sent_nsec() < a->sent_nsec) a->sent_nsec = network_seen_sent_nsec();
        return;
    }
    asks->last[asks->count++ % ASKS_MAX] = (struct ask){network_seen_sent_nsec(), s->id, epoch};
    candidacies++;
}

/* A vote of the Sentinel is known: of this machine, or of the one before it. */
static struct vote *note_vote(int node, int machine, int id, uint64_t epoch) {
    struct sentinel *s = &sentinels[node];
    struct vote *v = &s->votes[machine][epoch];
    if (v->id && v->known_nsec && v->id - 1 != id)
        find("Sentinel %d votes twice in epoch %llu: for %.8s, then for %.8s", node,
             (unsigned long long)epoch, ids[v->id - 1], ids[id]);
    v->id = id + 1;
    if (!v->known_nsec || network_seen_sent_nsec() < v->known_nsec)
        v->known_nsec = network_seen_sent_nsec();
    if (epoch > highest_epoch) highest_epoch = epoch;
    const struct vote *other = &s->votes[!machine][epoch];
    if (other->id && other->id != v->id) epochs[epoch].is_exempt = true;
    return v;
}

/* The epoch of the last vote is told also where its candidate is not known any more. */
static void compare_vote(int node, int machine, uint64_t epoch) {
    if (epoch == 0) return;
    for (uint64_t later = epoch + 1; later <= highest_epoch; later++) {
        const struct vote *v = &sentinels[node].votes[machine][later];
        if (v->known_nsec && v->known_nsec + LATE_NSEC < network_seen_sent_nsec())
            find("Sentinel %d says that its last vote was in epoch %llu; it has voted in %llu",
                 node, (unsigned long long)epoch, (unsigned long long)later);
    }
}

static void take_answer(int node, int machine, int asker, const char *leader, uint64_t epoch) {
    int id = index_of_id(leader);
    if (epoch >= EPOCHS_MAX) return;
    compare_vote(node, machine, epoch);
    if (id == NOBODY) return;
    struct vote *v = note_vote(node, machine, id, epoch);
    if (asker == OUTSIDE || sentinels[asker].id != id || v->told_nsec) return;
    v->told_nsec = world->now_nsec;
    votes_read++;
    last_voter = node;
}

/* ---- Promotions ---- */

/* The epoch in which the Sentinel wanted to lead when it sent this. */
static const struct ask *ask_before(const struct asks *asks, int64_t sent_nsec) {
    const struct ask *best = NULL;
    for (unsigned i = 0; i < asks_kept(asks); i++) {
        const struct ask *a = &asks->last[i];
        if (a->sent_nsec > sent_nsec) continue;
        if (!best || a->sent_nsec > best->sent_nsec ||
            (a->sent_nsec == best->sent_nsec && a->epoch > best->epoch))
            best = a;
    }
    return best;
}

static bool has_told(int node, const struct ask *a, int64_t until_nsec) {
    for (int machine = 0; machine < MACHINES; machine++) {
        const struct vote *v = &sentinels[node].votes[machine][a->epoch];
        if (v->id - 1 == a->id && v->told_nsec && v->told_nsec <= until_nsec) return true;
    }
    return false;
}

/* The votes that the Sentinel has got until then. Where it needs its own, it has voted for itself:
 * that is noted. */
static int votes_for(int node, int machine, const struct ask *a, int64_t until_nsec) {
    int votes = 0, half = (nodes - servers) / 2;
    for (int i = servers; i < nodes; i++) votes += i != node && has_told(i, a, until_nsec);
    if (votes == half) note_vote(node, machine, a->id, a->epoch);
    return votes + (votes <= half && sentinels[node].votes[machine][a->epoch].id - 1 == a->id);
}

static void note_promotion(uint64_t epoch, int id, int server) {
    epochs[epoch].promoter = id + 1;
    epochs[epoch].promoted = server + 1;
}

static void take_elected(int node, int machine, int server, const struct ask *a) {
    struct epoch *e = &epochs[a->epoch];
    int all = nodes - servers, votes = votes_for(node, machine, a, network_seen_sent_nsec());
    if (votes <= all / 2)
        find("Sentinel %d promotes server %d in epoch %llu with %d votes of %d", node, server,
             (unsigned long long)a->epoch, votes, all);
    if (e->promoter && !e->is_exempt && (e->promoter - 1 != a->id || e->promoted - 1 != server))
        find("Sentinel %d promotes server %d in epoch %llu, in which %.8s has promoted %d", node,
             server, (unsigned long long)a->epoch, ids[e->promoter - 1], e->promoted - 1);
    note_promotion(a->epoch, a->id, server);
}

/* Of a Sentinel whose machine has been replaced since, too: the server may have been cut off. */
static void take_promotion(int node, int server) {
    const struct sentinel *s = &sentinels[node];
    int machine = machine_of(node);
    const struct ask *a = ask_before(&s->asks[machine], network_seen_sent_nsec());
    promotions++;
    promoted_nsec[server] = world->now_nsec;
    is_demoted[server] = false;
    note("promotion", node, server, a ? (long)a->epoch : 0);
    if (machine ? s->former_was_forced : may_be_forced(s)) {
        /* The order may yet be refused, because this failover is under way. */
        if (a && !epochs[a->epoch].promoted) epochs[a->epoch].promoted = server + 1;
        return;
    }
    if (!machine && s->forced_epoch && (!a || a->epoch <= s->forced_epoch))
        note_promotion(s->forced_epoch, s->id, server);
    else if (a)
        take_elected(node, machine, server, a);
    else
        find("Sentinel %d promotes server %d, but has asked for no vote", node, server);
}

/* ---- Reading ---- */

struct reader {
    char line[TEXT_CHARS];
    size_t line_used;
    long long bulk_left; /* with its line's end */
    struct item {
        char type;
        char text[TEXT_CHARS];
        size_t used;
    } items[ITEMS_MAX];
    int count, wanted; /* items that are still to come */
};

static struct talk {
    uint64_t number; /* the link's, plus one */
    bool is_of_this_life;
    struct reader readers[2]; /* of what end 0 and end 1 get */
    struct heard heard;
} * talks;

static const char *word(const struct reader *r, int at) {
    return at < r->count && at < ITEMS_MAX ? r->items[at].text : "";
}

/* A Sentinel's request, to a server or another Sentinel; items[0] is the array. */
static void take_request(struct talk *t, int from, int to) {
    const struct reader *r = &t->readers[1];
    const char *first = word(r, 1);
    if (strcasecmp(first, "PUBLISH") == 0) {
        take_hello(from, &t->heard, t->is_of_this_life && machine_of(from) == 0, word(r, 3));
    } else if (strcasecmp(first, "SENTINEL") == 0 &&
               strcasecmp(word(r, 2), "is-master-down-by-addr") == 0) {
        /* What a lost machine has asked late says nothing of the one that has its place. */
        if (machine_of(from) == 0) take_ask(from, strtoull(word(r, 5), NULL, 10), word(r, 6));
    } else if (strcasecmp(first, "SLAVEOF") == 0) {
        if (strcasecmp(word(r, 2), "NO") == 0) {
            take_promotion(from, to);
            return;
        }
        is_demoted[to] = true;
        if (t->heard.any && t->heard.address == to)
            find("Sentinel %d tells server %d to follow %s %s, and names it as the primary", from,
                 to, word(r, 2), word(r, 3));
    }
}

/* A Sentinel's answer: whether the primary is down, for whom it votes, in which epoch. */
static void take_reply(const struct talk *t, int from, int machine, int to) {
    const struct reader *r = &t->readers[0];
    if (r->count != 4 || r->items[1].type != ':' || r->items[2].type != '$' ||
        r->items[3].type != ':')
        return;
    take_answer(from, machine, to, word(r, 2), strtoull(word(r, 3), NULL, 10));
}

static void end_item(struct reader *r, struct talk *t, int link, int end) {
    const struct link *l = &network->links[link];
    if (--r->wanted > 0) return;
    if (end == 1)
        take_request(t, l->ends[0].node, l->ends[1].node);
    else if (l->ends[1].node >= servers)
        take_reply(t, l->ends[1].node, machine_of(l->ends[1].node), l->ends[0].node);
    r->count = r->wanted = 0;
}

static void take_line(struct reader *r, struct talk *t, int link, int end) {
    long long number = strtoll(r->line + 1, NULL, 10);
    if (r->wanted == 0) {
        r->wanted = 1;
        r->count = 0;
    }
    int at = r->count++;
    if (at < ITEMS_MAX) {
        struct item *i = &r->items[at];
        i->type = r->line[0];
        i->used = 0;
        i->text[0] = '\0';
        if (i->type != '$') memcpy(i->text, r->line + 1, r->line_used);
    }
    if (r->line[0] == '*' && number > 0) r->wanted += (int)number;
    if (r->line[0] == '$' && number >= 0)
        r->bulk_left = number + 2;
    else
        end_item(r, t, link, end);
}

static void take_bulk_byte(struct reader *r, struct talk *t, int link, int end, char byte) {
    struct item *i = r->count <= ITEMS_MAX ? &r->items[r->count - 1] : NULL;
    if (i && r->bulk_left > 2 && i->used + 1 < sizeof(i->text)) {
        i->text[i->used++] = byte;
        i->text[i->used] = '\0';
    }
    if (--r->bulk_left == 0) end_item(r, t, link, end);
}

static void take_byte(struct reader *r, struct talk *t, int link, int end, char byte) {
    if (r->bulk_left) {
        take_bulk_byte(r, t, link, end, byte);
    } else if (byte == '\n') {
        if (r->line_used && r->line[r->line_used - 1] == '\r') r->line_used--;
        r->line[r->line_used] = '\0';
        if (r->line_used) take_line(r, t, link, end);
        r->line_used = 0;
    } else if (r->line_used + 1 < sizeof(r->line)) {
        r->line[r->line_used++] = byte;
    }
}

void witness_see(int link, int end, const uint8_t *bytes, size_t length) {
    const struct link *l = &network->links[link];
    int from = l->ends[0].node;
    /* Of clients only what a Sentinel answers them counts. */
    if (from == OUTSIDE ? end == 1 || l->ends[1].node < servers : from < servers) return;
    if (!talks && !(talks = calloc(LINKS_MAX, sizeof(*talks)))) abort();
    struct talk *t = &talks[link];
    if (t->number != l->number + 1) {
        memset(t, 0, sizeof(*t));
        t->number = l->number + 1;
    }
    t->is_of_this_life = from != OUTSIDE && l->number >= world->nodes[from].start_links;
    for (size_t i = 0; i < length; i++) take_byte(&t->readers[end], t, link, end, (char)bytes[i]);
}
