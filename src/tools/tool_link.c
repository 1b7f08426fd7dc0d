/* SPDX-License-Identifier: BSD-3-Clause
 * A link is a peer_client with the greeting of the tools, and a wait that turns the loop.
 *
 * Invariant: the client's patience bounds each wait, because a server that stalls must not hold up
 * the tool for ever.
 */
#include "tools/tool_link.h"

#include <inttypes.h>

#include "base/panic.h"
#include "io/loop.h"
#include "tools/tool_connection.h"
#include "tools/tool_greeting.h"

/* The largest answers are those of TRACE READ, whose texts are bounded by 1 MB; each of their
 * arguments takes 8 bytes at least and at most 5 nodes for 24 bytes. A server that sends much more
 * is no Redis server. */
#define ANSWER_BYTES_MAX ((size_t)4 * 1024 * 1024)
#define ANSWER_NODES_MAX (1 << 19)
/* Unanswered requests: PINGs of the probe while the server stalls, and a few questions. */
#define ASKED_MAX 8192
/* For a slow name lookup and a distant server; and for a server that runs a long command. */
#define PATIENCE_MSEC 10000
/* The longest sleep between two questions whether to give up. */
#define LOOK_MSEC 50

void tool_address_print(const struct tool_connection *c, char out[TOOL_ADDRESS_CHARS]) {
    if (c->path) {
        snprintf(out, TOOL_ADDRESS_CHARS, "%s", c->path);
    } else {
        snprintf(out, TOOL_ADDRESS_CHARS, "%s:%" PRId64, c->host, c->port);
    }
}

/* --- answers ---------------------------------------------------------------------------------- */

void tool_answer_init(struct tool_answer *answer) {
    *answer = (struct tool_answer){0};
    buffer_init(&answer->text, MEMORY_OTHER);
}

void tool_answer_free(struct tool_answer *answer) { buffer_free(&answer->text); }

const char *tool_answer_text(const struct tool_answer *answer, unsigned index) {
    ASSERT(index < answer->count);
    const char *at = answer->text.bytes;
    for (unsigned i = 0; i < index; i++) at += strlen(at) + 1;
    return at;
}

/* Bytes behind a NUL in a text are lost, because no name and no value of an option has one. */
static void append_answer_text(struct tool_answer *answer, const struct peer_reply *reply) {
    char shown[TOOL_REASON_CHARS];
    if (reply->type == PEER_ERROR) {
        answer->refused = true;
        buffer_append_c_string(&answer->text, string_show(reply->text, shown, sizeof(shown)));
    } else if (reply->type == PEER_INTEGER) {
        buffer_printf(&answer->text, "%" PRId64, reply->integer);
    } else if (reply->text.length) {
        buffer_append(&answer->text, reply->text.bytes,
                      strnlen(reply->text.bytes, reply->text.length));
    }
    buffer_append_char(&answer->text, '\0');
    answer->count++;
}

static void take_link_answer(void *owner, uintptr_t place, const struct peer_reply *reply) {
    struct tool_answer *answer = (struct tool_answer *)place;
    answer->arrived = true;
    if (!reply) return;
    /* The nodes of a tree stand in one array, parents first. */
    for (const struct peer_reply *node = reply; node < reply + reply->nodes; node++)
        if (!peer_reply_is_aggregate(node)) append_answer_text(answer, node);
}

/* --- the connection --------------------------------------------------------------------------- */

static void note_link_opened(void *owner) { ((struct tool_link *)owner)->open = true; }

static void note_link_ended(void *owner) {
    struct tool_link *link = owner;
    link->open = false;
    if (!*link->reason)
        snprintf(link->reason, sizeof(link->reason), "%s", peer_client_error(link->client));
}

static void drop_link_push(void *owner, const struct peer_reply *reply) {}

static void take_link_greeting(void *owner, uintptr_t unused, const struct peer_reply *reply) {
    struct tool_link *link = owner;
    if (!reply || reply->type != PEER_ERROR || *link->reason) return;
    string_show(reply->text, link->reason, sizeof(link->reason));
}

/* Sends the greeting and waits for its end. False with link->reason. */
static bool greet_by_link(struct tool_link *link, const char *name) {
    struct tool_greeting greeting;
    tool_greeting_init(&greeting, link->login, link->resp3);
    for (unsigned i = 0; i < greeting.count; i++)
        tool_greeting_ask(&greeting, i, link->client, take_link_greeting);
    tool_greeting_free(&greeting);
    while (link->open && peer_client_asked(link->client)) loop_turn(link->loop, -1);
    if (!link->open || *link->reason) return false;
    /* Servers before 2.6.9 do not know the command, and a user may be forbidden to use it. */
    struct tool_answer answer;
    tool_answer_init(&answer);
    struct slice words[] = {SLICE("CLIENT"), SLICE("SETNAME"), slice_of(name)};
    bool good = tool_link_ask(link, &answer, words, 3);
    tool_answer_free(&answer);
    return good;
}

bool tool_link_open(struct tool_link *link, struct loop *loop, const struct tool_connection *login,
                    bool resp3, const char *name) {
    static const struct peer_client_events events = {.opened = note_link_opened,
                                                     .ended = note_link_ended};
    *link = (struct tool_link){.loop = loop, .login = login, .resp3 = resp3};
    const struct peer_client_settings settings = {.loop = loop,
                                                  .class = MEMORY_OTHER,
                                                  .reply = {ANSWER_BYTES_MAX, ANSWER_NODES_MAX},
                                                  .asked_max = ASKED_MAX,
                                                  .events = &events,
                                                  .unasked = drop_link_push,
                                                  .owner = link};
    const struct peer_address address = tool_connection_address(login);
    link->client = peer_client_create(&settings);
    peer_client_set_patience(link->client, PATIENCE_MSEC);
    if (!peer_client_connect(link->client, &address)) {
        snprintf(link->reason, sizeof(link->reason), "%s", peer_client_error(link->client));
        return false;
    }
    while (!link->open && !*link->reason) loop_turn(loop, -1);
    return link->open && greet_by_link(link, name);
}

void tool_link_close(struct tool_link *link) {
    peer_client_free(link->client);
    link->client = NULL;
    link->open = false;
}

bool tool_link_wait(struct tool_link *link) {
    loop_turn(link->loop, link->gives_up ? LOOK_MSEC : -1);
    if (link->open && link->gives_up && link->gives_up(link->context)) {
        /* The functions of unanswered requests are not called: their answers may be gone. */
        peer_client_close(link->client);
        link->open = false;
        snprintf(link->reason, sizeof(link->reason), "given up");
    }
    return link->open;
}

bool tool_link_ask(struct tool_link *link, struct tool_answer *answer, const struct slice *words,
                   size_t count) {
    const struct peer_request request = {take_link_answer, (uintptr_t)answer};
    buffer_clear(&answer->text);
    answer->arrived = answer->refused = false;
    answer->count = 0;
    if (!link->open || !peer_client_ask(link->client, &request, words, count)) {
        if (!*link->reason) snprintf(link->reason, sizeof(link->reason), "too much is unanswered");
        return false;
    }
    while (!answer->arrived && tool_link_wait(link)) continue;
    return link->open;
}
