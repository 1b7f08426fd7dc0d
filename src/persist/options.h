/* SPDX-License-Identifier: BSD-3-Clause
 * Options and INFO fields of the append only file, until it is built.
 */
#ifndef EVENKEEL_PERSIST_OPTIONS_H
#define EVENKEEL_PERSIST_OPTIONS_H
/* Registers the rows. Once, at start. */
void persist_options_register(void);
#endif
