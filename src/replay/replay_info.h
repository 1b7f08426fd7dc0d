/* SPDX-License-Identifier: BSD-3-Clause
 * Figures and texts out of INFO.
 */
#ifndef EVENKEEL_REPLAY_REPLAY_INFO_H
#define EVENKEEL_REPLAY_REPLAY_INFO_H
#include <stddef.h>
#include <stdint.h>

struct tool_link;

/* The number of the field `name`; -1 where INFO's text has none, or a negative one. */
int64_t replay_info_number(const char *info, const char *name);
/* Copies the field's text, "" where there is none, fit to be shown. */
void replay_info_text(const char *info, const char *name, char *out, size_t size);
/* Prints what the server is: "Evenkeel 1.0, Redis 6.2.16" or "Redis 6.2.16". */
void replay_info_server(const char *info, char *out, size_t size);
#endif
