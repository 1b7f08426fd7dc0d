/* SPDX-License-Identifier: BSD-3-Clause
 * Where the keys of a command stand. command_keys.h has the idea.
 *
 * Invariants
 *  1. A range that is returned lies within argv, whatever the arguments say.
 *  2. What is no fault to 6.2 is none here: of a number only its beginning is read, and what does
 *     not fit 32 bits is cut to them.
 */
#include "command/command_keys.h"

#include "base/panic.h"
#include "command/command.h"

bool command_has_keys(const struct command *command) {
    return command->first_key || command->key_rule;
}

static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/* The number that the text begins with, after spaces; 0 where it begins with none. What 64 bits do
 * not hold is the largest or the least that they do. */
static int leading_number(struct slice text) {
    int64_t value = 0;
    bool negative = false;
    size_t i = 0;
    while (i < text.length && is_space(text.bytes[i])) i++;
    if (i < text.length && (text.bytes[i] == '-' || text.bytes[i] == '+'))
        negative = text.bytes[i++] == '-';
    for (; i < text.length; i++) {
        int64_t digit = (unsigned char)text.bytes[i] - '0';
        if (digit < 0 || digit > 9) break;
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, negative ? -digit : digit, &value)) {
            value = negative ? INT64_MIN : INT64_MAX;
            break;
        }
    }
    return (int32_t)value;
}

static int places(const struct command *command, int argc, struct key_range *range) {
    int last = command->last_key < 0 ? argc + command->last_key : command->last_key;
    if (last >= argc || last < command->first_key) return 0;
    *range = (struct key_range){
        command->first_key, (last - command->first_key) / command->key_step + 1, command->key_step};
    return 1;
}

static const struct key_word *word_find(const struct key_rule *rule, struct slice text) {
    for (int i = 0; i < KEY_WORDS_MAX && rule->words[i].word; i++)
        if (slice_is(text, rule->words[i].word)) return &rule->words[i];
    return NULL;
}

/* What the word at `at` gives. False where nothing. */
static bool word_take(enum key_take take, int at, int argc, struct key_range *range) {
    int left = argc - at - 1;
    int count = take == KEY_TAKE_REST               ? left
                : take == KEY_TAKE_HALF             ? (left % 2 ? 0 : left / 2)
                : take == KEY_TAKE_ONE && left >= 1 ? 1
                : take == KEY_TAKE_TWO && left >= 2 ? 2
                                                    : 0;
    if (!count) return false;
    *range = (struct key_range){at + 1, count, 1};
    return true;
}

/* False where the arguments are at fault. The range's count stays 0 where no word gives a key. */
static bool words_search(const struct key_rule *rule, int argc, const struct slice *argv,
                         struct key_range *range) {
    for (int i = rule->words_at; i < argc; i++) {
        const struct key_word *w = word_find(rule, argv[i]);
        if (!w) {
            if (rule->words_strict) return false;
            continue;
        }
        if (w->take == KEY_TAKE_STOP) return true;
        if (w->take == KEY_TAKE_NONE) {
            i += w->values;
        } else if (word_take(w->take, i, argc, range)) {
            if (w->take != KEY_TAKE_ONE) return true;
            i++;
        } else if (w->take == KEY_TAKE_REST || w->take == KEY_TAKE_HALF) {
            return false;
        }
    }
    return true;
}

int command_key_ranges(const struct command *command, int argc, const struct slice *argv,
                       struct key_range ranges[static KEY_RANGES_MAX]) {
    const struct key_rule *rule = command->key_rule;
    int found = 0;
    if (!rule) return command->first_key ? places(command, argc, ranges) : 0;
    if (rule->only_in && !(argc > 1 && slice_is(argv[1], rule->only_in))) return 0;
    if (rule->count_at) {
        int count = rule->count_at < argc ? leading_number(argv[rule->count_at]) : 0;
        if (count < 1 || count > argc - rule->count_at - 1) return 0;
        ranges[found++] = (struct key_range){rule->count_at + 1, count, 1};
    }
    if (rule->key_at) {
        if (rule->key_at >= argc) return 0;
        ranges[found++] = (struct key_range){rule->key_at, 1, 1};
    }
    bool searches = rule->words_at && !(rule->words_if_empty && argv[rule->key_at].length);
    if (searches) {
        struct key_range by_words = {0};
        if (!words_search(rule, argc, argv, &by_words)) return 0;
        if (by_words.count && rule->words_if_empty) found = 0;
        ASSERT(found < KEY_RANGES_MAX);
        if (by_words.count) ranges[found++] = by_words;
    }
    return found;
}
