/* SPDX-License-Identifier: BSD-3-Clause
 * Descriptors of the calling task that stand for something simulated (system.c).
 */
#ifndef EVENKEEL_TESTS_SIM_DESCRIPTORS_H
#define EVENKEEL_TESTS_SIM_DESCRIPTORS_H
#include "sim/world.h"

/* Never NULL; FD_REAL for one that the system has made. */
const struct task_fd *descriptor(int fd);
int descriptor_new(enum fd_kind kind, int index, int end);
#endif
