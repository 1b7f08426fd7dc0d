/* SPDX-License-Identifier: BSD-3-Clause
 * Options and INFO fields of replication, until it is built.
 */
#ifndef EVENKEEL_REPLICATION_OPTIONS_H
#define EVENKEEL_REPLICATION_OPTIONS_H

/* Registers the rows. Once, at start. */
void replication_options_register(void);
#endif
