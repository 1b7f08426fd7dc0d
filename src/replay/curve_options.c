/* SPDX-License-Identifier: BSD-3-Clause
 * Options of `redis-lab curve` as rows.
 */
#include "replay/curve_options.h"

#include <string.h>

#include "base/number.h"

/* Each key takes about a kilobyte: 9 bytes in each simulated cache. */
#define KEYS_DEFAULT 65536
#define SAMPLES_DEFAULT 5 /* of maxmemory-samples */
#define SAMPLES_MAX 64

#define TYPE struct curve_options
#define PLACE(field) TOOL_PLACE(TYPE, field)
#define GROUP "Curves"

static bool insert_size(TYPE *o, int64_t size) {
    unsigned at = o->size_count;
    for (unsigned i = 0; i < o->size_count; i++)
        if (o->sizes[i] == size) return true;
    if (o->size_count == CURVE_SIZES_MAX) return false;
    for (; at > 0 && o->sizes[at - 1] > size; at--) o->sizes[at] = o->sizes[at - 1];
    o->sizes[at] = size;
    o->size_count++;
    return true;
}

static bool take_sizes(void *settings, const char *value, char *reason, size_t reason_size) {
    for (const char *at = value;; at++) {
        size_t length = strcspn(at, ",");
        uint64_t size;
        if (!length || !number_parse_bytes(at, length, &size) || !size ||
            size > (uint64_t)TRACE_FILE_NUMBER_MAX) {
            snprintf(reason, reason_size, "--sizes wants sizes such as 64mb,1gb: not \"%.40s\"",
                     at);
            return false;
        }
        if (!insert_size(settings, (int64_t)size)) {
            snprintf(reason, reason_size, "--sizes takes %d sizes at most", CURVE_SIZES_MAX);
            return false;
        }
        at += length;
        if (!*at) return true;
    }
}

static const struct tool_option rows[] = {
    {.name = "--sizes",
     .argument = "size,...",
     .help = "Sizes of memory for keys and values, such as 64mb,1gb. Without it: steps of the root "
             "of two, down from what all keys take.",
     .group = GROUP,
     .text = PLACE(sizes_text),
     .take = take_sizes},
    {.name = "--samples",
     .argument = "number",
     .help = "The server's maxmemory-samples (5).",
     .group = GROUP,
     .number = PLACE(samples),
     .least = 1,
     .most = SAMPLES_MAX},
    {.name = "--keys",
     .argument = "number",
     .help = "Simulate so many keys at most (65536): of a trace of more keys, an even share. Each "
             "takes about a kilobyte.",
     .group = GROUP,
     .number = PLACE(keys),
     .least = CURVE_KEYS_LEAST,
     .most = CURVE_KEYS_MOST},
    {.name = "--csv",
     .argument = "file",
     .help = "Write a line for each size and policy to this file.",
     .group = GROUP,
     .text = PLACE(csv),
     .completes = "file"},
    {.name = "--html",
     .argument = "file",
     .help = "Write a page with the curves to this file.",
     .group = GROUP,
     .text = PLACE(html),
     .completes = "file"},
    {.name = "--help", .help = "Print this.", .group = GROUP, .flag = PLACE(help)},
};

static const char *const examples[] = {
    "redis-lab curve load.trace",
    "redis-lab curve load.trace --sizes 512mb,1gb,2gb --html curves.html",
    NULL,
};

const struct tool_options curve_tool_options = {
    .program = "redis-lab curve",
    .summary = "Hit ratios of all eviction policies and many sizes of memory, from a trace.",
    .synopsis = "file [option ...]",
    .rows = rows,
    .count = sizeof(rows) / sizeof(rows[0]),
    .examples = examples,
};

bool curve_options_read(struct curve_options *o, int count, char *const *words,
                        char reason[TOOL_REASON_CHARS]) {
    *o = (struct curve_options){.keys = KEYS_DEFAULT, .samples = SAMPLES_DEFAULT};
    if (!tool_options_read_with_file(&curve_tool_options, o, count, words, &o->file, reason))
        return false;
    if (o->help) return true;
    if (!o->file) snprintf(reason, TOOL_REASON_CHARS, "the trace file is missing");
    return o->file != NULL;
}
