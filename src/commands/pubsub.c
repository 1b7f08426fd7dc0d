/* SPDX-License-Identifier: BSD-3-Clause
 * SUBSCRIBE, PSUBSCRIBE and their opposites, PUBLISH, PUBSUB, over publish/pubsub. The rows stand
 * at the end.
 *
 * Subscribing and unsubscribing is answered not by a reply but by a message for each name (a push
 * in RESP3), which publish/pubsub sends. So CLIENT REPLY OFF does not suppress it, and in a
 * transaction it stands among the replies of EXEC.
 */
#include "commands/pubsub.h"

#include "base/glob.h"
#include "command/arguments.h"
#include "command/call.h"
#include "command/command.h"
#include "command/row.h"
#include "exec/effects.h"
#include "net/client.h"
#include "net/reply.h"
#include "publish/pubsub.h"

static void subscribe_generic(struct call *call, enum pubsub_kind kind) {
    for (int i = 1; i < call->argc; i++) pubsub_subscribe(call->client, kind, call->argv[i]);
}

static void unsubscribe_generic(struct call *call, enum pubsub_kind kind) {
    if (call->argc == 1) pubsub_unsubscribe_kind(call->client, kind);
    for (int i = 1; i < call->argc; i++) pubsub_unsubscribe(call->client, kind, call->argv[i]);
}

static void command_subscribe(struct call *call) { subscribe_generic(call, PUBSUB_CHANNEL); }
static void command_unsubscribe(struct call *call) { unsubscribe_generic(call, PUBSUB_CHANNEL); }
static void command_psubscribe(struct call *call) { subscribe_generic(call, PUBSUB_PATTERN); }
static void command_punsubscribe(struct call *call) { unsubscribe_generic(call, PUBSUB_PATTERN); }

static void command_publish(struct call *call) {
    size_t sent = pubsub_publish(call->argv[1], call->argv[2]);
    reply_integer(call->client, (int64_t)sent);
    if (pubsub_reaches_replicas()) effect_none();
}

/* ---- PUBSUB ---- */

struct channels {
    struct client *client;
    const struct slice *pattern; /* NULL: all */
    int64_t count;               /* that match */
};

static void list_channel(struct slice name, void *context) {
    struct channels *found = context;
    if (found->pattern && !glob_match(*found->pattern, name, false)) return;
    reply_bulk(found->client, name);
    found->count++;
}

static void pubsub_channels_command(struct call *call) {
    struct channels found = {.client = call->client,
                             .pattern = call->argc == 3 ? &call->argv[2] : NULL};
    struct reply_group names = reply_array_begin(call->client);
    pubsub_each_channel(list_channel, &found);
    reply_group_end(&names, found.count);
}

static void pubsub_numsub_command(struct call *call) {
    reply_array(call->client, 2 * (int64_t)(call->argc - 2));
    for (int i = 2; i < call->argc; i++) {
        reply_bulk(call->client, call->argv[i]);
        reply_integer(call->client, (int64_t)pubsub_subscribers(call->argv[i]));
    }
}

static void pubsub_numpat_command(struct call *call) {
    reply_integer(call->client, (int64_t)pubsub_count(PUBSUB_PATTERN));
}

static const char *const help_lines[] = {
    "CHANNELS [<pattern>]",
    "    The channels that somebody listens to; those that match the pattern.",
    "NUMPAT",
    "    How many distinct patterns somebody listens to.",
    "NUMSUB [<channel> ...]",
    "    How many listen to each of these channels; patterns are not counted.",
    NULL};

static void pubsub_help_command(struct call *call) { reply_help(call, help_lines); }

static const struct subcommand subcommands[] = {
    {"help", 2, 2, pubsub_help_command},
    {"channels", 2, 3, pubsub_channels_command},
    {"numsub", 2, INT32_MAX, pubsub_numsub_command},
    {"numpat", 2, 2, pubsub_numpat_command},
};

static void command_pubsub(struct call *call) {
    subcommand_run(call, subcommands, sizeof(subcommands) / sizeof(subcommands[0]));
}

/* ---- rows ---- */

static struct command rows[] = {
    COMMAND("subscribe", command_subscribe, -2,
            COMMAND_PUBSUB | ANYTIME | NO_SCRIPT | COMMAND_FOR_SUBSCRIBERS, NO_CATEGORY, NO_KEYS,
            "Listens to channels.", .channels = COMMAND_CHANNELS_ALL),
    COMMAND("unsubscribe", command_unsubscribe, -1,
            COMMAND_PUBSUB | ANYTIME | NO_SCRIPT | COMMAND_FOR_SUBSCRIBERS, NO_CATEGORY, NO_KEYS,
            "Stops listening to channels, to all of them where none is named."),
    COMMAND("psubscribe", command_psubscribe, -2,
            COMMAND_PUBSUB | ANYTIME | NO_SCRIPT | COMMAND_FOR_SUBSCRIBERS, NO_CATEGORY, NO_KEYS,
            "Listens to all channels whose names match patterns.",
            .channels = COMMAND_CHANNELS_PATTERNS),
    COMMAND("punsubscribe", command_punsubscribe, -1,
            COMMAND_PUBSUB | ANYTIME | NO_SCRIPT | COMMAND_FOR_SUBSCRIBERS, NO_CATEGORY, NO_KEYS,
            "Stops listening to patterns, to all of them where none is named."),
    COMMAND("publish", command_publish, 3, COMMAND_PUBSUB | ANYTIME | FAST | COMMAND_MAY_REPLICATE,
            NO_CATEGORY, NO_KEYS, "Sends a message to a channel; answers how many got it.",
            .channels = COMMAND_CHANNELS_FIRST, .propagation = COMMAND_PROPAGATES_TO_REPLICAS),
    COMMAND("pubsub", command_pubsub, -2, COMMAND_PUBSUB | ANYTIME | BY_CHANCE, NO_CATEGORY,
            NO_KEYS, "The channels and patterns that clients listen to."),
};

void commands_pubsub_register(void) { command_register(COMMAND_ROWS(rows)); }
