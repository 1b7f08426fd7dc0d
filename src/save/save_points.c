/* SPDX-License-Identifier: BSD-3-Clause
 * The option save, as 6.2 takes it.
 */
#include "save/save_points.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/number.h"
#include "option/option.h"

#define SAVE_POINTS_MAX 256

static struct save_point save_points[SAVE_POINTS_MAX];
static size_t save_point_count;
static bool save_point_parse(struct slice seconds, struct slice changes, struct save_point *point) {
    return number_parse_int64(seconds.bytes, seconds.length, &point->seconds) &&
           point->seconds >= 1 &&
           number_parse_int64(changes.bytes, changes.length, &point->changes) &&
           point->changes >= 0;
}

/* Parses pairs of numbers and adds them to the pairs of earlier lines. No words add none. */
static bool save_pairs_parse(const struct slice *words, size_t count) {
    struct save_point parsed[SAVE_POINTS_MAX];
    size_t kept = option_is_repeated() ? save_point_count : 0;
    if (count % 2 != 0 || kept + count / 2 > SAVE_POINTS_MAX) return false;
    for (size_t i = 0; i < count / 2; i++) {
        if (!save_point_parse(words[2 * i], words[2 * i + 1], &parsed[i])) return false;
    }
    memcpy(save_points + kept, parsed, count / 2 * sizeof(parsed[0]));
    save_point_count = kept + count / 2;
    return true;
}

/* save "900 1": one word with blanks in it. */
static bool save_word_parse(struct slice word) {
    struct buffer storage;
    struct slice *inner;
    buffer_init(&storage, MEMORY_OTHER);
    int count = string_split_words(word, &storage, &inner);
    bool parsed = count > 1 && save_pairs_parse(inner, (size_t)count);
    if (count >= 0) memory_free(inner, MEMORY_OTHER);
    buffer_free(&storage);
    return parsed;
}

static bool save_parse(const struct option_row *row, const struct slice *words, size_t count,
                       char *reason, size_t reason_size) {
    bool line =
        option_source_now() == OPTION_FROM_FILE || option_source_now() == OPTION_FROM_COMMAND_LINE;
    if (count == 1 && words[0].length == 0) { /* "" removes all save points */
        save_point_count = 0;
        return true;
    }
    if (save_pairs_parse(words, count)) return true;
    if (!line) return false;
    if (count == 1 && save_word_parse(words[0])) return true;
    if (count != 2) { /* '""' and the like: 6.2 ignores the text, and only removes the default */
        if (!option_is_repeated()) save_point_count = 0;
        return true;
    }
    snprintf(reason, reason_size, "Invalid save parameters");
    return false;
}

static void save_print(const struct option_row *row, struct buffer *out) {
    for (size_t i = 0; i < save_point_count; i++) {
        buffer_printf(out, "%s%" PRId64 " %" PRId64, i == 0 ? "" : " ", save_points[i].seconds,
                      save_points[i].changes);
    }
}

static void save_rewrite(const struct option_row *row, struct buffer *out) {
    if (save_point_count == 0) buffer_append_c_string(out, "save \"\"\n");
    for (size_t i = 0; i < save_point_count; i++) {
        buffer_printf(out, "save %" PRId64 " %" PRId64 "\n", save_points[i].seconds,
                      save_points[i].changes);
    }
}

static void (*when_changed)(void);

static bool apply_points(const struct option_row *row, char *reason, size_t reason_size) {
    when_changed();
    return true;
}

static const struct option_row option_rows[] = {
    {.name = "save",
     .type = OPTION_TYPE_CUSTOM,
     .flags = OPTION_MUTABLE | OPTION_MULTI | OPTION_ALWAYS_WRITTEN,
     .section = "snapshots",
     .place = 10,
     .fallback = "3600 1 300 100 60 10000",
     .help = "Save points: pairs of seconds and changes. A snapshot is saved after so many seconds "
             "in which at least so many changes were made. An empty text: no save points.",
     .parse = save_parse,
     .print = save_print,
     .rewrite = save_rewrite,
     .apply = apply_points},
};

void save_points_register(void (*changed)(void)) {
    when_changed = changed;
    option_register(option_rows, sizeof(option_rows) / sizeof(option_rows[0]));
}

bool save_points_any(void) { return save_point_count > 0; }

const struct save_point *save_points_due(uint64_t changes, int64_t seconds) {
    for (size_t i = 0; i < save_point_count; i++) {
        const struct save_point *p = &save_points[i];
        if (changes >= (uint64_t)p->changes && seconds > p->seconds) return p;
    }
    return NULL;
}
