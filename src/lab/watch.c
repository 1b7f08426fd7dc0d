/* SPDX-License-Identifier: BSD-3-Clause
 * Two connections to the server, a keyboard, and the loop that joins them.
 *
 * The control connection asks for INFO each interval and for the knobs each second, and sets knobs.
 * The probe connection sends only PINGs, so that a long reply to INFO does not delay them. Each
 * question on the control connection is kept with its time in a ring until its reply arrives.
 *
 * Invariants
 *  1. questions[answered .. asked) are unanswered, in the order in which they were asked.
 *  2. At most one INFO is unanswered, so that requests do not pile up at a server that stalls.
 *  3. `connected` while both connections are open and greeted. When one ends, the screen says so,
 *     and it is opened anew each second; without a screen, or before both were greeted for the
 *     first time, the program ends.
 *  4. Only a write to a slow terminal can block.
 */
#include "lab/watch.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/panic.h"
#include "io/loop.h"
#include "io/signals.h"
#include "lab/watch_options.h"
#include "lab/watch_panel.h"
#include "lab/watch_screen.h"
#include "peer/peer_client.h"
#include "tools/figures.h"
#include "tools/probe.h"
#include "tools/terminal.h"
#include "tools/tool_connection.h"
#include "tools/tool_greeting.h"

/* The limits of a reply. INFO has some ten KiB; a server that sends much more is not a Redis
 * server.
 */
#define TEXT_BYTES_MAX ((size_t)16 * 1024 * 1024)
#define NODES_MAX 65536
/* The most unanswered questions: those of a sample, and some changes of knobs. */
#define QUESTIONS_MAX 32
/* The time limit of each step until a connection is greeted: enough for a slow name lookup and a
 * distant server. */
#define GREETING_MSEC 5000
#define RECONNECT_MSEC 1000
#define KNOBS_MSEC 1000
/* The screen reports a server that has not answered for this long. */
#define SILENCE_MSEC 500
#define TEXT_CHARS 256
#define STATE_CHARS (TEXT_CHARS + 32)

/* One of the two connections. */
struct line {
    struct peer_client *client;
    bool greeted;
};

enum question_kind { ASKED_INFO, ASKED_LATENCYSTATS, ASKED_OPTIONS, ASKED_SET };
struct question {
    enum question_kind kind;
    size_t knob; /* which knob ASKED_SET sets */
    char value[PANEL_VALUE_CHARS];
    int64_t asked_nsec;
};

static struct watch_options options;
static struct loop *loop;
static struct line control, probing;
static struct probe *probe;
static struct figures *figures;
static struct panel panel;
static struct question questions[QUESTIONS_MAX]; /* a ring */
static uint64_t asked, answered;
static uint64_t own_commands; /* sent before the last INFO */
static int64_t info_asked_nsec;
static struct buffer info, picture;
static struct loop_watcher keyboard_watcher;
static struct loop_timer sample_timer, probe_timer;
static bool connected, begun, on_screen; /* begun: both were greeted once */
static int64_t lines_printed, knobs_asked_nsec;
static int exit_status;
static struct buffer server_name;
static char failure[TEXT_CHARS];

/* --- the end, and the picture ----------------------------------------------------------------- */

static void give_up(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Ends the loop with an exit status and a reason; of several calls the first one counts. */
static void give_up(int status, const char *format, ...) {
    if (!exit_status && status) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(failure, sizeof(failure), format, arguments);
        va_end(arguments);
        exit_status = status;
    }
    loop_stop(loop);
}

static void describe_state(char out[STATE_CHARS]) {
    out[0] = '\0';
    int64_t now = clock_monotonic_nsec();
    if (!connected) {
        snprintf(out, STATE_CHARS, "not connected: %s", failure);
        return;
    }
    int64_t silent = probe_waiting_nsec(probe, now);
    if (answered < asked) {
        int64_t waits = now - questions[answered % QUESTIONS_MAX].asked_nsec;
        if (waits > silent) silent = waits;
    }
    if (silent >= SILENCE_MSEC * INT64_C(1000000)) {
        snprintf(out, STATE_CHARS, "no answer for %.1f s", (double)silent / 1e9);
    }
}

static void draw_screen(void) {
    if (!on_screen) return;
    int columns, rows;
    char state[STATE_CHARS];
    describe_state(state);
    terminal_size(&columns, &rows);
    buffer_clear(&picture);
    screen_draw(&(struct screen){server_name.bytes, state, &panel, figures}, columns, rows,
                &picture);
    if (!terminal_write(buffer_slice(&picture))) give_up(1, "the terminal is gone");
}

/* --- questions and answers -------------------------------------------------------------------- */

static void take_answer(void *line, uintptr_t place, const struct peer_reply *reply);

static bool ask_question(const struct question *question, const struct slice *words, size_t count) {
    const struct peer_request request = {take_answer, asked % QUESTIONS_MAX};
    if (asked - answered == QUESTIONS_MAX ||
        !peer_client_ask(control.client, &request, words, count))
        return false;
    struct question *place = &questions[asked++ % QUESTIONS_MAX];
    *place = *question;
    place->asked_nsec = clock_monotonic_nsec();
    return true;
}

static bool info_is_asked(void) {
    for (uint64_t i = answered; i < asked; i++) {
        enum question_kind kind = questions[i % QUESTIONS_MAX].kind;
        if (kind == ASKED_INFO || kind == ASKED_LATENCYSTATS) return true;
    }
    return false;
}

static void ask_for_knobs(void) {
    const char *const *patterns;
    size_t count = panel_patterns(&patterns);
    for (size_t i = 0; i < count; i++) {
        struct slice words[] = {SLICE("CONFIG"), SLICE("GET"), slice_of(patterns[i])};
        ask_question(&(struct question){.kind = ASKED_OPTIONS}, words, 3);
    }
    knobs_asked_nsec = clock_monotonic_nsec();
}

/* The text of an error, for the screen or for standard error, which may be a terminal too. */
static const char *words_of(const struct peer_reply *reply, char out[TEXT_CHARS]) {
    return string_show(reply->text, out, TEXT_CHARS);
}

/* Writes `picture` to standard output; where that fails the program ends with the reason. */
static void print_line(void) {
    if (fwrite(picture.bytes, 1, picture.length, stdout) != picture.length || fflush(stdout)) {
        give_up(1, "standard output: %s", strerror(errno));
    }
}

static void finish_sample(void) {
    struct figures_measured measured = {.asked_nsec = info_asked_nsec,
                                        .now_nsec = clock_monotonic_nsec(),
                                        .own_commands = own_commands};
    probe_collect(probe, &measured);
    figures_add(figures, buffer_slice(&info), &measured);
    if (!options.csv) {
        draw_screen();
        return;
    }
    /* The first reading gives no CSV line, because it has no rates. */
    if (figures_samples(figures) < 2) return;
    buffer_clear(&picture);
    figures_csv_line(figures, clock_wall_usec(), &picture);
    print_line();
    if (++lines_printed == options.samples) loop_stop(loop);
}

static void take_info(enum question_kind kind, const struct peer_reply *reply) {
    char words[TEXT_CHARS];
    if (kind == ASKED_INFO) buffer_clear(&info);
    if (reply->type == PEER_BULK) {
        buffer_append(&info, reply->text.bytes, reply->text.length);
        buffer_append_c_string(&info, "\r\n");
    } else if (reply->type == PEER_ERROR && kind == ASKED_INFO) {
        if (options.csv) give_up(1, "INFO: %s", words_of(reply, words));
        panel_say(&panel, "INFO: %s", words_of(reply, words));
    }
    if (kind == ASKED_LATENCYSTATS) finish_sample();
}

static void take_options(const struct peer_reply *reply) {
    char words[TEXT_CHARS];
    if (reply->type == PEER_ERROR) panel_say(&panel, "CONFIG GET: %s", words_of(reply, words));
    if (reply->type != PEER_ARRAY && reply->type != PEER_MAP) return;
    const struct peer_reply *name = peer_reply_first(reply);
    for (uint32_t i = 0; i + 1 < reply->children; i += 2) {
        const struct peer_reply *value = peer_reply_next(name);
        panel_take_option(&panel, name->text, value->text);
        name = peer_reply_next(value);
    }
}

static void take_set(const struct question *question, const struct peer_reply *reply) {
    char words[TEXT_CHARS];
    bool refused = reply->type == PEER_ERROR;
    panel_set_done(&panel, question->knob, question->value,
                   refused ? words_of(reply, words) : NULL);
    if (!refused) figures_mark(figures, question->asked_nsec);
    ask_for_knobs();
}

/* Reports a change of a knob whose reply was lost, because the change may or may not have happened.
 */
static void say_lost(const struct question *question) {
    if (question->kind != ASKED_SET) return;
    panel_say(&panel, "%s %s: the connection ended before the reply.",
              panel.knobs[question->knob].name, question->value);
}

static void take_answer(void *line, uintptr_t place, const struct peer_reply *reply) {
    struct question question = questions[place];
    answered++;
    if (!reply) {
        say_lost(&question);
        return;
    }
    switch (question.kind) {
    case ASKED_INFO:
    case ASKED_LATENCYSTATS: take_info(question.kind, reply); break;
    case ASKED_OPTIONS: take_options(reply); break;
    case ASKED_SET: take_set(&question, reply); break;
    }
}

/* --- connections ------------------------------------------------------------------------------ */

static void describe_server(struct slice text) {
    struct slice redis = SLICE("of unknown version"), ours;
    buffer_clear(&server_name);
    if (options.path) {
        buffer_append_c_string(&server_name, options.path);
    } else {
        buffer_printf(&server_name, "%s:%" PRId64, options.host, options.port);
    }
    figures_find(text, "redis_version", &redis);
    buffer_append_c_string(&server_name, "  ");
    if (figures_find(text, "evenkeel_version", &ours)) {
        buffer_append_c_string(&server_name, "Evenkeel ");
        buffer_append(&server_name, ours.bytes, ours.length);
        buffer_append_c_string(&server_name, " as ");
    }
    buffer_append_c_string(&server_name, "Redis ");
    buffer_append(&server_name, redis.bytes, redis.length);
}

static void note_greeted(struct line *line) {
    line->greeted = true;
    peer_client_set_patience(line->client, 0);
    if (line == &probing) probe_restart(probe);
    if (!control.greeted || !probing.greeted) return;
    connected = begun = true;
    failure[0] = '\0';
    figures_interrupt(figures);
    draw_screen();
}

/* Takes the reply to a request of the login; an error ends the connection. */
static void take_login(void *line, uintptr_t unused, const struct peer_reply *reply) {
    char words[TEXT_CHARS];
    if (reply && reply->type == PEER_ERROR)
        peer_client_give_up(((struct line *)line)->client, words_of(reply, words));
}

/* Takes the reply to CLIENT SETNAME. An error is ignored, because older servers do not know the
 * command. The probe connection is greeted with this reply. */
static void take_name(void *line, uintptr_t unused, const struct peer_reply *reply) {
    if (reply && line == &probing) note_greeted(line);
}

static void take_server(void *line, uintptr_t unused, const struct peer_reply *reply) {
    if (reply && reply->type == PEER_BULK) {
        describe_server(reply->text);
        note_greeted(line);
    } else if (reply && reply->type != PEER_ERROR) {
        peer_client_give_up(control.client, "it does not answer INFO as Redis does");
    } else {
        take_login(line, unused, reply);
    }
}

/* Sends a request of the greeting; there is always room for it (asserted). */
static void ask_first(struct line *line,
                      void (*answered_by)(void *line, uintptr_t unused,
                                          const struct peer_reply *reply),
                      const struct slice *words, size_t count) {
    const struct peer_request request = {answered_by, 0};
    bool is_asked = peer_client_ask(line->client, &request, words, count);
    ASSERT(is_asked);
}

static void ask_login(struct line *line) {
    const struct tool_connection login = {.user = options.user, .password = options.password};
    struct tool_greeting greeting;
    tool_greeting_init(&greeting, &login, options.resp3);
    for (unsigned i = 0; i < greeting.count; i++)
        tool_greeting_ask(&greeting, i, line->client, take_login);
    tool_greeting_free(&greeting);
}

static void greet_server(void *owner) {
    struct line *line = owner;
    ask_login(line);
    ask_first(line, take_name,
              (struct slice[]){SLICE("CLIENT"), SLICE("SETNAME"), SLICE("redis-lab-watch")}, 3);
    if (line == &control)
        ask_first(line, take_server, (struct slice[]){SLICE("INFO"), SLICE("server")}, 2);
}

static void lose_line(void *owner) {
    struct line *line = owner;
    const char *reason = peer_client_error(line->client);
    line->greeted = false;
    peer_client_set_patience(line->client, GREETING_MSEC);
    if (connected) panel_forget_values(&panel);
    connected = false;
    if (options.csv || !begun) {
        give_up(1, "%s", reason);
        return;
    }
    snprintf(failure, sizeof(failure), "%s", reason);
    draw_screen();
}

/* Drops pushes. */
static void ignore_push(void *line, const struct peer_reply *reply) {}

/* Begins to open the connection. False with the reason in `failure`. */
static bool line_open(struct line *line) {
    static const struct peer_client_events events = {.opened = greet_server, .ended = lose_line};
    const struct peer_client_settings settings = {.loop = loop,
                                                  .class = MEMORY_OTHER,
                                                  .reply = {TEXT_BYTES_MAX, NODES_MAX},
                                                  .asked_max = PROBE_UNANSWERED_MAX,
                                                  .again_msec = RECONNECT_MSEC,
                                                  .events = &events,
                                                  .unasked = ignore_push,
                                                  .owner = line};
    const struct peer_address address = {
        .host = options.host, .port = (int)options.port, .path = options.path};
    line->client = peer_client_create(&settings);
    peer_client_set_patience(line->client, GREETING_MSEC);
    if (peer_client_connect(line->client, &address)) return true;
    snprintf(failure, sizeof(failure), "%s", peer_client_error(line->client));
    return false;
}

/* Opens both connections and waits until they are greeted. False with the reason in `failure`. */
static bool open_both(void) {
    if (!line_open(&control) || !line_open(&probing)) return false;
    while (!begun && !exit_status) loop_turn(loop, -1);
    return begun;
}

/* --- timers and keys -------------------------------------------------------------------------- */

static void take_pong(void *line, uintptr_t unused, const struct peer_reply *reply) {
    if (reply) probe_answered(probe, clock_monotonic_nsec());
}

static int64_t on_probe_due(struct loop_timer *timer) {
    const struct peer_request request = {take_pong, 0};
    if (connected && probe_may_send(probe) &&
        peer_client_ask(probing.client, &request, &SLICE("PING"), 1))
        probe_sends(probe, clock_monotonic_nsec());
    return options.probe_msec;
}

static int64_t on_sample_due(struct loop_timer *timer) {
    if (!connected) return options.interval_msec;
    if (info_is_asked()) {
        draw_screen(); /* shows for how long the server has not answered */
        return options.interval_msec;
    }
    if (on_screen && clock_monotonic_nsec() - knobs_asked_nsec >= KNOBS_MSEC * INT64_C(1000000)) {
        ask_for_knobs();
    }
    own_commands = asked + probe_sent(probe);
    info_asked_nsec = clock_monotonic_nsec();
    if (ask_question(&(struct question){.kind = ASKED_INFO}, &SLICE("INFO"), 1)) {
        ask_question(&(struct question){.kind = ASKED_LATENCYSTATS},
                     (struct slice[]){SLICE("INFO"), SLICE("latencystats")}, 2);
    }
    return options.interval_msec;
}

static void set_knob(void) {
    struct question question = {.kind = ASKED_SET, .knob = panel.selected};
    snprintf(question.value, sizeof(question.value), "%s", panel.typed);
    struct slice words[] = {SLICE("CONFIG"), SLICE("SET"),
                            slice_of(panel.knobs[panel.selected].name), slice_of(question.value)};
    if (!connected || !ask_question(&question, words, 4)) {
        panel_say(&panel, "Not set: the server does not answer.");
        return;
    }
    panel_say(&panel, "Setting %s ...", panel.knobs[panel.selected].name);
}

static void on_key(const struct terminal_key *key) {
    switch (panel_key(&panel, key)) {
    case PANEL_NOTHING: break;
    case PANEL_QUIT: loop_stop(loop); break;
    case PANEL_SET: set_knob(); break;
    case PANEL_MARK:
        figures_mark(figures, clock_monotonic_nsec());
        panel.comparing = true;
        panel_say(&panel, "Marked.");
        break;
    case PANEL_UNMARK:
        figures_unmark(figures);
        panel_say(&panel, "No mark.");
        break;
    }
}

static void on_keyboard_ready(struct loop_watcher *watcher, unsigned ready) {
    char bytes[TEXT_CHARS];
    size_t length;
    if (!terminal_read(bytes, sizeof(bytes), &length)) {
        give_up(1, "the terminal is gone");
        return;
    }
    for (size_t at = 0; at < length;) {
        struct terminal_key key;
        at += terminal_decode_key(bytes + at, length - at, &key);
        on_key(&key);
    }
    draw_screen();
}

/* Called when the stopped process continues. Unanswered requests count from now, because replies
 * that arrived meanwhile waited for this process and say nothing about the server. */
static void resume_watching(void) {
    int64_t now = clock_monotonic_nsec();
    probe_resume(probe, now);
    for (uint64_t i = answered; i < asked; i++) questions[i % QUESTIONS_MAX].asked_nsec = now;
    draw_screen();
}

/* The loop calls this before events and timers read replies. */
static void after_wake(void) {
    if (terminal_take_continued()) resume_watching();
}

static bool before_sleep(void) {
    if (signals_shutdown_requested() || terminal_quit_requested()) loop_stop(loop);
    if (terminal_take_resized()) draw_screen();
    if (terminal_suspend_if_asked()) resume_watching();
    return false;
}

static void (*const after_wake_hooks[])(void) = {after_wake, NULL};
static bool (*const before_sleep_hooks[])(void) = {before_sleep, NULL};

/* --- begin and end ---------------------------------------------------------------------------- */

static void open_all(void) {
    loop = loop_create();
    probe = probe_create();
    figures = figures_create();
    panel_init(&panel);
    buffer_init(&info, MEMORY_OTHER);
    buffer_init(&server_name, MEMORY_OTHER);
    buffer_init(&picture, MEMORY_OTHER);
    keyboard_watcher = (struct loop_watcher){.fd = STDIN_FILENO, .callback = on_keyboard_ready};
    sample_timer.callback = on_sample_due;
    probe_timer.callback = on_probe_due;
    loop_set_hooks(loop, &(struct loop_hooks){.after_wake = after_wake_hooks,
                                              .before_sleep = before_sleep_hooks});
}

static void close_all(void) {
    loop_unwatch(loop, &keyboard_watcher);
    peer_client_free(control.client);
    peer_client_free(probing.client);
    probe_free(probe);
    figures_free(figures);
    buffer_free(&info);
    buffer_free(&server_name);
    buffer_free(&picture);
    signals_setup(NULL);
    loop_free(loop);
}

/* Makes signals wake the loop. SIGHUP ends the program, unless nohup made the process ignore it. */
static void listen_to_signals(void) {
    struct sigaction hangup;
    ASSERT(sigaction(SIGHUP, NULL, &hangup) == 0);
    signals_setup(loop);
    ASSERT(sigaction(SIGHUP, &hangup, NULL) == 0);
}

/* False with the reason in `failure`. A signal that comes while the first connection is opened
 * ends the process at once, because the terminal is not taken yet. */
static bool begin_watching(void) {
    if (!options.csv && !terminal_is_there()) {
        snprintf(failure, sizeof(failure),
                 "standard input and output are no terminal (--csv needs none)");
        return false;
    }
    if (!open_both()) return false;
    listen_to_signals();
    if (options.csv) {
        figures_csv_header(&picture);
        print_line();
        return !exit_status;
    }
    on_screen = terminal_open(loop) && loop_watch(loop, &keyboard_watcher, LOOP_READABLE);
    if (!on_screen) snprintf(failure, sizeof(failure), "the terminal cannot be used");
    return on_screen;
}

int watch_run(int count, char **words) {
    switch (watch_options_read(&options, count, words, failure, sizeof(failure))) {
    case WATCH_OPTIONS_HELP: return fputs(watch_usage, stdout) < 0;
    case WATCH_OPTIONS_BAD:
        fprintf(stderr, "redis-lab watch: %s (--help lists the options)\n", failure);
        return 2;
    case WATCH_OPTIONS_RUN: break;
    }
    open_all();
    if (begin_watching()) {
        loop_timer_start(loop, &probe_timer, 0);
        loop_timer_start(loop, &sample_timer, 0);
        loop_run(loop);
    } else {
        exit_status = 1;
    }
    terminal_close();
    if (exit_status) fprintf(stderr, "redis-lab watch: %s\n", failure);
    close_all();
    return exit_status;
}
