/* SPDX-License-Identifier: BSD-3-Clause
 * Transactions against a simple model: several clients send random MULTI, EXEC, WATCH ... and
 * commands that change keys, by pipelines through sockets, batch and dispatch; every byte that they
 * are answered must be the model's. SEED=n runs the same random choices again.
 */
#include "exec/transaction.h"

#include "exec/client_flags.h"
#include "net/client_memory.h"
#include "server/whole.h"
#include "store/expire.h"
#include "store/keyspace.h"
#include "store/lazyfree.h"

#define CLIENTS 5
#define KEYS 6
#define DATABASES 3
#define QUEUE_MAX 40
#define LARGE_BYTES 40000

enum word {
    SET,
    SET_PX,
    GET,
    DEL,
    STRLEN,
    SELECT,
    SWAPDB,
    FLUSHDB,
    UNWATCH,
    QUEUED_WORDS, /* those above are queued */
    NOSUCH = QUEUED_WORDS,
    MULTI,
    EXEC,
    DISCARD,
    WATCH,
    RESET,
    WORDS
};

/* A command, or a key's value: `letter`, `length` times. */
struct command_of {
    enum word word;
    int key, database, other;
    int64_t msec;
    char letter;
    size_t length;
};

struct model_value {
    bool exists;
    int64_t deadline_msec; /* 0 = none */
    char letter;
    size_t length;
};

struct model_client {
    struct peer peer;
    int database;
    bool queuing, refused, failed;
    bool watches[DATABASES][KEYS];
    struct command_of queue[QUEUE_MAX];
    int queued;
};

static struct model_value values[DATABASES][KEYS];
static struct model_client clients[CLIENTS];
static struct buffer input = {.class = MEMORY_OTHER}, wanted = {.class = MEMORY_OTHER};

/* ---- the model ---- */

static void model_touch(int database, int key) {
    for (int i = 0; i < CLIENTS; i++)
        if (clients[i].watches[database][key]) clients[i].failed = true;
}

static bool model_is_due(const struct model_value *v) {
    return v->exists && v->deadline_msec && v->deadline_msec <= clock_cached_msec();
}

static struct model_value *model_find(int database, int key) {
    struct model_value *v = &values[database][key];
    if (!model_is_due(v)) return v;
    v->exists = false;
    model_touch(database, key);
    return v;
}

static void model_unwatch(struct model_client *c) {
    memset(c->watches, 0, sizeof(c->watches));
    c->failed = false;
}

static void model_end(struct model_client *c) {
    c->queuing = c->refused = false;
    c->queued = 0;
    model_unwatch(c);
}

static void model_set(const struct command_of *what, int database) {
    struct model_value *v = model_find(database, what->key);
    *v = (struct model_value){
        .exists = true,
        .deadline_msec = what->word == SET_PX ? clock_cached_msec() + what->msec : 0,
        .letter = what->letter,
        .length = what->length,
    };
    model_touch(database, what->key);
}

static void model_swap(int a, int b) {
    for (int key = 0; key < KEYS && a != b; key++) {
        if (values[a][key].exists || values[b][key].exists) {
            model_touch(a, key);
            model_touch(b, key);
        }
        struct model_value kept = values[a][key];
        values[a][key] = values[b][key];
        values[b][key] = kept;
    }
}

static void model_flush(int database) {
    for (int key = 0; key < KEYS; key++) {
        if (values[database][key].exists) model_touch(database, key);
        values[database][key].exists = false;
    }
}

static void want_value(const struct model_value *v) {
    if (!v->exists) {
        buffer_append_c_string(&wanted, "$-1\r\n");
        return;
    }
    buffer_printf(&wanted, "$%zu\r\n", v->length);
    for (size_t i = 0; i < v->length; i++) buffer_append_char(&wanted, v->letter);
    buffer_append_c_string(&wanted, "\r\n");
}

static void model_run(struct model_client *c, const struct command_of *what) {
    struct model_value *v;
    switch (what->word) {
    case GET: want_value(model_find(c->database, what->key)); return;
    case STRLEN:
        v = model_find(c->database, what->key);
        buffer_printf(&wanted, ":%zu\r\n", v->exists ? v->length : 0);
        return;
    case DEL:
        v = model_find(c->database, what->key);
        buffer_printf(&wanted, ":%d\r\n", v->exists);
        if (v->exists) model_touch(c->database, what->key);
        v->exists = false;
        return;
    case SET:
    case SET_PX: model_set(what, c->database); break;
    case SELECT: c->database = what->database; break;
    case SWAPDB: model_swap(what->database, what->other); break;
    case FLUSHDB: model_flush(c->database); break;
    case UNWATCH: model_unwatch(c); break;
    default: fail();
    }
    buffer_append_c_string(&wanted, "+OK\r\n");
}

static bool model_watch_failed(const struct model_client *c) {
    for (int i = 0; i < DATABASES; i++)
        for (int key = 0; key < KEYS; key++)
            if (c->watches[i][key] && model_is_due(&values[i][key])) return true;
    return c->failed;
}

static void model_exec(struct model_client *c) {
    if (!c->queuing) {
        buffer_append_c_string(&wanted, "-ERR EXEC without MULTI\r\n");
        return;
    }
    int count = c->queued;
    bool refused = c->refused, failed = model_watch_failed(c);
    model_end(c);
    if (refused) {
        buffer_append_c_string(&wanted,
                               "-EXECABORT Transaction discarded because of previous errors.\r\n");
    } else if (failed) {
        buffer_append_c_string(&wanted, "*-1\r\n");
    } else {
        buffer_printf(&wanted, "*%d\r\n", count);
        for (int i = 0; i < count; i++) model_run(c, &c->queue[i]);
    }
}

/* What runs at once, also in a transaction. */
static void model_control(struct model_client *c, const struct command_of *what) {
    bool queuing = c->queuing;
    switch (what->word) {
    case EXEC: model_exec(c); return;
    case MULTI:
        c->queuing = true;
        buffer_append_c_string(&wanted,
                               queuing ? "-ERR MULTI calls can not be nested\r\n" : "+OK\r\n");
        return;
    case DISCARD:
        if (queuing) model_end(c);
        buffer_append_c_string(&wanted, queuing ? "+OK\r\n" : "-ERR DISCARD without MULTI\r\n");
        return;
    case WATCH:
        if (!queuing) c->watches[c->database][what->key] = true;
        buffer_append_c_string(&wanted,
                               queuing ? "-ERR WATCH inside MULTI is not allowed\r\n" : "+OK\r\n");
        return;
    case RESET:
        model_end(c);
        c->database = 0;
        buffer_append_c_string(&wanted, "+RESET\r\n");
        return;
    default:
        if (queuing) c->refused = true;
        buffer_append_c_string(&wanted,
                               "-ERR unknown command `nosuch`, with args beginning with: \r\n");
    }
}

/* ---- what is sent ---- */

static void send_words(const char *const *words, size_t count) {
    buffer_printf(&input, "*%zu\r\n", count);
    for (size_t i = 0; i < count; i++)
        buffer_printf(&input, "$%zu\r\n%s\r\n", strlen(words[i]), words[i]);
}

static void send_command(const struct command_of *what) {
    static const char *const names[WORDS] = {"set",    "set",    "get",     "del",     "strlen",
                                             "select", "swapdb", "flushdb", "unwatch", "nosuch",
                                             "multi",  "exec",   "discard", "watch",   "reset"};
    char key[16], database[16], other[16], msec[16], value[LARGE_BYTES + 1];
    snprintf(key, sizeof(key), "key:%d", what->key);
    snprintf(database, sizeof(database), "%d", what->database);
    snprintf(other, sizeof(other), "%d", what->other);
    snprintf(msec, sizeof(msec), "%lld", (long long)what->msec);
    memset(value, what->letter, what->length);
    value[what->length] = 0;
    const char *words[5] = {names[what->word], key, value, "px", msec};
    size_t count = 1;
    switch (what->word) {
    case SET: count = 3; break;
    case SET_PX: count = 5; break;
    case GET:
    case DEL:
    case STRLEN:
    case WATCH: count = 2; break;
    case SELECT:
    case SWAPDB:
        words[1] = database;
        words[2] = other;
        count = what->word == SELECT ? 2 : 3;
        break;
    default: break;
    }
    send_words(words, count);
}

static struct command_of random_command(const struct model_client *c) {
    enum word word = (enum word)random_below(WORDS);
    /* Mostly what makes transactions of some length that may succeed. */
    if (random_below(3)) word = (enum word)random_below(STRLEN + 1);
    if (!c->queuing && random_below(4) == 0) word = random_below(2) ? MULTI : WATCH;
    if (c->queuing && random_below(8) == 0) word = EXEC;
    if (word == FLUSHDB && random_below(3)) word = GET;
    if (word == NOSUCH && random_below(3)) word = SET;
    if (c->queuing && c->queued == QUEUE_MAX) word = random_below(2) ? EXEC : DISCARD;
    return (struct command_of){
        .word = word,
        .key = (int)random_below(KEYS),
        .database = (int)random_below(DATABASES),
        .other = (int)random_below(DATABASES),
        .msec = 1 + (int64_t)random_below(20),
        .letter = (char)('a' + random_below(26)),
        .length = random_below(20) ? random_below(60) : LARGE_BYTES - random_below(20000),
    };
}

static void one_command(struct model_client *c) {
    struct command_of what = random_command(c);
    send_command(&what);
    if (what.word >= QUEUED_WORDS) {
        model_control(c, &what);
    } else if (c->queuing) {
        if (!c->refused) c->queue[c->queued++] = what;
        buffer_append_c_string(&wanted, "+QUEUED\r\n");
    } else {
        model_run(c, &what);
    }
}

static void one_pipeline(struct model_client *c) {
    buffer_clear(&input);
    buffer_clear(&wanted);
    for (uint64_t left = 1 + random_below(12); left; left--) one_command(c);
    peer_send(&c->peer, buffer_slice(&input));
    peer_assert_got(&c->peer, buffer_slice(&wanted));
    transaction_check();
    client_memory_check();
}

static void reconnect(struct model_client *c) {
    peer_close(&c->peer);
    model_end(c);
    c->database = 0;
    c->peer = peer_connect();
}

static void connect_all(void) {
    memset(values, 0, sizeof(values));
    memset(clients, 0, sizeof(clients));
    for (int i = 0; i < CLIENTS; i++) clients[i].peer = peer_connect();
}

static void close_all(void) {
    for (int i = 0; i < CLIENTS; i++) peer_close(&clients[i].peer);
    transaction_check();
}

static void test_model(void **state) {
    connect_all();
    for (int round = 0; round < 6000; round++) {
        struct model_client *c = &clients[random_below(CLIENTS)];
        if (random_below(100) == 0) reconnect(c);
        if (random_below(4) == 0) {
            clock_advance_usec((int64_t)random_below(15000));
            clock_refresh();
        }
        one_pipeline(c);
    }
    close_all();
}

/* ---- single cases ---- */

static void say(struct peer *p, const char *const *words, size_t count, const char *reply) {
    buffer_clear(&input);
    send_words(words, count);
    peer_send(p, buffer_slice(&input));
    peer_assert_got(p, slice_of(reply));
}

#define SAY(peer, reply, ...)                       \
    say((peer), (const char *const[]){__VA_ARGS__}, \
        sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *), (reply))

/* Of a large argument no second copy is made: neither in the queue nor by SET. */
static void test_large_argument_is_taken_over(void **state) {
    struct peer p = peer_connect();
    size_t length = 3000000;
    char *value = memory_alloc(length + 1, MEMORY_OTHER);
    memset(value, 'x', length);
    value[length] = 0;
    SAY(&p, "+OK\r\n", "multi");
    size_t dataset = memory_used(MEMORY_DATASET);
    SAY(&p, "+QUEUED\r\n", "set", "k", value);
    assert_in_range(transaction_bytes(p.client), length, length + length / 4);
    assert_int_equal(client_memory_of(p.client) > length, true);
    size_t all = memory_used_total();
    SAY(&p, "*1\r\n+OK\r\n", "exec");
    assert_int_equal(transaction_bytes(p.client), 0);
    assert_in_range(memory_used(MEMORY_DATASET) - dataset, length, length + length / 4);
    assert_in_range(memory_used_total(), all - 4096, all + 4096);
    memory_free(value, MEMORY_OTHER);
    SAY(&p, ":1\r\n", "del", "k");
    peer_close(&p);
}

/* The replies pass the limit while EXEC runs: the client closes, all of its commands run, and what
 * they took is free at the end. */
static void test_closed_while_it_runs(void **state) {
    struct peer p = peer_connect(), other = peer_connect();
    char *value = memory_alloc(1000001, MEMORY_OTHER);
    memset(value, 'x', 1000000);
    value[1000000] = 0;
    SAY(&p, "+OK\r\n", "set", "k", value);
    SAY(&p, "+OK\r\n", "watch", "w");
    SAY(&p, "+OK\r\n", "multi");
    for (int i = 0; i < 5; i++) SAY(&p, "+QUEUED\r\n", "get", "k");
    SAY(&p, "+QUEUED\r\n", "set", "last", value);
    SAY(&p, "+QUEUED\r\n", "unwatch");
    option_set_text("client-output-buffer-limit", "normal 1mb 0 0");
    buffer_clear(&input);
    send_words((const char *const[]){"exec"}, 1);
    assert_int_equal(peer_try_send(&p, input.bytes, input.length), input.length);
    peers_turns();
    assert_false(peer_is_served(&p));
    option_set_text("client-output-buffer-limit", "normal 0 0 0");
    transaction_check();
    client_memory_check();
    SAY(&other, ":1000000\r\n", "strlen", "last");
    memory_free(value, MEMORY_OTHER);
    peer_close(&p);
    peer_close(&other);
}

static size_t freed_blocks;
static void on_free(size_t bytes) {
    freed_blocks++;
    clock_advance_usec(1);
}
static const struct memory_hook counting = {.freed = on_free};

static struct peer peer_that_queues(int commands) {
    struct peer p = peer_connect();
    char *value = memory_zalloc(LARGE_BYTES + 1, MEMORY_OTHER);
    memset(value, 'x', LARGE_BYTES);
    SAY(&p, "+OK\r\n", "watch", "w");
    SAY(&p, "+OK\r\n", "multi");
    for (int i = 1; i < commands; i++) SAY(&p, "+QUEUED\r\n", "set", "k", "value");
    SAY(&p, "+QUEUED\r\n", "set", "k", value);
    memory_free(value, MEMORY_OTHER);
    return p;
}

/* What the slices free after it, each no more than it may: all of these bytes, and no others. */
static void free_what_leaves(size_t bytes, size_t blocks_wanted) {
    size_t slices = 0, blocks = 0, left = memory_used(MEMORY_LEAVING);
    assert_int_equal(left, bytes);
    memory_set_hook(&counting);
    for (bool more = true; more; slices++) {
        freed_blocks = 0;
        more = lazyfree_step();
        blocks += freed_blocks;
        assert_in_range(freed_blocks, 1, LAZYFREE_SLICE_USEC + 2 * LAZYFREE_BLOCKS_AT_ONCE);
        assert_true(memory_used(MEMORY_LEAVING) < left);
        left = memory_used(MEMORY_LEAVING);
        transaction_check();
        client_memory_check();
    }
    memory_set_hook(NULL);
    assert_int_equal(left, 0);
    assert_int_equal(blocks, blocks_wanted);
    assert_true(slices > 2);
}

/* A long queue that is given up goes in slices: it is nobody's at once, and counts as free. A short
 * one goes with the command. */
static void test_given_up_in_slices(void **state) {
    enum { COMMANDS = 5000 };
    for (int closes = 0; closes < 2; closes++) {
        struct peer p = peer_that_queues(COMMANDS);
        size_t bytes = transaction_bytes(p.client), all = memory_used_total();
        assert_true(bytes > COMMANDS * 32 + LARGE_BYTES);
        freed_blocks = 0;
        memory_set_hook(&counting);
        if (closes) {
            client_close_later(p.client);
            client_free_closing();
        } else {
            transaction_end(p.client);
            assert_int_equal(transaction_bytes(p.client), 0);
        }
        memory_set_hook(NULL);
        assert_true(freed_blocks < 50);
        assert_true(memory_used_total() <= all - bytes);
        transaction_check();
        client_memory_check();
        size_t leaving = memory_used(MEMORY_LEAVING);
        assert_in_range(leaving, bytes - 1000, bytes); /* less what it watched */
        free_what_leaves(leaving, COMMANDS + 1);       /* the large argument's block */
        peer_close(&p);
    }
    struct peer two[] = {peer_that_queues(COMMANDS), peer_that_queues(COMMANDS / 2)};
    for (int i = 0; i < 2; i++) transaction_end(two[i].client);
    transaction_check();
    free_what_leaves(memory_used(MEMORY_LEAVING), COMMANDS + COMMANDS / 2 + 2);
    for (int i = 0; i < 2; i++) peer_close(&two[i]);
    struct peer p = peer_that_queues(100);
    transaction_end(p.client);
    assert_int_equal(memory_used(MEMORY_LEAVING), 0);
    assert_false(lazyfree_step());
    peer_close(&p);
}

/* Keys are looked up among as many watches as are fewer, and dropped with the last client. */
static void test_many_watches(void **state) {
    struct peer peers[20];
    char name[20];
    for (int i = 0; i < 20; i++) peers[i] = peer_connect();
    for (int i = 0; i < 20; i++) {
        for (int key = 0; key < 200; key += 1 + i) {
            snprintf(name, sizeof(name), "k%d", key);
            SAY(&peers[i], "+OK\r\n", "watch", name, name);
        }
        transaction_check();
    }
    SAY(&peers[0], "+OK\r\n", "set", "k57", "1"); /* 57 = 3 * 19: of those that step 1, 3, 19 */
    for (int i = 0; i < 20; i++)
        assert_int_equal((client_flags(peers[i].client, &transaction_client_state) &
                          TRANSACTION_WATCH_FAILED) != 0,
                         57 % (1 + i) == 0);
    transaction_check();
    for (int i = 0; i < 20; i++) peer_close(&peers[i]);
    transaction_check();
}

/* ---- setting up ---- */

static int open_all(void **state) {
    expire_set_active(false); /* the model's keys go when they are met */
    return whole_open();
}

static int end(void **state) {
    buffer_free(&input);
    buffer_free(&wanted);
    return whole_nothing_left(state);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, whole_begin, end)
    const struct CMUnitTest tests[] = {
        TEST(test_model),
        TEST(test_large_argument_is_taken_over),
        TEST(test_closed_while_it_runs),
        TEST(test_given_up_in_slices),
        TEST(test_many_watches),
    };
#undef TEST
    return cmocka_run_group_tests(tests, open_all, NULL);
}
