/* SPDX-License-Identifier: BSD-3-Clause
 * For commands on collections: texts collected before they are replied; HSCAN, SSCAN and ZSCAN.
 */
#ifndef EVENKEEL_COMMAND_MEMBERS_H
#define EVENKEEL_COMMAND_MEMBERS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/string.h"
#include "command/scan.h"
#include "store/entry.h"

struct call;
struct client;

/* Copies of texts, in order. */
struct text_list {
    struct buffer bytes;
    struct buffer ends; /* of size_t: where each text ends in `bytes` */
};

void text_list_init(struct text_list *l);
void text_list_free(struct text_list *l);
void text_list_add(struct text_list *l, struct slice text);
/* The text that was added as number `index`, from 0 on; valid until the list changes. */
struct slice text_list_at(const struct text_list *l, size_t index);

/* HSCAN, SSCAN, ZSCAN: key, cursor, then MATCH and COUNT. */
struct member_scan;
/* Visits the members of one position of the value, asks scan_fits of each, adds those that fit to
 * `found`, and returns the next cursor, 0 at the end. */
typedef uint64_t member_scan_step(struct value v, uint64_t cursor, struct member_scan *s);
struct member_scan {
    struct scan scan;
    struct value value;
    member_scan_step *step;
    struct text_list found;
};
/* Runs the whole command, whose arguments 1 and 2 are key and cursor: replies the next cursor and
 * the texts that were found, or an error. */
void member_scan_run(struct call *call, enum entry_type type, member_scan_step *step);

#endif
