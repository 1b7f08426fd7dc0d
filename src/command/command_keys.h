/* SPDX-License-Identifier: BSD-3-Clause
 * Where the keys of a command stand.
 *
 * Most rows say it by first_key, last_key and key_step. Where the arguments decide it, the row has
 * a key rule beside it, which is data too:
 *
 *     static const struct key_rule zunionstore_keys = {.count_at = 2, .key_at = 1};
 *     static const struct key_rule sort_keys = {
 *         .key_at = 1,
 *         .words_at = 2,
 *         .words = {{"limit", 2}, {"by", 1}, {"get", 1}, {"store", 0, KEY_TAKE_ONE}}};
 *
 * Whoever must know the keys of a request before it runs asks command_key_ranges: COMMAND GETKEYS,
 * and later ACL and cluster.
 */
#ifndef EVENKEEL_COMMAND_COMMAND_KEYS_H
#define EVENKEEL_COMMAND_COMMAND_KEYS_H
#include <stdbool.h>

#include "base/string.h"

struct command;

/* What stands behind a word. */
enum key_take {
    KEY_TAKE_NONE, /* no key */
    KEY_TAKE_ONE,  /* a key, where an argument follows; of several such the last counts */
    KEY_TAKE_TWO,  /* two keys, where two arguments follow; ends the search */
    KEY_TAKE_REST, /* keys up to the end, at least one */
    KEY_TAKE_HALF, /* keys, and as many arguments of another kind after them; at least one */
    KEY_TAKE_STOP, /* no key, and none after it */
};

struct key_word {
    const char *word; /* lower case; compared without case */
    int values;       /* arguments that belong to it and are passed over; not of those that take */
    enum key_take take;
};

#define KEY_WORDS_MAX 6

/* The parts that are set add up. The keys that are counted come before the one at key_at, that one
 * before those found by words. */
struct key_rule {
    int count_at;        /* this argument says how many keys follow it; 0: none does */
    int key_at;          /* one key; 0: none */
    const char *only_in; /* argument 1 must be this subcommand; NULL: any */
    int words_at;        /* from here on the words are looked for; 0: none are */
    bool words_strict;   /* any other word is a fault */
    bool words_if_empty; /* only where the key at key_at is empty, and then instead of it */
    struct key_word words[KEY_WORDS_MAX]; /* up to one without a word */
};

struct key_range {
    int first, count, step; /* of arguments */
};

#define KEY_RANGES_MAX 2

/* True where the command has keys, by its places or a rule. */
bool command_has_keys(const struct command *command);
/* The keys of a request whose number of arguments fits the arity. Returns how many ranges were
 * filled in: all lie within the arguments. 0 where the arguments are at fault, or name no key.
 * Changes nothing; O(argc). */
int command_key_ranges(const struct command *command, int argc, const struct slice *argv,
                       struct key_range ranges[static KEY_RANGES_MAX]);
#endif
