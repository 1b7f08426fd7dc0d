/* SPDX-License-Identifier: BSD-3-Clause
 * Commands about the connection itself. The rows stand at the end.
 */
#include "commands/connection.h"

#include "access/acl.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/version.h"
#include "command/arguments.h"
#include "command/call.h"
#include "command/command.h"
#include "command/row.h"
#include "exec/client_flags.h"
#include "net/client.h"
#include "net/reply.h"
#include "store/keyspace.h"

#define WEB_WARNING_MSEC 60000

/* For HELLO: commands_connection_open. */
static const char *mode_of_server;
static const char *(*role_of_server)(void);

static void command_ping(struct call *call) {
    if (call->argc > 2) {
        reply_error_format(call->client, "wrong number of arguments for '%s' command",
                           call->command->name);
    } else if (call->client->flags & CLIENT_LISTENS && call->client->protocol == 2) {
        reply_array(call->client, 2); /* in the form of a message */
        reply_bulk_c_string(call->client, "pong");
        reply_bulk(call->client, call->argc == 2 ? call->argv[1] : SLICE(""));
    } else if (call->argc == 2) {
        reply_bulk(call->client, call->argv[1]);
    } else {
        reply_status(call->client, "PONG");
    }
}

static void command_echo(struct call *call) { reply_bulk(call->client, call->argv[1]); }

static void command_quit(struct call *call) {
    reply_ok(call->client);
    client_close_after_reply(call->client);
}

static void command_select(struct call *call) {
    int64_t index;
    if (!argument_int64_between(call, 1, INT32_MIN, INT32_MAX, &index)) return;
    if (index != 0 && keyspace_is_of_cluster()) {
        reply_error(call->client, "SELECT is not allowed in cluster mode");
        return;
    }
    if (index < 0 || index >= keyspace_databases()) {
        reply_error(call->client, "DB index is out of range");
        return;
    }
    call->client->database = (int)index;
    reply_ok(call->client);
}

static int64_t web_warned_msec; /* when a warning was last logged; 0 = never */

/* Closes the connection of a web browser that was made to speak to this server (cross-protocol
 * scripting): the lines of its request are commands here, and this is one that no client sends.
 * Logged once a minute at most, so that such a page cannot fill the disk. */
static void command_web_request(struct call *call) {
    int64_t now = clock_cached_msec();
    if (!web_warned_msec || now - web_warned_msec > WEB_WARNING_MSEC || now < web_warned_msec) {
        web_warned_msec = now;
        log_warning(
            "Possible SECURITY ATTACK detected: a client sends %s as a web browser would. The "
            "connection is closed.",
            call->command->name);
    }
    client_close_later(call->client);
}

/* ---- AUTH and HELLO ---- */

/* Makes the client that user; false after an error reply. */
static bool authenticate_client(struct call *call, struct slice user, struct slice password) {
    enum acl_context context =
        client_in_transaction(call->client) ? ACL_IN_TRANSACTION : ACL_TOPLEVEL;
    if (acl_authenticate(call->client, user, password, call->argv[0], context)) return true;
    reply_error(call->client, "-WRONGPASS invalid username-password pair or user is disabled.");
    return false;
}

static void command_auth(struct call *call) {
    if (call->argc > 3) {
        reply_syntax_error(call->client);
        return;
    }
    if (call->argc == 2 && !acl_default_has_password()) {
        reply_error(call->client,
                    "AUTH <password> called without any password configured for the default user. "
                    "Are you sure your configuration is correct?");
        return;
    }
    struct slice user = call->argc == 3 ? call->argv[1] : SLICE("default");
    if (authenticate_client(call, user, call->argv[call->argc - 1])) reply_ok(call->client);
}

static bool auth_is_secret(const struct call *call, int index) { return index > 0; }

/* False after an error reply. */
static bool check_name(struct call *call, struct slice name) {
    if (argument_is_client_name(name)) return true;
    reply_error(call->client,
                "Client names cannot contain spaces, newlines or special characters.");
    return false;
}

/* Applies the words after HELLO's version, each as it is reached: as in 6.2, words before a fault
 * stay applied. But SETNAME waits for AUTH, because an unauthenticated client must not get a name
 * that is kept and shown in lists and logs. False after an error reply. */
static bool hello_options(struct call *call) {
    int awaited = 0; /* the argument of a name that waits for AUTH; 0 = none */
    for (int i = 2; i < call->argc; i++) {
        int more = call->argc - 1 - i;
        if (more >= 2 && argument_is(call, i, "auth")) {
            if (!authenticate_client(call, call->argv[i + 1], call->argv[i + 2])) return false;
            if (awaited) client_set_name(call->client, call->argv[awaited]);
            awaited = 0;
            i += 2;
        } else if (more >= 1 && argument_is(call, i, "setname")) {
            if (!check_name(call, call->argv[i + 1])) return false;
            if (client_flags(call->client, &acl_client_state) & ACL_STRANGER)
                awaited = i + 1;
            else
                client_set_name(call->client, call->argv[i + 1]);
            i++;
        } else {
            reply_error_format(call->client, "Syntax error in HELLO option '%.*s'",
                               (int)call->argv[i].length, call->argv[i].bytes);
            return false;
        }
    }
    return true;
}

/* User and password behind AUTH are secrets, whatever else is wrong with the call. */
static bool hello_is_secret(const struct call *call, int index) {
    for (int i = 2; i < index; i++) {
        if (argument_is(call, i, "auth")) {
            if (index <= i + 2) return true;
            i += 2;
        } else if (argument_is(call, i, "setname")) {
            i++;
        }
    }
    return false;
}

static void hello_reply(struct client *c) {
    reply_map(c, role_of_server ? 7 : 6);
    reply_bulk_c_string(c, "server");
    reply_bulk_c_string(c, "redis");
    reply_bulk_c_string(c, "version");
    reply_bulk_c_string(c, REDIS_VERSION);
    reply_bulk_c_string(c, "proto");
    reply_integer(c, c->protocol);
    reply_bulk_c_string(c, "id");
    reply_integer(c, (int64_t)c->id);
    reply_bulk_c_string(c, "mode");
    reply_bulk_c_string(c, mode_of_server);
    if (role_of_server) {
        reply_bulk_c_string(c, "role");
        reply_bulk_c_string(c, role_of_server());
    }
    reply_bulk_c_string(c, "modules");
    reply_array(c, 0);
}

static void command_hello(struct call *call) {
    struct client *c = call->client;
    int64_t version = c->protocol;
    if (call->argc > 1) {
        if (!argument_int64(call, 1, &version,
                            "Protocol version is not an integer or out of range"))
            return;
        if (version < 2 || version > 3) {
            reply_error(c, "-NOPROTO unsupported protocol version");
            return;
        }
    }
    if (!hello_options(call)) return;
    if (client_flags(c, &acl_client_state) & ACL_STRANGER) {
        reply_error(c,
                    "-NOAUTH HELLO must be called with the client already authenticated, "
                    "otherwise the HELLO AUTH <user> <pass> option can be used to authenticate "
                    "the client and select the RESP protocol version at the same time");
        return;
    }
    c->protocol = (uint8_t)version;
    hello_reply(c);
}

/* ---- rows ---- */

static struct command rows[] = {
    COMMAND("ping", command_ping, -1, COMMAND_STALE | FAST | COMMAND_FOR_SUBSCRIBERS,
            ACL_CONNECTION, NO_KEYS, "Answers PONG, or the given text."),
    COMMAND("echo", command_echo, 2, FAST, ACL_CONNECTION, NO_KEYS, "Answers the given text."),
    COMMAND("select", command_select, 2, ANYTIME | FAST, ACL_KEYSPACE, NO_KEYS,
            "Selects a database."),
    COMMAND("auth", command_auth, -2,
            NO_SCRIPT | ANYTIME | FAST | COMMAND_NO_AUTH | COMMAND_WHILE_BUSY, ACL_CONNECTION,
            NO_KEYS, "Authenticates the connection.", .is_secret = auth_is_secret),
    COMMAND("hello", command_hello, -1,
            NO_SCRIPT | ANYTIME | FAST | COMMAND_NO_AUTH | COMMAND_WHILE_BUSY, ACL_CONNECTION,
            NO_KEYS, "Chooses the protocol, 2 or 3; may authenticate and name the connection.",
            .is_secret = hello_is_secret),
    COMMAND("post", command_web_request, -1, READ | ANYTIME, NO_CATEGORY, NO_KEYS,
            "Not a command: closes the connection."),
    COMMAND("host:", command_web_request, -1, READ | ANYTIME, NO_CATEGORY, NO_KEYS,
            "Not a command: closes the connection."),
    COMMAND("quit", command_quit, -1,
            NO_SCRIPT | ANYTIME | FAST | COMMAND_NO_AUTH | COMMAND_UNLISTED | COMMAND_UNQUEUED |
                COMMAND_ENDS_TRANSACTION | COMMAND_FOR_SUBSCRIBERS | COMMAND_WHILE_BUSY,
            ACL_CONNECTION, NO_KEYS, "Answers OK and closes the connection."),
};

void commands_connection_register(void) { command_register(COMMAND_ROWS(rows)); }

void commands_connection_open(const char *mode, const char *(*role)(void)) {
    mode_of_server = mode;
    role_of_server = role;
}
