/* SPDX-License-Identifier: BSD-3-Clause
 * The instances. watched.h has the idea.
 *
 * Invariants
 *  1. The counts of a primary are the lengths of its lists, and at most SENTINEL_REPLICAS_MAX and
 *     SENTINEL_VOTERS_MAX.
 *  2. All instances in the lists have a link.
 */
#include "sentinel/watched.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/memory.h"
#include "sentinel/event.h"
#include "sentinel/failover.h"
#include "sentinel/watch_link.h"

#define PRIORITY_AT_FIRST 100
/* A name stands in each event and hello message. */
#define NAME_CHARS_MAX 255

static struct list_link primaries = {&primaries, &primaries};
static size_t primary_count;

struct list_link *sentinel_primaries(void) {
    return &primaries;
}
size_t sentinel_primary_count(void) { return primary_count; }

/* ---- one instance ---- */

static void init_instance(struct instance *i, enum instance_kind kind, struct primary *p,
                          struct slice host, int port) {
    int64_t now = clock_monotonic_msec();
    i->kind = kind;
    i->primary = p;
    i->role = kind == INSTANCE_REPLICA ? REPORTED_REPLICA : REPORTED_PRIMARY;
    i->role_since = now;
    list_init(&i->in_primary);
    buffer_init(&i->info, MEMORY_OTHER);
    sentinel_address_set(&i->address, host, port);
}

static void free_instance(struct instance *i) {
    watch_link_detach(i);
    list_remove(&i->in_primary);
    sentinel_address_clear(&i->address);
    memory_free(i->name, MEMORY_OTHER);
    buffer_free(&i->info);
}

static bool is_port(int port) { return port >= 0 && port <= SENTINEL_PORT_MAX; }

/* ---- replicas ---- */

struct replica *sentinel_find_replica(const struct primary *p, struct slice host, int port) {
    LIST_FOR_EACH (link, next, &p->replicas)
        if (sentinel_address_is(&replica_at(link)->instance.address, host, port))
            return replica_at(link);
    return NULL;
}

/* A replica's name is its address. */
static char *name_of_address(const struct sentinel_address *a) {
    struct buffer name;
    buffer_init(&name, MEMORY_OTHER);
    const char *host = sentinel_address_shown(a);
    buffer_printf(&name, strchr(host, ':') ? "[%s]:%d" : "%s:%d", host, a->port);
    char *text = memory_strdup(name.bytes, MEMORY_OTHER);
    buffer_free(&name);
    return text;
}

struct replica *sentinel_add_replica(struct primary *p, struct slice host, int port) {
    if (p->replica_count == SENTINEL_REPLICAS_MAX || !is_port(port)) return NULL;
    if (!sentinel_address_allows(host) || sentinel_find_replica(p, host, port)) return NULL;
    struct replica *r = memory_zalloc(sizeof(*r), MEMORY_OTHER);
    init_instance(&r->instance, INSTANCE_REPLICA, p, host, port);
    r->instance.name = name_of_address(&r->instance.address);
    r->priority = PRIORITY_AT_FIRST;
    r->announced = true;
    r->follows_since = clock_monotonic_msec();
    watch_link_attach(&r->instance, NULL, clock_monotonic_msec());
    list_append(&p->replicas, &r->instance.in_primary);
    p->replica_count++;
    return r;
}

static void drop_replica(struct replica *r) {
    struct primary *p = r->instance.primary;
    if (p->promoted == r) p->promoted = NULL;
    free_instance(&r->instance);
    memory_free(r->follows_host, MEMORY_OTHER);
    memory_free(r, MEMORY_OTHER);
    p->replica_count--;
}

static void drop_replicas(struct primary *p) {
    sentinel_failover_reset(p, clock_monotonic_msec());
    LIST_FOR_EACH (link, next, &p->replicas) drop_replica(replica_at(link));
}

/* ---- other Sentinels ---- */

struct voter *sentinel_find_voter(const struct primary *p, struct slice run_id) {
    LIST_FOR_EACH (link, next, &p->voters)
        if (slice_is(run_id, voter_at(link)->instance.run_id)) return voter_at(link);
    return NULL;
}

struct voter *sentinel_find_voter_at(const struct primary *p, struct slice host, int port) {
    LIST_FOR_EACH (link, next, &p->voters)
        if (sentinel_address_is(&voter_at(link)->instance.address, host, port))
            return voter_at(link);
    return NULL;
}

/* An entry of that Sentinel, at that address, which another primary has; NULL: none. */
static struct instance *find_shared(const struct primary *p, const struct voter *v) {
    struct slice id = slice_of(v->instance.run_id);
    LIST_FOR_EACH (link, next, &primaries) {
        const struct primary *other = LIST_ENTRY(link, struct primary, in_watched);
        struct voter *found = other == p ? NULL : sentinel_find_voter(other, id);
        if (found && sentinel_address_equal(&found->instance.address, &v->instance.address))
            return &found->instance;
    }
    return NULL;
}

struct voter *sentinel_add_voter(struct primary *p, struct slice host, int port,
                                 struct slice run_id) {
    if (p->voter_count == SENTINEL_VOTERS_MAX || !is_port(port)) return NULL;
    if (run_id.length != SENTINEL_ID_CHARS || !sentinel_address_allows(host)) return NULL;
    if (sentinel_find_voter(p, run_id) || sentinel_find_voter_at(p, host, port)) return NULL;
    struct voter *v = memory_zalloc(sizeof(*v), MEMORY_OTHER);
    init_instance(&v->instance, INSTANCE_SENTINEL, p, host, port);
    v->instance.name = slice_dup_c_string(run_id, MEMORY_OTHER);
    v->last_hello = clock_monotonic_msec();
    memcpy(v->instance.run_id, run_id.bytes, run_id.length);
    watch_link_attach(&v->instance, find_shared(p, v), clock_monotonic_msec());
    list_append(&p->voters, &v->instance.in_primary);
    p->voter_count++;
    return v;
}

void sentinel_drop_voter(struct voter *v) {
    v->instance.primary->voter_count--;
    free_instance(&v->instance);
    memory_free(v, MEMORY_OTHER);
}

/* ---- primaries ---- */

struct primary *sentinel_find_primary(struct slice name) {
    LIST_FOR_EACH (link, next, &primaries) {
        struct primary *p = LIST_ENTRY(link, struct primary, in_watched);
        if (slice_equal(name, slice_of(p->instance.name))) return p;
    }
    return NULL;
}

struct primary *sentinel_find_primary_at(struct slice host, int port) {
    LIST_FOR_EACH (link, next, &primaries) {
        struct primary *p = LIST_ENTRY(link, struct primary, in_watched);
        if (sentinel_address_is(&p->instance.address, host, port)) return p;
    }
    return NULL;
}

/* A name is a word of events, of hello messages and of the file. */
static bool is_name(struct slice name) {
    for (size_t i = 0; i < name.length; i++) {
        char c = name.bytes[i];
        if (c <= ' ' || c > '~' || c == ',' || c == '"' || c == '\'' || c == '\\') return false;
    }
    return name.length > 0 && name.length <= NAME_CHARS_MAX;
}

/* Why there can be no such primary; NULL: there can. */
static const char *why_not_watched(struct slice name, struct slice host, int port, int quorum) {
    if (quorum <= 0) return "Quorum must be 1 or greater.";
    if (!is_port(port)) return "Invalid port number.";
    if (!sentinel_address_allows(host)) return "Can't resolve instance hostname.";
    if (!is_name(name)) return "Invalid master name.";
    if (sentinel_find_primary(name)) return "Duplicate master name.";
    if (primary_count == SENTINEL_PRIMARIES_MAX) return "Too many masters are monitored already.";
    return NULL;
}

struct primary *sentinel_add_primary(struct slice name, struct slice host, int port, int quorum,
                                     const char **reason) {
    *reason = why_not_watched(name, host, port, quorum);
    if (*reason) return NULL;
    struct primary *p = memory_zalloc(sizeof(*p), MEMORY_OTHER);
    init_instance(&p->instance, INSTANCE_PRIMARY, p, host, port);
    p->instance.name = slice_dup_c_string(name, MEMORY_OTHER);
    list_init(&p->replicas);
    list_init(&p->voters);
    buffer_init(&p->auth_pass, MEMORY_OTHER);
    p->quorum = quorum;
    p->down_after_msec = SENTINEL_DOWN_AFTER_MSEC;
    p->failover_timeout_msec = SENTINEL_FAILOVER_TIMEOUT_MSEC;
    p->parallel_syncs = SENTINEL_PARALLEL_SYNCS;
    watch_link_attach(&p->instance, NULL, clock_monotonic_msec());
    list_append(&primaries, &p->in_watched);
    primary_count++;
    return p;
}

static void drop_voters(struct primary *p) {
    LIST_FOR_EACH (link, next, &p->voters) sentinel_drop_voter(voter_at(link));
}

void sentinel_drop_primary(struct primary *p) {
    drop_replicas(p);
    drop_voters(p);
    list_remove(&p->in_watched);
    primary_count--;
    for (size_t k = 0; k < p->renamed_count; k++) {
        memory_free(p->renamed[k].command, MEMORY_OTHER);
        memory_free(p->renamed[k].name, MEMORY_OTHER);
    }
    memory_free(p->renamed, MEMORY_OTHER);
    memory_free(p->notification_script, MEMORY_OTHER);
    memory_free(p->reconfig_script, MEMORY_OTHER);
    memory_free(p->auth_user, MEMORY_OTHER);
    buffer_free(&p->auth_pass);
    free_instance(&p->instance);
    memory_free(p, MEMORY_OTHER);
}

void sentinel_reset_primary(struct primary *p, bool voters) {
    struct instance *i = &p->instance;
    int64_t now = clock_monotonic_msec();
    drop_replicas(p);
    if (voters) drop_voters(p);
    watch_link_close(i);
    watch_link_forget_signs(i, now);
    i->flags = 0;
    i->run_id[0] = '\0';
    i->role = REPORTED_PRIMARY;
    i->role_since = now;
    i->s_down_since = i->o_down_since = i->last_info = i->info_sent = 0;
    p->failover_start = 0;
    p->leader[0] = '\0';
}

static void add_told_replica(struct primary *p, const struct sentinel_address *a) {
    struct replica *r = sentinel_add_replica(p, slice_of(a->host), a->port);
    if (r) sentinel_event(EVENT_SLAVE, &r->instance, NULL);
}

void sentinel_switch_primary(struct primary *p, struct slice host, int port) {
    size_t count = 0;
    struct sentinel_address *kept =
        memory_zalloc((p->replica_count + 1) * sizeof(*kept), MEMORY_OTHER);
    struct sentinel_address target = {0};
    sentinel_address_set(&target, host, port);
    LIST_FOR_EACH (link, next, &p->replicas)
        if (!sentinel_address_equal(&replica_at(link)->instance.address, &target))
            sentinel_address_copy(&kept[count++], &replica_at(link)->instance.address);
    if (!sentinel_address_equal(&p->instance.address, &target))
        sentinel_address_copy(&kept[count++], &p->instance.address);
    sentinel_reset_primary(p, false);
    sentinel_address_copy(&p->instance.address, &target);
    for (size_t k = 0; k < count; k++) {
        add_told_replica(p, &kept[k]);
        sentinel_address_clear(&kept[k]);
    }
    sentinel_address_clear(&target);
    memory_free(kept, MEMORY_OTHER);
}

/* ---- names ---- */

static void note_name(struct instance *i, const char *host) {
    if (strcasecmp(i->address.host, host) != 0) return;
    if (!sentinel_address_refresh(&i->address) || i->kind != INSTANCE_REPLICA) return;
    memory_free(i->name, MEMORY_OTHER);
    i->name = name_of_address(&i->address);
}

void sentinel_watched_note_name(const char *host) {
    LIST_FOR_EACH (link, next, &primaries) {
        struct primary *p = LIST_ENTRY(link, struct primary, in_watched);
        note_name(&p->instance, host);
        LIST_FOR_EACH (r, following, &p->replicas) note_name(&replica_at(r)->instance, host);
        LIST_FOR_EACH (v, further, &p->voters) note_name(&voter_at(v)->instance, host);
    }
}
