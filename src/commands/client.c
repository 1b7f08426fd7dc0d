/* SPDX-License-Identifier: BSD-3-Clause
 * Commands about clients: CLIENT and its subcommands, MONITOR, RESET. The rows stand at the end.
 *
 * CLIENT LIST has 6.2's fields with our own meaning: `qbuf` is the number of bytes that were read
 * from a client and not yet answered, `qbuf-free` the free room in its own buffers (an idle client
 * has none), `obl` its replies in the thread's output buffer, `oll` and `omem` its own chunks.
 *
 * A client's type is "replica" if a stream is sent to it, "master" if it sends a stream to this
 * server, "pubsub" if it listens to channels or patterns, otherwise "normal".
 */
#include "commands/client.h"

#include "access/acl.h"
#include "access/acl_rules.h"
#include "base/clock.h"
#include "command/arguments.h"
#include "command/call.h"
#include "command/command.h"
#include "command/row.h"
#include "commands/client_tracking.h"
#include "exec/blocked.h"
#include "exec/client_flags.h"
#include "exec/pause.h"
#include "exec/transaction.h"
#include "net/batch.h"
#include "net/client.h"
#include "net/client_memory.h"
#include "net/reply.h"
#include "publish/pubsub.h"
#include "publish/tracking.h"
#include "report/monitor.h"

enum client_type { TYPE_NORMAL, TYPE_REPLICA, TYPE_SUBSCRIBER, TYPE_PRIMARY, TYPE_ANY };

static const struct {
    const char *name;
    enum client_type type;
} type_names[] = {{"normal", TYPE_NORMAL},
                  {"slave", TYPE_REPLICA},
                  {"replica", TYPE_REPLICA},
                  {"pubsub", TYPE_SUBSCRIBER},
                  {"master", TYPE_PRIMARY}};

static enum client_type type_of(const struct client *c) {
    if (c->flags & CLIENT_PRIMARY) return TYPE_PRIMARY;
    if (c->flags & CLIENT_STREAMED) return TYPE_REPLICA;
    return c->flags & CLIENT_LISTENS ? TYPE_SUBSCRIBER : TYPE_NORMAL;
}
/* The primary has no ACL user: it may do everything. */
static struct slice user_of(const struct client *c) {
    return c->flags & CLIENT_PRIMARY ? SLICE("(superuser)") : acl_user_of(c)->name;
}

/* False after an error reply. */
static bool argument_type(const struct call *call, int index, enum client_type *type) {
    for (size_t i = 0; i < sizeof(type_names) / sizeof(type_names[0]); i++) {
        if (!argument_is(call, index, type_names[i].name)) continue;
        *type = type_names[i].type;
        return true;
    }
    reply_error_format(call->client, "Unknown client type '%.*s'", (int)call->argv[index].length,
                       call->argv[index].bytes);
    return false;
}

/* ---- LIST and INFO ---- */

static const struct {
    unsigned flag;
    char letter;
} flag_letters[] = {{CLIENT_PRIMARY, 'M'},           {CLIENT_LISTENS, 'P'}, {CLIENT_HELD, 'b'},
                    {CLIENT_CLOSE_AFTER_REPLY, 'c'}, {CLIENT_UNIX, 'U'},    {CLIENT_NO_EVICT, 'e'}};

/* A letter's position: 6.2's letters in 6.2's order, all others last. */
static int place_of_letter(char letter) {
    static const char order[] = "SMOPxbtRBdcuAUrNe";
    const char *found = memchr(order, letter, sizeof(order) - 1);
    return found ? (int)(found - order) : (int)sizeof(order);
}

static int compare_letters(const void *a, const void *b) {
    return place_of_letter(*(const char *)a) - place_of_letter(*(const char *)b);
}

/* Appends the letters of net/'s flags, and those that folders above have registered. */
static void append_flags(const struct client *c, struct buffer *out) {
    size_t before = out->length;
    if ((c->flags & (CLIENT_STREAMED | CLIENT_PRIMARY)) == CLIENT_STREAMED)
        buffer_append_char(out, 'S');
    for (size_t i = 0; i < sizeof(flag_letters) / sizeof(flag_letters[0]); i++)
        if (c->flags & flag_letters[i].flag) buffer_append_char(out, flag_letters[i].letter);
    client_append_letters(c, out);
    if (out->length == before) buffer_append_char(out, 'N');
    qsort(out->bytes + before, out->length - before, 1, compare_letters);
}

static size_t argument_bytes(const struct call *call) {
    size_t bytes = 0;
    for (int i = 0; i < call->argc; i++) bytes += call->argv[i].length;
    return bytes;
}

/* Appends a client's line without its end. `call` is the running call, or NULL. As in 6.2, `events`
 * has an "r" for blocked and paused clients as well, also if so much of one waits that it is not
 * read. */
static void append_client(const struct call *call, struct client *c, struct buffer *out) {
    const struct command *command = c->command;
    int64_t now = clock_cached_msec();
    buffer_printf(out, "id=%llu addr=", (unsigned long long)c->id);
    client_append_address(c, out);
    buffer_append_c_string(out, " laddr=");
    client_append_local_address(c, out);
    buffer_printf(out, " fd=%d name=%s age=%lld idle=%lld flags=", c->watcher.fd,
                  c->name ? c->name : "", (long long)(now - c->created_msec) / 1000,
                  (long long)(now - c->active_msec) / 1000);
    append_flags(c, out);
    buffer_printf(out, " db=%d sub=%zu psub=%zu multi=%lld", c->database, pubsub_channels(c),
                  pubsub_patterns(c), (long long)transaction_count(c));
    buffer_printf(out, " qbuf=%zu qbuf-free=%zu argv-mem=%zu",
                  batch_query_used(c) + batch_input_bytes(c), batch_query_room(c),
                  call && c == call->client ? argument_bytes(call) : 0);
    buffer_printf(out, " obl=%zu oll=%zu omem=%zu tot-mem=%zu events=r%s cmd=%s",
                  reply_output_bytes(c), reply_chunk_count(c), reply_chunk_bytes(c),
                  client_memory_of(c), c->watcher.interest & LOOP_WRITABLE ? "w" : "",
                  command ? command->name : "NULL");
    buffer_printf(out, " user=%.*s redir=%lld", (int)user_of(c).length, user_of(c).bytes,
                  (long long)tracking_redirect(c));
}

void client_describe(struct client *c, struct buffer *out) { append_client(NULL, c, out); }

static void append_clients(const struct call *call, enum client_type type, struct buffer *out) {
    LIST_FOR_EACH (link, following, client_list()) {
        struct client *c = LIST_ENTRY(link, struct client, link);
        if (c->flags & CLIENT_CLOSING || (type != TYPE_ANY && type_of(c) != type)) continue;
        append_client(call, c, out);
        buffer_append_char(out, '\n');
    }
}

/* Appends the clients whose ids the arguments name. False after an error reply. */
static bool append_clients_by_id(const struct call *call, struct buffer *out) {
    for (int i = 3; i < call->argc; i++) {
        int64_t id;
        if (!argument_int64(call, i, &id, "Invalid client ID")) return false;
        struct client *c = client_find((uint64_t)id);
        if (!c) continue;
        append_client(call, c, out);
        buffer_append_char(out, '\n');
    }
    return true;
}

static void client_list_command(struct call *call) {
    struct buffer text;
    enum client_type type = TYPE_ANY;
    bool done = true, by_id = call->argc > 3 && argument_is(call, 2, "id");
    if (call->argc == 4 && argument_is(call, 2, "type")) {
        if (!argument_type(call, 3, &type)) return;
    } else if (call->argc != 2 && !by_id) {
        reply_syntax_error(call->client);
        return;
    }
    buffer_init(&text, MEMORY_OTHER);
    if (by_id)
        done = append_clients_by_id(call, &text);
    else
        append_clients(call, type, &text);
    if (done) reply_verbatim(call->client, buffer_slice(&text), "txt");
    buffer_free(&text);
}

static void client_info_command(struct call *call) {
    struct buffer text;
    buffer_init(&text, MEMORY_OTHER);
    append_client(call, call->client, &text);
    buffer_append_char(&text, '\n');
    reply_verbatim(call->client, buffer_slice(&text), "txt");
    buffer_free(&text);
}

/* ---- KILL ---- */

struct kill_filter {
    int64_t id; /* 0 = any */
    enum client_type type;
    struct slice address, local_address, user; /* bytes NULL = any */
    bool skip_me;
};

/* Parses an option and its value at `index`. False after an error reply. A missing value is
 * reported when the option is reached, because earlier faults come first. */
static bool kill_option(const struct call *call, int index, struct kill_filter *f) {
    if (index + 1 == call->argc) {
        reply_syntax_error(call->client);
        return false;
    }
    struct slice value = call->argv[index + 1];
    if (argument_is(call, index, "id")) return argument_int64(call, index + 1, &f->id, NULL);
    if (argument_is(call, index, "type")) return argument_type(call, index + 1, &f->type);
    if (argument_is(call, index, "addr")) {
        f->address = value;
    } else if (argument_is(call, index, "laddr")) {
        f->local_address = value;
    } else if (argument_is(call, index, "user")) {
        f->user = value;
        if (acl_find(value)) return true;
        reply_error_format(call->client, "No such user '%.*s'", (int)value.length, value.bytes);
        return false;
    } else if (argument_is(call, index, "skipme") && argument_is(call, index + 1, "yes")) {
        f->skip_me = true;
    } else if (argument_is(call, index, "skipme") && argument_is(call, index + 1, "no")) {
        f->skip_me = false;
    } else {
        reply_syntax_error(call->client);
        return false;
    }
    return true;
}

static bool address_is(struct client *c, struct slice wanted,
                       void (*append)(struct client *c, struct buffer *out)) {
    struct buffer text;
    if (!wanted.bytes) return true;
    buffer_init(&text, MEMORY_OTHER);
    append(c, &text);
    bool same = slice_equal(buffer_slice(&text), wanted);
    buffer_free(&text);
    return same;
}

static bool kill_matches(const struct call *call, const struct kill_filter *f, struct client *c) {
    if (c->flags & CLIENT_CLOSING || (f->id && c->id != (uint64_t)f->id)) return false;
    if (f->type != TYPE_ANY && type_of(c) != f->type) return false;
    if (f->user.bytes && !slice_equal(f->user, user_of(c))) return false;
    if (f->skip_me && c == call->client) return false;
    return address_is(c, f->address, client_append_address) &&
           address_is(c, f->local_address, client_append_local_address);
}

/* Closes the client if it matches. The caller is only reported in `*self`: it gets its reply
 * first. */
static bool kill_one(const struct call *call, const struct kill_filter *f, struct client *c,
                     bool *self) {
    if (!kill_matches(call, f, c)) return false;
    if (c == call->client)
        *self = true;
    else
        client_close_later(c);
    return true;
}

static int64_t kill_all(const struct call *call, const struct kill_filter *f, bool *self) {
    int64_t killed = 0;
    if (f->id) {
        struct client *c = client_find((uint64_t)f->id);
        return c && kill_one(call, f, c, self);
    }
    LIST_FOR_EACH (link, following, client_list())
        killed += kill_one(call, f, LIST_ENTRY(link, struct client, link), self);
    return killed;
}

static void client_kill_command(struct call *call) {
    struct kill_filter f = {.type = TYPE_ANY, .skip_me = true};
    bool old_form = call->argc == 3, self = false;
    if (old_form) {
        f.address = call->argv[2];
        f.skip_me = false;
    } else if (call->argc < 4) {
        reply_syntax_error(call->client);
        return;
    }
    for (int i = 2; !old_form && i < call->argc; i += 2)
        if (!kill_option(call, i, &f)) return;
    int64_t killed = kill_all(call, &f, &self);
    if (!old_form)
        reply_integer(call->client, killed);
    else if (killed)
        reply_ok(call->client);
    else
        reply_error(call->client, "No such client");
    if (self) client_close_after_reply(call->client);
}

/* ---- the connection's own state ---- */

static void client_id_command(struct call *call) {
    reply_integer(call->client, (int64_t)call->client->id);
}

static void client_setname_command(struct call *call) {
    if (!argument_is_client_name(call->argv[2])) {
        reply_error(call->client,
                    "Client names cannot contain spaces, newlines or special characters.");
        return;
    }
    client_set_name(call->client, call->argv[2]);
    reply_ok(call->client);
}

static void client_getname_command(struct call *call) {
    if (call->client->name)
        reply_bulk_c_string(call->client, call->client->name);
    else
        reply_null(call->client);
}

static void client_reply_command(struct call *call) {
    struct client *c = call->client;
    if (argument_is(call, 2, "on")) {
        reply_set_off(c, false);
        reply_skip_no_more(c);
        reply_ok(c);
    } else if (argument_is(call, 2, "off")) {
        reply_set_off(c, true);
    } else if (!argument_is(call, 2, "skip")) {
        reply_syntax_error(c);
    } else if (!(c->flags & CLIENT_REPLY_OFF)) {
        reply_skip_next(c, true);
    }
}

static void client_no_evict_command(struct call *call) {
    struct client *c = call->client;
    bool on = argument_is(call, 2, "on");
    if (!on && !argument_is(call, 2, "off")) {
        reply_syntax_error(c);
        return;
    }
    client_set_no_evict(c, on);
    reply_ok(c);
}

/* ---- pausing and blocking ---- */

static void client_pause_command(struct call *call) {
    struct client *c = call->client;
    enum pause_mode mode = PAUSE_ALL;
    int64_t msec;
    if (call->argc == 4 && argument_is(call, 3, "write")) {
        mode = PAUSE_WRITES;
    } else if (call->argc == 4 && !argument_is(call, 3, "all")) {
        reply_error(c, "CLIENT PAUSE mode must be WRITE or ALL");
        return;
    }
    if (!argument_int64(call, 2, &msec, "timeout is not an integer or out of range")) return;
    if (msec < 0) {
        reply_error(c, "timeout is negative");
        return;
    }
    pause_start(mode, msec);
    reply_ok(c);
}

static void client_unpause_command(struct call *call) {
    pause_end();
    reply_ok(call->client);
}

/* CLIENT UNBLOCK does not resume clients that a pause holds. */
static void client_unblock_command(struct call *call) {
    int64_t id;
    if (call->argc == 4 && !argument_is(call, 3, "timeout") && !argument_is(call, 3, "error")) {
        reply_error(call->client, "CLIENT UNBLOCK reason should be TIMEOUT or ERROR");
        return;
    }
    if (!argument_int64(call, 2, &id, NULL)) return;
    static const struct blocked_end by_time = {.reason = BLOCKED_TIME},
                                    by_error = {.reason = BLOCKED_ERROR,
                                                .error =
                                                    "-UNBLOCKED client unblocked via CLIENT "
                                                    "UNBLOCK"};
    struct client *c = client_find((uint64_t)id);
    bool with_error = call->argc == 4 && argument_is(call, 3, "error");
    reply_integer(call->client, c && blocked_end(c, with_error ? &by_error : &by_time));
}

/* ---- CLIENT ---- */

static const char *const help_lines[] = {
    "CACHING (YES|NO)",
    "    Whether the keys that the next command reads are tracked, or not.",
    "GETNAME",
    "    The connection's name.",
    "GETREDIR",
    "    The id of the client that gets this one's invalidations; -1: none.",
    "ID",
    "    The connection's number.",
    "INFO",
    "    This connection's line of CLIENT LIST.",
    "KILL <ip:port>",
    "    Closes the connection that comes from there.",
    "KILL <filter> <value> [<filter> <value> ...]",
    "    Closes the connections that fit all filters; returns how many. Filters:",
    "    ID <id>, ADDR <ip:port>, LADDR <ip:port>, USER <name>,",
    "    TYPE (NORMAL|MASTER|REPLICA|PUBSUB),",
    "    SKIPME (YES|NO): whether this connection is left alone; yes unless given.",
    "LIST [TYPE (NORMAL|MASTER|REPLICA|PUBSUB)] [ID <id> ...]",
    "    A line of state for each connection.",
    "NO-EVICT (ON|OFF)",
    "    Whether this connection is spared when memory of clients is taken back.",
    "PAUSE <milliseconds> [WRITE|ALL]",
    "    Lets the commands of all clients, or those that write, wait that long.",
    "REPLY (ON|OFF|SKIP)",
    "    Whether replies are sent: again, no more, or not for the next command.",
    "SETNAME <name>",
    "    Names the connection.",
    "TRACKING (ON|OFF) [REDIRECT <id>] [BCAST] [PREFIX <prefix> ...] [OPTIN] [OPTOUT] [NOLOOP]",
    "    Whether this connection is told when what it has read changes.",
    "TRACKINGINFO",
    "    How this connection's keys are tracked.",
    "UNBLOCK <id> [TIMEOUT|ERROR]",
    "    Ends the wait of a client that is blocked in a command.",
    "UNPAUSE",
    "    Ends a pause at once.",
    NULL};

static void client_help_command(struct call *call) { reply_help(call, help_lines); }

static const struct subcommand subcommands[] = {
    {"help", 2, 2, client_help_command},
    {"id", 2, 2, client_id_command},
    {"info", 2, 2, client_info_command},
    {"list", 2, INT32_MAX, client_list_command},
    {"reply", 3, 3, client_reply_command},
    {"no-evict", 3, 3, client_no_evict_command},
    {"kill", 2, INT32_MAX, client_kill_command},
    {"unblock", 3, 4, client_unblock_command},
    {"setname", 3, 3, client_setname_command},
    {"getname", 2, 2, client_getname_command},
    {"unpause", 2, 2, client_unpause_command},
    {"pause", 3, 4, client_pause_command},
    {"tracking", 3, INT32_MAX, client_tracking_command},
    {"caching", 3, INT32_MAX, client_caching_command},
    {"getredir", 2, 2, client_getredir_command},
    {"trackinginfo", 2, 2, client_trackinginfo_command},
};

static void command_client(struct call *call) {
    subcommand_run(call, subcommands, sizeof(subcommands) / sizeof(subcommands[0]));
}

/* ---- MONITOR and RESET ---- */

static void command_monitor(struct call *call) {
    if (!client_may_wait(call->client)) {
        reply_error(call->client, "MONITOR isn't allowed for DENY BLOCKING client");
        return;
    }
    if (monitor_add(call->client)) reply_ok(call->client);
}

static void command_reset(struct call *call) {
    struct client *c = call->client;
    if (c->flags & CLIENT_STREAMED) { /* a replica, or the primary */
        reply_error(c, "can only reset normal client connections");
        return;
    }
    transaction_end(c);
    tracking_stop(c);
    monitor_remove(c);
    pubsub_unsubscribe_all(c, false);
    reply_set_off(c, false);
    reply_skip_next(c, false);
    client_set_no_evict(c, false);
    client_reset_flags(c);
    acl_reset(c);
    c->database = 0;
    c->protocol = 2;
    client_set_name(c, SLICE(""));
    reply_status(c, "RESET");
}

/* ---- rows ---- */

static struct command rows[] = {
    COMMAND("client", command_client, -2, ADMIN | BY_CHANCE | NO_SCRIPT | ANYTIME, ACL_CONNECTION,
            NO_KEYS, "Lists, names, pauses and disconnects clients."),
    COMMAND("monitor", command_monitor, 1, ADMIN | NO_SCRIPT | ANYTIME, NO_CATEGORY, NO_KEYS,
            "Sends a line for each command that any client runs."),
    COMMAND("reset", command_reset, 1,
            FAST | NO_SCRIPT | ANYTIME | COMMAND_UNQUEUED | COMMAND_ENDS_TRANSACTION |
                COMMAND_FOR_SUBSCRIBERS | COMMAND_WHILE_BUSY,
            ACL_CONNECTION, NO_KEYS, "Resets the connection to the state of a new one."),
};

void commands_client_register(void) { command_register(COMMAND_ROWS(rows)); }
