/* SPDX-License-Identifier: BSD-3-Clause
 * ACL and its subcommands. The row stands at the end.
 *
 * This file has the forms of requests and replies. Users and checks are in access/acl, rules in
 * access/acl_rules, the file in access/acl_file, and the log in access/acl_log.
 */
#include "commands/acl.h"

#include "access/acl.h"
#include "access/acl_file.h"
#include "access/acl_log.h"
#include "access/acl_rules.h"
#include "base/clock.h"
#include "base/random.h"
#include "command/arguments.h"
#include "command/call.h"
#include "command/command.h"
#include "command/row.h"
#include "net/reply.h"

/* ACL GENPASS, in bits: as 6.2. */
#define PASSWORD_BITS 256
#define PASSWORD_BITS_MAX 4096
/* Entries that ACL LOG shows unless told otherwise: as 6.2. */
#define LOG_ENTRIES 10

/* ---- users ---- */

static void acl_setuser(struct call *call) {
    struct buffer error;
    buffer_init(&error, MEMORY_OTHER);
    if (acl_set_user(call->argv[2], call->argv + 3, (size_t)call->argc - 3, call->client, &error))
        reply_ok(call->client);
    else
        reply_error(call->client, error.bytes);
    buffer_free(&error);
}

static void acl_deluser(struct call *call) {
    for (int i = 2; i < call->argc; i++) {
        if (!slice_equal(call->argv[i], SLICE("default"))) continue;
        reply_error(call->client, "The 'default' user cannot be removed");
        return;
    }
    size_t deleted = acl_delete_users(call->argv + 2, (size_t)call->argc - 2, call->client);
    reply_integer(call->client, (int64_t)deleted);
}

static void reply_flag(const char *name, void *client) { reply_bulk_c_string(client, name); }

static void acl_reply_flags(struct client *c, const struct acl_user *u) {
    struct reply_group flags = reply_set_begin(c);
    size_t count = acl_user_each_flag(u, reply_flag, c);
    reply_group_end(&flags, (int64_t)count);
}

static void reply_patterns(struct client *c, const struct acl_names *names, bool all) {
    reply_array(c, all ? 1 : (int64_t)names->count);
    if (all) reply_bulk_c_string(c, "*");
    for (size_t i = 0; i < names->count; i++) reply_bulk(c, names->items[i]);
}

static void acl_getuser(struct call *call) {
    struct client *c = call->client;
    const struct acl_user *u = acl_find(call->argv[2]);
    struct buffer text;
    if (!u) {
        reply_null(c);
        return;
    }
    buffer_init(&text, MEMORY_OTHER);
    reply_map(c, 5);
    reply_bulk_c_string(c, "flags");
    acl_reply_flags(c, u);
    reply_bulk_c_string(c, "passwords");
    reply_array(c, (int64_t)u->passwords_count);
    for (size_t i = 0; i < u->passwords_count; i++) {
        buffer_clear(&text);
        acl_append_digest(&u->passwords[i], &text);
        reply_bulk(c, buffer_slice(&text));
    }
    reply_bulk_c_string(c, "commands");
    buffer_clear(&text);
    acl_user_append_commands(u, &text);
    reply_bulk(c, buffer_slice(&text));
    reply_bulk_c_string(c, "keys");
    reply_patterns(c, &u->keys, u->flags & ACL_USER_ALL_KEYS);
    reply_bulk_c_string(c, "channels");
    reply_patterns(c, &u->channels, u->flags & ACL_USER_ALL_CHANNELS);
    buffer_free(&text);
}

static void acl_list(struct call *call) {
    size_t count;
    const struct acl_user **all = acl_users_by_name(&count);
    struct buffer line;
    buffer_init(&line, MEMORY_OTHER);
    reply_array(call->client, (int64_t)count);
    for (size_t i = 0; i < count; i++) {
        buffer_clear(&line);
        buffer_append_c_string(&line, "user ");
        buffer_append(&line, all[i]->name.bytes, all[i]->name.length);
        buffer_append_char(&line, ' ');
        acl_user_append_rules(all[i], &line);
        reply_bulk(call->client, buffer_slice(&line));
    }
    buffer_free(&line);
    memory_free(all, MEMORY_OTHER);
}

static void acl_users(struct call *call) {
    size_t count;
    const struct acl_user **all = acl_users_by_name(&count);
    reply_array(call->client, (int64_t)count);
    for (size_t i = 0; i < count; i++) reply_bulk(call->client, all[i]->name);
    memory_free(all, MEMORY_OTHER);
}

static void acl_whoami(struct call *call) {
    reply_bulk(call->client, acl_user_of(call->client)->name);
}

/* ---- categories and passwords ---- */

static bool is_in_category(const struct command *command, unsigned category) {
    return acl_command_is_ruled(command) && command_categories(command) & category;
}

static void acl_cat(struct call *call) {
    struct client *c = call->client;
    int64_t count = 0;
    if (call->argc == 2) {
        struct reply_group categories = reply_array_begin(c);
        for (; acl_category_at((size_t)count); count++)
            reply_bulk_c_string(c, command_category_name(acl_category_at((size_t)count)));
        reply_group_end(&categories, count);
        return;
    }
    unsigned category = acl_category_find(call->argv[2]);
    if (!category) {
        reply_error_format(c, "Unknown category '%.*s'", (int)call->argv[2].length,
                           call->argv[2].bytes);
        return;
    }
    struct reply_group commands = reply_array_begin(c);
    for (size_t i = 0; i < command_count(); i++) {
        if (!is_in_category(command_at(i), category)) continue;
        reply_bulk_c_string(c, command_at(i)->name);
        count++;
    }
    reply_group_end(&commands, count);
}

static void acl_genpass(struct call *call) {
    char digits[PASSWORD_BITS_MAX / 4];
    int64_t bits = PASSWORD_BITS;
    if (call->argc == 3 && !argument_int64(call, 2, &bits, NULL)) return;
    if (bits <= 0 || bits > PASSWORD_BITS_MAX) {
        reply_error_format(call->client,
                           "ACL GENPASS argument must be the number of bits for the output "
                           "password, a positive number up to %d",
                           PASSWORD_BITS_MAX);
        return;
    }
    size_t length = (size_t)(bits + 3) / 4; /* in hexadecimal digits */
    random_hex(digits, length);
    reply_bulk(call->client, (struct slice){digits, length});
}

/* ---- the log ---- */

static void reply_log_entry(const struct acl_log_entry *e, void *client) {
    reply_map(client, 7);
    reply_bulk_c_string(client, "count");
    reply_integer(client, (int64_t)e->count);
    reply_bulk_c_string(client, "reason");
    reply_bulk_c_string(client, e->reason);
    reply_bulk_c_string(client, "context");
    reply_bulk_c_string(client, e->context);
    reply_bulk_c_string(client, "object");
    reply_bulk(client, e->object);
    reply_bulk_c_string(client, "username");
    reply_bulk(client, e->username);
    reply_bulk_c_string(client, "age-seconds");
    reply_double(client, (double)(clock_cached_msec() - e->msec) / 1000);
    reply_bulk_c_string(client, "client-info");
    reply_bulk(client, e->client_info);
}

static void acl_log(struct call *call) {
    int64_t limit = LOG_ENTRIES;
    if (call->argc == 3 && argument_is(call, 2, "reset")) {
        acl_log_clear();
        reply_ok(call->client);
        return;
    }
    if (call->argc == 3 && !argument_int64(call, 2, &limit, NULL)) return;
    if (limit < 0) limit = 0;
    if (limit > acl_log_count()) limit = acl_log_count();
    reply_array(call->client, limit);
    acl_log_each(limit, reply_log_entry, call->client);
}

/* ---- the file ---- */

static void acl_load(struct call *call) {
    struct buffer error;
    buffer_init(&error, MEMORY_OTHER);
    if (acl_file_load(call->client, &error))
        reply_ok(call->client);
    else
        reply_error(call->client, error.bytes);
    buffer_free(&error);
}

static void acl_save(struct call *call) {
    if (acl_file_save())
        reply_ok(call->client);
    else
        reply_error(call->client,
                    "There was an error trying to save the ACLs. Please check the server logs for "
                    "more information");
}

/* ---- ACL ---- */

static const char *const help_lines[] = {
    "CAT [<category>]",
    "    The categories of commands, or the commands of one of them.",
    "DELUSER <name> [<name> ...]",
    "    Removes users and disconnects their clients; returns how many there were.",
    "GENPASS [<bits>]",
    "    A random password of 256 bits, or as many as are given.",
    "GETUSER <name>",
    "    A user's flags, passwords, commands, keys and channels.",
    "LIST",
    "    All users, as lines of the configuration.",
    "LOAD",
    "    Reads all users from the file of users again.",
    "LOG [<count>|RESET]",
    "    What users were denied, the newest first; or forgets it.",
    "SAVE",
    "    Writes all users into the file of users.",
    "SETUSER <name> [<rule> ...]",
    "    Makes a user, or changes one by rules, in the order in which they stand.",
    "USERS",
    "    The names of all users.",
    "WHOAMI",
    "    The user of this connection.",
    NULL};

static void acl_help(struct call *call) { reply_help(call, help_lines); }

static const struct subcommand subcommands[] = {
    {"setuser", 3, INT32_MAX, acl_setuser},
    {"deluser", 3, INT32_MAX, acl_deluser},
    {"getuser", 3, 3, acl_getuser},
    {"list", 2, 2, acl_list},
    {"users", 2, 2, acl_users},
    {"whoami", 2, 2, acl_whoami},
    {"load", 2, 2, acl_load},
    {"save", 2, 2, acl_save},
    {"cat", 2, 3, acl_cat},
    {"genpass", 2, 3, acl_genpass},
    {"log", 2, 3, acl_log},
    {"help", 2, 2, acl_help},
};

static void command_acl(struct call *call) {
    bool needs_file = argument_is(call, 1, "load") || argument_is(call, 1, "save");
    if (needs_file && !acl_file_is_set()) {
        reply_error(call->client,
                    "This Redis instance is not configured to use an ACL file. You may want to "
                    "specify users via the ACL SETUSER command and then issue a CONFIG REWRITE "
                    "(assuming you have a Redis configuration file set) in order to store "
                    "users in the Redis configuration.");
        return;
    }
    subcommand_run(call, subcommands, sizeof(subcommands) / sizeof(subcommands[0]));
}

/* A user's name and rules are secrets, as in 6.2. */
static bool acl_is_secret(const struct call *call, int index) {
    return index >= 2 && argument_is(call, 1, "setuser");
}

/* ---- rows ---- */

static struct command rows[] = {
    COMMAND("acl", command_acl, -2, ADMIN | NO_SCRIPT | ANYTIME, NO_CATEGORY, NO_KEYS,
            "Users and their permissions.", .is_secret = acl_is_secret),
};

void commands_acl_register(void) { command_register(COMMAND_ROWS(rows)); }
