/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of access/acl and its parts: rules against a model, rules printed and read again, the
 * checks of commands, keys and channels, files of users, and ACL LOG.
 */
#include "access/acl.h"

#include "../base/seed.h"
#include "access/acl_file.h"
#include "access/acl_internal.h"
#include "access/acl_log.h"
#include "access/acl_rules.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/panic.h"

static void handler(struct call *call) {}

#define GENERATED 60
static char names[GENERATED][16];
static struct command generated[GENERATED];

enum { GET, MGET, CONFIG, PUBLISH, SUBSCRIBE, PSUBSCRIBE, AUTH, QUIT, ROWS };
static struct command rows[ROWS] = {
    [GET] = {.name = "get",
             .handler = handler,
             .arity = 2,
             .flags = COMMAND_READONLY | COMMAND_FAST,
             .first_key = 1,
             .last_key = 1,
             .key_step = 1,
             .categories = ACL_STRING},
    [MGET] = {.name = "mget",
              .handler = handler,
              .arity = -2,
              .flags = COMMAND_READONLY | COMMAND_FAST,
              .first_key = 1,
              .last_key = -1,
              .key_step = 1,
              .categories = ACL_STRING},
    [CONFIG] = {.name = "config", .handler = handler, .arity = -2, .flags = COMMAND_ADMIN},
    [PUBLISH] = {.name = "publish",
                 .handler = handler,
                 .arity = 3,
                 .flags = COMMAND_PUBSUB,
                 .channels = COMMAND_CHANNELS_FIRST},
    [SUBSCRIBE] = {.name = "subscribe",
                   .handler = handler,
                   .arity = -2,
                   .flags = COMMAND_PUBSUB,
                   .channels = COMMAND_CHANNELS_ALL},
    [PSUBSCRIBE] = {.name = "psubscribe",
                    .handler = handler,
                    .arity = -2,
                    .flags = COMMAND_PUBSUB,
                    .channels = COMMAND_CHANNELS_PATTERNS},
    [AUTH] = {.name = "auth", .handler = handler, .arity = -2, .flags = COMMAND_NO_AUTH},
    [QUIT] = {.name = "quit",
              .handler = handler,
              .arity = -1,
              .flags = COMMAND_NO_AUTH | COMMAND_UNLISTED},
};

static int begin(void **state) {
    seed_from_environment();
    clock_use_fixed(1000000000, 0);
    clock_refresh();
    acl_register();
    acl_log_register();
    acl_file_register();
    command_register(rows, ROWS);
    for (int i = 0; i < GENERATED; i++) {
        snprintf(names[i], sizeof(names[i]), "made%d", i);
        generated[i] = (struct command){.name = names[i],
                                        .handler = handler,
                                        .arity = -1,
                                        .flags = random_below(2) ? COMMAND_FAST : 0,
                                        .categories = 1u << random_below(7)};
    }
    command_register(generated, GENERATED);
    return 0;
}

static enum acl_fault apply(struct acl_user *u, const char *rule) {
    return acl_user_apply(u, slice_of(rule));
}

/* Rules with blanks between; the last one's fault. */
static enum acl_fault apply_all(struct acl_user *u, const char *rules) {
    enum acl_fault fault = ACL_RULE_TAKEN;
    for (const char *word = rules; *word && !fault;) {
        size_t length = strcspn(word, " ");
        fault = acl_user_apply(u, (struct slice){word, length});
        word += length + (word[length] == ' ');
    }
    acl_user_check(u);
    return fault;
}

static void assert_rules(const struct acl_user *u, const char *expected) {
    struct buffer out;
    buffer_init(&out, MEMORY_OTHER);
    acl_user_append_rules(u, &out);
    assert_string_equal(out.bytes, expected);
    buffer_free(&out);
}

static void assert_becomes(const char *rules, const char *expected) {
    struct acl_user *u = acl_user_create(SLICE("u"));
    assert_int_equal(apply_all(u, rules), ACL_RULE_TAKEN);
    assert_rules(u, expected);
    acl_user_free(u);
}

#define DIGEST_OF_P "148de9c5a7a44d19e56cd9ae1a554bf67847afb0c58f6e12fa29ac7ddfca9940"
#define MANY_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static void test_forms(void **state) {
    assert_becomes("", "off &* -@all");
    assert_becomes("on >p ~a ~b ~a resetchannels &c",
                   "on #" DIGEST_OF_P " ~a ~b resetchannels &c -@all");
    assert_becomes("ON NoPass AllKeys +@ALL", "on nopass ~* &* +@all");
    assert_becomes(">p nopass", "off nopass &* -@all");
    assert_becomes("nopass #" DIGEST_OF_P " >p", "off #" DIGEST_OF_P " &* -@all");
    assert_becomes(">p #" MANY_A " <p", "off #" MANY_A " &* -@all");
    assert_becomes(">p !" DIGEST_OF_P, "off &* -@all");
    assert_becomes("nopass resetpass", "off &* -@all");
    assert_becomes("~a allkeys resetkeys ~b", "off ~b &* -@all");
    assert_becomes("resetchannels &a allchannels", "off &* -@all");
    assert_becomes("skip-sanitize-payload", "off skip-sanitize-payload &* -@all");
    assert_becomes("skip-sanitize-payload sanitize-payload", "off sanitize-payload &* -@all");
    assert_becomes("on >p ~a +get reset", "off sanitize-payload &* -@all");
    assert_becomes("+get -get", "off &* -@all");
    assert_becomes("+@string -mget", "off &* -@all +get");
    assert_becomes("+@string", "off &* -@all +@string");
    assert_becomes("+@pubsub", "off &* -@all +@pubsub");
    assert_becomes("+@all -CONFIG", "off &* +@all -@admin");
    assert_becomes("+@all -config +config|get +config|Set +config|SET",
                   "off &* +@all -@admin +config|get +config|Set");
    assert_becomes("+config|get +config", "off &* -@all +@admin");
    assert_becomes("+config +config|get", "off &* -@all +@admin");
    assert_becomes("+config|get -@admin", "off &* -@all");
    assert_becomes("+config|get|x", "off &* -@all +config|get|x");
}

static const struct {
    const char *rules;
    enum acl_fault fault;
} faults[] = {
    {"bogus", ACL_RULE_SYNTAX},
    {"%R~x", ACL_RULE_SYNTAX},
    {"+config|", ACL_RULE_SYNTAX},
    {"+", ACL_RULE_UNKNOWN_COMMAND},
    {"-", ACL_RULE_UNKNOWN_COMMAND},
    {"+@", ACL_RULE_UNKNOWN_COMMAND},
    {"+bogus", ACL_RULE_UNKNOWN_COMMAND},
    {"+bogus|x", ACL_RULE_UNKNOWN_COMMAND},
    {"-config|get", ACL_RULE_UNKNOWN_COMMAND},
    {"+@bogus", ACL_RULE_UNKNOWN_COMMAND},
    {"+quit", ACL_RULE_UNKNOWN_COMMAND},
    {"~* ~a", ACL_RULE_KEYS_AFTER_ALL},
    {"&a", ACL_RULE_CHANNELS_AFTER_ALL},
    {"<p", ACL_RULE_NO_SUCH_PASSWORD},
    {"!" MANY_A, ACL_RULE_NO_SUCH_PASSWORD},
    {"#x", ACL_RULE_BAD_HASH},
    {"!x", ACL_RULE_BAD_HASH},
    {"#A" MANY_A, ACL_RULE_BAD_HASH},
};

static const char *const blanks[] = {"~a b", "~a\tb", "~a\n", "+config|a b", "+config|a\n"};

static void test_faults(void **state) {
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        struct acl_user *u = acl_user_create(SLICE("u"));
        assert_int_equal(apply_all(u, faults[i].rules), faults[i].fault);
        assert_true(*acl_fault_text(faults[i].fault));
        acl_user_free(u);
    }
    struct acl_user *u = acl_user_create(SLICE("u"));
    for (size_t i = 0; i < sizeof(blanks) / sizeof(blanks[0]); i++)
        assert_int_equal(apply(u, blanks[i]), ACL_RULE_SYNTAX);
    assert_int_equal(acl_user_apply(u, SLICE("~a\0b")), ACL_RULE_SYNTAX);
    assert_int_equal(acl_user_apply(u, SLICE("+config|a\0b")), ACL_RULE_SYNTAX);
    assert_rules(u, "off &* -@all");
    acl_user_free(u);
}

static void count_flag(const char *name, void *count) { (*(size_t *)count)++; }

static void test_flags(void **state) {
    struct acl_user *u = acl_user_create(SLICE("u"));
    size_t visited = 0;
    assert_int_equal(acl_user_each_flag(u, count_flag, &visited), 2); /* off, allchannels */
    assert_int_equal(visited, 2);
    apply_all(u, "+@all -get +get");
    assert_false(u->flags & ACL_USER_ALL_COMMANDS);
    assert_rules(u, "off &* +@all");
    apply_all(u, "+@all");
    assert_true(u->flags & ACL_USER_ALL_COMMANDS);
    acl_user_free(u);
}

/* ---- random rules against a model ---- */

#define COMMANDS (ROWS + GENERATED)
#define PATTERNS 4
static const char *const keys[PATTERNS] = {"a*", "b", "c?", "ab"};
static const char *const tried[] = {"a", "abc", "b", "bb", "c", "cc", "ab", ""};
/* Whether tried[j] fits keys[i]: written down, not computed. */
static const bool fits[PATTERNS][8] = {{1, 1, 0, 0, 0, 0, 1, 0},
                                       {0, 0, 1, 0, 0, 0, 0, 0},
                                       {0, 0, 0, 0, 0, 1, 0, 0},
                                       {0, 0, 0, 0, 0, 0, 1, 0}};

struct model {
    bool on, nopass, all_keys, all_channels;
    bool commands[COMMANDS], subcommands[COMMANDS], keys[PATTERNS], channels[PATTERNS];
    bool passwords[PATTERNS];
};

static void model_command(struct model *m, size_t command, bool allow) {
    m->commands[command] = allow;
    m->subcommands[command] = false;
}

static void model_commands(struct model *m, unsigned categories, bool allow) {
    for (size_t i = 0; i < COMMANDS; i++)
        if (command_categories(command_at(i)) & categories && i != QUIT) model_command(m, i, allow);
}

/* One rule, as text and in the model. */
static void random_rule(struct model *m, char *rule, size_t size) {
    bool yes = random_below(2);
    size_t at = random_below(PATTERNS), command = random_below(COMMANDS);
    unsigned category = acl_category_at(random_below(21));
    switch (random_below(12)) {
    case 0:
        snprintf(rule, size, m->on ? "off" : "on");
        m->on = !m->on;
        break;
    case 1:
        snprintf(rule, size, yes ? "+@all" : "nocommands");
        for (size_t i = 0; i < COMMANDS; i++) model_command(m, i, yes);
        break;
    case 2:
    case 3:
    case 4:
        if (command == QUIT) command = GET;
        snprintf(rule, size, "%c%s", yes ? '+' : '-', command_at(command)->name);
        model_command(m, command, yes);
        break;
    case 5:
        snprintf(rule, size, "%c@%s", yes ? '+' : '-', command_category_name(category));
        model_commands(m, category, yes);
        break;
    case 6:
        snprintf(rule, size, "+config|sub");
        if (!m->commands[CONFIG]) m->subcommands[CONFIG] = true;
        break;
    case 7:
        snprintf(rule, size, yes ? "resetkeys" : "resetchannels");
        memset(yes ? m->keys : m->channels, 0, sizeof(m->keys));
        *(yes ? &m->all_keys : &m->all_channels) = false;
        break;
    case 8:
        snprintf(rule, size, "~%s", keys[at]);
        if (!m->all_keys) m->keys[at] = true;
        break;
    case 9:
        snprintf(rule, size, "&%s", keys[at]);
        if (!m->all_channels) m->channels[at] = true;
        break;
    case 10:
        snprintf(rule, size, "%c%s", yes ? '>' : '<', keys[at]);
        m->passwords[at] = yes;
        if (yes) m->nopass = false;
        break;
    case 11:
        snprintf(rule, size, yes ? "nopass" : "allkeys");
        memset(yes ? m->passwords : m->keys, 0, sizeof(m->keys));
        *(yes ? &m->nopass : &m->all_keys) = true;
        break;
    }
}

static void compare(const struct acl_user *u, const struct model *m) {
    assert_int_equal(!!(u->flags & ACL_USER_ON), m->on);
    for (size_t i = 0; i < COMMANDS; i++) {
        if (i == QUIT) continue;
        assert_int_equal(acl_user_has_command(u, command_at(i)), m->commands[i]);
        assert_int_equal(acl_user_has_subcommand(u, command_at(i), SLICE("SUB")),
                         m->subcommands[i]);
    }
    for (size_t j = 0; j < 8; j++) {
        bool key = m->all_keys, channel = m->all_channels;
        for (size_t i = 0; i < PATTERNS; i++) {
            key = key || (m->keys[i] && fits[i][j]);
            channel = channel || (m->channels[i] && fits[i][j]);
        }
        assert_int_equal(acl_user_may_key(u, slice_of(tried[j])), key);
        assert_int_equal(acl_user_may_channel(u, slice_of(tried[j]), false), channel);
    }
    for (size_t i = 0; i < PATTERNS; i++) {
        assert_int_equal(acl_user_may_channel(u, slice_of(keys[i]), true),
                         m->all_channels || m->channels[i]);
        assert_int_equal(acl_user_has_password(u, slice_of(keys[i])), m->nopass || m->passwords[i]);
    }
}

/* What a user's rules say makes the same user out of a new one, and is said again the same way. */
static void compare_printed(const struct acl_user *u, const struct model *m) {
    struct buffer out;
    struct acl_user *again = acl_user_create(SLICE("again")), *copy = acl_user_create(SLICE("c"));
    buffer_init(&out, MEMORY_OTHER);
    acl_user_append_rules(u, &out);
    assert_int_equal(apply_all(again, out.bytes), ACL_RULE_TAKEN);
    assert_rules(again, out.bytes);
    compare(again, m);
    acl_user_assign(copy, u);
    acl_user_check(copy);
    assert_rules(copy, out.bytes);
    compare(copy, m);
    buffer_free(&out);
    acl_user_free(again);
    acl_user_free(copy);
}

static void test_random(void **state) {
    char rule[64];
    for (int round = 0; round < 300; round++) {
        struct acl_user *u = acl_user_create(SLICE("u"));
        struct model m = {.all_channels = true};
        int rules = (int)random_below(60);
        for (int i = 0; i < rules; i++) {
            random_rule(&m, rule, sizeof(rule));
            apply(u, rule); /* patterns behind "all" and passwords that are not there: refused */
            acl_user_check(u);
        }
        compare(u, &m);
        compare_printed(u, &m);
        acl_user_free(u);
    }
}

/* ---- clients ---- */

static enum acl_denial check(const struct client *c, const char *request, int *at) {
    struct slice argv[8];
    int argc = 0;
    for (const char *word = request; *word;) {
        size_t length = strcspn(word, " ");
        argv[argc++] = (struct slice){word, length};
        word += length + (word[length] == ' ');
    }
    return acl_check(c, command_find(argv[0]), argc, argv, at);
}

static void set_user(const char *name, const char *rules) {
    struct slice words[16];
    size_t count = 0;
    struct buffer error;
    buffer_init(&error, MEMORY_OTHER);
    for (const char *word = rules; *word;) {
        size_t length = strcspn(word, " ");
        words[count++] = (struct slice){word, length};
        word += length + (word[length] == ' ');
    }
    if (!acl_set_user(slice_of(name), words, count, NULL, &error)) fail_msg("%s", error.bytes);
    buffer_free(&error);
}

static const struct {
    const char *request;
    enum acl_denial denial;
    int at;
} requests[] = {
    {"get k1", ACL_ALLOWED, 0},
    {"get x", ACL_DENIED_KEY, 1},
    {"mget k1 k2 x", ACL_DENIED_KEY, 3},
    {"config get x", ACL_ALLOWED, 0},
    {"config GET x", ACL_ALLOWED, 0},
    {"config set x y", ACL_DENIED_COMMAND, 0},
    {"made0", ACL_DENIED_COMMAND, 0},
    {"publish ch:1 x", ACL_ALLOWED, 0},
    {"publish x ch:1", ACL_DENIED_CHANNEL, 1},
    {"subscribe ch:1 ch:2", ACL_ALLOWED, 0},
    {"subscribe ch:1 x", ACL_DENIED_CHANNEL, 2},
    {"psubscribe ch:*", ACL_ALLOWED, 0},
    {"psubscribe ch:1", ACL_DENIED_CHANNEL, 1},
    {"auth x", ACL_ALLOWED, 0},
    {"quit", ACL_ALLOWED, 0},
};

static void test_check(void **state) {
    struct client c = {0};
    int at;
    set_user("ann", "on >p ~k* resetchannels &ch:* +get +mget +config|get +@pubsub");
    assert_int_equal(check(&c, "made0", &at), ACL_ALLOWED);
    assert_false(acl_authenticate(&c, SLICE("ann"), SLICE("q"), SLICE("auth"), ACL_TOPLEVEL));
    assert_false(acl_authenticate(&c, SLICE("bob"), SLICE("p"), SLICE("auth"), ACL_TOPLEVEL));
    assert_true(acl_authenticate(&c, SLICE("ann"), SLICE("p"), SLICE("auth"), ACL_TOPLEVEL));
    assert_true(client_flags(&c, &acl_client_state) & ACL_LIMITED);
    for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
        assert_int_equal(check(&c, requests[i].request, &at), requests[i].denial);
        if (requests[i].at) assert_int_equal(at, requests[i].at);
    }
    acl_reset(&c);
    assert_false(client_flags(&c, &acl_client_state) & ACL_LIMITED);
    assert_false(client_flags(&c, &acl_client_state) & ACL_STRANGER);
    assert_int_equal(check(&c, "made0", &at), ACL_ALLOWED);
    set_user("ann", "off");
    assert_false(acl_authenticate(&c, SLICE("ann"), SLICE("p"), SLICE("auth"), ACL_TOPLEVEL));
    assert_true(slice_is(acl_user_of(&c)->name, "default"));
    acl_log_clear();
}

/* A client that must authenticate and has not may run nothing, not even where it had been admitted
 * before: EXEC. */
static void test_default_user(void **state) {
    struct client c = {0}, fresh = {0};
    int at;
    client_set_flags(&fresh, &acl_client_state, ACL_STRANGER, true);
    acl_set_default_password(SLICE("secret"));
    assert_true(acl_default_has_password());
    assert_true(client_strangers_any());
    assert_int_equal(check(&fresh, "get x", &at), ACL_DENIED_COMMAND);
    assert_int_equal(check(&c, "get x", &at), ACL_ALLOWED);
    assert_false(
        acl_authenticate(&fresh, SLICE("default"), SLICE("Secret"), SLICE("auth"), ACL_TOPLEVEL));
    assert_true(
        acl_authenticate(&fresh, SLICE("default"), SLICE("secret"), SLICE("auth"), ACL_TOPLEVEL));
    acl_reset(&fresh);
    assert_true(client_flags(&fresh, &acl_client_state) & ACL_STRANGER);
    acl_set_default_password(SLICE(""));
    assert_false(client_strangers_any());
    assert_int_equal(check(&fresh, "get x", &at), ACL_ALLOWED);
    set_user("default", "off");
    assert_true(client_strangers_any());
    set_user("default", "on -get");
    assert_int_equal(check(&c, "get x", &at), ACL_DENIED_COMMAND);
    set_user("default", "+@all");
    acl_log_clear();
    acl_check_all();
}

/* ---- files ---- */

static void assert_file(const char *text, const char *errors) {
    struct buffer told;
    struct acl_users *set = acl_users_create();
    buffer_init(&told, MEMORY_OTHER);
    bool taken = acl_file_parse(slice_of(text), "f", set, &told);
    assert_string_equal(told.bytes ? told.bytes : "", errors);
    assert_int_equal(taken, !*errors);
    acl_users_free(set);
    buffer_free(&told);
}

static void test_file(void **state) {
    assert_file("", "");
    assert_file("\n \t\r\n\n", "");
    assert_file("user a on\r\n  user b off  \nuser c", "");
    assert_file("user a  on   nopass\nuser a off\n", "");
    assert_file("bogus\n", "f:1 should start with user keyword followed by the username. ");
    assert_file("\nuser\nUSER a\n",
                "f:2 should start with user keyword followed by the username. "
                "f:3 should start with user keyword followed by the username. ");
    assert_file("user a\tb on\n", "'f:1: username 'a\tb' contains invalid characters. ");
    assert_file("user  a on\n", "f:1: Syntax error. "); /* the name is empty, a no rule */
    assert_file("user a bogus +foo #x\n",
                "f:1: Syntax error. f:1: Unknown command or category name in ACL. f:1: The "
                "password hash must be exactly 64 characters and contain only lowercase "
                "hexadecimal characters. ");
}

/* Faults are told of up to a bound. */
static void test_file_of_faults(void **state) {
    struct buffer text, told;
    struct acl_users *set = acl_users_create();
    buffer_init(&text, MEMORY_OTHER);
    buffer_init(&told, MEMORY_OTHER);
    for (int i = 0; i < 5000; i++) buffer_append_c_string(&text, "x\n");
    assert_false(acl_file_parse(buffer_slice(&text), "f", set, &told));
    assert_non_null(strstr(told.bytes, "f:100 should"));
    assert_null(strstr(told.bytes, "f:101 should"));
    assert_non_null(strstr(told.bytes, "4900 more errors. "));
    acl_users_free(set);
    buffer_free(&text);
    buffer_free(&told);
}

static void test_replace(void **state) {
    const char *text =
        "user  on nopass &* -@all\n"
        "user bob off ~k resetchannels -@all +get\n"
        "user default on nopass ~* &* +@all\n";
    struct buffer out;
    struct acl_users *set = acl_users_create();
    buffer_init(&out, MEMORY_OTHER);
    assert_true(acl_file_parse(slice_of(text), "f", set, &out));
    acl_users_replace(set, NULL);
    acl_check_all();
    assert_null(acl_find(SLICE("ann")));
    assert_non_null(acl_find(SLICE("")));
    acl_file_print(&out);
    assert_string_equal(out.bytes, text);
    assert_int_equal(
        acl_delete_users((const struct slice[]){SLICE("bob"), SLICE("x"), SLICE("")}, 3, NULL), 2);
    acl_check_all();
    buffer_free(&out);
}

/* ---- the log ---- */

static struct acl_log_entry seen[8];
static size_t seen_count;

static void see(const struct acl_log_entry *e, void *context) { seen[seen_count++] = *e; }

static void look(void) {
    seen_count = 0;
    acl_log_each(8, see, NULL);
}

static void note(struct client *c, const char *object, enum acl_context context) {
    acl_log_note(c, ACL_DENIED_KEY, slice_of(object), SLICE("ann"), context);
    clock_advance_usec(1000);
    clock_refresh();
}

static void test_log(void **state) {
    struct client c = {0};
    acl_log_clear();
    note(&c, "a", ACL_TOPLEVEL);
    note(&c, "b", ACL_TOPLEVEL);
    note(&c, "a", ACL_TOPLEVEL);
    note(&c, "a", ACL_IN_TRANSACTION);
    look();
    assert_int_equal(seen_count, 3);
    assert_string_equal(seen[0].context, "multi");
    assert_int_equal(seen[0].count, 1);
    assert_string_equal(seen[1].context, "toplevel");
    assert_true(slice_is(seen[1].object, "a"));
    assert_int_equal(seen[1].count, 2);
    assert_true(slice_is(seen[2].object, "b"));
    clock_advance_usec(61 * 1000000);
    clock_refresh();
    note(&c, "a", ACL_TOPLEVEL);
    look();
    assert_int_equal(seen_count, 4);
    assert_int_equal(seen[0].count, 1);
    acl_log_clear();
    assert_int_equal(acl_log_count(), 0);
}

/* Only the ten newest are looked at; a long object is cut. */
static void test_log_bounds(void **state) {
    struct client c = {0};
    char text[10000];
    for (int i = 0; i < 11; i++) {
        snprintf(text, sizeof(text), "k%d", i);
        note(&c, text, ACL_TOPLEVEL);
    }
    note(&c, "k0", ACL_TOPLEVEL);
    assert_int_equal(acl_log_count(), 12);
    note(&c, "k5", ACL_TOPLEVEL);
    assert_int_equal(acl_log_count(), 12);
    memset(text, 'x', sizeof(text));
    acl_log_note(&c, ACL_DENIED_KEY, (struct slice){text, sizeof(text)}, SLICE("ann"),
                 ACL_TOPLEVEL);
    look();
    assert_true(seen[0].object.length < 5000);
    assert_non_null(strstr(seen[0].object.bytes, "(5904 more bytes)"));
    for (int i = 0; i < 500; i++) {
        snprintf(text, sizeof(text), "n%d", i);
        note(&c, text, ACL_TOPLEVEL);
    }
    assert_int_equal(acl_log_count(), 128);
    acl_log_clear();
}

static struct client_state *const client_states[] = {&acl_client_state, &acl_principal_state, NULL};

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms),      cmocka_unit_test(test_faults),
        cmocka_unit_test(test_flags),      cmocka_unit_test(test_random),
        cmocka_unit_test(test_check),      cmocka_unit_test(test_default_user),
        cmocka_unit_test(test_file),       cmocka_unit_test(test_file_of_faults),
        cmocka_unit_test(test_replace),    cmocka_unit_test(test_log),
        cmocka_unit_test(test_log_bounds),
    };
    client_set_states(client_states);
    return cmocka_run_group_tests(tests, begin, NULL);
}
