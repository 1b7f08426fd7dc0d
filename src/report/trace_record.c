/* SPDX-License-Identifier: BSD-3-Clause
 * Records of a trace.
 *
 * Each argument of a call is given a kind first: keys by the command's row, words and numbers by
 * the row's `traced`. What no rule names stays TRACE_VALUE, so a command without rules, or a rule
 * that does not fit, keeps too little and never too much.
 *
 * Invariants
 *  1. `kinds` has the kinds of the call that is being recorded, and is empty otherwise.
 *  2. A text that is kept of an argument that is no key is a word of the row's own list or a number
 *     of at most NUMBER_CHARS_MAX characters at a place that the row names.
 */
#include "report/trace_record.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/number.h"
#include "base/panic.h"
#include "command/call.h"
#include "command/command.h"
#include "command/command_keys.h"
#include "net/client.h"
#include "store/keyspace.h"

#define NUMBER_CHARS_MAX 24
#define KINDS_KEPT 4096
#define KIND_LEFT_OUT (TRACE_OTHER_KEY + 1) /* the argument does not enter the record */

/* An argument's head in a record; its text follows, a sampled key's two numbers come before that.
 */
struct argument_head {
    uint32_t kind, size;
};

static struct buffer kinds = {.class = MEMORY_OTHER};

/* ---- keys ---- */

struct key_marks {
    const struct call *call;
    uint64_t hash_max;
    bool any;
};

static bool mark_key(int index, void *context) {
    struct key_marks *marks = context;
    bool sampled = call_key_hash(marks->call, index) <= marks->hash_max;
    kinds.bytes[index] = sampled ? TRACE_KEY : TRACE_OTHER_KEY;
    marks->any |= sampled;
    return true;
}

/* Leaves out the keys that are not sampled, each with what belongs to it: the value of MSET. */
static void leave_out_other_keys(const struct call *call) {
    int step = call->command->key_step;
    ASSERT(step > 0); /* only a row whose keys are told by positions says `each` */
    for (int i = call->command->first_key; i < call->argc; i += step) {
        if (kinds.bytes[i] != TRACE_OTHER_KEY) continue;
        for (int j = i; j < i + step && j < call->argc; j++) kinds.bytes[j] = KIND_LEFT_OUT;
    }
}

/* ---- the words of `traced` ---- */

static struct slice next_rule(const char **text) {
    while (**text == ' ') (*text)++;
    size_t length = strcspn(*text, " ");
    struct slice rule = {*text, length};
    *text += length;
    return rule;
}

/* How many of the rule's first bytes are the word; its marks (#, ?, !, |) follow. */
static size_t word_length(struct slice rule) {
    size_t length = rule.length;
    while (length && strchr("#?!|", rule.bytes[length - 1])) length--;
    return length;
}

static bool is_number(struct slice text) {
    int64_t integer;
    double real;
    return text.length <= NUMBER_CHARS_MAX &&
           (number_parse_int64(text.bytes, text.length, &integer) ||
            number_parse_double(text.bytes, text.length, &real));
}

static bool is_bound(struct slice text) {
    return slice_is(text, "-inf") || slice_is(text, "+inf") || slice_is(text, "inf") ||
           slice_is(text, "-") || slice_is(text, "+");
}

static void keep_as_word(const struct call *call, int index) {
    if (index < call->argc && kinds.bytes[index] == TRACE_VALUE) kinds.bytes[index] = TRACE_WORD;
}

/* The option of the list that the argument is; empty where it is none. */
static struct slice find_option(const char *list, struct slice argument) {
    for (struct slice rule = next_rule(&list); rule.length; rule = next_rule(&list)) {
        struct slice word = {rule.bytes, word_length(rule)};
        if (slice_equal_nocase(word, argument)) return rule;
    }
    return (struct slice){0};
}

/* Keeps the options from argument `at` on. Returns whether one of them had a `!`. */
static bool keep_options(const struct call *call, const char *list, int at) {
    bool values_by_place = false;
    for (bool last = false; at < call->argc && !last; at++) {
        if (kinds.bytes[at] != TRACE_VALUE) continue; /* a key */
        struct slice rule = find_option(list, call->argv[at]);
        if (!rule.length) break;
        keep_as_word(call, at);
        for (size_t i = word_length(rule); i < rule.length; i++) {
            if (rule.bytes[i] == '!') values_by_place = true;
            if (rule.bytes[i] == '|') last = true;
            if (rule.bytes[i] == '?') at++;
            if (rule.bytes[i] != '#' || at + 1 >= call->argc || !is_number(call->argv[at + 1]))
                continue;
            keep_as_word(call, ++at);
        }
    }
    return values_by_place;
}

/* A rule that begins with a place: the place, and the mark behind it. False for any other. */
static bool read_place(const struct call *call, struct slice rule, int *index, char *mark) {
    size_t i = rule.bytes[0] == '-';
    int place = 0;
    for (; i < rule.length && rule.bytes[i] >= '0' && rule.bytes[i] <= '9'; i++)
        place = 10 * place + (rule.bytes[i] - '0');
    if (!place || i == rule.length) return false;
    *index = rule.bytes[0] == '-' ? call->argc - place : place;
    *mark = rule.bytes[i];
    return true;
}

static void keep_words(const struct call *call) {
    const char *text = call->command->traced;
    bool values_by_place = false;
    int index;
    char mark;
    for (const char *at = text; *at;) {
        struct slice rule = next_rule(&at);
        if (!read_place(call, rule, &index, &mark) || mark != '.') continue;
        values_by_place = keep_options(call, at, index);
        break;
    }
    for (const char *at = text; *at;) {
        struct slice rule = next_rule(&at);
        if (!read_place(call, rule, &index, &mark)) continue;
        if (mark == '.') break; /* the rest are options */
        if (index < 1 || index >= call->argc) continue;
        struct slice argument = call->argv[index];
        if (mark == '~' ? is_bound(argument) : !values_by_place && is_number(argument))
            keep_as_word(call, index);
    }
}

/* ---- writing ---- */

bool trace_record_wants(const struct call *call) {
    const struct command *command = call->command;
    if (call_is_repeated(call) || call->origin == CALL_SCRIPT_AGAIN) return false;
    if (command->flags & COMMAND_ADMIN || command->is_secret) return false;
    return !command->traced || strcmp(command->traced, "never") != 0;
}

/* Bytes of the record, at most; the text of the kept arguments and the head of each. */
static size_t record_bytes(const struct call *call, size_t name_bytes) {
    size_t bytes = sizeof(struct trace_record) + sizeof(struct argument_head) + name_bytes + 7;
    for (int i = 1; i < call->argc; i++) {
        if (kinds.bytes[i] == KIND_LEFT_OUT) continue;
        bytes += sizeof(struct argument_head);
        if (kinds.bytes[i] != TRACE_VALUE) bytes += call->argv[i].length;
        if (kinds.bytes[i] == TRACE_KEY) bytes += 2 * sizeof(int64_t);
    }
    return bytes;
}

static char *put_bytes(char *to, const void *bytes, size_t length) {
    memcpy(to, bytes, length);
    return to + length;
}

static char *put_key_figures(char *to, const struct call *call, int index) {
    const struct key key = call_key(call, index);
    const struct entry *e = keyspace_look(&key);
    int64_t figures[2] = {e ? (int64_t)keyspace_key_bytes(e) : -1, -1};
    if (e && entry_has_deadline(e)) {
        int64_t left = entry_deadline(e) - clock_cached_msec();
        figures[1] = left > 0 ? left : 0;
    }
    return put_bytes(to, figures, sizeof(figures));
}

static char *put_argument(char *to, const struct call *call, int index) {
    struct slice text = call->argv[index];
    struct argument_head head = {(unsigned char)kinds.bytes[index], (uint32_t)text.length};
    to = put_bytes(to, &head, sizeof(head));
    if (head.kind == TRACE_KEY) to = put_key_figures(to, call, index);
    return head.kind == TRACE_VALUE ? to : put_bytes(to, text.bytes, text.length);
}

/* False where the record would be too large. */
static bool write_record(const struct call *call, struct buffer *out) {
    const char *name = call->command->name;
    struct argument_head first = {TRACE_WORD, (uint32_t)strlen(name)};
    size_t bytes = record_bytes(call, first.size);
    if (bytes > TRACE_RECORD_BYTES_MAX) return false;
    struct trace_record head = {
        .wall_usec = clock_wall_usec(),
        .client = call->client->id,
        .database = call->client->database,
        .by_script = call_is_scripts(call),
        .arguments = 1,
    };
    char *start = buffer_reserve(out, bytes), *to = start + sizeof(head);
    to = put_bytes(to, &first, sizeof(first));
    to = put_bytes(to, name, first.size);
    for (int i = 1; i < call->argc; i++) {
        if (kinds.bytes[i] == KIND_LEFT_OUT) continue;
        to = put_argument(to, call, i);
        head.arguments++;
    }
    while ((to - start) % 8) *to++ = 0;
    head.bytes = (uint32_t)(to - start);
    memcpy(start, &head, sizeof(head));
    out->length += head.bytes;
    return true;
}

enum trace_append trace_record_append(const struct call *call, uint64_t hash_max,
                                      struct buffer *out) {
    const struct command *command = call->command;
    enum trace_append result = TRACE_NOT_SAMPLED;
    memset(buffer_reserve(&kinds, (size_t)call->argc), TRACE_VALUE, (size_t)call->argc);
    struct key_marks marks = {.call = call, .hash_max = hash_max};
    struct key_search search = {command, call->argc, call->argv, mark_key, &marks};
    (void)command_each_key(&search);
    if (marks.any) {
        if (command->traced) {
            if (!strncmp(command->traced, "each", 4)) leave_out_other_keys(call);
            keep_words(call);
        }
        result = write_record(call, out) ? TRACE_APPENDED : TRACE_TOO_LARGE;
    }
    if (kinds.capacity > KINDS_KEPT) buffer_free(&kinds);
    return result;
}

/* ---- reading ---- */

bool trace_record_next(const struct trace_record *record, const char **cursor,
                       struct trace_argument *argument) {
    struct argument_head head;
    const char *at = *cursor ? *cursor : (const char *)(record + 1);
    if ((size_t)(at - (const char *)record) + sizeof(head) > record->bytes) return false;
    memcpy(&head, at, sizeof(head));
    at += sizeof(head);
    *argument = (struct trace_argument){.kind = (enum trace_kind)head.kind, .size = head.size};
    if (head.kind == TRACE_KEY) {
        memcpy(&argument->bytes, at, sizeof(argument->bytes));
        memcpy(&argument->ttl_msec, at + sizeof(int64_t), sizeof(argument->ttl_msec));
        at += 2 * sizeof(int64_t);
    }
    if (head.kind != TRACE_VALUE) {
        argument->text = (struct slice){at, head.size};
        at += head.size;
    }
    *cursor = at;
    return true;
}
