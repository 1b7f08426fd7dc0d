/* SPDX-License-Identifier: BSD-3-Clause
 * MIGRATE to a target that a thread plays: one that says nonsense, too little or too much, ends the
 * connection at any place; and which connections are kept. What two servers do with each other is
 * tests/integration/migrate.tcl.
 */
#include "replication/migrate.h"

#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "command/call_make.h"
#include "command/command.h"
#include "exec/edit.h"
#include "exec/run.h"
#include "io/loop.h"
#include "io/names.h"
#include "io/socket.h"
#include "net/capture.h"
#include "net/client.h"
#include "option/option.h"
#include "server/mode.h"
#include "server/modes.h"
#include "store/keyspace.h"

#define WORDS_MAX 32
#define LINE_BYTES 256
/* How long either side waits for what must come. */
#define PATIENCE_MSEC 60000
#define CONNECTIONS_MAX 4
#define HEARD_BYTES 65536

/* What the target does in one connection: it waits for a request, says the first answer, waits for
 * one more, says the second ... and then ends it or lets it stand. Requests are counted by their
 * names. */
struct play {
    const char *answers[8];
    bool stays;
};

struct target {
    const struct play *plays;
    int plays_count, listener, port;
    pthread_t thread;
    struct buffer heard; /* all that came, of all connections */
    int fds[CONNECTIONS_MAX];
};

static struct loop *loop;
static struct capture capture;

static bool wait_for(int fd) {
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    return poll(&ready, 1, PATIENCE_MSEC) == 1;
}

static int count_in(const struct buffer *b, const char *word) {
    int count = 0;
    size_t length = strlen(word);
    for (size_t i = 0; i + length <= b->length; i++)
        count += memcmp(b->bytes + i, word, length) == 0;
    return count;
}

static int requests_in(const struct buffer *b) {
    return count_in(b, "\r\nRESTORE\r\n") + count_in(b, "\r\nSELECT\r\n") +
           count_in(b, "\r\nAUTH\r\n");
}

/* False where the other side ended. */
static bool hear(struct target *t, int fd, int requests) {
    while (requests_in(&t->heard) < requests) {
        char bytes[4096];
        if (!wait_for(fd)) return false;
        ssize_t got = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
        if (got <= 0) return false;
        buffer_append(&t->heard, bytes, (size_t)got);
    }
    return true;
}

static void *perform(void *argument) {
    struct target *t = argument;
    int requests = 0;
    for (int i = 0; i < t->plays_count; i++) {
        struct socket_peer from;
        if (!wait_for(t->listener)) return NULL;
        int fd = socket_accept(t->listener, &from);
        const struct play *p = &t->plays[i];
        for (int j = 0; p->answers[j] && hear(t, fd, ++requests); j++)
            if (send(fd, p->answers[j], strlen(p->answers[j]), MSG_NOSIGNAL) < 0) break;
        if (p->stays)
            t->fds[i] = fd;
        else
            close(fd);
    }
    return NULL;
}

static void target_open(struct target *t, const struct play *plays, int count) {
    char reason[128];
    struct socket_peer local;
    *t = (struct target){.plays = plays, .plays_count = count};
    buffer_init(&t->heard, MEMORY_OTHER);
    buffer_reserve(&t->heard, HEARD_BYTES); /* memory is counted by thread */
    t->listener = socket_listen_tcp("127.0.0.1", 0, 8, reason, sizeof(reason));
    assert_true(t->listener >= 0 && socket_local_of(t->listener, &local));
    t->port = local.port;
    assert_int_equal(pthread_create(&t->thread, NULL, perform, t), 0);
}

static void target_join(struct target *t) { assert_int_equal(pthread_join(t->thread, NULL), 0); }

static void target_close(struct target *t) {
    for (int i = 0; i < CONNECTIONS_MAX; i++)
        if (t->fds[i]) close(t->fds[i]);
    close(t->listener);
    buffer_free(&t->heard);
}

/* Runs a line of words; the reply stands in capture.replies. */
static void run(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void run(const char *format, ...) {
    char line[LINE_BYTES];
    struct slice argv[WORDS_MAX];
    int argc = 0;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    for (const char *at = line; *at && argc < WORDS_MAX; at += strspn(at, " ")) {
        size_t length = strcspn(at, " ");
        argv[argc++] = (struct slice){at, length == 2 && *at == '\'' ? 0 : length};
        at += length;
    }
    struct call call;
    call_make(&call, CALL_LOG, capture.client,
              (struct call_parts){.command = command_find(argv[0]), .argc = argc, .argv = argv});
    buffer_clear(&capture.replies);
    assert_int_equal(call_run(&call), GATE_OPEN);
}

static void assert_replied(const char *reply) {
    buffer_append_char(&capture.replies, '\0');
    assert_string_equal(capture.replies.bytes, reply);
}

static int kept(void) {
    run("info stats");
    buffer_append_char(&capture.replies, '\0');
    const char *field = strstr(capture.replies.bytes, "migrate_cached_sockets:");
    assert_non_null(field);
    return (int)strtol(field + strlen("migrate_cached_sockets:"), NULL, 10);
}

#define OK "+OK\r\n"
#define READING "-IOERR error or timeout reading to target instance\r\n"
#define CONNECTING "-IOERR error or timeout connecting to the client\r\n"
#define WRITING "-IOERR error or timeout writing to target instance\r\n"
#define REFUSED "-ERR Target instance replied with error: "
#define NONSENSE REFUSED "a reply that means nothing here\r\n"
#define NOT_COUNTED (-1)

/* What a target does, and what comes of it: the reply, which of a, b and c are left, whether the
 * connection is kept, how many RESTOREs came. */
struct course {
    const char *options;
    struct play play;
    const char *reply, *left;
    int kept, restores;
};

static const struct course courses[] = {
    {"", {{OK, OK, OK, OK}, true}, OK, "", 1, 3},
    {"", {{OK, OK, OK, OK}, false}, OK, "", 1, 3},
    {"auth2 u x", {{OK, OK, OK, OK, OK}, true}, OK, "", 1, 3},
    {"copy", {{OK, OK, OK, OK}, true}, OK, "abc", 1, 3},
    /* Pieces of replies, and replies ahead of their requests. */
    {"", {{OK, "+", "O", "K\r\n" OK OK}, true}, OK, "", 1, 3},
    {"", {{OK OK OK OK}, true}, OK, "", 1, NOT_COUNTED},
    /* The end: nothing was taken, and some were. */
    {"", {{""}, false}, READING, "abc", 0, 0},
    {"", {{OK, "", "", ""}, false}, READING, "abc", 0, 3},
    {"", {{OK, "", "", "+O"}, false}, READING, "abc", 0, 3},
    {"", {{OK, "", "", OK}, false}, READING, "bc", 0, 3},
    {"", {{OK, "", "", OK "-ERR no\r\n"}, false}, REFUSED "ERR no\r\n", "bc", 0, 3},
    /* Some are refused. */
    {"", {{OK, "-ERR no\r\n", OK, "-ERR then\r\n"}, true}, REFUSED "ERR no\r\n", "ac", 1, 3},
    {"", {{OK, "-a\tb\r\n", OK, OK}, true}, REFUSED "a\tb\r\n", "a", 1, 3},
    /* What is no OK is none. */
    {"", {{OK, OK, ":1\r\n", "+QUEUED\r\n"}, true}, NONSENSE, "bc", 1, 3},
    {"", {{OK, OK, "*1\r\n+OK\r\n", "$2\r\nOK\r\n"}, true}, NONSENSE, "bc", 1, 3},
    {"", {{OK, "+OK and more\r\n", OK, "$-1\r\n"}, true}, NONSENSE, "ac", 1, 3},
    {"", {{"HTTP/1.1 400 Bad Request\r\n\r\n"}, true}, READING, "abc", 0, 0},
    {"", {{OK, OK, "OK\r\n", ""}, true}, READING, "bc", 0, 3},
    /* Nothing is sent before AUTH and SELECT are answered well. */
    {"", {{"-ERR DB index\r\n"}, true}, REFUSED "ERR DB index\r\n", "abc", 1, 0},
    {"auth x", {{"", "-WRONGPASS no\r\n" OK}, true}, REFUSED "WRONGPASS no\r\n", "abc", 1, 0},
    {"auth x", {{"", OK "-ERR no\r\n"}, true}, REFUSED "ERR no\r\n", "abc", 1, 0},
    {"auth x", {{"", ":1\r\n" OK}, true}, NONSENSE, "abc", 1, 0},
};

static void close_kept(void) {
    clock_advance_usec((MIGRATE_KEPT_MSEC + 1) * 1000);
    migrate_cron();
    assert_int_equal(kept(), 0);
}

static void assert_left(const char *left) {
    for (const char *name = "abc"; *name; name++) {
        run("exists %c", *name);
        assert_replied(strchr(left, *name) ? ":1\r\n" : ":0\r\n");
    }
}

static void test_courses(void **state) {
    size_t used = 0;
    for (size_t i = 0; i < sizeof(courses) / sizeof(courses[0]); i++) {
        const struct course *course = &courses[i];
        struct target t;
        run("mset a 1 b 2 c 3");
        target_open(&t, &course->play, 1);
        run("migrate 127.0.0.1 %d '' 0 %d %s keys a b c", t.port, PATIENCE_MSEC, course->options);
        target_join(&t);
        print_message("# course %zu\n", i);
        assert_replied(course->reply);
        assert_left(course->left);
        run("flushall");
        assert_int_equal(kept(), course->kept);
        if (course->restores != NOT_COUNTED)
            assert_int_equal(count_in(&t.heard, "RESTORE"), course->restores);
        close_kept();
        target_close(&t);
        buffer_free(&capture.replies);
        /* The first one makes what commands keep of themselves. */
        if (i > 0) assert_int_equal(memory_used(MEMORY_OTHER), used);
        used = memory_used(MEMORY_OTHER);
    }
}

static const struct play well = {{OK, OK}, true}, ends_late = {{OK, OK}, false};

static void migrate_one(const struct target *t, const char *reply) {
    run("set a 1");
    run("migrate 127.0.0.1 %d a 0 %d", t->port, PATIENCE_MSEC);
    assert_replied(reply);
}

/* One that was closed meanwhile, one that ends as it is used, one that says what nobody asked for:
 * each time another is opened. */
static void test_kept_connections_fail(void **state) {
    static const struct play ends_in_use = {{OK, OK, ""}, false}, says_more = {{OK, OK OK}, true},
                             says_nonsense = {{OK, OK "OK\r\n"}, true};
    const struct play *first[] = {&ends_late, &ends_in_use, &says_more, &says_nonsense};
    for (size_t i = 0; i < sizeof(first) / sizeof(first[0]); i++) {
        struct play plays[] = {*first[i], well};
        struct target t;
        target_open(&t, plays, 2);
        migrate_one(&t, OK);
        assert_int_equal(kept(), 1);
        migrate_one(&t, OK);
        assert_int_equal(kept(), 1);
        target_join(&t);
        close_kept();
        target_close(&t);
    }
}

/* A new one that fails is not tried again. */
static void test_new_connections_are_not_tried_again(void **state) {
    const struct play plays[] = {{{""}, false}};
    struct target t;
    target_open(&t, plays, 1);
    migrate_one(&t, READING);
    target_join(&t);
    target_close(&t);
    assert_left("a");
}

static bool set_option(const char *name, const char *value) {
    struct slice word = slice_of(value);
    char reason[OPTION_REASON_BYTES];
    return option_set(option_find(slice_of(name)), &word, 1, OPTION_FROM_FILE, reason,
                      sizeof(reason));
}

/* The target says OK to a key that is still being sent, and ends the connection. It cannot have the
 * key, so that is no answer, and the key stays. */
static void test_the_target_ends_between_two_keys(void **state) {
    static const struct play ahead[] = {{{OK OK}, false}};
    struct target t;
    assert_true(set_option("rdbcompression", "no"));
    run("setrange a 33554432 x");
    run("mset b 2 c 3");
    target_open(&t, ahead, 1);
    run("migrate 127.0.0.1 %d '' 0 %d keys a b c", t.port, PATIENCE_MSEC);
    assert_true(set_option("rdbcompression", "yes"));
    target_join(&t);
    assert_replied(WRITING);
    assert_left("abc");
    run("flushall");
    assert_int_equal(kept(), 0);
    target_close(&t);
}

static void test_silence(void **state) {
    static const struct play silent = {{OK, ""}, true};
    struct target t;
    target_open(&t, &silent, 1);
    run("set a 1");
    run("migrate 127.0.0.1 %d a 0 100", t.port);
    assert_replied(READING);
    assert_left("a");
    assert_int_equal(kept(), 0);
    target_join(&t);
    target_close(&t);
}

/* A name is waited for no longer than its caller says. */
static void test_names(void **state) {
    struct target t;
    target_open(&t, &well, 1);
    run("set a 1");
    run("migrate some.slow %d a 0 50", t.port);
    assert_replied(CONNECTING);
    run("migrate some.unknown %d a 0 %d", t.port, PATIENCE_MSEC);
    assert_replied(CONNECTING);
    assert_left("a");
    assert_int_equal(kept(), 0);
    names_release(1);
    run("migrate some.host %d a 0 %d", t.port, PATIENCE_MSEC);
    assert_replied(OK);
    target_join(&t);
    assert_left("");
    close_kept();
    target_close(&t);
}

/* The connection that was not used for the longest gives way. */
static void test_kept_at_most(void **state) {
    struct target targets[MIGRATE_KEPT_MAX + 1];
    for (int i = 0; i <= MIGRATE_KEPT_MAX; i++) {
        clock_advance_usec(1000);
        target_open(&targets[i], &well, 1);
        migrate_one(&targets[i], OK);
        target_join(&targets[i]);
        assert_int_equal(kept(), i < MIGRATE_KEPT_MAX ? i + 1 : MIGRATE_KEPT_MAX);
    }
    char byte;
    for (int i = 0; i <= MIGRATE_KEPT_MAX; i++) {
        ssize_t got = recv(targets[i].fds[0], &byte, 1, MSG_DONTWAIT);
        assert_int_equal(got, i == 0 ? 0 : -1);
    }
    close_kept();
    for (int i = 0; i <= MIGRATE_KEPT_MAX; i++) target_close(&targets[i]);
}

/* A key may come to its end between being found and being sent. */
static void test_a_key_expires_on_its_way(void **state) {
    struct target t;
    static const struct play one = {{OK, OK}, true};
    target_open(&t, &one, 1);
    run("mset a 1 b 2");
    run("pexpire a 5000");
    clock_refresh();
    clock_hold();
    clock_advance_usec(5001000);
    run("migrate 127.0.0.1 %d '' 0 %d keys a b", t.port, PATIENCE_MSEC);
    clock_let_go();
    assert_replied(OK);
    target_join(&t);
    assert_int_equal(count_in(&t.heard, "RESTORE"), 1);
    close_kept();
    target_close(&t);
}

/* The server must listen somewhere: in the test's own folder. */
static int setup(void **state) {
    names_open();
    mode_register(&mode_server);
    if (!set_option("port", "0") || !set_option("unixsocket", "migrate.sock")) return -1;
    loop = loop_create();
    clock_refresh();
    if (!mode_open(&mode_server, loop)) return -1;
    clock_use_fixed(INT64_C(1750000000000000), 1000000000);
    clock_refresh();
    capture_open(&capture);
    return 0;
}

/* No key is left to the sanitizers, who find no value by an entry's bytes. */
static int teardown(void **state) {
    edit_flush(keyspace_at(0), LAZYFREE_NOW);
    capture_close(&capture);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_courses),
        cmocka_unit_test(test_kept_connections_fail),
        cmocka_unit_test(test_new_connections_are_not_tried_again),
        cmocka_unit_test(test_the_target_ends_between_two_keys),
        cmocka_unit_test(test_silence),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_kept_at_most),
        cmocka_unit_test(test_a_key_expires_on_its_way),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
