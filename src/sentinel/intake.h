/* SPDX-License-Identifier: BSD-3-Clause
 * What comes from other servers is taken in: INFO, hello messages, answers about a primary.
 *
 * All of it is foreign: the parsers (info_reading.h, hello.h) bound and check the bytes, and
 * watched.h bounds the number of instances.
 */
#ifndef EVENKEEL_SENTINEL_INTAKE_H
#define EVENKEEL_SENTINEL_INTAKE_H
#include <stdint.h>

#include "base/string.h"
#include "sentinel/instance.h"

struct peer_reply;

/* Notes the text of INFO in a primary or replica: role, run id, state of its link; creates the
 * replicas that a primary names. Events, and a record of new replicas. */
void sentinel_intake_info(struct instance *i, struct slice text);
/* Notes a hello message: another Sentinel, or its move to another address; a higher current epoch;
 * a newer configuration, to which the primary is switched. Drops any other message. */
void sentinel_intake_hello(struct slice text);
/* Notes the answer of another Sentinel about the primary: whether it is down, and the vote. */
void sentinel_intake_opinion(struct voter *v, const struct peer_reply *reply);
/* Adopts a higher current epoch: an event about the primary. The caller has it recorded. */
void sentinel_adopt_epoch(struct primary *p, uint64_t epoch);
#endif
