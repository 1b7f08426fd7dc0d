/* SPDX-License-Identifier: BSD-3-Clause
 * The sequence of an experiment.
 *
 *     options, plan | watcher forked | servers reached | values checked | old values handed to the
 *     watcher | blocks | the watcher puts the old values back | judgement, reports
 *
 * With --start the values are those that the servers were started with: their keeper is forked
 * instead of the watcher, nothing is set, and the servers are ended after the blocks.
 *
 * Invariants
 *  1. Watcher and keeper are forked before this process has a loop, a thread or a connection.
 *  2. No value is set before the watcher has the old one and is connected; the check before that
 *     sets each value back within the transaction that sets it.
 *  3. Whatever ends the blocks, the old values are put back before anything is printed.
 */
#include "experiment/experiment.h"

#include <errno.h>
#include <inttypes.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/panic.h"
#include "base/random.h"
#include "experiment/experiment_blocks.h"
#include "experiment/experiment_check.h"
#include "experiment/experiment_load.h"
#include "experiment/experiment_options.h"
#include "experiment/experiment_page.h"
#include "experiment/experiment_report.h"
#include "experiment/experiment_starter.h"
#include "experiment/experiment_traffic.h"
#include "peer/peer_tls.h"
#include "replay/replay_trace.h"
#include "tools/tool_end.h"
#include "tools/tool_watcher.h"

static struct experiment_options options;
static struct experiment_plan plan;
static struct experiment_check check;
static struct experiment_limit limits[EXPERIMENT_STOPS_MAX];
static struct tool_watcher watcher;
static struct experiment_starter starter;
static struct experiment_server servers[EXPERIMENT_ARMS_MAX];
static struct tool_connection logins[EXPERIMENT_ARMS_MAX];  /* of the servers */
static struct tool_connection senders[EXPERIMENT_ARMS_MAX]; /* logins of the load */
static struct replay_scan scan;                             /* of --trace */
static struct experiment_traffic *traffic[EXPERIMENT_ARMS_MAX];
static struct experiment_load *load;
static struct experiment_record record;
static struct loop *loop;
static char failure[TOOL_REASON_CHARS];

static int complain_about(int status) {
    fprintf(stderr, "redis-lab experiment: %s\n", failure);
    return status;
}

/* --- signals ---------------------------------------------------------------------------------- */

static bool is_interrupted(void) { return tool_end_signal() != 0; }

/* --- what is asked for ------------------------------------------------------------------------ */

/* Takes the second server's address; the login is that of the first one. */
static bool take_other_address(struct tool_connection *login) {
    const char *text = options.against, *colon = strrchr(text, ':');
    login->path = NULL;
    if (*text == '/' || *text == '.') {
        login->path = text;
        return true;
    }
    if (!colon || colon == text ||
        !number_parse_int64(colon + 1, strlen(colon + 1), &login->port) || login->port < 1 ||
        login->port > 65535) {
        snprintf(failure, sizeof(failure), "--against wants host:port, or a path");
        return false;
    }
    struct slice host = {text, (size_t)(colon - text)};
    if (host.length > 2 && *text == '[' && colon[-1] == ']')
        host = (struct slice){text + 1, host.length - 2};
    login->host = slice_dup_c_string(host, MEMORY_OTHER);
    return true;
}

/* Makes the load's requests, for each server anew. A trace is read to its end before. */
static bool make_traffic(void) {
    char why[TRACE_FILE_REASON_CHARS];
    if (options.trace && !replay_scan_file(options.trace, &scan, why)) {
        snprintf(failure, sizeof(failure), "--trace: %s", why);
        return false;
    }
    for (unsigned i = 0; record.has_load && i < plan.server_count; i++) {
        traffic[i] = experiment_traffic_create(
            &options, &scan, &logins[i], (uint64_t)options.seed + i, failure, sizeof(failure));
        if (!traffic[i]) return false;
    }
    return true;
}

/* Reads the command line as far as that is possible without a server. */
static bool read_request(int count, char **words) {
    char reason[TOOL_REASON_CHARS];
    if (!experiment_options_read(&options, count, words, reason)) {
        snprintf(failure, sizeof(failure), "%.400s (--help lists the options)", reason);
        return false;
    }
    if (options.help) return true;
    record.has_load = experiment_options_send(&options);
    const char *goal_name = options.goal ? options.goal : "p99";
    int goal = experiment_figure_find(goal_name, strlen(goal_name), record.has_load);
    if (goal < 0) {
        snprintf(failure, sizeof(failure), "--goal: no figure is called %.100s", goal_name);
        return false;
    }
    record.goal = (unsigned)goal;
    for (unsigned i = 0; i < options.stop_count; i++)
        if (!experiment_limit_parse(&limits[i], options.stops[i], record.has_load, failure,
                                    sizeof(failure)))
            return false;
    if (!experiment_plan_init(&plan, &options, failure, sizeof(failure))) return false;
    for (unsigned i = 0; i < plan.server_count; i++) logins[i] = options.connection;
    if (options.against && !take_other_address(&logins[plan.server_count - 1])) return false;
    if (!make_traffic()) return false;
    if (plan.arm_count >= 2) return true;
    snprintf(failure, sizeof(failure), "one combination alone is nothing to compare");
    return false;
}

/* --- servers ---------------------------------------------------------------------------------- */

static bool open_server(unsigned index) {
    struct experiment_server *server = &servers[index];
    server->interval_msec = options.interval_msec;
    server->probe_msec = options.probe_msec;
    if (experiment_server_open(server, loop, &logins[index], options.resp3)) return true;
    snprintf(failure, sizeof(failure), "%.200s: %.300s", server->name, server->reason);
    return false;
}

/* Begins to send the load, where the options ask for one. */
static bool start_load(void) {
    struct experiment_load_settings settings = {
        .server_count = plan.server_count,
        .connections = (unsigned)options.clients,
        .threads = (unsigned)options.threads,
        .resp3 = options.resp3,
    };
    if (!record.has_load) return true;
    settings.helpers = experiment_traffic_helpers(traffic[0]);
    settings.pipeline = (unsigned)options.pipeline + settings.helpers;
    for (unsigned i = 0; i < settings.server_count; i++) {
        senders[i] = logins[i];
        if (options.trace) replay_trace_login(&scan, &senders[i]);
        settings.servers[i] = &senders[i];
        settings.sources[i] = experiment_traffic_source(traffic[i]);
    }
    load = experiment_load_start(&settings, failure);
    return load != NULL;
}

/* Starts the servers of --start, and waits until all of them accept connections. */
static bool start_servers(void) {
    char reason[TOOL_REASON_CHARS];
    for (unsigned i = 0; i < plan.arm_count; i++) {
        const struct experiment_arm *arm = &plan.arms[i];
        const char *command = options.starts[options.start_count > 1 ? i : 0];
        if (arm->is_started &&
            !experiment_starter_start(&starter, command, &plan, arm, &logins[arm->server], failure))
            return false;
    }
    for (unsigned i = 0; i < starter.count; i++) {
        if (experiment_starter_await(&starter, i, &logins[i], is_interrupted, reason)) continue;
        snprintf(failure, sizeof(failure), "%.60s: %.400s",
                 options.starts[options.start_count > 1 ? i : 0], reason);
        return false;
    }
    return true;
}

/* Has the process forked that cleans up after this one: the keeper of started servers, or the
 * watcher over old values. */
static bool fork_guard(void) {
    if (options.start_count) return experiment_starter_open(&starter, failure);
    return !plan.knob_count || tool_watcher_start(&watcher, &logins[0], options.resp3,
                                                  experiment_tool_options.program, failure);
}

/* Reaches the servers, checks the plan, and hands the old values to the watcher. */
static bool prepare_servers(void) {
    loop = loop_create();
    tool_end_listen(loop);
    if (options.start_count && !start_servers()) return false;
    for (unsigned i = 0; i < plan.server_count; i++)
        if (!open_server(i)) return false;
    if (options.start_count) return experiment_check_started(&plan, &servers[0].control, failure);
    if (!experiment_check_run(&check, &plan, &servers[0].control, failure)) return false;
    if (!watcher.pid) return true;
    if (!tool_watcher_await(&watcher, failure)) return false;
    for (unsigned k = 0; k < plan.knob_count; k++) {
        const struct tool_value old = {plan.knobs[k], check.old[k]};
        if (tool_watcher_keep(&watcher, &old)) continue;
        snprintf(failure, sizeof(failure), "the value of %.100s cannot be watched over", old.name);
        return false;
    }
    return true;
}

/* --- the blocks ------------------------------------------------------------------------------- */

/* What of the trace is the load. */
static void announce_trace(void) {
    int64_t sent = scan.verdicts[REPLAY_SENDS];
    fprintf(stderr, "The load: %s, %" PRId64 " requests in %.1f s.", options.trace, sent,
            (double)(scan.last_usec - scan.first_usec) / 1e6 / options.pace);
    if (scan.records > sent)
        fprintf(stderr, " %" PRId64 " more cannot be sent (redis-lab replay says why).",
                scan.records - sent);
    fputs(scan.is_cut ? " The trace is cut: what was recorded last is missing.\n" : "\n", stderr);
}

static void announce_plan(void) {
    double seconds = (double)plan.rounds * plan.arm_count * (options.block_s + options.settle_s);
    for (unsigned i = 0; i < plan.server_count; i++)
        fprintf(stderr, "%s%s, %s", i ? "; " : "", servers[i].name, servers[i].version);
    fprintf(stderr, ": %u arms (", plan.arm_count);
    for (unsigned i = 0; i < plan.arm_count; i++)
        fprintf(stderr, "%s%s", i ? " | " : "", plan.arms[i].label);
    fprintf(stderr, "), %u rounds, %g + %g s a block: %.0f s. Seed %" PRIu64 ".\n", plan.rounds,
            options.settle_s, options.block_s, seconds, record.seed);
    if (options.trace) announce_trace();
    unsigned least = experiment_rounds_least(plan.arm_count);
    if (plan.rounds < least)
        fprintf(stderr, "Too few rounds to tell a difference from noise: --rounds %u at least.\n",
                least);
}

static void show_blocks_done(const struct experiment_record *r) {
    unsigned all = plan.rounds * plan.arm_count;
    fprintf(stderr, "\r%u of %u blocks ", r->block_count, all);
    fflush(stderr);
}

static void run_all_blocks(void) {
    const struct experiment_blocks blocks = {
        .plan = &plan,
        .servers = servers,
        .old = options.start_count ? NULL : (const char *const *)check.old,
        .limits = limits,
        .limit_count = options.stop_count,
        .each_block = options.each_block,
        .block_s = options.block_s,
        .settle_s = options.settle_s,
        .loop = loop,
        .load = load,
        .watcher = watcher.pid ? &watcher : NULL,
        .starter = &starter,
        .interrupted = is_interrupted,
        .progress = isatty(STDERR_FILENO) ? show_blocks_done : NULL,
    };
    record.plan = &plan;
    record.trace = options.trace;
    record.block_s = options.block_s;
    record.settle_s = options.settle_s;
    record.server_count = plan.server_count;
    for (unsigned i = 0; i < plan.server_count; i++) {
        record.servers[i] = servers[i].name;
        record.versions[i] = servers[i].version;
    }
    experiment_blocks_run(&blocks, &record);
    if (blocks.progress) fputs("\r\033[K", stderr);
}

/* Puts the old values back: by the watcher or, where it has died, by this process. */
static bool put_back(void) {
    struct tool_value old[EXPERIMENT_KNOBS_MAX];
    char reason[TOOL_REASON_CHARS];
    size_t failed = 0;
    if (!watcher.pid) return true;
    if (tool_watcher_restore(&watcher, failure)) return true;
    for (unsigned k = 0; k < plan.knob_count; k++)
        old[k] = (struct tool_value){plan.knobs[k], check.old[k]};
    return servers[0].control.open && tool_config_set(&servers[0].control, old, plan.knob_count,
                                                      &failed, reason) == TOOL_CONFIG_GOOD;
}

/* --- reports ---------------------------------------------------------------------------------- */

static bool write_file(const char *path, const struct buffer *text) {
    FILE *file = fopen(path, "we");
    bool good = file && fwrite(text->bytes, 1, text->length, file) == text->length;
    if (file && fclose(file) != 0) good = false;
    if (!good) snprintf(failure, sizeof(failure), "%.200s: %s", path, strerror(errno));
    return good;
}

static bool write_reports(void) {
    struct buffer text = {.class = MEMORY_OTHER};
    bool good = true;
    if (options.json) {
        experiment_report_json(&record, &text);
    } else {
        experiment_report_table(&record, &text);
    }
    if (fwrite(text.bytes, 1, text.length, stdout) != text.length || fflush(stdout)) {
        snprintf(failure, sizeof(failure), "standard output: %s", strerror(errno));
        good = false;
    }
    if (options.html) {
        buffer_clear(&text);
        experiment_page_write(&record, &text);
        good = write_file(options.html, &text) && good;
    }
    if (options.csv) {
        buffer_clear(&text);
        experiment_report_csv(&record, &text);
        good = write_file(options.csv, &text) && good;
    }
    buffer_free(&text);
    return good;
}

static int exit_status_of(enum experiment_outcome outcome) {
    switch (outcome) {
    case EXPERIMENT_COMPLETE: return EXPERIMENT_EXIT_GOOD;
    case EXPERIMENT_STOPPED: return EXPERIMENT_EXIT_STOPPED;
    case EXPERIMENT_INTERRUPTED: return EXPERIMENT_EXIT_SIGNAL + tool_end_signal();
    case EXPERIMENT_FAILED: return EXPERIMENT_EXIT_FAILED;
    }
    return EXPERIMENT_EXIT_FAILED;
}

static int run_and_report(void) {
    record.seed = (uint64_t)options.seed;
    /* Seeds are printed as positive numbers that --seed takes. */
    while (!record.seed) {
        random_secret(&record.seed, sizeof(record.seed));
        record.seed >>= 33;
    }
    experiment_plan_draw(&plan, (unsigned)options.rounds, record.seed);
    if (!start_load()) return complain_about(EXPERIMENT_EXIT_FAILED);
    announce_plan();
    run_all_blocks();
    bool is_back = put_back();
    experiment_load_stop(load);
    load = NULL;
    if (options.trace) record.trace_passes = experiment_traffic_passes(traffic[0]);
    int status = exit_status_of(record.outcome);
    if (status)
        fprintf(stderr, "redis-lab experiment: %s%s\n", record.reason,
                watcher.pid && is_back ? "; the old values are back" : "");
    if (record.outcome == EXPERIMENT_FAILED && !experiment_starter_check(&starter, failure))
        (void)complain_about(status);
    if (!is_back) status = complain_about(EXPERIMENT_EXIT_UNDONE);
    experiment_record_judge(&record);
    if (!write_reports()) status = complain_about(status ? status : EXPERIMENT_EXIT_FAILED);
    return status;
}

static void close_experiment(void) {
    experiment_load_stop(load);
    for (unsigned i = 0; i < EXPERIMENT_ARMS_MAX; i++) {
        experiment_traffic_free(traffic[i]);
        experiment_server_close(&servers[i]);
    }
    tool_watcher_end(&watcher);
    experiment_starter_close(&starter);
    experiment_record_free(&record);
    experiment_check_free(&check);
    experiment_plan_free(&plan);
    if (!loop) return;
    tool_end_forget_loop();
    loop_free(loop);
}

int experiment_run(int count, char **words) {
    if (!read_request(count, words)) {
        experiment_plan_free(&plan);
        return complain_about(EXPERIMENT_EXIT_USAGE);
    }
    if (options.help) {
        tool_options_print_help(&experiment_tool_options, stdout);
        return fflush(stdout) != 0;
    }
    int status = EXPERIMENT_EXIT_FAILED;
    if (peer_tls_open(&options.connection.tls, failure, sizeof(failure)) && fork_guard() &&
        prepare_servers()) {
        status = run_and_report();
    } else {
        status = complain_about(status);
    }
    close_experiment();
    return status;
}
