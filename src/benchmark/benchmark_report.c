/* SPDX-License-Identifier: BSD-3-Clause
 * Figures of a run as text.
 *
 * The formats are those of 6.2, so that programs that parse them keep working. Latencies are exact
 * to the microsecond below 2 ms, where 6.2 rounds up to a multiple of 8. So the steps of the
 * cumulative distribution end in 0 here, and in 3 and 7 in 6.2.
 */
#include "benchmark/benchmark_report.h"

#include <inttypes.h>

/* Steps of the cumulative distribution: STEP_USEC up to FINE_STEPS_USEC, then COARSE_STEP_USEC. */
#define STEP_USEC 100
#define FINE_STEPS_USEC 2000
#define COARSE_STEP_USEC 1000

double benchmark_report_rate(const struct load_result *result) {
    return result->seconds > 0 ? (double)result->requests / result->seconds : 0;
}

void benchmark_report_late(FILE *out, const struct load_result *result) {
    const struct load_late_figures *late = &result->late;
    if (!late->late) return;
    fprintf(out,
            "WARN: %" PRIu64 " of %" PRIu64
            " batches were sent more than %d ms after they were due "
            "(%.1f ms at most), because this program was late itself\n",
            late->late, late->handled, LOAD_LATE_NSEC / 1000000, (double)late->most_nsec / 1e6);
}

void benchmark_report_redirected(FILE *out, const struct load_result *result) {
    if (!result->errors) return;
    fprintf(out,
            "WARNING: Cluster slots configuration changed: %" PRIu64
            " requests were redirected, and are not counted\n",
            result->errors);
}

static double msec_at(const struct load_result *result, double share) {
    return (double)load_latency_usec_at(&result->latency, share) / 1000;
}

/* The six figures of the summary, in the order in which print_summary prints them. */
static void figures_of(const struct load_result *result, double figures[6]) {
    figures[0] = load_latency_average_msec(&result->latency);
    figures[1] = (double)result->latency.least_usec / 1000;
    figures[2] = msec_at(result, 0.5);
    figures[3] = msec_at(result, 0.95);
    figures[4] = msec_at(result, 0.99);
    figures[5] = (double)result->latency.most_usec / 1000;
}

void benchmark_report_csv_names(FILE *out) {
    static const char *const names[] = {"avg", "min", "p50", "p95", "p99", "max"};
    fputs("\"test\",\"rps\"", out);
    for (size_t i = 0; i < 6; i++) fprintf(out, ",\"%s_latency_ms\"", names[i]);
    fputc('\n', out);
}

void benchmark_report_csv_title(FILE *out, const char *title) {
    fputc('"', out);
    for (; *title; title++) {
        if (*title == '"') fputc('"', out);
        fputc(*title, out);
    }
    fputc('"', out);
}

void benchmark_report_csv(FILE *out, const char *title, const struct load_result *result,
                          const struct benchmark_options *options) {
    double figures[6];
    figures_of(result, figures);
    benchmark_report_csv_title(out, title);
    fprintf(out, ",\"%.2f\"", benchmark_report_rate(result));
    for (size_t i = 0; i < 6; i++) {
        fprintf(out, ",\"%.*f\"", (int)options->decimals, figures[i]);
    }
    fputc('\n', out);
}

void benchmark_report_line(FILE *out, const char *title, const struct load_result *result,
                           const struct benchmark_options *options) {
    fprintf(out, "%s: %.2f requests per second, p50=%.*f msec\n", title,
            benchmark_report_rate(result), (int)options->decimals, msec_at(result, 0.5));
}

static void print_nodes(FILE *out, const struct benchmark_server *server) {
    for (unsigned i = 0; i < server->node_count; i++) {
        const struct benchmark_server *node = &server->nodes[i];
        if (!node->has_config) continue;
        fprintf(out, "  node [%u] configuration:\n", i);
        fprintf(out, "    save: %s\n", *node->save ? node->save : "NONE");
        fprintf(out, "    appendonly: %s\n", node->appendonly);
    }
}

static void print_setting(FILE *out, const struct load_result *result,
                          const struct benchmark_options *o,
                          const struct benchmark_server *server) {
    fprintf(out, "  %" PRIu64 " requests completed in %.2f seconds\n", result->requests,
            result->seconds);
    fprintf(out, "  %" PRId64 " parallel clients\n", o->clients);
    fprintf(out, "  %" PRId64 " bytes payload\n", o->value_bytes);
    fprintf(out, "  keep alive: %" PRId64 "\n", o->keep_alive);
    if (server->node_count) {
        fprintf(out, "  cluster mode: yes (%u masters)\n", server->node_count);
        print_nodes(out, server);
    } else if (server->has_config) {
        fprintf(out, "  host configuration \"save\": %s\n", server->save);
        fprintf(out, "  host configuration \"appendonly\": %s\n", server->appendonly);
    }
    fprintf(out, "  multi-thread: %s\n", o->threads > 1 ? "yes" : "no");
    if (o->threads > 1) fprintf(out, "  threads: %" PRId64 "\n", o->threads);
    if (o->warmup_s > 0) fprintf(out, "  warm-up: %.2f seconds, not counted\n", o->warmup_s);
    if (o->rate) {
        fprintf(out, "  rate: %" PRId64 " requests per second are due; latency from then on\n",
                o->rate);
    }
}

/* Prints percentiles: each level halves the distance to 100 %, and a level is printed only where
 * its count is above that of the level before. */
static void print_percentiles(FILE *out, const struct load_result *result, int decimals) {
    const struct load_latency *l = &result->latency;
    uint64_t counted = 0;
    fputs("\nLatency by percentile distribution:\n", out);
    for (double left = 100; l->count && counted < l->count; left /= 2) {
        double level = left == 100 ? 0 : 100 - left;
        uint64_t usec = load_latency_usec_at(l, level / 100);
        uint64_t count = load_latency_count_to(l, usec);
        if (count == counted) continue;
        counted = count;
        fprintf(out, "%.3f%% <= %.*f milliseconds (cumulative count %" PRIu64 ")\n", level,
                decimals, (double)usec / 1000, count);
    }
    fprintf(out, "100.000%% <= %.*f milliseconds (cumulative count %" PRIu64 ")\n", decimals,
            (double)l->most_usec / 1000, l->count);
}

/* The first step that is not below `usec`. */
static uint64_t step_from(uint64_t usec) {
    uint64_t step = usec <= FINE_STEPS_USEC ? STEP_USEC : COARSE_STEP_USEC;
    return (usec + step - 1) / step * step;
}

/* Prints the first step, and each further step whose count is above that of the step before. Steps
 * without new latencies are skipped in one jump, because millions of them may precede a latency of
 * an hour. */
static void print_steps(FILE *out, const struct load_result *result, int decimals) {
    const struct load_latency *l = &result->latency;
    uint64_t counted = 0;
    fputs("\nCumulative distribution of latencies:\n", out);
    for (uint64_t usec = STEP_USEC; counted < l->count;
         usec = step_from(load_latency_next_usec(l, usec))) {
        counted = load_latency_count_to(l, usec);
        fprintf(out, "%.3f%% <= %.*f milliseconds (cumulative count %" PRIu64 ")\n",
                100 * (double)counted / (double)l->count, decimals, (double)usec / 1000, counted);
    }
}

static void print_summary(FILE *out, const struct load_result *result, int decimals) {
    static const char *const names[] = {"avg", "min", "p50", "p95", "p99", "max"};
    double figures[6];
    figures_of(result, figures);
    fprintf(out, "\nSummary:\n  throughput summary: %.2f requests per second\n",
            benchmark_report_rate(result));
    fputs("  latency summary (msec):\n    ", out);
    for (size_t i = 0; i < 6; i++) fprintf(out, i ? " %9s" : "%9s", names[i]);
    fputs("\n    ", out);
    for (size_t i = 0; i < 6; i++) {
        fprintf(out, i ? " %9.*f" : "%9.*f", decimals, figures[i]);
    }
    fputc('\n', out);
}

void benchmark_report_whole(FILE *out, const char *title, const struct load_result *result,
                            const struct benchmark_options *options,
                            const struct benchmark_server *server) {
    int decimals = (int)options->decimals;
    fprintf(out, "====== %s ======\n", title);
    print_setting(out, result, options, server);
    print_percentiles(out, result, decimals);
    print_steps(out, result, decimals);
    print_summary(out, result, decimals);
}
