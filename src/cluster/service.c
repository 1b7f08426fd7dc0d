/* SPDX-License-Identifier: BSD-3-Clause
 * Cluster mode as a whole.
 *
 *   start    configured -> open: nodes.conf is locked and read -> the role is decided (follow.h)
 *            -> data is loaded -> loaded: slots of keys without an owner become this node's
 *   turn     messages of the bus (bus.h) change the view (intake.h); step: after a change the state
 *            is judged, and nodes.conf is written; roles and lost keys follow (carry_out.h)
 *   clock    tick: the own address, the heartbeat, elections and the like (succession.h), the role,
 *            and, while the state is fail, the state
 *   end      close: nodes.conf is written, its lock given back
 *
 * Whoever changes the cluster calls cluster_changed, and need not ask for a write: the step does,
 * in the same turn.
 */
#include "cluster/service.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "bus/bus.h"
#include "bus/heartbeat.h"
#include "bus/meet.h"
#include "cluster/carry_out.h"
#include "cluster/follow.h"
#include "cluster/gate.h"
#include "cluster/options.h"
#include "cluster/redirect.h"
#include "cluster/succession.h"
#include "io/loop.h"
#include "net/listen.h"
#include "replication/link.h"
#include "replication/migrate.h"
#include "store/keyspace.h"
#include "topology/nodes_file.h"
#include "topology/slots.h"
#include "topology/state.h"

/* The bus's port must be one, too. */
#define CLIENT_PORT_MAX (UINT16_MAX - CLUSTER_BUS_PORT_OFFSET)

static struct cluster *here;
static struct cluster_state_memory state_memory;
static struct loop_timer clock_timer;
static int64_t ticked_msec;   /* monotonic: the last tick; 0 = there was none */
static uint64_t seen_changes; /* `changes`, as of the last step */

struct cluster *cluster_here(void) {
    return here;
}
bool cluster_is_enabled(void) { return cluster_options()->enabled; }

/* ---- what the options say of this node ---- */

static void address_from_options(struct cluster_address *a) {
    const struct cluster_options *o = cluster_options();
    bool tls = migrate_transport();
    int64_t own = tls ? listen_tls_port() : listen_port();
    int64_t said = tls ? o->announced_tls_port : o->announced_port;
    a->port = (uint16_t)(said ? said : own);
    a->plain_port = (uint16_t)(!tls ? 0 : o->announced_port ? o->announced_port : listen_port());
    a->bus_port =
        (uint16_t)(o->announced_bus_port ? o->announced_bus_port : own + CLUSTER_BUS_PORT_OFFSET);
    here->announces_host = *o->announced_ip;
    if (*o->announced_ip) snprintf(a->host, sizeof(a->host), "%s", o->announced_ip);
}

/* An address that was learned stays where cluster-announce-ip is empty. */
static void refresh_self(void) {
    struct cluster_node *self = here->self;
    struct cluster_address address = self->address;
    address_from_options(&address);
    unsigned flags = self->flags & ~(unsigned)CLUSTER_NODE_NO_FAILOVER;
    if (cluster_options()->no_failover) flags |= CLUSTER_NODE_NO_FAILOVER;
    if (flags == self->flags && memcmp(&address, &self->address, sizeof(address)) == 0) return;
    self->address = address;
    self->flags = (uint16_t)flags;
    cluster_changed(here);
}

/* ---- the state ---- */

static void judge_state(void) {
    const struct cluster_options *o = cluster_options();
    const struct cluster_state_rules rules = {o->full_coverage, o->node_timeout_ms};
    cluster_state_judge(here, &state_memory, &rules, clock_monotonic_msec());
}

static void options_changed(void) {
    refresh_self();
    judge_state();
}

bool cluster_service_step(void) {
    if (!here) return false;
    bool more = cluster_bus_take();
    cluster_carry_out_step();
    cluster_succession_step();
    if (here->changes != seen_changes) {
        judge_state();
        seen_changes = here->changes;
        (void)cluster_file_later();
    }
    more |= cluster_file_step();
    cluster_bus_step();
    return more;
}

void cluster_service_within(void) {
    if (!here) return;
    (void)cluster_bus_take(); /* the next turn goes on, which comes soon */
    cluster_file_advance();
    cluster_bus_step();
}

/* By how much the tick comes too late. Less than a whole tick is the usual course of things. */
static int64_t lateness_msec(void) {
    int64_t now_msec = clock_monotonic_msec(), late_msec = 0;
    if (ticked_msec) late_msec = now_msec - ticked_msec - CLUSTER_TICK_MSEC;
    ticked_msec = now_msec;
    return late_msec < CLUSTER_TICK_MSEC ? 0 : late_msec;
}

static int64_t clock_tick(struct loop_timer *timer) {
    refresh_self();
    int64_t now_msec = clock_wall_msec();
    cluster_heartbeat_tick(here, now_msec, lateness_msec(), cluster_options()->node_timeout_ms);
    cluster_succession_tick(now_msec);
    if (!link_is_replica()) cluster_follow(); /* the primary's address may be known now */
    if (!here->ok) judge_state();
    return CLUSTER_TICK_MSEC;
}

/* ---- start and end ---- */

bool cluster_service_configured(void) {
    const char *host;
    int port;
    if (!cluster_is_enabled() || !link_primary_by_option(&host, &port)) return true;
    log_warning("replicaof directive not allowed in cluster mode");
    return false;
}

static bool ports_are_possible(void) {
    int port = migrate_transport() ? listen_tls_port() : listen_port();
    if (port <= CLIENT_PORT_MAX) return true;
    log_warning(
        "Redis port number too high. Cluster communication port is 10,000 port numbers higher than "
        "your Redis port. Your Redis port number must be 55535 or less.");
    return false;
}

static int64_t sendbuf_limit(void) { return cluster_options()->link_sendbuf_limit; }

static const struct cluster_bus_hooks bus_hooks = {.transport = migrate_transport,
                                                   .sendbuf_limit = sendbuf_limit,
                                                   .connected = cluster_heartbeat_connected,
                                                   .received = cluster_carry_out_received};

bool cluster_service_open(struct loop *loop) {
    if (!cluster_is_enabled()) return true;
    if (!ports_are_possible()) return false;
    here = cluster_file_open(cluster_options()->file);
    if (!here) return false;
    refresh_self();
    cluster_follow_open(here);
    cluster_gate_open(here, &cluster_options()->reads_when_down);
    cluster_redirect_open(here);
    cluster_carry_out_open(here);
    cluster_heartbeat_open(here);
    cluster_succession_open(here);
    cluster_bus_open(loop, here, &bus_hooks);
    cluster_options_set_observer(options_changed);
    clock_timer.callback = clock_tick;
    loop_timer_start(loop, &clock_timer, CLUSTER_TICK_MSEC);
    return true;
}

static bool has_other_databases(void) {
    for (int i = 1; i < keyspace_databases(); i++)
        if (keyspace_count(keyspace_at(i))) return true;
    return false;
}

/* A crash between two steps of a slot's move may have left keys in a slot that is not this node's.
 */
static void take_responsibility(unsigned slot) {
    struct cluster_node *owner = here->owners[slot];
    if (owner == here->self || here->importing_from[slot]) return;
    if (!owner) {
        log_warning("I have keys for unassigned slot %u. Taking responsibility for it.", slot);
        cluster_slot_assign(here, slot, here->self);
    } else {
        log_warning(
            "I have keys for slot %u, but the slot is assigned to another node. Setting it to "
            "importing state.",
            slot);
        cluster_slot_set_importing(here, slot, owner);
    }
    cluster_changed(here);
}

bool cluster_service_loaded(void) {
    if (!here) return true;
    cluster_bus_accept();
    if (!cluster_node_is_primary(here->self)) return true;
    if (has_other_databases()) {
        log_warning(
            "You can't have keys in a DB different than DB 0 when in Cluster mode. "
            "Exiting.");
        return false;
    }
    for (unsigned slot = 0; slot < KEY_SLOTS; slot++)
        if (keyspace_slot_count(keyspace_at(0), slot)) take_responsibility(slot);
    return true;
}

void cluster_service_close(void) {
    if (!here) return;
    /* Clients that wait for this are answered before their connections close. */
    if (cluster_file_write()) (void)cluster_file_step();
    cluster_bus_close();
    cluster_forgotten_clear();
    cluster_file_close();
    cluster_free(here);
    here = NULL;
}
