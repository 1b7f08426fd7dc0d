/* SPDX-License-Identifier: BSD-3-Clause
 * Who switches a node's log: on, off, written anew; its fsync policy, and how it is written anew.
 *
 * What a node that runs with appendfsync always has answered must be there after
 *
 *   a kill        from the moment on in which the log's first file has its name (the simulation
 * sees the rename), for a start finds that file; and all that was answered before; a power cut from
 * the moment on in which the node says that the file is in its place: before that the folder may
 * not be synced.
 *
 * That ends when the log is switched off, or another policy is set; what had been answered by then
 * stays in the file.
 */
#ifndef EVENKEEL_TESTS_SIM_SWITCHER_H
#define EVENKEEL_TESTS_SIM_SWITCHER_H
#include <stdbool.h>
#include <stdint.h>

struct aof_switch;

/* Switches the node's log every so often; 0: never. `on` and `always`: as each of its servers
 * starts.
 */
void switcher_start(int node, int64_t every_nsec, bool on, bool always);
/* What the node has answered so far is kept when it is killed now, or its power is cut. */
bool switcher_keeps(int node, bool power_cut);
/* Switches nothing more, and leaves the log as it is. */
void switcher_end(void);

void __wrap_aof_switch_begin(const struct aof_switch *what);
void __real_aof_switch_begin(const struct aof_switch *what);
#endif
