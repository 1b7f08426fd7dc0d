/* SPDX-License-Identifier: BSD-3-Clause
 * What a Sentinel watches: primaries, and of each primary its replicas and its other Sentinels.
 *
 * This is plain data. The rules (judge.h, election.h, choice.h, failover.h) read it and say what is
 * to be done; they know no socket and no clock. The shell (watched.h, watch_link.h, tick.h) fills
 * it in and does what the rules say. So each rule can be tested by a table of states.
 *
 * Invariants
 *  1. Every time is in milliseconds of the monotonic clock; 0 = never. The clock begins above 0.
 *  2. A primary owns its replicas and its other Sentinels; they are freed with it.
 *  3. A replica is named by its address, a Sentinel by its run id, a primary by the operator.
 *  4. `signs` is never NULL. Sentinels of one run id share the link that the signs belong to.
 *
 * On the wire and in events the names keep 6.2's words, master and slave.
 */
#ifndef EVENKEEL_SENTINEL_INSTANCE_H
#define EVENKEEL_SENTINEL_INSTANCE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "base/string.h"
#include "sentinel/address.h"
#include "sentinel/settings.h"

/* What others may make a Sentinel remember. An INFO answer or a hello message is foreign, so that
 * what it names beyond these limits is not added. A replica or Sentinel takes about 1 KiB, and two
 * connections or one. */
#define SENTINEL_PRIMARIES_MAX 1024
#define SENTINEL_REPLICAS_MAX 512 /* of one primary */
#define SENTINEL_VOTERS_MAX 256   /* other Sentinels of one primary */

enum instance_kind { INSTANCE_PRIMARY, INSTANCE_REPLICA, INSTANCE_SENTINEL };

/* In the order in which SENTINEL MASTERS names them; `master`, `slave`, `sentinel` and
 * `disconnected` are named after O_DOWN and follow from kind and link. */
enum instance_flag {
    INSTANCE_S_DOWN = 1 << 0,      /* subjectively down: by this Sentinel's own link */
    INSTANCE_O_DOWN = 1 << 1,      /* primaries: objectively down: a quorum says so */
    INSTANCE_SAYS_DOWN = 1 << 2,   /* Sentinels: said that the primary is down (master_down) */
    INSTANCE_IN_FAILOVER = 1 << 3, /* primaries: a failover of this Sentinel is under way */
    INSTANCE_PROMOTED = 1 << 4,    /* replicas: chosen by the failover */
    INSTANCE_RECONF_SENT = 1 << 5, /* replicas: told to follow the new primary */
    INSTANCE_RECONF_IN_PROGRESS = 1 << 6,
    INSTANCE_RECONF_DONE = 1 << 7,
    INSTANCE_FORCED = 1 << 8, /* primaries: the failover needs no election */
    INSTANCE_SCRIPT_KILL_SENT = 1 << 9,
};

/* What a link has seen: plain data, so that rules and tests need no socket. */
struct link_signs {
    bool connected;             /* every connection that the link needs is being made, or open */
    bool open;                  /* the connection for commands is open */
    int64_t disconnected_since; /* since when `connected` is false; 0 = it is true */
    int64_t ping_waits_since;   /* the first PING without an answer; 0 = none waits */
    int64_t last_ping_sent;
    int64_t last_good_answer; /* to PING: PONG, LOADING, MASTERDOWN */
    int64_t last_answer;      /* to PING: any */
};

enum reported_role { REPORTED_PRIMARY, REPORTED_REPLICA };

struct instance {
    enum instance_kind kind;
    unsigned flags; /* enum instance_flag */
    char *name;     /* owned */
    struct sentinel_address address;
    char run_id[SENTINEL_ID_CHARS + 1]; /* "" = not known */
    uint64_t
        serial; /* of its creation: names it in requests whose answers may come after its end */
    struct watch_link *link;
    struct list_link in_link;       /* among those that share the link */
    const struct link_signs *signs; /* of `link` */
    int64_t s_down_since, o_down_since;
    int64_t last_hello_sent;     /* published, or tried */
    struct list_link in_primary; /* replicas and Sentinels: among those of their primary */
    struct primary *primary;     /* whose it is; a primary's own is itself */
    /* By INFO; of primaries and replicas. */
    int64_t last_info; /* the last answer */
    int64_t info_sent; /* the last request */
    enum reported_role role;
    int64_t role_since; /* when this role was first reported */
    struct buffer info; /* the last answer, for SENTINEL INFO-CACHE */
};

/* What INFO says of a replica. */
struct replica {
    struct instance instance;
    char *follows_host; /* owned; NULL = not reported */
    int follows_port;
    int64_t follows_since; /* when this address was first reported */
    bool link_up;
    int64_t link_down_msec; /* as reported; 0 = up, or not reported */
    int64_t offset;
    int priority;
    bool announced;
    int64_t reconf_sent_at; /* when SLAVEOF was sent */
};

/* Another Sentinel that watches the same primary. */
struct voter {
    struct instance instance;
    int64_t last_hello;                 /* got from it */
    int64_t asked_at;                   /* SENTINEL IS-MASTER-DOWN-BY-ADDR was last sent */
    int64_t said_at;                    /* its last answer about the primary */
    char leader[SENTINEL_ID_CHARS + 1]; /* for which Sentinel it voted; "" = for none */
    uint64_t leader_epoch;
};

/* In the order of a failover. */
enum failover_state {
    FAILOVER_NONE,
    FAILOVER_WAIT_START,
    FAILOVER_SELECT_REPLICA,
    FAILOVER_SEND_PROMOTION,
    FAILOVER_WAIT_PROMOTION,
    FAILOVER_RECONF_REPLICAS,
    FAILOVER_UPDATE_CONFIG,
};

/* The name that a primary's servers have for a command. */
struct renamed_command {
    char *command, *name; /* owned */
};

struct primary {
    struct instance instance;
    struct list_link in_watched;
    struct list_link replicas, voters; /* by instance.in_primary */
    size_t replica_count, voter_count;
    int64_t down_after_msec, failover_timeout_msec;
    int quorum, parallel_syncs;
    char *notification_script, *reconfig_script; /* owned; NULL = none */
    char *auth_user;                             /* owned; NULL = none */
    struct buffer auth_pass;                     /* empty = none */
    struct renamed_command *renamed;             /* owned array */
    size_t renamed_count;
    uint64_t config_epoch;
    /* This Sentinel's last vote. */
    char leader[SENTINEL_ID_CHARS + 1]; /* "" = unknown, as after a restart */
    uint64_t leader_epoch;
    int64_t vote_failed; /* when a vote could not be written last */
    /* The failover of this Sentinel. */
    enum failover_state state;
    int64_t state_since;
    int64_t
        failover_start; /* of the last one, or of a vote for another Sentinel: delays the next */
    uint64_t failover_epoch;
    struct replica *promoted;
    int64_t delay_logged; /* the failover_start for which the next failover's delay was logged */
};

/* The replica, Sentinel or primary that the link or the instance stands in. */
static inline struct replica *replica_entry(const struct instance *i) {
    return LIST_ENTRY(i, struct replica, instance);
}
static inline struct voter *voter_entry(const struct instance *i) {
    return LIST_ENTRY(i, struct voter, instance);
}
static inline struct replica *replica_at(struct list_link *link) {
    return LIST_ENTRY(link, struct replica, instance.in_primary);
}
static inline struct voter *voter_at(struct list_link *link) {
    return LIST_ENTRY(link, struct voter, instance.in_primary);
}

/* Appends the instance as events name it: "master name ip port", or "slave|sentinel name ip port @
 * name ip port" with those of its primary. */
void instance_show(const struct instance *i, struct buffer *out);
/* Appends the flags as SENTINEL MASTERS shows them: "master,disconnected". */
void instance_show_flags(const struct instance *i, struct buffer *out);
#endif
