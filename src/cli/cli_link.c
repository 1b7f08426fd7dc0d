/* SPDX-License-Identifier: BSD-3-Clause
 * The connection to the server: greeting, waiting, interrupts.
 *
 * Replies are taken one by one (peer_client_take), because requests and replies do not come in
 * pairs here: SUBSCRIBE has several replies, MONITOR's never end, and --pipe sends bytes that it
 * does not parse.
 *
 * Invariants
 *  1. One peer client exists for the life of the program.
 *  2. No wait has a time limit, because a person waits and can interrupt.
 *  3. Only the greeting's requests are asked (peer_client_ask), all others are only sent. After
 *     cli_link_open no asked request is unanswered.
 */
#include "cli/cli_link.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>

#include "base/memory.h"
#include "cli/cli_format.h"
#include "peer/peer_client.h"
#include "tools/tool_greeting.h"

/* The limits of a reply. They refuse only absurd replies, because a person asked for this one. */
#define TEXT_BYTES_MAX ((size_t)64 << 30)
#define NODES_MAX ((uint32_t)1 << 30)
#define WORDS_MAX 8

static struct tool_connection *place;
static bool speaks_resp3, tells, greeted;
static void (*push_taker)(const struct peer_reply *push);
static struct peer_client *client;
static struct tool_greeting greeting; /* in use only while greet_server runs */
static volatile sig_atomic_t interrupted;
static bool heeds_interrupt;

void cli_link_init(struct tool_connection *c, bool resp3, bool verbose,
                   void (*on_push)(const struct peer_reply *push)) {
    static const struct peer_client_settings settings = {
        .class = MEMORY_OTHER,
        .reply = {TEXT_BYTES_MAX, NODES_MAX},
        .asked_max = TOOL_GREETING_REQUESTS_MAX,
        .takes = true,
    };
    place = c;
    speaks_resp3 = resp3;
    tells = verbose;
    push_taker = on_push;
    client = peer_client_create(&settings);
}

void cli_link_close(void) { peer_client_close(client); }
bool cli_link_is_open(void) { return peer_client_state(client) == PEER_CLIENT_OPEN; }
bool cli_link_is_greeted(void) { return greeted; }
struct peer_client *cli_link_client(void) {
    return client;
}

const char *cli_link_error(void) { return tool_connection_error(client); }

/* Waits once for the connection; false where it has ended, or after an interrupt. */
static bool wait_round(void) {
    if (heeds_interrupt && interrupted) return false;
    bool goes_on = peer_client_turn(client, INT64_MAX);
    return goes_on && !(heeds_interrupt && interrupted);
}

static bool connect_now(void) {
    struct peer_address address = tool_connection_address(place);
    if (!peer_client_connect(client, &address)) return false;
    while (!cli_link_is_open() && wait_round()) {
    }
    return cli_link_is_open();
}

static void take_greeting(void *unused, uintptr_t i, const struct peer_reply *reply) {
    if (reply && reply->type != PEER_ERROR) return;
    greeted = false;
    fprintf(stderr, "%s failed: ", greeting.requests[i].name);
    if (reply) {
        cli_format_complain("", reply->text);
    } else {
        fprintf(stderr, "%s\n", cli_link_error());
    }
}

/* Sends each request of the greeting after the reply to the one before; the first that fails ends
 * the greeting. */
static void greet_server(void) {
    greeted = true;
    tool_greeting_init(&greeting, place, speaks_resp3);
    for (unsigned i = 0; i < greeting.count && greeted; i++) {
        if (cli_link_is_open())
            tool_greeting_ask(&greeting, i, client, take_greeting);
        else
            take_greeting(NULL, i, NULL);
        while (peer_client_asked(client) && wait_round()) {
        }
        /* After an interrupt the connection is closed, so that the reply that is still to come is
         * not taken for the reply to a later request. */
        if (peer_client_asked(client)) {
            peer_client_close(client);
            greeted = false;
        }
    }
    tool_greeting_free(&greeting);
}

static void tell_of_connection(void) {
    if (!tells) return;
    fprintf(stderr, "Connected to %s", place->path ? place->path : place->host);
    if (!place->path) fprintf(stderr, ":%" PRId64, place->port);
    fprintf(stderr, ", RESP%d, database %" PRId64 "%s%s%s\n", speaks_resp3 ? 3 : 2, place->database,
            place->tls.enabled ? ", TLS" : "", place->password ? ", as user " : "",
            place->password ? place->user ? place->user : "default" : "");
}

bool cli_link_open(void) {
    greeted = false;
    if (!connect_now()) {
        if (place->path) {
            fprintf(stderr, "Could not connect to Redis at %s: %s\n", place->path,
                    cli_link_error());
        } else {
            fprintf(stderr, "Could not connect to Redis at %s:%" PRId64 ": %s\n", place->host,
                    place->port, cli_link_error());
        }
        return false;
    }
    greet_server();
    tell_of_connection();
    return cli_link_is_open();
}

void cli_link_send(const struct slice *words, size_t count) {
    peer_client_send(client, words, count);
}

const struct peer_reply *cli_link_read(void) {
    for (;;) {
        const struct peer_reply *reply = peer_client_take(client);
        if (reply) return reply;
        if (!wait_round()) return NULL;
    }
}

const struct peer_reply *cli_link_call(const struct slice *words, size_t count) {
    cli_link_send(words, count);
    for (;;) {
        const struct peer_reply *reply = cli_link_read();
        if (!reply || reply->type != PEER_PUSH) return reply;
        if (push_taker) push_taker(reply);
    }
}

const struct peer_reply *cli_link_must_read(void) {
    const struct peer_reply *reply;
    do {
        reply = cli_link_read();
    } while (reply && reply->type == PEER_PUSH);
    if (!reply) {
        fprintf(stderr, "\nI/O error: %s\n", cli_link_error());
        exit(1);
    }
    return reply;
}

const struct peer_reply *cli_link_must_call(const char *line) {
    struct slice words[WORDS_MAX];
    size_t count = 0;
    while (*line && count < WORDS_MAX) {
        size_t length = strcspn(line, " ");
        words[count++] = (struct slice){line, length};
        line += length;
        line += strspn(line, " ");
    }
    cli_link_send(words, count);
    return cli_link_must_read();
}

static void on_interrupt(int sig) { interrupted = 1; }

void cli_link_heed_interrupt(bool heed) {
    struct sigaction action = {.sa_handler = heed ? on_interrupt : SIG_DFL};
    sigemptyset(&action.sa_mask);
    interrupted = 0;
    heeds_interrupt = heed;
    (void)sigaction(SIGINT, &action, NULL);
}

bool cli_link_take_interrupt(void) {
    bool was = interrupted;
    interrupted = 0;
    return was;
}
