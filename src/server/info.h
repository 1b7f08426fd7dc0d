/* SPDX-License-Identifier: BSD-3-Clause
 * The command INFO, and the fields that belong to no other folder.
 */
#ifndef EVENKEEL_SERVER_INFO_H
#define EVENKEEL_SERVER_INFO_H
#include <stddef.h>

struct loop;

void info_register(void);
/* `loop` gives the figures of turns; the memory in use now becomes used_memory_startup. */
void info_open(struct loop *loop);
/* used_memory_startup and used_memory_dataset. */
size_t info_memory_at_start(void);
size_t info_dataset_bytes(void);
#endif
