/* SPDX-License-Identifier: BSD-3-Clause
 * One connection to a server, logged in, whose questions are asked one after the other.
 *
 * The caller stands outside of the loop's callbacks: waiting for an answer turns the loop, so
 * timers and other connections go on meanwhile. A lost connection is not opened again by itself.
 */
#ifndef EVENKEEL_TOOLS_TOOL_LINK_H
#define EVENKEEL_TOOLS_TOOL_LINK_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/string.h"
#include "peer/peer_client.h"
#include "tools/tool_options.h"

struct loop;
struct tool_connection;

struct tool_link {
    struct peer_client *client; /* open once tool_link_open has succeeded */
    struct loop *loop;
    const struct tool_connection *login; /* borrowed */
    bool resp3, open;
    char reason[TOOL_REASON_CHARS]; /* why there is no connection */
    /* Called while an answer is awaited, many times a second; true: the link is closed, and the
     * wait ends. NULL (at first) = never. To be set once the link is open. */
    bool (*gives_up)(void *context);
    void *context;
};

/* An answer as texts: the one text of a simple reply, or those of all simple replies in an
 * aggregate, in their order. An integer is written in decimal digits. */
struct tool_answer {
    bool refused;       /* one of the replies was an error; its text is fit to be shown */
    unsigned count;     /* texts */
    struct buffer text; /* all texts, each followed by a NUL */
    bool arrived;       /* the link's own */
};

/* Connects, logs in and names the connection `name`. False with link->reason; the link must be
 * closed all the same. */
MUST_USE bool tool_link_open(struct tool_link *link, struct loop *loop,
                             const struct tool_connection *login, bool resp3, const char *name);
/* Harmless for a zeroed link. */
void tool_link_close(struct tool_link *link);

/* Asks, and waits for the answer. False with link->reason where the connection ended, or gave no
 * answer for some seconds. The answer must be initialised; its earlier texts are dropped. */
MUST_USE bool tool_link_ask(struct tool_link *link, struct tool_answer *answer,
                            const struct slice *words, size_t count);
/* One step of waiting: a turn of the loop, and the question whether to give up. False where the
 * link is not open any more. */
MUST_USE bool tool_link_wait(struct tool_link *link);
void tool_answer_init(struct tool_answer *answer);
void tool_answer_free(struct tool_answer *answer);
/* The text at `index`, which is below `count`. O(index). */
const char *tool_answer_text(const struct tool_answer *answer, unsigned index);

/* The text of a server's address for messages: "127.0.0.1:6379", or a socket's path. */
#define TOOL_ADDRESS_CHARS 256
void tool_address_print(const struct tool_connection *c, char out[TOOL_ADDRESS_CHARS]);
#endif
