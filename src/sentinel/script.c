/* SPDX-License-Identifier: BSD-3-Clause
 * The queue of calls of scripts.
 *
 *              a place is free, and it is due
 *   WAITS ------------------------------------> RUNS ----> freed: exit code 0 or 2 and above,
 *     ^                                          |         or SCRIPT_RUNS_MAX runs
 *     |  exit code 1, or ended by a signal       |
 *     `--- due later: 30 s, 60 s, 120 s ... -----'
 *
 * Exit code 1 is a script's way to say "try again"; a signal may mean that the machine had no
 * memory for it. Any other code says that trying again is of no use.
 *
 * Invariants:
 *  1. The queue has at most SCRIPT_QUEUE_MAX calls, the oldest first. For a further one the oldest
 *     that waits is dropped: news matters more.
 *  2. At most SCRIPT_RUNNING_MAX calls run, so that no more than these are never dropped.
 *  3. A call that runs is in the queue until its child has ended, so that the pointer that the
 *     child's job has stays good.
 */
#include "sentinel/script.h"

#include <errno.h>
#include <signal.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/panic.h"
#include "io/child.h"
#include "net/reply.h"
#include "sentinel/event.h"
#include "sentinel/instance.h"

/* As 6.2. */
#define SCRIPT_QUEUE_MAX 256
#define SCRIPT_RUNNING_MAX 16
#define SCRIPT_RUNS_MAX 10
#define SCRIPT_LASTS_MSEC_MAX 60000
#define SCRIPT_FIRST_DELAY_MSEC 30000

#define SCRIPT_WORDS_MAX 8   /* with the script itself; reconfigurations have all of them */
#define SIGNAL_OF_NO_FORK 99 /* what is shown for a call whose process could not be made */

struct script_call {
    struct list_link link;
    char *argv[SCRIPT_WORDS_MAX + 1]; /* owned; ended by NULL */
    pid_t pid;                        /* 0 = it waits */
    int runs;                         /* that have begun */
    int64_t when_msec; /* monotonic: when it began to run, or is due; 0 = due since it came */
    bool killed;
};

static const struct child_kind script_kind = {.beside = true};
static struct list_link queue = {&queue, &queue};
static size_t queued, running;

size_t sentinel_script_running(void) { return running; }
size_t sentinel_script_queued(void) { return queued; }

/* ---- the queue ---- */

static struct script_call *call_at(struct list_link *link) {
    return LIST_ENTRY(link, struct script_call, link);
}

static void free_call(struct script_call *call) {
    ASSERT(!call->pid);
    list_remove(&call->link);
    queued--;
    for (char **word = call->argv; *word; word++) memory_free(*word, MEMORY_OTHER);
    memory_free(call, MEMORY_OTHER);
}

static void drop_oldest(void) {
    LIST_FOR_EACH (at, following, &queue) {
        if (call_at(at)->pid) continue;
        free_call(call_at(at));
        return;
    }
}

/* Queues a call of the words, which are copied; NULL ends them. */
static void queue_call(const char *const *words) {
    struct script_call *call = memory_zalloc(sizeof(*call), MEMORY_OTHER);
    for (size_t i = 0; words[i]; i++) {
        ASSERT_COMPARE(i, <, SCRIPT_WORDS_MAX);
        call->argv[i] = memory_strdup(words[i], MEMORY_OTHER);
    }
    if (queued == SCRIPT_QUEUE_MAX) drop_oldest();
    list_append(&queue, &call->link);
    queued++;
}

static void notify_script(const struct primary *p, const char *event, const char *text) {
    if (!p->notification_script) return;
    queue_call((const char *const[]){p->notification_script, event, text, NULL});
}

void sentinel_script_open(void) { sentinel_event_set_notifier(notify_script); }

void sentinel_script_reconfigure(const struct primary *p, bool leads,
                                 const struct sentinel_address *from,
                                 const struct sentinel_address *to) {
    char from_port[12], to_port[12];
    if (!p->reconfig_script) return;
    snprintf(from_port, sizeof(from_port), "%d", from->port);
    snprintf(to_port, sizeof(to_port), "%d", to->port);
    queue_call((const char *const[]){
        p->reconfig_script, p->instance.name, leads ? "leader" : "observer", "start",
        sentinel_address_shown(from), from_port, sentinel_address_shown(to), to_port, NULL});
}

/* ---- running ---- */

/* The wait before the next run: it doubles from run to run. */
static int64_t delay_msec(const struct script_call *call) {
    return (int64_t)SCRIPT_FIRST_DELAY_MSEC << (call->runs - 1);
}

/* A run is over: `sig` ended it, or, where that is 0, it exited with `code`. */
static void call_over(struct script_call *call, int sig, int code) {
    call->pid = 0;
    call->killed = false;
    if ((sig || code == 1) && call->runs < SCRIPT_RUNS_MAX) {
        call->when_msec = clock_monotonic_msec() + delay_msec(call);
        return;
    }
    if (sig || code) sentinel_event(EVENT_SCRIPT_ERROR, NULL, "%s %d %d", call->argv[0], sig, code);
    free_call(call);
}

static void script_ended(const struct child_end *end, void *argument) {
    struct script_call *call = argument;
    int code = end->signal ? 0 : end->exit_code;
    ASSERT(call->pid == end->pid);
    running--;
    sentinel_event(EVENT_SCRIPT_CHILD_END, NULL, "%d %d %d", (int)end->pid, code, end->signal);
    call_over(call, end->signal, code);
}

static void run_call(struct script_call *call) {
    call->runs++;
    call->when_msec = clock_monotonic_msec();
    pid_t pid = child_execute(&script_kind, call->argv, script_ended, call);
    if (pid < 0) {
        log_warning("No process for the script %s: %s", call->argv[0], strerror(errno));
        call_over(call, SIGNAL_OF_NO_FORK, 0);
        return;
    }
    call->pid = pid;
    running++;
    sentinel_event(EVENT_SCRIPT_CHILD, NULL, "%d", (int)pid);
}

static void kill_call(struct script_call *call) {
    call->killed = true;
    sentinel_event(EVENT_SCRIPT_TIMEOUT, NULL, "%s %d", call->argv[0], (int)call->pid);
    child_kill_pid(call->pid);
}

void sentinel_script_step(void) {
    int64_t now = clock_monotonic_msec();
    LIST_FOR_EACH (at, following, &queue) {
        struct script_call *call = call_at(at);
        if (!call->pid) {
            if (running < SCRIPT_RUNNING_MAX && call->when_msec <= now) run_call(call);
        } else if (!call->killed && now - call->when_msec > SCRIPT_LASTS_MSEC_MAX) {
            kill_call(call);
        }
    }
}

/* ---- SENTINEL PENDING-SCRIPTS ---- */

static void reply_number(struct client *c, int64_t number) {
    char text[24];
    snprintf(text, sizeof(text), "%lld", (long long)number);
    reply_bulk_c_string(c, text);
}

static void reply_call(struct client *c, const struct script_call *call, int64_t now) {
    int64_t words = 0, wait = call->when_msec > now ? call->when_msec - now : 0;
    while (call->argv[words]) words++;
    reply_map(c, 5);
    reply_bulk_c_string(c, "argv");
    reply_array(c, words);
    for (int64_t i = 0; i < words; i++) reply_bulk_c_string(c, call->argv[i]);
    reply_bulk_c_string(c, "flags");
    reply_bulk_c_string(c, call->pid ? "running" : "scheduled");
    reply_bulk_c_string(c, "pid");
    reply_number(c, call->pid);
    reply_bulk_c_string(c, call->pid ? "run-time" : "run-delay");
    reply_number(c, call->pid ? now - call->when_msec : wait);
    reply_bulk_c_string(c, "retry-num");
    reply_number(c, call->runs);
}

void sentinel_script_reply_pending(struct client *c) {
    int64_t now = clock_monotonic_msec();
    reply_array(c, (int64_t)queued);
    LIST_FOR_EACH (at, following, &queue) reply_call(c, call_at(at), now);
}
