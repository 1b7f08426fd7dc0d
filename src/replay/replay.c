/* SPDX-License-Identifier: BSD-3-Clause
 * The sequence of a replay.
 *
 *     options | the whole file is read once | server reached and asked | preload | replay | report
 *
 * Invariant: nothing is sent to the server but questions before the whole file was found sound.
 */
#include "replay/replay.h"

#include <inttypes.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/random.h"
#include "io/loop.h"
#include "peer/peer_tls.h"
#include "replay/replay_info.h"
#include "replay/replay_load.h"
#include "replay/replay_options.h"
#include "replay/replay_report.h"
#include "replay/replay_trace.h"
#include "tools/tool_end.h"
#include "tools/tool_link.h"

/* Of a server that does not tell what a string takes. */
#define OVERHEAD_BYTES_USUAL 48
#define OVERHEAD_BYTES_MOST 1024 /* more is not believed */
/* Lengths that are tried of each octave: the allocator has four steps in it. */
#define TRIED_STEPS 16
#define TRIED_NAME "redis-lab-replay:"
#define TRIED_CHANCE_CHARS 16

static struct replay_options options;
static struct replay_scan scan;
static struct replay_settings settings;
static struct replay_result result;
static struct tool_link control;
static struct loop *loop;
static char failure[TOOL_REASON_CHARS];
static char tried_value[REPLAY_OVERHEAD_FIRST << REPLAY_OVERHEAD_OCTAVES];

static int complain_of_replay(int status) {
    fprintf(stderr, "redis-lab replay: %s\n", failure);
    return status;
}

/* Asks, and leaves the first text of the answer in `answer`. False where the server is lost. */
static bool ask_server(struct tool_answer *answer, const struct slice *words, size_t count) {
    if (tool_link_ask(&control, answer, words, count)) return true;
    snprintf(failure, sizeof(failure), "the server is lost: %.300s", control.reason);
    return false;
}

/* The least that MEMORY USAGE of a string counts besides the lengths of key and value, over lengths
 * of one octave. Where the server refuses, `*bytes` stays. */
static bool try_strings(struct slice key, bool has_ttl, size_t octave_bytes, int64_t *bytes) {
    struct slice usage[] = {SLICE("MEMORY"), SLICE("USAGE"), key};
    struct tool_answer answer;
    int64_t least = INT64_MAX;
    bool good = true;
    tool_answer_init(&answer);
    for (size_t i = 1; good && i < TRIED_STEPS; i++) {
        size_t length = octave_bytes + octave_bytes * i / TRIED_STEPS;
        struct slice set[] = {
            SLICE("SET"), key, {tried_value, length}, SLICE("PX"), SLICE("60000")};
        good = ask_server(&answer, set, has_ttl ? 5 : 3) && ask_server(&answer, usage, 3);
        if (!good || answer.refused || !answer.count) break;
        int64_t more = strtoll(tool_answer_text(&answer, 0), NULL, 10) - (int64_t)length;
        if (more < least) least = more;
    }
    least -= (int64_t)key.length;
    if (least >= 0 && least < OVERHEAD_BYTES_MOST) *bytes = least;
    tool_answer_free(&answer);
    return good;
}

/* Learns what strings take on the server, by a key of a random name that is deleted again. */
static bool learn_overhead(void) {
    char name[sizeof(TRIED_NAME) + TRIED_CHANCE_CHARS] = TRIED_NAME;
    struct replay_overhead *o = &settings.overhead;
    struct tool_answer answer;
    random_hex(name + sizeof(TRIED_NAME) - 1, TRIED_CHANCE_CHARS);
    struct slice key = {name, sizeof(name) - 1}, del[] = {SLICE("DEL"), key};
    bool good = true;
    for (unsigned i = 0; i < REPLAY_OVERHEAD_OCTAVES; i++) {
        size_t octave_bytes = (size_t)REPLAY_OVERHEAD_FIRST << i;
        o->bytes[i] = o->bytes_with_ttl[i] = OVERHEAD_BYTES_USUAL;
        good = good && try_strings(key, false, octave_bytes, &o->bytes[i]) &&
               try_strings(key, true, octave_bytes, &o->bytes_with_ttl[i]);
    }
    tool_answer_init(&answer);
    good = good && ask_server(&answer, del, 2);
    tool_answer_free(&answer);
    return good;
}

static bool read_counts(struct replay_server_counts *counts) {
    struct tool_answer info;
    struct slice words[] = {SLICE("INFO"), SLICE("stats")};
    tool_answer_init(&info);
    bool good = ask_server(&info, words, 2);
    const char *text = good && !info.refused && info.count ? tool_answer_text(&info, 0) : "";
    *counts = (struct replay_server_counts){
        replay_info_number(text, "keyspace_hits"), replay_info_number(text, "keyspace_misses"),
        replay_info_number(text, "evicted_keys"), replay_info_number(text, "expired_keys")};
    tool_answer_free(&info);
    return good;
}

/* The difference of two readings; -1 where it is unknown, or the counter was reset meanwhile. */
static int64_t count_difference(int64_t before, int64_t after) {
    return before < 0 || after < before ? -1 : after - before;
}

/* A server that lacks a database refuses SELECT, and what follows would go to another database. */
static bool test_databases(void) {
    char number[NUMBER_INT64_CHARS];
    struct slice words[] = {SLICE("SELECT"),
                            {number, number_format_int64(number, scan.database_most)}};
    struct tool_answer answer;
    if (!replay_trace_selects(&scan, &options.connection)) return true;
    tool_answer_init(&answer);
    bool good = ask_server(&answer, words, 2) && !answer.refused;
    if (answer.refused)
        snprintf(failure, sizeof(failure),
                 "the trace has requests for database %" PRIu32 ": %.300s", scan.database_most,
                 tool_answer_text(&answer, 0));
    tool_answer_free(&answer);
    return good;
}

static bool reach_replayed(void) {
    loop = loop_create();
    tool_end_listen(loop);
    if (!tool_link_open(&control, loop, &options.connection, false, "redis-lab-replay")) {
        snprintf(failure, sizeof(failure), "%s", control.reason);
        return false;
    }
    bool needs_overhead = options.preload || options.fill;
    return (!needs_overhead || learn_overhead()) && test_databases();
}

static bool print_report(const struct replay_report *report) {
    struct buffer text = {.class = MEMORY_OTHER};
    if (options.json) {
        replay_report_json(report, &text);
    } else {
        replay_report_table(report, &text);
    }
    bool good = fwrite(text.bytes, 1, text.length, stdout) == text.length && !fflush(stdout);
    buffer_free(&text);
    if (!good) snprintf(failure, sizeof(failure), "standard output cannot be written");
    return good;
}

/* Preloads, replays and reports. Returns an exit status. */
static int replay_trace(void) {
    struct replay_server_counts before, after;
    struct replay_report report = {.settings = &settings, .result = &result};
    char why[TRACE_FILE_REASON_CHARS];
    bool good = !options.preload || replay_load_preload(&settings, &report.preloaded, why);
    if (good && tool_end_signal()) return REPLAY_EXIT_SIGNAL + tool_end_signal();
    if (good && !read_counts(&before)) return complain_of_replay(REPLAY_EXIT_FAILED);
    good = good && replay_load_run(&settings, &result, why);
    if (!good) {
        snprintf(failure, sizeof(failure), "%s", why);
        return complain_of_replay(REPLAY_EXIT_FAILED);
    }
    int status = REPLAY_EXIT_GOOD;
    report.counts = (struct replay_server_counts){-1, -1, -1, -1};
    if (result.server_is_gone || !read_counts(&after)) {
        snprintf(failure, sizeof(failure), "the server is gone: the trace was not sent to its end");
        status = complain_of_replay(REPLAY_EXIT_FAILED);
    } else {
        report.counts =
            (struct replay_server_counts){count_difference(before.hits, after.hits),
                                          count_difference(before.misses, after.misses),
                                          count_difference(before.evicted, after.evicted),
                                          count_difference(before.expired, after.expired)};
    }
    if (!print_report(&report)) return complain_of_replay(REPLAY_EXIT_FAILED);
    return tool_end_signal() ? REPLAY_EXIT_SIGNAL + tool_end_signal() : status;
}

static void fill_settings(void) {
    settings = (struct replay_settings){.path = options.file,
                                        .scan = &scan,
                                        .server = &options.connection,
                                        .pace = options.pace,
                                        .clients = (unsigned)options.clients,
                                        .pipeline = (unsigned)options.pipeline,
                                        .seconds = options.seconds,
                                        .preloads = options.preload,
                                        .fills = options.fill,
                                        .memory_bytes = (size_t)options.memory};
}

int replay_run(int count, char **words) {
    char why[TRACE_FILE_REASON_CHARS], reason[TOOL_REASON_CHARS];
    if (!replay_options_read(&options, count, words, reason)) {
        snprintf(failure, sizeof(failure), "%.400s (--help lists the options)", reason);
        return complain_of_replay(REPLAY_EXIT_USAGE);
    }
    if (options.help) {
        tool_options_print_help(&replay_tool_options, stdout);
        return fflush(stdout) != 0;
    }
    if (!replay_scan_file(options.file, &scan, why)) {
        snprintf(failure, sizeof(failure), "%s", why);
        return complain_of_replay(REPLAY_EXIT_FAILED);
    }
    fill_settings();
    int status = REPLAY_EXIT_FAILED;
    if (peer_tls_open(&options.connection.tls, failure, sizeof(failure)) && reach_replayed()) {
        status = replay_trace();
    } else {
        complain_of_replay(status);
    }
    tool_link_close(&control);
    if (loop) {
        tool_end_forget_loop();
        loop_free(loop);
    }
    return status;
}
