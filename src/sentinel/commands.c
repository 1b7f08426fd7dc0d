/* SPDX-License-Identifier: BSD-3-Clause
 * SENTINEL and its subcommands.
 *
 * An answer that promises something (OK of a change, a vote) is given only when the configuration
 * file has it.
 */
#include "sentinel/commands.h"

#include <string.h>

#include "base/clock.h"
#include "base/glob.h"
#include "base/memory.h"
#include "base/number.h"
#include "command/arguments.h"
#include "command/call.h"
#include "command/row.h"
#include "net/reply.h"
#include "sentinel/carry_out.h"
#include "sentinel/directives.h"
#include "sentinel/event.h"
#include "sentinel/failover.h"
#include "sentinel/monitor_command.h"
#include "sentinel/record.h"
#include "sentinel/script.h"
#include "sentinel/show.h"
#include "sentinel/tick.h"
#include "sentinel/watched.h"

#define NO_PRIMARY "No such master with that name"
#define CONFIG_FORMS "Only SENTINEL CONFIG GET <option> / SET <option> <value> are supported."
#define SHOWN_CHARS 128 /* of an argument in an error */
#define ARGUMENTS_MAX INT32_MAX

/* The primary that argument 2 names; NULL after an error. */
static struct primary *named_primary(struct call *call) {
    struct primary *p = sentinel_find_primary(call->argv[2]);
    if (!p) reply_error(call->client, NO_PRIMARY);
    return p;
}

/* An argument as an error shows it. */
struct shown_text {
    char text[SHOWN_CHARS];
};
static const char *show_argument(const struct call *call, int index, struct shown_text *shown) {
    return string_show(call->argv[index], shown->text, sizeof(shown->text));
}

/* ---- what is watched ---- */

static void command_masters(struct call *call) { sentinel_show_primaries(call->client); }

static void command_master(struct call *call) {
    const struct primary *p = named_primary(call);
    if (p) sentinel_show_instance(call->client, &p->instance);
}

static void command_replicas(struct call *call) {
    const struct primary *p = named_primary(call);
    if (p) sentinel_show_replicas(call->client, p);
}

static void command_sentinels(struct call *call) {
    const struct primary *p = named_primary(call);
    if (p) sentinel_show_voters(call->client, p);
}

static void command_myid(struct call *call) {
    reply_bulk_c_string(call->client, sentinel_settings()->id);
}

static void command_get_address(struct call *call) {
    const struct primary *p = sentinel_find_primary(call->argv[2]);
    if (!p) {
        reply_null_array(call->client);
        return;
    }
    const struct sentinel_address *address = sentinel_failover_address(p);
    reply_array(call->client, 2);
    reply_bulk_c_string(call->client, sentinel_address_shown(address));
    reply_bulk_integer(call->client, address->port);
}

/* Whether an earlier argument names the same primary. */
static bool is_repeated(const struct call *call, int index) {
    for (int k = 2; k < index; k++)
        if (slice_equal(call->argv[k], call->argv[index])) return true;
    return false;
}

static void show_cached(struct call *call, const struct primary *p, int64_t *count) {
    if (!p) return;
    reply_bulk_c_string(call->client, p->instance.name);
    sentinel_show_info_cache(call->client, p);
    *count += 2;
}

static void command_info_cache(struct call *call) {
    struct reply_group group = reply_array_begin(call->client);
    int64_t count = 0;
    /* More arguments than there can be primaries name one twice. */
    for (int k = 2; k < call->argc && k < 2 + SENTINEL_PRIMARIES_MAX; k++)
        if (!is_repeated(call, k)) show_cached(call, sentinel_find_primary(call->argv[k]), &count);
    if (call->argc == 2)
        LIST_FOR_EACH (link, next, sentinel_primaries())
            show_cached(call, LIST_ENTRY(link, struct primary, in_watched), &count);
    reply_group_end(&group, count);
}

/* ---- down, votes, quorum ---- */

static void command_is_master_down(struct call *call) {
    int64_t port, epoch;
    struct client *c = call->client;
    char candidate[SENTINEL_ID_CHARS + 1] = "";
    if (!argument_int64(call, 3, &port, NULL) || !argument_int64(call, 4, &epoch, NULL)) return;
    struct primary *p = port < 0 || port > SENTINEL_PORT_MAX
                            ? NULL
                            : sentinel_find_primary_at(call->argv[2], (int)port);
    bool down = p && !sentinel_is_tilted() && (p->instance.flags & INSTANCE_S_DOWN);
    bool votes = p && epoch >= 0 && call->argv[5].length == SENTINEL_ID_CHARS;
    if (votes) {
        memcpy(candidate, call->argv[5].bytes, SENTINEL_ID_CHARS);
        (void)sentinel_cast_vote(p, (uint64_t)epoch, candidate, clock_monotonic_msec());
    }
    reply_array(c, 3);
    reply_integer(c, down);
    reply_bulk_c_string(c, votes && p->leader[0] ? p->leader : "*");
    reply_integer(c, votes ? (int64_t)p->leader_epoch : 0);
}

static void command_ckquorum(struct call *call) {
    const struct primary *p = named_primary(call);
    if (!p) return;
    int usable = 1, known = (int)p->voter_count + 1;
    LIST_FOR_EACH (link, next, &p->voters)
        usable += !(voter_at(link)->instance.flags & INSTANCE_S_DOWN);
    bool quorum = usable >= p->quorum, majority = usable > known / 2;
    struct buffer text;
    buffer_init(&text, MEMORY_OTHER);
    if (quorum && majority) {
        buffer_printf(&text,
                      "OK %d usable Sentinels. Quorum and failover authorization can be reached",
                      usable);
        reply_status_slice(call->client, buffer_slice(&text));
        buffer_free(&text);
        return;
    }
    buffer_printf(&text, "-NOQUORUM %d usable Sentinels. ", usable);
    if (!quorum)
        buffer_append_c_string(&text,
                               "Not enough available Sentinels to reach the specified "
                               "quorum for this master");
    if (!quorum && !majority) buffer_append_c_string(&text, ". ");
    if (!majority)
        buffer_append_c_string(&text,
                               "Not enough available Sentinels to reach the majority and "
                               "authorize a failover");
    reply_error_slice(call->client, buffer_slice(&text));
    buffer_free(&text);
}

/* ---- changes ---- */

static void command_failover(struct call *call) {
    const char *refusal;
    struct primary *p = named_primary(call);
    if (!p) return;
    if (sentinel_carry_out_forced(p, &refusal, clock_monotonic_msec()))
        reply_ok(call->client);
    else
        reply_error(call->client, refusal);
}

static void command_remove(struct call *call) {
    struct primary *p = named_primary(call);
    if (!p) return;
    sentinel_event(EVENT_MONITOR_END, &p->instance, NULL);
    sentinel_drop_primary(p);
    sentinel_reply_recorded(call->client);
}

static void command_reset(struct call *call) {
    int64_t count = 0;
    LIST_FOR_EACH (link, next, sentinel_primaries()) {
        struct primary *p = LIST_ENTRY(link, struct primary, in_watched);
        if (!glob_match(call->argv[2], slice_of(p->instance.name), false)) continue;
        sentinel_carry_out_reset(p);
        count++;
    }
    if (count && !sentinel_record_write()) {
        sentinel_record_later();
        reply_error(call->client,
                    "The change is in effect, but could not be written to the configuration file");
        return;
    }
    reply_integer(call->client, count);
}

static void command_flushconfig(struct call *call) { sentinel_reply_recorded(call->client); }

/* ---- SET and CONFIG ---- */

static void refuse_option(struct call *call, int index, int bad, const char *reason) {
    struct shown_text option, value;
    if (reason)
        reply_error(call->client, reason);
    else
        reply_error_format(call->client, "Invalid argument '%s' for SENTINEL SET '%s'",
                           show_argument(call, bad, &value), show_argument(call, index, &option));
}

static void tell_set(const struct call *call, const struct primary *p, int index, int values,
                     bool secret) {
    struct buffer text;
    buffer_init(&text, MEMORY_OTHER);
    for (int k = 0; k <= values; k++) {
        struct slice word = call->argv[index + k];
        if (k && secret) word = SLICE("******");
        if (k) buffer_append_char(&text, ' ');
        for (size_t i = 0; i < word.length; i++)
            buffer_append_char(&text, word.bytes[i] >= ' ' ? word.bytes[i] : '.');
    }
    sentinel_event(EVENT_SET, &p->instance, "%s", text.bytes);
    buffer_free(&text);
}

/* Sets the option at argument `index`. Returns the number of its values, or -1 after an error. */
static int set_option(struct call *call, struct primary *p, int index) {
    const char *reason;
    struct shown_text shown;
    const struct sentinel_property *property = sentinel_property_find(call->argv[index]);
    int values = property ? sentinel_property_values(property) : 0;
    if (!property || call->argc - 1 - index < values) {
        reply_error_format(call->client,
                           "Unknown option or number of arguments for SENTINEL SET '%s'",
                           show_argument(call, index, &shown));
        return -1;
    }
    if (sentinel_property_is_script(property) && sentinel_settings()->deny_scripts_reconfig) {
        reply_error(call->client,
                    "Reconfiguration of scripts path is denied for security reasons. Check the "
                    "deny-scripts-reconfig configuration directive in your Sentinel "
                    "configuration");
        return -1;
    }
    if (!sentinel_property_set(property, p, &call->argv[index + 1], &reason)) {
        refuse_option(call, index, index + 1, reason);
        return -1;
    }
    tell_set(call, p, index, values, sentinel_property_is_secret(property));
    return values;
}

static void command_set(struct call *call) {
    struct primary *p = named_primary(call);
    if (!p) return;
    for (int k = 3; k < call->argc; k++) {
        int values = set_option(call, p, k);
        if (values < 0) {
            if (k > 3) sentinel_record_later(); /* what was set before the fault stays */
            return;
        }
        k += values;
    }
    sentinel_reply_recorded(call->client);
}

static void config_get(struct call *call) {
    struct reply_group group = reply_map_begin(call->client);
    const struct sentinel_setting *setting;
    int64_t count = 0;
    struct buffer value;
    buffer_init(&value, MEMORY_OTHER);
    for (size_t k = 0; (setting = sentinel_setting_at(k)); k++) {
        const char *name = sentinel_setting_name(setting);
        if (!glob_match(call->argv[3], slice_of(name), true)) continue;
        buffer_clear(&value);
        sentinel_setting_print(setting, &value);
        reply_bulk_c_string(call->client, name);
        reply_bulk(call->client, buffer_slice(&value));
        count++;
    }
    buffer_free(&value);
    reply_group_end(&group, count);
}

static const struct sentinel_setting *find_setting(struct slice name) {
    const struct sentinel_setting *setting;
    for (size_t k = 0; (setting = sentinel_setting_at(k)); k++)
        if (slice_is(name, sentinel_setting_name(setting))) return setting;
    return NULL;
}

static void config_set(struct call *call) {
    struct shown_text option, value;
    const struct sentinel_setting *setting = find_setting(call->argv[3]);
    if (!setting)
        reply_error_format(call->client, "Invalid argument '%s' to SENTINEL CONFIG SET",
                           show_argument(call, 3, &option));
    else if (!sentinel_setting_set(setting, call->argv[4]))
        reply_error_format(call->client, "Invalid value '%s' to SENTINEL CONFIG SET '%s'",
                           show_argument(call, 4, &value), show_argument(call, 3, &option));
    else
        sentinel_reply_recorded(call->client);
}

static void command_config(struct call *call) {
    if (call->argc == 4 && argument_is(call, 2, "get"))
        config_get(call);
    else if (call->argc == 5 && argument_is(call, 2, "set"))
        config_set(call);
    else
        reply_error(call->client, CONFIG_FORMS);
}

/* ---- the rest ---- */

static void command_pending_scripts(struct call *call) {
    sentinel_script_reply_pending(call->client);
}

static void command_simulate_failure(struct call *call) {
    unsigned failures = 0;
    for (int k = 2; k < call->argc; k++) {
        if (argument_is(call, k, "crash-after-election")) {
            failures |= SENTINEL_CRASH_AFTER_ELECTION;
        } else if (argument_is(call, k, "crash-after-promotion")) {
            failures |= SENTINEL_CRASH_AFTER_PROMOTION;
        } else if (argument_is(call, k, "help")) {
            reply_array(call->client, 2);
            reply_bulk_c_string(call->client, "crash-after-election");
            reply_bulk_c_string(call->client, "crash-after-promotion");
            return;
        } else {
            reply_error(call->client, "Unknown failure simulation specified");
            return;
        }
    }
    sentinel_simulate_failures(failures);
    reply_ok(call->client);
}

static void command_sentinel_help(struct call *call) {
    static const char *const lines[] = {
        "CKQUORUM <master-name>",
        "    Says whether enough Sentinels can be reached for a failover of the master.",
        "CONFIG GET <pattern>",
        "    Replies the options of this Sentinel that match.",
        "CONFIG SET <option> <value>",
        "    Sets an option of this Sentinel.",
        "FAILOVER <master-name>",
        "    Begins a failover, without asking other Sentinels.",
        "FLUSHCONFIG",
        "    Writes the configuration file.",
        "GET-MASTER-ADDR-BY-NAME <master-name>",
        "    Replies the master's address.",
        "INFO-CACHE [<master-name> ...]",
        "    Replies the last INFO of masters and of their replicas.",
        "IS-MASTER-DOWN-BY-ADDR <ip> <port> <epoch> <runid|*>",
        "    Says whether the master is down for this Sentinel; with a run id, asks for its vote.",
        "MASTER <master-name>",
        "    Replies the state of a master.",
        "MASTERS",
        "    Replies the state of all masters.",
        "MONITOR <master-name> <ip> <port> <quorum>",
        "    Watches a master.",
        "MYID",
        "    Replies this Sentinel's id.",
        "PENDING-SCRIPTS",
        "    Replies the scripts that run or wait.",
        "REMOVE <master-name>",
        "    Watches a master no more.",
        "REPLICAS <master-name>",
        "    Replies the state of a master's replicas.",
        "RESET <pattern>",
        "    Forgets the replicas, the other Sentinels and the failover of masters that match.",
        "SENTINELS <master-name>",
        "    Replies the state of the other Sentinels of a master.",
        "SET <master-name> <option> <value> [<option> <value> ...]",
        "    Sets options of a master.",
        "SIMULATE-FAILURE [CRASH-AFTER-ELECTION] [CRASH-AFTER-PROMOTION] | HELP",
        "    Lets this Sentinel crash in its next failover.",
        NULL};
    reply_help(call, lines);
}

/* A wrong number of arguments is answered as 6.2 does: by each subcommand, except where `unknown`.
 */
static const struct sentinel_subcommand {
    struct subcommand row;
    bool unknown;
} subcommands[] = {
    {{"masters", 2, 2, command_masters}, false},
    {{"master", 3, 3, command_master}, false},
    {{"slaves", 3, 3, command_replicas}, false},
    {{"replicas", 3, 3, command_replicas}, false},
    {{"sentinels", 3, 3, command_sentinels}, false},
    {{"myid", 2, 2, command_myid}, true},
    {{"is-master-down-by-addr", 6, 6, command_is_master_down}, false},
    {{"reset", 3, 3, command_reset}, false},
    {{"get-master-addr-by-name", 3, 3, command_get_address}, false},
    {{"failover", 3, 3, command_failover}, false},
    {{"pending-scripts", 2, 2, command_pending_scripts}, false},
    {{"monitor", 6, 6, sentinel_command_monitor}, false},
    {{"flushconfig", 2, 2, command_flushconfig}, false},
    {{"remove", 3, 3, command_remove}, false},
    {{"ckquorum", 3, 3, command_ckquorum}, false},
    {{"set", 3, ARGUMENTS_MAX, command_set}, false},
    {{"config", 2, ARGUMENTS_MAX, command_config}, false},
    {{"info-cache", 2, ARGUMENTS_MAX, command_info_cache}, false},
    {{"simulate-failure", 2, ARGUMENTS_MAX, command_simulate_failure}, false},
    {{"help", 2, 2, command_sentinel_help}, true},
};

static void command_sentinel(struct call *call) {
    struct shown_text shown;
    for (size_t k = 0; k < sizeof(subcommands) / sizeof(subcommands[0]); k++) {
        const struct subcommand *row = &subcommands[k].row;
        if (!argument_is(call, 1, row->name)) continue;
        if (call->argc >= row->argc_min && call->argc <= row->argc_max) {
            row->handler(call);
            return;
        }
        if (subcommands[k].unknown) break;
        reply_error_format(call->client, "Wrong number of arguments for 'sentinel %s'",
                           show_argument(call, 1, &shown));
        return;
    }
    reply_unknown_subcommand(call);
}

/* SENTINEL SET's passwords may stand in no log. */
static bool is_secret_argument(const struct call *call, int index) {
    if (call->argc < 4 || index < 4) return false;
    return argument_is(call, index - 1, "auth-pass") ||
           argument_is(call, index - 1, "sentinel-pass");
}

static struct command rows[] = {
    COMMAND("sentinel", command_sentinel, -2, ADMIN, NO_CATEGORY, NO_KEYS,
            "Shows and changes what this Sentinel watches, and answers other Sentinels.",
            .is_secret = is_secret_argument),
};

void sentinel_commands_register(void) { command_register(COMMAND_ROWS(rows)); }
