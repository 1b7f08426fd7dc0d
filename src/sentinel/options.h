/* SPDX-License-Identifier: BSD-3-Clause
 * The directive of Sentinel, which a server refuses.
 */
#ifndef EVENKEEL_SENTINEL_OPTIONS_H
#define EVENKEEL_SENTINEL_OPTIONS_H

/* Registers the rows. Once, at start. */
void sentinel_options_register(void);
#endif
