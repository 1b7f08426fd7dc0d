/* SPDX-License-Identifier: BSD-3-Clause
 * The connection to the server: greeting, waiting, interrupts.
 *
 * Invariants
 *  1. There is one peer for the life of the program; it is closed or greeted, or says why not.
 *  2. Nothing has a time limit: a person waits, and may interrupt.
 */
#include "cli/cli_link.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>

#include "base/memory.h"
#include "base/number.h"
#include "cli/cli_format.h"
#include "peer/peer.h"

/* Of one reply. A person asked for it, so that only absurd ones are refused. */
#define TEXT_BYTES_MAX ((size_t)64 << 30)
#define NODES_MAX ((uint32_t)1 << 30)
#define WAIT_MSEC 3600000
#define WORDS_MAX 8

static struct tool_connection *place;
static bool speaks_resp3, tells, greeted;
static void (*push_taker)(const struct peer_reply *push);
static struct peer *peer;
static volatile sig_atomic_t interrupted;
static bool heeds_interrupt;

void cli_link_init(struct tool_connection *c, bool resp3, bool verbose,
                   void (*on_push)(const struct peer_reply *push)) {
    static const struct peer_limits limits = {TEXT_BYTES_MAX, NODES_MAX};
    place = c;
    speaks_resp3 = resp3;
    tells = verbose;
    push_taker = on_push;
    peer = peer_create(MEMORY_OTHER, &limits);
}

void cli_link_close(void) { peer_close(peer); }
bool cli_link_is_open(void) { return peer_state(peer) == PEER_OPEN; }
bool cli_link_is_greeted(void) { return greeted; }
struct peer *cli_link_peer(void) {
    return peer;
}

/* Without the call that failed: "connect: Connection refused". */
const char *cli_link_error(void) {
    const char *error = peer_error(peer), *behind = strstr(error, ": ");
    if (!strcmp(error, "the other side closed the connection")) {
        return "Server closed the connection";
    }
    return behind && strncmp(error, "protocol", 8) != 0 ? behind + 2 : error;
}

/* One round of waiting; false where there is no connection, or an interrupt. */
static bool wait_round(void) {
    if (peer_state(peer) == PEER_CLOSED || (heeds_interrupt && interrupted)) return false;
    bool ready = peer_wait_ready(peer, WAIT_MSEC);
    if (heeds_interrupt && interrupted) return false;
    /* A failure shows in the state; replies that came before it are still given. */
    if (ready) (void)peer_advance(peer);
    return true;
}

static bool connect_now(void) {
    struct peer_address address = {.host = place->host,
                                   .port = (int)place->port,
                                   .transport = peer_tls_transport(&place->tls)};
    if (place->path) address.path = place->path;
    if (!peer_connect(peer, &address)) return false;
    while (peer_state(peer) == PEER_CONNECTING) {
        if (!wait_round()) break;
    }
    return peer_state(peer) == PEER_OPEN;
}

static bool greet_by(const char *what, const struct slice *words, size_t count) {
    const struct peer_reply *reply = cli_link_call(words, count);
    if (reply && reply->type != PEER_ERROR) return true;
    fprintf(stderr, "%s failed: ", what);
    if (reply) {
        cli_format_complain("", reply->text);
    } else {
        fprintf(stderr, "%s\n", cli_link_error());
    }
    return false;
}

static bool authenticate(void) {
    struct slice words[3] = {SLICE("AUTH")};
    size_t count = 1;
    if (!place->password) return true;
    if (place->user) words[count++] = slice_of(place->user);
    words[count++] = slice_of(place->password);
    return greet_by("AUTH", words, count);
}

static bool select_database(void) {
    char number[NUMBER_INT64_CHARS], what[NUMBER_INT64_CHARS + 8];
    if (!place->database) return true;
    snprintf(number, sizeof(number), "%" PRId64, place->database);
    snprintf(what, sizeof(what), "SELECT %s", number);
    return greet_by(what, (struct slice[]){SLICE("SELECT"), slice_of(number)}, 2);
}

static bool greet(void) {
    if (!authenticate()) return false;
    if (speaks_resp3 && !greet_by("HELLO 3", (struct slice[]){SLICE("HELLO"), SLICE("3")}, 2)) {
        return false;
    }
    return select_database();
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
    greeted = greet();
    tell_of_connection();
    return cli_link_is_open();
}

void cli_link_send(const struct slice *words, size_t count) { peer_send(peer, words, count); }

const struct peer_reply *cli_link_read(void) {
    for (;;) {
        const struct peer_reply *reply = peer_next(peer);
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
