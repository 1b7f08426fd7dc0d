/* SPDX-License-Identifier: BSD-3-Clause
 * The sequence of a recording.
 *
 *     options | watcher forked | server reached and asked | file created | old values handed to the
 *     watcher | trace-sample set | TRACE READ until the end | what waits is read | the watcher puts
 *     the old values back | end of the file, summary
 *
 * Invariants
 *  1. The watcher is forked before this process has a loop or a connection, and has the old value
 *     of each option before that is set.
 *  2. Nothing is set on the server before the file has its head.
 *  3. The file has the records with ids from `begin_id` to below `end_id`, each at most once; what
 *     is between them and not in the file counts as missing.
 *
 * The server counts ids up by one for each record, so a record that its buffer has dropped, or that
 * another reader has taken, is seen as a gap.
 */
#include "replay/record.h"

#include <errno.h>
#include <inttypes.h>

#include "base/clock.h"
#include "base/memory.h"
#include "io/loop.h"
#include "peer/peer_tls.h"
#include "replay/record_options.h"
#include "replay/record_reply.h"
#include "replay/replay_info.h"
#include "tools/tool_config.h"
#include "tools/tool_end.h"
#include "tools/tool_link.h"
#include "tools/tool_watcher.h"
#include "trace_file/trace_file_writer.h"

#define SAMPLE_DEFAULT 100
/* Records of one TRACE READ: so many take the server some 0.3 ms. */
#define READ_COUNT "1000"
/* As many records in an answer as make it likely that more wait: the next is asked for at once. */
#define READ_MANY 500
/* The pause between two questions else. trace-buffer-size 1mb is full after 12 ms at a million
 * records a second, of which no recording needs a hundredth. */
#define PAUSE_MSEC 20
/* How often the block is written and the server asked whether it still samples. */
#define LOOK_MSEC 1000
/* For so long what waits at the end is read. The largest buffer, 64 MB, takes some seconds; a
 * server whose ids never come to the end that it named must not hold the tool. */
#define REST_MSEC_MAX 10000
/* Once a signal has come an answer is awaited for no longer than this. */
#define SIGNALLED_MSEC 1000

enum option { OPTION_SAMPLE, OPTION_BUFFER, OPTIONS };
static const char *const option_names[OPTIONS] = {"trace-sample", "trace-buffer-size"};

static struct record_options options;
static struct tool_watcher watcher;
static struct tool_link control;
static struct loop *loop;
static struct trace_file_writer *file;
static struct trace_file_head head;
static struct trace_file_end end;
static struct trace_file_argument arguments[TRACE_FILE_ARGUMENTS_MAX];
static struct buffer old_values[OPTIONS]; /* as CONFIG GET prints them */
static bool is_changed[OPTIONS];
static uint64_t begin_id, end_id, last_id; /* of the trace; last_id: the highest that was seen */
static int64_t written, without_keys_before;
static int64_t asked_msec;   /* when the last question was asked */
static int64_t own_requests; /* TRACE, of this program: the server counts them as without keys */
static char failure[TOOL_REASON_CHARS];

/* An answer to TRACE READ. */
static struct {
    bool arrived, refused;
    uint32_t count;
} answer;

static bool fail_because(const char *what, const char *why) {
    snprintf(failure, sizeof(failure), "%.200s%.300s", what, why);
    return false;
}

static bool fail_as_lost(void) {
    return tool_end_signal() ? fail_because("the server does not answer", "")
                             : fail_because("the server is lost: ", control.reason);
}

/* A server that is silent must not hold a tool that is to end. */
static bool has_waited_enough(void *unused) {
    return tool_end_signal() && clock_monotonic_msec() - asked_msec >= SIGNALLED_MSEC;
}

static int complain_of_record(int status) {
    fprintf(stderr, "redis-lab record: %s\n", failure);
    return status;
}

/* --- what the server says --------------------------------------------------------------------- */

/* A figure of TRACE STATUS; a nonsensical one becomes one that can be added to and taken from. */
static int64_t status_figure(const char *text) {
    int64_t figure = strtoll(text, NULL, 10);
    return figure < 0 ? 0 : figure > INT64_MAX / 2 ? INT64_MAX / 2 : figure;
}

/* Reads the figures of TRACE STATUS that a recording needs. False with `failure`. */
static bool ask_status(uint64_t *next_id, int64_t *without_keys, int64_t *sample) {
    struct slice words[] = {SLICE("TRACE"), SLICE("STATUS")};
    struct tool_answer status;
    tool_answer_init(&status);
    asked_msec = clock_monotonic_msec();
    bool good = tool_link_ask(&control, &status, words, 2);
    own_requests++;
    if (!good) {
        fail_as_lost();
    } else if (status.refused) {
        good = fail_because("the server refuses TRACE: ", tool_answer_text(&status, 0));
    }
    *next_id = 0;
    *without_keys = *sample = 0;
    for (unsigned i = 0; good && i + 1 < status.count; i += 2) {
        const char *name = tool_answer_text(&status, i), *value = tool_answer_text(&status, i + 1);
        int64_t figure = status_figure(value);
        if (!strcmp(name, "next_id")) *next_id = (uint64_t)figure;
        if (!strcmp(name, "without_keys")) *without_keys = figure;
        if (!strcmp(name, "sample")) *sample = figure;
    }
    if (good && !*next_id) good = fail_because("the server's TRACE STATUS has no next_id", "");
    tool_answer_free(&status);
    return good;
}

/* Fills in the head of the file. A server that refuses INFO leaves its figures unknown. */
static bool ask_info(void) {
    struct tool_answer info;
    struct slice word = SLICE("INFO");
    head = (struct trace_file_head){.hashed = options.hashed,
                                    .maxmemory = -1,
                                    .used_bytes = -1,
                                    .overhead_bytes = -1,
                                    .keys = -1};
    tool_answer_init(&info);
    bool good = tool_link_ask(&control, &info, &word, 1);
    const char *text = good && !info.refused && info.count ? tool_answer_text(&info, 0) : "";
    replay_info_server(text, head.server, sizeof(head.server));
    replay_info_text(text, "maxmemory_policy", head.policy, sizeof(head.policy));
    head.maxmemory = replay_info_number(text, "maxmemory");
    head.used_bytes = replay_info_number(text, "used_memory");
    head.overhead_bytes = replay_info_number(text, "used_memory_overhead");
    tool_answer_free(&info);
    if (!good) return fail_as_lost();
    struct slice size = SLICE("DBSIZE");
    tool_answer_init(&info);
    good = tool_link_ask(&control, &info, &size, 1);
    if (good && !info.refused && info.count)
        head.keys = strtoll(tool_answer_text(&info, 0), NULL, 10);
    tool_answer_free(&info);
    return good || fail_as_lost();
}

/* Reads an option's value. False with `failure`. */
static bool ask_option(enum option option) {
    char why[TOOL_REASON_CHARS];
    switch (tool_config_get(&control, option_names[option], &old_values[option], why)) {
    case TOOL_CONFIG_GOOD: return true;
    case TOOL_CONFIG_LOST: return fail_because("the server is lost: ", why);
    case TOOL_CONFIG_UNKNOWN:
        return fail_because("the server keeps no traces: it has no option ", option_names[option]);
    case TOOL_CONFIG_AT_START:
    case TOOL_CONFIG_REFUSED: break;
    }
    return fail_because("the server refuses CONFIG GET: ", why);
}

static bool reach_recorded(void) {
    uint64_t unused_id;
    int64_t unused_count, unused_sample;
    loop = loop_create();
    tool_end_listen(loop);
    if (!tool_link_open(&control, loop, &options.connection, options.resp3, "redis-lab-record"))
        return fail_because(control.reason, "");
    asked_msec = clock_monotonic_msec();
    control.gives_up = has_waited_enough;
    if (!ask_option(OPTION_SAMPLE) || !ask_option(OPTION_BUFFER)) return false;
    if (!ask_status(&unused_id, &unused_count, &unused_sample) || !ask_info()) return false;
    int64_t now = strtoll(old_values[OPTION_SAMPLE].bytes, NULL, 10);
    bool is_set = now > 0 && now <= INT32_MAX;
    head.sample = options.sample ? options.sample : is_set ? now : SAMPLE_DEFAULT;
    return true;
}

/* --- options of the server -------------------------------------------------------------------- */

/* Sets an option, after the watcher has its old value. False with `failure`. */
static bool change_option(enum option option, const char *value) {
    const struct tool_value old = {option_names[option], old_values[option].bytes};
    const struct tool_value new = {option_names[option], value};
    char why[TOOL_REASON_CHARS];
    if (!tool_watcher_keep(&watcher, &old))
        return fail_because("no process watches over the old value of ", option_names[option]);
    is_changed[option] = true;
    if (tool_config_set(&control, &new, 1, NULL, why) == TOOL_CONFIG_GOOD) return true;
    snprintf(failure, sizeof(failure), "the server refuses CONFIG SET %s %.80s: %.300s",
             option_names[option], value, why);
    return false;
}

/* Makes the server sample, and notes where the recording begins. */
static bool begin_sampling(void) {
    char number[32];
    int64_t unused_sample;
    if (!tool_watcher_await(&watcher, failure)) return false;
    if (options.buffer && !change_option(OPTION_BUFFER, options.buffer)) return false;
    snprintf(number, sizeof(number), "%" PRId64, head.sample);
    if (strcmp(number, old_values[OPTION_SAMPLE].bytes) != 0 &&
        !change_option(OPTION_SAMPLE, number))
        return false;
    bool good = ask_status(&begin_id, &without_keys_before, &unused_sample);
    own_requests = 0;
    return good;
}

/* Puts the old values back: by the watcher or, where it has died, by this process. */
static bool put_back(void) {
    struct tool_value old[OPTIONS];
    char why[TOOL_REASON_CHARS];
    size_t count = 0;
    for (unsigned i = 0; i < OPTIONS; i++)
        if (is_changed[i]) old[count++] = (struct tool_value){option_names[i], old_values[i].bytes};
    if (count && !control.open)
        fprintf(stderr,
                "redis-lab record: waiting for the server, to put its old values back; that can "
                "take 40 s\n");
    if (!count || tool_watcher_restore(&watcher, why)) return true;
    if (control.open && tool_config_set(&control, old, count, NULL, failure) == TOOL_CONFIG_GOOD)
        return true;
    return fail_because(why, "");
}

/* --- the recording ---------------------------------------------------------------------------- */

/* Writes one record of an answer. False where the file fails, or the server sends no records. */
static bool write_record(const struct peer_reply *reply) {
    struct trace_file_record record;
    if (!record_reply_take(reply, arguments, &record))
        return fail_because("the server's TRACE READ sends no records that this program knows", "");
    bool wanted = record.id >= begin_id && (!end_id || record.id < end_id) && record.id > last_id;
    if (!wanted) return true;
    last_id = record.id;
    if (!trace_file_write(file, &record)) return fail_because(trace_file_write_error(file), "");
    written++;
    if (options.requests && written == options.requests) end_id = last_id + 1;
    return true;
}

static void take_records(void *owner, uintptr_t unused, const struct peer_reply *reply) {
    char shown[TOOL_REASON_CHARS];
    answer.arrived = true;
    if (!reply) return;
    answer.refused = true;
    if (reply->type == PEER_ERROR) {
        fail_because("the server refuses TRACE READ: ",
                     string_show(reply->text, shown, sizeof(shown)));
        return;
    }
    const struct peer_reply *record = peer_reply_first(reply);
    answer.count = reply->type == PEER_ARRAY ? reply->children : 0;
    for (uint32_t i = 0; i < answer.count; i++, record = peer_reply_next(record))
        if (!write_record(record)) return;
    answer.refused = false;
}

/* Reads what waits, as far as one answer goes. False with `failure`. */
static bool read_some(void) {
    const struct peer_request request = {take_records, 0};
    struct slice words[] = {SLICE("TRACE"), SLICE("READ"), SLICE(READ_COUNT), SLICE("HASHED")};
    memset(&answer, 0, sizeof(answer));
    asked_msec = clock_monotonic_msec();
    own_requests++;
    if (!control.open || !peer_client_ask(control.client, &request, words, options.hashed ? 4 : 3))
        return fail_as_lost();
    while (!answer.arrived && tool_link_wait(&control)) continue;
    if (!control.open) {
        end.ending = TRACE_FILE_SERVER_LOST;
        return fail_as_lost();
    }
    return !answer.refused;
}

static bool is_over(int64_t until_msec) {
    return tool_end_signal() || (until_msec && clock_monotonic_msec() >= until_msec) ||
           (end_id && last_id + 1 >= end_id);
}

/* Once a second: nothing that was read stays in memory for longer, and a server that does not
 * sample any more is found out. */
static bool look_around(void) {
    uint64_t next_id;
    int64_t without_keys, sample;
    if (!trace_file_flush(file)) return fail_because(trace_file_write_error(file), "");
    if (!ask_status(&next_id, &without_keys, &sample)) return false;
    if (isatty(STDERR_FILENO)) fprintf(stderr, "\r%" PRId64 " requests ", written);
    return sample == head.sample ||
           fail_because("another client has changed the server's trace-sample", "");
}

/* Reads until the end that was asked for. False with `failure`. */
static bool read_until_end(void) {
    int64_t began_msec = clock_monotonic_msec(), looked_msec = began_msec;
    int64_t until_msec = options.seconds > 0 ? began_msec + (int64_t)(options.seconds * 1e3) : 0;
    while (!is_over(until_msec)) {
        if (!read_some()) return false;
        if (answer.count >= READ_MANY) continue;
        loop_turn(loop, PAUSE_MSEC);
        if (clock_monotonic_msec() - looked_msec < LOOK_MSEC) continue;
        looked_msec = clock_monotonic_msec();
        if (!look_around()) return false;
    }
    return true;
}

/* Reads what the server had recorded when the end came. */
static bool read_rest(void) {
    int64_t without_keys, sample, until_msec = clock_monotonic_msec() + REST_MSEC_MAX;
    uint64_t next_id;
    if (!ask_status(&next_id, &without_keys, &sample)) return false;
    if (!end_id) end_id = next_id;
    without_keys -= without_keys_before + own_requests;
    end.without_keys = without_keys > 0 ? without_keys : 0; /* CONFIG RESETSTAT may come between */
    for (uint64_t before = 0; last_id > before || !before;) {
        if (last_id + 1 >= end_id || clock_monotonic_msec() >= until_msec) return true;
        before = last_id ? last_id : 1;
        if (!read_some()) return false;
    }
    return true; /* what is left are gaps, and later records */
}

static void print_summary(void) {
    double seconds = (double)(end.ended_usec - head.began_usec) / 1e6;
    if (isatty(STDERR_FILENO)) fputs("\r\033[K", stderr);
    fprintf(stderr,
            "%s: %" PRId64 " requests of one key in %" PRId64 " in %.1f s; %" PRId64
            " without keys are not in it.\n",
            options.out, end.records, head.sample, seconds, end.without_keys);
    if (end.missing)
        fprintf(stderr,
                "%" PRId64
                " requests are missing: the server's buffer was full (--buffer), or "
                "another client has read them.\n",
                end.missing);
}

/* Records, with all options set and put back. Returns an exit status. */
static int record_to_file(void) {
    char why[TRACE_FILE_REASON_CHARS];
    bool good = begin_sampling() && read_until_end();
    if (control.open && begin_id) good = read_rest() && good;
    int status = good ? RECORD_EXIT_GOOD : complain_of_record(RECORD_EXIT_FAILED);
    if (!put_back()) status = complain_of_record(RECORD_EXIT_UNDONE);
    if (!good && end.ending == TRACE_FILE_ENDED) end.ending = TRACE_FILE_SERVER_LOST;
    end.ended_usec = clock_wall_usec();
    if (!end_id) end_id = last_id ? last_id + 1 : begin_id;
    bool is_flushed = trace_file_flush(file); /* a failure is told by trace_file_finish */
    (void)is_flushed;
    end.missing = (int64_t)(end_id > begin_id ? end_id - begin_id : 0) - trace_file_written(file);
    if (end.missing < 0) end.missing = 0; /* the server's ids pass the end that it named */
    bool is_whole = trace_file_finish(file, &end, why);
    if (is_whole || status == RECORD_EXIT_FAILED) {
        if (is_whole) print_summary();
        return status;
    }
    fail_because(why, "");
    return complain_of_record(status ? status : RECORD_EXIT_FAILED);
}

static void close_recording(void) {
    tool_watcher_end(&watcher);
    tool_link_close(&control);
    for (unsigned i = 0; i < OPTIONS; i++) buffer_free(&old_values[i]);
    if (!loop) return;
    tool_end_forget_loop();
    loop_free(loop);
}

int record_run(int count, char **words) {
    char why[TRACE_FILE_REASON_CHARS], reason[TOOL_REASON_CHARS];
    int status = RECORD_EXIT_FAILED;
    if (!record_options_read(&options, count, words, reason)) {
        snprintf(failure, sizeof(failure), "%.400s (--help lists the options)", reason);
        return complain_of_record(RECORD_EXIT_USAGE);
    }
    if (options.help) {
        tool_options_print_help(&record_tool_options, stdout);
        return fflush(stdout) != 0;
    }
    for (unsigned i = 0; i < OPTIONS; i++) buffer_init(&old_values[i], MEMORY_OTHER);
    if (!peer_tls_open(&options.connection.tls, failure, sizeof(failure)) ||
        !tool_watcher_start(&watcher, &options.connection, options.resp3,
                            record_tool_options.program, failure) ||
        !reach_recorded()) {
        complain_of_record(status);
    } else {
        head.began_usec = clock_wall_usec();
        file = trace_file_create(options.out, options.force, &head, why);
        if (file) {
            status = record_to_file();
        } else {
            fail_because(why, "");
            complain_of_record(status);
        }
    }
    close_recording();
    return status;
}
