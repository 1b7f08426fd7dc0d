/* SPDX-License-Identifier: BSD-3-Clause
 * CONFIG: options while the server runs.
 *
 * The option engine knows what an option takes and how it is shown; here are the command's forms
 * and the file. A rewritten file is written beside the old one, synced and put in its place by a
 * rename, so that a crash leaves either the old or the new one whole.
 */
#include "server/config.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <sys/stat.h>

#include "base/glob.h"
#include "base/log.h"
#include "exec/arguments.h"
#include "exec/command.h"
#include "metric/metric.h"
#include "net/reply.h"
#include "option/option.h"
#include "server/startup.h"
#include "server/title.h"

/* Of a new file, and of a rewritten one where the old one's cannot be had. */
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
    for (size_t i = 0; i < option_count(); i++) {
        const struct option_row *row = option_at(i);
        if (row->flags & OPTION_FILE_ONLY) continue;
        count += shows_name(row, pattern) + shows_alias(row, pattern);
    }
    reply_map(call->client, count);
    for (size_t i = 0; i < option_count(); i++) {
        const struct option_row *row = option_at(i);
        if (row->flags & OPTION_FILE_ONLY) continue;
        if (shows_name(row, pattern)) reply_option(call->client, row->name, row);
        if (shows_alias(row, pattern)) reply_option(call->client, row->alias, row);
    }
}

/* ---- SET ---- */

/* 6.2 answers with these options' own sentence and nothing around it. */
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
        title_refresh(); /* port or address may be others now */
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

static bool read_whole(const char *path, struct buffer *text) {
    FILE *file = fopen(path, "re");
    if (!file) return errno == ENOENT; /* a file that is gone is written anew */
    size_t got;
    do {
        got = fread(buffer_reserve(text, 65536), 1, 65536, file);
        text->length += got;
    } while (got && text->length <= OPTION_FILE_BYTES_MAX);
    bool whole = !ferror(file) && text->length <= OPTION_FILE_BYTES_MAX;
    if (!whole && text->length > OPTION_FILE_BYTES_MAX) errno = EFBIG;
    (void)fclose(file);
    return whole;
}

static bool write_bytes(int fd, const char *bytes, size_t length) {
    while (length) {
        ssize_t written = write(fd, bytes, length);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return false;
        bytes += written;
        length -= (size_t)written;
    }
    return true;
}

/* The rename is on disk only when its folder is. */
static void sync_folder_of(const char *path) {
    char *copy = memory_strdup(path, MEMORY_OTHER);
    int fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
    memory_free(copy, MEMORY_OTHER);
}

static bool replace_file(const char *path, const struct buffer *text) {
    struct buffer temporary;
    struct stat old;
    buffer_init(&temporary, MEMORY_OTHER);
    buffer_printf(&temporary, "%s.%d.tmp", path, (int)getpid());
    mode_t mode = stat(path, &old) == 0 ? old.st_mode & 07777 : FILE_MODE;
    int fd = open(temporary.bytes, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
    bool done = fd >= 0 && write_bytes(fd, text->bytes, text->length) && fchmod(fd, mode) == 0 &&
                fsync(fd) == 0;
    if (fd >= 0 && close(fd)) done = false;
    done = done && rename(temporary.bytes, path) == 0;
    int error = errno;
    if (done) {
        sync_folder_of(path);
    } else if (fd >= 0) {
        unlink(temporary.bytes);
    }
    buffer_free(&temporary);
    errno = error;
    return done;
}

bool config_rewrite(bool force_all, char *reason, size_t reason_size) {
    const char *path = startup_config_file();
    if (!*path) {
        snprintf(reason, reason_size, "The server is running without a config file");
        return false;
    }
    struct buffer old, new;
    buffer_init(&old, MEMORY_OTHER);
    buffer_init(&new, MEMORY_OTHER);
    bool done = read_whole(path, &old);
    if (done) {
        option_rewrite_text(buffer_slice(&old), force_all, &new);
        done = replace_file(path, &new);
    }
    if (done) {
        log_warning("CONFIG REWRITE executed with success.");
    } else {
        log_warning("CONFIG REWRITE failed: %s", strerror(errno));
        snprintf(reason, reason_size, "Rewriting config file: %s", strerror(errno));
    }
    buffer_free(&old);
    buffer_free(&new);
    return done;
}

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
    if (call->argc == 2 && argument_is(call, 1, "help")) {
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
    {.name = "config",
     .handler = command_config,
     .arity = -2,
     .flags = COMMAND_ADMIN | COMMAND_NOSCRIPT | COMMAND_LOADING | COMMAND_STALE,
     .help = "Shows, changes and saves options: GET, SET, RESETSTAT, REWRITE.",
     .is_secret = config_is_secret},
};

void config_register(void) { command_register(rows, sizeof(rows) / sizeof(rows[0])); }
