/* SPDX-License-Identifier: BSD-3-Clause
 * The option sanitize-dump-payload. All of a value is always checked; the option only says which
 * checks INFO counts, as in 6.2: those of ziplists, intsets and the nodes of streams.
 */
#ifndef EVENKEEL_RDB_SANITIZE_H
#define EVENKEEL_RDB_SANITIZE_H
#include <stdint.h>

struct call;

/* Registers the option and the field of INFO. Once, at start. */
void sanitize_register(void);
/* Counts `checked` checks of a file that was loaded, or of a value that a client has sent. */
void sanitize_note_file(uint64_t checked);
void sanitize_note_sent(const struct call *call, uint64_t checked);
#endif
