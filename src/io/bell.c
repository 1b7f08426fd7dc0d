/* SPDX-License-Identifier: BSD-3-Clause
 * Bells over the kernel's futex. A futex takes its time limit as a duration; waits of pthread and
 * of semaphores take a moment of a clock, which a test may have replaced.
 */
#include "io/bell.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SECOND_NSEC INT64_C(1000000000)

static void call_futex(struct bell *bell, int operation, uint32_t value,
                       const struct timespec *time) {
    syscall(SYS_futex, &bell->rung, operation, value, time, NULL, 0);
}

void bell_ring(struct bell *bell) {
    atomic_store(&bell->rung, 1);
    call_futex(bell, FUTEX_WAKE_PRIVATE, INT_MAX, NULL);
}

bool bell_has_rung(const struct bell *bell) { return atomic_load(&bell->rung); }

void bell_wait(struct bell *bell, int64_t nsec) {
    const struct timespec time = {nsec / SECOND_NSEC, nsec % SECOND_NSEC};
    if (!bell_has_rung(bell) && nsec > 0) call_futex(bell, FUTEX_WAIT_PRIVATE, 0, &time);
}
