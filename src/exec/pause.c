/* SPDX-License-Identifier: BSD-3-Clause
 * CLIENT PAUSE.
 *
 * Invariants
 *  1. The list `held` has the clients that the pause holds, in the order in which they were held;
 *     it is empty while there is no pause.
 *  2. The timer runs exactly while a pause by CLIENT PAUSE lasts. When CLIENT PAUSE has just run,
 *     the timer is due at the end of the turn, when the replies have been written (`unanswered`):
 *     the pause's time counts from there, because a client that measures it begins with its reply.
 *     Then the timer is due at the pause's end.
 *
 * Not paused, as in 6.2, are errors that exec/gates finds before it asks this gate (an unknown
 * command, a wrong number of arguments), QUIT, and clients that monitor. CLIENT UNPAUSE is a
 * command like any other: a pause of all commands holds it, too.
 *
 * Requests in a nested turn within a load or a call are not paused, either: no timer runs there, so
 * a held client would wait for the end of the load or call, even with SHUTDOWN. The requests that
 * other gates allow there use no data and do not write.
 */
#include "exec/pause.h"

#include "base/clock.h"
#include "base/list.h"
#include "command/call.h"
#include "command/command.h"
#include "exec/gates.h"
#include "net/batch.h"
#include "net/client.h"
#include "report/monitor.h"
#include "store/keyspace.h"

#define NSEC_PER_MSEC 1000000

static enum pause_mode mode;         /* of CLIENT PAUSE */
static bool writes_held;             /* pause_hold_writes */
static int64_t end_nsec, asked_nsec; /* of the last CLIENT PAUSE that moved the end */
static bool unanswered;
static struct keyspace_holder holder;
static struct list_link held = {&held, &held}; /* of struct client.held_link */

/* The time of the pause begins to count. Returns it rounded up, because as in 6.2 the pause's last
 * millisecond is over when the pause ends. */
static int64_t begin_to_count(const struct loop_timer *t) {
    unanswered = false;
    int64_t span = end_nsec - asked_nsec;
    asked_nsec = clock_monotonic_nsec();
    end_nsec = span < INT64_MAX - asked_nsec ? asked_nsec + span : INT64_MAX;
    return (end_nsec - t->due_nsec) / NSEC_PER_MSEC + 1;
}

static int64_t pause_time_is_up(struct loop_timer *t) {
    if (unanswered) return begin_to_count(t);
    pause_end();
    return LOOP_TIMER_END;
}

static struct loop_timer timer = {.callback = pause_time_is_up};

enum pause_mode pause_mode(void) { return mode == PAUSE_NONE && writes_held ? PAUSE_WRITES : mode; }

/* Called after a change. If less is paused than before, the held clients are resumed, and their
 * requests pass the gates again. */
static void pause_update(bool less) {
    bool paused = pause_mode() != PAUSE_NONE;
    gate_set(&pause_gate, paused);
    keyspace_hold_expiry(&holder, paused);
    while (less && !list_is_empty(&held))
        batch_resume(LIST_ENTRY(held.next, struct client, held_link));
}

void pause_start(enum pause_mode wanted, int64_t msec) {
    /* A pause beyond the last millisecond that 6.2 can represent is ignored, as in 6.2: nothing
     * could end it, because CLIENT UNPAUSE is held, too. */
    if (msec > INT64_MAX - clock_wall_usec() / 1000) return;
    int64_t now = clock_monotonic_nsec();
    int64_t end = msec < (INT64_MAX - now) / NSEC_PER_MSEC ? now + msec * NSEC_PER_MSEC : INT64_MAX;
    if (mode == PAUSE_NONE) end_nsec = 0;
    if (wanted > mode) mode = wanted;
    pause_update(false);
    if (end <= end_nsec) return;
    end_nsec = end;
    asked_nsec = now;
    unanswered = !batch_is_within(); /* a nested turn sends the reply, and runs no timers */
    loop_timer_start(client_loop(), &timer, unanswered ? 0 : msec);
}

void pause_end(void) {
    loop_timer_stop(client_loop(), &timer);
    mode = PAUSE_NONE;
    pause_update(true);
}

void pause_hold_writes(bool hold) {
    writes_held = hold;
    pause_update(!hold);
}

static bool is_paused(const struct call *call) {
    unsigned command_flags = gate_flags(call);
    if (batch_is_within()) return false;
    if (client_flags(call->client, &monitor_client_state) & MONITOR_ON ||
        command_flags & COMMAND_UNLISTED)
        return false;
    return mode == PAUSE_ALL || (pause_mode() == PAUSE_WRITES &&
                                 command_flags & (COMMAND_WRITE | COMMAND_MAY_REPLICATE));
}

static enum gate_verdict pause_hold(const struct call *call) {
    batch_hold_request(call->request);
    list_append(&held, &call->client->held_link);
    return GATE_HELD;
}

struct gate pause_gate = {.origins = GATE_FROM(CALL_NETWORK) | GATE_FROM(CALL_PRIMARY),
                          .stops = is_paused,
                          .stop = pause_hold};
