/* SPDX-License-Identifier: BSD-3-Clause
 * Saves that walk, within a whole server: what is written is the data of the beginning, in each
 * format, whatever is changed meanwhile; who waits for it; how they end.
 *
 * SEED=n runs the same random choices again; each run prints its seed. The clock is the system's,
 * so that the walk has a share of time: which of the changes come before a key is copied differs.
 */
#include "save/walk.h"

#include "base/faults.h"
#include "server/whole.h"

#include <pthread.h>

#include "aof/aof_load.h"
#include "base/list.h"
#include "base/stream.h"
#include "io/background.h"
#include "io/file_stream.h"
#include "net/client.h"
#include "net/client_memory.h"
#include "rdb/rdb_load.h"
#include "save/saver.h"
#include "save/scribe.h"
#include "store/digest.h"
#include "store/frontier.h"
#include "value/shadow.h"

#define FILE_NAME "walked"
#define DATABASES 3
#define LARGE_MEMBERS 9000 /* who would change so many waits (FRONTIER_RUSH_EFFORT_MAX) */
#define BLOCK_BYTES 65536
#define SHADOW_TABLE_BYTES 4096 /* that of shadows stays */

static const struct child_kind rewrite_kind = {.beside = false};

static struct peer client, other;

/* ---- the scribe waits while the gate is shut ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool shut;
static unsigned waiting; /* scribes at the gate */

static void set_gate(bool to) {
    pthread_mutex_lock(&lock);
    shut = to;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static void await_gate(void) {
    pthread_mutex_lock(&lock);
    while (!waiting) pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}

/* ---- a job ---- */

static int opened_id, closed_error;
static struct saver_end last_end;
static unsigned ends;

static int open_file(void *argument, int id) {
    pthread_mutex_lock(&lock);
    waiting++;
    pthread_cond_broadcast(&changed);
    while (shut) pthread_cond_wait(&changed, &lock);
    waiting--;
    pthread_mutex_unlock(&lock);
    opened_id = id;
    return system_open(FILE_NAME, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
}

static bool close_file(void *argument, int fd, int error) {
    closed_error = error;
    system_close(fd);
    return !error;
}

static void note_end(const struct saver_end *end) {
    last_end = *end;
    ends++;
}

static void start(enum saver_format format) {
    const struct saver_job job = {.kind = &saver_snapshot,
                                  .title = "walk",
                                  .label = "test",
                                  .format = format,
                                  .open = open_file,
                                  .close = close_file,
                                  .ended = note_end};
    opened_id = closed_error = -1;
    last_end = (struct saver_end){0};
    ends = 0;
    assert_true(saver_start(&job));
    assert_ptr_equal(saver_kind(), &saver_snapshot);
    assert_false(saver_is_a_process());
    assert_true(walk_is_under_way() && walk_is_copying());
}

static void turn(void) {
    clock_refresh();
    peers_turns();
}

/* The walk may take all of the time now, as nothing is looked at before it has ended. */
static void await_end(void) {
    option_set_text("snapshot-cpu-budget", "100");
    while (saver_is_busy()) turn();
    option_set_text("snapshot-cpu-budget", "1");
    assert_int_equal(ends, 1);
    assert_false(frontier_is_open());
}

/* ---- requests ---- */

static void say(struct peer *p, const char *line) {
    peer_send(p, slice_of(line));
    peer_send(p, SLICE("\r\n"));
}

static void __attribute__((format(printf, 1, 2))) ask(const char *format, ...) {
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    say(&client, line);
    while (client.got.length == 0) {
        turn();
        peer_receive(&client, SIZE_MAX);
    }
    buffer_clear(&client.got);
}

static void ask_bytes(const char *command, size_t bytes) {
    char head[192];
    struct buffer request = {.class = MEMORY_OTHER};
    snprintf(head, sizeof(head), "%s\r\n$%zu\r\n", command, bytes);
    buffer_append_c_string(&request, head);
    memset(buffer_reserve(&request, bytes), 'b', bytes);
    request.length += bytes;
    buffer_append_c_string(&request, "\r\n");
    peer_send(&client, buffer_slice(&request));
    buffer_free(&request);
    while (client.got.length == 0) {
        turn();
        peer_receive(&client, SIZE_MAX);
    }
    buffer_clear(&client.got);
}

static void set_option(const char *name, const char *value) {
    ask("CONFIG SET %s %s", name, value);
}

static uint64_t metric(const char *name) {
    say(&client, "INFO persistence");
    turn();
    peer_receive(&client, SIZE_MAX);
    buffer_append(&client.got, "", 1);
    const char *at = strstr(client.got.bytes, name);
    assert_non_null(at);
    uint64_t value = strtoull(at + strlen(name) + 1, NULL, 10);
    buffer_clear(&client.got);
    return value;
}

/* ---- data ---- */

static void fill_large(const char *suffix) {
    ask("EVAL \"for i = 1, %d do "
        "redis.call('hset', 'hash%s', 'field' .. i, string.rep('v', i %% 60)) "
        "redis.call('sadd', 'set%s', 'member' .. i) redis.call('zadd', 'zset%s', i / 4, i) "
        "redis.call('rpush', 'list%s', 'element' .. i) end return 1\" 0",
        LARGE_MEMBERS, suffix, suffix, suffix, suffix);
}

static void fill(void) {
    for (int database = 0; database < DATABASES; database++) {
        ask("SELECT %d", database);
        ask("EVAL \"for i = 1, 3000 do redis.call('set', 's' .. i, string.rep('t', i %% 90)) end "
            "for i = 1, 200 do redis.call('hset', 'h' .. i, 'a', i, 'b', string.rep('w', i)) "
            "redis.call('sadd', 'i' .. i, i, 2, 3) redis.call('zadd', 'z' .. i, i, 'a', 2, 'b') "
            "redis.call('rpush', 'l' .. i, 'a', i) redis.call('setrange', 'r' .. i, i, 'x') "
            "redis.call('xadd', 'x', i .. '-1', 'f', i) "
            "redis.call('set', 't' .. i, string.rep('u', i * 120)) "
            "redis.call('pexpire', 's' .. i, 100000000 + i) end return 1\" 0");
        ask("XGROUP CREATE x g 0");
        ask("XREADGROUP GROUP g c COUNT 5 STREAMS x >");
    }
    ask("SELECT 0");
    fill_large("");
    ask("SETRANGE long 700000 end");
    ask("PEXPIRE zset 100000000");
    ask("PEXPIRE long 100000000");
}

static void change(void) {
    static const char *const lines[] = {"SET s%u new",
                                        "DEL s%u",
                                        "APPEND r%u more",
                                        "RENAME s%u h%u",
                                        "HSET h%u c d",
                                        "HDEL hash field%u",
                                        "HSET hash field%u other",
                                        "SREM set member%u",
                                        "ZADD zset 1 %u",
                                        "LPOP list",
                                        "RPUSH list %u",
                                        "SETRANGE long %u y",
                                        "XADD x * f %u",
                                        "EXPIRE i%u 5000",
                                        "COPY zset copy%u REPLACE",
                                        "MOVE l%u 2",
                                        "SWAPDB 0 1",
                                        "UNLINK zset",
                                        "SET new%u text",
                                        "PEXPIRE z%u 1",
                                        "GETSET s%u more",
                                        "SUNIONSTORE u%u set i1"};
    char line[128];
    unsigned key = 1 + (unsigned)random_below(300);
    snprintf(line, sizeof(line), lines[random_below(sizeof(lines) / sizeof(lines[0]))], key, key);
    if (random_below(200) == 0) snprintf(line, sizeof(line), "FLUSHDB");
    say(&client, line);
    turn();
    peer_receive(&client, SIZE_MAX);
    buffer_clear(&client.got);
}

/* Until all changes are made: some may have been held, and are answered later. */
static void settle(void) {
    static const char answer[] = "$7\r\nsettled\r\n";
    size_t length = sizeof(answer) - 1;
    say(&client, "ECHO settled");
    while (client.got.length < length ||
           memcmp(client.got.bytes + client.got.length - length, answer, length) != 0) {
        turn();
        peer_receive(&client, SIZE_MAX);
    }
    buffer_clear(&client.got);
}

static void forget_all(void) {
    for (int i = 0; i < keyspace_databases(); i++) told_flush(keyspace_at(i));
}

static void load(enum saver_format format) {
    if (format != SAVER_SNAPSHOT) {
        assert_int_equal(aof_load(FILE_NAME), AOF_LOADED);
        return;
    }
    const struct rdb_loading how = {.keeps_expired = true};
    struct rdb_loaded result;
    struct file_source in;
    int fd = open(FILE_NAME, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    file_source_open(&in, fd, -1);
    if (!rdb_load(&in.source, &how, &result)) fail_msg("%s", result.reason);
    file_source_close(&in);
    close(fd);
}

static void assert_loads(enum saver_format format, const unsigned char wanted[SHA1_BYTES]) {
    unsigned char found[SHA1_BYTES];
    forget_all();
    load(format);
    digest_all(found);
    assert_memory_equal(found, wanted, SHA1_BYTES);
}

/* ---- tests ---- */

static void save_among_changes(enum saver_format format) {
    unsigned char before[SHA1_BYTES];
    fill();
    digest_all(before);
    start(format);
    unsigned changes = 0;
    while (walk_is_copying() && ++changes < 5000) change();
    assert_true(changes > 1);
    option_set_text("snapshot-cpu-budget", "100");
    await_end();
    assert_true(last_end.good && !last_end.on_purpose);
    assert_int_equal(closed_error, 0);
    assert_int_equal(opened_id, last_end.id);
    assert_loads(format, before);
    set_option("snapshot-cpu-budget", "1");
}

static void test_snapshot(void **state) { save_among_changes(SAVER_SNAPSHOT); }
static void test_preamble(void **state) { save_among_changes(SAVER_PREAMBLE); }
static void test_commands(void **state) { save_among_changes(SAVER_COMMANDS); }

/* Compressed texts are put together from parts; the encoder has helpers. */
static void test_compressed(void **state) {
    set_option("rdbcompression", "yes");
    save_among_changes(SAVER_SNAPSHOT);
    set_option("rdbcompression", "no");
}

/* A walk says which keys are used often, as a child does. */
static void test_frequency(void **state) {
    set_option("maxmemory-policy", "allkeys-lfu");
    for (unsigned i = 0; i < 3000; i++) ask("GET none");
    ask("SET often v");
    for (unsigned i = 0; i < 3000; i++) ask("GET often");
    say(&client, "OBJECT FREQ often");
    turn();
    peer_receive(&client, SIZE_MAX);
    struct buffer shown = client.got;
    client.got = (struct buffer){.class = MEMORY_OTHER};
    start(SAVER_SNAPSHOT);
    await_end();
    forget_all();
    load(SAVER_SNAPSHOT);
    say(&client, "OBJECT FREQ often");
    turn();
    peer_receive(&client, SIZE_MAX);
    assert_true(shown.length > 4); /* above what a new key has */
    peer_assert_got(&client, buffer_slice(&shown));
    buffer_free(&shown);
    buffer_clear(&client.got);
    set_option("maxmemory-policy", "noeviction");
}

/* Who writes to a large value waits until it is out, others do not. */
static void test_writer_waits(void **state) {
    unsigned char before[SHA1_BYTES];
    ask("SETRANGE long 1200000 end");
    ask("SET small v");
    digest_all(before);
    uint64_t held = metric("walk_writers_held");
    set_gate(true);
    start(SAVER_SNAPSHOT);
    say(&other, "APPEND long more");
    turn();
    assert_int_equal(metric("walk_writers_held"), held + 1);
    ask("SET small w");
    ask("STRLEN long");
    while (other.got.length == 0) {
        turn();
        peer_receive(&other, SIZE_MAX);
    }
    peer_assert_got(&other, SLICE(":1200007\r\n"));
    set_gate(false);
    await_end();
    assert_loads(SAVER_SNAPSHOT, before);
}

/* One large key, made by `line`, whose copy is begun and not out. */
static void begin_copy_of(const char *line, unsigned char before[SHA1_BYTES]) {
    forget_all();
    ask("%s", line);
    digest_all(before);
    set_gate(true);
    start(SAVER_SNAPSHOT);
    for (int step = 0; step < 20; step++) assert_false(frontier_step(1, 1));
}

/* Who deletes or replaces a large value does not wait, also where its copy is in the midst: the
 * value is kept until it is out. */
static void test_removal_does_not_wait(void **state) {
    static const char *const making[] = {
        "SETRANGE large 1200000 end",
        "EVAL \"for i = 1, 9000 do redis.call('hset', 'large', i, 'v') end return 1\" 0",
        "EVAL \"for i = 1, 9000 do redis.call('rpush', 'large', ('e'):rep(80)) end return 1\" 0"};
    static const char *const removing[] = {"DEL large",
                                           "UNLINK large",
                                           "SET large new",
                                           "SET large new KEEPTTL",
                                           "GETSET large new",
                                           "GETDEL large",
                                           "MSET a 1 large new",
                                           "SUNIONSTORE large none",
                                           "BITOP NOT large a",
                                           "SORT none STORE large",
                                           "FLUSHDB",
                                           "FLUSHDB ASYNC"};
    unsigned char before[SHA1_BYTES];
    for (size_t m = 0; m < sizeof(making) / sizeof(making[0]); m++) {
        for (size_t r = 0; r < sizeof(removing) / sizeof(removing[0]); r++) {
            begin_copy_of(making[m], before);
            uint64_t held = metric("walk_writers_held");
            ask("%s", removing[r]);
            assert_int_equal(metric("walk_writers_held"), held);
            assert_int_equal(metric("walk_values_rushed"), 0);
            set_gate(false);
            await_end();
            assert_loads(SAVER_SNAPSHOT, before);
        }
    }
}

/* Who changes members of a large hash, set or sorted set does not: what they were is kept. */
static void test_members_change(void **state) {
    unsigned char before[SHA1_BYTES];
    fill_large("");
    digest_all(before);
    uint64_t held = metric("walk_writers_held");
    set_gate(true);
    start(SAVER_SNAPSHOT);
    for (unsigned i = 1; i <= LARGE_MEMBERS; i += 7) {
        ask("HSET hash field%u new", i);
        ask("HDEL hash field%u", i + 1);
        ask("HSET hash new%u field", i);
        ask("SADD set new%u", i);
        ask("SPOP set");
        ask("ZADD zset 7 %u", i);
        ask("ZREM zset %u", i + 1);
        ask("ZADD zset 3 new%u", i);
    }
    assert_int_equal(metric("walk_writers_held"), held);
    assert_int_equal(metric("walk_values_rushed"), 0);
    set_gate(false);
    await_end();
    assert_loads(SAVER_SNAPSHOT, before);
}

/* There is a text so large that a save whose gate is shut does not copy all of it unless somebody
 * waits for it; and both clients have said their lines. */
static void prepare(const char *of_other, const char *of_client, unsigned char before[SHA1_BYTES]) {
    forget_all();
    ask("SETRANGE long 16000000 end");
    ask("SET small v");
    digest_all(before);
    say(&other, of_other);
    say(&client, of_client);
    peer_receive(&other, SIZE_MAX);
    buffer_clear(&other.got);
    buffer_clear(&client.got);
}

static void start_shut(void) {
    set_gate(true);
    start(SAVER_SNAPSHOT);
}

static void say_without_turn(struct peer *p, const char *lines) {
    size_t length = strlen(lines);
    assert_int_equal(peer_try_send(p, lines, length), length);
}

/* Both are read in one turn of the loop, before the save copies more. */
static void say_at_once(const char *of_other, const char *of_client) {
    say_without_turn(&other, of_other);
    say_without_turn(&client, of_client);
    loop_turn(peers_loop, 0);
    peer_receive(&client, SIZE_MAX);
}

static void end_among(const char *of_other, const unsigned char before[SHA1_BYTES]) {
    while (other.got.length == 0) {
        turn();
        peer_receive(&other, SIZE_MAX);
    }
    peer_assert_got(&other, slice_of(of_other));
    set_gate(false);
    await_end();
    assert_loads(SAVER_SNAPSHOT, before);
}

/* EXEC waits as a whole, before it runs, until what its commands change is out; one that only reads
 * it does not wait. */
static void test_transaction_waits(void **state) {
    unsigned char before[SHA1_BYTES];
    uint64_t held = metric("walk_writers_held");
    prepare("MULTI\r\nSET small w\r\nAPPEND long more\r\nAPPEND long more",
            "MULTI\r\nSTRLEN long\r\nSET other w", before);
    start_shut();
    say_at_once("EXEC\r\n", "EXEC\r\n");
    peer_assert_got(&client, SLICE("*2\r\n:16000003\r\n+OK\r\n"));
    assert_int_equal(metric("walk_writers_held"), held + 1);
    assert_int_equal(metric("walk_values_rushed"), 0);
    end_among("*3\r\n+OK\r\n:16000007\r\n:16000011\r\n", before);
    assert_int_equal(metric("walk_values_rushed"), 0);
}

/* Its watched keys may change while it waits, and then it runs nothing. */
static void test_waiting_transaction_fails(void **state) {
    unsigned char before[SHA1_BYTES];
    uint64_t held = metric("walk_writers_held");
    prepare("WATCH small\r\nMULTI\r\nAPPEND long more", "PING", before);
    start_shut();
    say_at_once("EXEC\r\n", "SET small w\r\n");
    peer_assert_got(&client, SLICE("+OK\r\n"));
    assert_int_equal(metric("walk_writers_held"), held + 1);
    end_among("*-1\r\n", before);
}

/* A command that is queued changes nothing yet. */
static void test_queuing_does_not_wait(void **state) {
    unsigned char before[SHA1_BYTES];
    uint64_t held = metric("walk_writers_held");
    prepare("MULTI", "MULTI", before);
    start_shut();
    say_at_once("STRLEN long\r\nEXEC\r\n", "APPEND long more\r\nDISCARD\r\n");
    peer_assert_got(&client, SLICE("+QUEUED\r\n+OK\r\n"));
    assert_int_equal(metric("walk_writers_held"), held);
    end_among("+QUEUED\r\n*1\r\n:16000003\r\n", before);
    assert_int_equal(metric("walk_values_rushed"), 0);
}

/* So many of a transaction's commands are looked at and no more; what is behind them is copied at
 * once. */
static void test_long_transaction(void **state) {
    enum { LOOKED_AT = 1024 };
    for (int more = 0; more < 2; more++) {
        unsigned char before[SHA1_BYTES];
        uint64_t held = metric("walk_writers_held");
        prepare("PING", "MULTI", before);
        for (int i = 0; i < LOOKED_AT - 1 + more; i++) ask("PING");
        ask("APPEND long more");
        start_shut();
        say(&client, "EXEC");
        settle();
        assert_int_equal(metric("walk_writers_held"), held + !more);
        assert_int_equal(metric("walk_values_rushed"), more);
        set_gate(false);
        await_end();
        assert_loads(SAVER_SNAPSHOT, before);
    }
}

/* No call within a script can wait: what it changes is copied at once, once. */
static void test_script_does_not_wait(void **state) {
    unsigned char before[SHA1_BYTES];
    fill_large("");
    digest_all(before);
    set_gate(true);
    start(SAVER_SNAPSHOT);
    say(&client,
        "EVAL \"redis.call('rpush', 'list', 'another') "
        "return redis.call('rpush', 'list', 'more')\" 0");
    loop_turn(peers_loop, 0);
    peer_receive(&client, SIZE_MAX);
    peer_assert_got(&client, SLICE(":9002\r\n"));
    assert_int_equal(metric("walk_values_rushed"), 1);
    set_gate(false);
    await_end();
    assert_loads(SAVER_SNAPSHOT, before);
}

/* While nothing is written only so much is copied; and who writes waits where much more than that
 * has been, because keys were about to change; but not for a save that is given up. */
static void fall_behind(bool gives_up) {
    enum { TEXTS = 110, TEXT_BYTES = 800000, WAITING = 8 << 20, HELD = 64 << 20 };
    unsigned char before[SHA1_BYTES];
    char line[128];
    for (unsigned i = 0; i < TEXTS; i++) {
        snprintf(line, sizeof(line), "*3\r\n$3\r\nSET\r\n$4\r\nt%03u", i);
        ask_bytes(line, TEXT_BYTES);
    }
    digest_all(before);
    option_set_text("snapshot-cpu-budget", "100");
    set_gate(true);
    start(SAVER_SNAPSHOT);
    while (metric("walk_waiting_bytes") < WAITING) continue;
    for (unsigned i = 0; i < 200; i++) turn();
    assert_true(metric("walk_waiting_bytes") < WAITING + TEXT_BYTES + 4 * BLOCK_BYTES);
    uint64_t held = metric("walk_writers_held");
    unsigned number = 0;
    for (; number < TEXTS && metric("walk_writers_held") == held; number++) {
        snprintf(line, sizeof(line), "APPEND t%03u x", number);
        say(&other, line);
        turn();
    }
    assert_true(number < TEXTS);
    assert_true(metric("walk_waiting_bytes") >= HELD);
    assert_true(metric("walk_waiting_bytes") < HELD + 2 * TEXT_BYTES);
    if (gives_up)
        saver_kill(&saver_snapshot);
    else
        set_gate(false);
    for (size_t answers = 0; answers < number;) {
        turn();
        peer_receive(&other, SIZE_MAX);
        answers = 0;
        for (size_t i = 0; i < other.got.length; i++) answers += other.got.bytes[i] == ':';
    }
    set_gate(false);
    await_end();
    assert_int_equal(last_end.good, !gives_up);
    if (last_end.good) assert_loads(SAVER_SNAPSHOT, before);
    set_option("snapshot-cpu-budget", "1");
}

static void test_scribe_is_behind(void **state) { fall_behind(false); }
static void test_given_up_behind(void **state) { fall_behind(true); }

/* What a disk holds up longer than anybody waits goes on by itself; its end is told once. */
static void test_disk_stands_still(void **state) {
    ask("SET a b");
    set_gate(true);
    start(SAVER_SNAPSHOT);
    while (walk_is_copying()) turn();
    await_gate();
    saver_kill_and_wait(&saver_snapshot);
    assert_int_equal(ends, 1);
    assert_true(last_end.on_purpose && !last_end.good);
    assert_true(saver_is_busy());
    assert_null(saver_kind());
    saver_kill_and_wait(&saver_snapshot);
    set_gate(false);
    await_end();
    assert_int_equal(closed_error, ECANCELED);
}

/* What is given up leaves nothing behind, and the next save is whole. */
static void test_given_up(void **state) {
    unsigned char before[SHA1_BYTES];
    fill();
    for (unsigned round = 0; round < 20; round++) {
        start(round % 2 ? SAVER_SNAPSHOT : SAVER_COMMANDS);
        for (size_t i = random_below(30); i; i--) change();
        if (round % 3 == 0)
            saver_kill_and_wait(&saver_snapshot);
        else
            saver_kill(&saver_snapshot);
        await_end();
        assert_true(last_end.good || last_end.on_purpose);
        if (!last_end.good && opened_id >= 0) assert_int_equal(closed_error, ECANCELED);
    }
    option_set_text("snapshot-cpu-budget", "100");
    settle();
    nanosleep(&(struct timespec){.tv_nsec = 3000000}, NULL); /* what changes made due soon is due */
    clock_refresh();
    digest_all(before);
    start(SAVER_SNAPSHOT);
    await_end();
    assert_loads(SAVER_SNAPSHOT, before);
    set_option("snapshot-cpu-budget", "1");
}

static void test_one_of_another_kind(void **state) {
    ask("SET a b");
    start(SAVER_SNAPSHOT);
    saver_kill(&rewrite_kind);
    saver_kill_and_wait(&rewrite_kind);
    await_end();
    assert_true(last_end.good);
}

/* The method is what begins the next; one that walks ends where it is no longer wanted. */
static void test_method(void **state) {
    fill();
    start(SAVER_SNAPSHOT);
    set_option("snapshot-method", "fork");
    await_end();
    assert_true(last_end.on_purpose && !last_end.good);
    set_option("snapshot-method", "walk");
}

/* A disk that is full: the save fails, and nothing else. */
static void test_disk_fails(void **state) {
    set_option("snapshot-threads", "4"); /* so that much is on its way when a write fails */
    for (unsigned after = 0; after < 3; after++) {
        fill();
        for (unsigned i = 0; i < 40; i++) ask("SETRANGE long%u 100000 end", i);
        faults_fail(FAULT_WRITE, ENOSPC, after, 1, FILE_NAME);
        start(SAVER_SNAPSHOT);
        for (unsigned i = 0; i < 20; i++) change();
        option_set_text("snapshot-cpu-budget", "100");
        await_end();
        faults_clear();
        assert_false(last_end.good || last_end.on_purpose);
        assert_int_equal(closed_error, ENOSPC);
        set_option("snapshot-cpu-budget", "1");
    }
    set_option("snapshot-threads", "1");
}

static void test_open_fails(void **state) {
    fill();
    faults_fail(FAULT_OPEN, EACCES, 0, 1, FILE_NAME);
    start(SAVER_SNAPSHOT);
    option_set_text("snapshot-cpu-budget", "100");
    await_end();
    faults_clear();
    assert_false(last_end.good || last_end.on_purpose);
    assert_int_equal(closed_error, -1);
    set_option("snapshot-cpu-budget", "1");
}

static void test_one_at_a_time(void **state) {
    ask("SET a b");
    start(SAVER_SNAPSHOT);
    errno = 0;
    assert_false(saver_start(&(struct saver_job){.kind = &rewrite_kind}));
    assert_int_equal(errno, EBUSY);
    await_end();
    assert_true(last_end.good);
    assert_true(last_end.id > 1 << 22);
}

/* ---- */

static int begin(void **state) {
    int failed = whole_begin(state);
    clock_use_system();
    clock_refresh();
    client = peer_connect();
    other = peer_connect();
    set_option("snapshot-method", "walk");
    set_option("snapshot-cpu-budget", "1");
    set_option("rdbcompression", "no");
    return failed;
}

static int end(void **state) {
    set_gate(false);
    saver_kill_and_wait(&saver_snapshot);
    peer_close(&client);
    peer_close(&other);
    unlink(FILE_NAME);
    /* The client of scripts stays. */
    peers_clients_bytes = 0;
    LIST_FOR_EACH (link, following, client_captured_list())
        peers_clients_bytes += client_memory_of(LIST_ENTRY(link, struct client, link));
    int failed = whole_nothing_left(state);
    background_drain(&scribe_jobs);
    background_drain(&background_free);
    assert_int_equal(shadow_bytes(), 0);
    assert_true(memory_used(MEMORY_SAVES) <= SHADOW_TABLE_BYTES);
    return failed;
}

static int open_all(void **state) { return whole_open(); }

static int close_all(void **state) {
    background_stop();
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_snapshot),
        TEST(test_preamble),
        TEST(test_commands),
        TEST(test_compressed),
        TEST(test_frequency),
        TEST(test_writer_waits),
        TEST(test_removal_does_not_wait),
        TEST(test_members_change),
        TEST(test_transaction_waits),
        TEST(test_waiting_transaction_fails),
        TEST(test_queuing_does_not_wait),
        TEST(test_long_transaction),
        TEST(test_script_does_not_wait),
        TEST(test_scribe_is_behind),
        TEST(test_given_up_behind),
        TEST(test_disk_stands_still),
        TEST(test_given_up),
        TEST(test_one_of_another_kind),
        TEST(test_method),
        TEST(test_disk_fails),
        TEST(test_open_fails),
        TEST(test_one_at_a_time),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
