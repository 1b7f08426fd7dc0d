/* SPDX-License-Identifier: BSD-3-Clause
 * What a Sentinel reads of a server's INFO.
 *
 *   run_id:<40 hex>                                            either role
 *   role:master | role:slave                                   either role
 *   slaveN:ip=H,port=P,...  (or slaveN:H,P,state)              of a primary
 *   master_link_down_since_seconds:N                           either role
 *   master_host:H  master_port:P  master_link_status:up|...    below role:slave
 *   slave_priority:N  slave_repl_offset:N  replica_announced:N below role:slave
 *
 * The text comes from a server that may be broken or hostile. A line that is not one of these, or
 * whose value cannot be right, counts as missing. A value that is missing leaves what the Sentinel
 * knew before, so `has` says which values there are.
 *
 * Invariants
 *  1. The result is bounded: at most SENTINEL_REPLICAS_MAX replicas, the rest is counted only.
 *  2. Nothing is allocated; the slices lie in the text. The cost is O(bytes of the text).
 */
#ifndef EVENKEEL_SENTINEL_INFO_READING_H
#define EVENKEEL_SENTINEL_INFO_READING_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/string.h"
#include "sentinel/instance.h"

enum sentinel_info_role { SENTINEL_INFO_NO_ROLE, SENTINEL_INFO_PRIMARY, SENTINEL_INFO_REPLICA };

/* Bits of `has`. */
enum sentinel_info_field {
    SENTINEL_INFO_HAS_HOST = 1 << 0,
    SENTINEL_INFO_HAS_PORT = 1 << 1,
    SENTINEL_INFO_HAS_LINK = 1 << 2,
    SENTINEL_INFO_HAS_PRIORITY = 1 << 3,
    SENTINEL_INFO_HAS_OFFSET = 1 << 4,
    SENTINEL_INFO_HAS_ANNOUNCED = 1 << 5,
};

struct sentinel_info_replica {
    struct slice host;
    int port;
};

struct sentinel_info {
    struct slice run_id; /* empty: none */
    enum sentinel_info_role role;
    unsigned has;
    struct slice primary_host; /* a replica's */
    int primary_port;
    bool link_up;
    int64_t link_down_msec; /* 0 where the line is missing; below 0: it was never up */
    int priority;
    int64_t offset;
    bool announced;
    size_t replica_count;
    size_t replicas_left_out; /* beyond the bound */
    struct sentinel_info_replica replicas[SENTINEL_REPLICAS_MAX];
};

/* Reads the text of INFO into `info`, all of whose members are set, but for replicas beyond
 * `replica_count`. The slices are valid as long as the text is. */
void sentinel_info_read(struct slice text, struct sentinel_info *info);
#endif
