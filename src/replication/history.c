/* SPDX-License-Identifier: BSD-3-Clause
 * The history of this data set. history.h has the idea.
 *
 * Invariant: second_end <= history_place() + 1.
 */
#include "replication/history.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/panic.h"
#include "base/random.h"
#include "metric/row.h"
#include "option/option.h"
#include "replication/feed.h"

enum memory_class replication_memory = MEMORY_OTHER;

/* The least backlog is a block of the feed. */
#define BACKLOG_BYTES_MIN 16384

static char id[HISTORY_ID_CHARS + 1], second_id[HISTORY_ID_CHARS + 1];
static struct feed *feed;  /* its end is the place in the history */
static int64_t place_kept; /* the place while there is no feed */
static int64_t second_end = -1;
static int64_t backlog_bytes;
static int64_t applied_bytes; /* the value of backlog_bytes that was applied last */
static int64_t forgotten;     /* replicas may not ask for bytes before this place */
static bool forgets;          /* `forgotten` is to be set when the unit ends */

const char *history_id(void) { return id; }
const char *history_id2(void) { return second_id; }
int64_t history_place(void) { return feed ? feed_end(feed) : place_kept; }
int64_t history_id2_end(void) { return second_end; }
struct feed *history_feed(void) {
    return feed;
}

/* ---- the backlog ---- */

/* The first place that a replica may ask for. */
static int64_t first_kept(void) {
    int64_t begin = feed_begin(feed);
    return begin > forgotten ? begin : forgotten;
}

void history_settle(void) {
    if (forgets) forgotten = history_place();
    forgets = false;
}

void history_open_backlog(void) {
    if (feed) return;
    feed = feed_create(replication_memory, place_kept, (size_t)backlog_bytes);
    feed_set_limit(feed, place_kept);
    applied_bytes = backlog_bytes;
}

void history_close_backlog(void) {
    place_kept = history_place();
    feed_free(feed);
    feed = NULL;
}

/* ---- ids ---- */

static void forget_second(void) {
    memset(second_id, '0', HISTORY_ID_CHARS);
    second_end = -1;
}

void history_begin(void) {
    random_hex(id, HISTORY_ID_CHARS);
    forget_second();
}

void history_rename(const char *new_id) {
    memcpy(second_id, id, HISTORY_ID_CHARS);
    second_end = history_place() + 1;
    memcpy(id, new_id, HISTORY_ID_CHARS);
}

void history_branch(void) {
    char new_id[HISTORY_ID_CHARS + 1];
    random_hex(new_id, HISTORY_ID_CHARS);
    history_rename(new_id);
}

void history_adopt(const char *new_id, int64_t new_place) {
    /* At the same place of another history the bytes before it differ, too. */
    bool is_same = new_place == history_place() && memcmp(id, new_id, HISTORY_ID_CHARS) == 0;
    memmove(id, new_id, HISTORY_ID_CHARS);
    forget_second();
    if (feed && !is_same) {
        feed_restart(feed, new_place);
        feed_set_limit(feed, new_place);
    }
    place_kept = new_place;
    forgotten = 0;
}

static bool is_of(struct slice name, const char *of) {
    return slice_equal_nocase(name, (struct slice){of, HISTORY_ID_CHARS});
}

bool history_can_continue(struct slice name, int64_t from, char *reason, size_t reason_size) {
    bool is_second = is_of(name, second_id) && second_end >= 0;
    if (!is_of(name, id) && !is_second) {
        snprintf(reason, reason_size, "it has another history than ours, %s", id);
    } else if (!is_of(name, id) && from >= second_end) {
        snprintf(reason, reason_size,
                 "it has come to %" PRId64 " of %s, and ours is the same up to %" PRId64 " only",
                 from, second_id, second_end - 1);
    } else if (!feed) {
        snprintf(reason, reason_size, "there is no backlog");
    } else if (from < first_kept() || from > history_place()) {
        snprintf(reason, reason_size,
                 "it has come to %" PRId64 ", and the backlog reaches from %" PRId64 " to %" PRId64,
                 from, first_kept(), history_place());
    } else {
        return true;
    }
    return false;
}

/* ---- options and INFO ---- */

/* A smaller number in a configuration file stays as it is, as in 6.2. In 6.2 another size makes a
 * new, empty backlog, and operators may count on that: so the old bytes are no longer given to
 * replicas. */
static bool backlog_apply(const struct option_row *row, char *reason, size_t reason_size) {
    if (option_source_now() == OPTION_FROM_CONFIG_SET && backlog_bytes < BACKLOG_BYTES_MIN)
        backlog_bytes = BACKLOG_BYTES_MIN;
    if (feed && backlog_bytes != applied_bytes) {
        feed_set_kept(feed, (size_t)backlog_bytes);
        forgets = true;
    }
    applied_bytes = backlog_bytes;
    return true;
}

static const struct option_row option_rows[] = {
    {.name = "repl-backlog-size",
     .type = OPTION_TYPE_BYTES,
     .flags = OPTION_MUTABLE,
     .section = "replication",
     .place = 120,
     .fallback = "1mb",
     .variable = &backlog_bytes,
     .low = 1,
     .high = INT64_MAX,
     .apply = backlog_apply,
     .help = "Bytes of the replication stream that are kept for replicas that come back; at least "
             "16kb."},
};

static void print_id(const struct metric_row *row, struct buffer *out) {
    buffer_append_c_string(out, id);
}
static void print_second_id(const struct metric_row *row, struct buffer *out) {
    buffer_append_c_string(out, second_id);
}
static void print_history_place(const struct metric_row *row, struct buffer *out) {
    buffer_printf(out, "%" PRId64, history_place());
}
static void print_active(const struct metric_row *row, struct buffer *out) {
    buffer_append_char(out, feed ? '1' : '0');
}
static void print_size(const struct metric_row *row, struct buffer *out) {
    buffer_printf(out, "%" PRId64, backlog_bytes);
}
static void print_first(const struct metric_row *row, struct buffer *out) {
    buffer_printf(out, "%" PRId64, feed ? first_kept() + 1 : 0);
}
static void print_length(const struct metric_row *row, struct buffer *out) {
    buffer_printf(out, "%" PRId64, feed ? history_place() - first_kept() : 0);
}
static void print_backlog_memory(const struct metric_row *row, struct buffer *out) {
    buffer_printf(out, "%zu", feed ? feed_backlog_memory(feed) : 0);
}

static const struct metric_row metric_rows[] = {
    METRIC_PRINT("Replication", 60, "master_replid", METRIC_LABEL, print_id,
                 "The replication id, which names the history of this data."),
    METRIC_PRINT("Replication", 70, "master_replid2", METRIC_INFO_ONLY, print_second_id,
                 "The replication id before the present one; zeros: none."),
    METRIC_PRINT("Replication", 80, "master_repl_offset", METRIC_GAUGE, print_history_place,
                 "The replication offset: bytes of this history's stream so far."),
    METRIC_NUMBER("Replication", 90, "second_repl_offset", METRIC_GAUGE, &second_end,
                  "Up to this offset master_replid2 names the same history; -1: none."),
    METRIC_PRINT("Replication", 100, "repl_backlog_active", METRIC_GAUGE, print_active,
                 "1 while the stream's last bytes are kept."),
    METRIC_PRINT("Replication", 110, "repl_backlog_size", METRIC_BYTES, print_size,
                 "The option repl-backlog-size."),
    METRIC_PRINT("Replication", 120, "repl_backlog_first_byte_offset", METRIC_GAUGE, print_first,
                 "The first byte that is kept, counted from 1; 0: none."),
    METRIC_PRINT("Replication", 130, "repl_backlog_histlen", METRIC_BYTES, print_length,
                 "How many bytes the backlog keeps."),
    METRIC_PRINT("Memory", 340, "mem_replication_backlog", METRIC_BYTES, print_backlog_memory,
                 "Bytes of memory that the backlog takes."),
};

void history_register(void) {
    memory_class_register(&replication_memory, MEMORY_UNCOUNTED);
    option_register(option_rows, sizeof(option_rows) / sizeof(option_rows[0]));
    metric_register(metric_rows, sizeof(metric_rows) / sizeof(metric_rows[0]));
    history_begin();
    id[HISTORY_ID_CHARS] = second_id[HISTORY_ID_CHARS] = '\0';
}
