/* SPDX-License-Identifier: BSD-3-Clause
 * COMMAND: facts about the server's commands. The row stands at the end.
 */
#include "commands/introspection.h"

#include "command/arguments.h"
#include "command/call.h"
#include "command/command.h"
#include "command/command_keys.h"
#include "command/row.h"
#include "net/reply.h"

/* False for a command that rename-command has removed, or that 6.2 answers outside its table. */
static bool is_listed(const struct command *c) {
    return c->called && !(c->flags & COMMAND_UNLISTED);
}

static int64_t listed_count(void) {
    int64_t count = 0;
    for (size_t i = 0; i < command_count(); i++) count += is_listed(command_at(i));
    return count;
}

static void reply_command_flags(struct client *client, unsigned flags) {
    int64_t count = 0;
    struct reply_group names = reply_set_begin(client);
    for (unsigned flag = 1; flag; flag <<= 1) {
        if (!(flags & flag && command_flag_name(flag))) continue;
        reply_status(client, command_flag_name(flag));
        count++;
    }
    reply_group_end(&names, count);
}

static void reply_categories(struct client *client, unsigned categories) {
    reply_set(client, __builtin_popcount(categories));
    for (unsigned category = 1; category; category <<= 1) {
        if (!(categories & category)) continue;
        char name[32];
        snprintf(name, sizeof(name), "@%s", command_category_name(category));
        reply_status(client, name);
    }
}

static void reply_command(struct client *client, const struct command *c) {
    if (!c || !is_listed(c)) {
        reply_null(client);
        return;
    }
    reply_array(client, 7);
    reply_bulk_c_string(client, c->name);
    reply_integer(client, c->arity);
    reply_command_flags(client, c->flags);
    reply_integer(client, c->first_key);
    reply_integer(client, c->last_key);
    reply_integer(client, c->key_step);
    reply_categories(client, command_categories(c));
}

static void command_list(struct call *call) {
    reply_array(call->client, listed_count());
    for (size_t i = 0; i < command_count(); i++)
        if (is_listed(command_at(i))) reply_command(call->client, command_at(i));
}

static void command_info(struct call *call) {
    reply_array(call->client, call->argc - 2);
    for (int i = 2; i < call->argc; i++) reply_command(call->client, command_find(call->argv[i]));
}

static bool count_key(int index, void *context) {
    ++*(int *)context;
    return true;
}

static bool reply_key(int index, void *context) {
    const struct call *call = context;
    reply_bulk(call->client, call->argv[2 + index]);
    return true;
}

static void command_getkeys(struct call *call) {
    const struct command *c = command_find(call->argv[2]);
    int argc = call->argc - 2;
    int count = 0;
    if (!c || !is_listed(c)) {
        reply_error(call->client, "Invalid command specified");
        return;
    }
    if (!command_has_keys(c)) {
        reply_error(call->client, "The command has no key arguments");
        return;
    }
    if (!command_arity_fits(c, argc)) {
        reply_error(call->client, "Invalid number of arguments specified for command");
        return;
    }
    struct key_search search = {c, argc, call->argv + 2, count_key, &count};
    if (!command_each_key(&search)) {
        reply_error(call->client, "Invalid arguments specified for command");
        return;
    }
    reply_array(call->client, (size_t)count);
    search.visit = reply_key;
    search.context = call;
    command_each_key(&search);
}

static const char *const help[] = {
    "(no subcommand)",
    "    All commands, each with its arity, flags, key positions and ACL categories.",
    "COUNT",
    "    How many commands there are.",
    "GETKEYS <full-command>",
    "    The arguments of a command that are keys.",
    "INFO [<command-name> ...]",
    "    The named commands, as they are shown without a subcommand.",
    NULL,
};

static void command_command(struct call *call) {
    if (call->argc == 1) {
        command_list(call);
    } else if (call->argc == 2 && argument_is(call, 1, "help")) {
        reply_help(call, help);
    } else if (call->argc == 2 && argument_is(call, 1, "count")) {
        reply_integer(call->client, listed_count());
    } else if (argument_is(call, 1, "info")) {
        command_info(call);
    } else if (call->argc >= 3 && argument_is(call, 1, "getkeys")) {
        command_getkeys(call);
    } else {
        reply_unknown_subcommand(call);
    }
}

static struct command rows[] = {
    COMMAND("command", command_command, -1, BY_CHANCE | ANYTIME, ACL_CONNECTION, NO_KEYS,
            "The commands of this server, and their arguments."),
};

void commands_introspection_register(void) { command_register(COMMAND_ROWS(rows)); }
