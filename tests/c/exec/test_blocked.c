/* SPDX-License-Identifier: BSD-3-Clause
 * Clients that wait, whose last reply closes them, or others; and random ones, with the invariants
 * checked after each step. SEED=n runs the same random choices again.
 *
 * Commands of the test's own wait by a kind that answers more than the limit allows, looks at its
 * state afterwards, and counts how often it is asked; or by kinds that wait for no key, whose waits
 * the test ends in each way that there is, also from other threads.
 */
#include "exec/blocked.h"

#include "command/call.h"
#include "command/row.h"
#include "exec/transaction.h"
#include "io/background.h"
#include "net/client_memory.h"
#include "server/whole.h"
#include "store/keyspace.h"

#define WIDE_BYTES 65536
#define MAGIC 4711
#define WAIT_MSEC 10

static int asked, states;
static char wide[WIDE_BYTES];

/* ---- the test's own commands ---- */

static void answer(struct client *c, void *state) {
    const int *magic = state;
    reply_bulk(c, (struct slice){wide, sizeof(wide)});
    reply_bulk(c, (struct slice){wide, sizeof(wide)});
    assert_int_equal(*magic, MAGIC); /* it is there as long as we are asked */
}

static bool serve(struct client *c, void *state, const struct key *key) {
    asked++;
    if (!told_find(key->keyspace, key->name, key->hash)) return false;
    told_delete(key->keyspace, key->name, key->hash);
    answer(c, state);
    return true;
}

static void free_state(void *state) {
    states--;
    *(int *)state = 0; /* who is asked afterwards shows */
    memory_free(state, MEMORY_CLIENTS);
}

static const struct blocked_kind kind = {
    .serve = serve, .timed_out = answer, .free_state = free_state};

static void wait_for_key(struct call *call, int64_t timeout_msec) {
    int *state = memory_alloc(sizeof(*state), MEMORY_CLIENTS);
    *state = MAGIC;
    states++;
    blocked_begin(call, &kind, 1, 1, 1, timeout_msec, state);
}

static void command_await(struct call *call) { wait_for_key(call, BLOCKED_FOREVER); }
static void command_await_shortly(struct call *call) { wait_for_key(call, WAIT_MSEC); }

static void answer_late(struct client *c, void *state) { reply_integer(c, 0); }
static void answer_value(struct client *c, void *state) { reply_integer(c, 7); }

static const struct blocked_kind keyless = {.timed_out = answer_late, .came = answer_value},
                                 kept = {
                                     .timed_out = answer_late, .came = answer_value, .kept = true};

static void command_await_other(struct call *call) {
    blocked_begin(call, &keyless, 0, 0, 0, WAIT_MSEC, NULL);
}
static void command_await_kept(struct call *call) {
    blocked_begin(call, &kept, 0, 0, 0, BLOCKED_FOREVER, NULL);
}

static void command_leave_waiting(struct call *call) {
    client_close_later(call->client);
    wait_for_key(call, WAIT_MSEC);
}

static struct command rows[] = {
    COMMAND("await", command_await, 2, WRITE, NO_CATEGORY, ONE_KEY, ""),
    COMMAND("await-shortly", command_await_shortly, 2, WRITE, NO_CATEGORY, ONE_KEY, ""),
    COMMAND("await-other", command_await_other, 1, WRITE, NO_CATEGORY, NO_KEYS, ""),
    COMMAND("await-kept", command_await_kept, 1, WRITE, NO_CATEGORY, NO_KEYS, ""),
    COMMAND("leave-waiting", command_leave_waiting, 2, WRITE, NO_CATEGORY, ONE_KEY, ""),
};

/* ---- helpers ---- */

static void ask(struct peer *p, const char *line) { peer_send(p, slice_of(line)); }

static void tell(struct peer *p, const char *line, const char *reply) {
    ask(p, line);
    peer_assert_got(p, slice_of(reply));
}

static void pass(int64_t msec) {
    clock_advance_usec(msec * 1000);
    clock_refresh();
    peers_turns();
}

static void limit(const char *text) { option_set_text("client-output-buffer-limit", text); }

static void check_all(void) {
    blocked_check();
    client_memory_check();
    assert_in_range(states, 0, blocked_clients());
}

/* ---- single cases ---- */

/* Its time is up, it is let go, it is served: each time its reply passes the limit. */
static void test_closed_by_last_reply(void **state) {
    const char *const words[] = {"await-shortly k\r\n", "await k\r\n", "await k\r\n"};
    for (int way = 0; way < 3; way++) {
        struct peer p = peer_connect(), q = peer_connect(), behind = peer_connect();
        char line[64];
        ask(&p, words[way]);
        ask(&behind, "await k\r\n");
        assert_int_equal(blocked_clients(), 2);
        check_all();
        limit("normal 20kb 0 0");
        if (way == 0) pass(WAIT_MSEC + 1);
        snprintf(line, sizeof(line), "client unblock %llu\r\n", (unsigned long long)p.id);
        if (way == 1) tell(&q, line, ":1\r\n");
        if (way == 2) tell(&q, "lpush k v\r\n", ":1\r\n");
        limit("normal 0 0 0");
        assert_false(peer_is_served(&p));
        assert_int_equal(blocked_clients(), 1);
        check_all();
        peer_close(&behind);
        assert_int_equal(blocked_clients(), 0);
        check_all();
        peer_close(&p);
        peer_close(&q);
    }
}

/* Who is marked as closing does not begin to wait. */
static void test_closed_as_it_begins(void **state) {
    struct peer p = peer_connect(), q = peer_connect();
    ask(&p, "leave-waiting k\r\n");
    assert_false(peer_is_served(&p));
    assert_int_equal(blocked_clients(), 0);
    assert_int_equal(batch_held_clients(), 0);
    check_all();
    asked = 0;
    tell(&q, "lpush k v\r\ndel k\r\n", ":1\r\n:1\r\n");
    assert_int_equal(asked, 0);
    peer_close(&p);
    peer_close(&q);
}

/* One that the same transaction has killed gets nothing of what it then adds. */
static void test_the_dead_are_not_asked(void **state) {
    struct peer p = peer_connect(), q = peer_connect();
    char line[100];
    ask(&p, "await k\r\n");
    asked = 0;
    snprintf(line, sizeof(line), "multi\r\nclient kill id %llu\r\nlpush k v\r\nexec\r\n",
             (unsigned long long)p.id);
    tell(&q, line, "+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n:1\r\n:1\r\n");
    assert_int_equal(asked, 0);
    assert_int_equal(blocked_clients(), 0);
    check_all();
    tell(&q, "llen k\r\ndel k\r\n", ":1\r\n:1\r\n");
    peer_close(&p);
    peer_close(&q);
}

/* As long as there is something to get, in the order in which they came. */
static void test_asked_until_it_is_gone(void **state) {
    enum { WAITERS = 500 };
    struct peer waiters[WAITERS], q = peer_connect();
    for (int i = 0; i < WAITERS; i++) {
        waiters[i] = peer_connect();
        ask(&waiters[i], i % 2 ? "await k\r\n" : "blpop k 0\r\n");
    }
    asked = 0;
    tell(&q, "lpush k v\r\n", ":1\r\n"); /* to a BLPOP */
    assert_int_equal(asked, 0);
    tell(&q, "lpush k v w\r\n", ":2\r\n"); /* an await takes it all */
    assert_int_equal(asked, 1);
    assert_int_equal(blocked_clients(), WAITERS - 2);
    tell(&q, "rpush k 1 2 3\r\n", ":3\r\n"); /* one to a BLPOP, then all to an await */
    assert_int_equal(asked, 2);
    assert_int_equal(blocked_clients(), WAITERS - 4);
    check_all();
    for (int i = 0; i < WAITERS; i++) peer_close(&waiters[i]);
    check_all();
    peer_close(&q);
}

/* The keys that clients wait for are somebody's memory: of those who share one the first one's, and
 * when that is gone the next one's. */
static void test_memory_is_the_clients(void **state) {
    enum { KEYS = 200, NAME_BYTES = 500, NAMES_BYTES = KEYS * NAME_BYTES };
    struct peer p = peer_connect(), q = peer_connect();
    struct buffer line = {.class = MEMORY_OTHER};
    size_t idle = client_memory_of(p.client);
    buffer_printf(&line, "*%d\r\n$5\r\nblpop\r\n", KEYS + 2);
    for (int i = 0; i < KEYS; i++)
        buffer_printf(&line, "$%d\r\n%0*d\r\n", NAME_BYTES, NAME_BYTES, i);
    buffer_append_c_string(&line, "$1\r\n0\r\n");
    for (int round = 0; round < 2; round++) {
        const char *const ways[] = {"client unblock %llu\r\n", "client kill id %llu\r\n"};
        struct peer killer = peer_connect();
        char text[64];
        peer_send(&p, buffer_slice(&line));
        assert_in_range(client_memory_of(p.client), NAMES_BYTES, 2 * NAMES_BYTES);
        check_all();
        peer_send(&q, buffer_slice(&line));
        assert_in_range(client_memory_of(q.client), idle, NAMES_BYTES / 2);
        check_all();
        snprintf(text, sizeof(text), ways[round], (unsigned long long)p.id);
        tell(&killer, text, ":1\r\n");
        if (round == 0) assert_in_range(client_memory_of(p.client), 1, idle + 100);
        assert_in_range(client_memory_of(q.client), NAMES_BYTES, 2 * NAMES_BYTES);
        check_all();
        snprintf(text, sizeof(text), ways[0], (unsigned long long)q.id);
        tell(&killer, text, ":1\r\n");
        assert_in_range(client_memory_of(q.client), 1, idle + 100);
        check_all();
        peer_close(&killer);
    }
    buffer_free(&line);
    peer_close(&p);
    peer_close(&q);
}

/* ---- how a wait ends ---- */

static void hear(struct peer *p, const char *reply) {
    peers_turns();
    peer_receive(p, SIZE_MAX);
    peer_assert_got(p, slice_of(reply));
}

/* The answer is made at the end, by the reason; what the client has sent behind its wait runs then,
 * unless the connection closes. */
static void test_reasons(void **state) {
    static const struct {
        struct blocked_end how;
        const char *reply;
    } ways[] = {
        {{.reason = BLOCKED_VALUE}, ":7\r\n+PONG\r\n"},
        {{.reason = BLOCKED_TIME}, ":0\r\n+PONG\r\n"},
        {{.reason = BLOCKED_ERROR, .error = "-MOVED 1 a:1"}, "-MOVED 1 a:1\r\n+PONG\r\n"},
        {{.reason = BLOCKED_ERROR, .error = "gone", .closes = true}, "-ERR gone\r\n"},
    };
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        for (int all = 0; all < 2; all++) {
            struct peer p = peer_connect(), idle = peer_connect();
            ask(&p, "await-other\r\nping\r\n");
            assert_true(blocked_is(p.client));
            assert_false(blocked_end(idle.client, &ways[i].how));
            if (all)
                blocked_end_all(&ways[i].how);
            else
                assert_true(blocked_end(p.client, &ways[i].how));
            check_all();
            hear(&p, ways[i].reply);
            assert_int_equal(peer_is_served(&p), !ways[i].how.closes);
            tell(&idle, "ping\r\n", "+PONG\r\n");
            assert_int_equal(blocked_clients(), 0);
            peer_close(&p);
            peer_close(&idle);
        }
    }
}

static struct buffer reviewed; /* the keys that were asked about, in order */

static bool ask_about_key(const struct client *c, const struct key *key, struct buffer *error) {
    buffer_append(&reviewed, key->name.bytes, key->name.length);
    if (!slice_is(key->name, "x")) return false;
    buffer_printf(error, "-MOVED 1 of:%d", (int)key->name.length);
    return true;
}

static void review(size_t count, const char *wanted) {
    buffer_init(&reviewed, MEMORY_OTHER);
    blocked_review(count, ask_about_key);
    assert_true(slice_is(buffer_slice(&reviewed), wanted));
    buffer_free(&reviewed);
    check_all();
}

/* Waits for keys are asked about in turn, and no others; a wait that must end has its error, and
 * the client goes on. */
static void test_review(void **state) {
    static const char *const words[] = {"await a\r\n", "await-other\r\n", "await x\r\nping\r\n",
                                        "blpop b c 0\r\n"};
    struct peer waiters[4];
    review(5, "");
    for (size_t i = 0; i < 4; i++) {
        waiters[i] = peer_connect();
        ask(&waiters[i], words[i]);
    }
    assert_int_equal(blocked_on_keys(), 3);
    review(0, "");
    review(1, "a");
    review(1, "x");
    assert_int_equal(blocked_on_keys(), 2);
    hear(&waiters[2], "-MOVED 1 of:1\r\n+PONG\r\n");
    ask(&waiters[2], "await d\r\n"); /* behind `a`, which was asked about before */
    review(4, "badb");
    client_close_later(waiters[0].client);
    review(2, "d"); /* `a` closes */
    for (size_t i = 0; i < 4; i++) peer_close(&waiters[i]);
    peers_turns();
    assert_int_equal(blocked_on_keys(), 0);
}

static void end_in_thread(void *ticket) { blocked_end_from_thread(ticket); }

/* The ticket is given back by another thread, and what it ended has its answer in the next turn. */
static struct background_kind own_jobs = {.name = "test"};

static void hand_over(struct blocked_ticket *ticket, struct background_kind *thread) {
    background_submit(thread, end_in_thread, ticket);
    background_drain(thread);
    peers_turns();
    check_all();
}

/* Only the wait that the ticket stands for is ended: not the client's next one, and none where the
 * client has gone. */
static void test_tickets(void **state) {
    struct peer p = peer_connect(), idle = peer_connect();
    assert_null(blocked_ticket(idle.client));
    ask(&p, "await-other\r\n");
    hand_over(blocked_ticket(p.client), &background_free);
    hear(&p, ":7\r\n");

    ask(&p, "await-other\r\n");
    struct blocked_ticket *late = blocked_ticket(p.client);
    pass(WAIT_MSEC + 1);
    hear(&p, ":0\r\n");
    ask(&p, "await-other\r\n");
    struct blocked_ticket *right = blocked_ticket(p.client);
    hand_over(late, &background_free);
    assert_true(blocked_is(p.client));
    hand_over(right, &background_free);
    hear(&p, ":7\r\n");

    ask(&p, "await-other\r\n");
    struct blocked_ticket *nobodys = blocked_ticket(p.client);
    peer_close(&p);
    hand_over(nobodys, &background_free);
    assert_int_equal(blocked_clients(), 0);
    peer_close(&idle);
}

/* A kind that is kept ends by its ticket, and in no other way. */
static void test_kept(void **state) {
    struct peer p = peer_connect(), q = peer_connect();
    char line[64];
    ask(&p, "await-kept\r\n");
    snprintf(line, sizeof(line), "client unblock %llu error\r\n", (unsigned long long)p.id);
    tell(&q, line, ":0\r\n");
    blocked_end_all(&(struct blocked_end){.reason = BLOCKED_TIME});
    assert_false(blocked_is(p.client));
    assert_int_equal(blocked_clients(), 1);
    check_all();
    hand_over(blocked_ticket(p.client), &own_jobs);
    hear(&p, ":7\r\n");
    assert_int_equal(blocked_clients(), 0);
    peer_close(&p);
    peer_close(&q);
}

/* Two threads give tickets back at the same time; some clients have gone meanwhile. */
static void test_many_tickets(void **state) {
    enum { WAITERS = 200 };
    struct peer waiters[WAITERS];
    for (int i = 0; i < WAITERS; i++) {
        waiters[i] = peer_connect();
        ask(&waiters[i], "await-kept\r\n");
    }
    for (int i = 0; i < WAITERS; i++) {
        background_submit(i % 2 ? &background_free : &own_jobs, end_in_thread,
                          blocked_ticket(waiters[i].client));
        if (i % 10 == 0) peer_close(&waiters[i]);
    }
    background_drain(&background_free);
    background_drain(&own_jobs);
    peers_turns();
    assert_int_equal(blocked_clients(), 0);
    for (int i = 0; i < WAITERS; i++) {
        if (i % 10 == 0) continue;
        hear(&waiters[i], ":7\r\n");
        peer_close(&waiters[i]);
    }
    check_all();
}

/* ---- many ---- */

#define PEERS 12

static void append_random_line(struct buffer *out, const struct peer *all) {
    unsigned a = (unsigned)random_below(4), b = (unsigned)random_below(4);
    const struct peer *other = &all[random_below(PEERS)];
    unsigned long long id = other->id;
    switch (random_below(14)) {
    case 0: buffer_printf(out, "blpop k%u k%u 0\r\n", a, b); break;
    case 1: buffer_printf(out, "blpop k%u k%u 0.02\r\n", a, b); break;
    case 2: buffer_printf(out, "blmove k%u k%u left left 0.05\r\n", a, b); break;
    case 3: buffer_printf(out, "await k%u\r\n", a); break;
    case 4: buffer_printf(out, "await-shortly k%u\r\n", a); break;
    case 5: buffer_printf(out, "leave-waiting k%u\r\n", a); break;
    case 6: buffer_printf(out, "client unblock %llu\r\n", id); break;
    case 7: buffer_printf(out, "client unblock %llu error\r\n", id); break;
    case 8: buffer_printf(out, "client kill id %llu\r\n", id); break;
    case 9: buffer_printf(out, "multi\r\nblpop k%u 0\r\nrpush k%u 1 2\r\nexec\r\n", a, b); break;
    case 10:
        buffer_printf(out, "multi\r\nclient kill id %llu\r\nrpush k%u 1\r\nexec\r\n", id, a);
        break;
    case 11: buffer_printf(out, "multi\r\npost\r\nrpush k%u 1\r\nexec\r\n", a); break;
    case 12: buffer_printf(out, "del k%u\r\n", a); break;
    default: buffer_printf(out, "rpush k%u 1 2\r\n", a); break;
    }
}

static void test_random(void **state) {
    struct peer all[PEERS];
    for (int i = 0; i < PEERS; i++) all[i] = peer_connect();
    for (int round = 0; round < 4000; round++) {
        struct peer *p = &all[random_below(PEERS)];
        struct buffer lines = {.class = MEMORY_OTHER};
        if (random_below(100) == 0) limit(random_below(2) ? "normal 20kb 0 0" : "normal 0 0 0");
        if (!peer_is_served(p) || random_below(50) == 0) {
            peer_close(p);
            *p = peer_connect();
        }
        for (uint64_t left = 1 + random_below(4); left; left--) append_random_line(&lines, all);
        peer_send(p, buffer_slice(&lines));
        if (random_below(4) == 0) pass((int64_t)random_below(30));
        check_all();
        buffer_free(&lines);
    }
    limit("normal 0 0 0");
    for (int i = 0; i < PEERS; i++) peer_close(&all[i]);
    assert_int_equal(blocked_clients(), 0);
    check_all();
}

/* ---- setting up ---- */

static int open_all(void **state) {
    int result = whole_open();
    command_register(rows, sizeof(rows) / sizeof(rows[0]));
    return result;
}

static int end(void **state) { return whole_nothing_left(state); }

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, whole_begin, end)
    const struct CMUnitTest tests[] = {
        TEST(test_closed_by_last_reply),
        TEST(test_closed_as_it_begins),
        TEST(test_the_dead_are_not_asked),
        TEST(test_asked_until_it_is_gone),
        TEST(test_memory_is_the_clients),
        TEST(test_reasons),
        TEST(test_review),
        TEST(test_tickets),
        TEST(test_kept),
        TEST(test_many_tickets),
        TEST(test_random),
    };
#undef TEST
    return cmocka_run_group_tests(tests, open_all, NULL);
}
