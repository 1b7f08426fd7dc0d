/* SPDX-License-Identifier: BSD-3-Clause
 * A password from the keyboard, which is not shown.
 */
#ifndef EVENKEEL_TOOLS_TOOL_PASSWORD_H
#define EVENKEEL_TOOLS_TOOL_PASSWORD_H
#include "base/attributes.h"

/* Reads a line from standard input, and no byte after it, because the bytes after it may be input
 * of the command. On a terminal `question` is asked on standard error, and the line is not shown.
 * Returns NULL if there is no line. The text belongs to the caller, who keeps it for the life of
 * the program. */
MUST_USE char *tool_password_ask(const char *question);
#endif
