/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of report/trace_record, with the server's rows: what is kept of each form of a request, and
 * that no argument that may be a value is kept of any request.
 *
 * In the expected texts <k> is a sampled key, (k) another one, #3 a value of three bytes. "-" in a
 * request is an empty argument. SEED=n repeats the random requests.
 */
#include "report/trace_record.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/random.h"
#include "base/seed.h"
#include "command/call.h"
#include "command/command.h"
#include "command/command_keys.h"
#include "net/client.h"
#include "option/option.h"
#include "server/mode.h"
#include "server/modes.h"
#include "store/keyspace.h"
#include "store/told.h"

#define ARGUMENTS_MAX 16
#define START_MSEC INT64_C(1750000000000)

static const struct {
    const char *request, *kept;
} cases[] = {
    {"get k", "get <k>"},
    {"GET k", "get <k>"},
    {"set k 123456", "set <k> #6"},
    {"set k ex", "set <k> #2"},
    {"set k v EX 10 nx", "set <k> #1 EX 10 nx"},
    {"set k v keepttl get", "set <k> #1 keepttl get"},
    {"set k v ex secret", "set <k> #1 ex #6"},
    {"set k v secret ex 10", "set <k> #1 #6 #2 #2"},
    {"set k v ex 1111111111111111111111111", "set <k> #1 ex #25"},
    {"setex k 10 v", "setex <k> 10 #1"},
    {"setex k 10 20", "setex <k> 10 #2"},
    {"getex k pxat 1750000000000", "getex <k> pxat 1750000000000"},
    {"expireat k 1750000000", "expireat <k> 1750000000"},
    {"incrby k 77", "incrby <k> #2"},
    {"mset a 1 b 2", "mset <a> #1 <b> #1"},
    {"mset a 1 b", "mset <a> #1 <b>"},
    {"hset k ex 1234 limit 5", "hset <k> #2 #4 #5 #1"},
    {"hmget k f g", "hmget <k> #1 #1"},
    {"rpush k 1 2", "rpush <k> #1 #1"},
    {"lrange k 0 -1", "lrange <k> 0 -1"},
    {"lrange k -1 -1", "lrange <k> -1 -1"},
    {"linsert k before 1 2", "linsert <k> before #1 #1"},
    {"lrem k 0 5", "lrem <k> 0 #1"},
    {"lmove a b left right", "lmove <a> <b> left right"},
    {"blmove a b left right 5", "blmove <a> <b> left right 5"},
    {"blpop a b 0.5", "blpop <a> <b> 0.5"},
    {"zadd k nx ch 5 ex", "zadd <k> nx ch #1 #2"},
    {"zrange k 0 -1 withscores", "zrange <k> 0 -1 withscores"},
    {"zrange k 17 inf byscore limit 0 10", "zrange <k> #2 inf byscore limit 0 10"},
    {"zrange k 1 2 limit 0 10 byscore", "zrange <k> #1 #1 limit 0 10 byscore"},
    {"zrangebyscore k -inf 1234 limit 0 5", "zrangebyscore <k> -inf #4 limit 0 5"},
    {"zunionstore d 2 a b weights 1 2", "zunionstore <d> 2 <a> <b> #7 #1 #1"},
    {"hscan k 17 match x* count 10", "hscan <k> 17 match #2 count 10"},
    {"xadd k maxlen ~ 100 * maxlen 1234", "xadd <k> maxlen ~ 100 * #6 #4"},
    {"xadd k 5-1 nomkstream 1", "xadd <k> #3 #10 #1"},
    {"xadd k minid ~ 7 * f v", "xadd <k> minid #1 #1 #1 #1 #1"},
    {"xread count 5 streams a b $ 0-1", "xread count 5 streams <a> <b> $ #3"},
    {"xreadgroup group g c streams a >", "xreadgroup group #1 #1 streams <a> >"},
    {"sort k by w* limit 0 5 get x* desc", "sort <k> by #2 limit 0 5 get #2 desc"},
    {"object encoding k", "object encoding <k>"},
    {"memory usage k samples 5", "memory usage <k> samples 5"},
    {"geosearch k frommember m byradius 5 km asc count 3",
     "geosearch <k> frommember #1 byradius #1 km asc count 3"},
    {"pfadd k 1 2", "pfadd <k> #1 #1"},
    {"restore k 0 payload", "restore <k> #1 #7"},
    {"append k -", "append <k> #0"},
};

static struct client client;

static int split(const char *text, struct slice *argv) {
    int argc = 0;
    while (*text) {
        size_t length = strcspn(text, " ");
        assert_true(argc < ARGUMENTS_MAX);
        argv[argc++] = (struct slice){text, length == 1 && *text == '-' ? 0 : length};
        text += length + (text[length] == ' ');
    }
    return argc;
}

static struct call call_of(struct slice *argv, int argc) {
    struct command *command = command_find(argv[0]);
    if (!command) fail_msg("no row for %.*s", (int)argv[0].length, argv[0].bytes);
    return (struct call){.client = &client,
                         .command = command,
                         .argc = argc,
                         .argv = argv,
                         .keyspace = keyspace_at(0)};
}

static struct call call_split(const char *request, struct slice *argv) {
    int argc = split(request, argv);
    return call_of(argv, argc);
}

static void show_record(const struct trace_record *record, struct buffer *text) {
    struct trace_argument a;
    const char *cursor = NULL;
    uint32_t count = 0;
    for (; trace_record_next(record, &cursor, &a); count++) {
        if (count) buffer_append_char(text, ' ');
        if (a.kind == TRACE_VALUE)
            buffer_printf(text, "#%u", a.size);
        else if (a.kind == TRACE_WORD)
            buffer_append(text, a.text.bytes, a.text.length);
        else
            buffer_printf(text, a.kind == TRACE_KEY ? "<%.*s>" : "(%.*s)", (int)a.text.length,
                          a.text.bytes);
    }
    assert_int_equal(count, record->arguments);
    assert_int_equal(record->bytes % 8, 0);
}

/* What is kept of a request; "" where nothing is. */
static const char *kept_of(const char *request, uint64_t hash_max, struct buffer *text) {
    struct slice argv[ARGUMENTS_MAX];
    struct buffer out = {.class = MEMORY_OTHER};
    struct call call = call_split(request, argv);
    buffer_clear(text);
    buffer_append_c_string(text, "");
    if (trace_record_append(&call, hash_max, &out) == TRACE_APPENDED) {
        const struct trace_record *record = (const void *)out.bytes;
        assert_int_equal(record->bytes, out.length);
        show_record(record, text);
    }
    buffer_free(&out);
    return text->bytes;
}

static void test_each_form(void **state) {
    struct buffer text = {.class = MEMORY_OTHER};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_string_equal(kept_of(cases[i].request, UINT64_MAX, &text), cases[i].kept);
    buffer_free(&text);
}

static const struct {
    const char *request, *kept; /* L and H stand for the keys */
} forms[] = {
    {"mget H L H", "mget <L>"},
    {"mset H 1 L 22 H", "mset <L> #2"},
    {"del L H", "del <L>"},
    {"blpop H L 5", "blpop <L> 5"},
    {"rename H L", "rename (H) <L>"},
    {"sinterstore H H L", "sinterstore (H) (H) <L>"},
    {"zunionstore H 1 L", "zunionstore (H) 1 <L>"},
    {"get H", ""},
    {"mget H H", ""},
    {"ping", ""},
    {"eval x 0", ""},
};

/* Of two keys one is sampled: `low` has the smaller hash. */
static void test_keys_that_are_not_sampled(void **state) {
    struct buffer text = {.class = MEMORY_OTHER};
    uint64_t a = hash_bytes("a", 1), b = hash_bytes("b", 1), max = a < b ? a : b;
    char low = a < b ? 'a' : 'b', high = a < b ? 'b' : 'a';
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        char words[2][64];
        for (int k = 0; k < 2; k++) {
            snprintf(words[k], sizeof(words[k]), "%s", k ? forms[i].kept : forms[i].request);
            for (char *c = words[k]; *c; c++) *c = *c == 'L' ? low : *c == 'H' ? high : *c;
        }
        assert_string_equal(kept_of(words[0], max, &text), words[1]);
    }
    buffer_free(&text);
}

static void test_figures_of_a_key(void **state) {
    struct buffer out = {.class = MEMORY_OTHER};
    struct slice argv[ARGUMENTS_MAX];
    struct keyspace *ks = keyspace_at(0);
    struct string_value v = string_value_of_text(SLICE("twenty bytes of text"));
    struct call call = call_split("mget lasting timed due none", argv);
    for (int i = 1; i < 4; i++) {
        int64_t deadline = i == 1 ? ENTRY_NO_DEADLINE : START_MSEC + (i == 2 ? 5000 : 10);
        told_store(ks, argv[i], hash_bytes(argv[i].bytes, argv[i].length), NULL, &v, deadline);
    }
    clock_use_fixed((START_MSEC + 1000) * 1000, INT64_C(1001000000));
    clock_refresh();
    assert_int_equal(trace_record_append(&call, UINT64_MAX, &out), TRACE_APPENDED);
    const struct trace_record *record = (const void *)out.bytes;
    struct trace_argument a[5];
    const char *cursor = NULL;
    for (int i = 0; i < 5; i++) assert_true(trace_record_next(record, &cursor, &a[i]));
    assert_false(trace_record_next(record, &cursor, &a[0]));
    assert_int_equal(record->wall_usec, (START_MSEC + 1000) * 1000);
    const struct key lasting = {ks, argv[1], hash_bytes(argv[1].bytes, argv[1].length)};
    assert_int_equal(a[1].bytes, keyspace_key_bytes(keyspace_look(&lasting)));
    assert_int_equal(a[1].ttl_msec, -1);
    assert_true(a[2].bytes > a[1].bytes);
    assert_int_equal(a[2].ttl_msec, 4000);
    assert_int_equal(a[3].bytes, -1);
    assert_int_equal(a[4].bytes, -1);
    assert_int_equal(keyspace_count(ks), 3); /* the key that is due was not touched */
    told_flush(ks);
    buffer_free(&out);
}

static void test_what_is_not_wanted(void **state) {
    static const char *const refused[] = {"auth password",
                                          "hello 3 auth user password",
                                          "acl setuser u >password",
                                          "config set x y",
                                          "migrate h 1 k 0 1 auth p",
                                          "eval script 1 k",
                                          "evalsha digest 1 k",
                                          "watch k",
                                          "debug object k",
                                          "trace read",
                                          "slowlog get"};
    struct slice argv[ARGUMENTS_MAX];
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        struct call call = call_split(refused[i], argv);
        if (trace_record_wants(&call)) fail_msg("%s is wanted", refused[i]);
    }
    struct call call = call_split("set k v", argv);
    for (int origin = 0; origin < CALL_ORIGINS; origin++) {
        call.origin = (enum call_origin)origin;
        bool clients = origin == CALL_NETWORK || origin == CALL_QUEUED || origin == CALL_SCRIPT ||
                       origin == CALL_MODULE;
        assert_int_equal(trace_record_wants(&call), clients);
    }
}

static void test_too_large(void **state) {
    struct buffer out = {.class = MEMORY_OTHER};
    char key[TRACE_RECORD_BYTES_MAX];
    memset(key, 'k', sizeof(key));
    struct slice argv[ARGUMENTS_MAX] = {SLICE("get"), {key, sizeof(key) - 200}};
    struct call call = call_of(argv, 2);
    assert_int_equal(trace_record_append(&call, UINT64_MAX, &out), TRACE_APPENDED);
    buffer_clear(&out);
    argv[1].length = sizeof(key);
    assert_int_equal(trace_record_append(&call, UINT64_MAX, &out), TRACE_TOO_LARGE);
    assert_int_equal(out.length, 0);
    buffer_free(&out);
}

static bool note_key_place(int index, void *context) {
    *(unsigned *)context |= 1u << index;
    return true;
}

/* Whatever a request looks like, an argument that is neither a key nor a word of some grammar is
 * never in its record. */
static void test_no_value_is_kept(void **state) {
    static const char *const words[] = {
        "ex", "px",    "limit",   "count", "*",    "maxlen",  "match",  "by",     "2",
        "-1", "store", "streams", "group", "get",  "before",  "usage",  "keys",   "~",
        "nx", "asc",   "create",  "$",     "left", "byscore", "S3CRET", "9999999"};
    const size_t count = sizeof(words) / sizeof(words[0]);
    struct buffer out = {.class = MEMORY_OTHER};
    for (int round = 0; round < 300000; round++) {
        struct slice argv[ARGUMENTS_MAX];
        struct command *command = command_at(random_below(command_count()));
        int argc = 1 + (int)random_below(12);
        if (!command_arity_fits(command, argc) || !command->called) continue;
        argv[0] = slice_of(command->name);
        for (int i = 1; i < argc; i++)
            argv[i] = slice_of(words[random_below(3) ? random_below(count) : count - 2]);
        struct call call = call_of(argv, argc);
        unsigned keys = 0;
        (void)command_each_key(&(struct key_search){command, argc, argv, note_key_place, &keys});
        buffer_clear(&out);
        if (trace_record_append(&call, UINT64_MAX, &out) != TRACE_APPENDED) continue;
        struct trace_argument a;
        const char *cursor = NULL;
        for (int i = 0; trace_record_next((const void *)out.bytes, &cursor, &a); i++) {
            if (i && keys >> i & 1)
                assert_true(a.kind == TRACE_KEY && slice_equal(a.text, argv[i]));
            else if (a.kind != TRACE_VALUE && slice_is(a.text, "S3CRET"))
                fail_msg("%s keeps argument %d", command->name, i);
        }
    }
    buffer_free(&out);
}

static int setup(void **state) {
    seed_from_environment();
    mode_register(&mode_server);
    keyspace_open();
    return 0;
}

static int begin(void **state) {
    clock_use_fixed(START_MSEC * 1000, 1000000);
    clock_refresh();
    return 0;
}

static int teardown(void **state) {
    clock_use_system();
    option_reset_all();
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_each_form, begin),
        cmocka_unit_test_setup(test_keys_that_are_not_sampled, begin),
        cmocka_unit_test_setup(test_figures_of_a_key, begin),
        cmocka_unit_test_setup(test_what_is_not_wanted, begin),
        cmocka_unit_test_setup(test_too_large, begin),
        cmocka_unit_test_setup(test_no_value_is_kept, begin),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
