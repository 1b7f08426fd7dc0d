/* SPDX-License-Identifier: BSD-3-Clause
 * A C program on libhiredis: calls that wait, pipelines, and the asynchronous half with a loop of
 * its own over poll. RESP2, which is all that the library of Debian 12 speaks.
 *
 * usage: hiredis HOST PORT     (tests/clients/run compiles it, starts a server and calls it)
 * Prints the failures and last `N passed, N failed`.
 */
#include <hiredis/async.h>
#include <hiredis/hiredis.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PIPELINE 10000
#define ASYNC_CALLS 5000
#define SILENCE_MSEC 60000

static int passed, failed;

static void check(const char *what, int good) {
    if (good) {
        passed++;
    } else {
        failed++;
        printf("FAIL  %s\n", what);
    }
}

static int is_status(const redisReply *reply, const char *text) {
    return reply && reply->type == REDIS_REPLY_STATUS && !strcmp(reply->str, text);
}

static int is_text(const redisReply *reply, const char *bytes, size_t length) {
    return reply && reply->type == REDIS_REPLY_STRING && (size_t)reply->len == length &&
           !memcmp(reply->str, bytes, length);
}

/* --- calls that wait -------------------------------------------------------------------------- */

static void test_values(redisContext *c) {
    static const char binary[] = "a\0b\r\n\xff";
    redisReply *reply = redisCommand(c, "SET %s %b", "binary", binary, sizeof(binary));
    check("SET of any bytes", is_status(reply, "OK"));
    freeReplyObject(reply);
    reply = redisCommand(c, "GET binary");
    check("GET of any bytes", is_text(reply, binary, sizeof(binary)));
    freeReplyObject(reply);
    reply = redisCommand(c, "GET nosuch");
    check("nil", reply && reply->type == REDIS_REPLY_NIL);
    freeReplyObject(reply);
    reply = redisCommand(c, "INCRBY number %d", -7);
    check("an integer", reply && reply->type == REDIS_REPLY_INTEGER && reply->integer == -7);
    freeReplyObject(reply);
    reply = redisCommand(c, "LPUSH binary x");
    check("an error", reply && reply->type == REDIS_REPLY_ERROR &&
                          !strncmp(reply->str, "WRONGTYPE ", 10) && !c->err);
    freeReplyObject(reply);
    reply = redisCommand(c, "EVAL %s 0", "return {1, {'two', {3}}, false}");
    check("arrays in arrays", reply && reply->type == REDIS_REPLY_ARRAY && reply->elements == 3 &&
                                  reply->element[1]->elements == 2 &&
                                  reply->element[1]->element[1]->element[0]->integer == 3 &&
                                  reply->element[2]->type == REDIS_REPLY_NIL);
    freeReplyObject(reply);
}

static void test_large_value(redisContext *c) {
    size_t length = 20 * 1024 * 1024;
    char *large = malloc(length);
    if (!large) exit(2);
    for (size_t i = 0; i < length; i++) large[i] = (char)(i * 31 % 251);
    redisReply *reply = redisCommand(c, "SET large %b", large, length);
    check("20 MiB in", is_status(reply, "OK"));
    freeReplyObject(reply);
    reply = redisCommand(c, "GET large");
    check("20 MiB out", is_text(reply, large, length));
    freeReplyObject(reply);
    free(large);
}

static void test_pipeline(redisContext *c) {
    int good = 1;
    for (int i = 0; i < PIPELINE; i++) redisAppendCommand(c, "INCR counter");
    for (int i = 0; i < PIPELINE; i++) {
        redisReply *reply = NULL;
        good &= redisGetReply(c, (void **)&reply) == REDIS_OK && reply && reply->integer == i + 1;
        freeReplyObject(reply);
    }
    check("a pipeline's replies, in order", good);
}

static void test_transaction(redisContext *c) {
    static const char *const words[] = {"MULTI", "SET in 1", "INCR in", "LPUSH in x", "EXEC"};
    redisReply *reply = NULL;
    for (size_t i = 0; i < 5; i++) {
        freeReplyObject(reply);
        reply = redisCommand(c, words[i]);
    }
    check("EXEC, with an error in it",
          reply && reply->type == REDIS_REPLY_ARRAY && reply->elements == 3 &&
              is_status(reply->element[0], "OK") && reply->element[1]->integer == 2 &&
              reply->element[2]->type == REDIS_REPLY_ERROR);
    freeReplyObject(reply);
}

static void test_publish(redisContext *c, const char *host, int port) {
    redisContext *listener = redisConnect(host, port);
    redisReply *reply = redisCommand(listener, "SUBSCRIBE news");
    check("SUBSCRIBE", reply && reply->elements == 3 && reply->element[2]->integer == 1);
    freeReplyObject(reply);
    freeReplyObject(redisCommand(c, "PUBLISH news %s", "hello"));
    reply = NULL;
    check("a message", redisGetReply(listener, (void **)&reply) == REDIS_OK && reply &&
                           reply->elements == 3 && is_text(reply->element[2], "hello", 5));
    freeReplyObject(reply);
    redisFree(listener);
}

static void test_closed(const char *host, int port) {
    redisContext *c = redisConnect(host, port);
    freeReplyObject(redisCommand(c, "QUIT"));
    redisReply *reply = redisCommand(c, "PING");
    /* The end is seen by the read or, where the server was faster, by the write already. */
    check("a connection that the server has closed",
          !reply && (c->err == REDIS_ERR_EOF || c->err == REDIS_ERR_IO));
    freeReplyObject(reply);
    redisFree(c);
}

/* --- the asynchronous half -------------------------------------------------------------------- */

struct interest {
    int reads, writes;
};

static void add_read(void *i) { ((struct interest *)i)->reads = 1; }
static void del_read(void *i) { ((struct interest *)i)->reads = 0; }
static void add_write(void *i) { ((struct interest *)i)->writes = 1; }
static void del_write(void *i) { ((struct interest *)i)->writes = 0; }

static int connected, disconnected, answered, in_order = 1, messages;

static void on_connect(const redisAsyncContext *c, int status) { connected = status == REDIS_OK; }
static void on_disconnect(const redisAsyncContext *c, int status) {
    disconnected = status == REDIS_OK ? 1 : -1;
}

static void on_reply(redisAsyncContext *c, void *reply, void *number) {
    const redisReply *r = reply;
    in_order &= r && r->type == REDIS_REPLY_INTEGER && (size_t)r->integer == (size_t)number;
    answered++;
}

static void on_message(redisAsyncContext *c, void *reply, void *number) {
    const redisReply *r = reply;
    if (!r || r->elements != 3) return;
    if (!strcmp(r->element[0]->str, "message")) messages++;
    if (messages == 3) redisAsyncCommand(c, NULL, NULL, "UNSUBSCRIBE");
    if (!strcmp(r->element[0]->str, "unsubscribe")) redisAsyncDisconnect(c);
}

/* Until the connection has ended. */
static void turn(redisAsyncContext *c, struct interest *interest) {
    disconnected = 0;
    while (!disconnected) {
        struct pollfd ready = {.fd = c->c.fd};
        ready.events = (short)((interest->reads ? POLLIN : 0) | (interest->writes ? POLLOUT : 0));
        if (poll(&ready, 1, SILENCE_MSEC) <= 0) break;
        if (ready.revents & (POLLIN | POLLHUP | POLLERR)) redisAsyncHandleRead(c);
        if (!disconnected && ready.revents & POLLOUT) redisAsyncHandleWrite(c);
    }
}

static redisAsyncContext *connect_async(const char *host, int port, struct interest *interest) {
    redisAsyncContext *c = redisAsyncConnect(host, port);
    if (!c || c->err) exit(2);
    c->ev.data = interest;
    c->ev.addRead = add_read;
    c->ev.delRead = del_read;
    c->ev.addWrite = add_write;
    c->ev.delWrite = del_write;
    redisAsyncSetConnectCallback(c, on_connect);
    redisAsyncSetDisconnectCallback(c, on_disconnect);
    return c;
}

static void test_async_calls(const char *host, int port) {
    struct interest interest = {0, 0};
    redisAsyncContext *c = connect_async(host, port, &interest);
    for (size_t i = 1; i <= ASYNC_CALLS; i++) {
        redisAsyncCommand(c, on_reply, (void *)i, "INCR async");
    }
    redisAsyncDisconnect(c); /* when all is answered */
    turn(c, &interest);
    check("asynchronous: connected", connected);
    check("asynchronous: each answer", answered == ASYNC_CALLS);
    check("asynchronous: in order", in_order);
    check("asynchronous: a clean end", disconnected == 1);
}

static void test_async_messages(redisContext *publisher, const char *host, int port) {
    struct interest interest = {0, 0};
    redisAsyncContext *c = connect_async(host, port, &interest);
    redisAsyncCommand(c, on_message, NULL, "SUBSCRIBE tidings");
    /* It is subscribed once the server counts a listener; this connection must turn for that. */
    int listeners = 0;
    for (int tries = 0; tries < SILENCE_MSEC / 10 && !listeners; tries++) {
        struct pollfd ready = {.fd = c->c.fd, .events = POLLIN | (interest.writes ? POLLOUT : 0)};
        poll(&ready, 1, 10);
        if (ready.revents & POLLIN) redisAsyncHandleRead(c);
        if (ready.revents & POLLOUT) redisAsyncHandleWrite(c);
        redisReply *reply = redisCommand(publisher, "PUBSUB NUMSUB tidings");
        listeners = reply && reply->elements == 2 && reply->element[1]->integer == 1;
        freeReplyObject(reply);
    }
    for (int i = 0; i < 3; i++) freeReplyObject(redisCommand(publisher, "PUBLISH tidings %d", i));
    turn(c, &interest);
    check("asynchronous: messages, and an end to them", messages == 3 && disconnected == 1);
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    const char *host = argv[1];
    int port = (int)strtol(argv[2], NULL, 10);
    redisContext *c = redisConnect(host, port);
    if (!c || c->err) {
        printf("0 passed, 1 failed\n");
        return 1;
    }
    freeReplyObject(redisCommand(c, "FLUSHALL"));
    test_values(c);
    test_large_value(c);
    test_pipeline(c);
    test_transaction(c);
    test_publish(c, host, port);
    test_closed(host, port);
    test_async_calls(host, port);
    test_async_messages(c, host, port);
    freeReplyObject(redisCommand(c, "FLUSHALL"));
    redisFree(c);
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
