/* SPDX-License-Identifier: BSD-3-Clause
 * Replies as text: formatted for people, raw for pipes, CSV for tables.
 */
#ifndef EVENKEEL_CLI_CLI_FORMAT_H
#define EVENKEEL_CLI_CLI_FORMAT_H
#include "base/string.h"
#include "cli/cli_options.h"
#include "peer/peer_reply.h"

/* Appends the reply in the form `output`, followed by a line end or the delimiter. With `as_text` a
 * string or an error is shown without quotes and type (INFO). O(reply). */
void cli_format_reply(struct buffer *out, const struct peer_reply *reply, enum cli_output output,
                      const struct cli_options *o, bool as_text);
/* Appends text without quotes, for example an error's. Bytes that are not printable characters of
 * UTF-8, control characters among them, become \xNN. O(text). */
void cli_format_plain(struct buffer *out, struct slice text);
/* Appends text as cli_format_plain does, but keeps line ends and tabs. O(text). */
void cli_format_text(struct buffer *out, struct slice text);
/* Prints an error of the server's on standard error: `before`, the text as cli_format_plain makes
 * it, a line end. */
void cli_format_complain(const char *before, struct slice text);
/* Writes `out` to standard output and empties it. Ends the program where standard output is closed.
 */
void cli_format_flush(struct buffer *out);
/* Whether the command's reply is text for people and not a value: INFO, CLIENT LIST ... */
bool cli_format_is_text_command(const struct slice *words, size_t count);
#endif
