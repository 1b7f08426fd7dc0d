/* SPDX-License-Identifier: BSD-3-Clause
 * What commands on collections share: texts collected before they are replied, cursors and options
 * of HSCAN and its kin, random choices.
 */
#ifndef EVENKEEL_EXEC_MEMBERS_H
#define EVENKEEL_EXEC_MEMBERS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/string.h"

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
size_t text_list_count(const struct text_list *l);
/* index < count; valid until the list changes. */
struct slice text_list_at(const struct text_list *l, size_t index);
/* An array of them; frees the list. */
void reply_text_list(struct client *c, struct text_list *l);

/* HSCAN, SSCAN, ZSCAN: key, cursor, then MATCH and COUNT. */
struct member_scan {
    uint64_t cursor;
    int64_t count; /* members wanted */
    bool any;      /* no pattern */
    struct slice pattern;
    size_t seen;
    struct text_list found;
};
/* A cursor as 6.2 reads it: up to a NUL, decimal digits or nothing at all, with a sign. */
bool member_scan_parse_cursor(struct slice text, uint64_t *cursor);
/* The cursor of argument 2; false after "invalid cursor". */
bool member_scan_cursor(const struct call *call, struct member_scan *s);
/* The options from argument 3 on; false after an error. `found` is to be freed only after true. */
bool member_scan_options(const struct call *call, struct member_scan *s);
/* True where the member fits the pattern. Counts it as seen. */
bool member_scan_fits(struct member_scan *s, struct slice member);
/* True where the call should look at another position. */
bool member_scan_goes_on(struct member_scan *s, size_t positions);
/* Cursor and what was found; frees it. */
void member_scan_reply(struct client *c, struct member_scan *s);

/* That of a key that is not there. */
void member_scan_reply_empty(struct client *c);

/* Numbers but 0 that were noted: which draws came before. */
struct noted {
    uint64_t *places;
    size_t mask;
};
/* Room for `most` numbers. */
void noted_init(struct noted *n, size_t most);
void noted_free(struct noted *n);
/* False where the number is there already. */
bool noted_add(struct noted *n, uint64_t number);

/* Chooses `wanted` different numbers below `count` (wanted <= count), each choice as likely, in
 * random order. Returns an array to be freed with memory_free(.., MEMORY_OTHER). O(count) memory
 * where `wanted` is more than a third, else O(wanted). */
size_t *choose_distinct(size_t count, size_t wanted);
#endif
