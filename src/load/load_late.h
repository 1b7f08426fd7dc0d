/* SPDX-License-Identifier: BSD-3-Clause
 * The lateness of a load that has a schedule: how long after its due time each batch was handled.
 *
 * A batch is handled when the thread comes to send it, or to put it into the line where no
 * connection is free. So the lateness is the load's: a slow server makes batches wait in line, but
 * not late. A machine that can not keep up with the load is visible here, because figures of such a
 * run say more about the load than about the server.
 *
 * A part of the lateness may be due to other processes: the time for which the kernel says that
 * this thread waited for a processor (/proc/thread-self/schedstat) is subtracted in the figures
 * called `own`.
 */
#ifndef EVENKEEL_LOAD_LOAD_LATE_H
#define EVENKEEL_LOAD_LOAD_LATE_H
#include <stdint.h>

/* A batch that is handled so long after its due time is late. */
#define LOAD_LATE_NSEC 5000000
#define LOAD_LATE_SAMPLES 4096

/* Figures of a thread, or of all threads together. */
struct load_late_figures {
    uint64_t handled; /* batches */
    uint64_t late, own_late;
    int64_t most_nsec, own_most_nsec;
    int64_t waited_nsec; /* for a processor, since the thread began; of all threads the sum */
};

/* A thread's measurement. All times are of one clock. */
struct load_late {
    struct load_late_figures figures;
    int schedstat; /* descriptor; -1 = the kernel does not tell */
    int64_t on_time_nsec;
    uint64_t sample_count;
    struct {
        int64_t at_nsec, waited_nsec;
    } samples[LOAD_LATE_SAMPLES];
};

/* To be called by the thread that is measured, when its schedule begins. */
void load_late_begin(struct load_late *l, int64_t now_nsec);
/* Closes the descriptor and completes the figures. */
void load_late_end(struct load_late *l);
/* Reads how long the thread has waited for a processor, at most once in LOAD_LATE_SAMPLE_NSEC. To
 * be called in each turn of a loop that sleeps no longer than that. */
#define LOAD_LATE_SAMPLE_NSEC 10000000
void load_late_sample(struct load_late *l, int64_t now_nsec);
/* Notes a batch that is handled now. Returns its lateness, at least 0. */
int64_t load_late_note(struct load_late *l, int64_t due_nsec, int64_t now_nsec);
void load_late_add(struct load_late_figures *to, const struct load_late_figures *from);
#endif
