/* SPDX-License-Identifier: BSD-3-Clause
 * Replies as text: for people, for pipes, for tables.
 */
#ifndef EVENKEEL_CLI_CLI_FORMAT_H
#define EVENKEEL_CLI_CLI_FORMAT_H
#include "base/string.h"
#include "cli/cli_options.h"
#include "peer/peer_reply.h"

/* Appends the reply as `output` has it, with the line end or delimiter behind it. `as_text`: a
 * text, or an error, is shown without quotes and type (INFO). O(reply). */
void cli_format_reply(struct buffer *out, const struct peer_reply *reply, enum cli_output output,
                      const struct cli_options *o, bool as_text);
/* Appends text that stands without quotes, an error's for example: bytes that a terminal would obey
 * become \xNN, all else stays as it is. O(text). */
void cli_format_plain(struct buffer *out, struct slice text);
/* The same of text that has lines and tabs, which stay. O(text). */
void cli_format_text(struct buffer *out, struct slice text);
/* Says on standard error what the server answered: `before`, the text as above, a line end. */
void cli_format_complain(const char *before, struct slice text);
/* Writes to standard output; ends the program where that is gone. `out` is empty then. */
void cli_format_flush(struct buffer *out);
/* Commands whose reply is text for people, not a value: INFO, CLIENT LIST ... */
bool cli_format_is_text_command(const struct slice *words, size_t count);
#endif
