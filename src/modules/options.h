/* SPDX-License-Identifier: BSD-3-Clause
 * Options and INFO fields of modules, which are not built yet.
 */
#ifndef EVENKEEL_MODULES_OPTIONS_H
#define EVENKEEL_MODULES_OPTIONS_H

/* Registers the rows. Once, at start. */
void modules_options_register(void);
#endif
