/* SPDX-License-Identifier: BSD-3-Clause
 * What a user may do: the rules that describe it, read and printed in the forms of Redis 6.2.
 *
 *     on >password ~cache:* resetchannels &news:* +@read -keys +config|get
 *
 * A user is a set of passwords, of commands (a bit each, by struct command.number), of commands of
 * which only some subcommands are allowed, and of patterns for keys and channels. This file knows
 * no client: who is which user, and what follows, is access/acl's.
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
    ACL_USER_ALL_COMMANDS = 1 << 3, /* every bit is set, and no rule has taken one since */
    ACL_USER_NOPASS = 1 << 4,       /* any password will do; `passwords` is empty */
    ACL_USER_SKIP_SANITIZE = 1 << 5,
    ACL_USER_SANITIZE = 1 << 6, /* RESTORE checks what it gives; at most one of the two */
    ACL_USER_FUTURE = 1 << 7,   /* commands that come later are allowed: +@all and not -@all */
};
/* With all of these nothing has to be checked. */
#define ACL_USER_UNLIMITED (ACL_USER_ALL_KEYS | ACL_USER_ALL_CHANNELS | ACL_USER_ALL_COMMANDS)

/* Texts, each of its own, MEMORY_OTHER, in the order in which they came. */
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
    struct slice name; /* as it was given: compared without case */
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
    size_t clients; /* access/acl: who is this user now; not counted for the default one */
    bool leaving;   /* access/acl: its clients are to be disconnected */
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

/* False for names with blanks or NUL bytes. */
bool acl_name_is_valid(struct slice name);
/* A user that is off and may do nothing, but listen to channels where acl-pubsub-default says so.
 * The caller frees it. */
struct acl_user *acl_user_create(struct slice name);
void acl_user_free(struct acl_user *u);
/* Gives `to` the rights and passwords of `from`; name and clients stay. */
void acl_user_assign(struct acl_user *to, const struct acl_user *from);

/* Changes the user by one rule; nothing changes where the rule is at fault. O(1) but for rules
 * about patterns and passwords, which look through those there are, and +cmd, -cmd of commands that
 * were renamed, which look through all. */
enum acl_fault acl_user_apply(struct acl_user *u, struct slice rule);
/* In 6.2's words. */
const char *acl_fault_text(enum acl_fault fault);

/* The rules that make this user out of a new one, blanks between, no line end: as ACL LIST shows
 * them. Passwords as digests. Commands in the shortest form that 6.2 finds, see acl_rules.c. */
void acl_user_append_rules(const struct acl_user *u, struct buffer *out);
/* Those about commands alone: as ACL GETUSER shows them. */
void acl_user_append_commands(const struct acl_user *u, struct buffer *out);
/* The flags that ACL GETUSER shows, in its order: calls `visit` with the name of each. Returns how
 * many there are. */
size_t acl_user_each_flag(const struct acl_user *u, void (*visit)(const char *name, void *context),
                          void *context);
void acl_append_digest(const struct acl_password *password, struct buffer *out);

/* Whether the password is one of the user's, or any will do. The time it takes tells nothing of
 * those that the user has but their number. */
bool acl_user_has_password(const struct acl_user *u, struct slice password);

static inline bool acl_user_has_command(const struct acl_user *u, const struct command *command) {
    return u->commands[command->number / 64] >> command->number % 64 & 1;
}
/* A command whose bit is clear: whether this subcommand is allowed all the same. O(subcommands that
 * were allowed). */
bool acl_user_has_subcommand(const struct acl_user *u, const struct command *command,
                             struct slice subcommand);
/* O(patterns). */
bool acl_user_may_key(const struct acl_user *u, struct slice key);
/* A pattern that a client listens to must stand among the user's own, letter by letter. */
bool acl_user_may_channel(const struct acl_user *u, struct slice channel, bool is_pattern);

/* ACL CAT: a category's bit; 0 where there is none of this name. */
unsigned acl_category_find(struct slice name);
/* The next one, in 6.2's order, from 0 on; 0 behind the last. */
unsigned acl_category_at(size_t index);
/* Whether rules can name it: all but those that 6.2 has not in its table. */
bool acl_command_is_ruled(const struct command *command);

/* Asserts the invariants. */
void acl_user_check(const struct acl_user *u);
#endif
