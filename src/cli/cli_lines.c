/* SPDX-License-Identifier: BSD-3-Clause
 * Lines: the prompt, lines that redis-cli itself handles, and commands to the server.
 */
#include "cli/cli_lines.h"

#include <inttypes.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/number.h"
#include "cli/cli_editor.h"
#include "cli/cli_format.h"
#include "cli/cli_help.h"
#include "cli/cli_link.h"
#include "cli/cli_options.h"
#include "cli/cli_run.h"

#define PROMPT_CHARS 320
#define PATH_CHARS 4096
/* The duration of a command is printed from here on. */
#define SLOW_SEC 0.5

enum line_verdict { LINE_GO_ON, LINE_END };

static struct cli_options *options;

static const char *make_prompt(char prompt[PROMPT_CHARS]) {
    const struct cli_session *s = cli_run_session();
    const struct tool_connection *c = &options->connection;
    char place[PROMPT_CHARS - 64], database[32] = "";
    if (!cli_link_is_open()) return "not connected> ";
    if (c->path) {
        snprintf(place, sizeof(place), "redis %s", c->path);
    } else {
        bool is_ipv6 = strchr(c->host, ':') != NULL;
        snprintf(place, sizeof(place), "%s%.200s%s:%" PRId64, is_ipv6 ? "[" : "", c->host,
                 is_ipv6 ? "]" : "", c->port);
    }
    if (s->database) snprintf(database, sizeof(database), "[%" PRId64 "]", s->database);
    snprintf(prompt, PROMPT_CHARS, "%s%s%s> ", place, database, s->in_transaction ? "(TX)" : "");
    return prompt;
}

/* --- what is meant for redis-cli itself ------------------------------------------------------- */

static void set_preference(const struct slice *words, size_t count) {
    bool on = count == 2 && slice_is(words[1], "hints");
    if (on || (count == 2 && slice_is(words[1], "nohints"))) {
        cli_editor_show_hints(on);
    } else {
        printf("unknown preference; there are :set hints and :set nohints\n");
    }
}

bool cli_lines_show_help(const struct slice *words, size_t count) {
    struct buffer out = {.class = MEMORY_OTHER};
    if (!slice_is(words[0], "help") && !slice_is(words[0], "?")) return false;
    cli_help_print(&out, words + 1, count - 1, isatty(STDOUT_FILENO));
    cli_format_flush(&out);
    buffer_free(&out);
    return true;
}

static void connect_elsewhere(const struct slice *words) {
    int64_t port;
    if (!number_parse_int64(words[2].bytes, words[2].length, &port) || port < 0 || port > 65535) {
        printf("connect wants a host and a port\n");
        return;
    }
    options->connection.host = slice_dup_c_string(words[1], MEMORY_OTHER);
    options->connection.port = port;
    options->connection.path = NULL;
    bool connected = cli_run_connect();
    (void)connected; /* the prompt shows whether it is connected */
}

/* Runs a line that redis-cli itself handles. False where the line is a command to the server. */
static bool run_own(const struct slice *words, size_t count, enum line_verdict *verdict) {
    if (slice_is(words[0], "quit") || slice_is(words[0], "exit")) {
        *verdict = LINE_END;
    } else if (slice_is(words[0], ":set")) {
        set_preference(words, count);
    } else if (slice_is(words[0], "clear") && count == 1) {
        printf("\033[H\033[2J");
    } else if (slice_is(words[0], "connect") && count == 3) {
        connect_elsewhere(words);
    } else {
        return cli_lines_show_help(words, count);
    }
    return true;
}

/* Applies the ":set" lines of ~/.redisclirc, or of the file that REDISCLI_RCFILE names. */
static void read_preferences(void) {
    char path[PATH_CHARS], *text = NULL;
    size_t size = 0;
    const char *chosen = getenv("REDISCLI_RCFILE"), *home = getenv("HOME");
    snprintf(path, sizeof(path), "%s%s",
             chosen ? chosen
             : home ? home
                    : "",
             chosen ? "" : "/.redisclirc");
    FILE *file = chosen || home ? fopen(path, "re") : NULL;
    if (!file) return;
    while (getline(&text, &size, file) > 0) {
        struct buffer storage = {.class = MEMORY_OTHER};
        struct slice *words;
        int count = string_split_words(slice_of(text), &storage, &words);
        if (count > 0 && slice_is(words[0], ":set")) set_preference(words, (size_t)count);
        if (count >= 0) memory_free(words, MEMORY_OTHER);
        buffer_free(&storage);
    }
    free(text);
    (void)fclose(file);
}

/* --- commands --------------------------------------------------------------------------------- */

static void run_command(const struct slice *words, size_t count) {
    int64_t repeat = options->repeat, times;
    bool repeats = count > 1 && number_parse_int64(words[0].bytes, words[0].length, &times);
    if (repeats && times <= 0) {
        printf("Invalid redis-cli repeat command option value.\n");
        return;
    }
    if (repeats) repeat = times;
    int64_t began = clock_monotonic_nsec();
    enum cli_outcome outcome = cli_run(words + repeats, count - repeats, repeat);
    double seconds = (double)(clock_monotonic_nsec() - began) / 1e9;
    bool answered = outcome == CLI_ANSWERED || outcome == CLI_REFUSED;
    if (answered && seconds >= SLOW_SEC && options->output == CLI_FORMATTED) {
        printf("(%.2fs)\n", seconds);
    }
}

static enum line_verdict run_line(const char *text) {
    struct buffer storage = {.class = MEMORY_OTHER};
    struct slice *words;
    enum line_verdict verdict = LINE_GO_ON;
    int count = string_split_words(slice_of(text), &storage, &words);
    if (count < 0) {
        printf("Invalid argument(s)\n");
    } else if (count > 0 && !run_own(words, (size_t)count, &verdict)) {
        run_command(words, (size_t)count);
    }
    if (count >= 0) memory_free(words, MEMORY_OTHER);
    buffer_free(&storage);
    (void)fflush(stdout);
    return verdict;
}

int cli_lines_run(struct cli_options *o) {
    options = o;
    bool connected = cli_link_is_open() || cli_run_connect();
    /* A script must not continue without its server; a person may start the server and go on. */
    if (!connected && !o->input_is_terminal) return 1;
    cli_editor_open();
    if (o->input_is_terminal) read_preferences();
    const char *text;
    char prompt[PROMPT_CHARS];
    while ((text = cli_editor_read(make_prompt(prompt)))) {
        cli_editor_remember(text);
        if (run_line(text) == LINE_END) break;
    }
    cli_editor_close();
    return 0;
}
