/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of holding in net/batch: a client that is held in the middle of what it sent goes on
 * exactly where it stopped, however its requests came and however often it is held.
 *
 * The executor numbers each request's bytes by a digest. Words: "digest" answers it; "wait" answers
 * it when the client is let go (a command that blocks); "later" may not run for some time (a
 * command that is paused), and answers it then; "leave" closes the client behind its answer, and
 * "forget" sets all counts to 0. SEED=n runs the same random choices again.
 */
#include "base/clock.h"
#include "base/hash.h"
#include "metric/metric.h"
#include "net/batch.h"
#include "net/peers.h"

/* A bit of the word of access/, as if it meant that. */

/* ---- The executor ---- */

static struct list_link waiting = {&waiting, &waiting}; /* of held_link */
static uint64_t later_refused;                          /* refusals of "later" so far */
static unsigned refuse_percent = 100;
static int64_t later_takes_usec; /* with a fixed clock */
static struct buffer *ran;       /* the arguments of what has run, NULL = nobody wants them */

static int64_t digest_of(const struct slice *words, size_t count) {
    uint64_t digest = count;
    for (size_t i = 0; i < count; i++)
        digest = digest * UINT64_C(0x9e3779b97f4a7c15) + words[i].length +
                 hash_bytes(words[i].bytes, words[i].length);
    return (int64_t)(digest >> 1);
}

/* What "wait" answers when it ends stands in a place of the client's. */
static void forget_answer(struct client *c);
static struct client_state state_of_test = {
    .name = "test", .has_place = true, .closing = forget_answer};

static void forget_answer(struct client *c) {
    memory_free(client_place(c, &state_of_test), MEMORY_OTHER);
    client_set_place(c, &state_of_test, NULL);
}

static void execute(struct request *r) {
    struct client *c = r->client;
    int64_t digest = digest_of(r->argv, (size_t)r->argc);
    assert_false(c->flags & CLIENT_HELD);
    if (slice_is(r->argv[0], "wait")) {
        int64_t *answer = memory_alloc(sizeof(*answer), MEMORY_OTHER);
        *answer = digest;
        client_set_place(c, &state_of_test, answer);
        batch_hold(c);
        list_append(&waiting, &c->held_link);
        return;
    }
    if (slice_is(r->argv[0], "later") && random_below(100) < refuse_percent) {
        later_refused++;
        batch_hold_request(r);
        list_append(&waiting, &c->held_link);
        return;
    }
    if (later_takes_usec) clock_advance_usec(later_takes_usec);
    if (slice_is(r->argv[0], "let-go")) {
        while (!list_is_empty(&waiting))
            batch_resume(LIST_ENTRY(waiting.next, struct client, held_link));
    }
    if (slice_is(r->argv[0], "leave")) client_close_after_reply(c);
    if (slice_is(r->argv[0], "forget")) metric_reset_all();
    if (ran) buffer_append(ran, r->argv[1].bytes, r->argv[1].length);
    reply_integer(c, digest);
}

static void let_go(struct client *c) {
    int64_t *answer = client_place(c, &state_of_test);
    if (answer) {
        reply_integer(c, *answer);
        forget_answer(c);
    }
    batch_resume(c);
}

static void let_all_go(void) {
    while (!list_is_empty(&waiting)) let_go(LIST_ENTRY(waiting.next, struct client, held_link));
}

static void prefetch(struct request *r, int count) {}
static const struct batch_executor executor = {.prefetch = prefetch, .execute = execute};

static struct client_state *const client_states[] = {&peers_admission, &state_of_test, NULL};
static bool (*const before_sleep[])(void) = {peers_end_of_turn, batch_run_resumed, NULL};

static int hold_open(void **state) {
    peers_open(&executor);
    client_set_states(client_states);
    peers_set_before_sleep(before_sleep);
    return 0;
}

/* Writes all; of a held client no more than a bound is read, so that it is let go where its socket
 * is full. */
static void send_all(struct peer *p, struct slice bytes) {
    unsigned before = refuse_percent;
    size_t sent = 0;
    while (sent < bytes.length) {
        size_t taken = peer_try_send(p, bytes.bytes + sent, bytes.length - sent);
        sent += taken;
        peers_turns();
        peer_receive(p, SIZE_MAX);
        if (taken) continue;
        refuse_percent = 30; /* so that it ends */
        let_all_go();
    }
    refuse_percent = before;
    peer_send(p, SLICE(""));
}

/* Turns in which every client that waits goes on, until none waits again. */
static void settle(struct peer *p) {
    unsigned before = refuse_percent;
    refuse_percent = 30;
    for (int quiet = 0; quiet < 3;) {
        quiet = list_is_empty(&waiting) ? quiet + 1 : 0;
        let_all_go();
        peer_send(p, SLICE(""));
    }
    refuse_percent = before;
    assert_int_equal(batch_held_clients(), 0);
}

/* ---- Input, and the replies it must have ---- */

struct script {
    struct buffer input, wanted;
};

static struct script script_new(void) {
    return (struct script){{.class = MEMORY_OTHER}, {.class = MEMORY_OTHER}};
}

static void script_free(struct script *s) {
    buffer_free(&s->input);
    buffer_free(&s->wanted);
}

/* A request of `word` and one argument of `length` bytes. */
static void add(struct script *s, const char *word, size_t length, bool in_line) {
    char *bytes = memory_alloc(length + 1, MEMORY_OTHER);
    for (size_t i = 0; i < length; i++) bytes[i] = (char)('a' + random_below(26));
    const struct slice words[] = {slice_of(word), {bytes, length}};
    if (in_line && length) {
        buffer_printf(&s->input, "%s %.*s\r\n", word, (int)length, bytes);
    } else {
        buffer_printf(&s->input, "*2\r\n$%zu\r\n%s\r\n$%zu\r\n", strlen(word), word, length);
        buffer_append(&s->input, bytes, length);
        buffer_append_c_string(&s->input, "\r\n");
    }
    buffer_printf(&s->wanted, ":%lld\r\n", (long long)digest_of(words, 2));
    memory_free(bytes, MEMORY_OTHER);
}

/* A request of many arguments: it does not fit into the batch's places. */
static void add_many(struct script *s, const char *word, size_t count) {
    struct slice *words = memory_alloc((count + 1) * sizeof(*words), MEMORY_OTHER);
    words[0] = slice_of(word);
    buffer_printf(&s->input, "*%zu\r\n$%zu\r\n%s\r\n", count + 1, strlen(word), word);
    for (size_t i = 1; i <= count; i++) {
        words[i] = SLICE("xy");
        buffer_append_c_string(&s->input, "$2\r\nxy\r\n");
    }
    buffer_printf(&s->wanted, ":%lld\r\n", (long long)digest_of(words, count + 1));
    memory_free(words, MEMORY_OTHER);
}

static void finish(struct peer *p, struct script *s) {
    settle(p);
    peer_assert_got(p, buffer_slice(&s->wanted));
    assert_null(p->client->query);
    assert_null(p->client->held);
    assert_int_equal(p->client->watcher.interest, LOOP_READABLE);
    peer_close(p);
    script_free(s);
}

/* ---- One client ---- */

/* Held at each place of pipelines of all lengths. */
static void test_hold_in_a_pipeline(void **state) {
    static const char *const words[] = {"wait", "later"};
    for (int in_line = 0; in_line < 2; in_line++) {
        for (int word = 0; word < 2; word++) {
            for (int place = 0; place < 600; place += 1 + place / 5) {
                struct script s = script_new();
                struct peer p = peer_connect();
                for (int i = 0; i < 600; i++)
                    add(&s, i == place ? words[word] : "digest", random_below(40), in_line);
                send_all(&p, buffer_slice(&s.input));
                assert_int_equal(batch_held_clients(), 1);
                assert_true(p.client->flags & CLIENT_HELD);
                finish(&p, &s);
            }
        }
    }
}

/* A held request whose words stand in a block of their own, while the block of the bytes behind it
 * grows byte by byte: the words' block may lie right behind the bytes' block. */
static void test_hold_inline_in_pieces(void **state) {
    for (size_t length = 1; length < 300; length += 7) {
        struct script s = script_new();
        struct peer p = peer_connect();
        add(&s, "later", length, true);
        peer_send(&p, (struct slice){s.input.bytes, s.input.length - 2});
        peer_send(&p, SLICE("\r\n"));
        assert_true(p.client->flags & CLIENT_HELD);
        size_t sent = s.input.length;
        for (int i = 0; i < 12; i++) add(&s, "digest", 20, true);
        for (; sent < s.input.length; sent++)
            peer_send(&p, (struct slice){s.input.bytes + sent, 1});
        finish(&p, &s);
    }
}

/* Every request holds. */
static void test_hold_always(void **state) {
    struct script s = script_new();
    struct peer p = peer_connect();
    for (int i = 0; i < 500; i++) add(&s, i % 2 ? "wait" : "later", random_below(100), i % 3 == 0);
    send_all(&p, buffer_slice(&s.input));
    finish(&p, &s);
}

/* Arguments in blocks of their own are kept as they are, with what stands before and behind. */
static void test_hold_large_arguments(void **state) {
    static const size_t lengths[] = {BATCH_READ_BYTES, BATCH_ADOPT_BYTES - 1, BATCH_ADOPT_BYTES,
                                     200000, 1048576};
    static const char *const words[] = {"digest", "wait", "later"};
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        for (int form = 0; form < 27; form++) {
            struct script s = script_new();
            struct peer p = peer_connect();
            add(&s, words[form % 3], 10, false);
            add(&s, words[form / 3 % 3], lengths[i], false);
            add(&s, words[form / 9], 10, false);
            add(&s, "digest", lengths[i], false);
            send_all(&p, buffer_slice(&s.input));
            finish(&p, &s);
        }
    }
}

static void test_hold_many_arguments(void **state) {
    static const char *const words[] = {"digest", "wait", "later"};
    for (int form = 0; form < 27; form++) {
        struct script s = script_new();
        struct peer p = peer_connect();
        add(&s, words[form % 3], 10, false);
        add_many(&s, words[form / 3 % 3], 2000);
        add(&s, words[form / 9], 10, false);
        add_many(&s, "digest", 1000);
        add_many(&s, "later", 1500);
        send_all(&p, buffer_slice(&s.input));
        finish(&p, &s);
    }
}

/* What a held client sends is read, and not run. */
static void test_hold_reads_on(void **state) {
    struct peer p = peer_connect();
    static const char *const sent[] = {"later x\r\n", "digest y\r\n", "*2\r\n$6\r\ndig",
                                       "est\r\n$1\r\nz\r\ndig", "est yy\r\n"};
    size_t length = 0;
    uint64_t before = batch_bytes_read();
    for (int i = 0; i < 5; i++) {
        peer_send(&p, slice_of(sent[i]));
        length += strlen(sent[i]);
        assert_int_equal(p.client->watcher.interest, LOOP_READABLE | LOOP_HANGUP);
        assert_int_equal(batch_query_used(p.client), length);
        assert_int_equal(batch_bytes_read() - before, length);
        peer_assert_got(&p, SLICE(""));
    }
    settle(&p);
    assert_int_equal(p.client->watcher.interest, LOOP_READABLE);
    assert_int_equal(batch_query_used(p.client), 0);
    peer_close(&p);
}

/* As much as BATCH_HELD_BYTES_MAX; all of it, and what stands in the socket, runs in the end. The
 * large argument is read into its block while its client is held. */
static void test_hold_reads_up_to_a_bound(void **state) {
    for (int large = 0; large < 2; large++) {
        struct script s = script_new();
        struct peer p = peer_connect();
        size_t sent = 0, idle = 0;
        add(&s, "later", 10, false);
        if (large) add(&s, "digest", BATCH_HELD_BYTES_MAX + 5000000, false);
        while (s.input.length < 2 * BATCH_HELD_BYTES_MAX) add(&s, "digest", 20000, false);
        while (idle < 100) {
            size_t taken = peer_try_send(&p, s.input.bytes + sent, s.input.length - sent);
            sent += taken;
            peers_turns();
            idle = taken ? 0 : idle + 1;
        }
        assert_int_equal(p.client->watcher.interest, LOOP_HANGUP);
        assert_in_range(batch_query_used(p.client), BATCH_HELD_BYTES_MAX,
                        BATCH_HELD_BYTES_MAX + BATCH_READ_LARGE_BYTES);
        peer_assert_got(&p, SLICE(""));
        let_all_go();
        send_all(&p, (struct slice){s.input.bytes + sent, s.input.length - sent});
        finish(&p, &s);
    }
}

/* The end of the connection stands behind more than its socket holds. */
static void test_peer_goes_behind_much(void **state) {
    struct script s = script_new();
    struct peer p = peer_connect();
    add(&s, "later", 10, false);
    while (s.input.length < BATCH_HELD_BYTES_MAX - 100000) add(&s, "digest", 40000, false);
    for (size_t sent = 0; sent < s.input.length;) {
        sent += peer_try_send(&p, s.input.bytes + sent, s.input.length - sent);
        peers_turns();
    }
    assert_true(p.client->flags & CLIENT_HELD);
    close(p.fd);
    p.fd = -1;
    for (int i = 0; i < 100000 && peer_is_served(&p); i++) peers_turns();
    assert_false(peer_is_served(&p));
    peer_close(&p);
    script_free(&s);
}

/* What it has sent and not run: requests in `held`, and the beginning of one in `query`. */
static void test_sizes_while_held(void **state) {
    peers_do_not_cut(); /* once it is held nothing is read of it */
    static const char *const sent[] = {"later x\r\n", "digest y\r\n", "*2\r\n$6\r\ndig"};
    struct buffer all = {.class = MEMORY_OTHER};
    struct peer p = peer_connect();
    for (int i = 0; i < 3; i++) buffer_append_c_string(&all, sent[i]);
    peer_send(&p, buffer_slice(&all));
    assert_non_null(p.client->held);
    assert_int_equal(batch_query_used(p.client), all.length);
    assert_in_range(batch_query_room(p.client) + all.length, all.length,
                    batch_query_bytes(p.client));
    settle(&p);
    assert_non_null(p.client->query);
    assert_int_equal(batch_query_used(p.client), strlen(sent[2]));
    peer_close(&p);
    buffer_free(&all);
}

/* Those that go on share the turn's time with the others: what is left of them waits for the next
 * turn. */
static void test_resumed_within_a_turn(void **state) {
    enum { COUNT = 100 };
    struct peer peers[COUNT];
    unsigned before = refuse_percent, turns = 1;
    peers_do_not_cut();
    for (int i = 0; i < COUNT; i++) {
        peers[i] = peer_connect();
        peer_send(&peers[i], SLICE("later x\r\n"));
    }
    assert_int_equal(batch_held_clients(), COUNT);
    clock_use_fixed(INT64_C(1750000000000000), 1000000000);
    refuse_percent = 0;
    later_takes_usec = BATCH_TURN_USEC / 4;
    let_all_go();
    while (batch_run_resumed()) {
        assert_int_equal(batch_held_clients(), COUNT - 4 * turns);
        turns++;
    }
    assert_int_equal(turns, COUNT / 4);
    later_takes_usec = 0;
    refuse_percent = before;
    clock_use_system();
    for (int i = 0; i < COUNT; i++) {
        peer_receive(&peers[i], SIZE_MAX);
        assert_true(peers[i].got.length > 0);
        peer_close(&peers[i]);
    }
}

/* From here on whoever waits goes on, and each request takes that long. */
static void let_all_go_slowly(int64_t usec) {
    clock_use_fixed(INT64_C(1750000000000000), 1000000000);
    refuse_percent = 0;
    later_takes_usec = usec;
    let_all_go();
}

static void go_on_as_ever(void) {
    later_takes_usec = 0;
    refuse_percent = 100;
    clock_use_system();
    ran = NULL;
}

/* What a client had sent while it was held runs before the next one goes on, in whatever pieces it
 * came, and also where the turn's time is up in the middle of it. */
static void test_order_of_clients(void **state) {
    static const char *const wanted = "0123456789ABCDEFGHIJ";
    struct buffer all = {.class = MEMORY_OTHER};
    char line[] = "digest ?\r\n";
    peers_do_not_cut();
    for (int step_usec = 0; step_usec <= BATCH_TURN_USEC; step_usec += BATCH_TURN_USEC) {
        struct peer x = peer_connect(), y = peer_connect();
        peer_send(&x, SLICE("later 0\r\n"));
        peer_send(&y, SLICE("later A\r\n"));
        for (int i = 1; i < 10; i++) { /* in turns, each a segment */
            line[7] = wanted[i];
            peer_send(&x, slice_of(line));
            line[7] = wanted[10 + i];
            peer_send(&y, slice_of(line));
        }
        buffer_clear(&all);
        ran = &all;
        let_all_go_slowly(step_usec);
        for (int turns = 0; turns < 50; turns++) loop_turn(peers_loop, 0);
        go_on_as_ever();
        assert_int_equal(all.length, strlen(wanted));
        assert_memory_equal(all.bytes, wanted, all.length);
        peer_receive(&x, SIZE_MAX);
        peer_receive(&y, SIZE_MAX);
        peer_close(&x);
        peer_close(&y);
    }
    buffer_free(&all);
}

/* One whose connection ends when it goes on, with another one waiting behind it: nobody looks at it
 * any more. */
static void test_order_where_the_first_goes(void **state) {
    struct peer x = peer_connect(), y = peer_connect();
    peers_do_not_cut();
    peer_send(&x, SLICE("later 0\r\nleave 1\r\n"));
    peer_send(&y, SLICE("later A\r\n"));
    let_all_go_slowly(BATCH_TURN_USEC);
    assert_true(batch_run_resumed());
    assert_false(peer_is_served(&x));
    client_free_closing();
    client_close_later(y.client);
    client_free_closing();
    assert_false(batch_has_resumed());
    assert_false(batch_run_resumed());
    go_on_as_ever();
    peer_close(&x);
    peer_close(&y);
}

/* CONFIG RESETSTAT among what the first has sent. */
static void test_order_where_counts_begin_anew(void **state) {
    enum { COUNT = 2 * BATCH_READ_BYTES / 10 };
    struct buffer all = {.class = MEMORY_OTHER}, sent = {.class = MEMORY_OTHER};
    struct peer x = peer_connect(), y = peer_connect();
    peers_do_not_cut();
    peer_send(&x, SLICE("later 0\r\n"));
    peer_send(&y, SLICE("later A\r\n"));
    buffer_append_c_string(&sent, "forget 1\r\n");
    for (int i = 0; i < COUNT; i++) buffer_append_c_string(&sent, "digest 2\r\n");
    peer_send(&x, buffer_slice(&sent));
    ran = &all;
    let_all_go_slowly(0);
    peers_turns();
    go_on_as_ever();
    assert_int_equal(all.length, COUNT + 3);
    assert_int_equal(all.bytes[all.length - 1], 'A');
    peer_receive(&x, SIZE_MAX);
    peer_receive(&y, SIZE_MAX);
    peer_close(&x);
    peer_close(&y);
    buffer_free(&all);
    buffer_free(&sent);
}

/* ---- A turn that is late ---- */

#define OTHERS 254
#define OTHERS_BEFORE 64
static struct peer others[OTHERS];
static struct peer *sends_in_the_middle; /* NULL = nobody sends */

/* All that are ready in the turn that begins become so here, in this order. */
static bool let_others_send(void) {
    struct peer *middle = sends_in_the_middle;
    sends_in_the_middle = NULL;
    for (int i = 0; middle && i < OTHERS; i++) {
        if (i == OTHERS_BEFORE) peer_try_send(middle, "digest 1\r\n", 10);
        peer_try_send(&others[i], "digest o\r\n", 10);
    }
    return false;
}

static bool (*const before_sleep_with_others[])(void) = {peers_end_of_turn, batch_run_resumed,
                                                         let_others_send, NULL};

/* The first is ready, too, and the turn ends before it was read: with I/O threads it is collected
 * then, to be read in the next one. Its request comes before the next client's. */
static void test_order_where_a_turn_is_late(void **state) {
    struct buffer all = {.class = MEMORY_OTHER};
    struct peer x = peer_connect(), y = peer_connect();
    peers_do_not_cut();
    for (int i = 0; i < OTHERS; i++) others[i] = peer_connect();
    peer_send(&x, SLICE("later 0\r\n"));
    peer_send(&y, SLICE("later A\r\n"));
    ran = &all;
    peers_set_before_sleep(before_sleep_with_others);
    sends_in_the_middle = &x;
    let_all_go_slowly(BATCH_TURN_USEC);
    for (int turns = 0; turns < 2 * OTHERS; turns++) loop_turn(peers_loop, 0);
    go_on_as_ever();
    peers_set_before_sleep(before_sleep);
    assert_int_equal(all.length, OTHERS + 3);
    assert_true(memchr(all.bytes, '1', all.length) < memchr(all.bytes, 'A', all.length));
    for (int i = 0; i < OTHERS; i++) {
        peer_receive(&others[i], SIZE_MAX);
        peer_close(&others[i]);
    }
    peer_receive(&x, SIZE_MAX);
    peer_receive(&y, SIZE_MAX);
    peer_close(&x);
    peer_close(&y);
    buffer_free(&all);
}

/* One that sends on and on holds up the next for no more than it could have sent before. */
static void test_order_is_bounded(void **state) {
    enum { SENT_MAX = 32 << 20, PIECE = 16000 };
    char bytes[PIECE];
    struct peer x = peer_connect(), y = peer_connect();
    size_t sent = 0;
    peers_do_not_cut();
    for (size_t i = 0; i < PIECE; i += 10) memcpy(bytes + i, "digest 1\r\n", 10);
    peer_send(&x, SLICE("later 0\r\n"));
    peer_send(&y, SLICE("later A\r\n"));
    let_all_go_slowly(BATCH_TURN_USEC); /* a read a turn, so that there is more behind each */
    while (y.client->flags & CLIENT_HELD && sent < SENT_MAX) {
        size_t taken;
        do {
            size_t rest = sent % PIECE;
            taken = peer_try_send(&x, bytes + rest, PIECE - rest);
            sent += taken;
        } while (taken);
        (void)batch_run_resumed();
        peer_receive(&x, SIZE_MAX);
    }
    go_on_as_ever();
    assert_false(y.client->flags & CLIENT_HELD);
    assert_true(sent < SENT_MAX);
    peer_receive(&y, SIZE_MAX);
    peer_close(&x);
    peer_close(&y);
}

static void test_peer_goes_while_held(void **state) {
    for (int way = 0; way < 2; way++) {
        struct peer p = peer_connect();
        peer_send(&p, SLICE("digest a\r\nlater x\r\ndigest y\r\n*2\r\n$6\r\ndig"));
        assert_int_equal(batch_held_clients(), 1);
        if (way == 0) {
            assert_int_equal(shutdown(p.fd, SHUT_WR), 0);
            peers_turns();
        } else {
            close(p.fd);
            p.fd = -1;
            peers_turns();
        }
        assert_false(peer_is_served(&p));
        assert_int_equal(batch_held_clients(), 0);
        assert_true(list_is_empty(&waiting));
        peer_close(&p);
    }
}

/* Whoever holds it may let it go when it is marked as closing. */
static void test_resumed_when_marked(void **state) {
    struct peer p = peer_connect();
    peer_send(&p, SLICE("wait x\r\ndigest y\r\n"));
    client_close_later(p.client);
    client_close_later(p.client);
    let_all_go();
    assert_false(batch_run_resumed());
    assert_int_equal(batch_held_clients(), 0);
    peers_turns();
    peer_receive(&p, SIZE_MAX);
    assert_true(p.ended);
    peer_assert_got(&p, SLICE(""));
    peer_close(&p);
}

/* Closed by us: while it is held, and when it is about to go on. */
static void test_close_while_held(void **state) {
    for (int resumed = 0; resumed < 2; resumed++) {
        struct peer p = peer_connect();
        peer_send(&p, SLICE("later x\r\ndigest y\r\n*2\r\n$6\r\ndig"));
        if (resumed) batch_resume(p.client);
        client_close_later(p.client);
        assert_int_equal(batch_held_clients(), 1); /* it is marked: nothing of it has moved */
        client_finish_closing();
        assert_int_equal(batch_held_clients(), 0);
        peers_turns();
        peer_receive(&p, SIZE_MAX);
        assert_true(p.ended);
        peer_assert_got(&p, SLICE(""));
        peer_close(&p);
    }
}

/* A protocol error behind a held request comes after it. */
static void test_error_behind_held(void **state) {
    static const char *const errors[] = {"*1\r\n$x\r\n", "*x\r\n", "digest \"\r\n"};
    for (int i = 0; i < 3; i++) {
        struct script s = script_new();
        struct peer p = peer_connect();
        add(&s, "digest", 5, false);
        add(&s, "later", 5, false);
        add(&s, "digest", 5, i == 0);
        buffer_append_c_string(&s.input, errors[i]);
        send_all(&p, buffer_slice(&s.input));
        assert_false(p.ended);
        settle(&p);
        assert_true(p.ended);
        p.got.length = s.wanted.length < p.got.length ? s.wanted.length : p.got.length;
        peer_assert_got(&p, buffer_slice(&s.wanted));
        peer_close(&p);
        script_free(&s);
    }
}

/* A limit that the request in front lifts, while both are held. */
static void test_limit_behind_held(void **state) {
    peers_do_not_cut(); /* such a client may own no reply that did not go at once */
    client_set_admission(&peers_admission, STRANGER, STRANGER);
    struct script s = script_new();
    struct peer p = peer_connect();
    add(&s, "later", 5, false);
    add(&s, "digest", 20000, false);
    send_all(&p, buffer_slice(&s.input));
    client_set_admission(&peers_admission, 0, 0);
    client_set_flags(p.client, &peers_admission, STRANGER, false);
    finish(&p, &s);
}

/* CLIENT REPLY SKIP counts requests that ran: one that is refused keeps its place. */
static void test_reply_skip(void **state) {
    struct peer p = peer_connect();
    p.client->flags |= CLIENT_REPLY_SKIP;
    peer_send(&p, SLICE("later x\r\n"));
    settle(&p);
    peer_assert_got(&p, SLICE(""));
    assert_false(p.client->flags & CLIENT_REPLY_SKIP);
    p.client->flags |= CLIENT_REPLY_SKIP;
    peer_send(&p, SLICE("wait x\r\n"));
    assert_true(p.client->flags & CLIENT_REPLY_SKIP);
    settle(&p);
    peer_assert_got(&p, SLICE(""));
    assert_false(p.client->flags & CLIENT_REPLY_SKIP);
    peer_close(&p);
}

/* ---- Many clients ---- */

/* One lets the others go in the middle of a batch that has their requests, too. */
static void test_let_go_in_the_batch(void **state) {
    enum { COUNT = 20 };
    struct peer peers[COUNT];
    struct script scripts[COUNT];
    for (int i = 0; i < COUNT; i++) {
        peers[i] = peer_connect();
        scripts[i] = script_new();
        add(&scripts[i], "digest", 3, false);
        add(&scripts[i], i == COUNT - 1 ? "let-go" : "later", 3, false);
        add(&scripts[i], "digest", 3, false);
        peer_try_send(&peers[i], scripts[i].input.bytes, scripts[i].input.length);
    }
    refuse_percent = 50;
    for (int i = 0; i < 50; i++) {
        loop_turn(peers_loop, 0);
        let_all_go();
    }
    refuse_percent = 100;
    for (int i = 0; i < COUNT; i++) {
        peer_receive(&peers[i], SIZE_MAX);
        finish(&peers[i], &scripts[i]);
    }
}

#define PEERS 8

static void add_random(struct script *s) {
    static const char *const words[] = {"digest", "digest", "digest", "wait", "later"};
    const char *word = words[random_below(5)];
    switch (random_below(30)) {
    case 0: add(s, word, random_below(100000), false); break;
    case 1: add_many(s, word, random_below(2500)); break;
    case 2: buffer_append_c_string(&s->input, "\r\n*0\r\n"); break;
    case 3: add(s, word, random_below(5000), random_below(2)); break;
    default: add(s, word, random_below(50), random_below(3) == 0); break;
    }
}

/* Clients send in pieces, are held and let go at random; each gets its own replies, in order. */
static void test_random_holding(void **state) {
    uint64_t refused = later_refused;
    refuse_percent = 60;
    for (int round = 0; round < ROUNDS_OF_PEERS; round++) {
        struct peer peers[PEERS];
        struct script scripts[PEERS];
        size_t sent[PEERS] = {0}, open = PEERS;
        for (int i = 0; i < PEERS; i++) {
            peers[i] = peer_connect();
            scripts[i] = script_new();
            for (size_t j = random_below(120); j > 0; j--) add_random(&scripts[i]);
        }
        size_t longest = 1 + random_below(random_below(2) ? 300 : 70000);
        while (open) {
            open = 0;
            for (int i = 0; i < PEERS; i++) {
                size_t left = scripts[i].input.length - sent[i];
                size_t piece = left < 3000 ? left : random_below(longest * 4 / 3 + 2);
                sent[i] += peer_try_send(&peers[i], scripts[i].input.bytes + sent[i],
                                         piece < left ? piece : left);
                peer_receive(&peers[i], SIZE_MAX);
                open += sent[i] < scripts[i].input.length;
                if (peers[i].client->flags & CLIENT_HELD && random_below(3) == 0)
                    let_go(peers[i].client);
            }
            loop_turn(peers_loop, 0);
        }
        for (int i = 0; i < PEERS; i++) settle(&peers[i]);
        for (int i = 0; i < PEERS; i++) finish(&peers[i], &scripts[i]);
    }
    refuse_percent = 100;
    assert_true(later_refused > refused);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, peers_begin, peers_nothing_left)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_hold_in_a_pipeline),
        TEST(test_hold_inline_in_pieces),
        TEST(test_hold_always),
        TEST(test_hold_large_arguments),
        TEST(test_hold_many_arguments),
        TEST(test_hold_reads_on),
        TEST(test_hold_reads_up_to_a_bound),
        TEST(test_peer_goes_behind_much),
        TEST(test_peer_goes_while_held),
        TEST(test_close_while_held),
        TEST(test_error_behind_held),
        TEST(test_resumed_when_marked),
        TEST(test_limit_behind_held),
        TEST(test_reply_skip),
        TEST(test_let_go_in_the_batch),
        TEST(test_random_holding),
        TEST(test_sizes_while_held),
        TEST(test_resumed_within_a_turn),
        TEST(test_order_of_clients),
        TEST(test_order_is_bounded),
        TEST(test_order_where_the_first_goes),
        TEST(test_order_where_counts_begin_anew),
        TEST(test_order_where_a_turn_is_late),
    };
    return cmocka_run_group_tests(tests, hold_open, NULL);
}
