/* SPDX-License-Identifier: BSD-3-Clause
 * redis-cli --cluster: the commands as rows, their addresses, help.
 */
#include "clusterctl/ctl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "clusterctl/ctl_check.h"
#include "clusterctl/ctl_commands.h"
#include "clusterctl/ctl_talk.h"

#define YES_VARIABLE "REDISCLI_CLUSTER_YES"
#define ANY_NUMBER INT32_MAX

static int run_help(struct ctl_run *r);

static int run_info(struct ctl_run *r) {
    return !(ctl_cluster_load(&r->cluster, r->host, r->port) && ctl_check_say_info(&r->cluster));
}

static int run_check(struct ctl_run *r) { return run_info(r) || !ctl_check_cluster(r, 0).good; }

static int run_fix(struct ctl_run *r) {
    return run_info(r) || !ctl_check_cluster(r, CTL_CHECK_FIX).good;
}

/* Where a command's words have the address of a node of the cluster. */
enum place {
    NOWHERE,
    ALONE,  /* all words: host:port, or host and port */
    FIRST,  /* the first word: host:port */
    SECOND, /* the second word; the first is an address, too */
};

struct command {
    const char *name;
    int (*run)(struct ctl_run *r);
    int least, most; /* words behind the name */
    enum place place;
    bool stoppable; /* looks for interrupts itself */
    const char *arguments, *help, *options;
};

static const struct command commands[] = {
    {"create", ctl_create, 2, ANY_NUMBER, NOWHERE, false, "host1:port1 ... hostN:portN",
     "Makes a cluster of empty nodes.", "replicas yes"},
    {"check", run_check, 1, ANY_NUMBER, ALONE, false, "host:port",
     "Looks for slots that are open, have no owner, or are owned by several nodes.",
     "search-multiple-owners"},
    {"info", run_info, 1, ANY_NUMBER, ALONE, false, "host:port",
     "Counts keys, slots and replicas of each primary.", ""},
    {"fix", run_fix, 1, ANY_NUMBER, ALONE, true, "host:port", "Repairs what check finds.",
     "search-multiple-owners fix-with-unreachable-masters yes timeout pipeline replace"},
    {"reshard", ctl_reshard, 1, ANY_NUMBER, ALONE, true, "host:port",
     "Moves slots to a primary, and asks what the options do not say.",
     "from to slots yes timeout pipeline replace"},
    {"rebalance", ctl_rebalance, 1, ANY_NUMBER, ALONE, true, "host:port",
     "Moves slots so that each primary has its part.",
     "weight use-empty-masters threshold simulate yes timeout pipeline replace"},
    {"add-node", ctl_add_node, 2, 2, SECOND, false, "new_host:new_port host:port",
     "Joins an empty node to the cluster.", "slave master-id"},
    {"del-node", ctl_del_node, 2, 2, FIRST, false, "host:port node_id",
     "Removes a node that has no slots.", ""},
    {"call", ctl_call, 2, ANY_NUMBER, FIRST, false, "host:port command argument ...",
     "Sends a command to all nodes.", "only-masters only-replicas"},
    {"set-timeout", ctl_set_timeout, 2, 2, FIRST, false, "host:port milliseconds",
     "Sets cluster-node-timeout at all nodes.", ""},
    {"import", ctl_import, 1, 1, FIRST, true, "host:port",
     "Moves the keys of a single server into the cluster.",
     "from from-user from-pass from-askpass copy replace timeout"},
    {"backup", ctl_backup, 2, 2, FIRST, false, "host:port folder",
     "Fetches a snapshot of each primary, and describes the nodes.", ""},
    {"help", run_help, 0, 0, NOWHERE, false, "", "Prints this.", ""},
};
#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

static void say_options(const char *names) {
    while (*names) {
        size_t length = strcspn(names, " ");
        ctl_say(CTL_PLAIN, "      --cluster-%.*s\n", (int)length, names);
        names += length;
        names += strspn(names, " ");
    }
}

static int run_help(struct ctl_run *r) {
    ctl_say(CTL_PLAIN,
            "Usage: redis-cli --cluster command argument ... [option ...]\n\nCommands:\n");
    for (size_t i = 0; i < COMMANDS; i++) {
        ctl_say(CTL_PLAIN, "  %-12s %s\n      %s\n", commands[i].name, commands[i].arguments,
                commands[i].help);
        say_options(commands[i].options);
    }
    ctl_say(CTL_PLAIN,
            "\nThe address of any node names its cluster. redis-cli --help says what each option "
            "does.\nThe environment variable %s=1 is --cluster-yes.\n",
            YES_VARIABLE);
    return 1; /* as 6.2's */
}

static const struct command *find_command(const char *name) {
    for (size_t i = 0; i < COMMANDS; i++)
        if (!strcmp(commands[i].name, name)) return &commands[i];
    return NULL;
}

/* Takes host and port as two words. */
static bool take_pair(const char *host, const char *port, struct ctl_run *r) {
    struct buffer both = {.class = MEMORY_OTHER};
    buffer_printf(&both, "%s:%s", host, port);
    bool good = !strchr(host, ':') && ctl_address_parse(buffer_slice(&both), r->host, &r->port);
    buffer_free(&both);
    return good;
}

/* Finds the address among the words; false where it is none. */
static bool take_place(const struct command *command, struct ctl_run *r) {
    char host[CTL_HOST_CHARS];
    int port;
    switch (command->place) {
    case NOWHERE: return true;
    case ALONE:
        if (r->count == 2) return take_pair(r->words[0], r->words[1], r);
        return r->count == 1 && ctl_address_parse(slice_of(r->words[0]), r->host, &r->port);
    case FIRST: return ctl_address_parse(slice_of(r->words[0]), r->host, &r->port);
    case SECOND:
        return ctl_address_parse(slice_of(r->words[0]), host, &port) &&
               ctl_address_parse(slice_of(r->words[1]), r->host, &r->port);
    }
    return false;
}

int ctl_run(const struct ctl_options *options, const struct tool_connection *login) {
    const char *yes = getenv(YES_VARIABLE);
    struct ctl_run r = {.options = options,
                        .yes = options->yes || (yes && !strcmp(yes, "1")),
                        .words = options->command.words + 1,
                        .count = options->command.count - 1};
    const struct command *command = find_command(options->command.words[0]);
    if (!command) {
        ctl_complain("Unknown --cluster subcommand\n");
        return 1;
    }
    if (r.count < command->least || r.count > command->most) {
        ctl_complain("[ERR] Wrong number of arguments for specified --cluster sub command\n");
        return 1;
    }
    if (!take_place(command, &r)) {
        ctl_complain(
            "[ERR] Invalid arguments: you need to pass either a valid address (ie. "
            "120.0.0.1:7000) or space separated IP and port (ie. 120.0.0.1 7000)\n");
        return 1;
    }
    ctl_cluster_init(&r.cluster, login);
    if (command->stoppable) ctl_talk_heed_interrupt(true);
    int status = command->run(&r);
    ctl_cluster_free(&r.cluster);
    return status;
}
