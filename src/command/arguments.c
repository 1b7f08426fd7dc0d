/* SPDX-License-Identifier: BSD-3-Clause
 * Arguments of commands, and the error replies that many commands share.
 */
#include "command/arguments.h"

#include <inttypes.h>

#include "base/number.h"
#include "net/reply.h"
#include "store/entry.h"
#include "store/keyspace.h"

bool argument_int64(const struct call *call, int index, int64_t *value, const char *error) {
    struct slice text = call->argv[index];
    if (number_parse_int64(text.bytes, text.length, value)) return true;
    reply_error(call->client, error ? error : "value is not an integer or out of range");
    return false;
}

bool argument_int64_between(const struct call *call, int index, int64_t low, int64_t high,
                            int64_t *value) {
    if (!argument_int64(call, index, value, NULL)) return false;
    if (*value >= low && *value <= high) return true;
    reply_error_format(call->client,
                       "value is out of range, value must between %" PRId64 " and %" PRId64, low,
                       high);
    return false;
}

bool argument_not_negative(const struct call *call, int index, int64_t *value, const char *error) {
    if (!argument_int64(call, index, value, error)) return false;
    if (*value >= 0) return true;
    reply_error(call->client, error);
    return false;
}

bool argument_from_zero(const struct call *call, int index, int64_t *value) {
    return argument_not_negative(call, index, value, "value is out of range, must be positive");
}

bool argument_is(const struct call *call, int index, const char *word) {
    return slice_is(call->argv[index], word);
}

void reply_wrong_type(struct client *c) {
    reply_error(c, "-WRONGTYPE Operation against a key holding the wrong kind of value");
}

void reply_syntax_error(struct client *c) { reply_error(c, "syntax error"); }

static void append_upper(struct buffer *out, const char *name) {
    for (; *name; name++) buffer_append_char(out, (char)toupper((unsigned char)*name));
}

void reply_unknown_subcommand(const struct call *call) {
    /* The whole word, however long, up to its first NUL: as 6.2. */
    struct slice word = call->argv[1];
    struct buffer text;
    buffer_init(&text, MEMORY_OTHER);
    buffer_append_c_string(&text, "Unknown subcommand or wrong number of arguments for '");
    buffer_append(&text, word.bytes, strnlen(word.bytes, word.length));
    buffer_append_c_string(&text, "'. Try ");
    append_upper(&text, call->command->name);
    buffer_append_c_string(&text, " HELP.");
    reply_error_slice(call->client, buffer_slice(&text));
    buffer_free(&text);
}

void subcommand_run(struct call *call, const struct subcommand *rows, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (!argument_is(call, 1, rows[i].name)) continue;
        if (call->argc < rows[i].argc_min || call->argc > rows[i].argc_max) break;
        rows[i].handler(call);
        return;
    }
    reply_unknown_subcommand(call);
}

void reply_help(const struct call *call, const char *const *lines) {
    struct client *c = call->client;
    int64_t count = 0;
    while (lines[count]) count++;
    struct buffer headline;
    buffer_init(&headline, MEMORY_OTHER);
    append_upper(&headline, call->command->name);
    buffer_append_c_string(&headline, " <subcommand> [<arg> [value] [opt] ...]. Subcommands are:");
    reply_array(c, count + 3);
    reply_status_slice(c, buffer_slice(&headline));
    for (int64_t i = 0; i < count; i++) reply_status(c, lines[i]);
    reply_status(c, "HELP");
    reply_status(c, "    Prints this help.");
    buffer_free(&headline);
}

bool argument_is_client_name(struct slice name) {
    for (size_t i = 0; i < name.length; i++)
        if (name.bytes[i] < '!' || name.bytes[i] > '~') return false;
    return true;
}

bool argument_string_entry(const struct call *call, struct entry *e) {
    if (!e || e->type == ENTRY_STRING) return true;
    reply_wrong_type(call->client);
    return false;
}

static bool is_typed(const struct call *call, const struct entry *e, enum entry_type type) {
    if (!e || e->type == type) return true;
    reply_wrong_type(call->client);
    return false;
}

bool argument_read_typed(const struct call *call, int index, enum entry_type type,
                         struct entry **e) {
    *e = call_read(call, index);
    return is_typed(call, *e, type);
}

bool argument_find_typed(const struct call *call, int index, enum entry_type type,
                         struct entry **e) {
    *e = call_find(call, index);
    if (*e) keyspace_note_access(*e);
    return is_typed(call, *e, type);
}
