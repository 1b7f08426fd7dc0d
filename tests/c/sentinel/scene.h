/* SPDX-License-Identifier: BSD-3-Clause
 * A primary with replicas and other Sentinels, as the rules of src/sentinel/ read them: plain data
 * without links. All is well in it: a test says what is not.
 */
#ifndef EVENKEEL_TESTS_SENTINEL_SCENE_H
#define EVENKEEL_TESTS_SENTINEL_SCENE_H
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sentinel/instance.h"

#define NOW INT64_C(10000000)
#define DOWN_AFTER INT64_C(1000)
#define FAILOVER_TIMEOUT INT64_C(60000)
#define SCENE_MAX 8
#define SCENE_PRIMARY_PORT 7000
#define SCENE_REPLICA_PORT 7100 /* of the first; the others follow */
#define ME "0000000000000000000000000000000000000000"

struct scene {
    struct primary primary;
    struct replica replicas[SCENE_MAX];
    struct voter voters[SCENE_MAX];
    struct link_signs primary_signs, replica_signs[SCENE_MAX], voter_signs[SCENE_MAX];
};

static inline char *scene_text(const char *text) { return (char *)(uintptr_t)text; }

static inline void scene_address(struct sentinel_address *a, int port) {
    *a = (struct sentinel_address){.host = scene_text("10.0.0.1"), .port = port};
    snprintf(a->ip, sizeof(a->ip), "10.0.0.1");
}

/* The id of which each digit is `digit`. */
static inline void scene_id(char id[SENTINEL_ID_CHARS + 1], char digit) {
    memset(id, digit, SENTINEL_ID_CHARS);
    id[SENTINEL_ID_CHARS] = '\0';
}

static inline void scene_instance(struct scene *s, struct instance *i, struct link_signs *signs) {
    *signs = (struct link_signs){.connected = true,
                                 .open = true,
                                 .last_ping_sent = NOW - 100,
                                 .last_good_answer = NOW - 100,
                                 .last_answer = NOW - 100};
    i->primary = &s->primary;
    i->signs = signs;
    i->last_info = NOW - 500;
    i->role_since = NOW - 1000000;
}

/* Replicas have the run ids a.., b.. and so on, voters the ids 1.., 2.. and so on. */
static inline void scene_make(struct scene *s, int replicas, int voters) {
    *s = (struct scene){.primary = {.down_after_msec = DOWN_AFTER,
                                    .failover_timeout_msec = FAILOVER_TIMEOUT,
                                    .quorum = 2,
                                    .parallel_syncs = 1}};
    struct primary *p = &s->primary;
    list_init(&p->replicas);
    list_init(&p->voters);
    scene_instance(s, &p->instance, &s->primary_signs);
    scene_address(&p->instance.address, SCENE_PRIMARY_PORT);
    for (int at = 0; at < replicas; at++) {
        struct replica *r = &s->replicas[at];
        r->instance.kind = INSTANCE_REPLICA;
        r->instance.role = REPORTED_REPLICA;
        scene_instance(s, &r->instance, &s->replica_signs[at]);
        scene_address(&r->instance.address, SCENE_REPLICA_PORT + at);
        scene_id(r->instance.run_id, (char)('a' + at));
        r->follows_host = scene_text("10.0.0.1");
        r->follows_port = SCENE_PRIMARY_PORT;
        r->follows_since = NOW - 1000000;
        r->link_up = true;
        r->offset = 1000;
        r->priority = 100;
        list_append(&p->replicas, &r->instance.in_primary);
    }
    for (int at = 0; at < voters; at++) {
        struct voter *v = &s->voters[at];
        v->instance.kind = INSTANCE_SENTINEL;
        scene_instance(s, &v->instance, &s->voter_signs[at]);
        scene_id(v->instance.run_id, (char)('1' + at));
        list_append(&p->voters, &v->instance.in_primary);
    }
}

/* The voter has said, lately, that it votes for the Sentinel of this digit in `epoch`. */
static inline void scene_vote(struct voter *v, char digit, uint64_t epoch) {
    scene_id(v->leader, digit);
    v->leader_epoch = epoch;
    v->said_at = NOW;
}
#endif
