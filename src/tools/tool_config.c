/* SPDX-License-Identifier: BSD-3-Clause
 * CONFIG GET and CONFIG SET in the words of Redis 6.2, whose errors later versions word otherwise.
 */
#include "tools/tool_config.h"

/* The names that are proposed for an unknown one. */
#define PROPOSED_MAX 3
#define PATTERN_CHARS 128

static enum tool_config_status lost_status(const struct tool_link *link,
                                           char reason[TOOL_REASON_CHARS]) {
    snprintf(reason, TOOL_REASON_CHARS, "%s", link->reason);
    return TOOL_CONFIG_LOST;
}

static enum tool_config_status refused_status(const char *error, char reason[TOOL_REASON_CHARS]) {
    snprintf(reason, TOOL_REASON_CHARS, "%s", error);
    /* 6.2 refuses an option that only a start can set as one that it does not know. */
    bool at_start = strstr(error, "Unsupported CONFIG parameter") || strstr(error, "immutable");
    return at_start ? TOOL_CONFIG_AT_START : TOOL_CONFIG_REFUSED;
}

/* Writes "the server has ..." with names that contain `name` to `reason`; "" where there is none.
 */
static enum tool_config_status propose_names(struct tool_link *link, const char *name,
                                             struct tool_answer *answer,
                                             char reason[TOOL_REASON_CHARS]) {
    char pattern[PATTERN_CHARS];
    int used = 0;
    *reason = '\0';
    snprintf(pattern, sizeof(pattern), "*%s*", name);
    struct slice words[] = {SLICE("CONFIG"), SLICE("GET"), slice_of(pattern)};
    if (!tool_link_ask(link, answer, words, 3)) return lost_status(link, reason);
    for (unsigned i = 0; i + 1 < answer->count && i < 2 * PROPOSED_MAX; i += 2) {
        char shown[PATTERN_CHARS];
        string_show(slice_of(tool_answer_text(answer, i)), shown, sizeof(shown));
        used += snprintf(reason + used, TOOL_REASON_CHARS - (size_t)used, "%s%s",
                         i ? ", " : "it has ", shown);
        if (used >= TOOL_REASON_CHARS) break;
    }
    return TOOL_CONFIG_UNKNOWN;
}

/* Takes the value of `name` from the answer to CONFIG GET, which begins at text `from`. False where
 * the answer lacks it. */
static bool find_value(const struct tool_answer *answer, unsigned from, const char *name,
                       struct buffer *value) {
    for (unsigned i = from; i + 1 < answer->count; i += 2) {
        if (strcasecmp(tool_answer_text(answer, i), name) != 0) continue;
        buffer_clear(value);
        buffer_append_c_string(value, tool_answer_text(answer, i + 1));
        buffer_append_char(value, '\0');
        value->length--;
        return true;
    }
    return false;
}

enum tool_config_status tool_config_get(struct tool_link *link, const char *name,
                                        struct buffer *value, char reason[TOOL_REASON_CHARS]) {
    struct tool_answer answer;
    struct slice words[] = {SLICE("CONFIG"), SLICE("GET"), slice_of(name)};
    enum tool_config_status status = TOOL_CONFIG_GOOD;
    tool_answer_init(&answer);
    if (!tool_link_ask(link, &answer, words, 3)) {
        status = lost_status(link, reason);
    } else if (answer.refused) {
        snprintf(reason, TOOL_REASON_CHARS, "%s", tool_answer_text(&answer, 0));
        status = TOOL_CONFIG_REFUSED;
    } else if (strpbrk(name, "*?[]\\") || !find_value(&answer, 0, name, value)) {
        status = propose_names(link, name, &answer, reason);
    }
    tool_answer_free(&answer);
    return status;
}

static enum tool_config_status set_one_value(struct tool_link *link, struct tool_answer *answer,
                                             const struct tool_value *value,
                                             char reason[TOOL_REASON_CHARS]) {
    struct slice words[] = {SLICE("CONFIG"), SLICE("SET"), slice_of(value->name),
                            slice_of(value->value)};
    if (!tool_link_ask(link, answer, words, 4)) return lost_status(link, reason);
    if (answer->refused) return refused_status(tool_answer_text(answer, 0), reason);
    return TOOL_CONFIG_GOOD;
}

/* Queues a command of a transaction. False with a status and a reason. */
static bool queue_one_command(struct tool_link *link, struct tool_answer *answer,
                              const struct slice *words, size_t count,
                              enum tool_config_status *status, char reason[TOOL_REASON_CHARS]) {
    if (!tool_link_ask(link, answer, words, count)) {
        *status = lost_status(link, reason);
        return false;
    }
    if (!answer->refused) return true;
    *status = refused_status(tool_answer_text(answer, 0), reason);
    struct slice discard = SLICE("DISCARD");
    if (!tool_link_ask(link, answer, &discard, 1)) *status = lost_status(link, reason);
    return false;
}

enum tool_config_status tool_config_try(struct tool_link *link, const struct tool_value *value,
                                        const char *old, struct buffer *canonical,
                                        char reason[TOOL_REASON_CHARS]) {
    struct tool_answer answer;
    struct slice name = slice_of(value->name), get[] = {SLICE("CONFIG"), SLICE("GET"), name};
    struct slice set[] = {SLICE("CONFIG"), SLICE("SET"), name, slice_of(value->value)};
    struct slice back[] = {SLICE("CONFIG"), SLICE("SET"), name, slice_of(old)};
    enum tool_config_status status = TOOL_CONFIG_GOOD;
    tool_answer_init(&answer);
    if (queue_one_command(link, &answer, &SLICE("MULTI"), 1, &status, reason) &&
        queue_one_command(link, &answer, set, 4, &status, reason) &&
        queue_one_command(link, &answer, get, 3, &status, reason) &&
        queue_one_command(link, &answer, back, 4, &status, reason)) {
        if (!tool_link_ask(link, &answer, &SLICE("EXEC"), 1)) {
            status = lost_status(link, reason);
        } else if (answer.refused) {
            /* OK or an error, the name and the value, OK or an error. */
            const char *first = tool_answer_text(&answer, 0);
            bool back_failed = answer.count == 4 && !strcmp(first, "OK");
            status = refused_status(tool_answer_text(&answer, back_failed ? 3 : 0), reason);
        } else if (!find_value(&answer, 1, value->name, canonical)) {
            snprintf(reason, TOOL_REASON_CHARS, "CONFIG GET does not show it");
            status = TOOL_CONFIG_REFUSED;
        }
    }
    tool_answer_free(&answer);
    return status;
}

enum tool_config_status tool_config_set(struct tool_link *link, const struct tool_value *values,
                                        size_t count, size_t *failed,
                                        char reason[TOOL_REASON_CHARS]) {
    struct tool_answer answer;
    enum tool_config_status status = TOOL_CONFIG_GOOD;
    tool_answer_init(&answer);
    for (unsigned pass = 0; pass < 2; pass++) {
        status = TOOL_CONFIG_GOOD;
        for (size_t i = 0; i < count; i++) {
            char why[TOOL_REASON_CHARS];
            enum tool_config_status one = set_one_value(link, &answer, &values[i], why);
            if (one == TOOL_CONFIG_GOOD || status != TOOL_CONFIG_GOOD) continue;
            status = one;
            if (failed) *failed = i;
            memcpy(reason, why, sizeof(why));
        }
        if (status == TOOL_CONFIG_GOOD || status == TOOL_CONFIG_LOST) break;
    }
    tool_answer_free(&answer);
    return status;
}
