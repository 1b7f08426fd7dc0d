/* SPDX-License-Identifier: BSD-3-Clause
 * Tracking against a simple model: several clients of both protocols, in all modes, send random
 * reads, writes and transactions by pipelines through sockets, batch and dispatch, while keys
 * expire and clients come and go; every byte that each of them gets must be the model's.
 *
 * SEED=n runs the same random choices again; each run prints its seed.
 */
#include "publish/tracking.h"

#include "command/call.h"
#include "command/command.h"
#include "command/row.h"
#include "ds/table.h"
#include "exec/transaction.h"
#include "io/background.h"
#include "net/client_memory.h"
#include "net/reply.h"
#include "server/whole.h"
#include "store/expire.h"
#include "store/keyspace.h"

#define CLIENTS 6
#define DATABASES 2
#define PREFIXES_MAX 5

static const char *const names[] = {"a", "ab", "abc", "b", "x", "x1"};
#define KEY_COUNT ((int)(sizeof(names) / sizeof(names[0])))
static const char *const prefixes[PREFIXES_MAX] = {"", "a", "ab", "b", "x"};

struct model_value {
    bool exists;
    int64_t deadline_msec; /* 0 = none */
    int number;
};

struct model_client {
    struct peer peer;
    int database;
    bool tracks, over; /* it has ended tracking and does not begin again */
    struct tracking_mode mode;
    bool broken, caching;
    bool has[PREFIXES_MAX];
    bool read[KEY_COUNT];
    struct buffer wanted;
};

/* What a prefix has collected: 0 = no change, 1 = one by nobody, 2 + i = by client i. */
struct model_prefix {
    int changed[KEY_COUNT];
};

static struct model_value values[DATABASES][KEY_COUNT];
static struct model_client clients[CLIENTS];
static struct model_prefix collected[PREFIXES_MAX];
static struct model_client *running; /* whose pipeline it is */
static bool in_call;
static struct buffer input = {.class = MEMORY_OTHER};
/* For who runs, until its reply has ended: messages of others; its own ones' bodies, each ended by
 * a NUL. */
static struct buffer waiting = {.class = MEMORY_OTHER}, own_bodies = {.class = MEMORY_OTHER};

static bool begins(int key, int prefix) {
    return strncmp(names[key], prefixes[prefix], strlen(prefixes[prefix])) == 0;
}

/* ---- the model: messages ---- */

static void model_deliver(struct model_client *to, const char *head, const char *body) {
    struct buffer *out = to == running && in_call ? &waiting : &to->wanted;
    buffer_append_c_string(out, head);
    buffer_append_c_string(out, body);
}

static void model_send(struct model_client *from, const char *body) {
    struct model_client *to = from;
    if (from == running && in_call) {
        buffer_append(&own_bodies, body, strlen(body) + 1);
        return;
    }
    if (from->mode.redirect) {
        to = NULL;
        for (int i = 0; i < CLIENTS; i++)
            if (clients[i].peer.id == from->mode.redirect) to = &clients[i];
    }
    if (!to) {
        char number[40];
        snprintf(number, sizeof(number), "%llu\r\n", (unsigned long long)from->mode.redirect);
        from->broken = true;
        if (from->peer.client->protocol == 3)
            model_deliver(from, ">2\r\n$21\r\ntracking-redir-broken\r\n:", number);
    } else if (to->peer.client->protocol == 3) {
        model_deliver(to, ">2\r\n$10\r\ninvalidate\r\n", body);
    }
}

static void append_name(struct buffer *out, int key) {
    buffer_printf(out, "$%zu\r\n%s\r\n", strlen(names[key]), names[key]);
}

static void model_changed(int key, bool expired) {
    struct buffer body = {.class = MEMORY_OTHER};
    buffer_append_c_string(&body, "*1\r\n");
    append_name(&body, key);
    for (int p = 0; p < PREFIXES_MAX; p++)
        for (int i = 0; i < CLIENTS; i++)
            if (clients[i].has[p] && begins(key, p))
                collected[p].changed[key] = expired ? 1 : 2 + (int)(running - clients);
    for (int i = 0; i < CLIENTS; i++) {
        struct model_client *c = &clients[i];
        bool wanted = c->read[key] && c->tracks && !(c->mode.no_loop && c == running);
        c->read[key] = false;
        if (wanted) model_send(c, body.bytes);
    }
    buffer_free(&body);
}

static void model_flushed(void) {
    for (int i = 0; i < CLIENTS; i++) {
        memset(clients[i].read, 0, sizeof(clients[i].read));
        if (clients[i].tracks) model_send(&clients[i], "_\r\n");
    }
}

static void model_broadcast_to(struct model_client *c, const int *changed) {
    struct buffer body = {.class = MEMORY_OTHER};
    int count = 0;
    for (int pass = 0; pass < 2; pass++) {
        if (pass) buffer_printf(&body, "*%d\r\n", count);
        for (int key = 0; key < KEY_COUNT; key++) {
            bool own = changed[key] == 2 + (int)(c - clients);
            if (!changed[key] || (c->mode.no_loop && own)) continue;
            if (pass)
                append_name(&body, key);
            else
                count++;
        }
    }
    if (count) model_send(c, body.bytes);
    buffer_free(&body);
}

static void model_broadcast(void) {
    for (int p = 0; p < PREFIXES_MAX; p++) {
        for (int i = 0; i < CLIENTS; i++)
            if (clients[i].has[p]) model_broadcast_to(&clients[i], collected[p].changed);
        memset(&collected[p], 0, sizeof(collected[p]));
    }
}

/* ---- the model: clients ---- */

static void model_stop(struct model_client *c) {
    bool any = false;
    c->tracks = c->broken = c->caching = false;
    memset(c->has, 0, sizeof(c->has));
    for (int i = 0; i < CLIENTS; i++) any |= clients[i].tracks;
    for (int i = 0; i < CLIENTS && !any; i++) memset(clients[i].read, 0, sizeof(clients[i].read));
    for (int p = 0; p < PREFIXES_MAX; p++) {
        bool wanted = false;
        for (int i = 0; i < CLIENTS; i++) wanted |= clients[i].has[p];
        if (!wanted) memset(&collected[p], 0, sizeof(collected[p]));
    }
}

static void connect_client(struct model_client *c) {
    struct buffer kept = c->wanted;
    *c = (struct model_client){.peer = peer_connect(), .wanted = kept};
    c->wanted.class = MEMORY_OTHER;
    buffer_clear(&c->wanted);
    c->peer.client->protocol = random_below(4) ? 3 : 2;
}

static void reconnect(struct model_client *c) {
    peer_close(&c->peer);
    c->peer.id = 0;
    model_stop(c);
    memset(c->read, 0, sizeof(c->read));
    connect_client(c);
}

static bool is_3(const struct model_client *c) { return c->peer.client->protocol == 3; }

/* ---- the model: commands ---- */

enum word { GET, MGET, SET, SET_PX, DEL, PEXPIRE, RENAME, SELECT, FLUSHDB, FLUSHALL, WORDS, TRACK };

struct command_of {
    enum word word;
    int key, other, number;
};

static bool model_exists(struct model_value *v, int key) {
    if (v->exists && v->deadline_msec && v->deadline_msec <= clock_cached_msec()) {
        v->exists = false;
        model_changed(key, true);
    }
    return v->exists;
}

static void model_get(struct model_client *c, int key) {
    struct model_value *v = &values[c->database][key];
    char number[20];
    if (!model_exists(v, key)) {
        buffer_append_c_string(&c->wanted, is_3(c) ? "_\r\n" : "$-1\r\n");
        return;
    }
    snprintf(number, sizeof(number), "%d", v->number);
    buffer_printf(&c->wanted, "$%zu\r\n%s\r\n", strlen(number), number);
}

static void model_read(struct model_client *c, int key) {
    const struct tracking_mode *m = &c->mode;
    bool counts = m->opt_in ? c->caching : !(m->opt_out && c->caching);
    if (c->tracks && !m->broadcasts && counts) c->read[key] = true;
}

static void model_rename(struct model_client *c, int key, int other) {
    struct model_value *v = values[c->database];
    if (!model_exists(&v[key], key)) {
        buffer_append_c_string(&c->wanted, "-ERR no such key\r\n");
        return;
    }
    if (key != other) {
        model_exists(&v[other], other);
        v[other] = v[key];
        v[key].exists = false;
        model_changed(key, false);
        model_changed(other, false);
    }
    buffer_append_c_string(&c->wanted, "+OK\r\n");
}

static int model_delete(struct model_client *c, int key) {
    struct model_value *v = &values[c->database][key];
    if (!model_exists(v, key)) return 0;
    v->exists = false;
    model_changed(key, false);
    return 1;
}

static void model_write(struct model_client *c, const struct command_of *what) {
    struct model_value *v = &values[c->database][what->key];
    bool existed = model_exists(v, what->key);
    if (what->word == PEXPIRE) {
        buffer_printf(&c->wanted, ":%d\r\n", existed);
        if (!existed) return;
        v->deadline_msec = clock_cached_msec() + 1 + what->number % 30;
    } else {
        *v = (struct model_value){.exists = true, .number = what->number};
        if (what->word == SET_PX) v->deadline_msec = clock_cached_msec() + 1 + what->number % 30;
        buffer_append_c_string(&c->wanted, "+OK\r\n");
    }
    model_changed(what->key, false);
}

static void model_flush(struct model_client *c, bool all) {
    for (int i = 0; i < DATABASES; i++)
        if (all || i == c->database) memset(values[i], 0, sizeof(values[i]));
    model_flushed();
    buffer_append_c_string(&c->wanted, "+OK\r\n");
}

/* CLIENT TRACKING of a client that tracks: ends it, or redirects elsewhere, number - 1 being whom,
 * or its own. */
static uint64_t redirect_of(const struct command_of *what) {
    return what->number > 1 ? clients[what->number - 2].peer.id : 0;
}

static void model_track(struct model_client *c, const struct command_of *what) {
    c->mode.redirect = what->number ? redirect_of(what) : c->mode.redirect;
    if (what->number)
        c->broken = false;
    else
        model_stop(c);
    buffer_append_c_string(&c->wanted, "+OK\r\n");
}

static void model_run(struct model_client *c, const struct command_of *what) {
    switch (what->word) {
    case GET:
        model_get(c, what->key);
        model_read(c, what->key);
        break;
    case MGET:
        buffer_append_c_string(&c->wanted, "*2\r\n");
        model_get(c, what->key);
        model_get(c, what->other);
        model_read(c, what->key);
        model_read(c, what->other);
        break;
    case DEL: {
        int deleted = model_delete(c, what->key);
        deleted += model_delete(c, what->other);
        buffer_printf(&c->wanted, ":%d\r\n", deleted);
        break;
    }
    case RENAME: model_rename(c, what->key, what->other); break;
    case SELECT:
        c->database = what->number % DATABASES;
        buffer_append_c_string(&c->wanted, "+OK\r\n");
        break;
    case FLUSHDB:
    case FLUSHALL: model_flush(c, what->word == FLUSHALL); break;
    case TRACK: model_track(c, what); break;
    default: model_write(c, what);
    }
}

/* What waited for the reply's end. */
static void model_end_call(struct model_client *c) {
    in_call = false;
    buffer_append(&c->wanted, waiting.bytes, waiting.length);
    buffer_clear(&waiting);
    for (size_t at = 0; at < own_bodies.length; at += strlen(own_bodies.bytes + at) + 1)
        model_send(c, own_bodies.bytes + at);
    buffer_clear(&own_bodies);
}

/* ---- what is sent ---- */

static void send_words(const char *const *words, size_t count) {
    buffer_printf(&input, "*%zu\r\n", count);
    for (size_t i = 0; i < count; i++)
        buffer_printf(&input, "$%zu\r\n%s\r\n", strlen(words[i]), words[i]);
}
#define SEND(...)                                  \
    send_words((const char *const[]){__VA_ARGS__}, \
               sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

static void send_track(const struct command_of *what) {
    const struct tracking_mode *m = &running->mode;
    const char *words[9] = {"client", "tracking", what->number ? "on" : "off"};
    size_t count = 3;
    char id[20];
    snprintf(id, sizeof(id), "%llu", (unsigned long long)redirect_of(what));
    if (m->no_loop) words[count++] = "noloop";
    if (m->opt_in) words[count++] = "optin";
    if (m->opt_out) words[count++] = "optout";
    if (what->number > 1) {
        words[count++] = "redirect";
        words[count++] = id;
    }
    send_words(words, count);
}

static void send_command(const struct command_of *what) {
    const char *key = names[what->key], *other = names[what->other];
    char number[20], msec[20], database[20];
    snprintf(number, sizeof(number), "%d", what->number);
    snprintf(msec, sizeof(msec), "%d", 1 + what->number % 30);
    snprintf(database, sizeof(database), "%d", what->number % DATABASES);
    switch (what->word) {
    case GET: SEND("get", key); break;
    case MGET: SEND("mget", key, other); break;
    case SET: SEND("set", key, number); break;
    case SET_PX: SEND("set", key, number, "px", msec); break;
    case DEL: SEND("del", key, other); break;
    case PEXPIRE: SEND("pexpire", key, msec); break;
    case RENAME: SEND("rename", key, other); break;
    case SELECT: SEND("select", database); break;
    case TRACK: send_track(what); break;
    case FLUSHDB: SEND("flushdb"); break;
    default: SEND("flushall");
    }
}

static struct command_of random_command(void) {
    enum word word =
        random_below(2) ? (enum word)random_below(SET) : (enum word)random_below(WORDS);
    if (word >= FLUSHDB && random_below(3)) word = GET;
    return (struct command_of){.word = word,
                               .key = (int)random_below((uint64_t)KEY_COUNT),
                               .other = (int)random_below((uint64_t)KEY_COUNT),
                               .number = (int)random_below(1000)};
}

/* To itself, or one of those that redirect to nobody. `may_end`: it may end tracking. */
static struct command_of random_track(bool may_end) {
    bool ends = may_end && random_below(3) == 0;
    bool none = random_below(4) == 0;
    int to = CLIENTS / 2 + (int)random_below(CLIENTS / 2);
    return (struct command_of){.word = TRACK, .number = ends ? 0 : none ? 1 : 2 + to};
}

static void one_transaction(struct model_client *c) {
    struct command_of queue[5];
    size_t count = random_below(5);
    bool redirects = c->tracks && !c->mode.broadcasts && c < clients + CLIENTS / 2;
    SEND("multi");
    buffer_append_c_string(&c->wanted, "+OK\r\n");
    for (size_t i = 0; i < count; i++) {
        queue[i] = random_command();
        if (redirects && random_below(3) == 0) queue[i] = random_track(i + 1 == count);
        if (queue[i].word == TRACK && !queue[i].number) c->over = true; /* the last one */
        send_command(&queue[i]);
        buffer_append_c_string(&c->wanted, "+QUEUED\r\n");
    }
    SEND("exec");
    buffer_printf(&c->wanted, "*%zu\r\n", count);
    in_call = true;
    for (size_t i = 0; i < count; i++) model_run(c, &queue[i]);
    model_end_call(c);
    c->caching = false;
}

/* Random prefixes of which none begins another. */
static int choose_prefixes(struct model_client *c, const char **words) {
    int count = 0;
    if (random_below(3) == 0) {
        c->has[0] = true;
        if (random_below(2)) return 0;
        words[0] = "prefix";
        words[1] = "";
        return 2;
    }
    for (int p = 1; p < PREFIXES_MAX; p++) {
        if (random_below(2) || (p == 2 && c->has[1])) continue;
        c->has[p] = true;
        words[count++] = "prefix";
        words[count++] = prefixes[p];
    }
    if (!count) c->has[0] = true;
    return count;
}

static void begin_tracking(struct model_client *c) {
    const char *words[20] = {"client", "tracking", "on"};
    char id[20];
    size_t count = 3;
    if (c->over || c->tracks) return;
    c->tracks = true;
    c->mode = (struct tracking_mode){.no_loop = random_below(3) == 0};
    if (c->mode.no_loop) words[count++] = "noloop";
    switch (random_below(5)) {
    case 0:
        c->mode.opt_in = true;
        words[count++] = "optin";
        break;
    case 1:
        c->mode.opt_out = true;
        words[count++] = "optout";
        break;
    case 2:
        c->mode.broadcasts = true;
        words[count++] = "bcast";
        count += (size_t)choose_prefixes(c, words + count);
        break;
    default: break;
    }
    /* Who gets another's messages has no redirection that may break: in which order a flush tells
     * it of both is not said. */
    if (!c->mode.broadcasts && c < clients + CLIENTS / 2 && random_below(3) == 0) {
        struct model_client *other = &clients[CLIENTS / 2 + random_below(CLIENTS / 2)];
        c->mode.redirect = random_below(4) ? other->peer.id : c->peer.id;
        snprintf(id, sizeof(id), "%llu", (unsigned long long)c->mode.redirect);
        words[count++] = "redirect";
        words[count++] = id;
    }
    send_words(words, count);
    buffer_append_c_string(&c->wanted, "+OK\r\n");
}

/* CLIENT, which does not use up CACHING. */
static void one_client_command(struct model_client *c) {
    if (!c->tracks) {
        begin_tracking(c);
    } else if (random_below(10) == 0) {
        SEND("client", "tracking", "off");
        buffer_append_c_string(&c->wanted, "+OK\r\n");
        model_stop(c);
        c->over = true;
    } else if (c->mode.opt_in || c->mode.opt_out) {
        SEND("client", "caching", c->mode.opt_in ? "yes" : "no");
        buffer_append_c_string(&c->wanted, "+OK\r\n");
        c->caching = true;
    } else {
        SEND("client", "getredir");
        buffer_printf(&c->wanted, ":%llu\r\n", (unsigned long long)c->mode.redirect);
    }
}

static void one_request(struct model_client *c) {
    if (random_below(4) == 0) {
        one_client_command(c);
    } else if (random_below(5) == 0) {
        one_transaction(c);
    } else if (random_below(20) == 0) {
        SEND("get"); /* refused */
        buffer_append_c_string(&c->wanted, "-ERR wrong number of arguments for 'get' command\r\n");
        c->caching = false;
    } else {
        struct command_of what = random_command();
        send_command(&what);
        in_call = true;
        model_run(c, &what);
        model_end_call(c);
        c->caching = false;
    }
}

static void one_pipeline(struct model_client *c) {
    buffer_clear(&input);
    running = c;
    for (uint64_t left = 1 + random_below(6); left; left--) one_request(c);
    running = NULL;
    model_broadcast();
    if (input.length) peer_send(&c->peer, buffer_slice(&input));
    for (int i = 0; i < CLIENTS; i++) {
        struct model_client *other = &clients[i];
        peer_receive(&other->peer, SIZE_MAX);
        peer_assert_got(&other->peer, buffer_slice(&other->wanted));
        buffer_clear(&other->wanted);
        assert_int_equal(tracking_redirect_is_broken(other->peer.client), other->broken);
    }
    tracking_check();
    client_memory_check();
}

static void test_model(void **state) {
    memset(values, 0, sizeof(values));
    for (int i = 0; i < CLIENTS; i++) connect_client(&clients[i]);
    for (int round = 0; round < 4000; round++) {
        struct model_client *c = &clients[random_below(CLIENTS)];
        if (random_below(40) == 0) reconnect(c);
        if (random_below(3) == 0) {
            clock_advance_usec((int64_t)random_below(20000));
            clock_refresh();
        }
        one_pipeline(c);
    }
    for (int i = 0; i < CLIENTS; i++) {
        peer_close(&clients[i].peer);
        buffer_free(&clients[i].wanted);
    }
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

static struct peer connect_3(void) {
    struct peer p = peer_connect();
    p.client->protocol = 3;
    return p;
}

/* Ids that mean nothing more go when a set would grow, and so do not add up. */
static void test_gone_clients_leave_nothing(void **state) {
    struct peer stays = connect_3(), writer = peer_connect();
    SAY(&stays, "+OK\r\n", "client", "tracking", "on");
    SAY(&stays, "_\r\n", "get", "k");
    for (int i = 0; i < 1000; i++) {
        struct peer p = connect_3();
        SAY(&p, "+OK\r\n", "client", "tracking", "on");
        SAY(&p, "_\r\n", "get", "k");
        peer_close(&p);
        assert_in_range(tracking_items(), 1, 8);
    }
    assert_int_equal(tracking_keys(), 1);
    tracking_check();
    SAY(&writer, "+OK\r\n", "set", "k", "1");
    peer_receive(&stays, SIZE_MAX);
    peer_assert_got(&stays, SLICE(">2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\nk\r\n"));
    assert_int_equal(tracking_items(), 0);
    peer_close(&stays);
    peer_close(&writer);
}

/* A key that many have read: each is told once. */
static void test_many_clients_of_one_key(void **state) {
    struct peer peers[200], writer = peer_connect();
    for (int i = 0; i < 200; i++) {
        peers[i] = connect_3();
        SAY(&peers[i], "+OK\r\n", "client", "tracking", "on");
        SAY(&peers[i], "*2\r\n_\r\n_\r\n", "mget", "k", "k");
    }
    assert_int_equal(tracking_items(), 200);
    assert_int_equal(tracking_clients(), 200);
    tracking_check();
    SAY(&writer, "+OK\r\n", "set", "k", "1");
    SAY(&writer, "+OK\r\n", "set", "k", "2");
    for (int i = 0; i < 200; i++) {
        peer_receive(&peers[i], SIZE_MAX);
        peer_assert_got(&peers[i], SLICE(">2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\nk\r\n"));
        peer_close(&peers[i]);
    }
    peer_close(&writer);
}

static void read_keys(struct peer *p, int count) {
    char name[20];
    buffer_clear(&input);
    for (int i = 0; i < count; i++) {
        snprintf(name, sizeof(name), "key:%d", i);
        SEND("get", name);
    }
    peer_send(p, buffer_slice(&input));
}

static void send_sets(struct peer *p, const char *first, const char *second) {
    buffer_clear(&input);
    SEND("set", first, "1");
    if (second) SEND("set", second, "1");
    assert_int_equal(peer_try_send(p, input.bytes, input.length), input.length);
}

/* Keys that several clients change before they are told together: who changed one last is not told
 * of it, where it says NOLOOP, but of those of others. */
static void test_mixed_writers(void **state) {
    struct peer own = connect_3(), all = connect_3(), other = connect_3();
    SAY(&own, "+OK\r\n", "client", "tracking", "on", "bcast", "noloop");
    SAY(&all, "+OK\r\n", "client", "tracking", "on", "bcast");
    send_sets(&own, "a", "b");
    send_sets(&other, "b", "c");
    peers_turns();
    peer_receive(&own, SIZE_MAX);
    peer_receive(&all, SIZE_MAX);
    peer_assert_got(&own, SLICE("+OK\r\n+OK\r\n>2\r\n$10\r\ninvalidate\r\n"
                                "*2\r\n$1\r\nb\r\n$1\r\nc\r\n"));
    peer_assert_got(&all, SLICE(">2\r\n$10\r\ninvalidate\r\n"
                                "*3\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\nc\r\n"));
    /* It is the last one to change all of them. */
    send_sets(&other, "a", "b");
    send_sets(&own, "b", "a");
    peers_turns();
    peer_receive(&own, SIZE_MAX);
    peer_receive(&all, SIZE_MAX);
    peer_assert_got(&own, SLICE("+OK\r\n+OK\r\n"));
    peer_assert_got(&all, SLICE(">2\r\n$10\r\ninvalidate\r\n"
                                "*2\r\n$1\r\na\r\n$1\r\nb\r\n"));
    peer_close(&own);
    peer_close(&all);
    peer_close(&other);
}

/* Beyond the limit random keys are told as changed, each once; lowered, it is met in steps. */
static void test_limit(void **state) {
    struct peer p = connect_3();
    SAY(&p, "+OK\r\n", "client", "tracking", "on");
    option_set_text("tracking-table-max-keys", "10");
    read_keys(&p, 500);
    assert_int_equal(tracking_keys(), 10);
    size_t told = 0;
    for (size_t i = 0; i < p.got.length; i++) told += p.got.bytes[i] == '>';
    assert_int_equal(told, 490);
    buffer_clear(&p.got);
    option_set_text("tracking-table-max-keys", "0");
    read_keys(&p, 5000);
    assert_int_equal(tracking_keys(), 5000);
    option_set_text("tracking-table-max-keys", "7");
    peers_turns();
    assert_in_range(tracking_keys(), 8, 4999);
    for (int i = 0; i < 100; i++) peers_turns();
    assert_int_equal(tracking_keys(), 7);
    tracking_check();
    option_set_text("tracking-table-max-keys", "1000000");
    peer_close(&p);
    assert_int_equal(tracking_keys(), 0);
}

/* The test's own, which would count as the server's. */
static void free_buffers(struct peer *p) {
    buffer_free(&p->got);
    p->got.class = MEMORY_OTHER;
    buffer_free(&input);
}

/* What many keys took is given back, by whatever way they go. */
static void test_memory_goes_back(void **state) {
    struct peer p = connect_3();
    size_t before = 0;
    for (int way = 0; way < 4; way++) {
        /* The first two ways bring what stays: the histograms of commands. */
        if (way == 2) before = memory_used(MEMORY_OTHER);
        SAY(&p, "+OK\r\n", "client", "tracking", "on");
        read_keys(&p, 20000);
        free_buffers(&p);
        size_t taken = memory_used(MEMORY_OTHER) - before;
        if (before) assert_in_range(taken, 20000 * 40, 20000 * 120);
        if (way % 2)
            SAY(&p, "+OK\r\n", "client", "tracking", "off");
        else
            SAY(&p, "+OK\r\n>2\r\n$10\r\ninvalidate\r\n_\r\n", "flushall");
        background_drain(&background_free);
        free_buffers(&p);
        if (before) assert_in_range(memory_used(MEMORY_OTHER), 0, before + 4096);
    }
    peer_close(&p);
}

/* Prefixes are somebody's memory: of those who share one some one's, at first that of the first. */
static void test_prefixes_are_the_clients(void **state) {
    enum { NAMES = 100, NAME_BYTES = 1000, ALL_BYTES = NAMES * NAME_BYTES };
    struct peer first = connect_3(), second = connect_3(), third = connect_3();
    struct peer *all[] = {&first, &second, &third};
    char texts[NAMES][NAME_BYTES + 1], line[64];
    const char *words[2 * NAMES + 4] = {"client", "tracking", "on", "bcast"};
    for (int i = 0; i < NAMES; i++) {
        snprintf(texts[i], sizeof(texts[i]), "%0*d", NAME_BYTES, i);
        words[4 + 2 * i] = "prefix";
        words[5 + 2 * i] = texts[i];
    }
    for (int i = 0; i < 3; i++) {
        buffer_clear(&input);
        send_words(words, 2 * NAMES + 4);
        peer_send(all[i], buffer_slice(&input));
        peer_assert_got(all[i], SLICE("+OK\r\n"));
        size_t bytes = client_memory_of(all[i]->client);
        assert_in_range(bytes, i == 0 ? ALL_BYTES : 0, i == 0 ? 2 * ALL_BYTES : ALL_BYTES / 2);
        client_memory_check();
    }
    SAY(&first, "+OK\r\n", "client", "tracking", "off");
    assert_in_range(client_memory_of(first.client), 0, ALL_BYTES / 2);
    assert_in_range(client_memory_of(second.client) + client_memory_of(third.client), ALL_BYTES,
                    2 * ALL_BYTES);
    tracking_check();
    client_memory_check();
    snprintf(line, sizeof(line), "%llu", (unsigned long long)second.id);
    SAY(&first, ":1\r\n", "client", "kill", "id", line);
    tracking_check();
    client_memory_check();
    assert_in_range(client_memory_of(third.client), ALL_BYTES, 2 * ALL_BYTES);
    peer_close(&second);
    peer_close(&third);
    assert_int_equal(tracking_prefixes(), 0);
    client_memory_check();
    peer_close(&first);
}

/* A table's splits were put off while something saved, and are made up for. */
static void command_resize(struct call *call) {
    table_set_resize(TABLE_RESIZE_FREE);
    (void)table_pay_owed(SIZE_MAX);
    reply_status(call->client, "OK");
}

static struct command rows[] = {
    COMMAND("resize", command_resize, 1, ANYTIME, NO_CATEGORY, NO_KEYS, ""),
};

/* What names take that are still to be told is counted down to nothing, though their table has
 * grown between. */
static void test_untold_bytes(void **state) {
    struct peer p = connect_3();
    char name[20];
    SAY(&p, "+OK\r\n", "client", "tracking", "on", "bcast");
    table_set_resize(TABLE_RESIZE_AVOID);
    buffer_clear(&input);
    for (int i = 0; i < 100; i++) {
        snprintf(name, sizeof(name), "key:%d", i);
        SEND("set", name, "1");
    }
    SEND("resize");
    peer_send(&p, buffer_slice(&input));
    peer_receive(&p, SIZE_MAX);
    assert_int_equal(tracking_untold_bytes(), 0);
    tracking_check();
    free_buffers(&p);
    peer_close(&p);
}

/* Messages close the clients that do not read them: those of a key, of a flush, of a prefix. */
static void test_closed_while_told(void **state) {
    static const char *const mode_words[] = {"noloop", "noloop", "bcast"};
    struct peer peers[20], writer = peer_connect();
    char *name = memory_alloc(300001, MEMORY_OTHER);
    memset(name, 'x', 300000);
    name[300000] = 0;
    for (int way = 0; way < 3; way++) {
        told_flush(keyspace_at(0));
        for (int i = 0; i < 20; i++) {
            peers[i] = connect_3();
            SAY(&peers[i], "+OK\r\n", "client", "tracking", "on", mode_words[way]);
            SAY(&peers[i], "_\r\n", "get", name);
        }
        option_set_text("client-output-buffer-limit",
                        way == 1 ? "normal 10 0 0" : "normal 200kb 0 0");
        /* The writer is told nothing, and its reply stands in the thread's buffer. */
        buffer_clear(&input);
        if (way == 1)
            SEND("flushall");
        else
            SEND("set", name, "1");
        peer_send(&writer, buffer_slice(&input));
        peer_assert_got(&writer, SLICE("+OK\r\n"));
        option_set_text("client-output-buffer-limit", "normal 0 0 0");
        tracking_check();
        assert_int_equal(tracking_clients(), 0);
        assert_int_equal(tracking_prefixes(), 0);
        for (int i = 0; i < 20; i++) peer_close(&peers[i]);
    }
    memory_free(name, MEMORY_OTHER);
    peer_close(&writer);
}

/* ---- overlaps ---- */

static bool starts(struct slice s, struct slice beginning) {
    return s.length >= beginning.length && !memcmp(s.bytes, beginning.bytes, beginning.length);
}

static bool model_overlap(const struct client *c, const struct slice *given, size_t count,
                          struct tracking_overlap *found) {
    for (size_t i = 0; i < count; i++) {
        *found = (struct tracking_overlap){.given = given[i], .own = true};
        for (size_t j = 0; j < tracking_prefix_count(c); j++) {
            found->other = tracking_prefix(c, j);
            if (starts(found->other, given[i]) || starts(given[i], found->other)) return true;
        }
        found->own = false;
        for (size_t j = i + 1; j < count; j++) {
            found->other = given[j];
            if (starts(found->other, given[i]) || starts(given[i], found->other)) return true;
        }
    }
    return false;
}

static struct slice random_prefix(char *place, unsigned letters) {
    size_t length = random_below(7);
    if (!length && random_below(5)) length = 3;
    for (size_t i = 0; i < length; i++) place[i] = (char)('a' + random_below(letters));
    return (struct slice){place, length};
}

static void test_overlaps(void **state) {
    size_t overlaps = 0, accepted = 0;
    for (int round = 0; round < 4000; round++) {
        struct peer p = connect_3();
        char places[40][8];
        struct slice given[40];
        struct tracking_mode mode = {.broadcasts = true};
        unsigned letters = 1 + (unsigned)random_below(6);
        for (int step = 0; step < 3; step++) {
            size_t count = random_below(random_below(2) ? 5 : 40);
            struct tracking_overlap model = {0}, found = {0};
            for (size_t i = 0; i < count; i++) given[i] = random_prefix(places[i], letters);
            bool any = model_overlap(p.client, given, count, &model);
            assert_int_equal(tracking_find_overlap(p.client, given, count, &found), any);
            if (any) {
                overlaps++;
                assert_int_equal(found.own, model.own);
                assert_true(slice_equal(found.given, model.given));
                assert_true(slice_equal(found.other, model.other));
            } else if (count || random_below(5) == 0) {
                tracking_start(p.client, &mode, given, count);
                accepted++;
            }
        }
        if (round % 100 == 0) tracking_check();
        peer_close(&p);
    }
    assert_int_equal(tracking_prefixes(), 0);
    assert_true(overlaps > 200 && accepted > 200);
}

/* ---- setting up ---- */

static int open_all(void **state) {
    expire_set_active(false); /* the model's keys go when they are met */
    int result = whole_open();
    command_register(COMMAND_ROWS(rows));
    return result;
}

static int end(void **state) {
    buffer_free(&input);
    buffer_free(&waiting);
    buffer_free(&own_bodies);
    tracking_check();
    assert_int_equal(tracking_clients(), 0);
    assert_int_equal(tracking_items(), 0);
    return whole_nothing_left(state);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, whole_begin, end)
    const struct CMUnitTest tests[] = {
        TEST(test_model),
        TEST(test_gone_clients_leave_nothing),
        TEST(test_many_clients_of_one_key),
        TEST(test_mixed_writers),
        TEST(test_limit),
        TEST(test_memory_goes_back),
        TEST(test_prefixes_are_the_clients),
        TEST(test_untold_bytes),
        TEST(test_closed_while_told),
        TEST(test_overlaps),
    };
#undef TEST
    return cmocka_run_group_tests(tests, open_all, NULL);
}
