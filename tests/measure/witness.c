/* SPDX-License-Identifier: BSD-3-Clause
 * When a processor itself stood still: what no program on it can help. witness.py says what for.
 *
 *   witness    until its input ends; a line for each time: "<end, monotonic seconds> <seconds>"
 *
 * It sleeps for a millisecond again and again, and wakes late where the processor was not there.
 * What it waited for it, others being on it, is no such thing and is subtracted; it goes before
 * them where the system lets it. In C, since it may share the core of a server that is measured: a
 * wake takes some microseconds.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define SLEEP_NSEC 1000000
#define STILL_NSEC 500000 /* less is how late timers are */
#define PRIORITY 10       /* above `chrt -f 1` */
#define ROUNDS 100        /* between two looks at the input */

static int64_t witness_now_nsec(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* How long this process stood runnable without a processor. */
static int64_t thread_waited_nsec(int schedstat) {
    char text[128] = "", *second;
    if (pread(schedstat, text, sizeof(text) - 1, 0) <= 0) return 0;
    strtoll(text, &second, 10);
    return strtoll(second, NULL, 10);
}

static void look_for_stall(int schedstat) {
    const struct timespec nap = {0, SLEEP_NSEC};
    int64_t waited = thread_waited_nsec(schedstat), before = witness_now_nsec();
    nanosleep(&nap, NULL);
    int64_t now = witness_now_nsec();
    int64_t still = now - before - SLEEP_NSEC - (thread_waited_nsec(schedstat) - waited);
    if (still < STILL_NSEC) return;
    printf("%.6f %.6f\n", (double)now / 1e9, (double)still / 1e9);
}

int main(void) {
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    int schedstat = open("/proc/self/schedstat", O_RDONLY);
    if (schedstat < 0) return 1;
    sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){.sched_priority = PRIORITY});
    while (poll(&input, 1, 0) == 0)
        for (int i = 0; i < ROUNDS; i++) look_for_stall(schedstat);
    return 0;
}
