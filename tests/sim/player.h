/* SPDX-License-Identifier: BSD-3-Clause
 * A replica that the simulation plays: it reads what it is sent, acknowledges it, and comes back
 * with the place that it has reached. It keeps no data; history.h says whether what it got is
 * right.
 */
#ifndef EVENKEEL_TESTS_SIM_PLAYER_H
#define EVENKEEL_TESTS_SIM_PLAYER_H

/* One that goes by the number of a node that is not there, of the primary `primary`. */
void player_start(int node, int primary);
void player_turn_to(int primary);
/* How many players there are. */
int players_count(void);
#endif
