/* SPDX-License-Identifier: BSD-3-Clause
 * Gates. gates.h has the idea, the table below the rules.
 *
 * A gate is asked where its bit is on and the call's origin is one of its row's. EXEC is stopped by
 * whatever would stop any of the commands that it is to run; these themselves have passed the gates
 * when they were queued, and only their client's rights are asked again.
 *
 * What a primary has done is done, and what stands in the log was: neither is refused anything.
 */
#include "exec/gates.h"

#include <stdarg.h>
#include <string.h>

#include "access/acl.h"
#include "command/call.h"
#include "command/command.h"
#include "exec/memory_limit.h"
#include "exec/pause.h"
#include "exec/transaction.h"
#include "net/batch.h"
#include "net/reply.h"

/* How much of a request an error shows: as 6.2. */
#define UNKNOWN_SHOWN_BYTES 128
#define TOUCHES_KEYS (COMMAND_READONLY | COMMAND_WRITE | COMMAND_MAY_REPLICATE)
/* Of these two a client that may run everything has the first alone. */
#define FREE (CLIENT_AUTHENTICATED | CLIENT_LIMITED)

#define FROM(origin) (1u << (origin))
#define NETWORK FROM(CALL_NETWORK)
#define QUEUED FROM(CALL_QUEUED)
#define PRIMARY FROM(CALL_PRIMARY)
#define CODE (FROM(CALL_SCRIPT) | FROM(CALL_MODULE)) /* scripts and modules */

struct gate_row {
    const char *name;
    unsigned origins;
    bool (*stops)(const struct call *call); /* NULL: always */
    const char *refusal; /* as reply_error has it; NULL: `stop` does all, or nothing is said */
    enum gate_verdict (*stop)(const struct call *call);
};

unsigned gates_on;
static const char *refusals[GATES]; /* instead of the rows'; see gate_set_refusal */
static gate_serves *serves;

void gate_set(enum gate gate, bool on) {
    gates_on = on ? gates_on | 1u << gate : gates_on & ~(1u << gate);
}

bool gate_is_set(enum gate gate) { return gates_on & 1u << gate; }

void gate_set_refusal(enum gate gate, const char *text) { refusals[gate] = text; }

void gates_set_cluster(gate_serves *how) {
    serves = how;
    gate_set(GATE_CLUSTER, how != NULL);
}

/* ---- refusing ---- */

/* Replies the text, counts the call as rejected, and makes the client's transaction fail. */
static __attribute__((format(printf, 2, 3))) enum gate_verdict refuse(const struct call *call,
                                                                      const char *format, ...) {
    struct client *c = call->client;
    struct command *command = call->command;
    struct buffer text;
    va_list arguments;
    buffer_init(&text, MEMORY_OTHER);
    va_start(arguments, format);
    buffer_vprintf(&text, format, arguments);
    va_end(arguments);
    if (command) command->rejected_calls++;
    if (c->flags & CLIENT_TRANSACTION) c->flags |= CLIENT_QUEUE_FAILED;
    if (command && command->flags & COMMAND_EXECUTES) {
        transaction_end(c);
        reply_error_format(c, "-EXECABORT Transaction discarded because of: %s",
                           text.bytes + (text.bytes[0] == '-'));
    } else {
        reply_error(c, text.bytes);
    }
    buffer_free(&text);
    return GATE_REFUSED;
}

static enum gate_verdict refuse_unknown(const struct call *call) {
    struct buffer shown;
    buffer_init(&shown, MEMORY_OTHER);
    for (int i = 1; i < call->argc && shown.length < UNKNOWN_SHOWN_BYTES; i++) {
        size_t room = UNKNOWN_SHOWN_BYTES - shown.length;
        size_t length = call->argv[i].length < room ? call->argv[i].length : room;
        buffer_printf(&shown, "`%.*s`, ", (int)length, call->argv[i].bytes);
    }
    size_t length = call->argv[0].length;
    refuse(call, "unknown command `%.*s`, with args beginning with: %s", (int)length,
           call->argv[0].bytes, shown.length ? shown.bytes : "");
    buffer_free(&shown);
    return GATE_REFUSED;
}

/* ---- who ---- */

/* What EXEC replies of a command that is denied only now: the rules may have changed since it was
 * queued. */
static enum gate_verdict refuse_queued(const struct call *call, enum acl_denial denial) {
    static const char *const reasons[] = {
        [ACL_DENIED_COMMAND] = "no permission to execute the command or subcommand",
        [ACL_DENIED_KEY] = "no permission to touch the specified keys",
        [ACL_DENIED_CHANNEL] = "no permission to access one of the channels used as arguments"};
    reply_error_format(call->client,
                       "-NOPERM ACLs rules changed between the moment the transaction was "
                       "accumulated and the EXEC call. This command is no longer allowed for the "
                       "following reason: %s",
                       reasons[denial]);
    return GATE_REFUSED;
}

/* As acl_admits says; the words are 6.2's. */
static enum gate_verdict ask_user(const struct call *call) {
    struct client *c = call->client;
    if (!(c->flags & CLIENT_AUTHENTICATED) && client_authentication_required() &&
        !(call->command->flags & COMMAND_NO_AUTH) && call->origin == CALL_NETWORK)
        return refuse(call, "-NOAUTH Authentication required.");
    enum acl_denial denial = acl_admits(c, call->command, call->argc, call->argv);
    if (denial == ACL_ALLOWED) return GATE_OPEN;
    if (call->origin == CALL_QUEUED) return refuse_queued(call, denial);
    if (denial == ACL_DENIED_COMMAND)
        return refuse(call,
                      "-NOPERM this user has no permissions to run the '%s' command or its "
                      "subcommand",
                      call->command->name);
    return refuse(call,
                  "-NOPERM this user has no permissions to access one of the %s used as arguments",
                  denial == ACL_DENIED_KEY ? "keys" : "channels");
}

/* Unlike all others it is answered as it is to EXEC, too: clients follow a redirection. */
static enum gate_verdict ask_cluster(const struct call *call) {
    struct client *c = call->client;
    struct buffer refusal;
    buffer_init(&refusal, MEMORY_OTHER);
    bool served = serves(call, &refusal);
    if (!served) {
        call->command->rejected_calls++;
        if (call->command->flags & COMMAND_EXECUTES)
            transaction_end(c);
        else if (c->flags & CLIENT_TRANSACTION)
            c->flags |= CLIENT_QUEUE_FAILED;
        reply_error_slice(c, buffer_slice(&refusal));
    }
    buffer_free(&refusal);
    return served ? GATE_OPEN : GATE_REFUSED;
}

/* ---- what ---- */

/* Of the command; of EXEC with those of all that is queued. */
static unsigned flags_of(const struct call *call) {
    unsigned flags = call->command->flags;
    return flags & COMMAND_EXECUTES ? flags | transaction_flags(call->client) : flags;
}

/* The same of flags that are not there. */
static unsigned lacking_of(const struct call *call) {
    unsigned flags = call->command->flags;
    return flags & COMMAND_EXECUTES ? ~flags | transaction_flags_lacking(call->client) : ~flags;
}

static bool writes(const struct call *call) { return flags_of(call) & COMMAND_WRITE; }

/* In a transaction all that is queued takes memory, and EXEC where anything queued does. Room is
 * made for any call, as in 6.2. */
static bool lacks_memory(const struct call *call) {
    if (memory_limit_make_room()) return false;
    bool queues = call->client->flags & CLIENT_TRANSACTION;
    if (queues && !(call->command->flags & COMMAND_EXECUTES))
        return !(call->command->flags & COMMAND_ENDS_TRANSACTION);
    return flags_of(call) & COMMAND_DENYOOM;
}

/* PING tells a client's health check of it. */
static bool may_not_be_saved(const struct call *call) {
    return writes(call) ||
           (call->origin == CALL_NETWORK && strcmp(call->command->name, "ping") == 0);
}

static bool not_for_subscribers(const struct call *call) {
    return call->client->protocol == 2 && !(call->command->flags & COMMAND_FOR_SUBSCRIBERS);
}

static enum gate_verdict refuse_subscriber(const struct call *call) {
    return refuse(call,
                  "Can't execute '%s': only (P)SUBSCRIBE / (P)UNSUBSCRIBE / PING / QUIT / RESET "
                  "are allowed in this context",
                  call->command->name);
}

static bool not_for_stale(const struct call *call) { return lacking_of(call) & COMMAND_STALE; }

static bool not_while_loading(const struct call *call) {
    return lacking_of(call) & COMMAND_LOADING;
}

static bool argument_begins(const struct call *call, char letter) {
    return call->argc == 2 && call->argv[1].length && (call->argv[1].bytes[0] | 0x20) == letter;
}

/* What ends a script must run, and what a connection needs to get as far as that: 6.2 looks at the
 * first letter of SHUTDOWN NOSAVE and SCRIPT KILL alone. */
static bool not_while_busy(const struct call *call) {
    const char *name = call->command->name;
    if (call->command->flags & COMMAND_WHILE_BUSY) return false;
    if (strcmp(name, "shutdown") == 0) return !argument_begins(call, 'n');
    return strcmp(name, "script") != 0 || !argument_begins(call, 'k');
}

static bool touches_keys(const struct call *call) { return flags_of(call) & TOUCHES_KEYS; }

/* ---- what waits ---- */

static bool is_paused(const struct call *call) {
    return pause_refuses(call->client, flags_of(call));
}

static enum gate_verdict hold(const struct call *call) {
    pause_hold(call->request);
    return GATE_HELD;
}

static bool is_queued(const struct call *call) {
    return !(call->command->flags & COMMAND_UNQUEUED);
}

static enum gate_verdict queue(const struct call *call) {
    transaction_queue(call->request);
    return GATE_QUEUED;
}

/* ---- the gates ---- */

static const struct gate_row rows[] = {
    [GATE_USER] = {"user", NETWORK | QUEUED | CODE, NULL, NULL, ask_user},
    [GATE_CLUSTER] = {"cluster", NETWORK | CODE, NULL, NULL, ask_cluster},
    /* scripts are asked once, before they begin */
    [GATE_MEMORY] = {"memory", NETWORK, lacks_memory,
                     "-OOM command not allowed when used memory > 'maxmemory'.", NULL},
    [GATE_DISK] =
        {"disk", NETWORK | CODE, may_not_be_saved,
         "-MISCONF Redis is configured to save RDB snapshots, but it is currently not able to "
         "persist "
         "on disk. Commands that may modify the data set are disabled, because this instance is "
         "configured to report errors during writes if RDB snapshotting fails "
         "(stop-writes-on-bgsave-error option). Please check the Redis logs for details about the "
         "RDB "
         "error.",
         NULL},
    [GATE_REPLICAS] = {"replicas", NETWORK | CODE, writes,
                       "-NOREPLICAS Not enough good replicas to write.", NULL},
    [GATE_READ_ONLY] = {"read-only", NETWORK | CODE, writes,
                        "-READONLY You can't write against a read only replica.", NULL},
    [GATE_CLOSING] = {"closing", NETWORK, NULL, NULL, NULL}, /* it was too large */
    [GATE_SUBSCRIBER] = {"subscriber", NETWORK, not_for_subscribers, NULL, refuse_subscriber},
    [GATE_STALE] =
        {"stale", NETWORK, not_for_stale,
         "-MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.", NULL},
    [GATE_LOADING] = {"loading", NETWORK, not_while_loading,
                      "-LOADING Redis is loading the dataset in memory", NULL},
    [GATE_BUSY] =
        {"busy", NETWORK, not_while_busy,
         "-BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
         NULL},
    /* 6.2 lists it as a replica */
    [GATE_MONITOR] = {"monitor", NETWORK, touches_keys, "Replica can't interract with the keyspace",
                      NULL},
    [GATE_PAUSE] = {"pause", NETWORK | PRIMARY, is_paused, NULL, hold},
    [GATE_QUEUE] = {"queue", NETWORK | PRIMARY, is_queued, NULL, queue},
};
_Static_assert(sizeof(rows) / sizeof(rows[0]) == GATES, "a row a gate");

/* The gates that matter for a client's call. */
static unsigned gates_of(const struct client *c) {
    unsigned flags = c->flags & GATE_CLIENT_FLAGS;
    unsigned on = gates_on | (flags & CLIENT_TRANSACTION ? 1u << GATE_QUEUE : 0);
    flags &= ~(unsigned)CLIENT_TRANSACTION;
    if (flags == CLIENT_AUTHENTICATED) return on;
    if ((flags & FREE) != CLIENT_AUTHENTICATED) on |= 1u << GATE_USER;
    if (flags & CLIENT_CLOSING) on |= 1u << GATE_CLOSING;
    if (flags & CLIENT_SUBSCRIBED) on |= 1u << GATE_SUBSCRIBER;
    if (flags & CLIENT_MONITOR) on |= 1u << GATE_MONITOR;
    return on;
}

static enum gate_verdict ask(enum gate gate, const struct call *call) {
    const struct gate_row *row = &rows[gate];
    if (!(row->origins & FROM(call->origin))) return GATE_OPEN;
    if (row->stops && !row->stops(call)) return GATE_OPEN;
    if (row->stop) return row->stop(call);
    const char *text = refusals[gate] ? refusals[gate] : row->refusal;
    return text ? refuse(call, "%s", text) : GATE_REFUSED;
}

static __attribute__((noinline)) enum gate_verdict ask_all(const struct call *call) {
    const struct client *c = call->client;
    if (!call->command) return refuse_unknown(call);
    if (!command_arity_fits(call->command, call->argc))
        return refuse(call, "wrong number of arguments for '%s' command", call->command->name);
    /* Asking may change what is on: making room closes clients, the call's own, too. */
    unsigned passed = 0;
    for (unsigned left; (left = gates_of(c) & ~passed) != 0;) {
        enum gate gate = (enum gate)__builtin_ctz(left);
        enum gate_verdict verdict = ask(gate, call);
        if (verdict != GATE_OPEN) return verdict;
        passed |= (2u << gate) - 1;
    }
    return GATE_OPEN;
}

/* In a transaction mostly nothing but the queue is on: it gets the same answer at less cost. */
enum gate_verdict gates_ask(const struct call *call) {
    const struct command *command = call->command;
    unsigned usual = CLIENT_AUTHENTICATED | CLIENT_TRANSACTION;
    bool only_queue = !gates_on && (call->client->flags & GATE_CLIENT_FLAGS) == usual;
    if (!only_queue || !command || !command_arity_fits(command, call->argc)) return ask_all(call);
    bool asked = rows[GATE_QUEUE].origins & FROM(call->origin);
    return asked && is_queued(call) ? queue(call) : GATE_OPEN;
}
