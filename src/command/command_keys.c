/* SPDX-License-Identifier: BSD-3-Clause
 * Finding the keys of a request. command_keys.h has the idea.
 *
 * Invariants
 *  1. A key that is visited is an argument behind the command's name.
 *  2. A request is at fault exactly where it is for 6.2.
 */
#include "command/command_keys.h"

#include "base/panic.h"
#include "command/command.h"

bool command_has_keys(const struct command *command) { return command->first_key || command->keys; }

static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/* The number that the text begins with, after spaces; 0 where there is none. A number beyond 64
 * bits becomes the nearest that they hold; the result is cut to 32 bits. */
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

bool keys_named(const struct key_search *s, int first, int count) {
    for (int i = 0; i < count; i++)
        if (!key_named(s, first + i)) return false;
    return true;
}

int keys_counted(const struct key_search *s, int count_at) {
    int count = count_at < s->argc ? leading_number(s->argv[count_at]) : 0;
    return count < 1 || count > s->argc - count_at - 1 ? 0 : count;
}

static bool visit_places(const struct key_search *s) {
    const struct command *command = s->command;
    int last = command->last_key < 0 ? s->argc + command->last_key : command->last_key;
    if (last >= s->argc || last < command->first_key) return false;
    for (int i = command->first_key; i <= last && key_named(s, i);) i += command->key_step;
    return true;
}

bool command_each_key(const struct key_search *search) {
    if (search->command->keys) return search->command->keys(search);
    return search->command->first_key && visit_places(search);
}
