/* SPDX-License-Identifier: BSD-3-Clause
 * Lateness of a load, and the part of it that is the load's own.
 *
 * The wait for a processor is sampled every 10 ms, so that the wait since any moment of the last 40
 * seconds is known. A late batch is explained by the wait since its due time, or since the load was
 * last on time if that is earlier, because a backlog outlives the wait that made it.
 */
#include "load/load_late.h"

#include <fcntl.h>

#include "base/number.h"
#include "base/system.h"

#define ON_TIME_NSEC 1000000
#define TEXT_BYTES 96

/* The second number of the file: nanoseconds for which the thread could run and had no processor.
 */
static int64_t read_waited(const struct load_late *l) {
    char text[TEXT_BYTES];
    int64_t waited;
    ssize_t n = l->schedstat < 0 ? -1 : system_pread(l->schedstat, text, sizeof(text), 0);
    const char *blank = n > 0 ? memchr(text, ' ', (size_t)n) : NULL;
    if (!blank) return 0;
    const char *number = blank + 1, *end = memchr(number, ' ', (size_t)(text + n - number));
    if (!end || !number_parse_int64(number, (size_t)(end - number), &waited)) return 0;
    return waited;
}

void load_late_sample(struct load_late *l, int64_t now_nsec) {
    uint64_t last = (l->sample_count + LOAD_LATE_SAMPLES - 1) % LOAD_LATE_SAMPLES;
    if (l->sample_count && now_nsec < l->samples[last].at_nsec + LOAD_LATE_SAMPLE_NSEC) return;
    uint64_t slot = l->sample_count++ % LOAD_LATE_SAMPLES;
    l->samples[slot].at_nsec = now_nsec;
    l->samples[slot].waited_nsec = read_waited(l);
}

void load_late_begin(struct load_late *l, int64_t now_nsec) {
    l->figures = (struct load_late_figures){0};
    l->schedstat = system_open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC, 0);
    l->sample_count = 0;
    l->on_time_nsec = now_nsec;
    load_late_sample(l, now_nsec);
}

void load_late_end(struct load_late *l) {
    l->figures.waited_nsec = read_waited(l);
    if (l->schedstat >= 0) system_close(l->schedstat);
    l->schedstat = -1;
}

/* The wait for a processor from the last sample before `since` on, up to now. */
static int64_t waited_since(const struct load_late *l, int64_t since) {
    uint64_t back = l->sample_count < LOAD_LATE_SAMPLES ? l->sample_count : LOAD_LATE_SAMPLES;
    int64_t before = 0;
    for (uint64_t i = 1; i <= back; i++) {
        uint64_t slot = (l->sample_count - i) % LOAD_LATE_SAMPLES;
        before = l->samples[slot].waited_nsec;
        if (l->samples[slot].at_nsec <= since) break;
    }
    return read_waited(l) - before;
}

int64_t load_late_note(struct load_late *l, int64_t due_nsec, int64_t now_nsec) {
    struct load_late_figures *f = &l->figures;
    int64_t late = now_nsec > due_nsec ? now_nsec - due_nsec : 0;
    f->handled++;
    if (late <= ON_TIME_NSEC) l->on_time_nsec = now_nsec;
    if (late > f->most_nsec) f->most_nsec = late;
    if (late > LOAD_LATE_NSEC) {
        int64_t since = due_nsec < l->on_time_nsec ? due_nsec : l->on_time_nsec;
        int64_t own = late - waited_since(l, since);
        f->late++;
        if (own > LOAD_LATE_NSEC) f->own_late++;
        if (own > f->own_most_nsec) f->own_most_nsec = own;
    }
    return late;
}

void load_late_add(struct load_late_figures *to, const struct load_late_figures *from) {
    to->handled += from->handled;
    to->late += from->late;
    to->own_late += from->own_late;
    if (from->most_nsec > to->most_nsec) to->most_nsec = from->most_nsec;
    if (from->own_most_nsec > to->own_most_nsec) to->own_most_nsec = from->own_most_nsec;
    to->waited_nsec += from->waited_nsec;
}
