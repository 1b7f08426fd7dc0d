/* SPDX-License-Identifier: BSD-3-Clause
 * How a command's row is written, for the ends of the files that have handlers:
 *
 *     COMMAND("hset", command_hset, -4, GROW | FAST, ACL_HASH, CHANGES(HASH, ONE_KEY),
 *             "Sets fields; returns how many are new."),
 *
 * The name stands in quotes and the handler under its own name, so that grep and `make where` find
 * both. Rare members follow by name: .keys, .channels, .is_secret, .traced, .context.
 */
#ifndef EVENKEEL_COMMAND_ROW_H
#define EVENKEEL_COMMAND_ROW_H
#include "command/command.h"
#include "store/entry.h"

/* The parameters have the names of the struct's members, with an underscore to keep them apart. */
#define COMMAND(name_, handler_, arity_, flags_, categories_, keys_, help_, ...) \
    {                                                                            \
        .name = name_, .handler = handler_, .arity = arity_, .flags = flags_,    \
        .categories = categories_, keys_, .help = help_, ##__VA_ARGS__           \
    }
#define COMMAND_ROWS(rows) (rows), sizeof(rows) / sizeof((rows)[0])

/* Which arguments are keys; a last one below 0 counts from the end. */
#define KEYS(first, last, step) .first_key = (first), .last_key = (last), .key_step = (step)
#define NO_KEYS KEYS(0, 0, 0)
#define ONE_KEY KEYS(1, 1, 1)
#define TWO_KEYS KEYS(1, 2, 1)
#define ALL_KEYS KEYS(1, -1, 1)

/* Which arguments are keys (as above), and what a call changes of them: a word of enum
 * entry_changes. Rows of commands that change none of their keys do without. */
#define CHANGES(what, ...) .changes = ENTRY_CHANGES_##what, __VA_ARGS__

#define NO_CATEGORY 0 /* only the categories that follow from the flags */

/* Short names of frequent flags. */
#define READ COMMAND_READONLY
#define WRITE COMMAND_WRITE
#define GROW (COMMAND_WRITE | COMMAND_DENYOOM)
#define FAST COMMAND_FAST
#define BY_CHANCE COMMAND_RANDOM
#define UNORDERED COMMAND_SORT_FOR_SCRIPT
#define MOVABLE COMMAND_MOVABLE_KEYS
#define ADMIN COMMAND_ADMIN
#define NO_SCRIPT COMMAND_NOSCRIPT
#define ANYTIME (COMMAND_LOADING | COMMAND_STALE)
#endif
