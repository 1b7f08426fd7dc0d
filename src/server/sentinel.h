/* SPDX-License-Identifier: BSD-3-Clause
 * The mode of a Sentinel.
 */
#ifndef EVENKEEL_SERVER_SENTINEL_H
#define EVENKEEL_SERVER_SENTINEL_H

struct mode;

extern const struct mode mode_sentinel;
#endif
