/* SPDX-License-Identifier: BSD-3-Clause
 * Rounds on two servers, and the ratios of their figures.
 */
#include "benchmark/benchmark_compare.h"

#include <inttypes.h>

#include "base/memory.h"
#include "benchmark/benchmark_report.h"

static const char *const names[BENCHMARK_FIGURES] = {
    [FIGURE_RATE] = "requests per second",
    [FIGURE_AVERAGE] = "average latency (msec)",
    [FIGURE_P50] = "p50 latency (msec)",
    [FIGURE_P99] = "p99 latency (msec)",
};
static const char *const short_names[BENCHMARK_FIGURES] = {"rps", "avg", "p50", "p99"};

static int compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_of(const double *values, unsigned count) {
    if (!count) return 0;
    double *sorted = memory_alloc(count * sizeof(double), MEMORY_OTHER);
    memcpy(sorted, values, count * sizeof(double));
    qsort(sorted, count, sizeof(double), compare_doubles);
    double median = count % 2 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2;
    memory_free(sorted, MEMORY_OTHER);
    return median;
}

struct benchmark_ratio benchmark_ratio_of(const double *first, const double *second,
                                          unsigned rounds) {
    struct benchmark_ratio ratio = {.first = median_of(first, rounds),
                                    .second = median_of(second, rounds)};
    double *ratios = memory_alloc(rounds * sizeof(double), MEMORY_OTHER);
    unsigned count = 0;
    for (unsigned i = 0; i < rounds; i++) {
        if (second[i] <= 0) continue;
        double one = first[i] / second[i];
        if (!count || one < ratio.least) ratio.least = one;
        if (!count || one > ratio.most) ratio.most = one;
        ratios[count++] = one;
    }
    ratio.median = median_of(ratios, count);
    memory_free(ratios, MEMORY_OTHER);
    return ratio;
}

void benchmark_compare_csv_names(FILE *out) {
    fputs("\"test\"", out);
    for (size_t i = 0; i < BENCHMARK_FIGURES; i++) {
        const char *name = short_names[i];
        fprintf(out, ",\"%s\",\"%s_other\",\"%s_ratio\",\"%s_ratio_min\",\"%s_ratio_max\"", name,
                name, name, name, name);
    }
    fputc('\n', out);
}

static void print_csv(FILE *out, const char *title, const struct benchmark_ratio *ratios,
                      int decimals) {
    benchmark_report_csv_title(out, title);
    for (size_t i = 0; i < BENCHMARK_FIGURES; i++) {
        const struct benchmark_ratio *r = &ratios[i];
        fprintf(out, ",\"%.*f\",\"%.*f\",\"%.3f\",\"%.3f\",\"%.3f\"", decimals, r->first, decimals,
                r->second, r->median, r->least, r->most);
    }
    fputc('\n', out);
}

static void print_table(FILE *out, const char *title, const struct benchmark_server *first,
                        const struct benchmark_server *second, const struct benchmark_ratio *ratios,
                        const struct benchmark_options *options) {
    fprintf(out, "====== %s ======\n  A = %s\n  B = %s\n  %" PRId64 " rounds on each, in turn\n\n",
            title, first->name, second->name, options->rounds);
    fprintf(out, "  %-24s %12s %12s %7s  %s\n", "", "A", "B", "A/B", "least .. most");
    for (size_t i = 0; i < BENCHMARK_FIGURES; i++) {
        const struct benchmark_ratio *r = &ratios[i];
        fprintf(out, "  %-24s %12.3f %12.3f %7.3f  %.3f .. %.3f\n", names[i], r->first, r->second,
                r->median, r->least, r->most);
    }
}

static void print_ratios(FILE *out, const char *title, const struct benchmark_server *first,
                         const struct benchmark_server *second,
                         const struct benchmark_ratio *ratios,
                         const struct benchmark_options *options) {
    const struct benchmark_ratio *rate = &ratios[FIGURE_RATE], *p50 = &ratios[FIGURE_P50];
    if (options->csv) {
        print_csv(out, title, ratios, (int)options->decimals);
    } else if (options->quiet) {
        fprintf(out,
                "%s: %.3f times the requests per second of %s (%.3f .. %.3f), %.3f times its p50 "
                "(%.3f .. %.3f)\n",
                title, rate->median, second->name, rate->least, rate->most, p50->median, p50->least,
                p50->most);
    } else {
        print_table(out, title, first, second, ratios, options);
    }
    fflush(out);
}

/* Notes the result of round `round`; `values` has a row of `rounds` values for each figure. */
static void note_figures(double *values, unsigned rounds, unsigned round,
                         const struct load_result *result) {
    values[FIGURE_RATE * rounds + round] = benchmark_report_rate(result);
    values[FIGURE_AVERAGE * rounds + round] = load_latency_average_msec(&result->latency);
    values[FIGURE_P50 * rounds + round] =
        (double)load_latency_usec_at(&result->latency, 0.5) / 1000;
    values[FIGURE_P99 * rounds + round] =
        (double)load_latency_usec_at(&result->latency, 0.99) / 1000;
}

bool benchmark_compare(FILE *out, const char *title, struct benchmark_load *load,
                       const struct benchmark_server *first, const struct benchmark_server *second,
                       const struct benchmark_options *options, char reason[LOAD_REASON_CHARS]) {
    unsigned rounds = (unsigned)options->rounds;
    const struct benchmark_server *servers[] = {first, second};
    struct load_result *result = memory_alloc(sizeof(*result), MEMORY_OTHER);
    size_t bytes = (size_t)rounds * BENCHMARK_FIGURES * sizeof(double);
    double *values[] = {memory_alloc(bytes, MEMORY_OTHER), memory_alloc(bytes, MEMORY_OTHER)};
    bool good = true;
    for (unsigned turn = 0; turn < rounds * 2 && good; turn++) {
        unsigned round = turn / 2, which = (turn + round) % 2;
        benchmark_load_aim(load, servers[which]);
        good = benchmark_load_run(load, result, NULL);
        if (good) note_figures(values[which], rounds, round, result);
        if (!good) {
            snprintf(reason, LOAD_REASON_CHARS, "%.200s: %.100s", result->reason,
                     servers[which]->name);
        }
    }
    struct benchmark_ratio ratios[BENCHMARK_FIGURES];
    for (size_t i = 0; i < BENCHMARK_FIGURES && good; i++) {
        ratios[i] = benchmark_ratio_of(values[0] + i * rounds, values[1] + i * rounds, rounds);
    }
    if (good) print_ratios(out, title, first, second, ratios, options);
    memory_free(values[0], MEMORY_OTHER);
    memory_free(values[1], MEMORY_OTHER);
    memory_free(result, MEMORY_OTHER);
    return good;
}
