/* SPDX-License-Identifier: BSD-3-Clause
 * Latency, sampled: one PING after the other, with a pause between two so that the measurement puts
 * no load on the server.
 */
#include "cli/cli_latency.h"

#include <inttypes.h>

#include "base/clock.h"
#include "cli/cli_link.h"
#include "cli/cli_options.h"
#include "cli/cli_run.h"

#define SAMPLE_PAUSE_SEC 0.01
#define DIST_PAUSE_SEC 0.001
#define HISTORY_SEC 15.0
#define NSEC_A_SEC 1e9

static int64_t ping_usec(void) {
    int64_t began = clock_monotonic_nsec();
    (void)cli_link_must_call("PING");
    return (clock_monotonic_nsec() - began) / 1000;
}

/* --- figures ---------------------------------------------------------------------------------- */

struct samples {
    int64_t least_msec, most_msec, sum_msec, count, began_nsec;
};

static void add_sample(struct samples *s) {
    int64_t msec = ping_usec() / 1000;
    if (!s->count || msec < s->least_msec) s->least_msec = msec;
    if (!s->count || msec > s->most_msec) s->most_msec = msec;
    s->sum_msec += msec;
    s->count++;
}

static double seconds_since(int64_t began_nsec) {
    return (double)(clock_monotonic_nsec() - began_nsec) / NSEC_A_SEC;
}

static void print_figures(const struct samples *s, enum cli_output output) {
    static const char *const forms[] = {
        [CLI_FORMATTED] = "min: %" PRId64 ", max: %" PRId64 ", avg: %.2f (%" PRId64 " samples)",
        [CLI_RAW] = "%" PRId64 " %" PRId64 " %.2f %" PRId64,
        [CLI_CSV] = "%" PRId64 ",%" PRId64 ",%.2f,%" PRId64,
    };
    printf(forms[output], s->least_msec, s->most_msec, (double)s->sum_msec / (double)s->count,
           s->count);
}

int cli_latency_run(const struct cli_options *o) {
    bool history = o->mode == CLI_LATENCY_HISTORY;
    bool live = isatty(STDOUT_FILENO) && o->output == CLI_FORMATTED;
    double range = o->interval_sec > 0 ? o->interval_sec : history ? HISTORY_SEC : 1;
    struct samples s = {.began_nsec = clock_monotonic_nsec()};
    for (;;) {
        add_sample(&s);
        if (live) {
            printf("\r");
            print_figures(&s, CLI_FORMATTED);
            printf("\033[K");
            if (fflush(stdout) != 0) return 1;
        }
        double passed = seconds_since(s.began_nsec);
        if ((history || !live) && passed >= range) {
            if (!live) print_figures(&s, (enum cli_output)o->output);
            if (history) printf(" -- %.2f seconds range", passed);
            printf("\n");
            if (fflush(stdout) != 0) return 1;
            if (!history) return 0;
            s = (struct samples){.began_nsec = clock_monotonic_nsec()};
        }
        cli_run_pause(SAMPLE_PAUSE_SEC);
    }
}

/* --- a band of colours ------------------------------------------------------------------------ */

struct bucket {
    int64_t usec; /* the longest latency that it counts */
    char mark;
};
static const struct bucket buckets[] = {
    {10, '.'},        {125, '-'},     {250, '*'},      {500, '#'},      {1000, '1'},
    {2000, '2'},      {3000, '3'},    {4000, '4'},     {5000, '5'},     {6000, '6'},
    {7000, '7'},      {8000, '8'},    {9000, '9'},     {10000, 'A'},    {20000, 'B'},
    {30000, 'C'},     {40000, 'D'},   {50000, 'E'},    {100000, 'F'},   {200000, 'G'},
    {300000, 'H'},    {400000, 'I'},  {500000, 'J'},   {1000000, 'K'},  {2000000, 'L'},
    {4000000, 'M'},   {8000000, 'N'}, {16000000, 'O'}, {30000000, 'P'}, {60000000, 'Q'},
    {INT64_MAX, '?'},
};
#define BUCKETS (sizeof(buckets) / sizeof(buckets[0]))

/* Colours for shares from 0 to 100 %, of the terminal's 256: black and grey, then yellow to red. */
static const int shades[] = {16,  234, 236, 238, 240, 242, 244, 143,
                             185, 227, 221, 214, 208, 202, 196};
#define SHADES (sizeof(shades) / sizeof(shades[0]))
static const char plain_shades[] = " .:-=+*%@#";

static void print_legend(bool colours) {
    printf(
        "---------------------------------------------\n"
        ". - * #          .01 .125 .25 .5 milliseconds\n"
        "1,2,3,...,9      from 1 to 9     milliseconds\n"
        "A,B,C,D,E        10,20,30,40,50  milliseconds\n"
        "F,G,H,I,J        .1,.2,.3,.4,.5       seconds\n"
        "K,L,M,N,O,P,Q,?  1,2,4,8,16,30,60,>60 seconds\n"
        "From 0 to 100%%: ");
    for (size_t i = 0; colours && i < SHADES; i++) printf("\033[48;5;%dm ", shades[i]);
    printf("%s\n---------------------------------------------\n",
           colours ? "\033[0m" : plain_shades);
    if (colours) return;
    for (size_t i = 0; i < BUCKETS; i++) putchar(buckets[i].mark);
    putchar('\n');
}

static void print_band(const uint64_t counts[BUCKETS], uint64_t all, bool colours) {
    for (size_t i = 0; i < BUCKETS; i++) {
        /* Rounded up, so that the smallest share above 0 is visible. */
        size_t most = (colours ? SHADES : sizeof(plain_shades) - 1) - 1;
        size_t shade = (size_t)((counts[i] * most + all - 1) / all);
        if (colours) {
            printf("\033[38;5;0m\033[48;5;%dm%c", shades[shade], buckets[i].mark);
        } else {
            putchar(plain_shades[shade]);
        }
    }
    printf(colours ? "\033[0m\n" : "\n");
}

int cli_latency_dist_run(const struct cli_options *o) {
    bool colours = isatty(STDOUT_FILENO);
    double range = o->interval_sec > 0 ? o->interval_sec : 1;
    print_legend(colours);
    for (;;) {
        uint64_t counts[BUCKETS] = {0}, all = 0;
        int64_t began = clock_monotonic_nsec();
        do {
            int64_t usec = ping_usec();
            size_t i = 0;
            while (usec > buckets[i].usec) i++;
            counts[i]++;
            all++;
            cli_run_pause(DIST_PAUSE_SEC);
        } while (seconds_since(began) < range);
        print_band(counts, all, colours);
        if (fflush(stdout) != 0) return 1;
    }
}

/* --- the machine itself ----------------------------------------------------------------------- */

int cli_latency_intrinsic_run(const struct cli_options *o) {
    int64_t began = clock_monotonic_nsec(), now = began, worst_nsec = 0, runs = 0;
    int64_t end = began + o->seconds * INT64_C(1000000000);
    while (now < end) {
        int64_t before = now;
        now = clock_monotonic_nsec();
        runs++;
        if (now - before <= worst_nsec) continue;
        bool tells = (now - before) / 1000 > worst_nsec / 1000;
        worst_nsec = now - before;
        if (!tells) continue;
        printf("Max latency so far: %" PRId64 " microseconds.\n", worst_nsec / 1000);
        if (fflush(stdout) != 0) return 1;
        /* The clock is read again, because the time for printing is not the machine's latency. */
        now = clock_monotonic_nsec();
    }
    double average_nsec = (double)(now - began) / (double)runs;
    printf("\n%" PRId64
           " total runs (avg latency: %.4f microseconds / %.2f nanoseconds per run).\n"
           "Worst run took %.0fx longer than the average latency.\n",
           runs, average_nsec / 1000, average_nsec, (double)worst_nsec / average_nsec);
    return 0;
}
