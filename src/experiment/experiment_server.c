/* SPDX-License-Identifier: BSD-3-Clause
 * Readings of INFO, as lab/watch.c takes them, for blocks instead of a screen.
 *
 * Invariants
 *  1. At most one reading is under way, so that requests do not pile up at a server that stalls.
 *  2. A block's rates are the growth between its first and its last reading; its gauges are the
 *     mean of all readings in it; its latencies are those of all PINGs that were answered in it.
 */
#include "experiment/experiment_server.h"

#include <math.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/memory.h"
#include "peer/peer_client.h"
#include "tools/probe.h"
#include "tools/tool_connection.h"

/* --- readings --------------------------------------------------------------------------------- */

/* The values of the last interval, or of the block, with the load's left unknown. */
static void fill_values(const struct figures *f, double *values) {
    for (unsigned i = 0; i < EXPERIMENT_LOAD_FIGURES; i++) values[i] = NAN;
    for (unsigned i = 0; i < figures_count(); i++)
        values[EXPERIMENT_LOAD_FIGURES + i] = figures_now(f, i);
}

static void take_reading(struct experiment_server *s) {
    struct figures_measured measured = {.asked_nsec = s->asked_nsec,
                                        .now_nsec = clock_monotonic_nsec(),
                                        .own_commands = s->own_commands};
    s->reads = false;
    /* A block may end just after a reading on schedule: an interval so short has no figures. */
    if (!s->is_first && measured.now_nsec - s->taken_nsec < s->interval_msec * 500000) return;
    s->taken_nsec = measured.now_nsec;
    probe_collect(s->interval_probe, &measured);
    figures_add(s->readings, buffer_slice(&s->info), &measured);
    if (!s->is_first) {
        double values[EXPERIMENT_FIGURES_MAX];
        fill_values(s->readings, values);
        if (s->sampled && figures_samples(s->readings) > 1) s->sampled(s->context, values);
        return;
    }
    s->is_first = false;
    figures_mark(s->readings, measured.now_nsec);
    figures_interrupt(s->ends);
    probe_collect(s->block_probe, &measured);
    figures_add(s->ends, buffer_slice(&s->info), &measured);
}

static void take_info_text(void *link, uintptr_t place, const struct peer_reply *reply) {
    struct experiment_server *s = (struct experiment_server *)place;
    if (!reply) {
        s->reads = false;
        return;
    }
    if (reply->type == PEER_BULK) {
        buffer_append(&s->info, reply->text.bytes, reply->text.length);
        buffer_append_c_string(&s->info, "\r\n");
    } else if (reply->type == PEER_ERROR && !s->info.length) {
        memcpy(s->reason, "INFO: ", 6);
        string_show(reply->text, s->reason + 6, sizeof(s->reason) - 6);
    }
}

static void take_latency_text(void *link, uintptr_t place, const struct peer_reply *reply) {
    take_info_text(link, place, reply);
    if (reply) take_reading((struct experiment_server *)place);
}

/* Asks for a reading, unless one is under way. */
static void ask_reading(struct experiment_server *s) {
    const struct peer_request first = {take_info_text, (uintptr_t)s};
    const struct peer_request second = {take_latency_text, (uintptr_t)s};
    struct slice words[] = {SLICE("INFO"), SLICE("latencystats")};
    if (s->reads || !s->control.open) return;
    buffer_clear(&s->info);
    s->asked_nsec = clock_monotonic_nsec();
    s->reads = peer_client_ask(s->control.client, &first, words, 1) &&
               peer_client_ask(s->control.client, &second, words, 2);
    s->own_commands += 2;
}

static int64_t on_reading_due(struct loop_timer *timer) {
    struct experiment_server *s = LIST_ENTRY(timer, struct experiment_server, sample_timer);
    ask_reading(s);
    return s->interval_msec;
}

static void await_reading(struct experiment_server *s) {
    while (s->reads && !experiment_server_failure(s) && tool_link_wait(&s->control)) continue;
}

/* Waits until a reading that is asked for now has come. */
static bool read_now(struct experiment_server *s) {
    await_reading(s);
    ask_reading(s);
    await_reading(s);
    return !experiment_server_failure(s);
}

/* --- the probe -------------------------------------------------------------------------------- */

static void take_probe_pong(void *link, uintptr_t place, const struct peer_reply *reply) {
    struct experiment_server *s = (struct experiment_server *)place;
    if (!reply) return;
    int64_t now_nsec = clock_monotonic_nsec();
    probe_answered(s->interval_probe, now_nsec);
    probe_answered(s->block_probe, now_nsec);
}

static int64_t on_ping_due(struct loop_timer *timer) {
    struct experiment_server *s = LIST_ENTRY(timer, struct experiment_server, probe_timer);
    const struct peer_request request = {take_probe_pong, (uintptr_t)s};
    if (s->probing.open && probe_may_send(s->block_probe) &&
        peer_client_ask(s->probing.client, &request, &SLICE("PING"), 1)) {
        int64_t now_nsec = clock_monotonic_nsec();
        probe_sends(s->interval_probe, now_nsec);
        probe_sends(s->block_probe, now_nsec);
        s->own_commands++;
    }
    return s->probe_msec;
}

double experiment_server_silence_usec(const struct experiment_server *server) {
    if (!server->observes) return 0;
    return (double)probe_waiting_nsec(server->block_probe, clock_monotonic_nsec()) / 1e3;
}

/* --- the server ------------------------------------------------------------------------------- */

const char *experiment_server_failure(const struct experiment_server *server) {
    if (*server->reason) return server->reason;
    if (!server->control.open) return server->control.reason;
    return server->probing.open ? NULL : server->probing.reason;
}

static void describe_version(struct experiment_server *s) {
    struct slice text = buffer_slice(&s->info), redis = SLICE("?"), ours;
    char shown[32], own[32];
    figures_find(text, "redis_version", &redis);
    string_show(redis, shown, sizeof(shown));
    if (figures_find(text, "evenkeel_version", &ours)) {
        snprintf(s->version, sizeof(s->version), "Evenkeel %s",
                 string_show(ours, own, sizeof(own)));
    } else {
        snprintf(s->version, sizeof(s->version), "Redis %s", shown);
    }
}

bool experiment_server_open(struct experiment_server *s, struct loop *loop,
                            const struct tool_connection *login, bool resp3) {
    s->readings = figures_create();
    s->ends = figures_create();
    s->interval_probe = probe_create();
    s->block_probe = probe_create();
    buffer_init(&s->info, MEMORY_OTHER);
    s->sample_timer.callback = on_reading_due;
    s->probe_timer.callback = on_ping_due;
    tool_address_print(login, s->name);
    bool good = tool_link_open(&s->control, loop, login, resp3, "redis-lab-experiment") &&
                tool_link_open(&s->probing, loop, login, resp3, "redis-lab-probe") && read_now(s);
    if (good) describe_version(s);
    if (!good && !*s->reason)
        snprintf(s->reason, sizeof(s->reason), "%s",
                 *s->control.reason ? s->control.reason : s->probing.reason);
    return good;
}

void experiment_server_close(struct experiment_server *s) {
    if (!s->readings) return;
    experiment_server_rest(s);
    tool_link_close(&s->control);
    tool_link_close(&s->probing);
    figures_free(s->readings);
    figures_free(s->ends);
    probe_free(s->interval_probe);
    probe_free(s->block_probe);
    buffer_free(&s->info);
    s->readings = NULL;
}

void experiment_server_observe(struct experiment_server *s) {
    if (s->observes) return;
    s->observes = true;
    figures_interrupt(s->readings);
    loop_timer_start(s->control.loop, &s->sample_timer, s->interval_msec);
    loop_timer_start(s->control.loop, &s->probe_timer, 0);
}

void experiment_server_rest(struct experiment_server *s) {
    s->observes = false;
    if (!s->control.loop) return;
    loop_timer_stop(s->control.loop, &s->sample_timer);
    loop_timer_stop(s->control.loop, &s->probe_timer);
}

static bool info_says(const struct experiment_server *s, const char *field) {
    struct slice value;
    return figures_find(buffer_slice(&s->info), field, &value) && slice_equal(value, SLICE("1"));
}

bool experiment_server_look(struct experiment_server *s, bool *saves) {
    if (!read_now(s)) return false;
    *saves = info_says(s, "rdb_bgsave_in_progress") || info_says(s, "aof_rewrite_in_progress");
    return true;
}

bool experiment_server_begin(struct experiment_server *s) {
    await_reading(s);
    s->is_first = true;
    if (!read_now(s)) return false;
    loop_timer_start(s->control.loop, &s->sample_timer, s->interval_msec);
    return true;
}

bool experiment_server_end(struct experiment_server *s, double values[EXPERIMENT_FIGURES_MAX]) {
    if (!read_now(s)) return false;
    struct figures_measured measured = {.asked_nsec = s->asked_nsec,
                                        .now_nsec = clock_monotonic_nsec(),
                                        .own_commands = s->own_commands};
    probe_collect(s->block_probe, &measured);
    figures_add(s->ends, buffer_slice(&s->info), &measured);
    fill_values(s->ends, values);
    for (unsigned i = 0; i < figures_count(); i++)
        if (figures_is_gauge(i))
            values[EXPERIMENT_LOAD_FIGURES + i] = figures_since(s->readings, i);
    loop_timer_start(s->control.loop, &s->sample_timer, s->interval_msec);
    return true;
}
