/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of net/client_memory: what clients hold is known to the byte whatever they do, the largest
 * go first, and a batch of large replies never stands in memory as a whole.
 *
 * The executor's requests: "b <n>" replies n bytes, "t <bytes>" takes its argument, "h" holds the
 * client, "n <name>" names it, "k" closes `victim`, "c" checks the sums. SEED=n runs the same
 * random choices again.
 */
#include "net/client_memory.h"

#include "base/number.h"
#include "base/random.h"
#include "net/limits.h"
#include "net/peers.h"

static struct list_link waiting = {&waiting, &waiting}; /* of held_link */
static size_t peak; /* of MEMORY_CLIENTS, as requests found it */
static int64_t maxmemory;
static struct peer victim;

static void reply_many(struct client *c, struct slice count) {
    int64_t length;
    struct buffer text = {.class = MEMORY_OTHER};
    if (!number_parse_int64(count.bytes, count.length, &length)) {
        reply_error(c, "no number");
        return;
    }
    memset(buffer_reserve(&text, (size_t)length + 1), 'x', (size_t)length);
    reply_bulk(c, (struct slice){text.bytes, (size_t)length});
    buffer_free(&text);
}

static void execute(struct request *r) {
    if (client_memory_normal() > peak) peak = client_memory_normal();
    char word = 0;
    if (r->argv[0].length == 1) word = r->argv[0].bytes[0];
    if (r->argc < 2 && word != 'h') word = 0;
    switch (word) {
    case 'b': reply_many(r->client, r->argv[1]); return;
    case 't': blob_free(batch_take_argument(r, 1, MEMORY_DATASET), MEMORY_DATASET); break;
    case 'k': client_close_later(victim.client); break;
    case 'c': client_memory_check(); break;
    case 'n': client_set_name(r->client, r->argv[1]); break;
    case 'h':
        batch_hold(r->client);
        list_append(&waiting, &r->client->held_link);
        return;
    default: break;
    }
    reply_ok(r->client);
}

static void let_all_go(void) {
    while (!list_is_empty(&waiting)) {
        struct client *c = LIST_ENTRY(waiting.next, struct client, held_link);
        reply_ok(c);
        batch_resume(c);
    }
}

static void no_prefetch(struct request *r, int count) {}
static const struct batch_executor executor = {.prefetch = no_prefetch, .execute = execute};

static int64_t read_maxmemory(void) { return maxmemory; }

static bool (*const before_sleep[])(void) = {peers_end_of_turn, batch_run_resumed, NULL};

static int group_open(void **state) {
    limits_register();
    client_memory_register();
    client_memory_set_maxmemory(read_maxmemory);
    peers_open(&executor);
    peers_set_before_sleep(before_sleep);
    return 0;
}

static int test_end(void **state) {
    option_set_text("maxmemory-clients", "0");
    client_memory_check();
    return peers_nothing_left(state);
}

/* The client asks, and reads nothing. */
static void ask(struct peer *p, const char *request) {
    assert_int_equal(peer_try_send(p, request, strlen(request)), strlen(request));
    peers_turns();
    client_memory_check();
}

/* ---- sums ---- */

static void test_idle(void **state) {
    size_t before = peers_bytes_now();
    struct peer p = peer_connect();
    size_t idle = memory_usable_size(p.client);
    assert_int_equal(peers_bytes_now() - before, idle);
    assert_in_range(client_memory_normal() - peers_bytes_now(), 1, 1024); /* the table of ids */
    peer_send(&p, SLICE("x\n"));
    assert_null(p.client->weight);
    assert_int_equal(peers_bytes_now() - before, idle);
    assert_int_equal(client_memory_of(p.client), idle);
    peer_close(&p);
}

static void test_partial_request(void **state) {
    struct peer p = peer_connect();
    size_t idle = client_memory_of(p.client);
    ask(&p, "*2\r\n$1\r\nt\r\n$1000000\r\nabc");
    assert_non_null(p.client->weight);
    assert_true(client_memory_of(p.client) >= idle + 1000000);
    peer_close(&p);
}

/* A taken argument is the data's, no longer the client's. */
static void test_taken_argument(void **state) {
    struct peer p = peer_connect();
    struct buffer rest = {.class = MEMORY_OTHER};
    size_t idle = client_memory_of(p.client);
    memset(buffer_reserve(&rest, 100000), 'x', 100000);
    rest.length = 100000;
    buffer_append_c_string(&rest, "\r\n");
    peer_send(&p, SLICE("*2\r\n$1\r\nt\r\n$100000\r\n"));
    peer_send(&p, buffer_slice(&rest));
    peer_assert_got(&p, SLICE("+OK\r\n"));
    assert_int_equal(client_memory_of(p.client), idle);
    assert_null(p.client->weight);
    buffer_free(&rest);
    peer_close(&p);
}

/* ---- between turns ---- */

/* A client that gets messages while none of its requests runs is as large as they are, at once. */
static void test_messages_between_turns(void **state) {
    enum { LENGTH = 700000 };
    struct buffer text = {.class = MEMORY_OTHER};
    struct peer told = peer_connect(), asks = peer_connect();
    ask(&asks, "b 900000\n");
    memset(buffer_reserve(&text, LENGTH), 'm', LENGTH);
    for (int i = 0; i < 5; i++) reply_message(told.client, text.bytes, LENGTH);
    buffer_free(&text);
    assert_non_null(told.client->weight);
    size_t held = client_memory_of(told.client);
    assert_true(held > 5 * LENGTH);
    assert_int_equal(client_memory_disconnect_largest(1), held);
    peers_turns();
    assert_false(peer_is_served(&told));
    assert_true(peer_is_served(&asks));
    peer_close(&told);
    peer_close(&asks);
}

/* ---- who goes ---- */

static void test_largest_first(void **state) {
    struct peer small = peer_connect(), large = peer_connect(), middle = peer_connect();
    ask(&small, "b 700000\n");
    ask(&large, "b 9000000\n");
    ask(&middle, "b 2500000\n");
    size_t held = client_memory_of(large.client);
    assert_int_equal(client_memory_disconnect_largest(1), held);
    assert_true(client_memory_leaving() < held); /* its replies are gone at once */
    peers_turns();
    assert_false(peer_is_served(&large));
    assert_true(peer_is_served(&middle) && peer_is_served(&small));
    assert_int_equal(client_memory_leaving(), 0);
    client_memory_disconnect_largest(client_memory_of(middle.client) + 1); /* takes both */
    peers_turns();
    assert_false(peer_is_served(&middle) || peer_is_served(&small));
    peer_close(&small);
    peer_close(&large);
    peer_close(&middle);
}

static void test_no_evict(void **state) {
    struct peer kept = peer_connect(), other = peer_connect(), idle = peer_connect();
    ask(&kept, "b 9000000\n");
    ask(&other, "b 1000000\n");
    kept.client->flags |= CLIENT_NO_EVICT;
    client_memory_disconnect_largest(1);
    assert_true(peer_is_served(&idle));
    client_memory_disconnect_largest(SIZE_MAX); /* none without buffers */
    peers_turns();
    assert_false(peer_is_served(&other));
    assert_true(peer_is_served(&kept) && peer_is_served(&idle));
    option_set_text("maxmemory-clients", "1"); /* those without buffers, too */
    peers_turns();
    assert_true(peer_is_served(&kept));
    assert_false(peer_is_served(&idle));
    peer_close(&kept);
    peer_close(&other);
    peer_close(&idle);
}

static void test_limit(void **state) {
    struct peer slow = peer_connect(), quick = peer_connect();
    option_set_text("maxmemory-clients", "2mb");
    ask(&slow, "b 1500000\n");
    peer_send(&quick, SLICE("x\n"));
    assert_true(peer_is_served(&slow));
    ask(&slow, "b 1500000\n");
    assert_false(peer_is_served(&slow));
    assert_true(peer_is_served(&quick));
    peer_close(&slow);
    peer_close(&quick);
}

static void test_percent(void **state) {
    struct peer slow = peer_connect();
    ask(&slow, "b 1500000\n");
    maxmemory = 0; /* a percentage of nothing: no limit */
    option_set_text("maxmemory-clients", "1%");
    assert_true(peer_is_served(&slow));
    maxmemory = 4000000;
    option_set_text("maxmemory-clients", "100%");
    assert_true(peer_is_served(&slow));
    option_set_text("maxmemory-clients", "20%"); /* holds at once */
    assert_false(peer_is_served(&slow));
    peer_close(&slow);
}

/* ---- many at once ---- */

#define HERD 200
#define HERD_REPLY 100000

/* All ask before the loop turns, so that their requests stand in one batch. */
static void test_herd(void **state) {
    static const char request[] = "*2\r\n$1\r\nb\r\n$6\r\n100000\r\n";
    struct peer herd[HERD];
    for (int i = 0; i < HERD; i++) {
        herd[i] = peer_connect();
        assert_int_equal(peer_try_send(&herd[i], request, strlen(request)), strlen(request));
    }
    peak = 0;
    /* A turn ends when its time is up, which may be after any batch. */
    for (int i = 0; i < HERD; i++) loop_turn(peers_loop, 0);
    assert_true(peak > 0);
    assert_true(peak < REPLY_PENDING_BYTES + 4 * HERD_REPLY + HERD * 1024);
    for (int i = 0; i < HERD; i++) {
        peer_receive(&herd[i], SIZE_MAX);
        assert_true(herd[i].got.length > HERD_REPLY);
        peer_close(&herd[i]);
    }
}

/* Requests that fill the thread's input buffer run when the next client is to be read. Where one of
 * them closes that client, it is not read. */
static void test_closed_before_read(void **state) {
    enum { FILLERS = BATCH_INPUT_BYTES / BATCH_READ_BYTES, PADDING = BATCH_READ_BYTES - 40 };
    struct peer filler[FILLERS], checker = peer_connect();
    struct buffer text = {.class = MEMORY_OTHER};
    victim = peer_connect();
    ask(&victim, "*2\r\n$1\r\nt\r\n$20000\r\nabc");
    buffer_printf(&text, "*2\r\n$1\r\nk\r\n$%d\r\n", PADDING);
    memset(buffer_reserve(&text, PADDING), 'x', PADDING);
    text.length += PADDING;
    buffer_append_c_string(&text, "\r\n");
    for (int i = 0; i < FILLERS; i++) filler[i] = peer_connect();
    for (int i = 0; i < FILLERS; i++)
        assert_int_equal(peer_try_send(&filler[i], text.bytes, text.length), text.length);
    assert_int_equal(peer_try_send(&victim, text.bytes, text.length), text.length);
    peer_send(&checker, SLICE("*2\r\n$1\r\nc\r\n$1\r\nx\r\n"));
    peer_assert_got(&checker, SLICE("+OK\r\n"));
    assert_false(peer_is_served(&victim));
    for (int i = 0; i < FILLERS; i++) peer_close(&filler[i]);
    peer_close(&victim);
    peer_close(&checker);
    buffer_free(&text);
}

static void test_find(void **state) {
    struct peer p[HERD];
    for (int i = 0; i < HERD; i++) p[i] = peer_connect();
    for (int i = 0; i < HERD; i++) assert_ptr_equal(client_find(p[i].id), p[i].client);
    assert_null(client_find(0));
    assert_null(client_find(p[HERD - 1].id + 1));
    client_close_later(p[7].client);
    assert_null(client_find(p[7].id)); /* not only when it is freed */
    for (int i = 0; i < HERD; i += 2) peer_close(&p[i]);
    for (int i = 1; i < HERD; i += 2)
        assert_ptr_equal(client_find(p[i].id), i == 7 ? NULL : p[i].client);
    for (int i = 1; i < HERD; i += 2) peer_close(&p[i]);
}

/* ---- anything ---- */

#define CROWD 24
#define STEPS 6000

static void send_random(struct peer *p) {
    static const char *const heads[] = {
        "*2\r\n$1\r\nt\r\n$50000\r\n", "*1\r\n$1\r\nh\r\n", "*2\r\n$1\r\nb\r\n$6\r\n300000\r\n",
        "b 20000\nb 20000\nb 20000\n", "n somebody\n",      "*3\r\n$1\r\nx\r\n$3\r\nab"};
    char bytes[20000];
    unsigned choice = (unsigned)random_below(10);
    if (choice < 6) {
        peer_try_send(p, heads[choice], strlen(heads[choice]));
    } else if (choice < 9) {
        size_t length = 1 + random_below(sizeof(bytes));
        memset(bytes, 'x', length);
        peer_try_send(p, bytes, length);
    } else {
        peer_try_send(p, "\r\n", 2);
    }
}

/* One thing that one client does, or that is done to it. */
static void step(struct peer *p) {
    switch (random_below(16)) {
    case 0:
        peer_close(p);
        *p = peer_connect();
        break;
    case 1:
        if (peer_is_served(p)) client_close_later(p->client);
        break;
    case 2: client_memory_disconnect_largest(1 + random_below(1000000)); break;
    case 3: let_all_go(); break;
    case 4:
        if (peer_is_served(p)) p->client->flags ^= CLIENT_NO_EVICT;
        break;
    case 5: option_set_text("maxmemory-clients", random_below(2) ? "300kb" : "0"); break;
    case 6:
    case 7: peer_receive(p, random_below(200000)); break;
    default: send_random(p);
    }
    if (p->got.length > 1000000) buffer_clear(&p->got);
}

static void test_anything(void **state) {
    struct peer crowd[CROWD];
    for (int i = 0; i < CROWD; i++) crowd[i] = peer_connect();
    for (int i = 0; i < STEPS; i++) {
        struct peer *p = &crowd[random_below(CROWD)];
        step(p);
        client_memory_check(); /* in the middle of a turn, too */
        if (random_below(2)) loop_turn(peers_loop, 0);
        client_memory_check();
        if (!peer_is_served(p)) {
            peer_close(p);
            *p = peer_connect();
        }
    }
    let_all_go();
    for (int i = 0; i < CROWD; i++) peer_close(&crowd[i]);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, peers_begin, test_end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_idle),           TEST(test_partial_request),
        TEST(test_taken_argument), TEST(test_messages_between_turns),
        TEST(test_largest_first),  TEST(test_no_evict),
        TEST(test_limit),          TEST(test_percent),
        TEST(test_herd),           TEST(test_closed_before_read),
        TEST(test_find),           TEST(test_anything),
    };
    return cmocka_run_group_tests(tests, group_open, NULL);
}
