/* SPDX-License-Identifier: BSD-3-Clause
 * CLIENT TRACKING, CACHING, GETREDIR and TRACKINGINFO: client-side caching (publish/tracking.h).
 *
 * Faults are reported in 6.2's order: first those of each word, then of ON or OFF, then of words
 * that do not fit together, last of words that do not fit the client's present mode.
 */
#include "commands/client_tracking.h"

#include "command/arguments.h"
#include "command/call.h"
#include "command/command.h"
#include "net/client.h"
#include "net/reply.h"
#include "publish/tracking.h"

/* The words behind ON or OFF. */
struct options {
    struct tracking_mode mode;
    struct slice *prefixes; /* room for as many as there are arguments */
    size_t prefixes_count;
};

/* False after an error reply. */
static bool parse_redirect(const struct call *call, int index, struct tracking_mode *mode) {
    int64_t id;
    if (mode->redirect) {
        reply_error(call->client, "A client can only redirect to a single other client");
        return false;
    }
    if (!argument_int64(call, index, &id, NULL)) return false;
    if (!client_find((uint64_t)id)) {
        reply_error(call->client, "The client ID you want redirect to does not exist");
        return false;
    }
    mode->redirect = (uint64_t)id;
    return true;
}

/* False after an error reply. */
static bool tracking_parse_options(const struct call *call, struct options *options) {
    struct tracking_mode *mode = &options->mode;
    for (int i = 3; i < call->argc; i++) {
        bool more = i + 1 < call->argc;
        if (more && argument_is(call, i, "redirect")) {
            if (!parse_redirect(call, ++i, mode)) return false;
        } else if (argument_is(call, i, "bcast")) {
            mode->broadcasts = true;
        } else if (argument_is(call, i, "optin")) {
            mode->opt_in = true;
        } else if (argument_is(call, i, "optout")) {
            mode->opt_out = true;
        } else if (argument_is(call, i, "noloop")) {
            mode->no_loop = true;
        } else if (more && argument_is(call, i, "prefix")) {
            options->prefixes[options->prefixes_count++] = call->argv[++i];
        } else {
            reply_syntax_error(call->client);
            return false;
        }
    }
    return true;
}

/* Why these options exclude each other, or the client's present mode; NULL: they do not. */
static const char *options_conflict(const struct options *options,
                                    const struct tracking_mode *before) {
    const struct tracking_mode *mode = &options->mode;
    if (!mode->broadcasts && options->prefixes_count)
        return "PREFIX option requires BCAST mode to be enabled";
    if (before && before->broadcasts != mode->broadcasts)
        return "You can't switch BCAST mode on/off before disabling tracking for this client, and "
               "then re-enabling it with a different mode.";
    if (mode->broadcasts && (mode->opt_in || mode->opt_out))
        return "OPTIN and OPTOUT are not compatible with BCAST";
    if (mode->opt_in && mode->opt_out) return "You can't specify both OPTIN mode and OPTOUT mode";
    if (before && ((mode->opt_in && before->opt_out) || (mode->opt_out && before->opt_in)))
        return "You can't switch OPTIN/OPTOUT mode before disabling tracking for this client, and "
               "then re-enabling it with a different mode.";
    return NULL;
}

static void reply_overlap(struct client *c, const struct tracking_overlap *found) {
    reply_error_format(c,
                       "Prefix '%.*s' overlaps with %s prefix '%.*s'. Prefixes for a single client "
                       "must not overlap.",
                       (int)found->given.length, found->given.bytes,
                       found->own ? "an existing" : "another provided", (int)found->other.length,
                       found->other.bytes);
}

static void start_tracking(struct client *c, const struct options *options) {
    struct tracking_overlap found;
    const char *reason = options_conflict(options, tracking_mode(c));
    if (reason) {
        reply_error(c, reason);
    } else if (tracking_find_overlap(c, options->prefixes, options->prefixes_count, &found)) {
        reply_overlap(c, &found);
    } else {
        tracking_start(c, &options->mode, options->prefixes, options->prefixes_count);
        reply_ok(c);
    }
}

void client_tracking_command(struct call *call) {
    struct options options = {0};
    options.prefixes = memory_alloc((size_t)call->argc * sizeof(*options.prefixes), MEMORY_OTHER);
    if (tracking_parse_options(call, &options)) {
        if (argument_is(call, 2, "on")) {
            start_tracking(call->client, &options);
        } else if (argument_is(call, 2, "off")) {
            tracking_stop(call->client);
            reply_ok(call->client);
        } else {
            reply_syntax_error(call->client);
        }
    }
    memory_free(options.prefixes, MEMORY_OTHER);
}

void client_caching_command(struct call *call) {
    struct client *c = call->client;
    const struct tracking_mode *mode = tracking_mode(c);
    if (!mode) {
        reply_error(c,
                    "CLIENT CACHING can be called only when the client is in tracking mode with "
                    "OPTIN or OPTOUT mode enabled");
    } else if (argument_is(call, 2, "yes") && !mode->opt_in) {
        reply_error(c, "CLIENT CACHING YES is only valid when tracking is enabled in OPTIN mode.");
    } else if (argument_is(call, 2, "no") && !mode->opt_out) {
        reply_error(c, "CLIENT CACHING NO is only valid when tracking is enabled in OPTOUT mode.");
    } else if (!argument_is(call, 2, "yes") && !argument_is(call, 2, "no")) {
        reply_syntax_error(c);
    } else {
        tracking_set_caching(c);
        reply_ok(c);
    }
}

void client_getredir_command(struct call *call) {
    reply_integer(call->client, tracking_redirect(call->client));
}

static void reply_tracking_flags(struct client *c) {
    const struct tracking_mode *mode = tracking_mode(c);
    const struct tracking_mode *m = mode ? mode : &(const struct tracking_mode){0};
    bool caching = tracking_caching(c);
    const struct {
        bool holds;
        const char *name;
    } flags[] = {{!mode, "off"},
                 {mode, "on"},
                 {m->broadcasts, "bcast"},
                 {m->opt_in, "optin"},
                 {m->opt_in && caching, "caching-yes"},
                 {m->opt_out, "optout"},
                 {m->opt_out && caching, "caching-no"},
                 {m->no_loop, "noloop"},
                 {tracking_redirect_is_broken(c), "broken_redirect"}};
    int count = 0;
    struct reply_group names = reply_set_begin(c);
    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
        if (!flags[i].holds) continue;
        reply_bulk_c_string(c, flags[i].name);
        count++;
    }
    reply_group_end(&names, count);
}

void client_trackinginfo_command(struct call *call) {
    struct client *c = call->client;
    reply_map(c, 3);
    reply_bulk_c_string(c, "flags");
    reply_tracking_flags(c);
    reply_bulk_c_string(c, "redirect");
    reply_integer(c, tracking_redirect(c));
    reply_bulk_c_string(c, "prefixes");
    reply_array(c, (int64_t)tracking_prefix_count(c));
    for (size_t i = 0; i < tracking_prefix_count(c); i++) reply_bulk(c, tracking_prefix(c, i));
}
