/* SPDX-License-Identifier: BSD-3-Clause
 * The record.
 *
 *            later                     write: on disk
 *   CLEAN ------------> WANTED ------------------------> CLEAN
 *                         |  write: failed                 ^
 *                         '-----------------> FAILED ------'
 *                                             (again at retry_msec, or by any write)
 *
 * Invariant: in CLEAN the file has all that was changed before the last sentinel_record_write, or
 * before the last step of the loop that a sentinel_record_later preceded.
 */
#include "sentinel/record.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/panic.h"

/* A full disk is rarely mended sooner, and each try rewrites and syncs the file in the loop. */
#define RECORD_RETRY_MSEC 1000

static enum { CLEAN, WANTED, FAILED } state;
static int64_t retry_msec; /* in FAILED: when the next try is due, by the monotonic clock */
static int shown_error;    /* in FAILED: the errno that was logged last */
static bool (*write_file)(void);

void sentinel_record_open(bool (*write)(void)) {
    write_file = write;
    state = CLEAN;
}

static void note_failure(int error) {
    if (state != FAILED || error != shown_error)
        log_warning("WARNING: Sentinel was not able to save the new configuration on disk!!!: %s",
                    strerror(error));
    state = FAILED;
    shown_error = error;
    retry_msec = clock_monotonic_msec() + RECORD_RETRY_MSEC;
}

bool sentinel_record_write(void) {
    ASSERT(write_file);
    if (!write_file()) {
        note_failure(errno);
        return false;
    }
    if (state == FAILED) log_warning("The configuration is saved on disk again.");
    state = CLEAN;
    return true;
}

void sentinel_record_later(void) {
    if (state == CLEAN) state = WANTED;
}

bool sentinel_record_step(void) {
    if (state == WANTED || (state == FAILED && clock_monotonic_msec() >= retry_msec))
        (void)!sentinel_record_write(); /* a failure is logged, and tried again */
    return false;
}
