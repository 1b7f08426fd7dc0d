/* SPDX-License-Identifier: BSD-3-Clause
 * What sinks are given of calls, of clients served and of keys that go by themselves. Commands of
 * the test's own add effects of each kind; the others are the server's.
 */
#include "exec/effects.h"

#include "base/clock.h"
#include "base/hash.h"
#include "command/call.h"
#include "command/row.h"
#include "exec/blocked.h"
#include "exec/edit.h"
#include "exec/transaction.h"
#include "publish/notify.h"
#include "server/whole.h"
#include "store/expire.h"
#include "store/keyspace.h"
#include "store/lazyfree.h"

/* A client that listens to events, and whether it had got any when a change was told. */
static struct peer listener = {.fd = -1};
static size_t told, told_late;

static void key_changed(const struct key *key, enum keyspace_cause cause) {
    if (listener.fd < 0) return;
    told++;
    if (reply_chunk_bytes(listener.client)) told_late++;
}

static const struct keyspace_observer listening = {.changed = key_changed};
static const struct keyspace_observer *const observers[] = {
    &effects_observer, &transaction_observer, &blocked_observer, &listening, NULL};

/* ---- sinks: what they are given, a command a line, as "log 0 set k v;" ---- */

static struct buffer taken = {.class = MEMORY_OTHER};

static void take(const char *who, int database, int argc, const struct slice *argv) {
    buffer_printf(&taken, "%s %d", who, database);
    for (int i = 0; i < argc; i++)
        buffer_printf(&taken, " %.*s", (int)argv[i].length, argv[i].bytes);
    buffer_append_c_string(&taken, ";");
}

static void take_log(int database, int argc, const struct slice *argv) {
    take("log", database, argc, argv);
}
static void take_stream(int database, int argc, const struct slice *argv) {
    take("stream", database, argc, argv);
}
static void take_second_log(int database, int argc, const struct slice *argv) {
    take("second", database, argc, argv);
}

static const struct effect_sink log_sink = {.reader = EFFECT_LOG, .take = take_log};
static const struct effect_sink stream_sink = {.reader = EFFECT_STREAM, .take = take_stream};
static const struct effect_sink second_log_sink = {.reader = EFFECT_LOG, .take = take_second_log};
static const struct effect_sink *const log_alone[] = {&log_sink, NULL};
static const struct effect_sink *const both_sinks[] = {&log_sink, &stream_sink, NULL};
/* One that takes bytes where it can: they are shown between bars. */
static void take_bytes(int database, struct slice bytes) {
    buffer_printf(&taken, "%d |%.*s|;", database, (int)bytes.length, bytes.bytes);
}

static const struct effect_sink byte_sink = {
    .reader = EFFECT_LOG, .take = take_log, .take_bytes = take_bytes};
static bool second_is_on;
static const struct effect_sink switched_sink = {
    .reader = EFFECT_LOG, .take = take_second_log, .on = &second_is_on};
static const struct effect_sink *const switched_sinks[] = {&switched_sink, &log_sink, NULL};
static const struct effect_sink *const byte_sinks[] = {&byte_sink, &stream_sink, NULL};
static const struct effect_sink *const three_sinks[] = {&stream_sink, &second_log_sink, &log_sink,
                                                        NULL};

static void assert_taken(const char *wanted) {
    buffer_append(&taken, "", 1);
    assert_string_equal(taken.bytes, wanted);
    buffer_clear(&taken);
}

/* ---- the test's own commands ---- */

static void write_key(struct call *call) {
    struct edit edit;
    struct string_value value = {.text = call->argv[1]};
    edit_find_argument(&edit, call, 1);
    edit_put_string(&edit, &value, ENTRY_NO_DEADLINE);
    edit_close(&edit, 1, NOTIFY_STRING, "set");
}

static void add(struct call *call, unsigned readers, struct slice word) {
    const struct slice words[] = {word, call->argv[1]};
    effect_add(call->keyspace, readers, 2, words);
}

/* Writes, but says nothing of it. */
static void command_secret(struct call *call) {
    write_key(call);
    effect_none();
    reply_ok(call->client);
}

/* One form for the log and another for the stream. */
static void command_differ(struct call *call) {
    write_key(call);
    add(call, EFFECT_LOG, SLICE("absolute"));
    add(call, EFFECT_STREAM, SLICE("relative"));
    reply_ok(call->client);
}

/* Two effects for the log, one for the stream. */
static void command_twice(struct call *call) {
    char word[] = "first";
    write_key(call);
    add(call, EFFECT_LOG, (struct slice){word, 5});
    memset(word, 'x', 5); /* it was copied */
    add(call, EFFECT_BOTH, SLICE("last"));
    reply_ok(call->client);
}

/* Nothing has changed, and yet it is told as it was sent; to replicas something more. */
static void command_anyway(struct call *call) {
    effect_add_as_sent(call, EFFECT_BOTH);
    add(call, EFFECT_STREAM, SLICE("more"));
    reply_ok(call->client);
}

/* Two that stand alone around one that does not. */
static void command_alone(struct call *call) {
    const struct slice first[] = {SLICE("alone"), SLICE("1")};
    const struct slice last[] = {SLICE("alone"), SLICE("2")};
    effect_add_alone(call->keyspace, EFFECT_BOTH, 2, first);
    add(call, EFFECT_BOTH, SLICE("other"));
    effect_add_alone(call->keyspace, EFFECT_BOTH, 2, last);
    reply_ok(call->client);
}

/* From now on somebody wants effects. */
static void command_want(struct call *call) {
    effects_add_interest(EFFECT_BOTH, 1);
    reply_ok(call->client);
}

/* And now nobody. */
static void command_unwant(struct call *call) {
    effects_add_interest(EFFECT_BOTH, -1);
    reply_ok(call->client);
}

static void command_always(struct call *call) { reply_ok(call->client); }

static struct command rows[] = {
    COMMAND("secret", command_secret, 2, WRITE, NO_CATEGORY, CHANGES(ANYTHING, ONE_KEY), ""),
    COMMAND("differ", command_differ, 2, WRITE, NO_CATEGORY, CHANGES(ANYTHING, ONE_KEY), ""),
    COMMAND("twice", command_twice, 2, WRITE, NO_CATEGORY, CHANGES(ANYTHING, ONE_KEY), ""),
    COMMAND("anyway", command_anyway, 2, WRITE, NO_CATEGORY, CHANGES(ANYTHING, ONE_KEY), ""),
    COMMAND("alone", command_alone, 2, WRITE, NO_CATEGORY, CHANGES(ANYTHING, ONE_KEY), ""),
    COMMAND("want", command_want, 1, WRITE, NO_CATEGORY, NO_KEYS, ""),
    COMMAND("unwant", command_unwant, 1, WRITE, NO_CATEGORY, NO_KEYS, ""),
    COMMAND("quiet", command_unwant, 1, ADMIN, NO_CATEGORY, NO_KEYS, ""),
    COMMAND("loud", command_want, 1, ADMIN, NO_CATEGORY, NO_KEYS, ""),
    COMMAND("always", command_always, 1, WRITE, NO_CATEGORY, NO_KEYS, "",
            .propagation = COMMAND_PROPAGATES_ALWAYS),
    COMMAND("replicas", command_always, 1, WRITE, NO_CATEGORY, NO_KEYS, "",
            .propagation = COMMAND_PROPAGATES_TO_REPLICAS),
    COMMAND("nothing", write_key, 2, WRITE, NO_CATEGORY, CHANGES(ANYTHING, ONE_KEY), "",
            .propagation = COMMAND_PROPAGATES_NOTHING),
};

/* ---- helpers ---- */

static struct peer client;

/* Sends a line; what it is answered does not matter here. */
static void say_as(struct peer *p, const char *line) {
    struct buffer text = {.class = MEMORY_OTHER};
    buffer_printf(&text, "%s\r\n", line);
    peer_send(p, buffer_slice(&text));
    buffer_free(&text);
    buffer_clear(&p->got);
}

static void say(const char *line) { say_as(&client, line); }

/* What a line gives. */
static void gives(const char *line, const char *wanted) {
    say(line);
    assert_taken(wanted);
}

static void pass_msec(int64_t msec) {
    clock_advance_usec(msec * 1000);
    clock_refresh();
}

/* ---- calls ---- */

static void test_as_sent_once(void **state) {
    gives("SeT k v nx", "log 0 SeT k v nx;stream 0 SeT k v nx;");
    gives("set k v nx", "");
    gives("get k", "");
    gives("del k none", "log 0 del k none;stream 0 del k none;");
    gives("del k", "");
    gives("rpush k 1 2 3", "log 0 rpush k 1 2 3;stream 0 rpush k 1 2 3;");
    gives("incr k", "");
    gives("nosuch", "");
}

static void test_database_is_the_calls(void **state) {
    gives("select 3", "");
    gives("set k v", "log 3 set k v;stream 3 set k v;");
    gives("move k 5", "log 3 move k 5;stream 3 move k 5;");
    say("select 0");
}

static void test_by_row(void **state) {
    gives("always", "log 0 always;stream 0 always;");
    gives("replicas", "stream 0 replicas;");
    gives("nothing k", "");
    gives("publish c m", "stream 0 publish c m;");
}

static void test_own_effects_instead(void **state) {
    gives("secret k", "");
    gives("differ k", "log 0 absolute k;stream 0 relative k;");
    /* What a call has said is forgotten with it. */
    gives("set k v", "log 0 set k v;stream 0 set k v;");
}

static void test_framed_by_count(void **state) {
    gives("twice k", "log 0 MULTI;log 0 first k;log 0 last k;log 0 EXEC;stream 0 last k;");
    gives("anyway k",
          "log 0 anyway k;"
          "stream 0 MULTI;stream 0 anyway k;stream 0 more k;stream 0 EXEC;");
}

static void test_alone_stand_before(void **state) {
    gives("alone k",
          "log 0 alone 1;log 0 alone 2;log 0 other k;"
          "stream 0 alone 1;stream 0 alone 2;stream 0 other k;");
}

/* ---- EXEC ---- */

static void test_exec_is_one_unit(void **state) {
    say("multi");
    say("set a 1");
    say("get a");
    say("secret b");
    say("select 2");
    gives("differ c", ""); /* nothing before its time */
    gives("exec",
          "log 0 MULTI;log 0 set a 1;log 2 absolute c;log 2 EXEC;"
          "stream 0 MULTI;stream 0 set a 1;stream 2 relative c;stream 2 EXEC;");
    say("select 0");
}

static void test_exec_of_one_is_framed(void **state) {
    say("multi");
    say("set a 1");
    gives("exec",
          "log 0 MULTI;log 0 set a 1;log 0 EXEC;"
          "stream 0 MULTI;stream 0 set a 1;stream 0 EXEC;");
    gives("set a 2", "log 0 set a 2;stream 0 set a 2;"); /* the frame ends with it */
    say("multi");
    say("replicas");
    gives("exec", "stream 0 MULTI;stream 0 replicas;stream 0 EXEC;");
}

static void test_exec_without_effects(void **state) {
    say("multi");
    say("get a");
    say("secret b");
    gives("exec", "");
    gives("set a 2", "log 0 set a 2;stream 0 set a 2;");
    say("watch a");
    gives("set a 3", "log 0 set a 3;stream 0 set a 3;");
    say("multi");
    say("set a 4");
    gives("exec", "");
}

/* Within EXEC, what stands alone stands in its place. */
static void test_exec_with_alone(void **state) {
    effects_set_sinks(log_alone);
    say("multi");
    say("set a 1");
    say("alone k");
    gives("exec",
          "log 0 MULTI;log 0 set a 1;"
          "log 0 alone 1;log 0 other k;log 0 alone 2;log 0 EXEC;");
}

/* ---- keys that go by themselves ---- */

static void test_expired_before_the_call(void **state) {
    effects_set_sinks(log_alone);
    say("psetex k 10 v");
    say("psetex l 10 v");
    buffer_clear(&taken);
    pass_msec(11);
    gives("incr k", "log 0 DEL k;log 0 incr k;");
    gives("get l", "log 0 DEL l;");
}

static void test_expired_within_exec(void **state) {
    effects_set_sinks(log_alone);
    say("psetex k 10 v");
    buffer_clear(&taken);
    pass_msec(11);
    say("multi");
    say("set a 1");
    say("incr k");
    gives("exec", "log 0 MULTI;log 0 set a 1;log 0 DEL k;log 0 incr k;log 0 EXEC;");
}

static void test_expired_by_itself(void **state) {
    bool more;
    effects_set_sinks(log_alone);
    say("psetex k 10 v");
    say("psetex l 10 v");
    say("select 1");
    say("psetex k 10 v");
    say("select 0");
    buffer_clear(&taken);
    pass_msec(11);
    option_set_text("lazyfree-lazy-expire", "yes");
    keyspace_expire_due(keyspace_at(1), clock_cached_msec(), 10, &more);
    assert_taken("log 1 UNLINK k;");
    option_set_text("lazyfree-lazy-expire", "no");
    keyspace_expire_due(keyspace_at(0), clock_cached_msec(), 1, &more);
    assert_int_equal(taken.length, sizeof("log 0 DEL k;") - 1);
    buffer_clear(&taken);
    keyspace_expire_due(keyspace_at(0), clock_cached_msec(), 10, &more);
    assert_int_equal(taken.length, sizeof("log 0 DEL k;") - 1);
    buffer_clear(&taken);
}

static void test_evicted(void **state) {
    const struct slice name = SLICE("k");
    struct keyspace *ks = keyspace_at(0);
    effects_set_sinks(log_alone);
    for (int lazily = 0; lazily < 2; lazily++) {
        say("set k v");
        buffer_clear(&taken);
        uint64_t hash = hash_bytes(name.bytes, name.length), changes = keyspace_written();
        option_set_text("lazyfree-lazy-eviction", lazily ? "yes" : "no");
        keyspace_evict(ks, keyspace_find(&(struct key){ks, name, hash}), hash, lazily);
        assert_taken(lazily ? "log 0 UNLINK k;" : "log 0 DEL k;");
        assert_int_equal(keyspace_written(), changes); /* no call has changed it */
    }
    option_set_text("lazyfree-lazy-eviction", "no");
}

/* A replica flushes its data between calls, before it loads a copy. */
static void test_flushed_between_calls(void **state) {
    effects_set_sinks(both_sinks);
    say("set k v");
    buffer_clear(&taken);
    uint64_t changes = keyspace_written();
    assert_int_equal(edit_flush(keyspace_at(0), LAZYFREE_NOW), 1);
    assert_int_equal(keyspace_written(), changes);
    gives("get k", ""); /* a read is no effect, whatever was changed before it */
    gives("reset", "");
    say("set k v");
    buffer_clear(&taken);
    gives("flushdb", "log 0 flushdb;stream 0 flushdb;");
    assert_int_equal(keyspace_written(), changes + 2);
    gives("flushall", "log 0 flushall;stream 0 flushall;");
    assert_int_equal(keyspace_written(), changes + 3);
}

/* ---- clients that are served ---- */

static void test_served_in_units_of_their_own(void **state) {
    struct peer first = peer_connect(), second = peer_connect();
    effects_set_sinks(log_alone);
    say_as(&first, "blpop k 0");
    say_as(&second, "blmove k target left right 0");
    assert_taken("");
    gives("rpush k 1 2", "log 0 rpush k 1 2;log 0 LPOP k;log 0 LMOVE k target left right;");
    say_as(&first, "blpop k 0");
    say("multi");
    say("rpush k 1");
    say("set a 1");
    gives("exec", "log 0 MULTI;log 0 rpush k 1;log 0 set a 1;log 0 EXEC;log 0 LPOP k;");
    peer_close(&first);
    peer_close(&second);
}

/* ---- observers and events ---- */

#define EVENT_OF(event, bytes) \
    "*4\r\n$8\r\npmessage\r\n$1\r\n*\r\n$" bytes "\r\n__keyevent@0__:" event "\r\n$1\r\nk\r\n"

/* Observers are told once and before the event; of a key that went, "del" follows. */
static void test_events_follow_observers(void **state) {
    listener = peer_connect();
    say_as(&listener, "psubscribe *");
    option_set_text("notify-keyspace-events", "EA");
    keyspace_add_interest(KEYSPACE_WRITES, 1);
    told = told_late = 0;
    say("rpush k 1");
    peer_send(&listener, SLICE(""));
    peer_assert_got(&listener, slice_of(EVENT_OF("rpush", "20")));
    say("lpop k");
    peer_send(&listener, SLICE(""));
    peer_assert_got(&listener, slice_of(EVENT_OF("lpop", "19") EVENT_OF("del", "18")));
    assert_int_equal(told, 2);
    assert_int_equal(told_late, 0);
    keyspace_add_interest(KEYSPACE_WRITES, -1);
    option_set_text("notify-keyspace-events", "");
    peer_close(&listener);
    buffer_clear(&taken);
}

/* ---- sinks ---- */

static void test_sinks_in_order(void **state) {
    effects_set_sinks(three_sinks);
    gives("differ k", "stream 0 relative k;second 0 absolute k;log 0 absolute k;");
    say("multi");
    say("set a 1");
    gives("exec",
          "stream 0 MULTI;stream 0 set a 1;stream 0 EXEC;"
          "second 0 MULTI;second 0 set a 1;second 0 EXEC;"
          "log 0 MULTI;log 0 set a 1;log 0 EXEC;");
}

static void gives_bytes(const char *request, const char *wanted) {
    peer_send(&client, slice_of(request));
    buffer_clear(&client.got);
    assert_taken(wanted);
}

#define SET_K "*3\r\n$3\r\nSeT\r\n$1\r\nk\r\n$1\r\nv\r\n"
#define SET_K_ODD "*3\r\n$3\r\nSeT\r\n$1\r\nk\r\n$1\r\nv.."
#define INCR_N "*2\r\n$4\r\nincr\r\n$1\r\nn\r\n"

/* A request whose bytes are the effect's goes to who takes bytes as they came, each of a pipeline
 * for itself; what was sent otherwise, or stands for something else, as words. */
static void test_bytes_as_they_came(void **state) {
    effects_set_sinks(byte_sinks);
    gives_bytes(SET_K, "0 |" SET_K "|;stream 0 SeT k v;");
    gives_bytes(INCR_N SET_K_ODD INCR_N, "0 |" INCR_N
                                         "|;stream 0 incr n;log 0 SeT k v;stream 0 SeT k v;"
                                         "0 |" INCR_N "|;stream 0 incr n;");
    gives("set k v", "log 0 set k v;stream 0 set k v;");
    gives("differ k", "log 0 absolute k;stream 0 relative k;");
    say("multi");
    peer_send(&client, SLICE(SET_K));
    gives("exec",
          "log 0 MULTI;log 0 SeT k v;log 0 EXEC;"
          "stream 0 MULTI;stream 0 SeT k v;stream 0 EXEC;");
    /* It comes in two parts, and stands in a query of its client's. */
    peer_send(&client, SLICE("*3\r\n$3\r\nSeT\r\n$1\r\nk"));
    assert_taken("");
    gives_bytes("\r\n$1\r\nv\r\n", "log 0 SeT k v;stream 0 SeT k v;");
}

/* A sink is on or off from the effects_add_interest on that comes with it. */
static void test_sink_that_is_off(void **state) {
    effects_set_sinks(switched_sinks);
    gives("set k v", "log 0 set k v;");
    second_is_on = true;
    effects_add_interest(EFFECT_LOG, 1);
    gives("set k v", "second 0 set k v;log 0 set k v;");
    second_is_on = false;
    effects_add_interest(EFFECT_LOG, -1);
    gives("set k v", "log 0 set k v;");
}

static void test_only_for_who_wants_it(void **state) {
    effects_add_interest(EFFECT_STREAM, -1);
    assert_int_equal(effects_wanted(), EFFECT_LOG);
    gives("differ k", "log 0 absolute k;");
    gives("replicas", "");
    effects_add_interest(EFFECT_LOG, 1); /* a second one */
    effects_add_interest(EFFECT_LOG, -1);
    gives("set k v", "log 0 set k v;");
    effects_add_interest(EFFECT_BOTH, 1);
    effects_add_interest(EFFECT_LOG, -1);
    assert_int_equal(effects_wanted(), EFFECT_BOTH);
    gives("set k v", "log 0 set k v;stream 0 set k v;");
}

/* Within EXEC, what was done before is not told of, and what follows is whole. */
static void test_wanted_within_exec(void **state) {
    effects_add_interest(EFFECT_BOTH, -1);
    effects_set_sinks(log_alone);
    say("multi");
    say("set a 1");
    say("want");
    say("set b 2");
    say("rpush c 1 2 3");
    gives("exec", "log 0 MULTI;log 0 set b 2;log 0 rpush c 1 2 3;log 0 EXEC;");
    gives("set a 2", "log 0 set a 2;");
}

static void test_unwanted_within_exec(void **state) {
    say("multi");
    say("set a 1");
    say("unwant");
    say("set b 2");
    gives("exec", "");
    gives("set c 3", "");
    say("want");
    effects_set_sinks(log_alone);
    gives("set d 4", "log 0 set d 4;");
}

static void test_nothing_kept_while_nobody_wants(void **state) {
    effects_add_interest(EFFECT_BOTH, -1);
    assert_int_equal(effects_wanted(), 0);
    gives("psetex due 10 v", "");
    size_t bytes = memory_used(MEMORY_OTHER);
    pass_msec(11);
    const char *const lines[] = {"set k v", "twice k", "alone k", "anyway k", "get due",
                                 "multi",   "set k v", "alone k", "exec"};
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) gives(lines[i], "");
    assert_int_equal(memory_used(MEMORY_OTHER), bytes);
    effects_add_interest(EFFECT_BOTH, 1);
    gives("get k", ""); /* nothing comes afterwards */
    gives("set k w", "log 0 set k w;stream 0 set k w;");
}

/* A command that says what its effects are, while nobody wants any, says it for itself only. */
static void test_first_call_that_is_wanted(void **state) {
    effects_add_interest(EFFECT_BOTH, -1);
    gives("differ k", "");
    effects_add_interest(EFFECT_BOTH, 1);
    gives("set k v", "log 0 set k v;stream 0 set k v;");
    gives("quiet", "");
    gives("differ k", "");
    gives("loud", "");
    gives("get k", "");
    gives("set k v", "log 0 set k v;stream 0 set k v;");
}

/* Who begins or ends to want effects within an EXEC: nothing of it stays for later units. */
static void test_interest_within_a_unit(void **state) {
    effects_set_sinks(log_alone);
    say("multi");
    say("set k v");
    say("quiet");
    say("set k w");
    say("differ k");
    gives("exec", "");
    gives("set k v", "");
    say("multi");
    say("set k v");
    say("differ k");
    say("loud");
    say("set a 1");
    say("set b 2");
    gives("exec", "log 0 MULTI;log 0 set a 1;log 0 set b 2;log 0 EXEC;");
    gives("set k v", "log 0 set k v;");
}

/* What changed before a call is not its own change. */
static void test_several_changes_of_one_key_in_exec(void **state) {
    effects_set_sinks(log_alone);
    say("rpush l 1");
    buffer_clear(&taken);
    say("multi");
    say("rpush l 2");
    say("lrem l 0 none"); /* no change, after one */
    say("lpop l");
    gives("exec", "log 0 MULTI;log 0 rpush l 2;log 0 lpop l;log 0 EXEC;");
}

/* ---- setting up ---- */

static int open_all(void **state) {
    int result = whole_open();
    keyspace_set_observers(observers);
    command_register(rows, sizeof(rows) / sizeof(rows[0]));
    return result;
}

static int begin(void **state) {
    int result = whole_begin(state);
    expire_set_active(false); /* keys go when they are met, or when a test says so */
    client = peer_connect();
    effects_set_sinks(both_sinks);
    effects_add_interest(EFFECT_BOTH, 1);
    return result;
}

static int end(void **state) {
    effects_add_interest(EFFECT_BOTH, -1);
    assert_int_equal(effects_wanted(), 0);
    peer_close(&client);
    expire_set_active(true);
    buffer_free(&taken);
    return whole_nothing_left(state);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(test_as_sent_once),
        TEST(test_database_is_the_calls),
        TEST(test_by_row),
        TEST(test_own_effects_instead),
        TEST(test_framed_by_count),
        TEST(test_alone_stand_before),
        TEST(test_exec_is_one_unit),
        TEST(test_exec_of_one_is_framed),
        TEST(test_exec_without_effects),
        TEST(test_exec_with_alone),
        TEST(test_expired_before_the_call),
        TEST(test_expired_within_exec),
        TEST(test_expired_by_itself),
        TEST(test_evicted),
        TEST(test_flushed_between_calls),
        TEST(test_served_in_units_of_their_own),
        TEST(test_events_follow_observers),
        TEST(test_sinks_in_order),
        TEST(test_bytes_as_they_came),
        TEST(test_sink_that_is_off),
        TEST(test_only_for_who_wants_it),
        TEST(test_wanted_within_exec),
        TEST(test_unwanted_within_exec),
        TEST(test_nothing_kept_while_nobody_wants),
        TEST(test_first_call_that_is_wanted),
        TEST(test_interest_within_a_unit),
        TEST(test_several_changes_of_one_key_in_exec),
    };
#undef TEST
    return cmocka_run_group_tests(tests, open_all, NULL);
}
