/* SPDX-License-Identifier: BSD-3-Clause
 * What the tests of net/ share: clients over socketpairs, their other ends ("peers"), and turns of
 * a real loop, put together as server/wiring.c does it. With PEERS_CUT defined, what the server
 * reads and writes is cut short to 1 to so many bytes, and interrupted (base/faults.h). With
 * PEERS_MASKED defined, all goes through a transport (io/masked.h) instead of plain sockets. With
 * PEERS_THREADS defined, so many I/O threads read and write, also for a single client.
 */
#ifndef EVENKEEL_TESTS_NET_PEERS_H
#define EVENKEEL_TESTS_NET_PEERS_H
#include <errno.h>
#include <sys/socket.h>

#ifdef PEERS_CUT
#include "base/faults.h"
#endif
#include "base/seed.h"
#include "io/masked.h"
#include "io/threads.h"
#include "net/batch.h"
#include "net/client.h"
#include "net/reply.h"
#include "option/option.h"

/* A client seen from outside. */
struct peer {
    int fd;                /* -1: closed by us */
    struct client *client; /* only valid while it lives: see peer_is_served */
    uint64_t id;
    bool ended;  /* the server has closed it */
    bool masked; /* its bytes are */
    uint64_t sent, received;
    size_t answer_left; /* of the handshake, to be received */
    struct buffer got;  /* bytes that came */
};

/* Rounds of random traffic: a variant has not to show again what the plain test does. */
#if defined(PEERS_CUT) || defined(PEERS_MASKED) || defined(PEERS_THREADS)
#define ROUNDS_OF_PEERS 5
#else
#define ROUNDS_OF_PEERS 12
#endif

/* Stands for the folder that says who may do what: a client with this flag is a stranger. */
#define STRANGER 1u
static struct client_state peers_admission = {.name = "admission", .flags = 1};
static struct client_state *const peers_states[] = {&peers_admission, NULL};

static struct loop *peers_loop;
static size_t peers_clients_bytes; /* of MEMORY_CLIENTS before the first client */

/* But for the table that finds them, which stays. */
static inline size_t peers_bytes_now(void) {
    return memory_used(MEMORY_CLIENTS) - client_table_bytes();
}

static inline bool peers_end_of_turn(void) {
    client_free_closing();
    return false;
}

#ifdef PEERS_THREADS
#define PEERS_RUN batch_run_threads
#define PEERS_PARTS batch_client_parts_threads
#else
#define PEERS_RUN batch_run
#define PEERS_PARTS batch_client_parts
#endif

static void (*const peers_after_events[])(void) = {PEERS_RUN, NULL};
static bool (*const peers_before_sleep[])(void) = {peers_end_of_turn, NULL};

/* Other steps before the loop sleeps: peers_end_of_turn and those that a test needs; ended by NULL.
 */
static inline void peers_set_before_sleep(bool (*const *steps)(void)) {
    loop_set_hooks(peers_loop,
                   &(struct loop_hooks){.after_events = peers_after_events, .before_sleep = steps});
}

/* Before the first client. */
static inline void peers_open_threads(unsigned count) {
    char lines[128];
    struct buffer error = {.class = MEMORY_OTHER};
    threads_register();
    snprintf(lines, sizeof(lines),
             "io-threads %u\nio-threads-do-reads yes\nio-threads-clients-min 1\n", count + 1);
    assert_true(option_load_text(slice_of(lines), OPTION_FROM_FILE, &error));
    assert_true(threads_start());
    batch_open_threads();
}

static inline int peers_open(const struct batch_executor *executor) {
    seed_from_environment();
    signal(SIGPIPE, SIG_IGN);
    client_register();
    batch_register();
    reply_register();
    peers_loop = loop_create();
    peers_clients_bytes = peers_bytes_now();
    client_set_states(peers_states);
    if (!client_open(peers_loop, &PEERS_PARTS)) return -1;
    reply_open();
    batch_open(executor);
#ifdef PEERS_THREADS
    peers_open_threads(PEERS_THREADS);
#endif
    peers_set_before_sleep(peers_before_sleep);
    return 0;
}

/* For a test of what stands in one batch, which needs what was sent to be read in one turn. */
static inline void peers_do_not_cut(void) {
#ifdef PEERS_CUT
    faults_cut(0, 0, 0);
#endif
    masked_smooth = true;
}

/* For a test of what happens to several clients in one batch, where no thread can have replied to
 * some of them before the others' requests run. */
static inline void peers_need_one_thread(void) {
#ifdef PEERS_THREADS
    skip();
#endif
}

/* Some turns, so that what one leaves to the next is done too. Cut short, it takes as many as it
 * takes until nothing is ready any more. */
static inline void peers_turns(void) {
#if defined(PEERS_CUT) || defined(PEERS_MASKED)
    uint64_t events;
    do {
        events = loop_stats(peers_loop)->events;
        loop_turn(peers_loop, 0);
    } while (loop_stats(peers_loop)->events != events);
#endif
    for (int i = 0; i < 3; i++) loop_turn(peers_loop, 0);
    loop_check(peers_loop);
}

static inline struct peer peer_connect(void) {
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    struct peer p = {.fd = ends[1], .got = {.class = MEMORY_OTHER}};
    char reason[128];
#ifdef PEERS_MASKED
    p.masked = true;
#endif
    p.client = client_create(ends[0], &(struct socket_peer){.is_unix = true},
                             p.masked ? &masked_transport : NULL, reason, sizeof(reason));
    assert_non_null(p.client);
    p.id = p.client->id;
    if (!p.masked) return p;
    assert_int_equal(write(p.fd, "hello---finish--", 16), 16);
    p.answer_left = MASKED_FLIGHT_CHARS;
    while (loop_depth(peers_loop) == 0 && !client_connection(p.client)->established)
        loop_turn(peers_loop, 0);
    return p;
}

/* Takes up to `most` bytes of what has come; notes the end. */
static inline size_t peer_receive(struct peer *p, size_t most) {
    size_t taken = 0;
    char answer[MASKED_FLIGHT_CHARS];
    while (p->answer_left && p->fd >= 0) {
        ssize_t got = read(p->fd, answer, p->answer_left);
        if (got <= 0) break;
        p->answer_left -= (size_t)got;
    }
    while (taken < most && !p->ended && p->fd >= 0) {
        size_t wanted = most - taken < 65536 ? most - taken : 65536;
        ssize_t got = read(p->fd, buffer_reserve(&p->got, wanted), wanted);
        if (got < 0 && errno == EAGAIN) break;
        if (got <= 0) {
            p->ended = true;
            break;
        }
        if (p->masked)
            for (char *byte = p->got.bytes + p->got.length, *end = byte + got; byte < end; byte++)
                *byte = masked_byte(*byte, p->received++);
        p->got.length += (size_t)got;
        taken += (size_t)got;
    }
    return taken;
}

/* At most so much of a masked text is written in one try. */
#define PEER_MASKED_MAX ((size_t)1 << 20)
/* Writes what the socket takes, without a turn. */
static inline size_t peer_try_send(struct peer *p, const char *bytes, size_t length) {
    char *wire = NULL;
    if (p->masked) {
        /* To mask all of a long text in each try would take time by the square of its length. */
        if (length > PEER_MASKED_MAX) length = PEER_MASKED_MAX;
        wire = memory_alloc(length + 1, MEMORY_OTHER);
        for (size_t i = 0; i < length; i++) wire[i] = masked_byte(bytes[i], p->sent + i);
    }
    ssize_t sent = write(p->fd, wire ? wire : bytes, length);
    int error = errno;
    memory_free(wire, MEMORY_OTHER);
    errno = error;
    if (sent >= 0) {
        p->sent += (uint64_t)sent;
        return (size_t)sent;
    }
    if (errno == EPIPE || errno == ECONNRESET) return length; /* nobody listens any more */
    assert_int_equal(errno, EAGAIN);
    return 0;
}

/* Writes all and lets the loop turn until it has nothing to do and nothing more comes. */
static inline void peer_send(struct peer *p, struct slice bytes) {
    size_t sent = 0;
    while (sent < bytes.length) {
        sent += peer_try_send(p, bytes.bytes + sent, bytes.length - sent);
        peers_turns();
        peer_receive(p, SIZE_MAX);
    }
    uint64_t events;
    do {
        events = loop_stats(peers_loop)->events;
        peers_turns();
    } while (peer_receive(p, SIZE_MAX) || loop_stats(peers_loop)->events != events);
}

static inline bool peer_is_served(const struct peer *p) { return client_find(p->id) != NULL; }

static inline void peer_close(struct peer *p) {
    if (p->fd >= 0) close(p->fd);
    p->fd = -1;
    peers_turns();
    assert_false(peer_is_served(p));
    buffer_free(&p->got);
}

/* Before each test: what a failed one left does not make the next one fail. */
static inline int peers_begin(void **state) {
    client_close_all();
    masked_smooth = false;
#ifdef PEERS_CUT
    faults_cut(random_u64(), PEERS_CUT, 20);
#endif
    return 0;
}

/* After each test: nothing of any client is left. */
static inline int peers_nothing_left(void **state) {
    peers_turns();
    assert_int_equal(client_count(), 0);
    assert_int_equal(masked_open_count, 0);
    assert_int_equal(peers_bytes_now(), peers_clients_bytes);
    return 0;
}

static inline void peer_assert_got(struct peer *p, struct slice wanted) {
    struct slice got = buffer_slice(&p->got);
    if (!slice_equal(got, wanted)) {
        size_t same = 0;
        while (same < got.length && same < wanted.length && got.bytes[same] == wanted.bytes[same])
            same++;
        fail_msg("%zu bytes wanted, %zu came, the same up to %zu: \"%.*s\"", wanted.length,
                 got.length, same, (int)(got.length - same < 100 ? got.length - same : 100),
                 got.bytes + same);
    }
    buffer_clear(&p->got);
}

static inline void option_set_text(const char *name, const char *value) {
    char reason[256] = "";
    struct slice word = slice_of(value);
    bool set = option_set(option_find(slice_of(name)), &word, 1, OPTION_FROM_CONFIG_SET, reason,
                          sizeof(reason));
    assert_true(set);
}
#endif
