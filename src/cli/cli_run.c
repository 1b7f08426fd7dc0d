/* SPDX-License-Identifier: BSD-3-Clause
 * Runs one command: shows its reply, tracks the session's database and transaction, follows
 * redirections of a cluster.
 *
 * Invariants
 *  1. The session changes only by replies, not by requests, so that it has the server's state.
 *  2. The connection's settings have the session's database, so that a new connection selects the
 *     database of the old one. A transaction ends with its connection.
 */
#include "cli/cli_run.h"

#include <errno.h>
#include <inttypes.h>

#include "base/memory.h"
#include "base/number.h"
#include "cli/cli_format.h"
#include "cli/cli_link.h"

/* The most redirections of one command; a cluster that sends more redirects in circles. */
#define REDIRECTIONS_MAX 16

static struct cli_options *options;
static struct cli_session session;
/* For each queued command of the transaction an int64_t: the database that it selects, -1 = none.
 */
static struct buffer queued = {.class = MEMORY_OTHER};
static struct buffer out = {.class = MEMORY_OTHER};
static bool link_has_answered; /* a reply has come since the link was opened */

void cli_run_init(struct cli_options *o) {
    options = o;
    session = (struct cli_session){.database = o->connection.database};
}

const struct cli_session *cli_run_session(void) { return &session; }

void cli_run_show_push(const struct peer_reply *push) {
    if (!options->show_pushes) return;
    cli_format_reply(&out, push, (enum cli_output)options->output, options, false);
    cli_format_flush(&out);
}

bool cli_run_connect(void) {
    link_has_answered = false;
    session.in_transaction = false;
    buffer_free(&queued);
    if (!cli_link_open()) return false;
    /* Where the greeting failed, the prompt must not show a database that was not selected. */
    session.database = cli_link_is_greeted() ? options->connection.database : 0;
    return true;
}

void cli_run_pause(double seconds) {
    struct timespec left = {.tv_sec = (time_t)seconds};
    left.tv_nsec = (long)((seconds - (double)left.tv_sec) * 1e9);
    while (nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
}

/* --- what a reply says of the session --------------------------------------------------------- */

static void set_database(int64_t database) {
    session.database = database;
    options->connection.database = database;
}

static bool is_status(const struct peer_reply *reply, const char *text) {
    return reply->type == PEER_STATUS && slice_is(reply->text, text);
}

/* The database that the words select; -1 = none. */
static int64_t selected_by(const struct slice *words, size_t count) {
    int64_t database;
    bool selects = count == 2 && slice_is(words[0], "select") &&
                   number_parse_int64(words[1].bytes, words[1].length, &database);
    return selects ? database : -1;
}

/* Notes the reply to EXEC: a queued SELECT counts only where its own reply is OK. */
static void note_executed(const struct peer_reply *reply) {
    const struct peer_reply *child = peer_reply_first(reply);
    size_t count = queued.length / sizeof(int64_t);
    for (size_t i = 0; i < reply->children && i < count; i++, child = peer_reply_next(child)) {
        int64_t database;
        memcpy(&database, queued.bytes + i * sizeof(database), sizeof(database));
        if (database >= 0 && is_status(child, "OK")) set_database(database);
    }
}

static void end_transaction(void) {
    session.in_transaction = false;
    buffer_free(&queued);
}

static void note_reply(const struct slice *words, size_t count, const struct peer_reply *reply) {
    int64_t database = selected_by(words, count);
    if (session.in_transaction && is_status(reply, "QUEUED")) {
        buffer_append(&queued, &database, sizeof(database));
    }
    if (database >= 0 && is_status(reply, "OK")) set_database(database);
    if (slice_is(words[0], "multi") && is_status(reply, "OK")) session.in_transaction = true;
    if (slice_is(words[0], "exec")) {
        if (peer_reply_is_aggregate(reply)) note_executed(reply);
        end_transaction();
    }
    if (slice_is(words[0], "discard") && is_status(reply, "OK")) end_transaction();
    if (slice_is(words[0], "reset") && is_status(reply, "RESET")) {
        end_transaction();
        set_database(0);
    }
}

/* --- replies ---------------------------------------------------------------------------------- */

static void show_reply(const struct slice *words, size_t count, const struct peer_reply *reply) {
    if (reply->type == PEER_ERROR && options->exit_by_error) {
        cli_format_complain("", reply->text);
        return;
    }
    bool as_text = cli_format_is_text_command(words, count);
    enum cli_output output = (enum cli_output)options->output;
    /* LOLWUT's picture has colours, which are escape sequences. */
    if (as_text && slice_is(words[0], "lolwut")) output = CLI_RAW;
    cli_format_reply(&out, reply, output, options, as_text);
    cli_format_flush(&out);
}

/* Shows replies until the user interrupts or the connection ends. With `begins` the first reply may
 * be an error, after which no stream follows. */
static enum cli_outcome follow_stream(bool begins) {
    if (options->output == CLI_FORMATTED) {
        printf("Reading messages... (press Ctrl-C to quit)\n");
        (void)fflush(stdout);
    }
    const struct peer_reply *reply;
    cli_link_heed_interrupt(options->input_is_terminal && options->output == CLI_FORMATTED);
    while ((reply = cli_link_read())) {
        cli_format_reply(&out, reply, (enum cli_output)options->output, options, false);
        cli_format_flush(&out);
        if (begins && reply->type == PEER_ERROR) break;
        begins = false;
    }
    bool refused = begins && reply;
    bool enough = cli_link_take_interrupt();
    cli_link_heed_interrupt(false);
    /* After a stream the command is not repeated automatically on a new connection. */
    link_has_answered = refused;
    if (refused) return CLI_REFUSED;
    if (!enough) return CLI_LOST;
    /* A new connection, because the server continues to send the stream on this one. */
    printf("\n");
    return cli_run_connect() ? CLI_STOPPED : CLI_LOST;
}

static bool is_one_of(struct slice word, const char *const *names) {
    for (; *names; names++) {
        if (slice_is(word, *names)) return true;
    }
    return false;
}

/* --- redirections ----------------------------------------------------------------------------- */

/* Follows the errors "MOVED 3999 127.0.0.1:7001" and "ASK ...": connects to that server. False
 * where the reply is neither, or where connecting fails. */
static bool follow_redirection(const struct peer_reply *reply) {
    struct buffer storage = {.class = MEMORY_OTHER};
    struct slice *parts;
    int64_t port = 0;
    if (!options->follow || reply->type != PEER_ERROR) return false;
    int count = string_split_words(reply->text, &storage, &parts);
    if (count < 0) {
        buffer_free(&storage);
        return false;
    }
    bool asks = count == 3 && slice_equal(parts[0], SLICE("ASK"));
    bool good = asks || (count == 3 && slice_equal(parts[0], SLICE("MOVED")));
    const char *colon = good ? strrchr(parts[2].bytes, ':') : NULL;
    good = colon && number_parse_int64(colon + 1, strlen(colon + 1), &port) && port > 0 &&
           port <= 65535;
    if (good) {
        /* An empty host stands for the host of the server that answered. */
        struct slice host = {parts[2].bytes, (size_t)(colon - parts[2].bytes)};
        if (host.length) options->connection.host = slice_dup_c_string(host, MEMORY_OTHER);
        options->connection.port = port;
        options->connection.path = NULL;
        if (options->output == CLI_FORMATTED) {
            buffer_append_c_string(&out, "-> Redirected to slot [");
            cli_format_plain(&out, parts[1]);
            buffer_append_c_string(&out, "] located at ");
            cli_format_plain(&out, slice_of(options->connection.host));
            buffer_printf(&out, ":%" PRId64 "\n", port);
            cli_format_flush(&out);
        }
        good = cli_run_connect();
        if (good && asks) (void)cli_link_call(&SLICE("ASKING"), 1);
    }
    memory_free(parts, MEMORY_OTHER);
    buffer_free(&storage);
    return good;
}

static const struct peer_reply *call_following(const struct slice *words, size_t count) {
    const struct peer_reply *reply = cli_link_call(words, count);
    for (int i = 0; reply && i < REDIRECTIONS_MAX && follow_redirection(reply); i++) {
        reply = cli_link_call(words, count);
    }
    return reply;
}

/* --- a run ------------------------------------------------------------------------------------ */

/* Runs UNSUBSCRIBE and its variants. The server sends one reply for each channel (in RESP3 these
 * are pushes), but only one in a transaction. */
static enum cli_outcome run_unsubscribe(const struct slice *words, size_t count) {
    cli_link_send(words, count);
    for (size_t i = 1; i < count || i == 1; i++) {
        const struct peer_reply *reply = cli_link_read();
        if (!reply) return CLI_LOST;
        link_has_answered = true;
        show_reply(words, count, reply);
        if (reply->type == PEER_ERROR) return CLI_REFUSED;
        if (!is_status(reply, "QUEUED")) continue;
        note_reply(words, count, reply);
        break;
    }
    return CLI_ANSWERED;
}

static enum cli_outcome run_once(const struct slice *words, size_t count) {
    static const char *const subscribing[] = {"subscribe", "psubscribe", "ssubscribe", NULL};
    static const char *const unsubscribing[] = {"unsubscribe", "punsubscribe", "sunsubscribe",
                                                NULL};
    static const char *const feeding[] = {"monitor", "sync", "psync", NULL};
    if (is_one_of(words[0], subscribing) && count > 1) {
        cli_link_send(words, count);
        return follow_stream(true);
    }
    if (is_one_of(words[0], unsubscribing)) return run_unsubscribe(words, count);
    bool was_open = cli_link_is_open();
    const struct peer_reply *reply = call_following(words, count);
    if (!reply && slice_is(words[0], "shutdown") && was_open) return CLI_ANSWERED;
    if (!reply) return CLI_LOST;
    link_has_answered = true;
    note_reply(words, count, reply);
    bool refused = reply->type == PEER_ERROR;
    show_reply(words, count, reply);
    if (!refused && is_one_of(words[0], feeding)) return follow_stream(false);
    return refused ? CLI_REFUSED : CLI_ANSWERED;
}

static enum cli_outcome run_and_say(const struct slice *words, size_t count) {
    enum cli_outcome outcome = run_once(words, count);
    if (outcome == CLI_LOST) fprintf(stderr, "Error: %s\n", cli_link_error());
    return outcome;
}

/* Runs a command; where the connection has ended since the last command, connects again and sends
 * the command again. A command that was the first on its connection is not sent again, because this
 * command may have ended the server. */
static enum cli_outcome run_with_new_link(const struct slice *words, size_t count) {
    if (!cli_link_is_open() && !cli_run_connect()) return CLI_LOST;
    if (!link_has_answered) return run_and_say(words, count);
    enum cli_outcome outcome = run_once(words, count);
    if (outcome != CLI_LOST) return outcome;
    if (!link_has_answered) {
        fprintf(stderr, "Error: %s\n", cli_link_error());
        return outcome;
    }
    return cli_run_connect() ? run_and_say(words, count) : CLI_LOST;
}

enum cli_outcome cli_run(const struct slice *words, size_t count, int64_t repeat) {
    enum cli_outcome outcome = CLI_ANSWERED;
    bool refused = false;
    for (int64_t left = repeat; left; left -= left > 0) {
        outcome = run_with_new_link(words, count);
        if (outcome == CLI_LOST || outcome == CLI_STOPPED) return outcome;
        refused = refused || outcome == CLI_REFUSED;
        if (options->interval_sec > 0 && left != 1) cli_run_pause(options->interval_sec);
    }
    return refused ? CLI_REFUSED : CLI_ANSWERED;
}
