/* SPDX-License-Identifier: BSD-3-Clause
 * The load generator: one thread that drives any number of connections to one server.
 *
 *   load count --option value...     a closed loop that counts: nearly nothing a request, so that
 *                                    the server is what is measured (load_count.c)
 *   load record --option value...    requests that are due at moments drawn beforehand, each with
 *                                    its latency kept, beside herds, slow readers, probes and
 *                                    samples of INFO (load_record.c)
 *
 * They are two because a record a request costs what a pipelined GET costs the server. Both are
 * users of src/load/, which connects, sends, keeps to a schedule and reads. What they send
 * (wire.c), what they draw by chance (draw.c) and their options (load_options.c) are one.
 */
#include "load.h"

#include <stdarg.h>
#include <sys/resource.h>

struct load_options options;
char load_read_buffer[READ_BYTES];

void load_fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "load: ");
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\n");
    va_end(arguments);
    exit(1);
}

static uint64_t clock_nsec(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t load_now_nsec(void) { return clock_nsec(CLOCK_MONOTONIC); }

uint64_t load_realtime_msec(void) { return clock_nsec(CLOCK_REALTIME) / 1000000u; }

void *load_grow(void *old, size_t bytes) {
    void *grown = realloc(old, bytes);
    if (!grown) load_fail("out of memory");
    return grown;
}

char *load_filler(size_t bytes) {
    char *filler = load_grow(NULL, bytes);
    for (size_t i = 0; i < bytes; i++) filler[i] = (char)('a' + i * 7 % 26);
    return filler;
}

double load_cpu_seconds(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

int main(int argc, char **argv) {
    load_options_read(argc, argv, &options);
    if (options.loop == LOOP_COUNT)
        load_count();
    else
        load_record();
    return 0;
}
