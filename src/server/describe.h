/* SPDX-License-Identifier: BSD-3-Clause
 * The reference of commands, made from their rows.
 */
#ifndef EVENKEEL_SERVER_DESCRIBE_H
#define EVENKEEL_SERVER_DESCRIBE_H

struct buffer;

/* Appends the page, in Markdown: docs/commands.md. */
void describe_commands(struct buffer *out);
#endif
