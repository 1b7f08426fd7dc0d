/* SPDX-License-Identifier: BSD-3-Clause
 * Options and INFO fields of scripts, until these are built.
 */
#ifndef EVENKEEL_SCRIPT_OPTIONS_H
#define EVENKEEL_SCRIPT_OPTIONS_H

/* Registers the rows. Once, at start. */
void script_options_register(void);
#endif
