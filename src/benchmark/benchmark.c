/* SPDX-License-Identifier: BSD-3-Clause
 * redis-benchmark: sends load to a server and reports the results.
 *
 * This file has main() and its sequence: the options, the servers, then one test after the other. A
 * test is a request (benchmark_request.h) that a run (benchmark_load.h) sends. The run's result is
 * printed (benchmark_report.h) or compared with another server's (benchmark_compare.h).
 */
#include <inttypes.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/version.h"
#include "benchmark/benchmark_cluster.h"
#include "benchmark/benchmark_compare.h"
#include "benchmark/benchmark_load.h"
#include "benchmark/benchmark_options.h"
#include "benchmark/benchmark_report.h"
#include "benchmark/benchmark_server.h"
#include "benchmark/benchmark_tests.h"
#include "tools/terminal.h"

#define NSEC_A_SECOND 1e9
#define PROGRESS_CHARS 128 /* the text of the four figures in show_progress */

static struct benchmark_options options;
static struct benchmark_server server, other;
static struct load_result result;
static const char *watched_title;
static struct load_progress watched; /* as of the last call */
static int watched_columns;
static bool has_said_opened; /* the idle connections are open, and the user was told */

/* --- while a test runs ------------------------------------------------------------------------ */

/* Overwrites the terminal's present row. Text that does not fit is cut, the title's end first,
 * because a second row could not be overwritten. Returns the number of columns that were written.
 */
static int show_row(const char *title, const char *figures) {
    int width, rows;
    terminal_size(&width, &rows);
    int figures_length = (int)strlen(figures);
    if (figures_length > width - 1) figures_length = width - 1;
    int title_length = (int)strnlen(title, (size_t)(width - 1 - figures_length));
    printf("\r%.*s%.*s", title_length, title, figures_length, figures);
    return title_length + figures_length;
}

/* Shows a row of progress, which the next one overwrites; only on a terminal. */
static void show_progress(void *unused, const struct load_progress *now) {
    uint64_t requests = now->requests - watched.requests;
    uint64_t nsec = now->latency_sum_nsec - watched.latency_sum_nsec;
    double seconds = now->seconds - watched.seconds;
    double rate = seconds > 0 ? (double)requests / seconds : 0;
    double overall = now->seconds > 0 ? (double)now->requests / now->seconds : 0;
    double average = requests ? (double)nsec / (double)requests / 1e6 : 0;
    double whole = now->requests ? (double)now->latency_sum_nsec / (double)now->requests / 1e6 : 0;
    char figures[PROGRESS_CHARS];
    snprintf(figures, sizeof(figures), ": rps=%.1f (overall: %.1f) avg_msec=%.3f (overall: %.3f)",
             rate, overall, average, whole);
    int columns = show_row(watched_title, figures);
    if (columns < watched_columns) printf("%*s", watched_columns - columns, "");
    watched_columns = columns;
    watched = *now;
    fflush(stdout);
}

static void wipe_progress(void) {
    if (watched_columns) printf("\r%*s\r", watched_columns, "");
    watched_columns = 0;
    watched = (struct load_progress){0};
}

/* --- a test ----------------------------------------------------------------------------------- */

static void set_load(struct benchmark_load *load, const struct benchmark_request *request) {
    uint64_t seed = (uint64_t)options.seed;
    if (!seed) random_secret(&seed, sizeof(seed));
    int64_t threads = options.threads < options.clients ? options.threads : options.clients;
    *load = (struct benchmark_load){
        .request = request,
        .clients = (unsigned)options.clients,
        .threads = (unsigned)threads,
        .pipeline = (unsigned)options.pipeline,
        .reconnects = !options.keep_alive,
        .requests = (uint64_t)options.requests,
        .duration_nsec = (int64_t)(options.duration_s * NSEC_A_SECOND),
        .warmup_nsec = (int64_t)(options.warmup_s * NSEC_A_SECOND),
        .rate = (uint64_t)options.rate,
        .keyspace = options.keyspace > 0 ? (uint64_t)options.keyspace : 0,
        .seed = seed,
    };
    benchmark_load_aim(load, &server);
}

static bool complain_of(const char *reason) {
    wipe_progress();
    fflush(stdout);
    fprintf(stderr, "%s\n", reason);
    return false;
}

static bool run_test(const char *title, const struct benchmark_request *request) {
    struct benchmark_load load;
    char reason[LOAD_REASON_CHARS];
    set_load(&load, request);
    if (options.compare) {
        return benchmark_compare(stdout, title, &load, &server, &other, &options, reason) ||
               complain_of(reason);
    }
    watched_title = title;
    bool shows = !options.csv && isatty(STDOUT_FILENO);
    if (!benchmark_load_run(&load, &result, shows ? show_progress : NULL)) {
        return complain_of(result.reason);
    }
    wipe_progress();
    benchmark_report_late(stderr, &result);
    benchmark_report_redirected(stderr, &result);
    if (options.csv) {
        benchmark_report_csv(stdout, title, &result, &options);
    } else if (options.quiet) {
        benchmark_report_line(stdout, title, &result, &options);
    } else {
        benchmark_report_whole(stdout, title, &result, &options, &server);
    }
    return fflush(stdout) == 0;
}

static bool run_own_command(const struct slice *words, size_t count, const char *title) {
    struct benchmark_request request;
    bool good = benchmark_request_of_words(&request, words, count, options.keyspace >= 0);
    if (good && options.cluster) good = benchmark_request_find_tags(&request);
    if (!good) fputs("too many " BENCHMARK_RANDOM_WORD " or {tag} in a command\n", stderr);
    good = good && run_test(title, &request);
    benchmark_request_free(&request);
    return good;
}

static bool run_chosen_tests(void) {
    bool good = true;
    for (size_t test = 0; test < benchmark_test_count() && good; test++) {
        if (!benchmark_test_is_chosen(test, options.tests)) continue;
        struct benchmark_request request;
        benchmark_test_request(test, (size_t)options.value_bytes, options.keyspace >= 0,
                               options.cluster, &request);
        good = run_test(benchmark_test_title(test), &request);
        benchmark_request_free(&request);
    }
    return good;
}

/* --- the user's command ----------------------------------------------------------------------- */

static void read_all(FILE *in, struct buffer *out) {
    size_t got;
    do {
        char *to = buffer_reserve(out, LOAD_READ_BYTES);
        got = fread(to, 1, LOAD_READ_BYTES, in);
        out->length += got;
    } while (got);
}

static bool run_command_line(int count, char *const *texts) {
    struct slice *words = memory_alloc(((size_t)count + 1) * sizeof(*words), MEMORY_OTHER);
    struct buffer title, last;
    buffer_init(&title, MEMORY_OTHER);
    buffer_init(&last, MEMORY_OTHER);
    size_t length = 0;
    for (int i = 0; i < count; i++) {
        words[length++] = slice_of(texts[i]);
        buffer_printf(&title, i ? " %s" : "%s", texts[i]);
    }
    if (options.from_stdin) {
        read_all(stdin, &last);
        words[length++] = buffer_slice(&last);
    }
    bool good = true;
    do good = run_own_command(words, length, title.bytes);
    while (good && options.loops);
    buffer_free(&title);
    buffer_free(&last);
    memory_free(words, MEMORY_OTHER);
    return good;
}

/* --- start ------------------------------------------------------------------------------------ */

static void say_opened(void *unused, const struct load_progress *progress) {
    if (has_said_opened || !progress->began) return;
    has_said_opened = true;
    printf("Creating %" PRId64 " idle connections and waiting forever (Ctrl+C when done)\n",
           options.clients);
    fflush(stdout);
}

static bool run_idle(void) {
    struct benchmark_request request;
    struct benchmark_load load;
    benchmark_request_of_bytes(&request, SLICE("PING\r\n"));
    set_load(&load, &request);
    benchmark_load_idle(&load, &result, say_opened);
    benchmark_request_free(&request);
    return complain_of(result.reason);
}

/* Finds the nodes of the server's cluster, and says them. */
static bool find_cluster(struct benchmark_server *s) {
    char reason[LOAD_REASON_CHARS];
    if (!benchmark_cluster_find(s, &options, reason)) return complain_of(reason);
    if (!options.csv) benchmark_cluster_print(stdout, s);
    if (options.clients >= s->node_count) return true;
    snprintf(reason, sizeof(reason), "-c must be at least the number of masters, %u",
             s->node_count);
    return complain_of(reason);
}

static bool reach_servers(void) {
    char reason[LOAD_REASON_CHARS];
    if (!peer_tls_open(&options.connection.tls, reason, sizeof(reason))) return complain_of(reason);
    benchmark_server_init(&server, &options);
    if (!benchmark_server_ask(&server, reason)) return complain_of(reason);
    if (!server.has_config) fputs("WARN: could not fetch server CONFIG\n", stderr);
    if (options.cluster && !find_cluster(&server)) return false;
    if (!options.compare) return true;
    if (!benchmark_server_init_other(&other, &options, options.compare, reason) ||
        !benchmark_server_ask(&other, reason))
        return complain_of(reason);
    return !options.cluster || find_cluster(&other);
}

static bool run_program(int count, char *const *words) {
    if (!reach_servers()) return false;
    /* A cluster gets a thread for each node, as in 6.2. */
    if (!options.threads) options.threads = server.node_count ? server.node_count : 1;
    if (options.idle) return run_idle();
    if (options.csv && options.compare) benchmark_compare_csv_names(stdout);
    if (options.csv && !options.compare) benchmark_report_csv_names(stdout);
    if (count) return run_command_line(count, words);
    bool good = true;
    do good = run_chosen_tests();
    while (good && options.loops);
    return good;
}

/* Does what the options ask for instead of load (help, version ...) and returns the exit status; -1
 * where they ask for load. */
static int answer_options(void) {
    size_t length;
    const char *unknown = options.tests ? benchmark_tests_unknown(options.tests, &length) : NULL;
    if (options.help) {
        tool_options_print_help(&benchmark_tool_options, stdout);
        return 0;
    }
    if (options.version) return printf("redis-benchmark %s\n", EVENKEEL_VERSION) < 0;
    if (unknown) {
        fprintf(stderr, "-t: no test is called \"%.*s\"\n", (int)length, unknown);
        return 1;
    }
    return -1;
}

int main(int argc, char **argv) {
    char reason[TOOL_REASON_CHARS];
    if (tool_options_describe(&benchmark_tool_options, argc, argv)) return 0;
    benchmark_options_init(&options);
    int taken = benchmark_options_read(&options, argc - 1, argv + 1, reason);
    if (taken < 0) {
        fprintf(stderr, "redis-benchmark: %s\nredis-benchmark --help lists the options.\n", reason);
        return 1;
    }
    int status = answer_options();
    if (status >= 0) return status;
    clock_calibrate();
    bool good = run_program(argc - 1 - taken, argv + 1 + taken);
    if (good && !options.csv) putchar('\n');
    benchmark_server_free(&server);
    benchmark_server_free(&other);
    return good && fflush(stdout) == 0 ? 0 : 1;
}
