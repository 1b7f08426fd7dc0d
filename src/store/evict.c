/* SPDX-License-Identifier: BSD-3-Clause
 * Eviction: two ways to find a victim.
 *
 * The entry with the highest score is evicted first. The policy computes the score from the idle
 * time, the frequency, or the deadline.
 *
 * `sampling` draws some keys of each database and offers them to a pool that keeps the sixteen best
 * ever drawn, in order. The best one that still exists, with a score that has not fallen, is
 * evicted. For a volatile policy keys are drawn from the index by deadline.
 *
 * `clock` has a hand that moves over the table, bucket by bucket, and evicts each entry whose score
 * reaches a threshold; after a database's last bucket the hand moves to the next database. The
 * threshold adapts: it rises where an entry reached it and falls where an entry did not, in such
 * steps that it settles where one entry of VICTIM_ONE_IN reaches it. So a round evicts the oldest
 * third of the keys, needs no list, and looks at about three entries for each victim, mostly in the
 * same bucket. A sweep that has looked at EVICT_SWEEP_MAX entries without a victim evicts the best
 * of them.
 *
 * Volatile policies draw entries from the index by deadline instead of moving a hand over it:
 * neighbours in the index were mostly written at the same time, so a hand would take for old what
 * is only the oldest of its neighbourhood. Policies by chance or by deadline draw as under
 * `sampling`, because a hand has no advantage for them.
 *
 * Invariants
 *  1. The pool holds addresses that are never dereferenced before the table confirms that it still
 *     holds this element (table_holds), because a key may be deleted, move, or change its database
 *     at any time.
 *  2. The pool is in rising order of score and is emptied where policy or algorithm change.
 *  3. Between calls only the pool, the threshold and the hand's place, which is a number, are kept.
 */
#include "store/evict.h"

#include "base/panic.h"
#include "base/probes.h"
#include "ds/table.h"
#include "ds/timebuckets.h"
#include "metric/metric.h"
#include "option/option.h"
#include "store/entry.h"
#include "store/key_map.h"
#include "store/keyspace.h"
#include "store/recency.h"

/* As in 6.2: a smaller pool loses good candidates, in a larger one they become out of date. */
#define POOL_MAX 16
/* One entry of so many reaches the threshold; so an eviction looks at so many on average. */
#define VICTIM_ONE_IN 3
/* How far the threshold moves for an entry, in units of score. A doubling of idle time is 256
 * units, so the threshold follows a load that doubles its pace within a few dozen victims. */
#define THRESHOLD_STEP 8
/* The first sweep sets the threshold to the best score that it sees. */
#define THRESHOLD_UNKNOWN (-1)
#define SCORE_OCTAVE_BITS 8
/* The score's units for one step of the frequency counter, so that the threshold needs a few
 * entries to cross one step. */
#define SCORE_FREQUENCY 32
/* How many empty buckets a sweep skips before it draws instead. */
#define SWEEP_PLACES_MAX 64
/* How many entries of a database are drawn at once; more samples take several draws. */
#define DRAW_MAX 64

enum algorithm { ALGORITHM_SAMPLING, ALGORITHM_CLOCK };

struct candidate {
    struct keyspace *keyspace;
    struct entry *entry;
    uint64_t hash, score;
};

static int policy = EVICT_NOTHING, algorithm;
static int64_t samples;
static uint64_t evicted, examined;
static struct candidate pool[POOL_MAX];
static unsigned pool_count;
static int next_database; /* random policies: databases take turns */
static struct {
    int database;
    size_t place; /* key_map_sweep's, or number of draws in this database */
    size_t seen;  /* entries there that the hand has passed */
} hand;
static int64_t threshold = THRESHOLD_UNKNOWN; /* VICTIM_ONE_IN * score */

/* ---- options and metrics ---- */

static bool apply_policy(const struct option_row *row, char *reason, size_t reason_size) {
    recency_use_frequency(policy == EVICT_VOLATILE_LFU || policy == EVICT_ALLKEYS_LFU);
    pool_count = 0;
    threshold = THRESHOLD_UNKNOWN;
    memset(&hand, 0, sizeof(hand));
    return true;
}

static const struct option_name policy_names[] = {{"volatile-lru", EVICT_VOLATILE_LRU},
                                                  {"volatile-lfu", EVICT_VOLATILE_LFU},
                                                  {"volatile-random", EVICT_VOLATILE_RANDOM},
                                                  {"volatile-ttl", EVICT_VOLATILE_TTL},
                                                  {"allkeys-lru", EVICT_ALLKEYS_LRU},
                                                  {"allkeys-lfu", EVICT_ALLKEYS_LFU},
                                                  {"allkeys-random", EVICT_ALLKEYS_RANDOM},
                                                  {"noeviction", EVICT_NOTHING},
                                                  {NULL, 0}};
static const struct option_name algorithm_names[] = {
    {"sampling", ALGORITHM_SAMPLING}, {"clock", ALGORITHM_CLOCK}, {NULL, 0}};

static const struct option_row option_rows[] = {
    {.name = "maxmemory-policy",
     .type = OPTION_TYPE_ENUM,
     .flags = OPTION_MUTABLE,
     .section = "memory",
     .place = 20,
     .fallback = "noeviction",
     .variable = &policy,
     .names = policy_names,
     .apply = apply_policy,
     .help = "Which keys are evicted at the limit: those with an expiry time (volatile) or all, by "
             "recency, frequency, chance or nearest expiry; noeviction refuses writes instead."},
    OPTION_INT("maxmemory-samples", &samples, "5", 1, INT32_MAX, OPTION_MUTABLE, "memory", 30,
               "Keys of each database looked at to find one to evict. More come nearer to the "
               "policy and cost more time a key."),
    {.name = "maxmemory-eviction-algorithm",
     .type = OPTION_TYPE_ENUM,
     .flags = OPTION_MUTABLE,
     .section = "memory",
     .place = 110,
     .fallback = "sampling",
     .variable = &algorithm,
     .names = algorithm_names,
     .apply = apply_policy,
     .help = "How a key to evict is found. sampling: the best of some drawn at random, as Redis "
             "6.2. clock: a hand sweeps the keys and takes those long unused, for less time a key; "
             "it serves the policies by recency and frequency, the others draw as before."},
};

static const struct metric_row metric_rows[] = {
    {.section = "Stats",
     .place = 160,
     .name = "evicted_keys",
     .measure = METRIC_COUNTER,
     .type = METRIC_UINT64,
     .variable = &evicted,
     .reset = true,
     .help = "Keys evicted because of maxmemory."},
    {.section = "Stats",
     .place = 1200,
     .name = "evict_examined_total",
     .measure = METRIC_COUNTER,
     .type = METRIC_UINT64,
     .variable = &examined,
     .reset = true,
     .help = "Entries looked at to find those evicted."},
};

void evict_register(void) {
    option_register(option_rows, sizeof(option_rows) / sizeof(option_rows[0]));
    metric_register(metric_rows, sizeof(metric_rows) / sizeof(metric_rows[0]));
}

enum evict_policy evict_policy(void) { return (enum evict_policy)policy; }
uint64_t evict_count(void) { return evicted; }
uint64_t evict_examined(void) { return examined; }

bool evict_tracks_use(void) {
    return policy == EVICT_VOLATILE_LRU || policy == EVICT_ALLKEYS_LRU ||
           policy == EVICT_VOLATILE_LFU || policy == EVICT_ALLKEYS_LFU;
}

/* ---- scores ---- */

static bool is_volatile_policy(void) { return policy <= EVICT_VOLATILE_TTL; }

/* The logarithm of the idle time, so that a step of the threshold is the same share of any idle
 * time: the whole part is the number of doublings, the fraction the bits behind the first 1. */
static uint64_t score_of_idle(unsigned seconds) {
    uint64_t value = (uint64_t)seconds + 1;
    unsigned octave = 63 - (unsigned)__builtin_clzll(value);
    uint64_t fraction = (value << SCORE_OCTAVE_BITS >> octave) - (1u << SCORE_OCTAVE_BITS);
    return ((uint64_t)octave << SCORE_OCTAVE_BITS) + fraction;
}

static uint64_t score_of(const struct entry *e) {
    switch (evict_policy()) {
    case EVICT_VOLATILE_LFU:
    case EVICT_ALLKEYS_LFU: return (255 - (uint64_t)recency_frequency(e)) * SCORE_FREQUENCY;
    case EVICT_VOLATILE_TTL: return UINT64_MAX / 2 - (uint64_t)entry_deadline(e);
    default: return score_of_idle(recency_idle_seconds(e));
    }
}

static size_t count_of(const struct keyspace *ks) {
    return is_volatile_policy() ? keyspace_count_volatile(ks) : keyspace_count(ks);
}

/* ---- sampling ---- */

static void pool_remove(unsigned index) {
    pool_count--;
    memmove(pool + index, pool + index + 1, (pool_count - index) * sizeof(pool[0]));
}

/* Inserts the entry in order of score. A full pool drops its lowest entry, or does not take the new
 * one if that is lower. */
static void pool_offer(struct keyspace *ks, struct entry *e) {
    uint64_t score = score_of(e);
    examined++;
    if (pool_count == POOL_MAX && score <= pool[0].score) return;
    for (unsigned i = 0; i < pool_count; i++)
        if (pool[i].entry == e) pool_remove(i); /* drawn again, or another entry at its address */
    if (pool_count == POOL_MAX) pool_remove(0);
    unsigned index = pool_count;
    for (; index > 0 && pool[index - 1].score > score; index--) pool[index] = pool[index - 1];
    pool[index] = (struct candidate){ks, e, key_map_hash(e), score};
    pool_count++;
}

static void evict_sample_database(struct keyspace *ks) {
    void *drawn[DRAW_MAX];
    size_t wanted = (size_t)samples, count = count_of(ks);
    if (wanted > count) wanted = count;
    while (wanted > 0) {
        size_t got = wanted < DRAW_MAX ? wanted : DRAW_MAX;
        if (is_volatile_policy())
            for (size_t i = 0; i < got; i++) drawn[i] = timebuckets_random(keyspace_deadlines(ks));
        else
            got = key_map_sample(keyspace_map(ks), drawn, got);
        for (size_t i = 0; i < got; i++) pool_offer(ks, drawn[i]);
        wanted -= got;
    }
}

static bool is_there(const struct candidate *c) {
    const struct table *t = key_map_table(keyspace_map(c->keyspace), c->hash);
    return t && table_holds(t, c->hash, c->entry);
}

/* Takes the best entry that still exists with a score that has not fallen; false where the pool has
 * none. */
static bool pool_take(struct candidate *victim) {
    while (pool_count > 0) {
        *victim = pool[--pool_count];
        if (!is_there(victim)) continue;
        if (is_volatile_policy() && !entry_has_deadline(victim->entry)) continue;
        if (score_of(victim->entry) >= victim->score) return true;
    }
    return false;
}

static bool sample_all(void) {
    bool any = false;
    for (int i = 0; i < keyspace_databases(); i++) {
        if (!count_of(keyspace_at(i))) continue;
        evict_sample_database(keyspace_at(i));
        any = true;
    }
    return any;
}

static bool find_by_sampling(struct candidate *victim) {
    if (!sample_all()) return false;
    if (pool_take(victim)) return true;
    /* The pool was full of better entries, which are gone. It is empty now, so it takes what is
     * drawn. */
    sample_all();
    bool taken = pool_take(victim);
    ASSERT(taken);
    return taken;
}

/* ---- random ---- */

static bool find_at_random(struct candidate *victim) {
    for (int i = 0; i < keyspace_databases(); i++) {
        struct keyspace *ks = keyspace_at(next_database++ % keyspace_databases());
        next_database %= keyspace_databases();
        if (!count_of(ks)) continue;
        struct entry *e = is_volatile_policy() ? timebuckets_random(keyspace_deadlines(ks))
                                               : key_map_random(keyspace_map(ks), 0);
        examined++;
        *victim = (struct candidate){.keyspace = ks, .entry = e, .hash = key_map_hash(e)};
        return true;
    }
    return false;
}

/* ---- clock ---- */

struct sweep {
    size_t at, skip; /* entries of this place so far; those passed in an earlier sweep */
    int looked;      /* in the whole sweep */
    struct entry *found, *best;
    struct keyspace *best_keyspace;
    uint64_t best_score;
    size_t best_at;
    struct keyspace *keyspace;
};

static bool sweep_is_over(const struct sweep *s) {
    return s->found || s->looked >= EVICT_SWEEP_MAX;
}

static void sweep_look(void *element, void *context) {
    struct sweep *s = context;
    if (sweep_is_over(s) || s->at++ < s->skip) return;
    uint64_t score = score_of(element);
    s->looked++;
    if (threshold != THRESHOLD_UNKNOWN) {
        if (score * VICTIM_ONE_IN >= (uint64_t)threshold) {
            s->found = element;
            threshold += (VICTIM_ONE_IN - 1) * THRESHOLD_STEP;
            return;
        }
        threshold = threshold > THRESHOLD_STEP ? threshold - THRESHOLD_STEP : 0;
    }
    if (s->best && score <= s->best_score) return;
    s->best = element;
    s->best_score = score;
    s->best_keyspace = s->keyspace;
}

/* Moves the hand to where the sweep stopped: the same place, or `next`. */
static void move_hand(const struct sweep *s, size_t next) {
    if (sweep_is_over(s) && !is_volatile_policy()) {
        /* The victim leaves its place, and another entry may take it. */
        hand.seen = s->found ? s->at - 1 : s->at;
        return;
    }
    hand.seen = 0;
    hand.place = next;
    if (next == 0) hand.database = (hand.database + 1) % keyspace_databases();
}

/* Looks at one bucket, or at one draw. */
static void sweep_place(struct sweep *s) {
    struct keyspace *ks = keyspace_at(hand.database);
    s->keyspace = ks;
    s->at = 0;
    s->skip = hand.seen;
    if (is_volatile_policy()) {
        size_t draws = hand.place + 1;
        sweep_look(timebuckets_random(keyspace_deadlines(ks)), s);
        move_hand(s, draws < count_of(ks) ? draws : 0);
    } else {
        size_t position = hand.place;
        key_map_sweep(keyspace_map(ks), &position, sweep_look, s);
        move_hand(s, position);
    }
}

/* Moves the hand to a database that has keys; false where none has. */
static bool hand_find_database(void) {
    if (hand.database >= keyspace_databases()) hand.database = 0;
    for (int i = 0; i < keyspace_databases(); i++) {
        if (count_of(keyspace_at(hand.database))) return true;
        hand.database = (hand.database + 1) % keyspace_databases();
        hand.place = 0;
        hand.seen = 0;
    }
    return false;
}

static bool find_by_clock(struct candidate *victim) {
    struct sweep s = {0};
    for (int places = 0; places < SWEEP_PLACES_MAX && !sweep_is_over(&s); places++) {
        if (!hand_find_database()) return false;
        sweep_place(&s);
    }
    examined += (uint64_t)s.looked;
    if (threshold == THRESHOLD_UNKNOWN && s.best) threshold = (int64_t)s.best_score * VICTIM_ONE_IN;
    struct entry *e = s.found ? s.found : s.best;
    if (!e) return find_by_sampling(victim); /* a table with very few keys for its size */
    *victim = (struct candidate){s.found ? s.keyspace : s.best_keyspace, e, key_map_hash(e), 0};
    return true;
}

/* ---- the victim ---- */

static bool find_victim(struct candidate *victim) {
    switch (evict_policy()) {
    case EVICT_NOTHING: return false;
    case EVICT_VOLATILE_RANDOM:
    case EVICT_ALLKEYS_RANDOM: return find_at_random(victim);
    case EVICT_VOLATILE_TTL: return find_by_sampling(victim);
    default: return algorithm == ALGORITHM_CLOCK ? find_by_clock(victim) : find_by_sampling(victim);
    }
}

bool evict_one(bool lazily, size_t *bytes) {
    struct candidate victim;
    if (!find_victim(&victim)) return false;
    PROBE2(eviction__key, entry_key(victim.entry).bytes, entry_key(victim.entry).length);
    *bytes = keyspace_evict(victim.keyspace, victim.entry, victim.hash, lazily);
    evicted++;
    return true;
}
