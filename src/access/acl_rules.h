/* SPDX-License-Identifier: BSD-3-Clause
 * The rules that describe a user, read and printed in the forms of Redis 6.2.
 *
 *     on >password ~cache:* resetchannels &news:* +@read -keys +config|get
 *
 * A user is a set of passwords, of commands (a bit each, by struct command.number), of commands of
 * which only some subcommands are allowed, and of patterns for keys and channels. This file knows
 * no client: access/acl has the clients of each user.
 */
#ifndef EVENKEEL_ACCESS_ACL_RULES_H
#define EVENKEEL_ACCESS_ACL_RULES_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/sha.h"
#include "base/string.h"
#include "command/command.h"

enum acl_user_flags {
    ACL_USER_ON = 1 << 0,           /* may authenticate */
    ACL_USER_ALL_KEYS = 1 << 1,     /* `keys` is empty */
    ACL_USER_ALL_CHANNELS = 1 << 2, /* `channels` is empty */
    ACL_USER_ALL_COMMANDS = 1 << 3, /* every bit is set, and no rule has cleared one since */
    ACL_USER_NOPASS = 1 << 4,       /* any password will do; `passwords` is empty */
    ACL_USER_SKIP_SANITIZE = 1 << 5,
    ACL_USER_SANITIZE = 1 << 6, /* RESTORE checks its payloads; at most one of these two */
    ACL_USER_FUTURE = 1 << 7,   /* commands added later are allowed: +@all, no -@all since */
};
/* With all of these nothing has to be checked. */
#define ACL_USER_UNLIMITED (ACL_USER_ALL_KEYS | ACL_USER_ALL_CHANNELS | ACL_USER_ALL_COMMANDS)

/* Texts, each an allocation of MEMORY_OTHER, in the order in which they were added. */
struct acl_names {
    struct slice *items;
    size_t count, capacity;
};

struct acl_password {
    unsigned char digest[SHA256_BYTES];
};

/* A command of which one subcommand is allowed; the command's bit is clear. */
struct acl_subcommand {
    unsigned command;
    struct slice name; /* as it was given; compared without case */
};

#define ACL_COMMAND_WORDS (COMMANDS_MAX / 64)
_Static_assert(COMMANDS_MAX % 64 == 0, "each command has a bit");

struct acl_user {
    struct slice name; /* any bytes but blanks and NUL; may be empty */
    unsigned flags;
    uint64_t commands[ACL_COMMAND_WORDS];
    struct acl_names keys, channels;
    struct acl_password *passwords;
    size_t passwords_count, passwords_capacity;
    struct acl_subcommand *subcommands;
    size_t subcommands_count, subcommands_capacity;
    size_t clients; /* of access/acl: its clients; not counted for the default user */
    bool leaving;   /* of access/acl: its clients are to be disconnected */
};

enum acl_fault {
    ACL_RULE_TAKEN,
    ACL_RULE_SYNTAX,
    ACL_RULE_UNKNOWN_COMMAND, /* or category */
    ACL_RULE_KEYS_AFTER_ALL,
    ACL_RULE_CHANNELS_AFTER_ALL,
    ACL_RULE_NO_SUCH_PASSWORD,
    ACL_RULE_BAD_HASH,
};

void acl_rules_register(void); /* acl-pubsub-default */

/* Returns false for names with blanks or NUL bytes. */
bool acl_name_is_valid(struct slice name);
/* A user that is off and may do nothing, except listen to all channels if acl-pubsub-default says
 * so. The caller frees it. */
struct acl_user *acl_user_create(struct slice name);
void acl_user_free(struct acl_user *u);
/* Gives `to` the rights and passwords of `from`; name and clients stay. */
void acl_user_assign(struct acl_user *to, const struct acl_user *from);

/* Changes the user by one rule; changes nothing where the rule has a fault. O(1), but O(patterns)
 * or O(passwords) for rules about these, and O(commands) for +cmd and -cmd of renamed commands. */
enum acl_fault acl_user_apply(struct acl_user *u, struct slice rule);
/* The fault in 6.2's words. */
const char *acl_fault_text(enum acl_fault fault);

/* Appends the rules that turn a new user into this one, separated by blanks, without a line end, as
 * ACL LIST shows them. Passwords are printed as digests, commands in the shortest form that 6.2
 * finds (see acl_rules.c). */
void acl_user_append_rules(const struct acl_user *u, struct buffer *out);
/* Appends the rules about commands only, as ACL GETUSER shows them. */
void acl_user_append_commands(const struct acl_user *u, struct buffer *out);
/* The flags that ACL GETUSER shows, in its order: calls `visit` with the name of each. Returns how
 * many there are. */
size_t acl_user_each_flag(const struct acl_user *u, void (*visit)(const char *name, void *context),
                          void *context);
void acl_append_digest(const struct acl_password *password, struct buffer *out);

/* Whether the password is one of the user's, or the user takes any. The time that this takes
 * reveals only how many passwords the user has. */
bool acl_user_has_password(const struct acl_user *u, struct slice password);

static inline bool acl_user_has_command(const struct acl_user *u, const struct command *command) {
    return u->commands[command->number / 64] >> command->number % 64 & 1;
}
/* Whether a subcommand is allowed although its command's bit is clear. O(allowed subcommands). */
bool acl_user_has_subcommand(const struct acl_user *u, const struct command *command,
                             struct slice subcommand);
/* Whether the user may use this key. O(patterns). */
bool acl_user_may_key(const struct acl_user *u, struct slice key);
/* Whether the user may listen to this channel. A pattern (`is_pattern`) must be literally one of
 * the user's own. */
bool acl_user_may_channel(const struct acl_user *u, struct slice channel, bool is_pattern);

/* ACL CAT: the bit of the category of this name; 0 where there is none. */
unsigned acl_category_find(struct slice name);
/* The bit of the category at `index`, in 6.2's order from 0 on; 0 behind the last. */
unsigned acl_category_at(size_t index);
/* Whether rules can name the command: true for all commands but those that 6.2 does not have in its
 * table. */
bool acl_command_is_ruled(const struct command *command);

/* Asserts the invariants. */
void acl_user_check(const struct acl_user *u);
#endif
