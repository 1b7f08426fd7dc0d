/* SPDX-License-Identifier: BSD-3-Clause
 * Collected texts, and scans of collections.
 */
#include "command/members.h"

#include <string.h>

#include "base/panic.h"
#include "command/arguments.h"
#include "command/call.h"
#include "command/command.h"
#include "net/reply.h"

/* ---- texts ---- */

void text_list_init(struct text_list *l) {
    buffer_init(&l->bytes, MEMORY_OTHER);
    buffer_init(&l->ends, MEMORY_OTHER);
}

void text_list_free(struct text_list *l) {
    buffer_free(&l->bytes);
    buffer_free(&l->ends);
}

void text_list_add(struct text_list *l, struct slice text) {
    buffer_append(&l->bytes, text.bytes, text.length);
    buffer_append(&l->ends, &l->bytes.length, sizeof(l->bytes.length));
}

static size_t text_list_count(const struct text_list *l) { return l->ends.length / sizeof(size_t); }

static size_t end_of(const struct text_list *l, size_t index) {
    size_t end;
    memcpy(&end, l->ends.bytes + index * sizeof(end), sizeof(end));
    return end;
}

struct slice text_list_at(const struct text_list *l, size_t index) {
    ASSERT_SLOW(index < text_list_count(l));
    size_t start = index ? end_of(l, index - 1) : 0;
    return (struct slice){l->bytes.bytes + start, end_of(l, index) - start};
}

/* Replies the texts as an array, and frees the list. */
static void reply_text_list(struct client *c, struct text_list *l) {
    size_t count = text_list_count(l);
    reply_array(c, (int64_t)count);
    for (size_t i = 0; i < count; i++) reply_bulk(c, text_list_at(l, i));
    text_list_free(l);
}

/* ---- scans ---- */

static uint64_t step_in_value(struct scan *scan) {
    struct member_scan *s = (struct member_scan *)scan;
    return s->step(s->value, scan->cursor, s);
}

void member_scan_run(struct call *call, enum entry_type type, member_scan_step *step) {
    struct member_scan s = {.step = step};
    struct entry *e;
    /* The order of the errors is 6.2's: options are not parsed where there is no key. */
    if (!scan_begin(&s.scan, call, 2) || !argument_read_typed(call, 1, type, &e)) return;
    if (e && !scan_options(&s.scan, call, 3, false)) return;
    text_list_init(&s.found);
    if (e) {
        s.value = entry_object(e);
        scan_run(&s.scan, step_in_value);
    } else {
        s.scan.cursor = 0;
    }
    scan_reply_cursor(call->client, &s.scan);
    reply_text_list(call->client, &s.found);
}
