/* SPDX-License-Identifier: BSD-3-Clause
 * Saves that walk: each that comes through must have the data of the moment at which it began.
 *
 * At that moment the server's data is summed up: keys, values, deadlines. When a snapshot, or that
 * with which a log begins, is whole, a child of the server, which is no task of the simulation,
 * forgets its data, loads the file and sums up again. What is sent to replicas through a pipe is
 * not looked at: they come to equal digests later.
 *
 * Stands between save/saver.c and save/walk.c, by --wrap of walk_begin.
 */
#ifndef EVENKEEL_TESTS_SIM_SAVES_H
#define EVENKEEL_TESTS_SIM_SAVES_H
#include "save/saver_job.h"

void __wrap_walk_begin(const struct saver_job *job, int id, void (*wake)(void));
void __real_walk_begin(const struct saver_job *job, int id, void (*wake)(void));
#endif
