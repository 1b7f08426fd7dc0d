/* SPDX-License-Identifier: BSD-3-Clause
 * Clients that debug a script, for tests over the whole server (script/scripted.h). EVAL is called
 * by hand, so that all that the client says in its session waits in its socket from the beginning.
 */
#ifndef EVENKEEL_TESTS_SCRIPT_DEBUGGED_H
#define EVENKEEL_TESTS_SCRIPT_DEBUGGED_H
#include <poll.h>

#include "command/call_make.h"
#include "command/command.h"
#include "exec/gates.h"
#include "exec/run.h"
#include "script/debugger.h"
#include "script/scripted.h"

#define DEBUGGED_WAIT_MSEC 60000 /* for a child, which is another process */
#define STOPPED(line) "+* Stopped at " line ", stop reason = step over\r\n"

/* A request of the words of this text, which blanks part. */
static inline void debugged_tell(struct peer *p, const char *text) {
    struct buffer request = {.class = MEMORY_OTHER}, words = {.class = MEMORY_OTHER};
    int count = 0;
    for (size_t length; *text; text += length + (text[length] == ' ')) {
        length = strcspn(text, " ");
        buffer_printf(&words, "$%zu\r\n%.*s\r\n", length, (int)length, text);
        count++;
    }
    buffer_printf(&request, "*%d\r\n%s", count, words.bytes);
    assert_int_equal(peer_try_send(p, request.bytes, request.length), request.length);
    buffer_free(&request);
    buffer_free(&words);
}

/* A client that has asked for a session and says these words in it, one text a request. */
static inline struct peer debugged_open(const char *mode, const char *const *words) {
    char line[32];
    struct peer p = peer_connect();
    snprintf(line, sizeof(line), "script debug %s", mode);
    whole_say(&p, line, "+OK\r\n");
    for (; *words; words++) debugged_tell(&p, *words);
    return p;
}

/* Runs EVAL of the text for the client, with a key. */
static inline void debugged_eval(struct peer *p, struct slice text) {
    const struct slice argv[] = {SLICE("eval"), text, SLICE("1"), SLICE("key")};
    struct call call;
    call_make(&call, CALL_NETWORK, p->client,
              (struct call_parts){.command = command_find(argv[0]), .argc = 4, .argv = argv});
    assert_int_equal(call_run(&call), GATE_OPEN);
    reply_write_all();
    client_finish_closing();
    assert_null(call_running());
}

/* Receives all that comes until the connection is closed. The session is over then. */
static inline void debugged_hear(struct peer *p) {
    struct pollfd ready = {.fd = p->fd, .events = POLLIN};
    while (!p->ended) {
        peers_turns();
        if (poll(&ready, 1, DEBUGGED_WAIT_MSEC) != 1) fail_msg("nothing comes: %s", p->got.bytes);
        peer_receive(p, SIZE_MAX);
    }
    assert_false(debugger_is_on());
}
#endif
