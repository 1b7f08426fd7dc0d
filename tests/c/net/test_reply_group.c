/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of groups whose length comes after their elements (net/reply): wherever the reply stands,
 * and whatever happens while a group is open, a client gets what it would get if the length had
 * been said first.
 *
 * A request of the executor here names one of the functions below by its first byte. "t <budget>"
 * replies a random tree of groups, each with its length before or behind; what the client must get
 * is written beside it. SEED=n runs the same random choices again.
 */
#include "base/number.h"
#include "net/capture.h"
#include "net/limits.h"
#include "net/peers.h"

#define DEPTH_MAX 6
#define PUSH ">1\r\n+push\r\n"

static struct peer other;          /* who is sent something in the midst of requests */
static struct buffer other_wanted; /* what it must have got in all */
static uint64_t records;           /* they never fall */
static struct client *message_to;  /* who is sent one by its requests */

/* ---- random trees ---- */

struct tree {
    struct client *client;
    struct buffer *wanted, *behind; /* RESP: the reply, and the messages that follow it */
    int64_t budget;                 /* values that may still be begun */
    int open;                       /* groups without a length */
    bool events;                    /* turns and records happen between values */
    bool lengths_first;             /* of all groups */
};

static void say(struct tree *t, const char *text) { buffer_append_c_string(t->wanted, text); }

static void say_bulk(struct buffer *wanted, struct slice text) {
    buffer_printf(wanted, "$%zu\r\n", text.length);
    buffer_append(wanted, text.bytes, text.length);
    buffer_append_c_string(wanted, "\r\n");
}

/* Any length, a short one most often. */
static size_t random_length(void) {
    uint64_t number = random_below(50);
    if (number == 0) return random_below(150000);
    if (number == 1) return random_below(9000);
    return random_below(number < 10 ? 400 : 10);
}

static void random_bulk(struct tree *t) {
    struct buffer text = {.class = MEMORY_OTHER};
    size_t length = random_length();
    char *bytes = buffer_reserve(&text, length), first = (char)('a' + random_below(26));
    for (size_t i = 0; i < length; i++) bytes[i] = (char)(first + i % 5);
    text.length = length;
    reply_bulk(t->client, buffer_slice(&text));
    say_bulk(t->wanted, buffer_slice(&text));
    buffer_free(&text);
}

/* The other client asks, and is answered at once. What the one whose request runs is sent meanwhile
 * comes behind its reply. */
static void turn_within(struct tree *t) {
    assert_int_equal(peer_try_send(&other, "p\n", 2), 2);
    buffer_append_c_string(&other_wanted, "+PONG\r\n");
    message_to = t->client;
    assert_true(batch_turn_within(records));
    message_to = NULL;
    buffer_append_c_string(t->behind, PUSH);
    while (peer_receive(&other, SIZE_MAX)) continue;
}

static void random_event(struct tree *t) {
    uint64_t number = t->events ? random_below(300) : 300;
    if (number == 0) turn_within(t);
    if (number == 1) reply_depend(records);
}

static void random_value(struct tree *t, int depth);

static void random_group(struct tree *t, int depth) {
    static const char marks[] = "*%~";
    unsigned kind = (unsigned)random_below(3);
    bool pairs = kind == 1, later = random_below(4) && !t->lengths_first;
    int64_t count = random_below(8) ? (int64_t)random_below(12) : (int64_t)random_below(1200);
    if (count > t->budget) count = t->budget;
    t->budget -= count;
    char mark = t->client->protocol == 3 ? marks[kind] : '*';
    bool doubled = pairs && t->client->protocol != 3;
    buffer_printf(t->wanted, "%c%lld\r\n", mark, (long long)(doubled ? 2 * count : count));
    struct reply_group g;
    if (later) {
        g = kind == 0   ? reply_array_begin(t->client)
            : kind == 1 ? reply_map_begin(t->client)
                        : reply_set_begin(t->client);
        t->open++;
    } else if (kind == 0) {
        reply_array(t->client, count);
    } else if (kind == 1) {
        reply_map(t->client, count);
    } else {
        reply_set(t->client, count);
    }
    for (int64_t i = 0; i < (pairs ? 2 * count : count); i++) {
        if (later) random_event(t);
        random_value(t, depth + 1);
    }
    if (!later) return;
    random_event(t);
    reply_group_end(&g, count);
    t->open--;
}

static void random_value(struct tree *t, int depth) {
    switch (random_below(depth < DEPTH_MAX ? 6 : 3)) {
    case 0:
        reply_integer(t->client, 7);
        say(t, ":7\r\n");
        break;
    case 1:
    case 2: random_bulk(t); break;
    default: random_group(t, depth);
    }
}

static struct buffer wanted; /* of all that requests have replied */

enum manner { PLAIN, WITH_EVENTS, LENGTHS_FIRST };

static void reply_tree(struct client *c, int64_t budget, enum manner manner) {
    struct buffer behind = {.class = MEMORY_OTHER};
    struct tree t = {.client = c,
                     .wanted = &wanted,
                     .behind = &behind,
                     .budget = budget,
                     .events = manner == WITH_EVENTS,
                     .lengths_first = manner == LENGTHS_FIRST};
    random_group(&t, 0);
    assert_int_equal(t.open, 0);
    assert_false(c->flags & CLIENT_OPEN_GROUP);
    buffer_append(&wanted, behind.bytes, behind.length);
    buffer_free(&behind);
}

/* ---- the executor ---- */

static int64_t number_of(const struct request *r) {
    int64_t number;
    assert_true(number_parse_int64(r->argv[1].bytes, r->argv[1].length, &number));
    return number;
}

/* Counts on both sides of a digit more, around each other. */
static void reply_lengths(struct client *c) {
    static const int64_t counts[] = {0, 1, 9, 10, 99, 100, 1000};
    size_t kinds = sizeof(counts) / sizeof(counts[0]);
    struct reply_group all = reply_array_begin(c);
    for (size_t i = 0; i < kinds; i++) {
        struct reply_group g = reply_array_begin(c);
        for (int64_t k = 0; k < counts[i]; k++) reply_integer(c, 1);
        reply_group_end(&g, counts[i]);
    }
    reply_group_end(&all, (int64_t)kinds);
    buffer_printf(&wanted, "*%zu\r\n", kinds);
    for (size_t i = 0; i < kinds; i++) {
        buffer_printf(&wanted, "*%lld\r\n", (long long)counts[i]);
        for (int64_t k = 0; k < counts[i]; k++) buffer_append_c_string(&wanted, ":1\r\n");
    }
}

/* A map of one pair, a set of one, an empty one of each. */
static void reply_forms(struct client *c) {
    struct reply_group m = reply_map_begin(c);
    reply_integer(c, 1);
    reply_integer(c, 2);
    reply_group_end(&m, 1);
    struct reply_group s = reply_set_begin(c);
    reply_integer(c, 3);
    reply_group_end(&s, 1);
    m = reply_map_begin(c);
    reply_group_end(&m, 0);
    s = reply_set_begin(c);
    reply_group_end(&s, 0);
}

static const char forms_2[] = "*2\r\n:1\r\n:2\r\n*1\r\n:3\r\n*0\r\n*0\r\n";
static const char forms_3[] = "%1\r\n:1\r\n:2\r\n~1\r\n:3\r\n%0\r\n~0\r\n";

/* So many integers; the client closes, or is to close, where half of them are replied. */
static void reply_closing(struct client *c, int64_t count, void (*close)(struct client *c)) {
    struct reply_group g = reply_array_begin(c), inner;
    for (int64_t i = 0; i < count; i++) {
        if (i == count / 2) {
            inner = reply_array_begin(c);
            close(c);
            reply_group_end(&inner, 0);
        } else {
            reply_integer(c, i);
        }
    }
    reply_group_end(&g, count);
    assert_false(c->flags & CLIENT_OPEN_GROUP);
}

static void execute(struct request *r) {
    struct client *c = r->client;
    switch (r->argv[0].bytes[0]) {
    case '2': c->protocol = 2; break;
    case '3': c->protocol = 3; break;
    case 'p':
        reply_status(c, "PONG");
        if (message_to) reply_message(message_to, PUSH, sizeof(PUSH) - 1);
        break;
    case 't': reply_tree(c, number_of(r), PLAIN); break;
    case 'e': reply_tree(c, number_of(r), WITH_EVENTS); break;
    case 'l': reply_lengths(c); break;
    case 'f': reply_forms(c); break;
    case 'k': reply_closing(c, number_of(r), client_close_later); break;
    case 'q': reply_closing(c, number_of(r), client_close_after_reply); break;
    case 'o': reply_set_off(c, number_of(r)); break;
    default: fail_msg("unknown request");
    }
}

static void no_prefetch(struct request *r, int count) {}
static const struct batch_executor executor = {.prefetch = no_prefetch, .execute = execute};

static int begin_test(void **state) {
    peers_begin(state);
    buffer_clear(&wanted);
    buffer_clear(&other_wanted);
    return 0;
}

static int end_test(void **state) {
    buffer_free(&wanted);
    buffer_free(&other_wanted);
    return peers_nothing_left(state);
}

/* ---- groups, wherever they stand ---- */

static void test_lengths(void **state) {
    struct peer p = peer_connect();
    peer_send(&p, SLICE("l\nl\np\nl\n"));
    assert_int_equal(p.got.length, wanted.length + 7);
    size_t before = wanted.length / 3 * 2;
    assert_memory_equal(p.got.bytes, wanted.bytes, before);
    assert_memory_equal(p.got.bytes + before, "+PONG\r\n", 7);
    assert_memory_equal(p.got.bytes + before + 7, wanted.bytes, wanted.length / 3);
    buffer_clear(&p.got);
    peer_close(&p);
}

static void test_forms(void **state) {
    struct peer p = peer_connect();
    peer_send(&p, SLICE("f\n"));
    peer_assert_got(&p, slice_of(forms_2));
    peer_send(&p, SLICE("3\nf\n"));
    peer_assert_got(&p, slice_of(forms_3));
    /* In chunks. */
    reply_integer(p.client, 1);
    reply_forms(p.client);
    assert_true(reply_check(p.client));
    peer_send(&p, SLICE("f\n"));
    buffer_append_c_string(&wanted, ":1\r\n");
    buffer_append_c_string(&wanted, forms_3);
    buffer_append_c_string(&wanted, forms_3);
    peer_assert_got(&p, buffer_slice(&wanted));
    peer_close(&p);
}

/* One group, its header at each of the places of a buffer, or of a chunk, where its room just fits
 * or does not. */
static void test_around_the_ends(void **state) {
    static const size_t ends[] = {REPLY_CHUNK_BYTES_MIN, REPLY_CHUNK_BYTES, REPLY_OUTPUT_BYTES};
    for (size_t e = 0; e < sizeof(ends) / sizeof(ends[0]); e++) {
        for (size_t less = 0; less < 90; less += 1 + random_below(4)) {
            struct peer p = peer_connect();
            bool chunks = ends[e] != REPLY_OUTPUT_BYTES;
            struct buffer text = {.class = MEMORY_OTHER};
            size_t length = ends[e] - less;
            memset(buffer_reserve(&text, length), 'e', length);
            text.length = length;
            buffer_clear(&wanted);
            if (!chunks) reply_begin(p.client);
            reply_bulk(p.client, buffer_slice(&text));
            say_bulk(&wanted, buffer_slice(&text));
            reply_lengths(p.client);
            reply_end();
            assert_true(reply_check(p.client));
            reply_write_all();
            do peers_turns();
            while (peer_receive(&p, SIZE_MAX));
            peer_assert_got(&p, buffer_slice(&wanted));
            buffer_free(&text);
            peer_close(&p);
        }
    }
}

/* Reads in sips or at once. */
static void receive_all(struct peer *p) {
    bool sips = random_below(2);
    while (p->got.length < wanted.length) {
        size_t before = p->got.length;
        peer_receive(p, sips ? 1 + random_below(60000) : SIZE_MAX);
        peers_turns();
        if (before == p->got.length && !peer_receive(p, 1)) break;
    }
    peer_assert_got(p, buffer_slice(&wanted));
    buffer_clear(&wanted);
    assert_int_equal(reply_chunk_bytes(p->client), 0);
    assert_int_equal(p->client->reply_bytes, 0);
}

static void test_random_trees(void **state) {
    for (int round = 0; round < 5 * ROUNDS_OF_PEERS; round++) {
        struct peer p = peer_connect();
        if (random_below(2)) p.client->protocol = 3;
        for (int batch = 0; batch < 3; batch++) {
            struct buffer input = {.class = MEMORY_OTHER};
            int64_t requests = (int64_t)random_below(6);
            for (int64_t i = 0; i <= requests; i++)
                buffer_printf(&input, "t %llu\n", (unsigned long long)random_below(300));
            assert_int_equal(peer_try_send(&p, input.bytes, input.length), input.length);
            peers_turns();
            assert_true(reply_check(p.client));
            receive_all(&p);
            buffer_free(&input);
        }
        peer_close(&p);
    }
}

/* From outside of a request: all goes to chunks. */
static void test_random_trees_in_chunks(void **state) {
    for (int round = 0; round < 5 * ROUNDS_OF_PEERS; round++) {
        struct peer p = peer_connect();
        for (int i = 0; i < 3; i++) {
            reply_tree(p.client, (int64_t)random_below(300), PLAIN);
            assert_true(reply_check(p.client));
        }
        reply_write_all();
        receive_all(&p);
        peer_close(&p);
    }
}

/* ---- while a group is open ---- */

/* Turns within, messages of others in them, records: the reply stays whole. */
static void test_random_events(void **state) {
    peers_do_not_cut();
    for (int round = 0; round < 5 * ROUNDS_OF_PEERS; round++) {
        struct peer p = peer_connect();
        other = peer_connect();
        if (random_below(2)) p.client->protocol = 3;
        for (int batch = 0; batch < 3; batch++) {
            struct buffer input = {.class = MEMORY_OTHER};
            int64_t requests = (int64_t)random_below(3);
            records++;
            for (int64_t i = 0; i <= requests; i++)
                buffer_printf(&input, "e %llu\n", (unsigned long long)random_below(300));
            assert_int_equal(peer_try_send(&p, input.bytes, input.length), input.length);
            peers_turns();
            assert_true(reply_check(p.client));
            reply_allow(records);
            reply_write_all();
            receive_all(&p);
            while (peer_receive(&other, SIZE_MAX)) peers_turns();
            peer_assert_got(&other, buffer_slice(&other_wanted));
            buffer_clear(&other_wanted);
            buffer_free(&input);
        }
        peer_close(&other);
        peer_close(&p);
    }
}

/* ---- replies that nobody gets ---- */

static void test_dropped(void **state) {
    struct peer p = peer_connect();
    peer_send(&p, SLICE("o 1\nl\nt 100\no 0\np\n"));
    peer_assert_got(&p, SLICE("+PONG\r\n"));
    peer_close(&p);
}

static void test_closed_in_the_middle(void **state) {
    for (int64_t count = 10; count <= 1000000; count *= 100) {
        struct peer p = peer_connect();
        char line[32];
        int length = snprintf(line, sizeof(line), "p\nk %lld\np\n", (long long)count);
        peer_send(&p, (struct slice){line, (size_t)length});
        assert_true(p.ended);
        buffer_clear(&p.got);
        peer_close(&p);
        /* The reply of a client that closes after it is whole. */
        p = peer_connect();
        length = snprintf(line, sizeof(line), "q %lld\np\n", (long long)count);
        peer_send(&p, (struct slice){line, (size_t)length});
        assert_true(p.ended);
        buffer_printf(&wanted, "*%lld\r\n", (long long)count);
        for (int64_t i = 0; i < count; i++) {
            if (i == count / 2)
                buffer_append_c_string(&wanted, "*0\r\n");
            else
                buffer_printf(&wanted, ":%lld\r\n", (long long)i);
        }
        peer_assert_got(&p, buffer_slice(&wanted));
        buffer_clear(&wanted);
        peer_close(&p);
    }
}

/* The limit of unread output is passed while groups are open, at any place. */
static void test_limit_in_the_middle(void **state) {
    option_set_text("client-output-buffer-limit", "normal 200000 0 0");
    for (int round = 0; round < 5 * ROUNDS_OF_PEERS; round++) {
        struct peer p = peer_connect();
        other = peer_connect();
        for (int i = 0; i < 40 && peer_is_served(&p); i++) {
            peer_try_send(&p, i % 2 ? "e 300\n" : "t 300\n", 6);
            peers_turns();
            if (peer_is_served(&p)) assert_true(reply_check(p.client));
            reply_allow(records);
        }
        peer_try_send(&p, "l\nk 100000\n", 11);
        peers_turns();
        assert_false(peer_is_served(&p));
        if (peer_is_served(&other)) client_close_later(other.client);
        peer_close(&other);
        peer_close(&p);
        buffer_clear(&wanted);
        buffer_clear(&other_wanted);
    }
    option_set_text("client-output-buffer-limit", "normal 0 0 0");
}

/* ---- captures ---- */

static struct buffer read_text;

static void separate(const struct capture *capture) {
    const struct capture_level *level = capture_innermost(capture);
    if (level && level->seen) buffer_append_char(&read_text, ' ');
}

static void take_integer(struct capture *capture, int64_t value) {
    separate(capture);
    buffer_printf(&read_text, "%lld", (long long)value);
}

static void take_text(struct capture *capture, struct slice text) {
    separate(capture);
    buffer_append(&read_text, text.bytes, text.length);
}

static void take_group(struct capture *capture, enum capture_group kind, int64_t count) {
    separate(capture);
    buffer_append_char(&read_text, "(<{>|"[kind]);
}

static void take_group_end(struct capture *capture, enum capture_group kind) {
    buffer_append_char(&read_text, "(<{>|"[kind]);
}

static void take_null(struct capture *capture) { take_text(capture, SLICE("null")); }
static void take_boolean(struct capture *capture, bool value) { take_integer(capture, value); }
static void take_verbatim(struct capture *capture, struct slice text, const char *type) {
    take_text(capture, text);
}

static const struct capture_forms forms = {
    .integer = take_integer,
    .bulk = take_text,
    .status = take_text,
    .error = take_text,
    .group = take_group,
    .group_end = take_group_end,
    .null = take_null,
    .boolean = take_boolean,
    .number = take_text,
    .big_number = take_text,
    .verbatim = take_verbatim,
};

/* One tree by the same random choices, three times: the bytes are as wanted, and a reader meets the
 * same values and ends of groups whether lengths come before or behind. */
static void test_captures(void **state) {
    struct capture bytes, typed;
    struct buffer first = {.class = MEMORY_OTHER};
    capture_open(&bytes);
    capture_open_typed(&typed, &forms);
    for (int round = 0; round < 20 * ROUNDS_OF_PEERS; round++) {
        uint64_t seed = random_u64();
        bytes.client->protocol = typed.client->protocol = round % 2 ? 3 : 2;
        random_seed(seed);
        buffer_clear(&wanted);
        buffer_clear(&bytes.replies);
        reply_tree(bytes.client, 300, PLAIN);
        assert_true(slice_equal(buffer_slice(&bytes.replies), buffer_slice(&wanted)));
        random_seed(seed);
        buffer_clear(&read_text);
        reply_tree(typed.client, 300, LENGTHS_FIRST);
        buffer_clear(&first);
        buffer_append(&first, read_text.bytes, read_text.length);
        random_seed(seed);
        buffer_clear(&read_text);
        reply_tree(typed.client, 300, PLAIN);
        assert_true(slice_equal(buffer_slice(&read_text), buffer_slice(&first)));
        assert_null(capture_innermost(&typed));
        assert_int_equal(typed.replies.length, 0);
    }
    /* [7 {1 2} (3) {} () null], with each length before, then behind. */
    for (int later = 0; later < 2; later++) {
        struct client *c = typed.client;
        struct reply_group g;
        c->protocol = 3;
        buffer_clear(&read_text);
        g = reply_array_begin(c);
        reply_integer(c, 7);
        if (later) {
            reply_forms(c);
        } else {
            reply_map(c, 1);
            reply_integer(c, 1);
            reply_integer(c, 2);
            reply_set(c, 1);
            reply_integer(c, 3);
            reply_map(c, 0);
            reply_set(c, 0);
        }
        reply_null(c);
        reply_group_end(&g, 6);
        assert_true(slice_equal(buffer_slice(&read_text), SLICE("(7 <1 2< {3{ << {{ null(")));
        assert_null(capture_innermost(&typed));
    }
    capture_close(&typed);
    capture_close(&bytes);
    client_free_closing();
    buffer_free(&first);
    buffer_free(&read_text);
}

/* Messages to a captured client are no values. */
static void test_captured_messages(void **state) {
    struct capture typed;
    capture_open_typed(&typed, &forms);
    struct reply_group g = reply_array_begin(typed.client);
    reply_group_end(&g, 0);
    reply_message(typed.client, PUSH, sizeof(PUSH) - 1);
    assert_true(slice_equal(buffer_slice(&read_text), SLICE("((")));
    capture_close(&typed);
    client_free_closing();
    buffer_free(&read_text);
}

static int begin(void **state) {
    limits_register();
    return peers_open(&executor);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, begin_test, end_test)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_lengths),
        TEST(test_forms),
        TEST(test_around_the_ends),
        TEST(test_random_trees),
        TEST(test_random_trees_in_chunks),
        TEST(test_random_events),
        TEST(test_dropped),
        TEST(test_closed_in_the_middle),
        TEST(test_limit_in_the_middle),
        TEST(test_captures),
        TEST(test_captured_messages),
    };
    return cmocka_run_group_tests(tests, begin, NULL);
}
