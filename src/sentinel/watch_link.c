/* SPDX-License-Identifier: BSD-3-Clause
 * Links. watch_link.h has the idea.
 *
 * Invariants
 *  1. Each instance is in `users` of exactly one link; a link without users is freed.
 *  2. A request names its instance by serial number, because the answer may come after the end of
 *     the instance while another one still has the link.
 *  3. signs.connected is true exactly while each connection that the link needs is not closed.
 *  4. Requests are appended only below the limit of pending_max, except those that follow the
 *     beginning of a connection and those of a failover.
 */
#include "sentinel/watch_link.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/number.h"
#include "net/listen.h"
#include "option/option.h"
#include "peer/peer_client.h"
#include "sentinel/event.h"
#include "sentinel/failover.h"
#include "sentinel/hello.h"
#include "sentinel/judge.h"

#define RECONNECT_PERIOD_MSEC 1000
#define INFO_SHORT_PERIOD_MSEC 1000
/* No connection is given up before it is so old. */
#define YOUNG_MSEC 15000
#define PUBSUB_SILENT_MSEC (SENTINEL_HELLO_PERIOD_MSEC * 3)
/* A server that does not answer is not asked without end: so many requests for each user. */
#define PENDING_MAX 100
/* Above all that may be pending: PENDING_MAX for each primary that shares a link. */
#define ASKED_MAX (2 * PENDING_MAX * SENTINEL_PRIMARIES_MAX)
/* INFO of a server with SENTINEL_REPLICAS_MAX replicas has less than 100 KB, and is kept for
 * SENTINEL INFO-CACHE. A message or answer beyond this limit ends the connection. */
#define REPLY_BYTES_MAX (256 << 10)
/* The largest answer that is read has 4 elements: EXEC's. */
#define REPLY_NODES_MAX 64
#define ID_CHARS_SHOWN 8
#define WORDS_MAX 6

enum question { ASKED_NOTHING, ASKED_PING, ASKED_INFO, ASKED_HELLO, ASKED_OPINION, QUESTIONS };

struct watch_link {
    struct link_signs signs;
    struct list_link users; /* instance.in_link */
    size_t user_count;
    bool listens; /* has a connection for the hello channel */
    struct peer_client *commands, *pubsub;
    int64_t commands_since, pubsub_since, pubsub_heard, tried; /* 0 = never */
};

static struct loop *link_loop;
static const struct watch_link_events *link_events;
static const struct connection_transport *(*link_transport)(void);
static uint64_t last_serial;

void watch_link_open(struct loop *loop, const struct watch_link_events *events,
                     const struct connection_transport *(*transport)(void)) {
    link_loop = loop;
    link_events = events;
    link_transport = transport;
}

/* ---- life ---- */

static bool is_begun(const struct peer_client *client) {
    return client && peer_client_state(client) != PEER_CLIENT_CLOSED;
}

static void note_connections(struct watch_link *l) {
    l->signs.open = l->commands && peer_client_state(l->commands) == PEER_CLIENT_OPEN;
    l->signs.connected = is_begun(l->commands) && (!l->listens || is_begun(l->pubsub));

    if (l->signs.connected)
        l->signs.disconnected_since = 0;
    else if (!l->signs.disconnected_since)
        l->signs.disconnected_since = clock_monotonic_msec();
}

static void connection_changed(void *owner) { note_connections(owner); }

static void message_came(void *owner, const struct peer_reply *reply) {
    struct watch_link *l = owner;
    l->pubsub_heard = clock_monotonic_msec();
    if (reply->type != PEER_ARRAY || reply->children != 3) return;
    const struct peer_reply *kind = peer_reply_first(reply);
    const struct peer_reply *channel = peer_reply_next(kind), *text = peer_reply_next(channel);
    if (kind->type != PEER_BULK || channel->type != PEER_BULK || text->type != PEER_BULK) return;
    if (slice_is(kind->text, "message") &&
        slice_equal(channel->text, slice_of(SENTINEL_HELLO_CHANNEL)))
        link_events->hello(text->text);
}

static struct peer_client *create_connection(struct watch_link *l, bool listens) {
    static const struct peer_client_events events = {.opened = connection_changed,
                                                     .ended = connection_changed};
    const struct peer_client_settings settings = {.loop = link_loop,
                                                  .class = MEMORY_OTHER,
                                                  .reply = {REPLY_BYTES_MAX, REPLY_NODES_MAX},
                                                  .asked_max = ASKED_MAX,
                                                  .events = &events,
                                                  .unasked = listens ? message_came : NULL,
                                                  .owner = l};
    return peer_client_create(&settings);
}

static struct watch_link *create_link(bool listens, int64_t now) {
    struct watch_link *l = memory_zalloc(sizeof(*l), MEMORY_OTHER);
    list_init(&l->users);
    l->listens = listens;
    note_connections(l);
    l->signs.ping_waits_since = l->signs.last_good_answer = l->signs.last_answer = now;
    return l;
}

void watch_link_attach(struct instance *i, struct instance *shared, int64_t now) {
    i->serial = ++last_serial;
    i->link = shared ? shared->link : create_link(i->kind != INSTANCE_SENTINEL, now);
    i->signs = &i->link->signs;
    list_append(&i->link->users, &i->in_link);
    i->link->user_count++;
}

void watch_link_detach(struct instance *i) {
    struct watch_link *l = i->link;
    list_remove(&i->in_link);
    i->link = NULL;
    i->signs = NULL;
    if (--l->user_count) return;
    peer_client_free(l->commands);
    peer_client_free(l->pubsub);
    memory_free(l, MEMORY_OTHER);
}

void watch_link_share(struct instance *i, struct instance *shared) {
    if (i->link == shared->link) return;
    watch_link_detach(i);
    watch_link_attach(i, shared, 0);
}

void watch_link_close(struct instance *i) {
    struct watch_link *l = i->link;
    if (l->commands) peer_client_close(l->commands);
    if (l->pubsub) peer_client_close(l->pubsub);
    l->tried = 0;
    note_connections(l);
}

void watch_link_forget_signs(struct instance *i, int64_t now) {
    struct link_signs *s = &i->link->signs;
    s->ping_waits_since = s->last_good_answer = s->last_answer = now;
    s->last_ping_sent = 0;
}

size_t watch_link_pending(const struct instance *i) {
    return i->link->commands ? peer_client_asked(i->link->commands) : 0;
}
size_t watch_link_users(const struct instance *i) { return i->link->user_count; }

/* The name that the primary's servers have for a command. */
static const char *command_name(const struct primary *p, const char *command) {
    for (size_t k = 0; k < p->renamed_count; k++)
        if (strcasecmp(p->renamed[k].command, command) == 0) return p->renamed[k].name;
    return command;
}

/* ---- answers ---- */

static struct instance *find_user(struct watch_link *l, uint64_t serial) {
    LIST_FOR_EACH (link, following, &l->users) {
        struct instance *i = LIST_ENTRY(link, struct instance, in_link);
        if (i->serial == serial) return i;
    }
    return NULL;
}

static bool begins_with(const struct peer_reply *reply, struct slice word) {
    return (reply->type == PEER_STATUS || reply->type == PEER_ERROR) &&
           reply->text.length >= word.length &&
           memcmp(reply->text.bytes, word.bytes, word.length) == 0;
}

static bool ask_words(struct instance *i, enum question question, const struct slice *words,
                      size_t count);

/* A server that is busy with a script, and down for it, is told once to end the script. */
static void kill_script(struct instance *i) {
    if (!(i->flags & INSTANCE_S_DOWN) || (i->flags & INSTANCE_SCRIPT_KILL_SENT)) return;
    const char *name = command_name(i->primary, "SCRIPT");
    if (ask_words(i, ASKED_NOTHING, (struct slice[]){slice_of(name), SLICE("KILL")}, 2))
        i->flags |= INSTANCE_SCRIPT_KILL_SENT;
}

static void take_pong(struct watch_link *l, struct instance *i, const struct peer_reply *reply) {
    int64_t now = clock_monotonic_msec();
    l->signs.last_answer = now;
    if (begins_with(reply, SLICE("PONG")) || begins_with(reply, SLICE("LOADING")) ||
        begins_with(reply, SLICE("MASTERDOWN"))) {
        l->signs.last_good_answer = now;
        l->signs.ping_waits_since = 0;
    } else if (i && begins_with(reply, SLICE("BUSY"))) {
        kill_script(i);
    }
}

static void answer_came(void *owner, uintptr_t about, const struct peer_reply *reply) {
    struct watch_link *l = owner;
    struct instance *i = find_user(l, about / QUESTIONS);
    if (!reply) return;
    switch ((enum question)(about % QUESTIONS)) {
    case ASKED_PING: take_pong(l, i, reply); break;
    case ASKED_INFO:
        if (i && reply->type == PEER_BULK) link_events->info(i, reply->text);
        break;
    case ASKED_HELLO:
        /* An error, such as a want of rights, is tried again soon. */
        if (i && reply->type == PEER_ERROR) i->last_hello_sent = 0;
        break;
    case ASKED_OPINION:
        if (i) link_events->opinion(voter_entry(i), reply);
        break;
    default: break;
    }
}

/* ---- requests ---- */

static bool ask_over(struct peer_client *client, const struct instance *i, enum question question,
                     const struct slice *words, size_t count) {
    const struct peer_request request = {answer_came, i->serial * QUESTIONS + question};
    return client && peer_client_ask(client, &request, words, count);
}

static bool ask_words(struct instance *i, enum question question, const struct slice *words,
                      size_t count) {
    return ask_over(i->link->commands, i, question, words, count);
}

static bool has_room(const struct instance *i) {
    return i->signs->connected && watch_link_pending(i) < PENDING_MAX * i->link->user_count;
}

static bool send_ping(struct instance *i, int64_t now) {
    struct link_signs *s = &i->link->signs;
    struct slice word = slice_of(command_name(i->primary, "PING"));
    if (!ask_words(i, ASKED_PING, &word, 1)) return false;
    s->last_ping_sent = now;
    if (!s->ping_waits_since) s->ping_waits_since = now;
    return true;
}

bool watch_link_ask_opinion(struct voter *v, uint64_t epoch, const char *candidate) {
    const struct instance *p = &v->instance.primary->instance;
    char port[NUMBER_INT64_CHARS], number[NUMBER_INT64_CHARS];
    const struct slice words[] = {slice_of(command_name(v->instance.primary, "SENTINEL")),
                                  SLICE("is-master-down-by-addr"),
                                  slice_of(sentinel_address_shown(&p->address)),
                                  {port, number_format_int64(port, p->address.port)},
                                  {number, number_format_uint64(number, epoch)},
                                  slice_of(candidate)};
    return has_room(&v->instance) &&
           ask_words(&v->instance, ASKED_OPINION, words, sizeof(words) / sizeof(words[0]));
}

bool watch_link_send_follow(struct instance *i, const struct sentinel_address *address) {
    char port[NUMBER_INT64_CHARS];
    const struct primary *p = i->primary;
    struct slice host = SLICE("NO"), digits = SLICE("ONE");
    struct slice client = slice_of(command_name(p, "CLIENT"));
    if (address) {
        host = slice_of(sentinel_address_shown(address));
        digits = (struct slice){port, number_format_int64(port, address->port)};
    }
    const struct {
        struct slice words[4];
        size_t count;
    } requests[] = {
        {{slice_of(command_name(p, "MULTI"))}, 1},
        {{slice_of(command_name(p, "SLAVEOF")), host, digits}, 3},
        {{slice_of(command_name(p, "CONFIG")), SLICE("REWRITE")}, 2},
        {{client, SLICE("KILL"), SLICE("TYPE"), SLICE("normal")}, 4},
        {{client, SLICE("KILL"), SLICE("TYPE"), SLICE("pubsub")}, 4},
        {{slice_of(command_name(p, "EXEC"))}, 1},
    };
    if (!i->signs->connected) return false;
    for (size_t k = 0; k < sizeof(requests) / sizeof(requests[0]); k++)
        if (!ask_words(i, ASKED_NOTHING, requests[k].words, requests[k].count)) return false;
    return true;
}

/* ---- the hello message ---- */

/* Where this Sentinel can be reached: the announced address, or our end of the link. */
static bool find_own_host(const struct instance *i, struct socket_peer *local, struct slice *host) {
    if (sentinel_settings()->announce_ip) {
        *host = slice_of(sentinel_settings()->announce_ip);
        return true;
    }
    if (!peer_client_local(i->link->commands, local)) return false;
    *host = slice_of(local->address);
    return true;
}

static int own_port(void) {
    bool over_tls = link_transport && link_transport() && listen_tls_port();
    if (sentinel_settings()->announce_port) return sentinel_settings()->announce_port;
    return over_tls ? listen_tls_port() : listen_port();
}

static void send_hello(struct instance *i, int64_t now) {
    const struct sentinel_settings *s = sentinel_settings();
    const struct sentinel_address *address = sentinel_failover_address(i->primary);
    struct socket_peer local;
    struct sentinel_hello hello = {.port = own_port(),
                                   .run_id = slice_of(s->id),
                                   .current_epoch = s->epoch,
                                   .name = slice_of(i->primary->instance.name),
                                   .primary_host = slice_of(sentinel_address_shown(address)),
                                   .primary_port = address->port,
                                   .config_epoch = i->primary->config_epoch};
    if (!find_own_host(i, &local, &hello.host)) return;
    struct buffer text;
    buffer_init(&text, MEMORY_OTHER);
    sentinel_hello_write(&hello, &text);
    const struct slice words[] = {slice_of(command_name(i->primary, "PUBLISH")),
                                  slice_of(SENTINEL_HELLO_CHANNEL), buffer_slice(&text)};
    if (ask_words(i, ASKED_HELLO, words, 3)) i->last_hello_sent = now;
    buffer_free(&text);
}

void watch_link_hello_is_due(struct primary *p) {
    p->instance.last_hello_sent = 0;
    LIST_FOR_EACH (link, next, &p->replicas) replica_at(link)->instance.last_hello_sent = 0;
    LIST_FOR_EACH (other, further, &p->voters) voter_at(other)->instance.last_hello_sent = 0;
}

/* ---- connecting ---- */

static void send_credentials(struct instance *i, struct peer_client *client) {
    const struct sentinel_settings *s = sentinel_settings();
    const struct primary *p = i->primary;
    struct buffer own = {.class = MEMORY_OTHER};
    struct slice user = {0}, pass = buffer_slice(&p->auth_pass);
    if (p->auth_user) user = slice_of(p->auth_user);
    if (i->kind == INSTANCE_SENTINEL) {
        const struct option_row *required = option_find(SLICE("requirepass"));
        user = (struct slice){0};
        if (s->pass.length && s->user) user = slice_of(s->user);
        if (!s->pass.length && required) option_print(required, &own);
        pass = s->pass.length ? buffer_slice(&s->pass) : buffer_slice(&own);
    }
    struct slice words[PEER_AUTH_WORDS_MAX];
    size_t count = peer_auth_words(words, user, pass);
    words[0] = slice_of(command_name(p, "AUTH"));
    if (pass.length && !ask_over(client, i, ASKED_NOTHING, words, count)) peer_client_close(client);
    buffer_free(&own);
}

static void send_name(struct instance *i, struct peer_client *client, const char *kind) {
    char name[64];
    snprintf(name, sizeof(name), "sentinel-%.*s-%s", ID_CHARS_SHOWN, sentinel_settings()->id, kind);
    const struct slice words[] = {slice_of(command_name(i->primary, "CLIENT")), SLICE("SETNAME"),
                                  slice_of(name)};
    if (!ask_over(client, i, ASKED_NOTHING, words, 3)) peer_client_close(client);
}

static bool begin_connection(struct instance *i, struct peer_client *client,
                             enum sentinel_event_name failed) {
    const struct peer_address address = {.host = i->address.ip,
                                         .port = i->address.port,
                                         .source = listen_source_address(),
                                         .transport = link_transport ? link_transport() : NULL};
    if (peer_client_connect(client, &address)) return true;
    sentinel_event(failed, i, "#%s", peer_client_error(client));
    return false;
}

static void connect_commands(struct instance *i, int64_t now) {
    struct watch_link *l = i->link;
    if (!l->commands) l->commands = create_connection(l, false);
    if (!begin_connection(i, l->commands, EVENT_CMD_LINK_RECONNECTION)) return;
    l->commands_since = now;
    send_credentials(i, l->commands);
    send_name(i, l->commands, "cmd");
    if (!send_ping(i, now)) peer_client_close(l->commands);
}

static void connect_pubsub(struct instance *i, int64_t now) {
    struct watch_link *l = i->link;
    const struct slice words[] = {slice_of(command_name(i->primary, "SUBSCRIBE")),
                                  slice_of(SENTINEL_HELLO_CHANNEL)};
    if (!l->pubsub) l->pubsub = create_connection(l, true);
    if (!begin_connection(i, l->pubsub, EVENT_PUBSUB_LINK_RECONNECTION)) return;
    l->pubsub_since = l->pubsub_heard = now;
    send_credentials(i, l->pubsub);
    send_name(i, l->pubsub, "pubsub");
    if (!ask_over(l->pubsub, i, ASKED_NOTHING, words, 2)) peer_client_close(l->pubsub);
}

void watch_link_connect(struct instance *i, int64_t now) {
    struct watch_link *l = i->link;
    if (l->signs.connected || i->address.port == 0) return;
    if (l->tried && now - l->tried < RECONNECT_PERIOD_MSEC) return;
    if (!sentinel_address_refresh(&i->address) && !i->address.ip[0]) return;
    l->tried = now;
    if (!is_begun(l->commands)) connect_commands(i, now);
    if (l->listens && !is_begun(l->pubsub)) connect_pubsub(i, now);
    note_connections(l);
}

void watch_link_drop_silent(struct instance *i, int64_t now) {
    struct watch_link *l = i->link;
    int64_t half = i->primary->down_after_msec / 2;
    if (is_begun(l->commands) && now - l->commands_since > YOUNG_MSEC &&
        l->signs.ping_waits_since && now - l->signs.ping_waits_since > half &&
        now - l->signs.last_answer > half)
        peer_client_close(l->commands);
    if (is_begun(l->pubsub) && now - l->pubsub_since > YOUNG_MSEC &&
        now - l->pubsub_heard > PUBSUB_SILENT_MSEC)
        peer_client_close(l->pubsub);
    note_connections(l);
}

/* ---- periods ---- */

void watch_link_ask_info(struct instance *i, int64_t now) {
    struct slice word = slice_of(command_name(i->primary, "INFO"));
    if (ask_words(i, ASKED_INFO, &word, 1)) i->info_sent = now;
}

/* A new connection may lead to a server that was restarted, or that was told what to be by someone
 * who closed its clients' connections: what is known of it is from before. */
static bool is_info_due(const struct instance *i, int64_t now) {
    bool is_fresh = i->last_info > i->link->commands_since &&
                    now - i->last_info <= sentinel_judge_info_period(i);
    return !is_fresh && (!i->info_sent || now - i->info_sent > INFO_SHORT_PERIOD_MSEC);
}

void watch_link_ask_periodic(struct instance *i, int64_t now) {
    const struct link_signs *s = i->signs;
    int64_t ping_period = i->primary->down_after_msec < SENTINEL_PING_PERIOD_MSEC
                              ? i->primary->down_after_msec
                              : SENTINEL_PING_PERIOD_MSEC;
    if (!has_room(i)) return;
    if (i->kind != INSTANCE_SENTINEL && is_info_due(i, now)) watch_link_ask_info(i, now);
    if (now - s->last_answer > ping_period && now - s->last_ping_sent > ping_period / 2)
        (void)send_ping(i, now);
    if (now - i->last_hello_sent > SENTINEL_HELLO_PERIOD_MSEC) send_hello(i, now);
}
