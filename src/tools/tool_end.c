/* SPDX-License-Identifier: BSD-3-Clause
 * io/signals notes SIGINT and SIGTERM; SIGHUP, which a server ignores, is noted here.
 */
#include "tools/tool_end.h"

#include <signal.h>
#include <stdatomic.h>

#include "base/panic.h"
#include "io/loop.h"
#include "io/signals.h"

static atomic_int hung_up; /* SIGHUP has come */
static struct loop *woken_loop;

static void note_hangup(int sig) {
    atomic_store(&hung_up, sig);
    if (woken_loop) loop_wake(woken_loop);
}

void tool_end_listen(struct loop *loop) {
    struct sigaction before, hangup = {.sa_handler = note_hangup};
    ASSERT(sigaction(SIGHUP, NULL, &before) == 0);
    woken_loop = loop;
    signals_setup(loop);
    if (before.sa_handler != SIG_IGN) ASSERT(sigaction(SIGHUP, &hangup, NULL) == 0);
}

void tool_end_forget_loop(void) {
    woken_loop = NULL;
    signals_setup(NULL);
}

int tool_end_signal(void) {
    int sig = signals_shutdown_requested();
    return sig ? sig : atomic_load(&hung_up);
}
