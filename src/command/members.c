/* SPDX-License-Identifier: BSD-3-Clause
 * Texts collected, scans of collections, random choices.
 */
#include "command/members.h"

#include <string.h>

#include "base/hash.h"
#include "base/panic.h"
#include "base/random.h"
#include "command/arguments.h"
#include "command/call.h"
#include "command/command.h"
#include "net/reply.h"

/* Below this share of all, numbers are drawn again when drawn twice; above, all are mixed. */
#define CHOOSE_MIX_SHARE 3

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

size_t text_list_count(const struct text_list *l) { return l->ends.length / sizeof(size_t); }

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

void reply_text_list(struct client *c, struct text_list *l) {
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
    /* The order of the errors is 6.2's: options are not looked at where there is no key. */
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

/* ---- choices ---- */

void noted_init(struct noted *n, size_t most) {
    size_t places = 16;
    while (places < most * 2) places *= 2;
    *n = (struct noted){memory_zalloc(places * sizeof(*n->places), MEMORY_OTHER), places - 1};
}

void noted_free(struct noted *n) { memory_free(n->places, MEMORY_OTHER); }

bool noted_add(struct noted *n, uint64_t number) {
    size_t place = hash_bytes(&number, sizeof(number)) & n->mask;
    for (; n->places[place]; place = (place + 1) & n->mask)
        if (n->places[place] == number) return false;
    n->places[place] = number;
    return true;
}

/* Draws from 0 to count - 1 and then exchanges: the first `wanted` of a shuffle. */
static size_t *choose_by_mixing(size_t count, size_t wanted) {
    size_t *all = memory_alloc(count * sizeof(*all), MEMORY_OTHER);
    for (size_t i = 0; i < count; i++) all[i] = i;
    for (size_t i = 0; i < wanted; i++) {
        size_t other = i + random_below(count - i), kept = all[i];
        all[i] = all[other];
        all[other] = kept;
    }
    return all;
}

/* Draws again what was drawn before. */
static size_t *choose_by_drawing(size_t count, size_t wanted) {
    struct noted drawn;
    size_t *chosen = memory_alloc(wanted * sizeof(*chosen) + 1, MEMORY_OTHER);
    noted_init(&drawn, wanted);
    for (size_t done = 0; done < wanted;) {
        size_t number = random_below(count);
        if (noted_add(&drawn, number + 1)) chosen[done++] = number;
    }
    noted_free(&drawn);
    return chosen;
}

size_t *choose_distinct(size_t count, size_t wanted) {
    ASSERT_COMPARE(wanted, <=, count);
    return wanted > count / CHOOSE_MIX_SHARE ? choose_by_mixing(count, wanted)
                                             : choose_by_drawing(count, wanted);
}
