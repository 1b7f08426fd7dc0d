/* SPDX-License-Identifier: BSD-3-Clause
 * Save points: after how many seconds with how many changes a snapshot is due.
 */
#ifndef EVENKEEL_SAVE_SAVE_POINTS_H
#define EVENKEEL_SAVE_SAVE_POINTS_H
#include <stdbool.h>
#include <stdint.h>

struct save_point {
    int64_t seconds, changes;
};

/* Registers the option. Once, at start. `changed` is called after each change of the option. */
void save_points_register(void (*changed)(void));
bool save_points_any(void);
/* The first save point that so many changes in so many seconds have reached; NULL = none. */
const struct save_point *save_points_due(uint64_t changes, int64_t seconds);
#endif
