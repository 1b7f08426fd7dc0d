/* SPDX-License-Identifier: BSD-3-Clause
 * The slow log: the last commands that took long.
 *
 * An entry is bounded: 32 arguments of 128 bytes, and the client's name up to the same length.
 * Secrets are not kept (command.h, is_secret).
 */
#ifndef EVENKEEL_REPORT_SLOWLOG_H
#define EVENKEEL_REPORT_SLOWLOG_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/list.h"
#include "base/string.h"

#include "metric/attribution.h"

struct call;

/* 6.2's numbers. */
#define SLOWLOG_ARGUMENTS_MAX 32
#define SLOWLOG_TEXT_BYTES_MAX 128

struct slowlog_entry {
    struct list_link link;
    int64_t id; /* counts up from 0, also over a reset */
    int64_t wall_seconds, usec;
    struct attribution_span span; /* where the time went */
    struct slice address, name;   /* of the client; both may be "" */
    int argc;
    struct slice argv[]; /* as shown: cut, and with a note of what was left out */
};

void slowlog_register(void); /* slowlog-log-slower-than, slowlog-max-len */
/* To be called before a call: copies the beginnings of those arguments that lie in blocks of their
 * own, because the command may take such blocks over and free them. */
void slowlog_keep_large_arguments(const struct call *call);
/* Whether a call that took so long is to be noted. */
bool slowlog_wants(const struct call *call, int64_t nsec);
/* Makes an entry of a call that is wanted. Drops entries beyond slowlog-max-len, many of them in
 * the background: O(the smaller of those kept and those dropped). */
void slowlog_note(const struct call *call, const struct attribution_span *span);
/* Two steps for a call that blocks and is noted when it is served: slowlog_prepare makes an entry,
 * which the caller owns; then slowlog_take_prepared puts it into the log, with `nsec` added to its
 * time, or slowlog_free_prepared frees it. */
MUST_USE struct slowlog_entry *slowlog_prepare(const struct call *call,
                                               const struct attribution_span *span);
void slowlog_take_prepared(struct slowlog_entry *entry, int64_t nsec);
void slowlog_free_prepared(struct slowlog_entry *entry);
/* Says in one sentence where the entry's time went. */
void slowlog_append_verdict(const struct slowlog_entry *entry, struct buffer *out);
/* Appends which option moves the largest part of that time, if any does, and the experiment that
 * shows it; nothing if the time was not split. */
void slowlog_append_advice(const struct slowlog_entry *entry, struct buffer *out);

size_t slowlog_length(void);
/* Return the newest entry and the next older one; NULL if there is none. */
const struct slowlog_entry *slowlog_newest(void);
const struct slowlog_entry *slowlog_older(const struct slowlog_entry *entry);
void slowlog_reset(void);
#endif
