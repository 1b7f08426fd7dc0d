/* SPDX-License-Identifier: BSD-3-Clause
 * A whole Sentinel within a test: the mode's rows and openings, clients through socketpairs
 * (net/peers.h), and what watching.h has. Nothing listens, and no tick is made.
 *
 * A reply is compared with a text in which | stands for a line's end, as in "$2|no|".
 */
#ifndef EVENKEEL_TESTS_SENTINEL_SERVING_H
#define EVENKEEL_TESTS_SENTINEL_SERVING_H
#include "net/peers.h"
#include "sentinel/watching.h"
#include "server/mode.h"
#include "server/sentinel.h"

static struct peer serving_peer;

/* Once a program: for the setup of its group. */
static inline int serving_open(void **state) {
    seed_from_environment();
    signal(SIGPIPE, SIG_IGN);
    clock_use_fixed(WATCHING_START_USEC, INT64_C(1000000000000));
    mode_register(&mode_sentinel);
    peers_loop = loop_create();
    peers_clients_bytes = peers_bytes_now();
    return mode_open(&mode_sentinel, peers_loop) ? 0 : -1;
}

/* Before each test: one client, and nothing is watched. */
static inline int serving_begin(void **state) {
    watching_begin();
    clock_refresh();
    if (peers_begin(state)) return -1;
    serving_peer = peer_connect();
    return 0;
}

static inline int serving_end(void **state) {
    peer_close(&serving_peer);
    watching_end();
    return peers_nothing_left(state);
}

static inline void serving_spell(struct buffer *out, const char *text) {
    for (; *text; text++) {
        if (*text == '|')
            buffer_append_c_string(out, "\r\n");
        else
            buffer_append_char(out, *text);
    }
}

/* Sends an inline request; what is answered is in serving_peer.got. */
static inline void serving_ask(const char *line) {
    buffer_clear(&serving_peer.got);
    peer_send(&serving_peer, slice_of(line));
    peer_send(&serving_peer, SLICE("\r\n"));
}

/* Sends an inline request; this is what it is answered. */
static inline void serving_say(const char *line, const char *reply) {
    struct buffer wanted = {.class = MEMORY_OTHER};
    serving_spell(&wanted, reply);
    serving_ask(line);
    peer_assert_got(&serving_peer, buffer_slice(&wanted));
    buffer_free(&wanted);
}

/* Sends an inline request; its reply begins, or ends, with this. */
static inline void serving_say_part(const char *line, const char *part, bool is_end) {
    struct buffer wanted = {.class = MEMORY_OTHER};
    const struct buffer *got = &serving_peer.got;
    serving_spell(&wanted, part);
    serving_ask(line);
    assert_true(got->length >= wanted.length);
    assert_memory_equal(got->bytes + (is_end ? got->length - wanted.length : 0), wanted.bytes,
                        wanted.length);
    buffer_free(&wanted);
}

/* Sends an inline request; its reply is `head` and these words, each with its length. The words are
 * parted by blanks; _ is an empty one. */
static inline void serving_say_words(const char *line, const char *head, const char *words) {
    struct buffer wanted = {.class = MEMORY_OTHER};
    buffer_append_c_string(&wanted, head);
    while (*words) {
        size_t length = strcspn(words, " ");
        bool is_empty = length == 1 && *words == '_';
        buffer_printf(&wanted, "$%zu|%.*s|", is_empty ? 0 : length, is_empty ? 0 : (int)length,
                      words);
        words += length;
        words += strspn(words, " ");
    }
    serving_say(line, wanted.bytes);
    buffer_free(&wanted);
}

/* Time passes. */
static inline void serving_pass(int64_t msec) {
    clock_advance_usec(msec * 1000);
    clock_refresh();
}
#endif
