/* SPDX-License-Identifier: BSD-3-Clause
 * One block after the other.
 *
 *     with --each-block: the last save has ended | set | settle (watched, not counted) |
 *     begin: a reading | measure | end: a reading, and the load's requests that were due in the
 *     block are answered
 *
 * Invariants
 *  1. The limits are tested after each reading, in the pauses too, and while the server is silent.
 *  2. Only the server of the present block is observed.
 */
#include "experiment/experiment_blocks.h"

#include <math.h>

#include "base/clock.h"
#include "base/memory.h"
#include "experiment/experiment_load.h"
#include "experiment/experiment_starter.h"
#include "tools/tool_watcher.h"

/* The longest sleep between two looks at signals and limits. */
#define LOOK_MSEC 50
/* A block whose requests are still unanswered after this time ends the run. */
#define ANSWERS_SECONDS 10
/* A save or a rewrite of the log that still runs after this time is waited for no longer. */
#define SAVES_SECONDS 300
/* Between two looks whether it has ended. */
#define SAVES_LOOK_SECONDS 0.1
/* A block in which more of the load than this was sent late, in percent, is marked. */
#define LATE_PERCENT 1

struct run {
    const struct experiment_blocks *b;
    struct experiment_record *record;
    struct experiment_server *server;          /* of the present block */
    const char *present[EXPERIMENT_KNOBS_MAX]; /* the values that the first server has now */
    int64_t began_nsec;
    bool over; /* record->outcome says why */
};

static void end_run(struct run *run, enum experiment_outcome outcome, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Of several ends the first one counts. */
static void end_run(struct run *run, enum experiment_outcome outcome, const char *format, ...) {
    if (run->over) return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(run->record->reason, sizeof(run->record->reason), format, arguments);
    va_end(arguments);
    run->record->outcome = outcome;
    run->over = true;
}

static double run_seconds(const struct run *run) {
    return (double)(clock_monotonic_nsec() - run->began_nsec) / 1e9;
}

/* --- limits ----------------------------------------------------------------------------------- */

static void test_limits(struct run *run, const double *values) {
    for (unsigned i = 0; i < run->b->limit_count; i++) {
        const struct experiment_limit *limit = &run->b->limits[i];
        char shown[FIGURES_TEXT_CHARS];
        double value = values[limit->figure];
        if (!experiment_limit_is_passed(limit, value)) continue;
        figures_format(shown, experiment_figure_row(limit->figure)->unit, value);
        end_run(run, EXPERIMENT_STOPPED, "%.100s: %s is %s", limit->text,
                experiment_figure_row(limit->figure)->name, shown);
    }
}

/* A server that answers nothing gives no reading: the PINGs that wait are a latency all the same,
 * once they have waited longer than a reading's interval. */
static void test_silence(struct run *run) {
    double silence_usec = experiment_server_silence_usec(run->server);
    if (silence_usec <= (double)run->server->interval_msec * 1e3) return;
    for (unsigned i = 0; i < run->b->limit_count; i++) {
        const struct experiment_limit *limit = &run->b->limits[i];
        bool is_latency = experiment_figure_row(limit->figure)->unit == FIGURE_USEC;
        if (!is_latency || !limit->above || silence_usec <= limit->limit) continue;
        end_run(run, EXPERIMENT_STOPPED, "%.100s: the server has not answered for %.1f s",
                limit->text, silence_usec / 1e6);
    }
}

static void take_sampled(void *context, double *values) {
    struct run *run = context;
    if (run->b->load) experiment_load_take_interval(run->b->load, values);
    experiment_record_add_sample(run->record, run_seconds(run), values);
    test_limits(run, values);
}

/* --- a block ---------------------------------------------------------------------------------- */

static void look_around(struct run *run) {
    const char *failure = experiment_server_failure(run->server);
    if (run->b->interrupted()) {
        end_run(run, EXPERIMENT_INTERRUPTED, "ended by a signal");
    } else if (failure) {
        end_run(run, EXPERIMENT_FAILED, "%.200s: %.400s", run->server->name, failure);
    } else if (run->b->watcher && !tool_watcher_lives(run->b->watcher)) {
        end_run(run, EXPERIMENT_FAILED, "the process that watches over the old values has ended");
    } else if (!experiment_starter_is_kept(run->b->starter)) {
        end_run(run, EXPERIMENT_FAILED, "the process that ends the servers has ended");
    }
    failure = run->b->load ? experiment_load_failure(run->b->load) : NULL;
    if (failure) end_run(run, EXPERIMENT_FAILED, "the load: %.400s", failure);
    if (!run->over) test_silence(run);
}

/* Turns the loop for so many seconds, or until the run is over. */
static void pass_time(struct run *run, double seconds) {
    int64_t until = clock_monotonic_nsec() + (int64_t)(seconds * 1e9);
    for (;;) {
        look_around(run);
        int64_t left_msec = (until - clock_monotonic_nsec() + 999999) / 1000000;
        if (run->over || left_msec <= 0) return;
        loop_turn(run->b->loop, left_msec < LOOK_MSEC ? left_msec : LOOK_MSEC);
    }
}

/* Gives the first server the arm's values. Only those that differ from the present ones are set. */
static void set_arm_values(struct run *run, const struct experiment_arm *arm) {
    const struct experiment_plan *plan = run->b->plan;
    struct tool_value values[EXPERIMENT_KNOBS_MAX];
    char reason[TOOL_REASON_CHARS];
    size_t count = 0, failed = 0;
    if (arm->is_other || arm->is_started) return;
    for (unsigned k = 0; k < plan->knob_count; k++) {
        const char *value = arm->values[k] ? arm->values[k] : run->b->old[k];
        if (!strcmp(value, run->present[k])) continue;
        values[count++] = (struct tool_value){plan->knobs[k], value};
        run->present[k] = value;
    }
    if (!count) return;
    if (tool_config_set(&run->b->servers[0].control, values, count, &failed, reason) ==
        TOOL_CONFIG_GOOD)
        return;
    end_run(run, EXPERIMENT_FAILED, "CONFIG SET %.100s %.100s: %.300s", values[failed].name,
            values[failed].value, reason);
}

static void send_each_block(struct run *run) {
    struct tool_answer answer;
    struct buffer storage = {.class = MEMORY_OTHER};
    struct slice *words = NULL;
    int count = string_split_words(slice_of(run->b->each_block), &storage, &words);
    tool_answer_init(&answer);
    if (count > 0 && tool_link_ask(&run->server->control, &answer, words, (size_t)count) &&
        answer.refused)
        end_run(run, EXPERIMENT_FAILED, "--each-block: %.300s", tool_answer_text(&answer, 0));
    tool_answer_free(&answer);
    buffer_free(&storage);
    memory_free(words, MEMORY_OTHER);
}

/* A save that the block before has begun would disturb this one, and a second one is refused while
 * it runs. */
static void await_saves(struct run *run) {
    double until_s = run_seconds(run) + SAVES_SECONDS;
    bool saves = false;
    while (!run->over && experiment_server_look(run->server, &saves) && saves) {
        pass_time(run, SAVES_LOOK_SECONDS);
        if (run_seconds(run) > until_s)
            end_run(run, EXPERIMENT_FAILED, "a save has not ended for %d s", SAVES_SECONDS);
    }
    look_around(run);
}

static bool is_run_over(void *context) {
    struct run *run = context;
    look_around(run);
    return run->over;
}

static void choose_server(struct run *run, unsigned index) {
    struct experiment_server *server = &run->b->servers[index];
    if (run->server != server && run->server) experiment_server_rest(run->server);
    run->server = server;
    server->sampled = take_sampled;
    server->context = server->control.context = run;
    server->control.gives_up = is_run_over;
    if (run->b->load) experiment_load_choose(run->b->load, index);
    experiment_server_observe(server);
}

/* Waits until the load's requests of the block are answered, and adds their figures. */
static void end_load_block(struct run *run, struct experiment_block *block) {
    double until_s = run_seconds(run) + ANSWERS_SECONDS;
    while (!run->over && !experiment_load_block_is_over(run->b->load)) {
        loop_turn(run->b->loop, 1);
        look_around(run);
        if (run_seconds(run) > until_s) break;
    }
    experiment_load_take_block(run->b->load, block->values);
    if (run_seconds(run) <= until_s) return;
    char answered[FIGURES_TEXT_CHARS];
    figures_format(answered, experiment_figure_row(EXPERIMENT_REQUESTS)->unit,
                   block->values[EXPERIMENT_REQUESTS] + block->values[EXPERIMENT_ERRORS]);
    end_run(run, EXPERIMENT_FAILED,
            "%d s after a block its load is not answered but for %s requests a second: the server "
            "stalls, or %s is more than the server or this machine can do",
            ANSWERS_SECONDS, answered, run->record->trace ? "--pace" : "--rate");
}

static void run_block(struct run *run, unsigned round, unsigned index) {
    struct experiment_block block = {.round = round, .arm = index};
    const struct experiment_arm *arm = &run->b->plan->arms[index];
    choose_server(run, arm->server);
    if (run->b->each_block) await_saves(run);
    block.set_s = run_seconds(run);
    if (!run->over) set_arm_values(run, arm);
    if (!run->over) pass_time(run, run->b->settle_s);
    if (run->over || !experiment_server_begin(run->server)) {
        look_around(run);
        return;
    }
    block.begin_s = run_seconds(run);
    if (run->b->load) experiment_load_begin_block(run->b->load, run->b->block_s);
    if (run->b->each_block) send_each_block(run);
    pass_time(run, run->b->block_s);
    if (run->over || !experiment_server_end(run->server, block.values)) {
        look_around(run);
        return;
    }
    block.end_s = run_seconds(run);
    if (run->b->load) end_load_block(run, &block);
    if (run->over) return;
    if (block.values[EXPERIMENT_LATE] > LATE_PERCENT) run->record->late_blocks++;
    *experiment_record_add_block(run->record) = block;
}

void experiment_blocks_run(const struct experiment_blocks *b, struct experiment_record *record) {
    const struct experiment_plan *plan = b->plan;
    struct run run = {.b = b, .record = record, .began_nsec = clock_monotonic_nsec()};
    record->began_wall_msec = clock_wall_msec();
    record->outcome = EXPERIMENT_COMPLETE;
    for (unsigned k = 0; k < plan->knob_count; k++) run.present[k] = b->old ? b->old[k] : NULL;
    for (unsigned round = 0; round < plan->rounds && !run.over; round++) {
        for (unsigned place = 0; place < plan->arm_count && !run.over; place++) {
            if (b->progress) b->progress(record);
            run_block(&run, round, plan->order[round * plan->arm_count + place]);
        }
    }
    for (unsigned i = 0; i < plan->server_count; i++) b->servers[i].control.gives_up = NULL;
    if (run.server) experiment_server_rest(run.server);
}
