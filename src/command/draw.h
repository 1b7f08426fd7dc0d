/* SPDX-License-Identifier: BSD-3-Clause
 * Members drawn at random: the whole of HRANDFIELD, SRANDMEMBER and ZRANDMEMBER, over a few
 * functions of the type.
 */
#ifndef EVENKEEL_COMMAND_DRAW_H
#define EVENKEEL_COMMAND_DRAW_H
#include <stdbool.h>
#include <stddef.h>

#include "base/string.h"
#include "store/entry.h"

struct call;
struct client;

/* A member, and what belongs to it: a field's value, a score's bytes, or nothing. */
struct draw_item {
    struct slice member, second;
    char scratch[2][LISTPACK_SCRATCH]; /* for a text that does not stand in the value */
};

/* How members of a value are reached. */
enum draw_reach {
    DRAW_BY_WALK,  /* only one after the other: a pick is a walk */
    DRAW_BY_RANK,  /* by number */
    DRAW_BY_CHANCE /* only by random picks; each member's text has an address of its own */
};

typedef void draw_visit(const struct draw_item *item, void *context);

struct draw_type {
    enum entry_type type;
    const char *with; /* "WITHSCORES": the option that asks for them; NULL = none */
    enum draw_reach (*reach)(struct value v);
    size_t (*count)(struct value v);
    /* Picks a random member, each with the same probability. */
    void (*pick)(struct value v, struct draw_item *item);
    /* The member of rank < count; NULL if no value is reached by rank. */
    void (*at)(struct value v, size_t rank, struct draw_item *item);
    void (*each)(struct value v, draw_visit *visit, void *context);
    void (*reply_second)(struct client *c, struct slice second); /* NULL where `with` is */
};

/* Draws `wanted` different numbers below `count` (wanted <= count) in random order, every choice
 * with the same probability. The caller frees them by memory_free(.., MEMORY_OTHER). Memory is
 * O(count) where `wanted` is more than a third of it, else O(wanted). */
size_t *draw_numbers(size_t count, size_t wanted);

/* Runs the whole command, whose arguments are a key and, perhaps, a count and the option:
 *     no count      one member, or null
 *     count >= 0    so many different members, or all
 *     count < 0     so many members, which may repeat
 * O(size of the reply), and O(members) where more than a third are wanted or the value is
 * walked. */
void draw_run(struct call *call, const struct draw_type *type);
#endif
