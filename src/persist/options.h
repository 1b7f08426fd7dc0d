/* SPDX-License-Identifier: BSD-3-Clause
 * Options and INFO fields of snapshots and the append only file, until these are built.
 */
#ifndef EVENKEEL_PERSIST_OPTIONS_H
#define EVENKEEL_PERSIST_OPTIONS_H
#include <stdbool.h>

/* Registers the rows. Once, at start. */
void persist_options_register(void);
/* The option rdbcompression. */
bool persist_options_compress(void);
/* Logs what the configuration asks for and does not get. Once, when all of it has been read. */
void persist_options_announce(void);
#endif
