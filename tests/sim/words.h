/* SPDX-License-Identifier: BSD-3-Clause
 * Random commands of all families, from rows of text.
 */
#ifndef EVENKEEL_TESTS_SIM_WORDS_H
#define EVENKEEL_TESTS_SIM_WORDS_H
#include "sim/client.h"

/* Sends one; counts as one reply. */
void words_send_random(struct client *c);
/* MULTI, some of them, EXEC; returns how many replies that is. */
int words_send_transaction(struct client *c);
#endif
