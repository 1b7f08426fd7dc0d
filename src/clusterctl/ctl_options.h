/* SPDX-License-Identifier: BSD-3-Clause
 * The options of redis-cli --cluster: their values, and the rows for the program's table.
 */
#ifndef EVENKEEL_CLUSTERCTL_CTL_OPTIONS_H
#define EVENKEEL_CLUSTERCTL_CTL_OPTIONS_H
#include <stdbool.h>
#include <stdint.h>

#include "clusterctl/ctl_slots.h"
#include "tools/tool_options.h"

struct ctl_options {
    struct tool_words command; /* behind --cluster: the command's name and its arguments */
    struct tool_words weights; /* "id=weight" */
    int64_t replicas, slots, timeout_msec, pipeline;
    double threshold_percent;
    const char *from, *to, *primary_id, *from_user, *from_password;
    bool yes, simulate, replace, copy, as_replica, use_empty_primaries;
    bool only_primaries, only_replicas, search_owners, fix_unreachable, from_ask_password;
};

#define CTL_OPTIONS_DEFAULT \
    ((struct ctl_options){.timeout_msec = 60000, .pipeline = 10, .threshold_percent = 2})

#define CTL_GROUP "Cluster"
#define CTL_COMMAND_NAMES                                                                       \
    "create check info fix reshard rebalance add-node del-node call set-timeout import backup " \
    "help"
/* `type` is the program's struct of settings, `field` its struct ctl_options. The row of --cluster
 * itself is the program's, because it chooses a mode. */
#define CTL_OPTION_ROWS(type, field)                                                              \
    CTL_TEXT_ROW(type, field.from, "--cluster-from", "ids|host:port",                             \
                 "reshard: ids of the nodes that slots leave, with commas, or \"all\". import: "  \
                 "the server whose keys are taken."),                                             \
        CTL_TEXT_ROW(type, field.to, "--cluster-to", "id", "reshard: the node that gets slots."), \
        CTL_NUMBER_ROW(type, field.slots, "--cluster-slots", "number", "reshard: so many slots.", \
                       1, KEY_SLOTS),                                                             \
        CTL_FLAG_ROW(type, field.yes, "--cluster-yes", "Answer yes to questions."),               \
        CTL_NUMBER_ROW(type, field.timeout_msec, "--cluster-timeout", "ms",                       \
                       "The longest that a MIGRATE may take (60000).", 1, INT32_MAX),             \
        CTL_NUMBER_ROW(type, field.pipeline, "--cluster-pipeline", "keys",                        \
                       "Keys of a MIGRATE (10).", 1, CTL_PIPELINE_MAX),                           \
        CTL_FLAG_ROW(type, field.replace, "--cluster-replace",                                    \
                     "Overwrite keys that the target has with other values."),                    \
        CTL_NUMBER_ROW(type, field.replicas, "--cluster-replicas", "number",                      \
                       "create: replicas of each primary (0).", 0, INT16_MAX),                    \
        {.name = "--cluster-weight",                                                              \
         .argument = "id=weight ...",                                                             \
         .help = "rebalance: a primary's weight (1); 0 takes all its slots. An id may be cut.",   \
         .group = CTL_GROUP,                                                                      \
         .words = TOOL_PLACE(type, field.weights)},                                               \
        CTL_FLAG_ROW(type, field.use_empty_primaries, "--cluster-use-empty-masters",              \
                     "rebalance: give slots to primaries without any."),                          \
        {.name = "--cluster-threshold",                                                           \
         .argument = "percent",                                                                   \
         .help = "rebalance: only if a primary is farther from its part (2).",                    \
         .group = CTL_GROUP,                                                                      \
         .real = TOOL_PLACE(type, field.threshold_percent),                                       \
         .most = CTL_THRESHOLD_MAX},                                                              \
        CTL_FLAG_ROW(type, field.simulate, "--cluster-simulate",                                  \
                     "rebalance: show the plan, and move nothing."),                              \
        CTL_FLAG_ROW(type, field.as_replica, "--cluster-slave",                                   \
                     "add-node: the new node becomes a replica."),                                \
        CTL_TEXT_ROW(type, field.primary_id, "--cluster-master-id", "id",                         \
                     "add-node: its primary; else the one with the fewest replicas."),            \
        CTL_FLAG_ROW(type, field.only_primaries, "--cluster-only-masters",                        \
                     "call: only on primaries."),                                                 \
        CTL_FLAG_ROW(type, field.only_replicas, "--cluster-only-replicas",                        \
                     "call: only on replicas."),                                                  \
        CTL_FLAG_ROW(type, field.search_owners, "--cluster-search-multiple-owners",               \
                     "check, fix: look for slots that several nodes think they own."),            \
        CTL_FLAG_ROW(type, field.fix_unreachable, "--cluster-fix-with-unreachable-masters",       \
                     "fix: give away slots of primaries that cannot be reached. Their keys are "  \
                     "lost!"),                                                                    \
        CTL_TEXT_ROW(type, field.from_user, "--cluster-from-user", "username",                    \
                     "import: user at the source."),                                              \
        CTL_TEXT_ROW(type, field.from_password, "--cluster-from-pass", "password",                \
                     "import: password at the source."),                                          \
        CTL_FLAG_ROW(type, field.from_ask_password, "--cluster-from-askpass",                     \
                     "import: ask for that password, without showing it."),                       \
        CTL_FLAG_ROW(type, field.copy, "--cluster-copy", "import: the source keeps its keys.")

/* More keys of one MIGRATE would block both nodes for long. */
#define CTL_PIPELINE_MAX 10000
/* Above this no part is ever too far. */
#define CTL_THRESHOLD_MAX 1000000

#define CTL_TEXT_ROW(type, place, option, value_name, sentence)                             \
    {                                                                                       \
        .name = (option), .argument = (value_name), .help = (sentence), .group = CTL_GROUP, \
        .text = TOOL_PLACE(type, place)                                                     \
    }
#define CTL_NUMBER_ROW(type, place, option, value_name, sentence, low, high)                \
    {                                                                                       \
        .name = (option), .argument = (value_name), .help = (sentence), .group = CTL_GROUP, \
        .number = TOOL_PLACE(type, place), .least = (low), .most = (high)                   \
    }
#define CTL_FLAG_ROW(type, place, option, sentence) \
    { .name = (option), .help = (sentence), .group = CTL_GROUP, .flag = TOOL_PLACE(type, place) }
#endif
