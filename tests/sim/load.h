/* SPDX-License-Identifier: BSD-3-Clause
 * Clients that write, and what they were promised.
 *
 * Beside random commands each client writes a rising number of its own, by a command that never
 * lowers it. What was answered is what a promise counts from: under appendfsync always it outlives
 * any end of the server; with WAIT it is in whoever acknowledged it.
 */
#ifndef EVENKEEL_TESTS_SIM_LOAD_H
#define EVENKEEL_TESTS_SIM_LOAD_H
#include <stdbool.h>
#include <stdint.h>

#define LOAD_CLIENTS_MAX 8

struct load_options {
    int clients;
    int64_t pause_nsec;     /* between a client's requests, at most */
    int64_t least_nsec;     /* more than that, always */
    bool waits;             /* WAIT after some of the numbers */
    unsigned rest_permille; /* of requests are random commands; the others numbers */
};

void load_start(const struct load_options *options, int node);
/* From now on clients turn to that node, as soon as they notice. */
void load_turn_to(int node);
/* They turn to that node, which is told to be a primary, and asked at once for what was promised of
 * it (promise.h). */
void load_promote(int node);
/* Asks it once more, without telling it anything. */
void load_ask_promised(int node);
bool load_has_asked(void); /* the last such question was answered */
int load_node(void);
/* No new requests. */
void load_stop(void);
bool load_rests(void); /* nobody awaits a reply */
/* From now on what is answered by this node is to outlive its ends; -1: by none. */
void load_expect_durable(int node);
/* The node has come to an end. What it had answered must be there when it starts again; not `kept`:
 * only what load_note_safe was told of. */
void load_note_end(int node, bool kept);
/* All that the node has answered is on its disk, whatever happens there later. */
void load_note_safe(int node);
uint64_t load_replies(void);
uint64_t load_numbers(void);
#endif
