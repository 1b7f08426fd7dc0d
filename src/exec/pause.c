/* SPDX-License-Identifier: BSD-3-Clause
 * CLIENT PAUSE.
 *
 * Invariants
 *  1. The list `held` has the clients that the pause holds, in the order in which they were
 *     stopped; it is empty while there is none.
 *  2. The timer runs exactly while clients' pause lasts. Where CLIENT PAUSE has just run it is due
 *     at once, in the turn's end, when the replies have left (`unanswered`): the pause's time
 *     counts from there, since a client that measures it begins with its reply. Then it is due at
 *     its end.
 *
 * What is not paused, as in 6.2: errors that exec/gates finds before it asks here (an unknown
 * command, a wrong number of arguments), QUIT, and clients that monitor. CLIENT UNPAUSE is a
 * command like any other: in a pause of all commands it waits, too.
 *
 * Nor is anything in a turn within a load or a call: no timer runs there, so who is held would wait
 * for its end, also with SHUTDOWN. What other gates let in there is without data and does not
 * write.
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
static bool writes_held;             /* besides */
static int64_t end_nsec, asked_nsec; /* of the last CLIENT PAUSE that was taken */
static bool unanswered;
static struct keyspace_holder holder;
static struct list_link held = {&held, &held}; /* of struct client.held_link */

/* Rounded up: as in 6.2 the pause's last millisecond is over when the pause ends. */
static int64_t begin_to_count(const struct loop_timer *t) {
    unanswered = false;
    int64_t span = end_nsec - asked_nsec;
    asked_nsec = clock_monotonic_nsec();
    end_nsec = span < INT64_MAX - asked_nsec ? asked_nsec + span : INT64_MAX;
    return (end_nsec - t->due_nsec) / NSEC_PER_MSEC + 1;
}

static int64_t time_is_up(struct loop_timer *t) {
    if (unanswered) return begin_to_count(t);
    pause_end();
    return LOOP_TIMER_END;
}

static struct loop_timer timer = {.callback = time_is_up};

enum pause_mode pause_mode(void) { return mode == PAUSE_NONE && writes_held ? PAUSE_WRITES : mode; }

/* After a change. Where less is paused than before those that wait are asked again. */
static void look(bool less) {
    bool paused = pause_mode() != PAUSE_NONE;
    gate_set(&pause_gate, paused);
    keyspace_hold_expiry(&holder, paused);
    while (less && !list_is_empty(&held))
        batch_resume(LIST_ENTRY(held.next, struct client, held_link));
}

void pause_start(enum pause_mode wanted, int64_t msec) {
    /* A pause that ends after the last millisecond that 6.2 can tell is none there, and here:
     * nobody could end it, for CLIENT UNPAUSE waits, too. */
    if (msec > INT64_MAX - clock_wall_usec() / 1000) return;
    int64_t now = clock_monotonic_nsec();
    int64_t end = msec < (INT64_MAX - now) / NSEC_PER_MSEC ? now + msec * NSEC_PER_MSEC : INT64_MAX;
    if (mode == PAUSE_NONE) end_nsec = 0;
    if (wanted > mode) mode = wanted;
    look(false);
    if (end <= end_nsec) return;
    end_nsec = end;
    asked_nsec = now;
    unanswered = !batch_is_within(); /* there its reply leaves in a turn that runs no timers */
    loop_timer_start(client_loop(), &timer, unanswered ? 0 : msec);
}

void pause_end(void) {
    loop_timer_stop(client_loop(), &timer);
    mode = PAUSE_NONE;
    look(true);
}

void pause_hold_writes(bool hold) {
    writes_held = hold;
    look(!hold);
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

static enum gate_verdict hold(const struct call *call) {
    batch_hold_request(call->request);
    list_append(&held, &call->client->held_link);
    return GATE_HELD;
}

struct gate pause_gate = {
    .origins = GATE_FROM(CALL_NETWORK) | GATE_FROM(CALL_PRIMARY), .stops = is_paused, .stop = hold};
