/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of peer/peer_client against a server of the test's own: a listening socket whose other end
 * says what the test wants, when it wants; a resolver and a clock of the test's own. Each is driven
 * by the loop and, where it makes a difference, by turns. SEED=n repeats the random choices.
 */
#include "peer/peer_client.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/seed.h"
#include "io/loop.h"
#include "io/masked.h"
#include "io/names.h"
#include "io/socket.h"

#define TURNS_MAX 20000
#define ASKED_MAX 100
#define TOLD_MAX 4096
#define SECOND_USEC 1000000
#define PATIENCE_MSEC 5000
#define PAUSE_MSEC 1000

static struct loop *loop;
static int listener, port;
static struct peer_client *client;
static bool by_turns;
/* What was told, a character each: c(onnects) o(pened) e(nded) i(nput) p(ush or another that was
 * not asked for), and of a request its letter with what the answer was: + - : $ * or ! for none. */
static char told[TOLD_MAX];
static size_t told_length;
static void (*then)(char what); /* is called with each */
static size_t eaten;            /* what an `input` takes at most */
static struct buffer raw = {.class = MEMORY_OTHER};

static void tell(char what) {
    assert_true(told_length < sizeof(told) - 1);
    told[told_length++] = what;
    told[told_length] = '\0';
}

static void tell_then(char what) {
    tell(what);
    if (then) then(what);
}

static void on_connects(void *owner) { tell_then('c'); }
static void on_opened(void *owner) { tell_then('o'); }
static void on_ended(void *owner) { tell_then('e'); }
static void on_unasked(void *owner, const struct peer_reply *reply) { tell_then('p'); }
static void on_input(void *owner) {
    struct slice input = peer_client_input(client);
    size_t length = input.length < eaten ? input.length : eaten;
    buffer_append(&raw, input.bytes, length);
    peer_client_consume(client, length);
    tell_then('i');
}

static const struct peer_client_events events = {on_connects, on_opened, on_ended, on_input};

static void on_answer(void *owner, uintptr_t about, const struct peer_reply *reply) {
    static const char marks[] = {
        [PEER_STATUS] = '+', [PEER_ERROR] = '-', [PEER_INTEGER] = ':',
        [PEER_BULK] = '$',   [PEER_NIL] = '_',   [PEER_ARRAY] = '*',
    };
    assert_ptr_equal(owner, &client);
    tell((char)about);
    tell_then(reply ? marks[reply->type] : '!');
}

static void forget_told(void) {
    told_length = 0;
    told[0] = '\0';
}

static void create(bool turns, bool hears_unasked, int64_t again_msec) {
    const struct peer_client_settings settings = {.loop = turns ? NULL : loop,
                                                  .class = MEMORY_OTHER,
                                                  .reply = {1000, 100},
                                                  .asked_max = ASKED_MAX,
                                                  .again_msec = again_msec,
                                                  .events = &events,
                                                  .unasked = hears_unasked ? on_unasked : NULL,
                                                  .owner = &client};
    by_turns = turns;
    client = peer_client_create(&settings);
    assert_int_equal(peer_client_state(client), PEER_CLIENT_CLOSED);
    forget_told();
}

static void destroy(void) {
    peer_client_free(client);
    client = NULL;
}

static int begin(void **state) {
    char reason[128];
    struct socket_peer local;
    names_open();
    loop = loop_create();
    listener = socket_listen_tcp("127.0.0.1", 0, 8, reason, sizeof(reason));
    if (listener < 0 || !socket_local_of(listener, &local)) return -1;
    port = local.port;
    then = NULL;
    eaten = SIZE_MAX;
    buffer_clear(&raw);
    return 0;
}

static int end(void **state) {
    clock_use_system();
    peer_client_free(client);
    client = NULL;
    if (listener >= 0) close(listener);
    loop_free(loop);
    buffer_free(&raw);
    return 0;
}

/* A turn of the client, and a moment for what is on its way. */
static void turn(void) {
    if (!by_turns)
        loop_turn(loop, 0);
    else if (client)
        (void)peer_client_turn(client, 0);
    (void)poll(NULL, 0, 1);
}

#define UNTIL(condition)                                                                     \
    do {                                                                                     \
        for (int spent = 0; !(condition); spent++) {                                         \
            if (spent == TURNS_MAX) fail_msg("not reached: %s; told: %s", #condition, told); \
            turn();                                                                          \
        }                                                                                    \
    } while (0)

static bool is(const char *text) { return strcmp(told, text) == 0; }
#define UNTIL_TOLD(text) UNTIL(is(text))

/* Nothing more is told in some turns. */
static void assert_quiet(const char *text) {
    for (int i = 0; i < 10; i++) turn();
    assert_string_equal(told, text);
}

static bool connect_host(const char *host) {
    return peer_client_connect(client, &(struct peer_address){.host = host, .port = port});
}

static int accept_it(void) {
    struct socket_peer from;
    int fd = -1;
    UNTIL((fd = socket_accept(listener, &from)) >= 0);
    return fd;
}

/* Connects; the server's end. */
static int open_at(const struct peer_address *address) {
    assert_true(peer_client_connect(client, address));
    assert_int_equal(peer_client_state(client), PEER_CLIENT_CONNECTS);
    int fd = accept_it();
    UNTIL(peer_client_state(client) == PEER_CLIENT_OPEN);
    return fd;
}

static int open_it(void) {
    return open_at(&(struct peer_address){.host = "127.0.0.1", .port = port});
}

static void say(int fd, const char *text) {
    assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

static void ask(char about) {
    const struct peer_request request = {on_answer, (uintptr_t)about};
    assert_true(peer_client_ask(client, &request, &SLICE("PING"), 1));
}

/* So many bytes have come to the server, and are thrown away. */
static void hear(int fd, size_t bytes) {
    char got[4096];
    while (bytes) {
        ssize_t more = recv(fd, got, bytes < sizeof(got) ? bytes : sizeof(got), 0);
        if (more < 0) turn();
        assert_true(more != 0);
        if (more > 0) bytes -= (size_t)more;
    }
}

#define PING_BYTES 14

/* ---- requests and answers ---- */

static void test_answers_in_order(void **state) {
    for (int turns = 0; turns < 2; turns++) {
        create(turns, true, 0);
        int fd = open_it();
        assert_string_equal(told, turns ? "" : "o");
        forget_told();
        ask('a');
        ask('b');
        assert_int_equal(peer_client_asked(client), 2);
        hear(fd, 2 * PING_BYTES);
        say(fd, "+OK\r\n$2\r\nh");
        UNTIL_TOLD("a+");
        say(fd, "i\r\n");
        UNTIL_TOLD("a+b$");
        ask('c');
        hear(fd, PING_BYTES);
        say(fd, ">1\r\n+news\r\n-ERR no\r\n>1\r\n+news\r\n*0\r\n");
        UNTIL_TOLD("a+b$pc-pp");
        assert_int_equal(peer_client_asked(client), 0);
        close(fd);
        destroy();
    }
}

/* Requests may be asked before the connection is there. */
/* Our end of the connection is what the other side sees, as long as there is a connection. */
static void test_local_address(void **state) {
    struct socket_peer local, seen;
    create(false, true, 0);
    assert_false(peer_client_local(client, &local));
    int fd = open_it();
    assert_true(peer_client_local(client, &local));
    assert_true(socket_peer_of(fd, &seen));
    assert_string_equal(local.address, seen.address);
    assert_int_equal(local.port, seen.port);
    peer_client_close(client);
    assert_false(peer_client_local(client, &local));
    close(fd);
    destroy();
}

static void test_asked_while_connecting(void **state) {
    create(false, false, 0);
    assert_false(
        peer_client_ask(client, &(struct peer_request){on_answer, 'x'}, &SLICE("PING"), 1));
    assert_true(connect_host("127.0.0.1"));
    ask('a');
    int fd = accept_it();
    say(fd, ":1\r\n");
    UNTIL_TOLD("oa:");
    hear(fd, PING_BYTES);
    close(fd);
}

/* Without `unasked` pushes are dropped, and all else waits until it was asked for. */
static void test_nothing_is_answered_unasked(void **state) {
    create(false, false, 0);
    int fd = open_it();
    say(fd, ":1\r\n>1\r\n+news\r\n:2\r\n");
    assert_quiet("o");
    ask('a');
    UNTIL_TOLD("oa:");
    ask('b');
    UNTIL_TOLD("oa:b:");
    assert_quiet("oa:b:");
    close(fd);
    UNTIL_TOLD("oa:b:e");
}

/* The connection has ended, and the loop has not told it yet: what is asked meanwhile is not
 * written, and a reply that came before is no answer to it. */
static void test_nothing_is_answered_behind_the_end(void **state) {
    create(false, false, 0);
    int fd = open_it();
    say(fd, ":1\r\n");
    assert_quiet("o");
    assert_int_equal(
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &(struct linger){1, 0}, sizeof(struct linger)), 0);
    close(fd);
    ask('a');
    ask('b');
    UNTIL_TOLD("oa!b!e");
}

/* A request that was not written whole is not answered, also where the connection ends. */
static void test_nothing_is_answered_unsent(void **state) {
    enum { VALUE_BYTES = 64 << 20 };
    for (int turns = 0; turns < 2; turns++) {
        create(turns, false, 0);
        int fd = open_it();
        forget_told();
        char *value = memory_zalloc(VALUE_BYTES, MEMORY_OTHER);
        const struct peer_request request = {on_answer, 'a'};
        assert_true(peer_client_ask(client, &request, &(struct slice){value, VALUE_BYTES}, 1));
        memory_free(value, MEMORY_OTHER);
        for (int i = 0; i < 20; i++) turn();
        assert_true(peer_client_unsent_bytes(client) > 0);
        say(fd, "+OK\r\n");
        assert_quiet("");
        close(fd);
        UNTIL(peer_client_state(client) == PEER_CLIENT_CLOSED);
        assert_string_equal(told, turns ? "a!" : "a!e");
        destroy();
    }
}

static void test_queue_is_bounded(void **state) {
    struct buffer answers = {.class = MEMORY_OTHER};
    create(false, false, 0);
    int fd = open_it();
    for (int round = 0; round < 3; round++) {
        forget_told();
        for (int i = 0; i < ASKED_MAX; i++) ask((char)('a' + i % 26));
        const struct peer_request request = {on_answer, 'x'};
        assert_false(peer_client_ask(client, &request, &SLICE("PING"), 1));
        hear(fd, ASKED_MAX * PING_BYTES);
        for (int i = 0; i < ASKED_MAX; i++) buffer_append_c_string(&answers, "+OK\r\n");
        buffer_append_char(&answers, '\0');
        say(fd, answers.bytes);
        UNTIL(told_length == 2 * ASKED_MAX);
        for (int i = 0; i < ASKED_MAX; i++) assert_int_equal(told[i * 2], 'a' + i % 26);
        buffer_clear(&answers);
    }
    buffer_free(&answers);
    close(fd);
}

/* Replies wait until they are taken; so does the end of the connection. */
static void test_replies_are_taken(void **state) {
    const struct peer_client_settings settings = {.class = MEMORY_OTHER,
                                                  .reply = {1000, 100},
                                                  .asked_max = ASKED_MAX,
                                                  .takes = true,
                                                  .owner = &client};
    struct pollfd entry;
    const struct peer_reply *reply;
    by_turns = true;
    forget_told();
    client = peer_client_create(&settings);
    assert_false(peer_client_poll_entry(client, &entry));
    int fd = open_it();
    ask('a');
    say(fd, ">1\r\n+news\r\n+OK\r\n:1\r\n:2\r\n>0\r\n$2\r\nh");
    UNTIL_TOLD("a+");
    UNTIL((reply = peer_client_take(client)));
    assert_int_equal(reply->integer, 1);
    assert_int_equal(peer_client_take(client)->integer, 2);
    assert_int_equal(peer_client_take(client)->type, PEER_PUSH);
    assert_null(peer_client_take(client));
    assert_true(peer_client_poll_entry(client, &entry));
    assert_int_equal(entry.events, POLLIN);
    peer_client_send(client, &SLICE("PING"), 1);
    assert_true(peer_client_poll_entry(client, &entry));
    assert_int_equal(entry.events, POLLIN | POLLOUT);
    hear(fd, 2 * PING_BYTES);
    say(fd, "i\r\n:3\r\n:");
    close(fd);
    for (int i = 0; i < 10; i++) turn();
    assert_int_equal(peer_client_state(client), PEER_CLIENT_OPEN);
    assert_int_equal(peer_client_take(client)->type, PEER_BULK);
    assert_int_equal(peer_client_take(client)->integer, 3);
    assert_null(peer_client_take(client));
    assert_false(peer_client_poll_entry(client, &entry));
    assert_false(peer_client_turn(client, INT64_MAX));
    assert_string_equal(peer_client_error(client), "the other side closed the connection");
    assert_null(peer_client_take(client));
    assert_string_equal(told, "a+");
}

/* Bytes that are no protocol end the connection after the replies before them. */
static void test_taken_replies_are_bounded(void **state) {
    const struct peer_client_settings settings = {
        .class = MEMORY_OTHER, .reply = {1000, 100}, .takes = true, .owner = &client};
    const struct peer_reply *reply;
    by_turns = true;
    client = peer_client_create(&settings);
    int fd = open_it();
    say(fd, ":1\r\n$1001\r\n");
    UNTIL((reply = peer_client_take(client)));
    assert_null(peer_client_take(client));
    assert_false(peer_client_turn(client, INT64_MAX));
    assert_string_equal(peer_client_error(client),
                        "protocol: the reply's text is larger than allowed");
    close(fd);
}

static void test_auth(void **state) {
    create(true, false, 0);
    int fd = open_it();
    const struct peer_request request = {on_answer, 'a'};
    static const char both[] =
        "*3\r\n$4\r\nAUTH\r\n$1\r\nu\r\n$1\r\np\r\n*2\r\n$4\r\nAUTH\r\n$1\r\np\r\n";
    char got[sizeof(both)];
    assert_true(peer_client_ask_auth(client, &request, SLICE("u"), SLICE("p")));
    assert_true(peer_client_ask_auth(client, &request, (struct slice){0}, SLICE("p")));
    UNTIL(recv(fd, got, sizeof(got), MSG_PEEK) == sizeof(both) - 1);
    assert_memory_equal(got, both, sizeof(both) - 1);
    close(fd);
}

/* ---- the end ---- */

struct ending {
    const char *said, *error, *told;
};

/* With three requests unanswered the server says this, and hangs up. */
static void test_endings(void **state) {
    static const char lost[] = "the other side closed the connection";
    static const struct ending endings[] = {
        {"", lost, "a!b!c!"},
        {"+OK\r\n", lost, "a+b!c!"},
        {"+OK\r\n$5\r\nab", lost, "a+b!c!"},
        {"+OK\r\n:1\r\n-ERR\r\n", lost, "a+b:c-"},
        {"+OK\r\n:1\r\n-ERR\r\n:2\r\n", lost, "a+b:c-"},
        {"SSH-2.0-x\r\n", "protocol: a reply begins with a byte that marks no type", "a!b!c!"},
        {"+OK\r\n$x\r\n", "protocol: a length is not a number", "a+b!c!"},
        {"$1001\r\n", "protocol: the reply's text is larger than allowed", "a!b!c!"},
        {"*101\r\n", "protocol: the reply has more elements than allowed", "a!b!c!"},
    };
    for (size_t i = 0; i < 2 * sizeof(endings) / sizeof(endings[0]); i++) {
        const struct ending *ending = &endings[i / 2];
        create(i % 2, false, 0);
        int fd = open_it();
        forget_told();
        ask('a');
        ask('b');
        ask('c');
        hear(fd, 3 * PING_BYTES);
        say(fd, ending->said);
        close(fd);
        UNTIL(peer_client_state(client) == PEER_CLIENT_CLOSED);
        assert_string_equal(peer_client_error(client), ending->error);
        assert_memory_equal(told, ending->told, strlen(ending->told));
        assert_string_equal(told + strlen(ending->told), by_turns ? "" : "e");
        assert_false(peer_client_was_late(client));
        assert_int_equal(peer_client_asked(client), 0);
        destroy();
    }
}

static void test_refused(void **state) {
    close(listener);
    listener = -1;
    create(false, false, 0);
    /* A refusal on this machine may come at once. */
    if (connect_host("127.0.0.1")) UNTIL_TOLD("e");
    assert_string_equal(peer_client_error(client), "connect: Connection refused");
    const struct peer_address nowhere = {.path = "/no/such/folder/socket"};
    assert_false(peer_client_connect(client, &nowhere));
    assert_string_equal(peer_client_error(client), "connect: No such file or directory");
    peer_client_close(client);
    assert_string_equal(peer_client_error(client), "");
}

/* From an address of the other family, or of nobody here, it cannot; so it connects from any. */
static void test_source(void **state) {
    static const char *const sources[] = {"::1", "192.0.2.1", "127.0.0.1", ""};
    for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
        const struct peer_address address = {
            .host = "127.0.0.1", .port = port, .source = sources[i]};
        create(false, false, 0);
        close(open_at(&address));
        UNTIL_TOLD("oe");
        destroy();
    }
}

/* ---- what an owner does when it is told ---- */

static char awaited;
static int done;
static size_t done_at; /* what had been told by then */

static bool is_time(char what) {
    if (what != awaited || done++) return false;
    done_at = told_length;
    return true;
}

static void close_then(char what) {
    if (!is_time(what)) return;
    peer_client_close(client);
}

static void free_then(char what) {
    if (!is_time(what)) return;
    peer_client_free(client);
    client = NULL;
}

static void connect_then(char what) {
    if (!is_time(what)) return;
    assert_true(connect_host("127.0.0.1"));
}

static void (*const acts[])(char what) = {close_then, free_then, connect_then};

/* An owner that closes, frees or connects anew within each thing that it is told, while more of it
 * is there to be told: that is not told any more. */
static void test_owner_acts(void **state) {
    static const char moments[] = "cop+!ie";
    for (size_t i = 0; i < 3 * strlen(moments); i++) {
        create(false, true, 0);
        awaited = moments[i / 3];
        done = 0;
        then = acts[i % 3];
        assert_true(connect_host("a.host"));
        int fd = accept_it(), again = -1;
        for (int turns = 0; turns < 20; turns++) turn();
        bool acted = strchr("co", awaited) != NULL;
        assert_int_equal(done > 0, acted);
        if (!acted) {
            ask('a');
            ask('b');
            ask('c');
            hear(fd, 3 * PING_BYTES);
            say(fd, "+OK\r\n>1\r\n+x\r\n");
            if (awaited == 'i') {
                say(fd, "+OK\r\n+OK\r\n");
                UNTIL(peer_client_asked(client) == 0);
                peer_client_leave_protocol(client);
                say(fd, "raw bytes");
            }
            if (awaited == '!' || awaited == 'e') {
                close(fd);
                fd = -1;
            }
            UNTIL(done > 0);
        }
        if (i % 3 == 2) again = accept_it();
        for (int turns = 0; turns < 10; turns++) turn();
        /* The new connection is told of, and nothing of the old one. */
        assert_string_equal(told + done_at, i % 3 == 2 ? "o" : "");
        then = NULL;
        if (fd >= 0) close(fd);
        if (again >= 0) close(again);
        destroy();
    }
}

/* ---- names ---- */

static void test_names(void **state) {
    for (int turns = 0; turns < 2; turns++) {
        create(turns, false, 0);
        assert_true(connect_host("some.host"));
        assert_int_equal(peer_client_state(client), PEER_CLIENT_LOOKS_UP);
        int fd = accept_it();
        UNTIL(peer_client_state(client) == PEER_CLIENT_OPEN);
        assert_string_equal(told, turns ? "" : "co");
        close(fd);
        forget_told();
        assert_true(connect_host("some.unknown"));
        UNTIL(peer_client_state(client) == PEER_CLIENT_CLOSED);
        assert_string_equal(peer_client_error(client), gai_strerror(EAI_NONAME));
        assert_string_equal(told, turns ? "" : "e");
        destroy();
    }
}

/* The asker is gone before the answer: closed, freed, or connected elsewhere. */
static void test_names_that_nobody_waits_for(void **state) {
    create(false, false, 0);
    assert_true(connect_host("a.slow"));
    assert_quiet("");
    peer_client_close(client);
    assert_true(connect_host("b.slow"));
    int fd = open_it();
    assert_string_equal(told, "o");
    names_release(2);
    assert_quiet("o");
    close(fd);
    assert_true(connect_host("c.slow"));
    destroy();
    names_release(1);
    assert_quiet("o");
}

/* ---- time ---- */

static void pass(int64_t msec) {
    clock_advance_usec(msec * 1000);
    for (int i = 0; i < 5; i++) turn();
}

static void assert_late(const char *text) {
    assert_quiet(text);
    pass(PATIENCE_MSEC - 1);
    assert_quiet(text);
    pass(1);
    assert_int_equal(peer_client_state(client), PEER_CLIENT_CLOSED);
    assert_true(peer_client_was_late(client));
    assert_string_equal(peer_client_error(client), "no answer in time");
}

/* A name, a handshake, an answer that does not come. */
static void test_patience(void **state) {
    clock_use_fixed(SECOND_USEC, SECOND_USEC);
    create(false, false, 0);
    peer_client_set_patience(client, PATIENCE_MSEC);
    assert_true(connect_host("a.slow"));
    assert_late("");
    assert_string_equal(told, "e");
    names_release(1);

    const struct peer_address masked = {
        .host = "127.0.0.1", .port = port, .transport = &masked_transport};
    forget_told();
    assert_true(peer_client_connect(client, &masked));
    int fd = accept_it();
    assert_late("");
    assert_string_equal(told, "e");
    close(fd);

    forget_told();
    fd = open_it();
    pass(10 * PATIENCE_MSEC); /* nothing is waited for */
    assert_string_equal(told, "o");
    ask('a');
    ask('b');
    hear(fd, 2 * PING_BYTES);
    pass(PATIENCE_MSEC - 1);
    say(fd, "+OK\r\n"); /* a step further: time begins anew */
    UNTIL_TOLD("oa+");
    pass(PATIENCE_MSEC / 2);
    say(fd, ">1\r\n+news\r\n+"); /* a push, and half an answer, are none */
    for (int i = 0; i < 10; i++) turn();
    pass(PATIENCE_MSEC - PATIENCE_MSEC / 2 - 1);
    assert_quiet("oa+");
    pass(1);
    assert_true(peer_client_was_late(client));
    assert_string_equal(told, "oa+b!e");
    close(fd);
}

/* By turns it is the wait's own time. */
static void test_patience_by_turns(void **state) {
    create(true, false, 0);
    int fd = open_it();
    peer_client_set_patience(client, 30);
    ask('a');
    int64_t begin_usec = clock_monotonic_usec();
    for (int i = 0; i < TURNS_MAX && peer_client_turn(client, INT64_MAX); i++) continue;
    assert_string_equal(told, "a!");
    assert_true(peer_client_was_late(client));
    assert_true(clock_monotonic_usec() - begin_usec >= 30000);
    close(fd);
    assert_true(connect_host("a.slow"));
    while (peer_client_turn(client, INT64_MAX)) continue;
    assert_true(peer_client_was_late(client));
    names_release(1);
}

static void set_patience_then(char what) {
    if (what == 'e') peer_client_set_patience(client, PATIENCE_MSEC);
}

/* It is begun again after the pause, as often as it ends; not where its owner closes it. */
static void test_again(void **state) {
    clock_use_fixed(SECOND_USEC, SECOND_USEC);
    create(false, false, PAUSE_MSEC);
    then = set_patience_then;
    close(open_it());
    UNTIL_TOLD("oe");
    pass(PAUSE_MSEC - 1);
    assert_quiet("oe");
    pass(1);
    int fd = accept_it();
    UNTIL_TOLD("oeo");
    ask('a');
    hear(fd, PING_BYTES);
    close(fd);
    UNTIL_TOLD("oeoa!e");
    pass(PAUSE_MSEC);
    fd = accept_it();
    UNTIL_TOLD("oeoa!eo");
    close(fd);
    UNTIL_TOLD("oeoa!eoe");
    pass(PAUSE_MSEC);
    fd = accept_it();
    UNTIL_TOLD("oeoa!eoeo");
    ask('b');
    peer_client_give_up(client, "for a reason of its own");
    assert_string_equal(told, "oeoa!eoeob!e");
    assert_string_equal(peer_client_error(client), "for a reason of its own");
    peer_client_give_up(client, "it is closed");
    close(fd);
    peer_client_close(client);
    pass(2 * PAUSE_MSEC);
    assert_quiet("oeoa!eoeob!e");
    forget_told();
    close(open_it());
    UNTIL_TOLD("oe");
    close(listener);
    listener = -1;
    pass(PAUSE_MSEC);
    UNTIL_TOLD("oee");
    pass(PAUSE_MSEC);
    UNTIL_TOLD("oeee");
}

/* ---- beside the protocol ---- */

static void leave_then(char what) {
    if (what == '+') peer_client_leave_protocol(client);
    if (what == 'i' && raw.length >= 4) peer_client_leave_loop(client);
}

/* An answer behind which no protocol follows; the loop offers it, then turns do, then the
 * connection leaves. */
static void test_leaves_protocol(void **state) {
    struct buffer rest = {.class = MEMORY_OTHER};
    struct connection *connection;
    create(false, false, 0);
    int fd = open_it();
    then = leave_then;
    eaten = 2;
    ask('a');
    hear(fd, PING_BYTES);
    say(fd, "+FULL\r\nabcdef");
    UNTIL_TOLD("oa+ii");
    assert_true(slice_equal(buffer_slice(&raw), SLICE("abcd")));
    say(fd, "gh");
    assert_quiet("oa+ii");
    while (peer_client_input(client).length < 4) assert_true(peer_client_turn(client, 1));
    peer_client_consume(client, 1);
    assert_true(peer_client_may_release(client));
    int own = peer_client_release(client, &connection, &rest);
    assert_true(own >= 0);
    assert_null(connection);
    assert_true(slice_equal(buffer_slice(&rest), SLICE("fgh")));
    assert_int_equal(peer_client_state(client), PEER_CLIENT_CLOSED);
    assert_quiet("oa+ii");
    close(own);
    close(fd);
    buffer_free(&rest);
}

/* By turns the end comes only when all input was taken; by the loop when it was offered. */
static void test_ends_beside_the_protocol(void **state) {
    for (int turns = 0; turns < 2; turns++) {
        create(turns, false, 0);
        int fd = open_it();
        forget_told();
        peer_client_leave_protocol(client);
        say(fd, "abc");
        close(fd);
        for (int i = 0; turns && i < 10; i++) turn();
        if (turns) {
            assert_true(slice_equal(peer_client_input(client), SLICE("abc")));
            assert_false(peer_client_may_release(client));
            peer_client_consume(client, 3);
        }
        UNTIL(peer_client_state(client) == PEER_CLIENT_CLOSED);
        assert_string_equal(told, turns ? "" : "ie");
        destroy();
    }
}

/* Input that its owner does not take is bounded, and comes whole when it does. */
static void test_input_is_bounded(void **state) {
    enum { BYTES = 1 << 20 };
    char piece[4096];
    memset(piece, 'x', sizeof(piece));
    create(false, false, 0);
    int fd = open_it();
    size_t used = memory_used(MEMORY_OTHER), said = 0;
    peer_client_leave_protocol(client);
    eaten = 0;
    for (int i = 0; i < 200; i++) {
        ssize_t more = send(fd, piece, sizeof(piece), MSG_NOSIGNAL);
        said += more > 0 ? (size_t)more : 0;
        turn();
    }
    assert_true(memory_used(MEMORY_OTHER) - used <= 4 * PEER_INPUT_BYTES_MAX);
    eaten = SIZE_MAX;
    peer_client_send_bytes(client, SLICE("more")); /* is served again */
    forget_told();
    for (int i = 0; i < TURNS_MAX && raw.length < said; i++) {
        if (told_length > TOLD_MAX / 2) forget_told();
        turn();
        if (!told_length) peer_client_send_bytes(client, SLICE("more"));
    }
    assert_int_equal(raw.length, said);
    close(fd);
}

/* ---- within other things ---- */

static bool is_within;
static void note_depth(char what) { is_within |= loop_depth(loop) > 1; }

static bool nest_always(void) {
    if (loop_depth(loop) == 1) loop_turn(loop, 0);
    return false;
}

static bool (*const nesting_hooks[])(void) = {nest_always, NULL};

/* In nested turns nothing is told. */
static void test_told_in_outermost_turns_only(void **state) {
    loop_set_hooks(loop, &(struct loop_hooks){.before_sleep = nesting_hooks});
    is_within = false;
    then = note_depth;
    create(false, true, 0);
    int fd = open_it();
    for (int i = 0; i < 20; i++) {
        ask('a');
        hear(fd, PING_BYTES);
        say(fd, "+OK\r\n:1\r\n");
        UNTIL(peer_client_asked(client) == 0);
    }
    close(fd);
    UNTIL(peer_client_state(client) == PEER_CLIENT_CLOSED);
    assert_false(is_within);
}

/* ---- behind a transport, at random ---- */

static void ask_again(char what) {
    if (what == ':' && peer_client_asked(client) < ASKED_MAX) ask('a');
}

static void test_transport(void **state) {
    for (int turns = 0; turns < 2; turns++) {
        const struct peer_address address = {
            .host = "127.0.0.1", .port = port, .transport = &masked_transport};
        char why[128], answers[4 * (ASKED_MAX + 1)];
        for (size_t i = 0; i < sizeof(answers); i++) answers[i] = ":1\r\n"[i % 4];
        create(turns, false, 0);
        then = NULL;
        assert_true(peer_client_connect(client, &address));
        int fd = accept_it(), answered = 0;
        struct connection *far = connection_open(&masked_transport, fd, CONNECTION_ACCEPTS,
                                                 MEMORY_OTHER, why, sizeof(why));
        assert_non_null(far);
        for (int i = 0; i < ASKED_MAX; i++) ask('a');
        then = ask_again;
        size_t heard = 0, owed = 0;
        for (int idle = 0; idle < TURNS_MAX && answered < 5000; idle++) {
            char got[4096];
            size_t before = heard + owed;
            bool open = connection_handshake(far, why, sizeof(why)) == CONNECTION_DONE;
            ssize_t more = open ? connection_read(far, got, sizeof(got)) : -1;
            heard += more > 0 ? (size_t)more : 0;
            size_t wanted = heard / PING_BYTES * 4;
            if (open && owed < wanted) {
                ssize_t said = connection_write(far, answers + owed % 4, wanted - owed);
                owed += said > 0 ? (size_t)said : 0;
            }
            if (by_turns)
                (void)peer_client_turn(client, 0);
            else
                loop_turn(loop, 0);
            answered += (int)told_length / 2;
            if (told_length || heard + owed > before)
                idle = 0;
            else
                (void)poll(NULL, 0, 1);
            forget_told();
        }
        assert_true(answered >= 5000);
        then = NULL;
        connection_close(far);
        close(fd);
        destroy();
    }
}

static void act_at_random(char what) {
    if (!client) return;
    switch (random_below(40)) {
    case 0: peer_client_close(client); break;
    case 1:
        peer_client_free(client);
        client = NULL;
        break;
    case 2: (void)connect_host(random_below(2) ? "127.0.0.1" : "a.host"); break;
    case 3:
        if (!peer_client_asked(client)) peer_client_leave_protocol(client);
        break;
    default: break;
    }
}

/* Whatever a server says, and an owner does. */
static void test_at_random(void **state) {
    static const char *const pieces[] = {"+OK\r\n", ":1\r\n",   "$3\r\nabc\r\n", "$3\r\n", "a",
                                         "*2\r\n",  ">1\r\n",   "-ERR x\r\n",    "\r\n",   "\xff",
                                         "$-1\r\n", "*200\r\n", "+OK\r\n+OK\r\n"};
    for (int round = 0; round < 300; round++) {
        bool hears = random_below(2);
        create(false, hears, random_below(3) ? 0 : 1);
        then = act_at_random;
        peer_client_set_patience(client, random_below(2) ? 0 : 20);
        (void)connect_host(random_below(3) ? "127.0.0.1" : "a.host");
        int fd = -1;
        for (int i = 0; i < 60 && client; i++) {
            struct socket_peer from;
            int more = socket_accept(listener, &from);
            if (more >= 0) {
                if (fd >= 0) close(fd);
                fd = more;
            }
            if (fd >= 0) {
                const char *said = pieces[random_below(sizeof(pieces) / sizeof(pieces[0]))];
                (void)send(fd, said, strlen(said), MSG_NOSIGNAL);
            }
            const struct peer_request request = {on_answer, 'a'};
            if (random_below(3) == 0 && client) /* refused where it is closed */
                (void)!peer_client_ask(client, &request, &SLICE("PING"), 1);
            loop_turn(loop, 0);
            if (random_below(30) == 0 && fd >= 0) {
                close(fd);
                fd = -1;
            }
            forget_told();
        }
        then = NULL;
        if (fd >= 0) close(fd);
        destroy();
        struct socket_peer from;
        while ((fd = socket_accept(listener, &from)) >= 0) close(fd);
    }
    for (int i = 0; i < 10; i++) loop_turn(loop, 0);
    assert_int_equal(loop_stats(loop)->events > 0, 1);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(test_answers_in_order),
        TEST(test_local_address),
        TEST(test_asked_while_connecting),
        TEST(test_nothing_is_answered_unasked),
        TEST(test_nothing_is_answered_behind_the_end),
        TEST(test_nothing_is_answered_unsent),
        TEST(test_queue_is_bounded),
        TEST(test_replies_are_taken),
        TEST(test_taken_replies_are_bounded),
        TEST(test_auth),
        TEST(test_endings),
        TEST(test_refused),
        TEST(test_source),
        TEST(test_owner_acts),
        TEST(test_names),
        TEST(test_names_that_nobody_waits_for),
        TEST(test_patience),
        TEST(test_patience_by_turns),
        TEST(test_again),
        TEST(test_leaves_protocol),
        TEST(test_ends_beside_the_protocol),
        TEST(test_input_is_bounded),
        TEST(test_told_in_outermost_turns_only),
        TEST(test_transport),
        TEST(test_at_random),
    };
    seed_from_environment();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
