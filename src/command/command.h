/* SPDX-License-Identifier: BSD-3-Clause
 * Commands: rows, and the table that finds them by name.
 *
 * A family of commands declares its rows at the end of its file (command/row.h says how they are
 * written) and registers them in one function, which server/wiring.c calls.
 *
 * @read, @write, @fast, @slow, @admin, @dangerous and @pubsub follow from the flags.
 */
#ifndef EVENKEEL_COMMAND_COMMAND_H
#define EVENKEEL_COMMAND_COMMAND_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/string.h"

struct call;
struct command_times;
struct key_search;

/* The most rows of all families together. 6.2 has 224; modules will add theirs. An ACL user has as
 * many bits, as in 6.2. */
#define COMMANDS_MAX 1024

/* In the order in which COMMAND shows them. */
enum command_flags {
    COMMAND_WRITE = 1 << 0,
    COMMAND_READONLY = 1 << 1,
    COMMAND_DENYOOM = 1 << 2,
    COMMAND_ADMIN = 1 << 3,
    COMMAND_PUBSUB = 1 << 4,
    COMMAND_NOSCRIPT = 1 << 5,
    COMMAND_RANDOM = 1 << 6,
    COMMAND_SORT_FOR_SCRIPT = 1 << 7,
    COMMAND_LOADING = 1 << 8,
    COMMAND_STALE = 1 << 9,
    COMMAND_SKIP_MONITOR = 1 << 10,
    COMMAND_SKIP_SLOWLOG = 1 << 11,
    COMMAND_ASKING = 1 << 12,
    COMMAND_FAST = 1 << 13,
    COMMAND_NO_AUTH = 1 << 14,
    COMMAND_MAY_REPLICATE = 1 << 15,
    COMMAND_MOVABLE_KEYS = 1 << 16,
    COMMAND_UNLISTED = 1 << 17, /* COMMAND does not show it: 6.2 answers it outside its table */
    COMMAND_UNQUEUED = 1 << 18, /* runs at once even between MULTI and EXEC */
    COMMAND_EXECUTES = 1 << 19, /* EXEC: writes, and needs memory, if a queued command does */
    COMMAND_ENDS_TRANSACTION = 1 << 20, /* not refused for want of memory within a transaction */
    COMMAND_FOR_SUBSCRIBERS = 1 << 21,  /* allowed to RESP2 clients that listen to channels */
    COMMAND_WHILE_BUSY = 1 << 22,       /* runs while a script takes too long */
    COMMAND_MAY_LAST = 1 << 23,         /* may make turns of the loop while it runs */
};

/* ACL categories. Those that follow from the flags need not stand in the row. */
enum command_category {
    ACL_KEYSPACE = 1 << 0,
    ACL_READ = 1 << 1,
    ACL_WRITE = 1 << 2,
    ACL_SET = 1 << 3,
    ACL_SORTEDSET = 1 << 4,
    ACL_LIST = 1 << 5,
    ACL_HASH = 1 << 6,
    ACL_STRING = 1 << 7,
    ACL_BITMAP = 1 << 8,
    ACL_HYPERLOGLOG = 1 << 9,
    ACL_GEO = 1 << 10,
    ACL_STREAM = 1 << 11,
    ACL_PUBSUB = 1 << 12,
    ACL_ADMIN = 1 << 13,
    ACL_FAST = 1 << 14,
    ACL_SLOW = 1 << 15,
    ACL_BLOCKING = 1 << 16,
    ACL_DANGEROUS = 1 << 17,
    ACL_CONNECTION = 1 << 18,
    ACL_TRANSACTION = 1 << 19,
    ACL_SCRIPTING = 1 << 20,
};

/* Whether log and replicas repeat the request as it was sent, where the handler has given no effect
 * of its own (exec/effects). */
enum command_propagation {
    COMMAND_PROPAGATES_CHANGES, /* where the call changed something */
    COMMAND_PROPAGATES_ALWAYS,
    COMMAND_PROPAGATES_TO_REPLICAS, /* always, and never in the log */
    COMMAND_PROPAGATES_NOTHING,
};

/* Which arguments ACL takes for channels. */
enum command_channels {
    COMMAND_CHANNELS_NONE,
    COMMAND_CHANNELS_FIRST,    /* the first argument */
    COMMAND_CHANNELS_ALL,      /* all arguments */
    COMMAND_CHANNELS_PATTERNS, /* all arguments, and they are patterns */
};

struct command {
    const char *name; /* lower case */
    void (*handler)(struct call *call);
    int arity; /* number of arguments, the name included; negative = at least so many */
    unsigned flags;
    int first_key, last_key, key_step; /* positions; last_key may count from the end (-1) */
    /* Finds the keys where positions do not tell them (command/command_keys.h); NULL: they do. */
    bool (*keys)(const struct key_search *search);
    unsigned changes; /* enum entry_changes (store/entry.h): what a call changes of those keys */
    unsigned categories;
    enum command_channels channels;
    enum command_propagation propagation;
    const char *help; /* one line */
    /* Distinguishes this row from others with the same handler. The handler reads it as
     * call->command->context; the row's other functions get the row. */
    const void *context;
    /* Whether an argument is a secret, which no log may show; NULL: none is. */
    bool (*is_secret)(const struct call *call, int index);
    /* What a trace keeps of a call besides its keys (report/trace_record.h has the words); NULL: of
     * all other arguments only the size. */
    const char *traced;

    /* Filled in by the table. */
    unsigned number;  /* its index: command_at(number) */
    bool has_one_key; /* first_key is the only key of every call */
    uint64_t calls, nsec, rejected_calls, failed_calls;
    struct command_times *times; /* NULL until it has run */
    const char *called;          /* the present name, after rename-command; NULL = removed */
};

/* How a mode of the program has a command: struct command's members of these names, which replace
 * those of the registered row. */
struct command_form {
    const char *name;
    void (*handler)(struct call *call); /* NULL: the row's own */
    int arity;
    unsigned flags, categories;
};
/* From now on only rows that have a form are registered, in that form; all others are passed over.
 * So a mode registers a family of which it has some commands. The array ends with a NULL name and
 * is borrowed for as long as the process lives. NULL: all rows, as they are. */
void command_set_forms(const struct command_form *forms);

/* Registers rows, which must live as long as the process: clients, queued calls and users' rights
 * refer to them by address and by number. False, with no row registered, where a name is taken or
 * too long, or the table has no room for all. */
MUST_USE bool command_try_register(struct command *rows, size_t count);
/* Ends the process with a report: the server's own rows are refused only by our fault. */
_Noreturn void command_refused(const struct command *rows);
/* At start. */
static inline void command_register(struct command *rows, size_t count) {
    if (!command_try_register(rows, count)) command_refused(rows);
}
/* Takes commands away while the server runs: their names are not found any more, and are free for
 * other rows. The rows stay, with their numbers and the rights that users have to them. A call that
 * is queued by MULTI may still run, so the owner first replaces each row's handler by one that
 * refuses, and sets `keys` and `is_secret` to functions that stay. O(table). */
FOR_TESTS void command_withdraw(struct command *rows, size_t count);
/* Gives withdrawn commands their names back, not those of rename-command. False, with nothing
 * changed, where a name has been taken since. O(table). */
FOR_TESTS MUST_USE bool command_readmit(struct command *rows, size_t count);
/* Renames a command; only before the server starts. "" removes it. Returns false if `name` is
 * unknown or `new_name` is taken. */
MUST_USE bool command_rename(struct slice name, struct slice new_name);
/* The command of that name, in upper or lower case; NULL if unknown. */
struct command *command_find(struct slice name);
/* All commands in order of registration, renamed and removed ones included. */
size_t command_count(void);
struct command *command_at(size_t index);
/* The command's categories, including those that follow from its flags. */
unsigned command_categories(const struct command *command);
const char *command_flag_name(unsigned flag);         /* "write"; NULL if there is none */
const char *command_category_name(unsigned category); /* "keyspace", without @ */
/* Returns true if `argc` fits the arity. */
bool command_arity_fits(const struct command *command, int argc);
void command_reset_stats(void);
#endif
