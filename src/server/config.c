/* SPDX-License-Identifier: BSD-3-Clause
 * CONFIG: options while the server runs.
 *
 * The option engine parses and prints options. This file has the command's forms, and rewrites the
 * configuration file, which io/file replaces atomically.
 */
#include "server/config.h"

#include <errno.h>

#include "base/glob.h"
#include "base/log.h"
#include "command/arguments.h"
#include "command/call.h"
#include "command/command.h"
#include "command/row.h"
#include "io/file.h"
#include "metric/metric.h"
#include "net/reply.h"
#include "option/option.h"
#include "process/title.h"
#include "rdb/loading.h"
#include "server/startup.h"

/* The mode of a new file, and of a rewritten one where the old file's mode is not available. */
#define FILE_MODE 0644

/* ---- GET ---- */

static bool name_fits(struct slice pattern, const char *name) {
    return name && glob_match(pattern, slice_of(name), true);
}

static bool shows_alias(const struct option_row *row, struct slice pattern) {
    return name_fits(pattern, row->alias);
}

static bool shows_name(const struct option_row *row, struct slice pattern) {
    return name_fits(pattern, row->name) &&
           !(row->flags & OPTION_ALIAS_FIRST && shows_alias(row, pattern));
}

static void reply_option(struct client *c, const char *name, const struct option_row *row) {
    struct buffer value;
    buffer_init(&value, MEMORY_OTHER);
    option_print(row, &value);
    reply_bulk_c_string(c, name);
    reply_bulk(c, buffer_slice(&value));
    buffer_free(&value);
}

static void config_get(struct call *call) {
    struct slice pattern = call->argv[2];
    int64_t count = 0;
    struct reply_group options = reply_map_begin(call->client);
    for (size_t i = 0; i < option_count(); i++) {
        const struct option_row *row = option_at(i);
        if (row->flags & OPTION_FILE_ONLY) continue;
        bool named = shows_name(row, pattern), aliased = shows_alias(row, pattern);
        if (named) reply_option(call->client, row->name, row);
        if (aliased) reply_option(call->client, row->alias, row);
        count += named + aliased;
    }
    reply_group_end(&options, count);
}

/* ---- SET ---- */

/* For these options 6.2 answers with the reason alone. */
static bool reason_stands_alone(const struct option_row *row) {
    return !strcmp(row->name, "dir") || !strcmp(row->name, "bind");
}

static void config_set(struct call *call) {
    struct slice name = call->argv[2], value = call->argv[3];
    const struct option_row *row = option_find(name);
    char reason[OPTION_REASON_BYTES];
    if (!row || !(row->flags & OPTION_MUTABLE)) {
        reply_error_format(call->client, "Unsupported CONFIG parameter: %.*s", (int)name.length,
                           name.bytes);
    } else if (option_set(row, &value, 1, OPTION_FROM_CONFIG_SET, reason, sizeof(reason))) {
        title_refresh(); /* port or address may have changed */
        reply_ok(call->client);
    } else if (reason_stands_alone(row)) {
        reply_error(call->client, reason);
    } else {
        reply_error_format(call->client, "Invalid argument '%.*s' for CONFIG SET '%.*s'%s%s",
                           (int)value.length, value.bytes, (int)name.length, name.bytes,
                           *reason ? " - " : "", reason);
    }
}

/* ---- REWRITE ---- */

/* Reads the old file; none is as good as an empty one. */
static bool read_old(const char *path, struct buffer *text) {
    return file_read(path, OPTION_FILE_BYTES_MAX, text) || errno == ENOENT;
}

/* Rewrites the file, which `replace` puts in the old one's place. False with errno set. */
static bool rewrite_file(bool force_all,
                         bool (*replace)(const char *path, struct slice text, unsigned mode)) {
    const char *path = startup_config_file();
    struct buffer old, new;
    buffer_init(&old, MEMORY_OTHER);
    buffer_init(&new, MEMORY_OTHER);
    bool done = read_old(path, &old);
    if (done) {
        option_rewrite_text(buffer_slice(&old), force_all, &new);
        /* What could not be loaded again must not take the place of a file that can be. */
        done = option_text_fits(buffer_slice(&new));
        if (!done) errno = EFBIG;
        done = done && replace(path, buffer_slice(&new), FILE_MODE);
    }
    int error = errno;
    buffer_free(&old);
    buffer_free(&new);
    errno = error;
    return done;
}

bool config_rewrite(bool force_all, char *reason, size_t reason_size) {
    if (!*startup_config_file()) {
        snprintf(reason, reason_size, "The server is running without a config file");
        return false;
    }
    bool done = rewrite_file(force_all, file_replace);
    if (done) {
        log_warning("CONFIG REWRITE executed with success.");
    } else {
        log_warning("CONFIG REWRITE failed: %s", strerror(errno));
        snprintf(reason, reason_size, "Rewriting config file: %s", strerror(errno));
    }
    return done;
}

bool config_record(void) { return rewrite_file(false, file_replace_synced); }

/* ---- the command ---- */

static bool config_is_secret(const struct call *call, int index) {
    if (index != 3 || call->argc != 4 || !argument_is(call, 1, "set")) return false;
    const struct option_row *row = option_find(call->argv[2]);
    return row && row->flags & OPTION_SECRET;
}

static const char *const help[] = {
    "GET <pattern>",
    "    The options whose names fit the glob pattern, with their values.",
    "SET <directive> <value>",
    "    Changes an option while the server runs.",
    "RESETSTAT",
    "    Sets the counters of INFO to zero.",
    "REWRITE",
    "    Writes the options as they are now into the configuration file.",
    NULL,
};

static void command_config(struct call *call) {
    char reason[OPTION_REASON_BYTES];
    if (loading_is_under_way() && !argument_is(call, 1, "get")) {
        reply_error(call->client, "Only CONFIG GET is allowed during loading");
    } else if (call->argc == 2 && argument_is(call, 1, "help")) {
        reply_help(call, help);
    } else if (call->argc == 3 && argument_is(call, 1, "get")) {
        config_get(call);
    } else if (call->argc == 4 && argument_is(call, 1, "set")) {
        config_set(call);
    } else if (call->argc == 2 && argument_is(call, 1, "resetstat")) {
        metric_reset_all();
        reply_ok(call->client);
    } else if (call->argc == 2 && argument_is(call, 1, "rewrite")) {
        if (config_rewrite(false, reason, sizeof(reason)))
            reply_ok(call->client);
        else
            reply_error(call->client, reason);
    } else {
        reply_unknown_subcommand(call);
    }
}

static struct command rows[] = {
    COMMAND("config", command_config, -2, ADMIN | NO_SCRIPT | ANYTIME, NO_CATEGORY, NO_KEYS,
            "Shows, changes and saves options: GET, SET, RESETSTAT, REWRITE.",
            .is_secret = config_is_secret),
};

void config_register(void) { command_register(COMMAND_ROWS(rows)); }
