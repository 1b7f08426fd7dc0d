/* SPDX-License-Identifier: BSD-3-Clause
 * Records of a trace out of a line of text, for the tests of replay/.
 *
 * Words stand for themselves. `<5>` is a value of five bytes, `[k]` a key that is not sampled,
 * `{k}` a sampled key that did not exist, `{k:100}` one that took 100 bytes, `{k:100:5000}` one
 * with 5,000 ms to live.
 */
#ifndef EVENKEEL_TESTS_REPLAY_MADE_RECORD_H
#define EVENKEEL_TESTS_REPLAY_MADE_RECORD_H
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace_file/trace_file.h"

#define MADE_ARGUMENTS_MAX 64
static char made_text[4096];
static struct trace_file_argument made_arguments[MADE_ARGUMENTS_MAX];

static inline struct trace_file_argument made_argument(char *word) {
    struct trace_file_argument a = {TRACE_FILE_WORD, {word, strlen(word)}, 0, -1, -1};
    if (!strchr("<[{", *word)) return a;
    a.kind = *word == '<' ? TRACE_FILE_VALUE : *word == '[' ? TRACE_FILE_OTHER_KEY : TRACE_FILE_KEY;
    if (*word == '<') {
        a.size = strtoll(word + 1, NULL, 10);
        a.text = (struct slice){0};
        return a;
    }
    char *rest = word + 1, *name = strsep(&rest, ":]}");
    a.text = (struct slice){name, strlen(name)};
    char *bytes = rest && *rest ? strsep(&rest, ":}") : NULL;
    if (bytes) a.bytes = strtoll(bytes, NULL, 10);
    if (bytes && rest && *rest) a.ttl_msec = strtoll(rest, NULL, 10);
    return a;
}

/* The record is valid until the next call. */
static inline struct trace_file_record made_record(int64_t msec, const char *line) {
    char *at = made_text;
    struct trace_file_record record = {
        .id = 1, .wall_usec = msec * 1000, .arguments = made_arguments};
    snprintf(made_text, sizeof(made_text), "%s", line);
    for (char *word; (word = strsep(&at, " "));)
        if (*word) made_arguments[record.argument_count++] = made_argument(word);
    return record;
}
#endif
