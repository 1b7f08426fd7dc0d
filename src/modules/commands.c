/* SPDX-License-Identifier: BSD-3-Clause
 * MODULE of a server that loads no modules: its list is empty, and LOAD is refused.
 */
#include "modules/commands.h"

#include <stdint.h>

#include "base/log.h"
#include "command/arguments.h"
#include "command/call.h"
#include "command/row.h"
#include "net/reply.h"

static const char *const help_lines[] = {
    "LIST",
    "    The modules that are loaded: none.",
    "LOAD <path> [<arg> ...]",
    "    Loads a module: refused, since modules are not built yet.",
    "UNLOAD <name>",
    "    Unloads a module: there is none.",
    NULL,
};

static void module_list(struct call *call) { reply_array(call->client, 0); }

static void module_load(struct call *call) {
    struct buffer path;
    buffer_init(&path, MEMORY_OTHER);
    buffer_append_quoted(&path, call->argv[2]);
    log_warning("Module %s failed to load: modules are not built yet", path.bytes);
    buffer_free(&path);
    reply_error(call->client, "Error loading the extension. Please check the server logs.");
}

static void module_unload(struct call *call) {
    reply_error(call->client, "Error unloading module: no such module with that name");
}

static void module_help(struct call *call) { reply_help(call, help_lines); }

static const struct subcommand subcommands[] = {
    {"help", 2, 2, module_help},
    {"list", 2, 2, module_list},
    {"load", 3, INT32_MAX, module_load},
    {"unload", 3, 3, module_unload},
};

static void command_module(struct call *call) {
    subcommand_run(call, subcommands, sizeof(subcommands) / sizeof(subcommands[0]));
}

static struct command rows[] = {
    COMMAND("module", command_module, -2, ADMIN | NO_SCRIPT, NO_CATEGORY, NO_KEYS,
            "Modules: LIST is empty, and LOAD is refused."),
};

void modules_commands_register(void) { command_register(COMMAND_ROWS(rows)); }
