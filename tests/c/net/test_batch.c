/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of net/batch: how bytes from sockets become requests that run in order, a batch at a time.
 *
 * The executor here answers "digest" with a number made of all its arguments, which the test makes
 * of what it sent; the other words do to connections what commands above net/ do. SEED=n runs the
 * same random choices again; each run prints its seed.
 */
#include "net/batch.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/number.h"
#include "net/peers.h"
#include "net/request.h"

/* A bit of the word of access/, as if it meant that. */

/* ---- The executor ---- */

static uint64_t executed, prefetched, groups, batches;

static int64_t digest_of(const struct slice *words, size_t count) {
    uint64_t digest = count;
    for (size_t i = 0; i < count; i++)
        digest = digest * UINT64_C(0x9e3779b97f4a7c15) + words[i].length +
                 hash_bytes(words[i].bytes, words[i].length);
    return (int64_t)(digest >> 1);
}

static int64_t number_of(const struct request *r, int index) {
    int64_t number;
    assert_true(number_parse_int64(r->argv[index].bytes, r->argv[index].length, &number));
    return number;
}

/* Takes the argument over, and gives back its digest as kept. */
static void take(struct request *r, int index) {
    size_t large = batch_large_bytes();
    struct blob *b = batch_take_argument(r, index, MEMORY_DATASET);
    if (b == NULL) {
        reply_null(r->client);
        return;
    }
    assert_int_equal(batch_large_bytes(), large - blob_bytes(b));
    assert_null(batch_take_argument(r, index, MEMORY_DATASET));
    struct slice kept = blob_slice(b);
    assert_true(slice_equal(kept, r->argv[index]));
    reply_integer(r->client, digest_of(&kept, 1));
    blob_free(b, MEMORY_DATASET);
}

/* Longer than a turn is to be. */
static void take_long(void) {
    int64_t end_nsec = clock_monotonic_nsec() + 2 * BATCH_TURN_USEC * 1000;
    while (clock_monotonic_nsec() < end_nsec) continue;
}

static void execute(struct request *r) {
    struct client *c = r->client;
    struct slice word = r->argv[0];
    executed++;
    if (slice_is(word, "digest")) {
        reply_integer(c, digest_of(r->argv, (size_t)r->argc));
    } else if (slice_is(word, "auth")) {
        client_set_flags(c, &peers_admission, STRANGER, false);
        reply_ok(c);
    } else if (slice_is(word, "quit")) {
        reply_ok(c);
        client_close_after_reply(c);
    } else if (slice_is(word, "kill")) {
        struct client *victim = client_find((uint64_t)number_of(r, 1));
        if (victim != NULL) client_close_later(victim);
        reply_integer(c, victim != NULL);
    } else if (slice_is(word, "take")) {
        take(r, (int)number_of(r, 1));
    } else if (slice_is(word, "long")) {
        take_long();
        reply_ok(c);
    } else if (slice_is(word, "bulk-max")) {
        option_set_text("proto-max-bulk-len", "1mb");
        reply_ok(c);
    } else {
        reply_error_format(c, "unknown '%.*s'", (int)word.length, word.bytes);
    }
}

static void prefetch(struct request *r, int count) {
    assert_in_range(count, 1, BATCH_GROUP);
    for (int i = 0; i < count; i++) assert_true(r[i].error || r[i].argc > 0);
    prefetched += (uint64_t)count;
    groups++;
}
static void pause_batch(void) { batches++; }

static const struct batch_executor executor = {
    .prefetch = prefetch, .execute = execute, .pause = pause_batch};

/* ---- Input, and the replies it must have ---- */

struct script {
    struct buffer input, wanted;
};

static void script_free(struct script *s) {
    buffer_free(&s->input);
    buffer_free(&s->wanted);
}

static void add_header(struct script *s, size_t words) {
    buffer_printf(&s->input, "*%zu\r\n", words);
}

static void add_bulk(struct script *s, struct slice word) {
    buffer_printf(&s->input, "$%zu\r\n", word.length);
    buffer_append(&s->input, word.bytes, word.length);
    buffer_append_c_string(&s->input, "\r\n");
}

static void add_request(struct script *s, const struct slice *words, size_t count, bool in_line) {
    if (!in_line) add_header(s, count);
    for (size_t i = 0; i < count; i++) {
        if (!in_line)
            add_bulk(s, words[i]);
        else
            buffer_append_quoted(&s->input, words[i]);
        if (in_line) buffer_append_c_string(&s->input, i + 1 < count ? " " : "\n");
    }
}

/* "digest" with `count` random arguments of up to `bytes_max`; letters in a line, whose quoted form
 * would easily become longer than it may. */
static void add_digest(struct script *s, size_t count, size_t bytes_max, bool in_line) {
    struct slice *words = memory_alloc((count + 1) * sizeof(*words), MEMORY_OTHER);
    words[0] = SLICE("digest");
    for (size_t i = 1; i <= count; i++) {
        size_t length = random_below(bytes_max + 1);
        char *bytes = memory_alloc(length, MEMORY_OTHER);
        for (size_t at = 0; at < length; at++)
            bytes[at] = in_line ? (char)('a' + random_below(26)) : (char)random_u64();
        words[i] = (struct slice){bytes, length};
    }
    add_request(s, words, count + 1, in_line);
    buffer_printf(&s->wanted, ":%lld\r\n", (long long)digest_of(words, count + 1));
    for (size_t i = 1; i <= count; i++) memory_free((char *)words[i].bytes, MEMORY_OTHER);
    memory_free(words, MEMORY_OTHER);
}

static void add_line(struct script *s, const char *line, const char *reply) {
    buffer_append_c_string(&s->input, line);
    buffer_append_c_string(&s->wanted, reply);
}

/* A new client sends it all; then the peer is closed unless the server has. */
static void run_script(struct script *s, bool ends) {
    struct peer p = peer_connect();
    peer_send(&p, buffer_slice(&s->input));
    peer_assert_got(&p, buffer_slice(&s->wanted));
    assert_int_equal(p.ended, ends);
    assert_int_equal(batch_large_bytes(), 0);
    peer_close(&p);
    script_free(s);
}

static struct script script_new(void) {
    return (struct script){{.class = MEMORY_OTHER}, {.class = MEMORY_OTHER}};
}

/* ---- Many, long, large ---- */

static void test_long_pipelines(void **state) {
    for (int in_line = 0; in_line < 2; in_line++) {
        struct script s = script_new();
        for (int i = 0; i < 10000; i++) add_digest(&s, random_below(3), 20, in_line);
        uint64_t before = executed;
        run_script(&s, false);
        assert_int_equal(executed - before, 10000);
    }
}

/* One write with more requests than a batch holds, in each form and mixed. */
static void test_full_batches(void **state) {
    for (int form = 0; form < 3; form++) {
        for (int count = BATCH_REQUESTS_MAX - 2; count <= 3 * BATCH_REQUESTS_MAX; count += 51) {
            struct script s = script_new();
            for (int i = 0; i < count; i++)
                add_digest(&s, 1, 3, form == 1 || (form == 2 && random_below(2)));
            run_script(&s, false);
        }
    }
}

static void test_many_arguments(void **state) {
    static const size_t counts[] = {14,   15,   16,   17,   900,  1021,  1022,
                                    1023, 1024, 1025, 2000, 5000, 100000};
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        for (int in_line = 0; in_line < 2; in_line++) {
            struct script s = script_new();
            if (counts[i] > 10000 && in_line) continue; /* a line has its limit */
            add_digest(&s, 2, 10, in_line);
            add_digest(&s, counts[i], 6, in_line);
            add_digest(&s, counts[i], 6, false);
            add_digest(&s, 3, 10, in_line);
            run_script(&s, false);
        }
    }
}

static void test_large_arguments(void **state) {
    static const size_t lengths[] = {BATCH_READ_BYTES,       BATCH_ADOPT_BYTES - 1,
                                     BATCH_ADOPT_BYTES,      BATCH_ADOPT_BYTES + 1,
                                     BATCH_READ_LARGE_BYTES, 1048576};
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        struct script s = script_new();
        for (int j = 0; j < 3; j++) {
            add_digest(&s, 1 + random_below(2), lengths[i], false);
            add_digest(&s, 1, 100, random_below(2));
        }
        run_script(&s, false);
    }
}

/* A large argument is the command's if it wants it, once; a small one is not to be had. */
static void test_take_argument(void **state) {
    struct script s = script_new();
    size_t dataset = memory_used(MEMORY_DATASET);
    struct buffer text = {.class = MEMORY_OTHER};
    for (int i = 0; i < 100000; i++) buffer_append_char(&text, (char)random_u64());
    const struct slice words[] = {SLICE("take"), SLICE("3"), SLICE("x"), buffer_slice(&text),
                                  buffer_slice(&text)};
    struct slice small[] = {SLICE("take"), SLICE("2"), SLICE("y")};
    add_request(&s, words, 5, false);
    buffer_printf(&s.wanted, ":%lld\r\n", (long long)digest_of(&words[3], 1));
    add_request(&s, small, 3, false);
    buffer_append_c_string(&s.wanted, "$-1\r\n");
    add_digest(&s, 2, 50000, false);
    buffer_free(&text);
    run_script(&s, false);
    assert_int_equal(memory_used(MEMORY_DATASET), dataset);
}

/* Blocks of large arguments are counted from their first byte on, until they are freed. */
static void test_large_bytes(void **state) {
    struct peer p = peer_connect();
    peer_send(&p, SLICE("*3\r\n$6\r\ndigest\r\n$100000\r\nxxx"));
    for (int i = 0; i < 10; i++) loop_turn(peers_loop, 0);
    assert_in_range(batch_large_bytes(), 100000, 120000);
    peer_close(&p);
    assert_int_equal(batch_large_bytes(), 0);
}

/* ---- Random traffic ---- */

#define PEERS 12

static void add_random_request(struct script *s) {
    switch (random_below(40)) {
    case 0: add_digest(s, 1 + random_below(2), 120000, false); break;
    case 1: add_digest(s, random_below(2500), 8, false); break;
    case 2: add_digest(s, random_below(2500), 8, true); break;
    case 3: add_line(s, "\r\n*0\r\n*-1\r\n\n", ""); break;
    case 4: add_digest(s, random_below(6), 9000, random_below(2)); break;
    default: add_digest(s, random_below(4), 30, random_below(3) == 0); break;
    }
}

/* Clients send in pieces, mixed with each other, and read as they like; each gets its own replies.
 */
/* A request in the making counts whole, wherever its parts stand: only the ends of large arguments
 * are dropped. */
static void test_sizes_of_a_query(void **state) {
    enum {
        FIRST = BATCH_ADOPT_BYTES,
        SECOND = 2 * BATCH_ADOPT_BYTES,
        CAME = BATCH_ADOPT_BYTES / 2
    };
    struct script s = script_new();
    struct peer p = peer_connect();
    buffer_printf(&s.input, "*4\r\n$6\r\ndigest\r\n$3\r\nabc\r\n$%d\r\n", FIRST);
    memset(buffer_reserve(&s.input, FIRST), 'x', FIRST);
    s.input.length += FIRST;
    buffer_printf(&s.input, "\r\n$%d\r\n", SECOND);
    memset(buffer_reserve(&s.input, CAME), 'y', CAME);
    s.input.length += CAME;
    peer_send(&p, buffer_slice(&s.input));
    assert_int_equal(batch_query_used(p.client), s.input.length - 2);
    assert_true(batch_query_bytes(p.client) >= FIRST + SECOND + batch_query_room(p.client));
    assert_true(batch_query_room(p.client) < FIRST);
    peer_close(&p);
    script_free(&s);
}

/* The buffer of inline requests' words is used again by each batch. */
static void test_words_take_no_more(void **state) {
    struct peer p = peer_connect();
    struct script s = script_new();
    size_t before = 0;
    for (int i = 0; i < 300; i++) {
        if (i == 100) before = memory_used(MEMORY_POOLS);
        buffer_clear(&s.input);
        buffer_clear(&s.wanted);
        add_digest(&s, 3, 300, true);
        peer_send(&p, buffer_slice(&s.input));
        peer_assert_got(&p, buffer_slice(&s.wanted));
    }
    assert_int_equal(memory_used(MEMORY_POOLS), before);
    peer_close(&p);
    script_free(&s);
}

static void test_random_traffic(void **state) {
    for (int round = 0; round < ROUNDS_OF_PEERS; round++) {
        struct peer peers[PEERS];
        struct script scripts[PEERS];
        size_t sent[PEERS] = {0}, open = PEERS;
        for (int i = 0; i < PEERS; i++) {
            peers[i] = peer_connect();
            scripts[i] = script_new();
            for (size_t j = random_below(120); j > 0; j--) add_random_request(&scripts[i]);
        }
        size_t longest = 1 + random_below(random_below(2) ? 300 : 70000);
        while (open) {
            open = 0;
            for (int i = 0; i < PEERS; i++) {
                size_t left = scripts[i].input.length - sent[i];
                size_t piece = random_below(longest * 4 / 3 + 2); /* and at times none */
                if (left < 3000) piece = left;                    /* ends come soon */
                sent[i] += peer_try_send(&peers[i], scripts[i].input.bytes + sent[i],
                                         piece < left ? piece : left);
                if (random_below(2)) peer_receive(&peers[i], random_below(50000));
                open += sent[i] < scripts[i].input.length;
            }
            loop_turn(peers_loop, 0);
        }
        for (int i = 0; i < PEERS; i++) {
            peer_send(&peers[i], SLICE(""));
            peer_assert_got(&peers[i], buffer_slice(&scripts[i].wanted));
            assert_false(peers[i].ended);
            assert_null(peers[i].client->query);
            peer_close(&peers[i]);
            script_free(&scripts[i]);
        }
    }
}

static void test_many_clients_in_one_batch(void **state) {
    peers_need_one_thread();
    peers_do_not_cut();
    peers_do_not_cut();
    enum { COUNT = 200 };
    struct peer peers[COUNT];
    uint64_t prepared = prefetched, in_groups = groups, ran = batches;
    for (int i = 0; i < COUNT; i++) peers[i] = peer_connect();
    for (int i = 0; i < COUNT; i++) peer_try_send(&peers[i], "digest\n", 7);
    loop_turn(peers_loop, 0);
    assert_int_equal(batches - ran, (COUNT + LOOP_EVENTS_MAX - 1) / LOOP_EVENTS_MAX);
    peers_turns();
    assert_int_equal(prefetched - prepared, COUNT);
    assert_in_range(groups - in_groups, COUNT / BATCH_GROUP, COUNT - 1);
    const struct slice word = SLICE("digest");
    struct buffer wanted = {.class = MEMORY_OTHER};
    buffer_printf(&wanted, ":%lld\r\n", (long long)digest_of(&word, 1));
    for (int i = 0; i < COUNT; i++) {
        peer_receive(&peers[i], SIZE_MAX);
        peer_assert_got(&peers[i], buffer_slice(&wanted));
    }
    buffer_free(&wanted);
    for (int i = 0; i < COUNT; i++) peer_close(&peers[i]);
}

/* A large argument ends in turn after turn, and its command takes all of the turn's time: others,
 * who were ready before, are served all the same. */
static void test_others_in_late_turns(void **state) {
    enum { OTHERS = 8, TURNS = 20, LARGE = BATCH_ADOPT_BYTES, FIRST = LARGE / 2 };
    struct peer others[OTHERS], larges[TURNS];
    struct script large = script_new();
    peers_do_not_cut();
    buffer_printf(&large.input, "*2\r\n$4\r\nlong\r\n$%d\r\n", LARGE);
    memset(buffer_reserve(&large.input, LARGE), 'x', LARGE);
    large.input.length += LARGE;
    buffer_append_c_string(&large.input, "\r\n");
    size_t left = large.input.length - FIRST;
    for (int i = 0; i < OTHERS; i++) others[i] = peer_connect();
    for (int i = 0; i < TURNS; i++) {
        larges[i] = peer_connect();
        peer_send(&larges[i], (struct slice){large.input.bytes, FIRST});
    }
    for (int i = 0; i < OTHERS; i++) peer_try_send(&others[i], "digest\n", 7);
    for (int i = 0; i < TURNS; i++) {
        peer_try_send(&larges[i], large.input.bytes + FIRST, left);
        loop_turn(peers_loop, 0);
        for (int k = 0; k < OTHERS; k++)
            if (peer_receive(&others[k], SIZE_MAX)) peer_try_send(&others[k], "digest\n", 7);
    }
    for (int i = 0; i < OTHERS; i++) {
        assert_true(others[i].got.length > 0);
        peer_close(&others[i]);
    }
    for (int i = 0; i < TURNS; i++) {
        peer_send(&larges[i], SLICE(""));
        peer_assert_got(&larges[i], SLICE("+OK\r\n"));
        peer_close(&larges[i]);
    }
    script_free(&large);
}

/* ---- Errors and limits ---- */

static void test_error_after_commands(void **state) {
    struct script s = script_new();
    for (int i = 0; i < 300; i++) add_digest(&s, 2, 10, random_below(2));
    add_line(&s, "*1\r\nfoo\r\n", "-ERR Protocol error: expected '$', got 'f'\r\n");
    buffer_append_c_string(&s.input, "digest\r\n*1\r\n$6\r\ndigest\r\n");
    run_script(&s, true);
    /* The error comes with the end of a request that arrived in pieces. */
    struct peer p = peer_connect();
    peer_send(&p, SLICE("*2\r\n$6\r\ndigest\r\n$"));
    peer_send(&p, SLICE("x\r\ndigest\r\n"));
    peer_assert_got(&p, SLICE("-ERR Protocol error: invalid bulk length\r\n"));
    assert_true(p.ended);
    peer_close(&p);
    s = script_new();
    add_digest(&s, 1, 5, true);
    add_line(&s, "digest \"x\"y\n", "-ERR Protocol error: unbalanced quotes in request\r\n");
    run_script(&s, true);
}

/* A client that must authenticate first may own no reply that did not go at once. */
static void require_authentication(bool required) {
    if (required) peers_do_not_cut();
    client_set_admission(&peers_admission, required ? STRANGER : 0, required ? STRANGER : 0);
}

static void test_limits_before_authentication(void **state) {
    require_authentication(true);
    struct script s = script_new();
    add_line(&s, "digest\n", "");
    const struct slice word = SLICE("digest");
    buffer_printf(&s.wanted, ":%lld\r\n", (long long)digest_of(&word, 1));
    add_line(&s, "*11\r\n$6\r\ndigest\r\n",
             "-ERR Protocol error: unauthenticated multibulk length\r\n");
    run_script(&s, true);
    s = script_new();
    add_line(&s, "*1\r\n$16385\r\n", "-ERR Protocol error: unauthenticated bulk length\r\n");
    run_script(&s, true);
    require_authentication(false);
}

/* What is held of a request that does not end has a bound besides those of its parts; for friends
 * it has none. */
static void test_bytes_before_authentication(void **state) {
    for (int required = 0; required < 2; required++) {
        require_authentication(required);
        struct peer p = peer_connect();
        struct buffer text = {.class = MEMORY_OTHER};
        buffer_append_c_string(&text, "*10\r\n");
        for (int i = 0; i < 10; i++) {
            buffer_append_c_string(&text, "$16384\r\n");
            for (int k = 0; k < 16384; k++) buffer_append_char(&text, 'a');
            buffer_append_c_string(&text, "\r\n");
        }
        for (size_t sent = 0; sent < text.length - 1 && peer_is_served(&p);) {
            size_t piece = 1 + (size_t)random_below(9000);
            if (piece > text.length - 1 - sent) piece = text.length - 1 - sent;
            peer_send(&p, (struct slice){text.bytes + sent, piece});
            sent += piece;
            if (!required || !peer_is_served(&p)) continue;
            assert_in_range(batch_query_bytes(p.client), 0,
                            REQUEST_UNAUTHENTICATED_BYTES_MAX + 1024);
            assert_in_range(sent, 0, REQUEST_UNAUTHENTICATED_BYTES_MAX);
        }
        assert_int_equal(peer_is_served(&p), !required);
        if (!required) assert_true(batch_query_bytes(p.client) > text.length);
        buffer_free(&text);
        require_authentication(false);
        peer_close(&p);
    }
}

/* What a command earlier in the batch has lifted holds no longer; wherever the batch is split. */
static void test_limit_lifted_in_the_batch(void **state) {
    require_authentication(true);
    for (size_t before = 0; before < 2 * BATCH_REQUESTS_MAX; before += 1 + random_below(12)) {
        for (int limit = 0; limit < 2; limit++) {
            struct script s = script_new();
            add_line(&s, "auth\n", "+OK\r\n");
            size_t words = random_below(10);
            for (size_t i = 0; i < before; i++) add_digest(&s, words, 1, random_below(8) == 0);
            add_digest(&s, limit ? 1 : 11, limit ? 40000 : 3, false);
            run_script(&s, false);
        }
    }
    require_authentication(false);
}

/* The batch runs since its arguments are full, in the middle of the request with the limit. */
static void test_limit_lifted_in_the_middle_of_a_request(void **state) {
    require_authentication(true);
    struct script s = script_new();
    struct slice long_word = {NULL, 20000};
    char *bytes = memory_zalloc(20000, MEMORY_OTHER);
    long_word.bytes = bytes;
    add_line(&s, "*1\r\n$4\r\nauth\r\n", "+OK\r\n");
    for (int i = 0; i < 102; i++) add_digest(&s, 9, 2, false);
    add_digest(&s, 1, 2, false);
    const struct slice words[] = {SLICE("digest"), long_word};
    add_request(&s, words, 2, false);
    buffer_printf(&s.wanted, ":%lld\r\n", (long long)digest_of(words, 2));
    memory_free(bytes, MEMORY_OTHER);
    run_script(&s, false);
    require_authentication(false);
}

/* CONFIG SET in a pipeline holds for what comes after it. */
static void test_longest_argument_changes_in_the_batch(void **state) {
    option_set_text("proto-max-bulk-len", "512mb");
    struct script s = script_new();
    add_line(&s, "bulk-max\n", "+OK\r\n");
    add_line(&s, "*2\r\n$6\r\ndigest\r\n$1048577\r\n",
             "-ERR Protocol error: invalid bulk length\r\n");
    run_script(&s, true);
    option_set_text("proto-max-bulk-len", "512mb");
}

static void test_query_buffer_limit(void **state) {
    option_set_text("client-query-buffer-limit", "1mb");
    /* Many arguments, one that is too long, and several that are together. */
    for (int form = 0; form < 3; form++) {
        struct script s = script_new();
        struct buffer text = {.class = MEMORY_OTHER};
        size_t length = form == 0 ? 1000 : form == 1 ? 2000000 : 300000;
        for (size_t i = 0; i < length; i++) buffer_append_char(&text, 'x');
        add_digest(&s, 1, 10, false);
        add_header(&s, 10000);
        for (size_t sent = 0; sent < 2000000; sent += length) add_bulk(&s, buffer_slice(&text));
        run_script(&s, true);
        buffer_free(&text);
    }
    option_set_text("client-query-buffer-limit", "1gb");
}

/* A header alone that announces more than the query may hold takes no such memory. */
static void test_announced_only(void **state) {
    option_set_text("client-query-buffer-limit", "1mb");
    struct peer p = peer_connect();
    peer_send(&p, SLICE("*2\r\n$6\r\ndigest\r\n$400000000\r\nabc"));
    assert_true(memory_used(MEMORY_CLIENTS) < 1000000);
    peer_close(&p);
    option_set_text("client-query-buffer-limit", "1gb");
}

/* ---- Clients that go ---- */

static void test_quit_in_the_batch(void **state) {
    struct script s = script_new();
    add_digest(&s, 1, 10, false);
    add_line(&s, "quit\n", "+OK\r\n");
    buffer_append_c_string(&s.input, "digest\nfoo \"x\"y\n*1\r\n");
    uint64_t before = executed;
    run_script(&s, true);
    assert_int_equal(executed - before, 2);
}

/* Both orders: what the victim sent before is run or not, but it gets no reply any more. */
static void test_killed_in_the_batch(void **state) {
    peers_need_one_thread();
    peers_do_not_cut();
    for (int form = 0; form < 4; form++) {
        struct peer killer = peer_connect(), victim = peer_connect(), third = peer_connect();
        struct buffer line = {.class = MEMORY_OTHER};
        buffer_printf(&line, "kill %llu\nkill %llu\n", (unsigned long long)victim.id,
                      (unsigned long long)victim.id);
        const char *words = form < 2 ? "digest\ndigest\n" : "digest\n*2\r\n$6\r\ndigest\r\n$1\r\n";
        peer_try_send(form % 2 ? &killer : &victim, form % 2 ? line.bytes : words,
                      form % 2 ? line.length : strlen(words));
        peer_try_send(form % 2 ? &victim : &killer, form % 2 ? words : line.bytes,
                      form % 2 ? strlen(words) : line.length);
        peer_try_send(&third, "digest\n", 7);
        loop_turn(peers_loop, 0);
        peers_turns();
        peer_receive(&killer, SIZE_MAX);
        peer_receive(&victim, SIZE_MAX);
        peer_receive(&third, SIZE_MAX);
        peer_assert_got(&killer, SLICE(":1\r\n:0\r\n"));
        assert_true(victim.ended);
        peer_assert_got(&victim, SLICE(""));
        assert_true(third.got.length > 3);
        peer_close(&killer);
        peer_close(&victim);
        peer_close(&third);
        buffer_free(&line);
    }
}

static void test_killed_with_a_query(void **state) {
    static const char *const starts[] = {"*2\r\n$6\r\ndigest\r\n$10\r\nab", "digest abc",
                                         "*3\r\n$6\r\ndigest\r\n$50000\r\nabc"};
    for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
        struct peer killer = peer_connect(), victim = peer_connect();
        struct buffer line = {.class = MEMORY_OTHER};
        peer_send(&victim, slice_of(starts[i]));
        assert_non_null(victim.client->query);
        assert_true(batch_query_bytes(victim.client) >= batch_query_used(victim.client));
        assert_true(batch_query_used(victim.client) >= 10);
        buffer_printf(&line, "kill %llu\n", (unsigned long long)victim.id);
        peer_send(&killer, buffer_slice(&line));
        peer_receive(&victim, SIZE_MAX);
        assert_true(victim.ended);
        peer_close(&killer);
        peer_close(&victim);
        buffer_free(&line);
    }
}

/* The other end goes in the middle of a request, or half of it does. */
static void test_peer_goes(void **state) {
    struct peer p = peer_connect();
    peer_send(&p, SLICE("*2\r\n$6\r\ndigest\r\n$100000\r\nab"));
    peer_close(&p);
    p = peer_connect();
    peers_do_not_cut(); /* a reply that does not go at once is lost with its client */
    peer_try_send(&p, "digest\n", 7);
    shutdown(p.fd, SHUT_WR);
    peers_turns();
    peer_receive(&p, SIZE_MAX);
    assert_true(p.got.length > 3 && p.ended);
    peer_close(&p);
}

static void test_close_all(void **state) {
    struct peer a = peer_connect(), b = peer_connect();
    peer_send(&b, SLICE("*2\r\n$6\r\ndigest\r\n$100000\r\nab"));
    client_close_all();
    peer_receive(&a, SIZE_MAX);
    assert_true(a.ended);
    peer_close(&a);
    peer_close(&b);
}

static int begin(void **state) { return peers_open(&executor); }

#define TEST(function) cmocka_unit_test_setup_teardown(function, peers_begin, peers_nothing_left)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_long_pipelines),
        TEST(test_full_batches),
        TEST(test_many_arguments),
        TEST(test_large_arguments),
        TEST(test_take_argument),
        TEST(test_large_bytes),
        TEST(test_sizes_of_a_query),
        TEST(test_words_take_no_more),
        TEST(test_random_traffic),
        TEST(test_many_clients_in_one_batch),
        TEST(test_others_in_late_turns),
        TEST(test_error_after_commands),
        TEST(test_limits_before_authentication),
        TEST(test_bytes_before_authentication),
        TEST(test_limit_lifted_in_the_batch),
        TEST(test_limit_lifted_in_the_middle_of_a_request),
        TEST(test_longest_argument_changes_in_the_batch),
        TEST(test_query_buffer_limit),
        TEST(test_announced_only),
        TEST(test_quit_in_the_batch),
        TEST(test_killed_in_the_batch),
        TEST(test_killed_with_a_query),
        TEST(test_peer_goes),
        TEST(test_close_all),
    };
    return cmocka_run_group_tests(tests, begin, NULL);
}
