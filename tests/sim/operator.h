/* SPDX-License-Identifier: BSD-3-Clause
 * The operator: tells servers whom to follow, again whenever one has forgotten it, promotes now and
 * then, and compares what nodes have at the end.
 */
#ifndef EVENKEEL_TESTS_SIM_OPERATOR_H
#define EVENKEEL_TESTS_SIM_OPERATOR_H
#include <stdbool.h>
#include <stdint.h>

/* Node 0 is the primary, the others follow it. Each `promote_nsec` on average another is promoted,
 * or one is told to follow another replica; 0: never. */
void operator_start(int64_t promote_nsec);
int operator_primary(void);
unsigned operator_promotions(void);
/* Of no replica any more: from now on all follow the primary. */
void operator_settle(void);
/* Whether all nodes told the same DEBUG DIGEST, in the same round of questions. */
bool operator_sees_equal(void);
/* Says of each node what it told last. */
void operator_describe(char *out, unsigned long size);
#endif
