/* SPDX-License-Identifier: BSD-3-Clause
 * Turns within a command: who is served in them, who is not, and what is left when all is over. The
 * command `within` stands for a slow script: before each of its turns the test has its say.
 */
#include "exec/run.h"

#include "server/whole.h"

#include "aof/aof.h"
#include "command/call.h"
#include "command/command.h"
#include "command/row.h"
#include "exec/blocked.h"
#include "exec/effects.h"
#include "exec/pause.h"
#include "exec/transaction.h"
#include "publish/pubsub.h"
#include "script/gates.h"
#include "store/expire.h"
#include "store/limbo.h"

/* ---- the command ---- */

static int turns;               /* that it makes */
static void (*say)(int turn);   /* before each, and once more after the last */
static int nested, nested_most; /* of such commands within each other */

static void command_within(struct call *call) {
    if (++nested > nested_most) nested_most = nested;
    for (int i = 0; i < turns; i++) {
        if (say) say(i);
        assert_true(run_turn_within());
        assert_ptr_equal(call_running(), call);
        assert_true(limbo_is_open());
    }
    if (say) say(turns);
    nested--;
    reply_status(call->client, "OVER");
}

static struct command rows[] = {
    COMMAND("within", command_within, -1, COMMAND_READONLY, NO_CATEGORY, NO_KEYS,
            "Turns the loop."),
};

static struct peer runs, other, third;

/* Without a turn of the loop. */
static void send_line(struct peer *p, const char *line) {
    assert_int_equal(peer_try_send(p, line, strlen(line)), strlen(line));
}

static void assert_has(struct peer *p, const char *wanted) {
    peer_receive(p, SIZE_MAX);
    peer_assert_got(p, slice_of(wanted));
}

static void ask(struct peer *p, const char *line, const char *wanted) {
    peer_send(p, slice_of(line));
    assert_has(p, wanted);
}

/* The client of `runs` sends these lines; `within` stands among them. */
static void run_within(int count, void (*what)(int turn), const char *lines, const char *replies) {
    turns = count;
    say = what;
    nested_most = 0;
    ask(&runs, lines, replies);
    say = NULL;
}

/* ---- who is served ---- */

static void ping_is_answered(int turn) {
    if (turn == 0) send_line(&other, "PING\r\n");
    if (turn == 1) assert_has(&other, "+PONG\r\n");
}

static void test_others_are_served(void **state) {
    run_within(1, ping_is_answered, "within\r\n", "+OVER\r\n");
}

static void gate_refuses(int turn) {
    gate_set(&script_gate_busy, turn == 0);
    if (turn == 0) send_line(&other, "GET k\r\n");
    if (turn == 1)
        assert_has(&other,
                   "-BUSY Redis is busy running a script. You can only call SCRIPT KILL or "
                   "SHUTDOWN NOSAVE.\r\n");
}

static void test_gate_refuses(void **state) {
    run_within(1, gate_refuses, "within\r\n", "+OVER\r\n");
}

static struct peer fresh;
#define HANDSHAKE_TURNS 4 /* of a client behind a transport; others need one */

static void client_comes(int turn) {
    if (turn == 0) {
        fresh = peer_connect();
        send_line(&fresh, "PING\r\n");
    }
    if (turn == HANDSHAKE_TURNS) assert_has(&fresh, "+PONG\r\n");
}

static void test_client_that_comes(void **state) {
    run_within(HANDSHAKE_TURNS, client_comes, "within\r\n", "+OVER\r\n");
    ask(&fresh, "PING\r\n", "+PONG\r\n");
    peer_close(&fresh);
}

/* A client comes, sends `visit`, and goes: so many turns, and so often. */
#define VISIT_TURNS 20
#define VISITS 10
/* So many commands in a queue, or channels: both are freed in several steps. */
#define VISIT_COMMANDS 3000

static struct buffer visit = {.class = MEMORY_OTHER};
static size_t bytes_during_visit, bytes_after_visit; /* of the first one */

static void client_comes_and_goes(int turn) {
    if (turn % VISIT_TURNS == 1) {
        fresh = peer_connect();
        assert_int_equal(peer_try_send(&fresh, visit.bytes, visit.length), visit.length);
    } else if (turn > 0 && turn % VISIT_TURNS == VISIT_TURNS / 2) {
        if (!bytes_during_visit) bytes_during_visit = memory_used_total();
        close(fresh.fd);
    } else if (turn > 0 && turn % VISIT_TURNS == 0) {
        assert_false(peer_is_served(&fresh));
        if (!bytes_after_visit) bytes_after_visit = memory_used_total();
        assert_true(bytes_during_visit > bytes_after_visit);
        assert_in_range(memory_used_total(), 0, (bytes_during_visit + bytes_after_visit) / 2);
    }
}

static void assert_visits_leave_nothing(void) {
    bytes_during_visit = bytes_after_visit = 0;
    run_within(VISITS * VISIT_TURNS, client_comes_and_goes, "within\r\n", "+OVER\r\n");
    buffer_free(&visit);
}

/* However long the command takes, clients that came after it had begun take nothing once they are
 * gone: neither half a request nor a queue nor subscriptions. */
static void test_clients_that_come_and_go(void **state) {
    peers_do_not_cut();
    buffer_append_c_string(&visit, "*2\r\n$4\r\nECHO\r\n$30000\r\n");
    for (int i = 0; i < 20000; i++) buffer_append_char(&visit, 'x');
    assert_visits_leave_nothing();
    buffer_append_c_string(&visit, "MULTI\r\n");
    for (int i = 0; i < VISIT_COMMANDS; i++) buffer_append_c_string(&visit, "PING\r\n");
    assert_visits_leave_nothing();
    buffer_append_c_string(&visit, "SUBSCRIBE");
    for (int i = 0; i < VISIT_COMMANDS; i++) buffer_printf(&visit, " %d", i);
    buffer_append_c_string(&visit, "\r\n");
    assert_visits_leave_nothing();
}

/* The request of a client that has gone stands in the batch around the turns. */
static void goes_before_its_request(int turn) {
    if (turn == 0) client_close_later(other.client);
    if (turn == 1) assert_false(peer_is_served(&other));
}

static void test_client_that_stands_in_the_batch_goes(void **state) {
    peers_need_one_thread();
    peers_do_not_cut();
    send_line(&runs, "within\r\n");
    send_line(&other, "SET gone 1\r\n");
    run_within(3, goes_before_its_request, "PING\r\n", "+OVER\r\n+PONG\r\n");
    ask(&third, "GET gone\r\n", "$-1\r\n");
}

/* What the same client sends waits, and comes in order. */
static void sends_more(int turn) {
    if (turn < 3) send_line(&runs, turn == 1 ? "INCR n\r\n" : "PING\r\n");
    if (turn == 3) assert_has(&runs, "");
}

static void test_same_client_waits(void **state) {
    run_within(3, sends_more, "PING\r\nwithin\r\nINCR n\r\n",
               "+PONG\r\n+OVER\r\n:1\r\n+PONG\r\n:2\r\n+PONG\r\n");
}

/* No timer would end it before the command does. */
static void pause_begins(int turn) {
    if (turn == 0) send_line(&other, "CLIENT PAUSE 100000\r\n");
    if (turn == 1) {
        assert_has(&other, "+OK\r\n");
        send_line(&other, "INCR n\r\n");
        send_line(&third, "PING\r\n");
    }
    if (turn != 2) return;
    assert_has(&other, ":1\r\n");
    assert_has(&third, "+PONG\r\n");
}

static void test_pause_begins_within(void **state) {
    run_within(2, pause_begins, "within\r\n", "+OVER\r\n");
    peer_send(&third, SLICE("INCR n\r\n"));
    assert_has(&third, "");
    pause_end();
    peers_turns();
    assert_has(&third, ":2\r\n");
}

/* What may end a script is not held by a disk that is slow; who would add to the log is. */
static void log_is_full(int turn) {
    if (turn == 0) {
        gate_set(&aof_gate, true);
        send_line(&other, "SCRIPT KILL\r\n");
        send_line(&third, "INCR n\r\n");
    }
    if (turn != 2) return;
    assert_has(&other, "-NOTBUSY No scripts in execution right now.\r\n");
    assert_has(&third, "");
    gate_set(&aof_gate, false);
}

static void test_log_is_full_within(void **state) {
    run_within(2, log_is_full, "within\r\n", "+OVER\r\n");
}

/* ---- requests that were read before ---- */

#define PIPELINE 500
static struct buffer pipeline = {.class = MEMORY_OTHER}, pipeline_replies = {.class = MEMORY_OTHER};

/* As an array: inline requests of several clients may be run apart. */
static void append_request(struct buffer *out, const char *command, const char *argument) {
    buffer_printf(out, "*%d\r\n$%zu\r\n%s\r\n", argument ? 2 : 1, strlen(command), command);
    if (argument) buffer_printf(out, "$%zu\r\n%s\r\n", strlen(argument), argument);
}

static void send_buffer(struct peer *p, const struct buffer *bytes) {
    assert_int_equal(peer_try_send(p, bytes->bytes, bytes->length), bytes->length);
}

static void make_pipeline(void) {
    buffer_clear(&pipeline);
    buffer_clear(&pipeline_replies);
    for (int i = 0; i < PIPELINE; i++) {
        char number[16];
        snprintf(number, sizeof(number), "%d", i);
        append_request(&pipeline, "ECHO", number);
        int digits = i < 10 ? 1 : i < 100 ? 2 : 3;
        buffer_printf(&pipeline_replies, "$%d\r\n%d\r\n", digits, i);
    }
}

/* Those that stand behind in the same batch are answered; what could not be parsed yet comes when
 * the command is over, and what is sent meanwhile behind that. */
static void answered_behind(int turn) {
    if (turn == 0) {
        assert_has(&other, "");
        send_line(&other, "*2\r\n$4\r\nECHO\r\n$4\r\nlast\r\n");
    }
    if (turn != 1) return;
    peer_receive(&other, SIZE_MAX);
    assert_true(other.got.length > 0 && other.got.length < pipeline_replies.length);
    assert_memory_equal(other.got.bytes, pipeline_replies.bytes, other.got.length);
}

static void test_pipeline_behind(void **state) {
    struct buffer lines = {.class = MEMORY_OTHER};
    make_pipeline();
    append_request(&lines, "PING", NULL);
    append_request(&lines, "within", NULL);
    turns = 3;
    say = answered_behind;
    send_buffer(&runs, &lines);
    send_buffer(&other, &pipeline);
    peers_turns();
    buffer_free(&lines);
    say = NULL;
    assert_has(&runs, "+PONG\r\n+OVER\r\n");
    buffer_append_c_string(&pipeline_replies, "$4\r\nlast\r\n");
    peer_receive(&other, SIZE_MAX);
    peer_assert_got(&other, buffer_slice(&pipeline_replies));
}

static void test_own_pipeline_behind(void **state) {
    struct buffer lines = {.class = MEMORY_OTHER}, replies = {.class = MEMORY_OTHER};
    make_pipeline();
    buffer_append_c_string(&lines, "within\r\n");
    buffer_append(&lines, pipeline.bytes, pipeline.length);
    buffer_append_c_string(&lines, "within\r\n");
    buffer_append_char(&lines, 0);
    buffer_append_c_string(&replies, "+OVER\r\n");
    buffer_append(&replies, pipeline_replies.bytes, pipeline_replies.length);
    buffer_append_c_string(&replies, "+OVER\r\n");
    buffer_append_char(&replies, 0);
    run_within(2, ping_is_answered, lines.bytes, replies.bytes);
    buffer_free(&lines);
    buffer_free(&replies);
}

/* A request whose arguments the nested turn has taken is not looked at again. */
static void test_transaction_behind(void **state) {
    struct buffer lines = {.class = MEMORY_OTHER};
    append_request(&lines, "MULTI", NULL);
    for (int i = 0; i < 2 * BATCH_GROUP; i++) append_request(&lines, "INCR", "n");
    append_request(&lines, "EXEC", NULL);
    turns = 2;
    send_line(&runs, "*1\r\n$6\r\nwithin\r\n");
    send_buffer(&other, &lines);
    peers_turns();
    assert_has(&runs, "+OVER\r\n");
    peer_receive(&other, SIZE_MAX);
    assert_true(other.got.length > 0);
    buffer_clear(&other.got);
    ask(&other, "GET n\r\n", "$2\r\n64\r\n");
    buffer_free(&lines);
}

/* ---- who closes ---- */

static uint64_t other_id;

static void other_closes(int turn) {
    if (turn == 0) {
        other_id = other.id;
        close(other.fd);
        other.fd = -1;
    }
    if (turn == 1) {
        assert_null(client_find(other_id));
        assert_false(pubsub_has_listeners()); /* it is finished */
    }
}

static void test_other_closes(void **state) {
    ask(&other, "SUBSCRIBE c\r\n", "*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n");
    run_within(2, other_closes, "within\r\n", "+OVER\r\n");
}

/* That is seen when its command is over. */
static void own_peer_closes(int turn) {
    if (turn == 0) {
        close(runs.fd);
        runs.fd = -1;
    }
    assert_non_null(client_find(runs.id));
}

static void test_own_peer_closes(void **state) {
    turns = 3;
    say = own_peer_closes;
    send_line(&runs, "within\r\n");
    peers_turns();
    say = NULL;
    assert_null(client_find(runs.id));
}

/* It is marked, and its command ends as if it were not. */
/* Its other end hears of it at once. */
static void other_is_killed(int turn) {
    char line[64];
    if (turn == 0) {
        snprintf(line, sizeof(line), "CLIENT KILL ID %llu\r\n", (unsigned long long)other.id);
        send_line(&third, line);
    }
    if (turn != 1) return;
    assert_has(&third, ":1\r\n");
    assert_has(&other, "");
    assert_true(other.ended);
}

static void test_other_is_killed(void **state) {
    run_within(1, other_is_killed, "within\r\n", "+OVER\r\n");
}

static void own_is_killed(int turn) {
    char line[64];
    if (turn == 0) {
        snprintf(line, sizeof(line), "CLIENT KILL ID %llu\r\n", (unsigned long long)runs.id);
        send_line(&other, line);
    }
    if (turn != 1) return;
    assert_has(&other, ":1\r\n");
    assert_null(client_find(runs.id));
    assert_true(runs.client->flags & CLIENT_CLOSING);
    assert_false(runs.client->flags & CLIENT_CLOSED);
}

static void test_own_is_killed(void **state) {
    run_within(3, own_is_killed, "PING\r\nwithin\r\nINCR n\r\n", "");
    assert_true(runs.ended);
    ask(&other, "EXISTS n\r\n", ":0\r\n");
}

static void test_own_is_killed_in_transaction(void **state) {
    ask(&runs, "MULTI\r\nSET n 1\r\nwithin\r\nINCR n\r\n",
        "+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n");
    run_within(3, own_is_killed, "EXEC\r\n", "");
    assert_true(runs.ended);
    ask(&other, "GET n\r\n", "$1\r\n2\r\n");
}

/* ---- what is within what ---- */

static void reads_and_writes(int turn) {
    if (turn == 0) send_line(&other, "GET k\r\nSET k theirs\r\nDEL k2\r\n");
    if (turn == 1) assert_has(&other, "$4\r\nours\r\n+OK\r\n:1\r\n");
}

static void test_within_transaction(void **state) {
    run_within(2, reads_and_writes,
               "MULTI\r\nSET k ours\r\nSET k2 x\r\nwithin\r\nGET k\r\nEXEC\r\n",
               "+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n*4\r\n+OK\r\n+OK\r\n+OVER\r\n"
               "$6\r\ntheirs\r\n");
}

static void goes_deeper(int turn) {
    struct peer *next = nested == 1 ? &other : &third;
    if (turn == 0 && nested < 3) send_line(next, "within\r\n");
}

static void test_deeper(void **state) {
    run_within(2, goes_deeper, "within\r\n", "+OVER\r\n");
    assert_int_equal(nested_most, 3);
    assert_has(&other, "+OVER\r\n");
    assert_has(&third, "+OVER\r\n");
}

static struct peer herd[BATCH_DEPTH_MAX + 3];
static int herd_sent;

static void goes_too_deep(int turn) {
    if (turn == 0 && herd_sent < BATCH_DEPTH_MAX + 3) send_line(&herd[herd_sent++], "within\r\n");
}

static void test_depth_is_bounded(void **state) {
    for (int i = 0; i < BATCH_DEPTH_MAX + 3; i++) herd[i] = peer_connect();
    herd_sent = 0;
    run_within(1, goes_too_deep, "within\r\n", "+OVER\r\n");
    assert_int_equal(nested_most, BATCH_DEPTH_MAX + 1);
    for (int i = 0; i < BATCH_DEPTH_MAX + 3; i++) assert_has(&herd[i], "+OVER\r\n");
    for (int i = 0; i < BATCH_DEPTH_MAX + 3; i++) peer_close(&herd[i]);
}

#define TOO_MANY "BUSY Too many commands take long within each other. Try again later.\r\n"
#define SCRIPT "EVAL \"return 1\" 0\r\n"

/* What may last is refused in the innermost turn, also in a transaction. What does not is run. */
static void asks_in_the_innermost(int turn) {
    if (turn == 0) send_line(&herd[nested], "within\r\n");
    if (nested != BATCH_DEPTH_MAX) return;
    if (turn == 0) {
        send_line(&other, SCRIPT "PING\r\n");
        send_line(&third, "EXEC\r\n");
        return;
    }
    if (turn != 1) return;
    assert_has(&herd[nested], "-" TOO_MANY);
    assert_has(&other, "-" TOO_MANY "+PONG\r\n");
    assert_has(&third, "-EXECABORT Transaction discarded because of: " TOO_MANY);
}

static void test_innermost_turn(void **state) {
    for (int i = 1; i <= BATCH_DEPTH_MAX; i++) herd[i] = peer_connect();
    ask(&third, "MULTI\r\n" SCRIPT, "+OK\r\n+QUEUED\r\n");
    rows[0].flags |= COMMAND_MAY_LAST;
    run_within(2, asks_in_the_innermost, "within\r\n", "+OVER\r\n");
    assert_int_equal(nested_most, BATCH_DEPTH_MAX);
    assert_false(gate_is_set(&run_gate));
    for (int i = 1; i < BATCH_DEPTH_MAX; i++) assert_has(&herd[i], "+OVER\r\n");
    for (int i = 1; i <= BATCH_DEPTH_MAX; i++) peer_close(&herd[i]);
    rows[0].flags &= ~(unsigned)COMMAND_MAY_LAST;
}

/* ---- who waits ---- */

static void pushes(int turn) {
    if (turn == 0) send_line(&other, "RPUSH l v\r\n");
    if (turn == 1) assert_has(&other, ":1\r\n");
    if (turn == 2) assert_has(&third, "");
}

static void test_waiting_clients_are_served_afterwards(void **state) {
    ask(&third, "BLPOP l 0\r\n", "");
    run_within(2, pushes, "within\r\n", "+OVER\r\n");
    peers_turns();
    assert_has(&third, "*2\r\n$1\r\nl\r\n$1\r\nv\r\n");
}

/* A message to the client that runs comes behind its reply. */
static void publishes(int turn) {
    if (turn == 0) send_line(&other, "PUBLISH c m\r\n");
    if (turn == 1) assert_has(&other, ":1\r\n");
    if (turn == 2) assert_has(&runs, "");
}

static void test_message_to_the_running_client(void **state) {
    peer_send(&runs, SLICE("HELLO 3\r\nSUBSCRIBE c\r\n"));
    buffer_clear(&runs.got);
    run_within(2, publishes, "PING\r\nwithin\r\n",
               "+PONG\r\n+OVER\r\n>3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\nm\r\n");
}

/* ---- messages beside a reply that is half made ---- */

#define MESSAGE(text) ">3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\n" text "\r\n"
#define LONG_BYTES (REPLY_OUTPUT_BYTES + 1000)

static struct buffer long_text = {.class = MEMORY_OTHER}, long_reply = {.class = MEMORY_OTHER};

/* The client of `runs` listens, and `long` has a value that leaves the output buffer. */
static void listens(void) {
    buffer_clear(&long_text);
    buffer_clear(&long_reply);
    memset(buffer_reserve(&long_text, LONG_BYTES), 'v', LONG_BYTES);
    long_text.length = LONG_BYTES;
    buffer_printf(&long_reply, "$%d\r\n", LONG_BYTES);
    buffer_append(&long_reply, long_text.bytes, LONG_BYTES);
    buffer_append_c_string(&long_reply, "\r\n");
    struct buffer line = {.class = MEMORY_OTHER};
    buffer_printf(&line, "*3\r\n$3\r\nSET\r\n$4\r\nlong\r\n");
    buffer_append(&line, long_reply.bytes, long_reply.length);
    peer_send(&runs, buffer_slice(&line));
    peer_send(&runs, SLICE("HELLO 3\r\nSUBSCRIBE c\r\n"));
    buffer_clear(&runs.got);
    buffer_free(&line);
}

/* `replies` with the long one at each '#'. */
static void assert_has_long(struct peer *p, const char *replies) {
    struct buffer wanted = {.class = MEMORY_OTHER};
    for (const char *at = replies; *at; at++)
        if (*at == '#')
            buffer_append(&wanted, long_reply.bytes, long_reply.length);
        else
            buffer_append_char(&wanted, *at);
    peer_send(p, SLICE("")); /* it takes several turns to come */
    peer_assert_got(p, buffer_slice(&wanted));
    buffer_free(&wanted);
}

static void run_listening(int count, void (*what)(int turn), const char *lines,
                          const char *replies) {
    turns = count;
    say = what;
    nested_most = 0;
    peer_send(&runs, slice_of(lines));
    assert_has_long(&runs, replies);
    say = NULL;
}

static void publishes_twice(int turn) {
    if (turn < 2) send_line(&other, turn ? "PUBLISH c 2\r\n" : "PUBLISH c 1\r\n");
    if (turn > 0) assert_has(&other, ":1\r\n");
}

/* Its reply so far stands in chunks, in the output buffer and gets to chunks later, or in both. */
static void test_message_beside_half_a_reply(void **state) {
    listens();
    run_listening(2, publishes_twice, "MULTI\r\nGET long\r\nwithin\r\nINCR n\r\nEXEC\r\nPING\r\n",
                  "+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n*3\r\n#+OVER\r\n:1\r\n" MESSAGE("1")
                      MESSAGE("2") "+PONG\r\n");
    run_listening(2, publishes_twice, "MULTI\r\nwithin\r\nGET long\r\nEXEC\r\nPING\r\n",
                  "+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n+OVER\r\n#" MESSAGE("1")
                      MESSAGE("2") "+PONG\r\n");
    run_listening(2, publishes_twice,
                  "MULTI\r\nGET long\r\nwithin\r\nGET long\r\nwithin\r\nINCR n\r\nEXEC\r\n",
                  "+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n*5\r\n#+OVER\r\n#"
                  "+OVER\r\n:2\r\n" MESSAGE("1") MESSAGE("2") MESSAGE("1") MESSAGE("2"));
    run_listening(2, publishes_twice, "MULTI\r\nwithin\r\nEXEC\r\nPING\r\n",
                  "+OK\r\n+QUEUED\r\n*1\r\n+OVER\r\n" MESSAGE("1") MESSAGE("2") "+PONG\r\n");
    assert_int_equal(runs.client->chunk_bytes, 0);
}

/* Those of a turn two levels below, to two clients that run. */
static void goes_deeper_and_publishes(int turn) {
    if (nested == 1 && turn == 0)
        send_line(&other, "MULTI\r\nGET long\r\nwithin\r\nINCR n\r\nEXEC\r\n");
    if (nested == 2 && turn == 0) send_line(&third, "PUBLISH c 1\r\n");
    if (nested == 2 && turn == 1) assert_has(&third, ":2\r\n");
}

static void test_messages_from_deeper(void **state) {
    listens();
    peer_send(&other, SLICE("HELLO 3\r\nSUBSCRIBE c\r\n"));
    buffer_clear(&other.got);
    run_listening(2, goes_deeper_and_publishes,
                  "MULTI\r\nGET long\r\nwithin\r\nGET long\r\nEXEC\r\n",
                  "+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n*3\r\n#+OVER\r\n#" MESSAGE("1"));
    assert_has_long(&other,
                    "+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n*3\r\n#+OVER\r\n:1\r\n" MESSAGE("1"));
}

/* It goes with what is kept apart for it. */
static void publishes_and_kills(int turn) {
    char line[64];
    if (turn == 0) send_line(&other, "PUBLISH c 1\r\n");
    if (turn != 1) return;
    assert_true(reply_check(runs.client));
    snprintf(line, sizeof(line), "CLIENT KILL ID %llu\r\nPING\r\n", (unsigned long long)runs.id);
    send_line(&other, line);
}

static void test_killed_beside_half_a_reply(void **state) {
    listens();
    peer_send(&runs, SLICE("MULTI\r\nGET long\r\nwithin\r\nGET long\r\n"));
    buffer_clear(&runs.got);
    run_listening(3, publishes_and_kills, "EXEC\r\n", "");
    assert_true(runs.ended);
    assert_has(&other, ":1\r\n:1\r\n+PONG\r\n");
}

/* What is kept apart counts. */
static void publishes_too_much(int turn) {
    if (turn < 2)
        send_line(&other, turn ? "PUBLISH c 2\r\n"
                               : "CONFIG SET client-output-buffer-limit "
                                 "\"pubsub 64kb 0 0\"\r\n");
    if (turn == 2) assert_null(client_find(runs.id));
}

static void test_limit_beside_half_a_reply(void **state) {
    listens();
    peer_send(&runs, SLICE("MULTI\r\nGET long\r\nwithin\r\nGET long\r\n"));
    buffer_clear(&runs.got);
    run_listening(2, publishes_too_much, "EXEC\r\n", "");
    option_set_text("client-output-buffer-limit", "pubsub 33554432 8388608 60");
    assert_true(runs.ended);
    assert_has(&other, "+OK\r\n:1\r\n");
}

/* ---- clients that cache ---- */

#define INVALIDATE(key) ">2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\n" key "\r\n"

static void caches(struct peer *p, const char *reads) {
    peer_send(p, SLICE("HELLO 3\r\nCLIENT TRACKING ON\r\n"));
    peer_send(p, slice_of(reads));
    buffer_clear(&p->got);
}

static void changes_what_it_caches(int turn) {
    if (turn == 0) send_line(&other, "SET a theirs\r\nSET b theirs\r\nPING\r\n");
    if (turn == 1) assert_has(&other, "+OK\r\n+OK\r\n" INVALIDATE("b") "+PONG\r\n");
}

/* Each client's own messages come behind its own reply, whoever waits around it. */
static void test_own_changes_within(void **state) {
    caches(&other, "GET b\r\n");
    run_within(2, changes_what_it_caches, "within\r\n", "+OVER\r\n");
    caches(&other, "GET b\r\n");
    caches(&runs, "GET c\r\n");
    run_within(
        2, changes_what_it_caches, "MULTI\r\nSET c ours\r\nwithin\r\nSET d ours\r\nEXEC\r\n",
        "+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n*3\r\n+OK\r\n+OVER\r\n+OK\r\n" INVALIDATE("c"));
}

/* What a client that runs is told by others' changes, and what waits for it already, are both
 * behind its reply. */
static void changes_what_both_cache(int turn) {
    if (turn == 0) send_line(&other, "SET e theirs\r\n");
    if (turn == 1) assert_has(&other, "+OK\r\n" INVALIDATE("e"));
}

static void test_changes_of_others_within(void **state) {
    caches(&other, "GET e\r\n");
    caches(&runs, "MGET c e\r\n");
    run_within(2, changes_what_both_cache, "MULTI\r\nSET c ours\r\nwithin\r\nEXEC\r\n",
               "+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n+OK\r\n+OVER\r\n" INVALIDATE("c")
                   INVALIDATE("e"));
}

/* ---- effects ---- */

static struct buffer taken = {.class = MEMORY_OTHER};

static void take(int database, int argc, const struct slice *argv) {
    for (int i = 0; i < argc; i++)
        buffer_printf(&taken, i ? " %.*s" : "%.*s", (int)argv[i].length, argv[i].bytes);
    buffer_append_char(&taken, ';');
}

static const struct effect_sink plain = {.reader = EFFECT_STREAM, .take = take};
static const struct effect_sink holding = {
    .reader = EFFECT_LOG, .take = take, .holds_replies = true};
static const struct effect_sink *const sinks[] = {&plain, &holding, NULL};

static void assert_taken(const char *wanted) {
    buffer_append_char(&taken, 0);
    assert_string_equal(taken.bytes, wanted);
    buffer_clear(&taken);
}

/* What others change in the midst of a unit stands in its midst. */
static void test_effects_in_order(void **state) {
    effects_add_interest(EFFECT_STREAM, 1);
    run_within(2, reads_and_writes,
               "MULTI\r\nSET k ours\r\nSET k2 x\r\nwithin\r\nINCR n\r\nEXEC\r\n",
               "+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n*4\r\n+OK\r\n+OK\r\n+OVER\r\n"
               ":1\r\n");
    assert_taken("MULTI;SET k ours;SET k2 x;SET k theirs;DEL k2;INCR n;EXEC;");
    effects_add_interest(EFFECT_STREAM, -1);
}

/* Who only asks is answered at once; who writes waits for the record that has it. */
static void asks_then_writes(int turn) {
    if (turn == 0) {
        send_line(&other, "PING\r\n");
        send_line(&third, "SET t 1\r\n");
    }
    if (turn == 1) assert_has(&third, "");
    if (turn == 2) assert_has(&runs, "");
}

static void test_replies_wait_for_the_unit(void **state) {
    ask(&runs, "MULTI\r\nSET k 1\r\nwithin\r\n", "+OK\r\n+QUEUED\r\n+QUEUED\r\n");
    effects_add_interest(EFFECT_LOG, 1);
    run_within(2, asks_then_writes, "EXEC\r\n", "");
    assert_has(&third, "");
    reply_allow(effects_record());
    reply_write_all();
    assert_has(&runs, "*2\r\n+OK\r\n+OVER\r\n");
    assert_has(&third, "+OK\r\n");
    assert_has(&other, "+PONG\r\n");
    assert_taken("MULTI;SET k 1;SET t 1;EXEC;");
    effects_add_interest(EFFECT_LOG, -1);
}

static void only_asks(int turn) {
    if (turn == 0) send_line(&other, "PING\r\n");
    if (turn == 1) assert_has(&other, "+PONG\r\n");
}

static void test_who_asks_does_not_wait(void **state) {
    ask(&runs, "MULTI\r\nSET k 1\r\nwithin\r\n", "+OK\r\n+QUEUED\r\n+QUEUED\r\n");
    effects_add_interest(EFFECT_LOG, 1);
    run_within(2, only_asks, "EXEC\r\n", "");
    reply_allow(effects_record());
    reply_write_all();
    assert_has(&runs, "*2\r\n+OK\r\n+OVER\r\n");
    assert_taken("MULTI;SET k 1;EXEC;");
    effects_add_interest(EFFECT_LOG, -1);
}

/* Who reads a key that is due has it deleted, and waits as who writes. */
static void reads_what_is_due(int turn) {
    if (turn == 0) send_line(&other, "GET due\r\n");
    if (turn == 1) assert_has(&other, "");
}

static void test_who_finds_a_due_key_waits(void **state) {
    expire_set_active(false);
    ask(&other, "SET due 1 PX 5\r\n", "+OK\r\n");
    clock_advance_usec(10000);
    ask(&runs, "MULTI\r\nSET k 1\r\nwithin\r\n", "+OK\r\n+QUEUED\r\n+QUEUED\r\n");
    effects_add_interest(EFFECT_LOG, 1);
    run_within(2, reads_what_is_due, "EXEC\r\n", "");
    assert_has(&other, "");
    reply_allow(effects_record());
    reply_write_all();
    assert_has(&runs, "*2\r\n+OK\r\n+OVER\r\n");
    assert_has(&other, "$-1\r\n");
    assert_taken("MULTI;SET k 1;DEL due;EXEC;");
    effects_add_interest(EFFECT_LOG, -1);
    expire_set_active(true);
}

/* ---- without a command ---- */

/* As a load does, also while requests have been read and have not run. */
static void test_without_a_command(void **state) {
    send_line(&other, "SET k 1\r\nGET k\r\n");
    for (int i = 0; i < 3; i++) assert_true(run_turn_within());
    assert_has(&other, "+OK\r\n$1\r\n1\r\n");
}

/* Who reads afterwards what was changed in one waits for the record of that. */
static void test_record_without_a_command(void **state) {
    effects_add_interest(EFFECT_LOG, 1);
    send_line(&other, "SET k 1\r\n");
    for (int i = 0; i < 3; i++) assert_true(run_turn_within());
    assert_has(&other, "");
    ask(&third, "GET k\r\n", "");
    reply_allow(effects_record());
    reply_write_all();
    assert_has(&other, "+OK\r\n");
    assert_has(&third, "$1\r\n1\r\n");
    assert_taken("SET k 1;");
    effects_add_interest(EFFECT_LOG, -1);
}

/* ---- at random ---- */

static uint64_t sent[4], received[4];
static int withins_left;
static struct peer crowd[4];

static void random_requests(int turn) {
    for (int i = 0; i < 4; i++) {
        if (random_below(2)) continue;
        for (uint64_t n = random_below(40); n; n--) {
            char line[64];
            bool deeper = withins_left > 0 && random_below(30) == 0;
            snprintf(line, sizeof(line), deeper ? "within\r\n" : "ECHO %llu\r\n",
                     (unsigned long long)sent[i]);
            if (peer_try_send(&crowd[i], line, strlen(line)) == 0) break;
            sent[i] += !deeper;
            withins_left -= deeper;
        }
    }
}

/* All numbers come back once and in order, whatever was within what. */
static void count_replies(struct peer *p, uint64_t *count) {
    peer_receive(p, SIZE_MAX);
    const char *at = p->got.bytes, *end = at + p->got.length;
    while (at && at < end) {
        const char *line = memchr(at, '\n', (size_t)(end - at));
        if (!line) break;
        if (*at != '+' && *at != '$') {
            assert_int_equal(strtoull(at, NULL, 10), *count);
            ++*count;
        }
        at = line + 1;
    }
    if (!at) return;
    p->got.length = (size_t)(end - at); /* the beginning of a line */
    memmove(p->got.bytes, at, p->got.length);
}

static void test_random(void **state) {
    masked_smooth = false;
    for (int i = 0; i < 4; i++) {
        crowd[i] = peer_connect();
        sent[i] = received[i] = 0;
    }
    turns = 3;
    withins_left = 300;
    say = random_requests;
    for (int round = 0; round < 200; round++) {
        random_requests(0);
        peers_turns();
    }
    say = NULL;
    peers_turns();
    for (int i = 0; i < 4; i++) {
        for (int more = 0; more < 1000 && received[i] < sent[i]; more++) {
            count_replies(&crowd[i], &received[i]);
            peers_turns();
        }
        assert_int_equal(received[i], sent[i]);
        assert_true(sent[i] > 0);
        peer_close(&crowd[i]);
    }
}

/* ---- setting up ---- */

static int open_all(void **state) {
    int result = whole_open();
    command_register(COMMAND_ROWS(rows));
    effects_set_sinks(sinks);
    return result;
}

static int begin(void **state) {
    int result = whole_begin(state);
    peers_do_not_cut();
    runs = peer_connect();
    other = peer_connect();
    third = peer_connect();
    return result;
}

static int end(void **state) {
    struct peer *all[] = {&runs, &other, &third};
    gate_set(&script_gate_busy, false);
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) peer_close(all[i]);
    blocked_check();
    transaction_check();
    return whole_nothing_left(state);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(test_others_are_served),
        TEST(test_gate_refuses),
        TEST(test_client_that_comes),
        TEST(test_clients_that_come_and_go),
        TEST(test_client_that_stands_in_the_batch_goes),
        TEST(test_same_client_waits),
        TEST(test_pause_begins_within),
        TEST(test_log_is_full_within),
        TEST(test_pipeline_behind),
        TEST(test_own_pipeline_behind),
        TEST(test_transaction_behind),
        TEST(test_other_closes),
        TEST(test_own_peer_closes),
        TEST(test_other_is_killed),
        TEST(test_own_is_killed),
        TEST(test_own_is_killed_in_transaction),
        TEST(test_within_transaction),
        TEST(test_deeper),
        TEST(test_depth_is_bounded),
        TEST(test_innermost_turn),
        TEST(test_waiting_clients_are_served_afterwards),
        TEST(test_message_to_the_running_client),
        TEST(test_message_beside_half_a_reply),
        TEST(test_messages_from_deeper),
        TEST(test_killed_beside_half_a_reply),
        TEST(test_limit_beside_half_a_reply),
        TEST(test_own_changes_within),
        TEST(test_changes_of_others_within),
        TEST(test_effects_in_order),
        TEST(test_replies_wait_for_the_unit),
        TEST(test_who_asks_does_not_wait),
        TEST(test_who_finds_a_due_key_waits),
        TEST(test_without_a_command),
        TEST(test_record_without_a_command),
        TEST(test_random),
    };
    return cmocka_run_group_tests(tests, open_all, NULL);
}
