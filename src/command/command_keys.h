/* SPDX-License-Identifier: BSD-3-Clause
 * The keys of a request, found before it runs: for ACL, saves, tracking, COMMAND GETKEYS, the
 * cluster.
 *
 * In most rows first_key, last_key and key_step say which arguments are keys. Where the arguments
 * decide it, the row has a function, which names the keys one by one:
 *
 *     static bool store_keys(const struct key_search *s) {
 *         int count = keys_counted(s, 2);             ZUNIONSTORE to 2 a b: the argument 2 says 2
 *         if (!count) return false;
 *         if (keys_named(s, 3, count)) key_named(s, 1);
 *         return true;
 *     }
 */
#ifndef EVENKEEL_COMMAND_COMMAND_KEYS_H
#define EVENKEEL_COMMAND_COMMAND_KEYS_H
#include <stdbool.h>

#include "base/panic.h"
#include "base/string.h"

struct command;

/* Visits an argument that is a key, by its index, which lies within the arguments. Returns false to
 * end the search. */
typedef bool key_visit(int index, void *context);

/* A request whose keys are looked for. Everything is borrowed; `argc` fits the command's arity. */
struct key_search {
    const struct command *command;
    int argc;
    const struct slice *argv;
    key_visit *visit;
    void *context;
};

/* Whether the command has keys, by positions or by a function. */
bool command_has_keys(const struct command *command);
/* Visits the keys of a request. Returns false if there is no key or the arguments are at fault;
 * then no key was visited. O(argc). */
bool command_each_key(const struct key_search *search);

/* ---- for the functions of rows ----
 *
 * A row's function (struct command, `keys`) names the keys in the order that 6.2 has, and returns
 * true; false, having named none, where the arguments are at fault or name no key. It changes
 * nothing. Where key_named or keys_named returns false, no further keys are wanted, and the
 * function may stop. */

/* The argument is a key. */
static inline bool key_named(const struct key_search *s, int index) {
    ASSERT(index >= 1 && index < s->argc);
    return s->visit(index, s->context);
}
/* Names `count` arguments from `first` on as keys. */
bool keys_named(const struct key_search *s, int first, int count);
/* The number of keys that argument `count_at` says follow it; 0 where fewer arguments follow, or
 * the argument is no number above 0. As in 6.2, only the beginning of the text is read as a number,
 * and the number is cut to 32 bits. */
int keys_counted(const struct key_search *s, int count_at);
#endif
