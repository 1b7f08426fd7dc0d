/* SPDX-License-Identifier: BSD-3-Clause
 * A script from a file: EVAL, or a session of the server's debugger.
 *
 * In a session the server answers each command by an array of lines. The line "<endsession>" means
 * that the script's own reply follows, and that the server then closes the connection.
 */
#include "cli/cli_eval.h"

#include <errno.h>

#include "base/memory.h"
#include "base/number.h"
#include "cli/cli_editor.h"
#include "cli/cli_format.h"
#include "cli/cli_link.h"
#include "cli/cli_options.h"
#include "cli/cli_run.h"
#include "cli/cli_words.h"

#define READ_BYTES 65536

static const struct cli_options *options;
static struct buffer out = {.class = MEMORY_OTHER};

/* Reads the file. False with a message. */
static bool read_script(const char *path, struct buffer *script) {
    FILE *file = fopen(path, "re");
    if (!file) {
        fprintf(stderr, "Can't open file '%s': %s\n", path, strerror(errno));
        return false;
    }
    size_t got;
    do {
        got = fread(buffer_reserve(script, READ_BYTES), 1, READ_BYTES, file);
        script->length += got;
    } while (got);
    bool good = !ferror(file);
    if (!good) fprintf(stderr, "Can't read file '%s': %s\n", path, strerror(errno));
    (void)fclose(file);
    return good;
}

/* Makes the words "EVAL script count key ... argument ..."; `digits` stores the count's text. */
static bool make_words(struct cli_words *w, struct slice script, int count, char *const *arguments,
                       char digits[NUMBER_INT64_CHARS]) {
    int keys = 0;
    cli_words_init(w);
    while (keys < count && strcmp(arguments[keys], ",") != 0) keys++;
    cli_words_add(w, SLICE("EVAL"));
    cli_words_add(w, script);
    cli_words_add(w, (struct slice){digits, number_format_int64(digits, keys)});
    if (!cli_words_take_arguments(w, keys, arguments, options->quoted_input)) return false;
    if (keys < count) keys++;
    return cli_words_take_arguments(w, count - keys, arguments + keys, options->quoted_input);
}

/* --- the debugger ----------------------------------------------------------------------------- */

struct colour_row {
    const char *begin, *colour;
};
static const struct colour_row colour_rows[] = {
    {"<debug>", "\033[36m"}, {"<redis>", "\033[32m"}, {"<reply>", "\033[36m"},
    {"<error>", "\033[31m"}, {"<value>", "\033[35m"}, {"<retval>", "\033[35m"},
    {"-> ", "\033[33m"},
};

static const char *colour_of(struct slice text) {
    for (size_t i = 0; i < sizeof(colour_rows) / sizeof(colour_rows[0]); i++) {
        size_t length = strlen(colour_rows[i].begin);
        if (text.length >= length && !memcmp(text.bytes, colour_rows[i].begin, length)) {
            return colour_rows[i].colour;
        }
    }
    return "";
}

/* Shows the lines of a reply; true where the session has ended. */
static bool show_lines(const struct peer_reply *reply) {
    bool ended = false, colours = isatty(STDOUT_FILENO);
    const struct peer_reply *text = peer_reply_first(reply);
    for (uint32_t i = 0; i < reply->children; i++, text = peer_reply_next(text)) {
        if (slice_is(text->text, "<endsession>")) {
            ended = true;
            continue;
        }
        const char *colour = colours ? colour_of(text->text) : "";
        buffer_append_c_string(&out, colour);
        cli_format_text(&out, text->text);
        buffer_append_c_string(&out, *colour ? "\033[0m\n" : "\n");
    }
    cli_format_flush(&out);
    return ended;
}

enum session_end { SESSION_OVER, SESSION_AGAIN, SESSION_QUIT };
enum said { SAID, SAID_NOTHING, SAID_AGAIN, SAID_QUIT };

/* Reads and shows one answer of the debugger; true where the session has ended, after the script's
 * reply was shown. */
static bool hear_server(void) {
    const struct peer_reply *reply = cli_link_read();
    bool is_lines = reply && reply->type == PEER_ARRAY &&
                    (!reply->children || peer_reply_first(reply)->type == PEER_STATUS);
    if (is_lines && !show_lines(reply)) return false;
    if (is_lines) reply = cli_link_read();
    if (!reply) {
        if (!is_lines) fprintf(stderr, "Error: %s\n", cli_link_error());
        return true;
    }
    printf("\n");
    cli_format_reply(&out, reply, (enum cli_output)options->output, options, false);
    cli_format_flush(&out);
    return true;
}

/* Sends a line that the user typed to the debugger, unless redis-cli itself handles it ("restart",
 * "quit", "exit"). */
static enum said speak_to_debugger(const char *text) {
    struct buffer storage = {.class = MEMORY_OTHER};
    struct slice *words;
    enum said said = SAID_NOTHING;
    int count = string_split_words(slice_of(text), &storage, &words);
    if (count < 0) printf("Invalid argument(s)\n");
    if (count > 0) {
        bool quits = slice_is(words[0], "quit") || slice_is(words[0], "exit");
        said = slice_is(words[0], "restart") ? SAID_AGAIN : quits ? SAID_QUIT : SAID;
    }
    if (said == SAID) cli_link_send(words, (size_t)count);
    if (count >= 0) memory_free(words, MEMORY_OTHER);
    buffer_free(&storage);
    return said;
}

static enum session_end debug_session(const struct cli_words *w) {
    struct slice mode = options->debug_synchronously ? SLICE("SYNC") : SLICE("YES");
    const struct peer_reply *reply =
        cli_link_call((struct slice[]){SLICE("SCRIPT"), SLICE("DEBUG"), mode}, 3);
    if (!reply || reply->type == PEER_ERROR) {
        cli_format_complain("Error: ", reply ? reply->text : slice_of(cli_link_error()));
        return SESSION_QUIT;
    }
    printf(
        "Lua debugging session started, please use:\n"
        "quit    -- End the session.\n"
        "restart -- Restart the script in debug mode again.\n"
        "help    -- Show Lua script debugging commands.\n\n");
    cli_link_send(w->words, w->count);
    bool ended = hear_server();
    while (!ended) {
        const char *text = cli_editor_read("lua debugger> ");
        if (!text) return SESSION_QUIT;
        cli_editor_remember(text);
        enum said said = speak_to_debugger(text);
        if (said == SAID_AGAIN) return SESSION_AGAIN;
        if (said == SAID_QUIT) return SESSION_QUIT;
        if (said == SAID) ended = hear_server();
    }
    printf("\n(Lua debugging session ended%s)\n\n",
           options->debug_synchronously ? "" : " -- dataset changes rolled back");
    return SESSION_OVER;
}

static int run_debugger(int count, char *const *arguments) {
    enum session_end end = SESSION_AGAIN;
    cli_editor_open();
    cli_editor_show_hints(false);
    while (end == SESSION_AGAIN) {
        /* A restart reads the file again, because the user may have changed it. */
        struct buffer script = {.class = MEMORY_OTHER};
        struct cli_words words;
        char digits[NUMBER_INT64_CHARS];
        cli_words_init(&words);
        bool good = cli_run_connect() && cli_link_is_greeted() &&
                    read_script(options->file, &script) &&
                    make_words(&words, buffer_slice(&script), count, arguments, digits);
        if (good) end = debug_session(&words);
        cli_words_free(&words);
        buffer_free(&script);
        if (!good) break;
    }
    cli_editor_show_hints(true);
    cli_editor_close();
    cli_link_close();
    return end == SESSION_AGAIN;
}

static int run_script(struct slice script, int count, char *const *arguments) {
    struct cli_words words;
    char digits[NUMBER_INT64_CHARS];
    int status = 1;
    if (!make_words(&words, script, count, arguments, digits)) {
        printf("Invalid quoted string\n");
    } else if (cli_run_connect() && cli_link_is_greeted()) {
        enum cli_outcome outcome = cli_run(words.words, words.count, options->repeat);
        status = outcome == CLI_LOST || (outcome == CLI_REFUSED && options->exit_by_error);
    }
    cli_words_free(&words);
    return status;
}

int cli_eval_run(const struct cli_options *o, int count, char *const *arguments) {
    options = o;
    if (o->debug_script || o->debug_synchronously) return run_debugger(count, arguments);
    struct buffer script = {.class = MEMORY_OTHER};
    bool good = read_script(o->file, &script);
    int status = good ? run_script(buffer_slice(&script), count, arguments) : 1;
    buffer_free(&script);
    return status;
}
