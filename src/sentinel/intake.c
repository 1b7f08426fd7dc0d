/* SPDX-License-Identifier: BSD-3-Clause
 * What comes from other servers. intake.h has the idea.
 *
 * A hello message, in this order:
 *
 *   the Sentinel        this one itself       -> another one at its address is dropped; no more
 *                       id and address known  -> nothing
 *                       the id known          -> it has moved: its entries get the address
 *                       the address known     -> the one that was there is dropped
 *                       neither               -> a new entry
 *   the current epoch   higher                -> adopted
 *   the configuration   newer                 -> adopted; another address: switch
 *                       as old                -> two addresses: one of them gets a new epoch
 *
 * Invariants
 *  1. Nothing of a message counts unless all of it was parsed and its primary is watched here.
 *  2. A configuration's epoch never falls, and another address comes only with a higher one.
 */
#include "sentinel/intake.h"

#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "peer/peer_reply.h"
#include "sentinel/election.h"
#include "sentinel/event.h"
#include "sentinel/failover.h"
#include "sentinel/foreign_text.h"
#include "sentinel/hello.h"
#include "sentinel/info_reading.h"
#include "sentinel/record.h"
#include "sentinel/script.h"
#include "sentinel/watch_link.h"
#include "sentinel/watched.h"

static struct sentinel_info info; /* the one that is taken in; too large for a stack */

/* ---- INFO ---- */

static void note_run_id(struct instance *i, struct slice run_id) {
    if (run_id.length != SENTINEL_ID_CHARS || slice_is(run_id, i->run_id)) return;
    bool reboot = i->run_id[0] != '\0';
    memcpy(i->run_id, run_id.bytes, SENTINEL_ID_CHARS);
    i->run_id[SENTINEL_ID_CHARS] = '\0';
    if (reboot) sentinel_event(EVENT_REBOOT, i, NULL);
}

/* A name that is not looked up yet is left out: the next INFO names it again. So is the address of
 * the primary itself, which would be told to follow itself. */
static void note_replicas(struct primary *p) {
    char ip[SOCKET_ADDRESS_CHARS];
    for (size_t k = 0; k < info.replica_count; k++) {
        const struct sentinel_info_replica *named = &info.replicas[k];
        if (sentinel_find_replica(p, named->host, named->port)) continue;
        if (sentinel_address_is(&p->instance.address, named->host, named->port)) continue;
        if (sentinel_address_find(named->host, ip) != SENTINEL_HOST_KNOWN) continue;
        struct replica *r = sentinel_add_replica(p, named->host, named->port);
        if (!r) continue;
        sentinel_event(EVENT_SLAVE, &r->instance, NULL);
        sentinel_record_later();
    }
}

static void note_followed(struct replica *r, int64_t now) {
    bool host = info.has & SENTINEL_INFO_HAS_HOST, port = info.has & SENTINEL_INFO_HAS_PORT;
    if (host && !(r->follows_host && slice_is(info.primary_host, r->follows_host))) {
        memory_free(r->follows_host, MEMORY_OTHER);
        r->follows_host = slice_dup_c_string(info.primary_host, MEMORY_OTHER);
        r->follows_since = now;
    }
    if (port && info.primary_port != r->follows_port) {
        r->follows_port = info.primary_port;
        r->follows_since = now;
    }
}

static void note_replica(struct replica *r, int64_t now) {
    note_followed(r, now);
    if (info.has & SENTINEL_INFO_HAS_LINK) r->link_up = info.link_up;
    if (info.has & SENTINEL_INFO_HAS_PRIORITY) r->priority = info.priority;
    if (info.has & SENTINEL_INFO_HAS_OFFSET) r->offset = info.offset;
    if (info.has & SENTINEL_INFO_HAS_ANNOUNCED) r->announced = info.announced;
}

static void note_role(struct instance *i, enum reported_role role, int64_t now) {
    static const char *const names[] = {
        [REPORTED_PRIMARY] = "master", [REPORTED_REPLICA] = "slave"};
    bool expected = (role == REPORTED_PRIMARY) == (i->kind == INSTANCE_PRIMARY);
    if (i->role == role) return;
    i->role = role;
    i->role_since = now;
    if (role == REPORTED_REPLICA && i->kind == INSTANCE_REPLICA)
        replica_entry(i)->follows_since = now;
    sentinel_event(expected ? EVENT_ROLE_CHANGE : EVENT_ROLE_CHANGE_MISMATCH, i,
                   "new reported role is %s", names[role]);
}

void sentinel_intake_info(struct instance *i, struct slice text) {
    int64_t now = clock_monotonic_msec();
    sentinel_info_read(text, &info);
    buffer_clear(&i->info);
    buffer_append(&i->info, text.bytes, text.length);
    note_run_id(i, info.run_id);
    if (i->kind == INSTANCE_PRIMARY) note_replicas(i->primary);
    if (i->kind == INSTANCE_REPLICA) {
        replica_entry(i)->link_down_msec = info.link_down_msec;
        if (info.role == SENTINEL_INFO_REPLICA) note_replica(replica_entry(i), now);
    }
    i->last_info = now;
    if (info.role == SENTINEL_INFO_PRIMARY) note_role(i, REPORTED_PRIMARY, now);
    if (info.role == SENTINEL_INFO_REPLICA) note_role(i, REPORTED_REPLICA, now);
}

/* ---- the hello message ---- */

/* The entries that other primaries have of this Sentinel get its address, too. */
static void update_other_entries(struct voter *v) {
    int updated = 0;
    LIST_FOR_EACH (link, next, sentinel_primaries()) {
        const struct primary *p = LIST_ENTRY(link, struct primary, in_watched);
        struct voter *other = sentinel_find_voter(p, slice_of(v->instance.run_id));
        if (!other || other == v ||
            sentinel_address_equal(&other->instance.address, &v->instance.address))
            continue;
        struct voter *there =
            sentinel_find_voter_at(p, slice_of(v->instance.address.host), v->instance.address.port);
        if (there) sentinel_drop_voter(there);
        sentinel_address_copy(&other->instance.address, &v->instance.address);
        watch_link_share(&other->instance, &v->instance);
        updated++;
    }
    if (updated)
        sentinel_event(EVENT_SENTINEL_ADDRESS_UPDATE, &v->instance,
                       "%d additional matching instances", updated);
}

/* Finds or makes the entry of the Sentinel that speaks; NULL: there can be none. */
static struct voter *note_speaker(struct primary *p, const struct sentinel_hello *hello) {
    char ip[SOCKET_ADDRESS_CHARS];
    struct voter *known = sentinel_find_voter(p, hello->run_id);
    if (known && sentinel_address_is(&known->instance.address, hello->host, hello->port))
        return known;
    if (sentinel_address_find(hello->host, ip) != SENTINEL_HOST_KNOWN) return NULL;
    struct voter *there = sentinel_find_voter_at(p, hello->host, hello->port);
    bool drops = there || known;
    if (there && !known) sentinel_event(EVENT_SENTINEL_INVALID_ADDR, &there->instance, NULL);
    if (there) sentinel_drop_voter(there);
    if (known) {
        sentinel_event(EVENT_SENTINEL_ADDRESS_SWITCH, &p->instance, "ip %.*s port %d for %.*s",
                       (int)hello->host.length, hello->host.bytes, hello->port,
                       (int)hello->run_id.length, hello->run_id.bytes);
        sentinel_drop_voter(known);
    }
    struct voter *v = sentinel_add_voter(p, hello->host, hello->port, hello->run_id);
    if (v && !known) sentinel_event(EVENT_SENTINEL, &v->instance, NULL);
    if (v && known) update_other_entries(v);
    if (v || drops) sentinel_record_later();
    return v;
}

void sentinel_adopt_epoch(struct primary *p, uint64_t epoch) {
    if (epoch <= sentinel_settings()->epoch) return;
    sentinel_settings_change()->epoch = epoch;
    sentinel_event(EVENT_NEW_EPOCH, &p->instance, "%" PRIu64, epoch);
}

static void adopt_address(struct primary *p, const struct voter *v,
                          const struct sentinel_hello *hello) {
    struct sentinel_address from = {0};
    sentinel_event(EVENT_CONFIG_UPDATE_FROM, &v->instance, NULL);
    sentinel_event(EVENT_SWITCH_MASTER, &p->instance, "%s %s %d %.*s %d", p->instance.name,
                   sentinel_address_shown(&p->instance.address), p->instance.address.port,
                   (int)hello->primary_host.length, hello->primary_host.bytes, hello->primary_port);
    sentinel_address_copy(&from, &p->instance.address);
    sentinel_switch_primary(p, hello->primary_host, hello->primary_port);
    sentinel_script_reconfigure(p, false, &from, &p->instance.address);
    sentinel_address_clear(&from);
}

/* Writes an adopted configuration at once, because what this Sentinel says of it from now on must
 * hold after a restart. */
static void record_configuration(void) {
    if (!sentinel_record_write()) sentinel_record_later();
}

/* Two Sentinels have one configuration epoch and two addresses, as after two forced failovers at
 * once: the epoch that this one takes, if any, is above both. */
static void settle_epochs(struct primary *p, const struct sentinel_hello *hello) {
    const struct sentinel_address *ours = sentinel_failover_address(p);
    struct sentinel_address theirs = {0};
    sentinel_address_set(&theirs, hello->primary_host, hello->primary_port);
    uint64_t epoch =
        sentinel_election_settle(ours, &theirs, p->config_epoch, sentinel_settings()->epoch);
    sentinel_address_clear(&theirs);
    if (!epoch) return;
    log_warning("Another Sentinel has another address of '%s' with configuration epoch %" PRIu64
                ": ours takes epoch %" PRIu64,
                p->instance.name, p->config_epoch, epoch);
    sentinel_adopt_epoch(p, epoch);
    p->config_epoch = epoch;
    record_configuration();
    watch_link_hello_is_due(p);
}

static void note_configuration(struct primary *p, const struct voter *v,
                               const struct sentinel_hello *hello) {
    char ip[SOCKET_ADDRESS_CHARS];
    const struct sentinel_address *ours = sentinel_failover_address(p);
    if (hello->config_epoch < p->config_epoch) return;
    if (sentinel_address_is(ours, hello->primary_host, hello->primary_port)) {
        if (hello->config_epoch == p->config_epoch) return;
        p->config_epoch = hello->config_epoch;
        record_configuration();
        return;
    }
    /* A name that is not looked up yet: the next message will find it known. */
    if (sentinel_address_find(hello->primary_host, ip) != SENTINEL_HOST_KNOWN) return;
    if (hello->config_epoch == p->config_epoch) {
        settle_epochs(p, hello);
        return;
    }
    p->config_epoch = hello->config_epoch;
    adopt_address(p, v, hello);
    record_configuration();
}

/* Our own message has come back. A voter at our address is what this machine was under a former id:
 * a message of that time, delivered late, has brought it here, and no later one would drop it. */
static void drop_former_self(struct primary *p, const struct sentinel_hello *hello) {
    struct voter *there = sentinel_find_voter_at(p, hello->host, hello->port);
    if (!there) return;
    sentinel_event(EVENT_SENTINEL_INVALID_ADDR, &there->instance, NULL);
    sentinel_drop_voter(there);
    sentinel_record_later();
}

void sentinel_intake_hello(struct slice text) {
    struct sentinel_hello hello;
    if (!sentinel_hello_parse(text, &hello)) return;
    struct primary *p = sentinel_find_primary(hello.name);
    if (!p) return;
    if (slice_is(hello.run_id, sentinel_settings()->id)) {
        drop_former_self(p, &hello);
        return;
    }
    struct voter *v = note_speaker(p, &hello);
    if (hello.current_epoch > sentinel_settings()->epoch) {
        sentinel_adopt_epoch(p, hello.current_epoch);
        sentinel_record_later();
    }
    if (!v) return;
    note_configuration(p, v, &hello);
    v->last_hello = clock_monotonic_msec();
}

/* ---- the opinion of another Sentinel ---- */

static void note_vote(struct voter *v, struct slice leader, int64_t epoch) {
    bool is_vote = sentinel_foreign_is_id(leader) && epoch >= 0;
    if (!is_vote) {
        v->leader[0] = '\0';
        return;
    }
    if (v->leader_epoch != (uint64_t)epoch || !slice_is(leader, v->leader))
        log_warning("%s voted for %.*s %" PRId64, v->instance.name, (int)leader.length,
                    leader.bytes, epoch);
    memcpy(v->leader, leader.bytes, SENTINEL_ID_CHARS);
    v->leader[SENTINEL_ID_CHARS] = '\0';
    v->leader_epoch = (uint64_t)epoch;
}

void sentinel_intake_opinion(struct voter *v, const struct peer_reply *reply) {
    if (reply->type != PEER_ARRAY || reply->children != 3) return;
    const struct peer_reply *down = peer_reply_first(reply);
    const struct peer_reply *leader = peer_reply_next(down), *epoch = peer_reply_next(leader);
    if (down->type != PEER_INTEGER || leader->type != PEER_BULK || epoch->type != PEER_INTEGER)
        return;
    v->said_at = clock_monotonic_msec();
    v->instance.flags &= ~(unsigned)INSTANCE_SAYS_DOWN;
    if (down->integer == 1) v->instance.flags |= INSTANCE_SAYS_DOWN;
    /* `*` says nothing about a vote, which holds. */
    if (!slice_equal(leader->text, SLICE("*"))) note_vote(v, leader->text, epoch->integer);
}
