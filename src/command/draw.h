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

/* A member, and what goes with it: a field's value, a score's bytes, or nothing. */
struct draw_item {
    struct slice member, second;
    char scratch[2][LISTPACK_SCRATCH]; /* for either, where it does not stand in the value */
};

/* How members of a value are reached. */
enum draw_reach {
    DRAW_BY_WALK,  /* one after the other, and each pick is a walk */
    DRAW_BY_RANK,  /* by number */
    DRAW_BY_CHANCE /* by picks alone; each member's text has an address of its own */
};

typedef void draw_visit(const struct draw_item *item, void *context);

struct draw_type {
    enum entry_type type;
    const char *with; /* the word that asks for what goes with the members; NULL = none */
    enum draw_reach (*reach)(struct value v);
    size_t (*count)(struct value v);
    /* A member, each as likely. */
    void (*pick)(struct value v, struct draw_item *item);
    /* The member of rank < count; NULL where no value is reached by rank. */
    void (*at)(struct value v, size_t rank, struct draw_item *item);
    void (*each)(struct value v, draw_visit *visit, void *context);
    void (*reply_second)(struct client *c, struct slice second); /* NULL where `with` is */
};

/* `wanted` different numbers below `count` (wanted <= count), each choice as likely, in random
 * order; to be freed with memory_free(.., MEMORY_OTHER). O(count) memory where `wanted` is more
 * than a third, else O(wanted). */
size_t *draw_numbers(size_t count, size_t wanted);

/* The whole command: key, then a count and the word, or neither. No count: a member or null. From 0
 * on: so many different ones, or all. Below: so many, which may come again. O(what is replied), and
 * O(members) where more than a third are wanted or the value is walked. */
void draw_run(struct call *call, const struct draw_type *type);
#endif
