/* SPDX-License-Identifier: BSD-3-Clause
 * Instances in replies. The fields and their order are 6.2's; times are ages in milliseconds.
 */
#include "sentinel/show.h"

#include "base/clock.h"
#include "net/reply.h"
#include "sentinel/failover.h"
#include "sentinel/watch_link.h"
#include "sentinel/watched.h"

/* A map in the making. */
struct shown_map {
    struct client *client;
    int64_t fields, now;
};

static void show_text(struct shown_map *m, const char *name, const char *value) {
    reply_bulk_c_string(m->client, name);
    reply_bulk_c_string(m->client, value);
    m->fields++;
}

static void show_number(struct shown_map *m, const char *name, int64_t value) {
    reply_bulk_c_string(m->client, name);
    reply_bulk_integer(m->client, value);
    m->fields++;
}

static void show_age(struct shown_map *m, const char *name, int64_t since) {
    show_number(m, name, since ? m->now - since : 0);
}

static void show_flags(struct shown_map *m, const struct instance *i) {
    struct buffer text;
    buffer_init(&text, MEMORY_OTHER);
    instance_show_flags(i, &text);
    show_text(m, "flags", text.bytes);
    buffer_free(&text);
}

static void show_link(struct shown_map *m, const struct instance *i) {
    show_number(m, "link-pending-commands", (int64_t)watch_link_pending(i));
    show_number(m, "link-refcount", (int64_t)watch_link_users(i));
    if (i->flags & INSTANCE_IN_FAILOVER)
        show_text(m, "failover-state", sentinel_failover_state_name(i->primary->state));
    show_age(m, "last-ping-sent", i->signs->ping_waits_since);
    show_age(m, "last-ok-ping-reply", i->signs->last_good_answer);
    show_age(m, "last-ping-reply", i->signs->last_answer);
    if (i->flags & INSTANCE_S_DOWN) show_age(m, "s-down-time", i->s_down_since);
    if (i->flags & INSTANCE_O_DOWN) show_age(m, "o-down-time", i->o_down_since);
    show_number(m, "down-after-milliseconds", i->primary->down_after_msec);
}

static void show_reported(struct shown_map *m, const struct instance *i) {
    show_age(m, "info-refresh", i->last_info);
    show_text(m, "role-reported", i->role == REPORTED_PRIMARY ? "master" : "slave");
    show_age(m, "role-reported-time", i->role_since);
}

static void show_primary(struct shown_map *m, const struct primary *p) {
    show_number(m, "config-epoch", (int64_t)p->config_epoch);
    show_number(m, "num-slaves", (int64_t)p->replica_count);
    show_number(m, "num-other-sentinels", (int64_t)p->voter_count);
    show_number(m, "quorum", p->quorum);
    show_number(m, "failover-timeout", p->failover_timeout_msec);
    show_number(m, "parallel-syncs", p->parallel_syncs);
    if (p->notification_script) show_text(m, "notification-script", p->notification_script);
    if (p->reconfig_script) show_text(m, "client-reconfig-script", p->reconfig_script);
}

static void show_replica(struct shown_map *m, const struct replica *r) {
    show_number(m, "master-link-down-time", r->link_down_msec);
    show_text(m, "master-link-status", r->link_up ? "ok" : "err");
    show_text(m, "master-host", r->follows_host ? r->follows_host : "?");
    show_number(m, "master-port", r->follows_port);
    show_number(m, "slave-priority", r->priority);
    show_number(m, "slave-repl-offset", r->offset);
    show_number(m, "replica-announced", r->announced);
}

static void show_voter(struct shown_map *m, const struct voter *v) {
    show_age(m, "last-hello-message", v->last_hello);
    show_text(m, "voted-leader", v->leader[0] ? v->leader : "?");
    show_number(m, "voted-leader-epoch", (int64_t)v->leader_epoch);
}

void sentinel_show_instance(struct client *c, const struct instance *i) {
    struct shown_map m = {.client = c, .now = clock_monotonic_msec()};
    struct reply_group group = reply_map_begin(c);
    show_text(&m, "name", i->name);
    show_text(&m, "ip", sentinel_address_shown(&i->address));
    show_number(&m, "port", i->address.port);
    show_text(&m, "runid", i->run_id);
    show_flags(&m, i);
    show_link(&m, i);
    switch (i->kind) {
    case INSTANCE_PRIMARY:
        show_reported(&m, i);
        show_primary(&m, i->primary);
        break;
    case INSTANCE_REPLICA:
        show_reported(&m, i);
        show_replica(&m, replica_entry(i));
        break;
    case INSTANCE_SENTINEL: show_voter(&m, voter_entry(i)); break;
    }
    reply_group_end(&group, m.fields);
}

void sentinel_show_primaries(struct client *c) {
    reply_array(c, (int64_t)sentinel_primary_count());
    LIST_FOR_EACH (link, next, sentinel_primaries())
        sentinel_show_instance(c, &LIST_ENTRY(link, struct primary, in_watched)->instance);
}

void sentinel_show_replicas(struct client *c, const struct primary *p) {
    struct reply_group group = reply_array_begin(c);
    int64_t count = 0;
    LIST_FOR_EACH (link, next, &p->replicas) {
        if (!replica_at(link)->announced) continue;
        sentinel_show_instance(c, &replica_at(link)->instance);
        count++;
    }
    reply_group_end(&group, count);
}

void sentinel_show_voters(struct client *c, const struct primary *p) {
    reply_array(c, (int64_t)p->voter_count);
    LIST_FOR_EACH (link, next, &p->voters) sentinel_show_instance(c, &voter_at(link)->instance);
}

static void show_info(struct client *c, const struct instance *i) {
    reply_array(c, 2);
    reply_integer(c, i->last_info ? clock_monotonic_msec() - i->last_info : 0);
    if (i->last_info)
        reply_bulk(c, buffer_slice(&i->info));
    else
        reply_null(c);
}

void sentinel_show_info_cache(struct client *c, const struct primary *p) {
    reply_array(c, (int64_t)p->replica_count + 1);
    show_info(c, &p->instance);
    LIST_FOR_EACH (link, next, &p->replicas) show_info(c, &replica_at(link)->instance);
}
