/* SPDX-License-Identifier: BSD-3-Clause
 * Restart.
 *
 * The process executes its program again, so that a supervisor sees the same pid. All descriptors
 * except the three standard ones are close-on-exec. Other state that exec keeps is set back to its
 * value at start: the working directory (arguments may name files relative to it), the
 * out-of-memory score, the processors. The watchdog's timer is stopped.
 */
#include "process/restart.h"

#include <errno.h>
#include <limits.h>

#include "base/log.h"
#include "io/affinity.h"
#include "io/signals.h"
#include "option/option.h"
#include "process/oom_score.h"

static char **arguments;
static const struct restart_program *program;
static char folder[PATH_MAX];
static bool prepared;
static int64_t prepared_msec;

void restart_take_arguments(char **argv, const struct restart_program *asked) {
    arguments = argv;
    program = asked;
    if (!getcwd(folder, sizeof(folder))) folder[0] = 0;
}

bool restart_is_possible(void) {
    for (char **word = arguments; *word; word++) {
        if (strcmp(*word, "-")) continue;
        log_warning("Can't restart: the configuration came from standard input.");
        return false;
    }
    if (access(program->executable(), X_OK) == 0) return true;
    log_warning("Can't restart: %s: %s", program->executable(), strerror(errno));
    return false;
}

bool restart_prepare(int64_t msec) {
    char reason[OPTION_REASON_BYTES];
    if (!restart_is_possible()) return false;
    if (!program->keep_configuration(reason, sizeof(reason))) {
        log_warning("Can't restart: %s", reason);
        return false;
    }
    prepared = true;
    prepared_msec = msec;
    return true;
}

bool restart_is_prepared(void) { return prepared; }

void restart_execute(int64_t msec) {
    if (prepared && !msec) msec = prepared_msec;
    struct timespec left = {(time_t)(msec / 1000), (long)(msec % 1000) * 1000000L};
    while (nanosleep(&left, &left) && errno == EINTR) continue;
    log_warning("The program is executed again.");
    signals_watchdog(0, NULL);
    oom_score_restore();
    affinity_restore();
    if (*folder && chdir(folder)) log_warning("chdir %s: %s", folder, strerror(errno));
    execv(program->executable(), arguments);
    log_warning("%s cannot be executed: %s", program->executable(), strerror(errno));
}
