/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of net/reply: the forms of RESP2 and RESP3, and the ways bytes take to a socket: the output
 * buffer, chunks, a reader that is slow or gone.
 *
 * The executor here knows one sort of request: its first byte names one of the functions below,
 * the rest is a number or a text. SEED=n runs the same random choices again.
 */
#include "net/reply.h"

#include "base/number.h"
#include "net/limits.h"
#include "net/peers.h"

/* A bit of the word of access/, as if it meant that one has not authenticated. */

/* ---- The executor ---- */

static struct peer other; /* a second client, for replies from outside */

static int64_t number_of(const struct request *r) {
    int64_t number;
    assert_true(number_parse_int64(r->argv[1].bytes, r->argv[1].length, &number));
    return number;
}

/* Byte i of every long reply: no period that a buffer's size has. */
static char pattern(size_t i) { return (char)('a' + i % 251 % 26); }

static void fill_pattern(struct buffer *text, size_t length) {
    buffer_clear(text);
    char *at = buffer_reserve(text, length);
    for (size_t i = 0; i < length; i++) at[i] = pattern(i);
    text->length = length;
}

static void reply_all_forms(struct client *c) {
    reply_ok(c);
    reply_status(c, "text");
    reply_status_slice(c, SLICE("slice"));
    reply_error(c, "plain");
    reply_error(c, "-CODE with\r\nnewlines\n");
    reply_error_format(c, "%s %d", "formatted", 7);
    reply_integer(c, 0);
    reply_integer(c, 10);
    reply_integer(c, INT64_MIN);
    reply_bulk(c, SLICE(""));
    reply_bulk(c, SLICE("a\r\nb"));
    reply_bulk_c_string(c, "string");
    reply_bulk_integer(c, -12);
    reply_null(c);
    reply_null_array(c);
    reply_array(c, 3);
    reply_map(c, 2);
    reply_set(c, 12);
    reply_double(c, 1.5);
    reply_bool(c, true);
    reply_bool(c, false);
    reply_big_number(c, SLICE("123456789012345678901234567890"));
    reply_verbatim(c, SLICE("words"), "txt");
    if (c->protocol != 3) return;
    reply_push(c, 2);
    reply_attribute(c, 1);
}

static const char forms_2[] =
    "+OK\r\n+text\r\n+slice\r\n-ERR plain\r\n-CODE with  newlines\r\n-ERR formatted 7\r\n"
    ":0\r\n:10\r\n:-9223372036854775808\r\n$0\r\n\r\n$4\r\na\r\nb\r\n$6\r\nstring\r\n$3\r\n-12\r\n"
    "$-1\r\n*-1\r\n*3\r\n*4\r\n*12\r\n$3\r\n1.5\r\n:1\r\n:0\r\n"
    "$30\r\n123456789012345678901234567890\r\n$5\r\nwords\r\n";
static const char forms_3[] =
    "+OK\r\n+text\r\n+slice\r\n-ERR plain\r\n-CODE with  newlines\r\n-ERR formatted 7\r\n"
    ":0\r\n:10\r\n:-9223372036854775808\r\n$0\r\n\r\n$4\r\na\r\nb\r\n$6\r\nstring\r\n$3\r\n-12\r\n"
    "_\r\n_\r\n*3\r\n%2\r\n~12\r\n,1.5\r\n#t\r\n#f\r\n"
    "(123456789012345678901234567890\r\n=9\r\ntxt:words\r\n>2\r\n|1\r\n";

static void execute(struct request *r) {
    struct client *c = r->client;
    struct buffer text = {.class = MEMORY_OTHER};
    switch (r->argv[0].bytes[0]) {
    case 'f': reply_all_forms(c); break;
    case '3': c->protocol = 3; break;
    case 'p': reply_status(c, "PONG"); break;
    case 'b': /* one long text */
        fill_pattern(&text, (size_t)number_of(r));
        reply_bulk(c, buffer_slice(&text));
        break;
    case 'm': /* many small ones */
        for (int64_t i = 0; i < number_of(r); i++) reply_bulk_integer(c, i);
        break;
    case 'o': reply_bulk(other.client, r->argv[1]); break;
    case 'q':
        reply_ok(c);
        client_close_after_reply(c);
        break;
    case 'k':
        reply_ok(c);
        client_close_later(c);
        reply_ok(c);
        break;
    case 's': client_close_after_reply(c); break;
    default: fail_msg("unknown request");
    }
    buffer_free(&text);
}

static void no_prefetch(struct request *r, int count) {}
static const struct batch_executor executor = {.prefetch = no_prefetch, .execute = execute};

static void want_bulk(struct buffer *wanted, size_t length) {
    struct buffer text = {.class = MEMORY_OTHER};
    fill_pattern(&text, length);
    buffer_printf(wanted, "$%zu\r\n", length);
    buffer_append(wanted, text.bytes, length);
    buffer_append_c_string(wanted, "\r\n");
    buffer_free(&text);
}

static void want_many(struct buffer *wanted, int count) {
    for (int i = 0; i < count; i++) {
        char digits[NUMBER_INT64_CHARS];
        buffer_printf(wanted, "$%zu\r\n%d\r\n", number_format_int64(digits, i), i);
    }
}

/* ---- Forms ---- */

static void test_forms(void **state) {
    struct peer p = peer_connect();
    peer_send(&p, SLICE("f\n"));
    peer_assert_got(&p, slice_of(forms_2));
    peer_send(&p, SLICE("3\nf\n"));
    peer_assert_got(&p, slice_of(forms_3));
    peer_close(&p);
}

/* A client that has chunks already gets the same bytes by another way through most functions. */
static void test_forms_in_chunks(void **state) {
    struct peer p = peer_connect();
    struct buffer wanted = {.class = MEMORY_OTHER};
    reply_bulk_integer(p.client, 1);
    reply_all_forms(p.client);
    buffer_append_c_string(&wanted, "$1\r\n1\r\n");
    buffer_append_c_string(&wanted, forms_2);
    p.client->protocol = 3;
    reply_all_forms(p.client);
    buffer_append_c_string(&wanted, forms_3);
    peer_send(&p, SLICE("p\n"));
    buffer_append_c_string(&wanted, "+PONG\r\n");
    peer_assert_got(&p, buffer_slice(&wanted));
    buffer_free(&wanted);
    peer_close(&p);
}

static void test_error_stats(void **state) {
    struct peer p = peer_connect();
    struct buffer text = {.class = MEMORY_OTHER};
    peer_send(&p, SLICE("f\n"));
    buffer_clear(&p.got);
    reply_error_stats_print(&text);
    assert_non_null(strstr(text.bytes, "errorstat_CODE:count="));
    assert_non_null(strstr(text.bytes, "errorstat_ERR:count="));
    buffer_free(&text);
    peer_close(&p);
}

/* ---- Ways ---- */

/* Replies around the output buffer's size, between small ones. */
static void test_longer_than_the_output_buffer(void **state) {
    static const size_t lengths[] = {0,
                                     REPLY_OUTPUT_BYTES - 40,
                                     REPLY_OUTPUT_BYTES - 8,
                                     REPLY_OUTPUT_BYTES,
                                     REPLY_OUTPUT_BYTES + 1,
                                     3 * REPLY_OUTPUT_BYTES,
                                     5000000};
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        struct peer p = peer_connect();
        struct buffer wanted = {.class = MEMORY_OTHER}, input = {.class = MEMORY_OTHER};
        buffer_printf(&input, "p\nb %zu\np\nm 3\nb %zu\np\n", lengths[i], lengths[i]);
        peer_send(&p, buffer_slice(&input));
        buffer_append_c_string(&wanted, "+PONG\r\n");
        want_bulk(&wanted, lengths[i]);
        buffer_append_c_string(&wanted, "+PONG\r\n");
        want_many(&wanted, 3);
        want_bulk(&wanted, lengths[i]);
        buffer_append_c_string(&wanted, "+PONG\r\n");
        peer_assert_got(&p, buffer_slice(&wanted));
        assert_int_equal(reply_chunk_bytes(p.client), 0);
        buffer_free(&wanted);
        buffer_free(&input);
        peer_close(&p);
    }
}

/* Someone who reads in small sips, while another client is answered at once. */
static void test_slow_reader(void **state) {
    struct peer slow = peer_connect(), quick = peer_connect();
    struct buffer wanted = {.class = MEMORY_OTHER};
    peer_try_send(&slow, "b 3000000\nm 50000\np\n", 20);
    peers_turns();
    peers_turns();
    assert_true(reply_chunk_bytes(slow.client) > 2000000);
    assert_true(slow.client->reply_bytes <= reply_chunk_bytes(slow.client));
    want_bulk(&wanted, 3000000);
    want_many(&wanted, 50000);
    buffer_append_c_string(&wanted, "+PONG\r\n");
    for (int i = 0; slow.got.length < wanted.length; i++) {
        peer_receive(&slow, 1 + random_below(60000));
        peers_turns();
        if (i % 16) continue;
        peer_send(&quick, SLICE("p\n"));
        peer_assert_got(&quick, SLICE("+PONG\r\n"));
        /* More is added while the first still waits: it must come after it. */
        peer_try_send(&slow, "p\n", 2);
        buffer_append_c_string(&wanted, "+PONG\r\n");
        peers_turns();
    }
    peer_assert_got(&slow, buffer_slice(&wanted));
    assert_int_equal(reply_chunk_bytes(slow.client), 0);
    assert_int_equal(slow.client->reply_bytes, 0);
    buffer_free(&wanted);
    peer_close(&slow);
    peer_close(&quick);
}

/* A socket that takes nothing must not keep the loop from sleeping, nor must one that has all. */
static void test_loop_sleeps(void **state) {
    struct peer p = peer_connect();
    peer_try_send(&p, "b 3000000\n", 10);
    peers_turns();
    uint64_t events = loop_stats(peers_loop)->events;
    for (int i = 0; i < 10; i++) loop_turn(peers_loop, 0);
    assert_int_equal(loop_stats(peers_loop)->events, events);
    do peers_turns();
    while (peer_receive(&p, SIZE_MAX));
    events = loop_stats(peers_loop)->events;
    for (int i = 0; i < 10; i++) loop_turn(peers_loop, 0);
    assert_int_equal(loop_stats(peers_loop)->events, events);
    peer_close(&p);
}

static void test_reader_goes_away(void **state) {
    struct peer p = peer_connect();
    peer_try_send(&p, "b 3000000\n", 10);
    peers_turns();
    assert_true(reply_chunk_bytes(p.client) > 2000000);
    peer_close(&p);
    /* And one that is gone before anything is written. */
    p = peer_connect();
    peer_try_send(&p, "p\n", 2);
    peer_close(&p);
}

/* A peer that takes nothing more, though it has not said so: a write that fails closes its client,
 * whether it is one of the output buffer or of chunks. */
static void test_write_fails(void **state) {
    for (int chunks = 0; chunks < 2; chunks++) {
        struct peer p = peer_connect();
        if (chunks) {
            peer_try_send(&p, "b 3000000\n", 10);
            peers_turns();
            assert_non_null(p.client->replies);
        }
        assert_int_equal(shutdown(p.fd, SHUT_RD), 0);
        peer_try_send(&p, "p\n", 2);
        peer_receive(&p, 1000000); /* makes it writable, where it was not */
        peers_turns();
        assert_false(peer_is_served(&p));
        peer_close(&p);
    }
}

/* ---- Closing ---- */

static void test_close_after_reply(void **state) {
    struct peer p = peer_connect();
    peer_send(&p, SLICE("p\nq\np\np\n"));
    peer_assert_got(&p, SLICE("+PONG\r\n+OK\r\n"));
    assert_true(p.ended);
    peer_close(&p);
    /* Without a reply. */
    p = peer_connect();
    peer_send(&p, SLICE("s\np\n"));
    peer_assert_got(&p, SLICE(""));
    assert_true(p.ended);
    peer_close(&p);
}

static void test_close_after_slow_reply(void **state) {
    struct peer p = peer_connect();
    struct buffer wanted = {.class = MEMORY_OTHER};
    peer_try_send(&p, "b 2000000\nq\np\n", 14);
    peers_turns();
    assert_true(peer_is_served(&p));
    /* What it sends now is not read, and must not keep the loop awake. */
    peer_try_send(&p, "p\np\n", 4);
    uint64_t events = loop_stats(peers_loop)->events;
    for (int i = 0; i < 10; i++) loop_turn(peers_loop, 0);
    assert_int_equal(loop_stats(peers_loop)->events, events);
    while (!p.ended) {
        peer_receive(&p, 1 + random_below(100000));
        peers_turns();
    }
    want_bulk(&wanted, 2000000);
    buffer_append_c_string(&wanted, "+OK\r\n");
    peer_assert_got(&p, buffer_slice(&wanted));
    buffer_free(&wanted);
    peer_close(&p);
}

/* One that is closed at once: its replies of this batch are dropped, and nothing is added. */
static void test_close_now(void **state) {
    peers_do_not_cut();
    struct peer p = peer_connect(), after = peer_connect();
    peer_try_send(&p, "p\nk\np\n", 6);
    peer_try_send(&after, "p\n", 2);
    peers_turns();
    peer_receive(&p, SIZE_MAX);
    peer_receive(&after, SIZE_MAX);
    assert_true(p.ended);
    peer_assert_got(&p, SLICE(""));
    peer_assert_got(&after, SLICE("+PONG\r\n"));
    peer_close(&p);
    peer_close(&after);
}

/* ---- From outside ---- */

/* A client gets messages from another's commands before, between and after its own replies. */
static void test_replies_from_others(void **state) {
    peers_do_not_cut();
    struct peer p = peer_connect();
    other = peer_connect();
    peer_send(&p, SLICE("o 1\np\no 2\n"));
    peer_assert_got(&p, SLICE("+PONG\r\n"));
    peer_receive(&other, SIZE_MAX);
    peer_assert_got(&other, SLICE("$1\r\n1\r\n$1\r\n2\r\n"));

    /* In one batch, each of the two first: what a client has sent itself is answered in order. */
    for (int i = 0; i < 2; i++) {
        peer_try_send(i ? &p : &other, i ? "o 3\no 4\n" : "p\n", i ? 8 : 2);
        peer_try_send(i ? &other : &p, i ? "p\n" : "o 3\no 4\n", i ? 2 : 8);
        peers_turns();
        peer_receive(&other, SIZE_MAX);
        struct slice got = buffer_slice(&other.got);
        assert_int_equal(got.length, 21);
        bool own_first = memcmp(got.bytes, "+PONG\r\n$1\r\n3\r\n$1\r\n4\r\n", 21) == 0;
        bool own_last = memcmp(got.bytes, "$1\r\n3\r\n$1\r\n4\r\n+PONG\r\n", 21) == 0;
        assert_true(own_first || own_last);
        buffer_clear(&other.got);
    }
    /* Its own reply is long and stands in the output buffer when the message comes. */
    struct buffer wanted = {.class = MEMORY_OTHER};
    want_bulk(&wanted, 100000);
    buffer_append_c_string(&wanted, "$1\r\n5\r\n");
    peer_try_send(&other, "b 100000\n", 9);
    peer_try_send(&p, "o 5\n", 4);
    peers_turns();
    peer_receive(&other, SIZE_MAX);
    peers_turns();
    peer_receive(&other, SIZE_MAX);
    peer_assert_got(&other, buffer_slice(&wanted));
    buffer_free(&wanted);
    peer_close(&other);
    peer_close(&p);
}

/* ---- the gate ---- */

/* A number for each test: they never fall. */
static uint64_t records;

/* Replies that tell of what is not recorded yet wait, those of others behind them in their order,
 * whether they stood in the output buffer or in chunks; the loop sleeps meanwhile. */
static void test_no_reply_before_its_record(void **state) {
    struct peer p = peer_connect();
    other = peer_connect();
    peer_send(&p, SLICE("p\r\n"));
    peer_assert_got(&p, SLICE("+PONG\r\n"));
    reply_depend(++records);
    peer_send(&p, SLICE("p\r\no x\r\np\r\n"));
    peer_send(&p, SLICE("m 2\r\n"));
    peer_assert_got(&p, SLICE(""));
    peer_receive(&other, SIZE_MAX);
    peer_assert_got(&other, SLICE(""));
    assert_false(p.client->flags & CLIENT_WRITE_WAITS);
    assert_true(reply_check(p.client));
    reply_allow(records);
    reply_write_all();
    peers_turns();
    peer_receive(&p, SIZE_MAX);
    peer_receive(&other, SIZE_MAX);
    peer_assert_got(&p, SLICE("+PONG\r\n+PONG\r\n$1\r\n0\r\n$1\r\n1\r\n"));
    peer_assert_got(&other, SLICE("$1\r\nx\r\n"));
    peer_send(&p, SLICE("p\r\n"));
    peer_assert_got(&p, SLICE("+PONG\r\n"));
    peer_close(&other);
    peer_close(&p);
}

/* Who has not authenticated asks on while its replies wait. */
static void test_strangers_wait_for_records(void **state) {
    for (int stranger = 0; stranger < 2; stranger++) {
        client_set_admission(&peers_admission, stranger ? STRANGER : 0, stranger ? STRANGER : 0);
        struct peer p = peer_connect();
        reply_depend(++records);
        size_t most = 0;
        for (int i = 0; i < 20000 && peer_is_served(&p); i++) {
            peer_try_send(&p, "p\r\np\r\np\r\n", 9);
            if (i % 100 == 0) peers_turns();
            if (peer_is_served(&p) && p.client->chunk_bytes > most) most = p.client->chunk_bytes;
        }
        peers_turns();
        assert_int_equal(peer_is_served(&p), !stranger);
        if (stranger)
            assert_in_range(most, 1, LIMITS_STRANGER_BYTES_MAX);
        else
            assert_true(p.client->chunk_bytes > LIMITS_STRANGER_BYTES_MAX);
        client_set_admission(&peers_admission, 0, 0);
        reply_allow(records);
        reply_write_all();
        peer_close(&p);
    }
}

/* What was replied before a record leaves though later replies wait; so does what is relieved in
 * the middle of a request. */
static void test_earlier_replies_leave(void **state) {
    struct peer p = peer_connect();
    other = peer_connect();
    reply_depend(++records);
    peer_send(&p, SLICE("o first\r\n"));
    reply_depend(++records);
    reply_bulk(other.client, SLICE("second")); /* in the same chunk: it goes with that */
    reply_allow(records - 1);
    reply_write_all();
    peer_receive(&other, SIZE_MAX);
    peer_assert_got(&other, SLICE(""));
    struct buffer text = {.class = MEMORY_OTHER};
    fill_pattern(&text, REPLY_PENDING_BYTES + 1);
    reply_bulk(other.client, buffer_slice(&text));
    batch_relieve();
    peer_receive(&other, SIZE_MAX);
    peer_assert_got(&other, SLICE(""));
    reply_allow(records);
    reply_write_all();
    peers_turns();
    while (peer_receive(&other, SIZE_MAX)) peers_turns();
    assert_true(other.got.length > text.length);
    assert_memory_equal(other.got.bytes, "$5\r\nfirst\r\n$6\r\nsecond\r\n", 23);
    buffer_free(&text);
    peer_close(&other);
    peer_close(&p);
}

/* Last words wait, too, and the connection for them. */
static void test_last_words_wait(void **state) {
    struct peer p = peer_connect();
    reply_depend(++records);
    peer_send(&p, SLICE("q\r\n"));
    assert_false(p.ended);
    peer_assert_got(&p, SLICE(""));
    uint64_t events = loop_stats(peers_loop)->events;
    peers_turns();
    assert_int_equal(loop_stats(peers_loop)->events, events); /* nothing keeps the loop awake */
    reply_allow(records);
    reply_write_all();
    peers_turns();
    peer_receive(&p, SIZE_MAX);
    assert_true(p.ended);
    peer_assert_got(&p, SLICE("+OK\r\n"));
    peer_close(&p);

    p = peer_connect(); /* closed before its record: nothing is said */
    reply_depend(++records);
    peer_send(&p, SLICE("p\r\n"));
    client_close_all();
    peer_receive(&p, SIZE_MAX);
    assert_true(p.ended);
    peer_assert_got(&p, SLICE(""));
    reply_allow(records);
    peer_close(&p);
}

static int begin(void **state) { return peers_open(&executor); }

#define TEST(function) cmocka_unit_test_setup_teardown(function, peers_begin, peers_nothing_left)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_forms),
        TEST(test_forms_in_chunks),
        TEST(test_error_stats),
        TEST(test_longer_than_the_output_buffer),
        TEST(test_slow_reader),
        TEST(test_loop_sleeps),
        TEST(test_reader_goes_away),
        TEST(test_write_fails),
        TEST(test_close_after_reply),
        TEST(test_close_after_slow_reply),
        TEST(test_close_now),
        TEST(test_replies_from_others),
        TEST(test_no_reply_before_its_record),
        TEST(test_strangers_wait_for_records),
        TEST(test_earlier_replies_leave),
        TEST(test_last_words_wait),
    };
    return cmocka_run_group_tests(tests, begin, NULL);
}
