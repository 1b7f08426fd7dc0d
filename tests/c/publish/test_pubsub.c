/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of publish/pubsub: random subscribing and publishing against a plain model, byte for byte,
 * and clients that close while something is sent to them.
 *
 * The executor's requests: "s <channel>...", "u <channel>..." ("u" alone: all), the same for
 * patterns with "S" and "U", "r" as RESET does, "p <channel> <message>" replies how many got it,
 * "P <channel> <n>" sends a message of n bytes, "v <version>" chooses the protocol.
 *
 * SEED=n runs the same random choices again; each run prints its seed.
 */
#include "publish/pubsub.h"

#include "base/glob.h"
#include "base/number.h"
#include "base/random.h"
#include "metric/metric.h"
#include "net/client_memory.h"
#include "net/limits.h"
#include "net/peers.h"

static size_t peak; /* of MEMORY_CLIENTS */

static void publish_long(struct request *r) {
    int64_t length;
    struct buffer text = {.class = MEMORY_OTHER};
    assert_true(number_parse_int64(r->argv[2].bytes, r->argv[2].length, &length));
    memset(buffer_reserve(&text, (size_t)length), 'x', (size_t)length);
    text.length = (size_t)length;
    reply_integer(r->client, (int64_t)pubsub_publish(r->argv[1], buffer_slice(&text)));
    buffer_free(&text);
}

static void execute(struct request *r) {
    struct client *c = r->client;
    char word = r->argv[0].bytes[0];
    enum pubsub_kind kind = word == 'S' || word == 'U' ? PUBSUB_PATTERN : PUBSUB_CHANNEL;
    if (word == 'p') {
        reply_integer(c, (int64_t)pubsub_publish(r->argv[1], r->argv[2]));
    } else if (word == 'P') {
        publish_long(r);
    } else if (word == 'v') {
        c->protocol = (uint8_t)(r->argv[1].bytes[0] - '0');
        reply_ok(c);
    } else if (word == 'r') {
        pubsub_unsubscribe_all(c, false);
        reply_ok(c);
    } else if (r->argc == 1) {
        pubsub_unsubscribe_kind(c, kind);
    }
    for (int i = 1; i < r->argc && strchr("sSuU", word); i++) {
        if (word == 's' || word == 'S')
            pubsub_subscribe(c, kind, r->argv[i]);
        else
            pubsub_unsubscribe(c, kind, r->argv[i]);
    }
    pubsub_check();
}

static void no_prefetch(struct request *r, int count) {}
static const struct batch_executor executor = {.prefetch = no_prefetch, .execute = execute};

static void ask(struct peer *p, const char *request) { peer_send(p, slice_of(request)); }

static void ask_format(struct peer *p, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void ask_format(struct peer *p, const char *format, ...) {
    char line[1000];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    ask(p, line);
}

static void collect(struct peer *p) {
    do peers_turns();
    while (peer_receive(p, SIZE_MAX));
}

/* ---- the model ---- */

#define PEERS 8
#define SUBSCRIPTIONS_MAX 1000
#define NAME_CHARS 8

static const char *const words[PUBSUB_KINDS][8] = {
    {"a", "b", "ab", "abc", "b1", "b2", "c", "A"},
    {"*", "a*", "?", "[ab]?", "b[^1]", "a", "zz*", "\\*"},
};

struct model_subscription {
    enum pubsub_kind kind;
    int name, peer;
};

static struct peer peers[PEERS];
static int protocols[PEERS];
static struct buffer wanted[PEERS];
static struct model_subscription list[SUBSCRIPTIONS_MAX]; /* in the order of subscription */
static int listed;
static int pattern_order[8], pattern_count; /* patterns that anybody has, oldest first */

static int model_find(enum pubsub_kind kind, int name, int peer) {
    for (int i = 0; i < listed; i++)
        if (list[i].kind == kind && list[i].name == name && (peer < 0 || list[i].peer == peer))
            return i;
    return -1;
}

static int model_count(int peer) {
    int count = 0;
    for (int i = 0; i < listed; i++) count += list[i].peer == peer;
    return count;
}

static void model_message(int peer, const char *const *parts, int count) {
    buffer_printf(&wanted[peer], "%c%d\r\n", protocols[peer] == 3 ? '>' : '*', count);
    for (int i = 0; i < count; i++)
        buffer_printf(&wanted[peer], "$%zu\r\n%s\r\n", strlen(parts[i]), parts[i]);
}

static void model_tell(int peer, enum pubsub_kind kind, bool begun, const char *name) {
    const char *what = begun ? "subscribe" : "unsubscribe";
    buffer_printf(&wanted[peer], "%c3\r\n$%zu\r\n%s%s\r\n", protocols[peer] == 3 ? '>' : '*',
                  strlen(what) + kind, kind == PUBSUB_PATTERN ? "p" : "", what);
    if (name)
        buffer_printf(&wanted[peer], "$%zu\r\n%s\r\n", strlen(name), name);
    else
        buffer_append_c_string(&wanted[peer], protocols[peer] == 3 ? "_\r\n" : "$-1\r\n");
    buffer_printf(&wanted[peer], ":%d\r\n", model_count(peer));
}

static void model_remove(int at) {
    struct model_subscription s = list[at];
    memmove(list + at, list + at + 1, (size_t)(--listed - at) * sizeof(*list));
    if (s.kind == PUBSUB_CHANNEL || model_find(s.kind, s.name, -1) >= 0) return;
    for (int i = 0; i < pattern_count; i++) {
        if (pattern_order[i] != s.name) continue;
        memmove(pattern_order + i, pattern_order + i + 1,
                (size_t)(--pattern_count - i) * sizeof(*pattern_order));
    }
}

static void model_subscribe(int peer, enum pubsub_kind kind, int name) {
    if (model_find(kind, name, peer) < 0) {
        if (kind == PUBSUB_PATTERN && model_find(kind, name, -1) < 0)
            pattern_order[pattern_count++] = name;
        assert_true(listed < SUBSCRIPTIONS_MAX);
        list[listed++] = (struct model_subscription){kind, name, peer};
    }
    model_tell(peer, kind, true, words[kind][name]);
}

static void model_unsubscribe(int peer, enum pubsub_kind kind, int name) {
    int at = model_find(kind, name, peer);
    if (at >= 0) model_remove(at);
    model_tell(peer, kind, false, words[kind][name]);
}

static void model_unsubscribe_all(int peer, enum pubsub_kind kind, bool tell) {
    bool any = false;
    for (int i = 0; i < listed; i++) {
        struct model_subscription s = list[i];
        if (s.peer != peer || s.kind != kind) continue;
        any = true;
        model_remove(i--);
        if (tell) model_tell(peer, kind, false, words[kind][s.name]);
    }
    if (!any && tell) model_tell(peer, kind, false, NULL);
}

static int model_send(enum pubsub_kind kind, int name, const char *channel, const char *message) {
    const char *parts[] = {kind == PUBSUB_CHANNEL ? "message" : "pmessage", words[kind][name],
                           channel, message};
    const char *direct[] = {"message", channel, message};
    int sent = 0;
    for (int i = 0; i < listed; i++) {
        if (list[i].kind != kind || list[i].name != name) continue;
        if (kind == PUBSUB_CHANNEL)
            model_message(list[i].peer, direct, 3);
        else
            model_message(list[i].peer, parts, 4);
        sent++;
    }
    return sent;
}

static void model_publish(int peer, int name, const char *message) {
    const char *channel = words[PUBSUB_CHANNEL][name];
    int sent = model_send(PUBSUB_CHANNEL, name, channel, message);
    for (int i = 0; i < pattern_count; i++)
        if (glob_match(slice_of(words[PUBSUB_PATTERN][pattern_order[i]]), slice_of(channel), false))
            sent += model_send(PUBSUB_PATTERN, pattern_order[i], channel, message);
    buffer_printf(&wanted[peer], ":%d\r\n", sent);
}

/* ---- random requests ---- */

static void peer_renew(int i) {
    peers[i] = peer_connect();
    protocols[i] = 2;
    buffer_clear(&wanted[i]);
}

static void step_names(int i, enum pubsub_kind kind, bool begin) {
    char line[100];
    int count = 1 + (int)random_below(3), length = 0;
    char word = kind == PUBSUB_CHANNEL ? begin ? 's' : 'u' : begin ? 'S' : 'U';
    length += snprintf(line, sizeof(line), "%c", word);
    for (int n = 0; n < count; n++) {
        int name = (int)random_below(8);
        length += snprintf(line + length, sizeof(line) - (size_t)length, " \"%s\"",
                           strcmp(words[kind][name], "\\*") ? words[kind][name] : "\\\\*");
        if (begin)
            model_subscribe(i, kind, name);
        else
            model_unsubscribe(i, kind, name);
    }
    ask_format(&peers[i], "%s\n", line);
}

static void step(int serial) {
    int i = (int)random_below(PEERS);
    enum pubsub_kind kind = random_below(2) ? PUBSUB_CHANNEL : PUBSUB_PATTERN;
    uint64_t what = random_below(100);
    if (what < 25) {
        step_names(i, kind, true);
    } else if (what < 40) {
        step_names(i, kind, false);
    } else if (what < 43) {
        model_unsubscribe_all(i, kind, true);
        ask(&peers[i], kind == PUBSUB_CHANNEL ? "u\n" : "U\n");
    } else if (what < 45) {
        model_unsubscribe_all(i, PUBSUB_CHANNEL, false);
        model_unsubscribe_all(i, PUBSUB_PATTERN, false);
        buffer_append_c_string(&wanted[i], "+OK\r\n");
        ask(&peers[i], "r\n");
    } else if (what < 48) {
        model_unsubscribe_all(i, PUBSUB_CHANNEL, false);
        model_unsubscribe_all(i, PUBSUB_PATTERN, false);
        peer_close(&peers[i]);
        peer_renew(i);
    } else if (what < 53) {
        protocols[i] = 2 + (int)random_below(2);
        buffer_append_c_string(&wanted[i], "+OK\r\n");
        ask_format(&peers[i], "v %d\n", protocols[i]);
    } else {
        int name = (int)random_below(8);
        char message[20];
        snprintf(message, sizeof(message), "m%d", serial);
        model_publish(i, name, message);
        ask_format(&peers[i], "p %s %s\n", words[PUBSUB_CHANNEL][name], message);
    }
}

static void test_random(void **state) {
    for (int i = 0; i < PEERS; i++) {
        wanted[i].class = MEMORY_OTHER;
        peer_renew(i);
    }
    for (int serial = 0; serial < 4000; serial++) {
        step(serial);
        for (int i = 0; i < PEERS; i++) {
            collect(&peers[i]);
            if (wanted[i].length || peers[i].got.length)
                peer_assert_got(&peers[i], buffer_slice(&wanted[i]));
            buffer_clear(&wanted[i]);
            assert_true(peer_is_served(&peers[i]));
            assert_int_equal(pubsub_channels(peers[i].client) + pubsub_patterns(peers[i].client),
                             model_count(i));
        }
        assert_int_equal(pubsub_count(PUBSUB_PATTERN), pattern_count);
        client_memory_check();
    }
    for (int i = 0; i < PEERS; i++) {
        peer_close(&peers[i]);
        buffer_free(&wanted[i]);
    }
    assert_false(pubsub_has_listeners());
}

/* ---- one client ---- */

/* A message to oneself comes before the reply, whatever else the batch holds. */
static void test_own_message(void **state) {
    struct peer p = peer_connect(), q = peer_connect();
    ask(&p, "v 3\ns a\np a 1\n");
    peer_assert_got(&p, SLICE("+OK\r\n>3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n"
                              ">3\r\n$7\r\nmessage\r\n$1\r\na\r\n$1\r\n1\r\n:1\r\n"));
    peer_try_send(&p, "p a 2\n", 6);
    peer_try_send(&q, "p a 3\np a 4\n", 12);
    collect(&p);
    collect(&q);
    peer_assert_got(&p, SLICE(">3\r\n$7\r\nmessage\r\n$1\r\na\r\n$1\r\n2\r\n:1\r\n"
                              ">3\r\n$7\r\nmessage\r\n$1\r\na\r\n$1\r\n3\r\n"
                              ">3\r\n$7\r\nmessage\r\n$1\r\na\r\n$1\r\n4\r\n"));
    peer_assert_got(&q, SLICE(":1\r\n:1\r\n"));
    peer_close(&p);
    peer_close(&q);
}

/* What waits for the client already is its own request's reply, in the same batch. */
static void test_order_in_batch(void **state) {
    struct peer p = peer_connect(), q = peer_connect();
    ask(&p, "v 3\ns a\n");
    buffer_clear(&p.got);
    peer_try_send(&q, "p a 1\n", 6);
    peer_try_send(&p, "v 3\np a 2\nv 2\n", 14);
    peers_turns();
    collect(&p);
    collect(&q);
    peer_assert_got(&q, SLICE(":1\r\n"));
    struct slice first = SLICE(">3\r\n$7\r\nmessage\r\n$1\r\na\r\n$1\r\n1\r\n");
    struct slice second = SLICE(
        "+OK\r\n>3\r\n$7\r\nmessage\r\n$1\r\na\r\n$1\r\n2\r\n"
        ":1\r\n+OK\r\n");
    assert_int_equal(p.got.length, first.length + second.length);
    /* The clients' requests may have run in either order. */
    bool first_came_first = !memcmp(p.got.bytes, first.bytes, first.length);
    struct buffer both = {.class = MEMORY_OTHER};
    buffer_append(&both, first_came_first ? first.bytes : second.bytes,
                  first_came_first ? first.length : second.length);
    buffer_append(&both, first_came_first ? second.bytes : first.bytes,
                  first_came_first ? second.length : first.length);
    peer_assert_got(&p, buffer_slice(&both));
    buffer_free(&both);
    peer_close(&p);
    peer_close(&q);
}

static void test_messages_pass_reply_off(void **state) {
    struct peer p = peer_connect(), q = peer_connect();
    p.client->flags |= CLIENT_REPLY_OFF;
    ask(&p, "s a\np a 1\nu\n");
    peer_assert_got(&p, SLICE("*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n"
                              "*3\r\n$7\r\nmessage\r\n$1\r\na\r\n$1\r\n1\r\n"
                              "*3\r\n$11\r\nunsubscribe\r\n$1\r\na\r\n:0\r\n"));
    peer_close(&p);
    peer_close(&q);
}

/* What it said last is said; what is published afterwards is counted, as it is still there. */
static void test_close_after_reply(void **state) {
    struct peer p = peer_connect(), q = peer_connect();
    ask(&p, "s a\n");
    buffer_clear(&p.got);
    client_close_after_reply(p.client);
    size_t sent = pubsub_publish(SLICE("a"), SLICE("m"));
    assert_int_equal(sent, 1);
    client_close_later(p.client);
    assert_int_equal(pubsub_publish(SLICE("a"), SLICE("m")), 0);
    collect(&p);
    assert_true(p.ended && p.got.length == 0);
    peer_close(&p);
    peer_close(&q);
}

/* ---- many ---- */

#define MANY 100

static void subscribe_all(struct peer *many, int count) {
    for (int i = 0; i < count; i++) {
        many[i] = peer_connect();
        ask_format(&many[i], "s a%d news\nS n* n%d* ne?%d\n", i, i, i);
        collect(&many[i]);
        buffer_clear(&many[i].got);
    }
}

/* Every third reads nothing, and so is closed while a message is sent; its own patterns go, too.
 * The others get all. */
static void test_closing_while_sent(void **state) {
    struct peer many[MANY], q = peer_connect();
    size_t message = 60000, closed = 0;
    option_set_text("client-output-buffer-limit", "pubsub 150kb 0 0");
    subscribe_all(many, MANY);
    for (int round = 0; round < 10; round++) {
        char line[50];
        snprintf(line, sizeof(line), "P news %zu\n", message);
        peer_try_send(&q, line, strlen(line));
        for (int turn = 0; turn < 20; turn++) {
            peers_turns();
            for (int i = 0; i < MANY; i++)
                if (i % 3) peer_receive(&many[i], SIZE_MAX);
        }
        client_memory_check();
    }
    for (int i = 0; i < MANY; i++) {
        closed += !peer_is_served(&many[i]);
        assert_int_equal(peer_is_served(&many[i]), i % 3 != 0);
        if (i % 3) {
            size_t head = strlen("*3\r\n$7\r\nmessage\r\n$4\r\nnews\r\n$60000\r\n\r\n");
            size_t pattern_head =
                strlen("*4\r\n$8\r\npmessage\r\n$2\r\nn*\r\n$4\r\nnews\r\n$60000\r\n\r\n");
            assert_int_equal(many[i].got.length, 10 * (2 * message + head + pattern_head));
        }
    }
    assert_int_equal(closed, (MANY + 2) / 3);
    assert_int_equal(pubsub_subscribers(SLICE("news")), MANY - closed);
    assert_int_equal(pubsub_count(PUBSUB_CHANNEL), 1 + MANY - closed);
    for (int i = 0; i < MANY; i++) peer_close(&many[i]);
    peer_close(&q);
}

/* Sending much to many holds REPLY_PENDING_BYTES and one reply, not all. */
static void note_peak(size_t bytes) {
    if (memory_used(MEMORY_CLIENTS) > peak) peak = memory_used(MEMORY_CLIENTS);
}
static const struct memory_hook hook = {.allocated = note_peak};

static void test_pending_is_bounded(void **state) {
    struct peer many[MANY], q = peer_connect();
    size_t message = 50000;
    subscribe_all(many, MANY);
    size_t before = memory_used(MEMORY_CLIENTS);
    peak = 0;
    memory_set_hook(&hook);
    ask(&q, "P news 50000\n");
    memory_set_hook(NULL);
    assert_true(peak - before >= REPLY_PENDING_BYTES);
    assert_true(peak - before < REPLY_PENDING_BYTES + 2 * message);
    peer_assert_got(&q, SLICE(":200\r\n"));
    for (int i = 0; i < MANY; i++) {
        collect(&many[i]);
        assert_true(many[i].got.length > 2 * message);
        peer_close(&many[i]);
    }
    peer_close(&q);
}

/* The client goes at once, what it listened to in steps; meanwhile nothing is sent there. */
static void test_leaving_in_steps(void **state) {
    enum { CHANNELS = 5000 };
    struct peer p = peer_connect(), q = peer_connect();
    for (int i = 0; i < CHANNELS; i += 5)
        ask_format(&p, "s c%d c%d c%d c%d c%d\n", i, i + 1, i + 2, i + 3, i + 4);
    ask(&p, "S c1*\n");
    ask(&q, "s c4999\n");
    buffer_clear(&q.got);
    assert_true(client_memory_of(p.client) > (size_t)CHANNELS * 40);
    client_memory_check();
    uint64_t id = p.client->id;
    client_close_later(p.client);
    assert_null(client_find(id));
    pubsub_check(); /* it is marked: it listens still, and gets nothing */
    client_memory_check();
    assert_int_equal(pubsub_publish(SLICE("c4000"), SLICE("m")), 0);
    client_finish_closing();
    pubsub_check();
    client_memory_check();
    for (int steps = 0; pubsub_release_step(); steps++) {
        assert_int_equal(pubsub_publish(SLICE("c4000"), SLICE("m")), 0);
        assert_int_equal(pubsub_publish(SLICE("c1"), SLICE("m")), 0);
        client_free_closing();
        client_memory_check();
        pubsub_check();
        assert_true(steps < CHANNELS);
        if (steps == 3) break;
    }
    assert_int_equal(pubsub_subscribers(SLICE("c4000")), 0); /* exact, whatever is left */
    assert_int_equal(pubsub_count(PUBSUB_CHANNEL), 1);
    assert_int_equal(pubsub_count(PUBSUB_PATTERN), 0);
    assert_false(pubsub_release_step());
    client_free_closing();
    client_memory_check();
    assert_int_equal(pubsub_publish(SLICE("c4999"), SLICE("m")), 1);
    reply_write_all(); /* no batch has run that would do so */
    collect(&q);
    peer_assert_got(&q, SLICE("*3\r\n$7\r\nmessage\r\n$5\r\nc4999\r\n$1\r\nm\r\n"));
    collect(&p);
    assert_true(p.ended);
    peer_close(&p);
    peer_close(&q);
}

/* Without such questions the loop does it all. */
static void test_leaving_by_the_loop(void **state) {
    struct peer p = peer_connect();
    for (int i = 0; i < 3000; i += 3) ask_format(&p, "s c%d c%d c%d\n", i, i + 1, i + 2);
    close(p.fd);
    p.fd = -1;
    for (int i = 0; i < 100 && pubsub_has_listeners(); i++) peers_turns();
    assert_false(pubsub_has_listeners());
    peer_close(&p);
}

/* It is closed for what the messages of its own requests take, in the middle of them. */
static void test_closed_by_what_it_is_told(void **state) {
    char name[3001];
    memset(name, 'n', sizeof(name) - 1);
    name[sizeof(name) - 1] = 0;
    option_set_text("client-output-buffer-limit", "normal 20kb 0 0 pubsub 20kb 0 0");
    for (int kind = 0; kind < 2; kind++) {
        struct peer p = peer_connect();
        struct buffer line = {.class = MEMORY_OTHER};
        for (int i = 0; i < 10; i++)
            buffer_printf(&line, "%s %s%d", i ? "" : kind ? "S" : "s", name, i);
        buffer_printf(&line, "\n%c\n", kind ? 'U' : 'u');
        int asked = 0;
        while (peer_is_served(&p) && asked < 1000) {
            peer_try_send(&p, line.bytes, line.length);
            peers_turns();
            client_memory_check();
            asked++;
        }
        assert_false(peer_is_served(&p));
        assert_false(pubsub_has_listeners());
        buffer_free(&line);
        peer_close(&p);
    }
}

/* ---- the suite ---- */

static struct client_state *const client_states[] = {&pubsub_client_state, NULL};
static const struct pubsub_observer *const delivery_alone[] = {&pubsub_delivery, NULL};
static bool (*const before_sleep[])(void) = {peers_end_of_turn, pubsub_release_step, NULL};

/* ---- observers ---- */

static size_t relayed, relayed_bytes;

static size_t relay(struct slice channel, struct slice message) {
    relayed++;
    relayed_bytes += channel.length + message.length;
    return 100;
}

static const struct pubsub_observer relay_observer = {relay};

/* Each message that is published reaches all of them, and none that is only delivered does. */
static void test_observers(void **state) {
    static const struct pubsub_observer *const with_relay[] = {&pubsub_delivery, &relay_observer,
                                                               NULL};
    static const struct pubsub_observer *const relay_alone[] = {&relay_observer, NULL};
    struct peer p = peer_connect();
    peer_send(&p, SLICE("s c\r\n"));
    buffer_clear(&p.got);
    pubsub_set_observers(with_relay);
    assert_int_equal(pubsub_publish(SLICE("c"), SLICE("one")), 101);
    assert_int_equal(pubsub_publish(SLICE("other"), SLICE("two")), 100);
    assert_int_equal(pubsub_deliver(SLICE("c"), SLICE("three")), 1);
    pubsub_set_observers(relay_alone);
    assert_int_equal(pubsub_publish(SLICE("c"), SLICE("four")), 100);
    assert_int_equal(relayed, 3);
    assert_int_equal(relayed_bytes, 4 + 8 + 5);
    pubsub_set_observers(delivery_alone);
    reply_write_all();
    peers_turns();
    peer_receive(&p, SIZE_MAX);
    peer_assert_got(&p, SLICE("*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$3\r\none\r\n"
                              "*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$5\r\nthree\r\n"));
    peer_close(&p);
}

static int open_all(void **state) {
    limits_register();
    client_memory_register();
    pubsub_register();
    pubsub_set_observers(delivery_alone);
    peers_open(&executor);
    client_set_states(client_states);
    peers_set_before_sleep(before_sleep);
    return 0;
}

static int end(void **state) {
    option_set_text("client-output-buffer-limit", "normal 0 0 0 pubsub 0 0 0");
    peers_turns();
    pubsub_check();
    assert_false(pubsub_has_listeners());
    return peers_nothing_left(state);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, peers_begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_random),
        TEST(test_own_message),
        TEST(test_order_in_batch),
        TEST(test_messages_pass_reply_off),
        TEST(test_close_after_reply),
        TEST(test_closing_while_sent),
        TEST(test_pending_is_bounded),
        TEST(test_leaving_in_steps),
        TEST(test_leaving_by_the_loop),
        TEST(test_closed_by_what_it_is_told),
        TEST(test_observers),
    };
    return cmocka_run_group_tests(tests, open_all, NULL);
}
