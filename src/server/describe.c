/* SPDX-License-Identifier: BSD-3-Clause
 * The reference of commands: one table, by name.
 */
#include "server/describe.h"

#include "base/string.h"
#include "command/command.h"

static int compare_names(const void *a, const void *b) {
    return strcmp((*(struct command *const *)a)->name, (*(struct command *const *)b)->name);
}

static void append_flags(const struct command *c, struct buffer *out) {
    const char *separator = "";
    for (unsigned flag = 1; flag && flag <= c->flags; flag <<= 1) {
        const char *name = c->flags & flag ? command_flag_name(flag) : NULL;
        if (!name) continue;
        buffer_printf(out, "%s%s", separator, name);
        separator = " ";
    }
}

static void append_categories(const struct command *c, struct buffer *out) {
    unsigned categories = command_categories(c);
    const char *separator = "";
    for (unsigned category = 1; category && category <= categories; category <<= 1) {
        if (!(categories & category)) continue;
        buffer_printf(out, "%s@%s", separator, command_category_name(category));
        separator = " ";
    }
}

static void append_keys(const struct command *c, struct buffer *out) {
    if (!c->first_key)
        buffer_append_c_string(out, "none");
    else if (c->first_key == c->last_key)
        buffer_printf(out, "%d", c->first_key);
    else if (c->last_key == -1)
        buffer_printf(out, "%d to the last", c->first_key);
    else
        buffer_printf(out, "%d to %d", c->first_key, c->last_key);
    if (c->key_step > 1) buffer_printf(out, ", each %d.", c->key_step);
}

/* Escapes bars, which would end the table's cell. */
static void append_cell(const char *text, struct buffer *out) {
    for (; *text; text++) {
        if (*text == '|') buffer_append_char(out, '\\');
        buffer_append_char(out, *text);
    }
}

void describe_commands(struct buffer *out) {
    size_t count = command_count();
    struct command **rows = memory_alloc(count * sizeof(*rows), MEMORY_OTHER);
    for (size_t i = 0; i < count; i++) rows[i] = command_at(i);
    qsort(rows, count, sizeof(*rows), compare_names);
    buffer_append_c_string(
        out,
        "# Commands\n\n"
        "Made from the program's own table: `redis-server --describe-commands`. Arguments counts\n"
        "the name, too; `2+` is two or more. Keys are the places of arguments that name keys.\n\n"
        "| command | arguments | keys | flags | categories | what it does |\n"
        "| --- | --- | --- | --- | --- | --- |\n");
    for (size_t i = 0; i < count; i++) {
        const struct command *c = rows[i];
        buffer_printf(out, "| `%s` | %d%s | ", c->name, abs(c->arity), c->arity < 0 ? "+" : "");
        append_keys(c, out);
        buffer_append_c_string(out, " | ");
        append_flags(c, out);
        buffer_append_c_string(out, " | ");
        append_categories(c, out);
        buffer_append_c_string(out, " | ");
        append_cell(c->help ? c->help : "", out);
        buffer_append_c_string(out, " |\n");
    }
    memory_free(rows, MEMORY_OTHER);
}
