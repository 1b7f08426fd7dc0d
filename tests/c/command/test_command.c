/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of command/command: finding rows by any name, renaming, arity, categories, the hash that
 * prefetch leaves.
 */
#include "command/call.h"
#include "command/command.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/hash.h"
#include "base/memory.h"
#include "net/batch.h"

static void handler(struct call *call) {}

/* Enough rows that their places collide. */
#define GENERATED 400
static char names[GENERATED][24];
static struct command generated[GENERATED];

static struct command rows[] = {
    {.name = "get",
     .handler = handler,
     .arity = 2,
     .flags = COMMAND_READONLY | COMMAND_FAST,
     .first_key = 1,
     .last_key = 1,
     .key_step = 1,
     .categories = ACL_STRING,
     .help = "."},
    {.name = "set",
     .handler = handler,
     .arity = -3,
     .flags = COMMAND_WRITE | COMMAND_DENYOOM,
     .categories = ACL_STRING,
     .help = "."},
    {.name = "flushall",
     .handler = handler,
     .arity = -1,
     .flags = COMMAND_WRITE,
     .categories = ACL_KEYSPACE | ACL_DANGEROUS,
     .help = "."},
    {.name = "config", .handler = handler, .arity = -2, .flags = COMMAND_ADMIN, .help = "."},
    {.name = "eval",
     .handler = handler,
     .arity = -3,
     .flags = COMMAND_READONLY,
     .categories = ACL_SCRIPTING,
     .help = "."},
    {.name = "publish",
     .handler = handler,
     .arity = 3,
     .flags = COMMAND_PUBSUB | COMMAND_FAST,
     .help = "."},
};
#define ROWS (sizeof(rows) / sizeof(rows[0]))

static int begin(void **state) {
    command_register(rows, ROWS);
    for (int i = 0; i < GENERATED; i++) {
        snprintf(names[i], sizeof(names[i]), "generated%d", i);
        generated[i] = (struct command){.name = names[i], .handler = handler, .arity = 1};
    }
    command_register(generated, GENERATED);
    return 0;
}

static struct command *find(const char *name) { return command_find(slice_of(name)); }

static void test_find(void **state) {
    assert_ptr_equal(find("get"), &rows[0]);
    assert_ptr_equal(find("GeT"), &rows[0]);
    assert_ptr_equal(find("FLUSHALL"), &rows[2]);
    static const char *const unknown[] = {"", "g", "ge", "gett", "get ", "foo", "generated400"};
    for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) assert_null(find(unknown[i]));
    for (int i = 0; i < GENERATED; i++) assert_ptr_equal(find(names[i]), &generated[i]);
    char longest[2000];
    memset(longest, 'g', sizeof(longest));
    assert_null(command_find((struct slice){longest, sizeof(longest)}));
    assert_null(command_find((struct slice){NULL, 0}));
}

/* Case is that of ASCII letters alone: '@' is not '`', and no byte above 127 is another. */
static void test_find_any_byte(void **state) {
    for (int byte = 0; byte < 256; byte++) {
        char name[3] = {'g', (char)byte, 't'};
        assert_ptr_equal(command_find((struct slice){name, 3}),
                         byte == 'e' || byte == 'E' ? &rows[0] : NULL);
    }
}

/* A name with a NUL is no name's longer form, whichever place it is looked for at: its tail is
 * chosen so that every place is met. A sanitizer sees what is read beyond the row's name. */
static void test_find_with_a_nul(void **state) {
    for (size_t row = 0; row < ROWS; row++) {
        char name[40];
        size_t length = strlen(rows[row].name) + 1;
        memcpy(name, rows[row].name, length);
        for (unsigned tail = 0; tail < 60000; tail++) {
            name[length] = (char)('a' + tail % 26);
            name[length + 1] = (char)tail;
            name[length + 2] = (char)(tail >> 8);
            assert_null(command_find((struct slice){name, length + 3}));
        }
        assert_null(command_find((struct slice){name, length}));
    }
}

static void test_order(void **state) {
    assert_int_equal(command_count(), ROWS + GENERATED);
    for (size_t i = 0; i < ROWS; i++) assert_ptr_equal(command_at(i), &rows[i]);
    assert_ptr_equal(command_at(ROWS + 3), &generated[3]);
}

static bool rename_to(const char *name, const char *new_name) {
    return command_rename(slice_of(name), slice_of(new_name));
}

static void test_rename(void **state) {
    assert_true(rename_to("FLUSHALL", "Secret-1"));
    assert_null(find("flushall"));
    assert_ptr_equal(find("sEcReT-1"), &rows[2]);
    assert_string_equal(rows[2].name, "flushall");
    assert_false(rename_to("flushall", "other"));
    assert_false(rename_to("nothing", "other"));
    assert_false(rename_to("secret-1", "GET"));
    assert_ptr_equal(find("secret-1"), &rows[2]);
    /* To its own name, and to one that has become free. */
    assert_true(rename_to("secret-1", "SECRET-1"));
    assert_true(rename_to("config", "flushall"));
    assert_ptr_equal(find("flushall"), &rows[3]);
    assert_true(rename_to("secret-1", "config"));
    assert_ptr_equal(find("config"), &rows[2]);
    /* Away with it. Those behind it in its places are found all the same. */
    for (int i = 0; i < GENERATED; i += 2) assert_true(rename_to(names[i], ""));
    for (int i = 0; i < GENERATED; i++)
        assert_ptr_equal(find(names[i]), i % 2 ? &generated[i] : NULL);
    assert_null(find(""));
    assert_int_equal(command_count(), ROWS + GENERATED);
    assert_null(generated[0].called);
    /* As long as a line of the configuration can be. */
    char longest[65537];
    memset(longest, 'x', sizeof(longest));
    assert_false(command_rename(SLICE("get"), (struct slice){longest, sizeof(longest)}));
    assert_ptr_equal(find("get"), &rows[0]);
    assert_true(command_rename(SLICE("get"), (struct slice){longest, 300}));
    assert_ptr_equal(command_find((struct slice){longest, 300}), &rows[0]);
    assert_null(command_find((struct slice){longest, 299}));
    assert_null(command_find((struct slice){longest, 301}));
    assert_true(command_rename((struct slice){longest, 300}, SLICE("get")));
    assert_ptr_equal(find("get"), &rows[0]);
}

static struct command more[] = {{.name = "new1", .handler = handler, .arity = 1},
                                {.name = "new2", .handler = handler, .arity = 1}};
static struct command many[COMMANDS_MAX];

/* What is refused takes no row, and changes nothing of those that are there. */
static void test_refused(void **state) {
    more[1].name = "SET";
    assert_false(command_try_register(more, 2));
    more[1].name = "new1";
    assert_false(command_try_register(more, 2));
    char longest[65538];
    memset(longest, 'x', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = 0;
    more[1].name = longest;
    assert_false(command_try_register(more, 2));
    assert_false(command_try_register(many, COMMANDS_MAX));
    assert_int_equal(command_count(), ROWS + GENERATED);
    assert_null(find("new1"));
    assert_ptr_equal(find("set"), &rows[1]);
    /* A name that rename-command gave is taken, and one that it took away is free. */
    assert_true(rename_to("publish", "new2"));
    more[1].name = "new2";
    assert_false(command_try_register(more, 2));
    assert_true(rename_to("new2", "publish"));
    more[1].name = "new2";
    assert_true(command_try_register(more, 2));
    assert_ptr_equal(find("new1"), &more[0]);
    assert_int_equal(more[1].number, ROWS + GENERATED + 1);
    assert_ptr_equal(command_at(more[1].number), &more[1]);
}

static void test_arity(void **state) {
    for (int argc = 1; argc < 6; argc++) {
        assert_int_equal(command_arity_fits(&rows[0], argc), argc == 2);
        assert_int_equal(command_arity_fits(&rows[1], argc), argc >= 3);
        assert_int_equal(command_arity_fits(&rows[2], argc), argc >= 1);
    }
}

static void test_categories(void **state) {
    assert_int_equal(command_categories(&rows[0]), ACL_STRING | ACL_READ | ACL_FAST);
    assert_int_equal(command_categories(&rows[1]), ACL_STRING | ACL_WRITE | ACL_SLOW);
    assert_int_equal(command_categories(&rows[2]),
                     ACL_KEYSPACE | ACL_DANGEROUS | ACL_WRITE | ACL_SLOW);
    assert_int_equal(command_categories(&rows[3]), ACL_ADMIN | ACL_DANGEROUS | ACL_SLOW);
    assert_int_equal(command_categories(&rows[4]), ACL_SCRIPTING | ACL_SLOW);
    assert_int_equal(command_categories(&rows[5]), ACL_PUBSUB | ACL_FAST);
}

static void test_bit_names(void **state) {
    assert_string_equal(command_flag_name(COMMAND_WRITE), "write");
    assert_string_equal(command_flag_name(COMMAND_MOVABLE_KEYS), "movablekeys");
    assert_null(command_flag_name(0));
    assert_null(command_flag_name(COMMAND_WRITE | COMMAND_FAST));
    assert_string_equal(command_category_name(ACL_SORTEDSET), "sortedset");
    assert_null(command_category_name(0));
    for (unsigned bit = ACL_KEYSPACE; bit <= ACL_SCRIPTING; bit <<= 1)
        assert_non_null(command_category_name(bit));
    for (unsigned bit = COMMAND_WRITE; bit <= COMMAND_MOVABLE_KEYS; bit <<= 1)
        assert_non_null(command_flag_name(bit));
}

static void test_stats_reset(void **state) {
    rows[0].calls = rows[0].nsec = rows[1].rejected_calls = generated[9].failed_calls = 7;
    command_reset_stats();
    assert_int_equal(rows[0].calls + rows[0].nsec, 0);
    assert_int_equal(rows[1].rejected_calls + generated[9].failed_calls, 0);
}

/* The hash of prefetch is used for the argument it belongs to, and only for it. */
static void test_key_hash(void **state) {
    const struct slice argv[] = {SLICE("get"), SLICE("one"), SLICE("two")};
    struct call call = {.argc = 3, .argv = argv, .hashed = 1, .key_hash = 42};
    assert_int_equal(call_key_hash(&call, 1), 42);
    assert_int_equal(call_key_hash(&call, 2), hash_bytes("two", 3));
    call.hashed = 0;
    assert_int_equal(call_key_hash(&call, 1), hash_bytes("one", 3));
}

static struct command guests[] = {{.name = "guest.one", .arity = 1},
                                  {.name = "guest.two", .arity = 1}};
static struct command other[] = {{.name = "guest.two", .arity = 1}};

/* Withdrawn commands are not found; they keep their numbers, and come back unless a name is taken
 * meanwhile. */
static void test_withdrawn(void **state) {
    size_t before = command_count();
    assert_true(command_try_register(guests, 2));
    assert_true(command_rename(SLICE("guest.one"), SLICE("renamed")));
    command_withdraw(guests, 2);
    assert_null(command_find(SLICE("guest.one")));
    assert_null(command_find(SLICE("renamed")));
    assert_null(command_find(SLICE("guest.two")));
    assert_ptr_equal(command_at(before), &guests[0]);
    assert_int_equal(command_count(), before + 2);
    assert_non_null(command_find(SLICE("get")));
    assert_true(command_readmit(guests, 2));
    assert_ptr_equal(command_find(SLICE("guest.one")), &guests[0]);
    assert_null(command_find(SLICE("renamed")));
    assert_int_equal(guests[1].number, before + 1);
    command_withdraw(guests, 2);
    assert_true(command_try_register(other, 1));
    assert_false(command_readmit(guests, 2));
    assert_null(command_find(SLICE("guest.one")));
    assert_ptr_equal(command_find(SLICE("guest.two")), &other[0]);
}

/* A mode takes the rows that it has a form of, in that form. */
static void form_handler(struct call *call) {}

#define FORMED(n, c)                                                                               \
    {                                                                                              \
        .name = (n), .handler = handler, .arity = 1, .flags = COMMAND_READONLY, .categories = (c), \
        .help = "."                                                                                \
    }
static struct command family[] = {FORMED("form-a", 0), FORMED("form-b", ACL_STRING),
                                  FORMED("form-c", 0)};

static void test_forms(void **state) {
    static const struct command_form forms[] = {
        {"form-b", NULL, 7, COMMAND_FAST, ACL_CONNECTION},
        {"form-c", form_handler, -2, COMMAND_ADMIN, 0},
        {NULL, NULL, 0, 0, 0},
    };
    size_t before = command_count();
    command_set_forms(forms);
    command_register(family, 3);
    command_set_forms(NULL);
    assert_int_equal(command_count(), before + 2);
    assert_null(command_find(SLICE("form-a")));
    const struct command *b = command_find(SLICE("FORM-B")), *c = command_find(SLICE("form-c"));
    assert_ptr_equal(b->handler, handler);
    assert_int_equal(b->arity, 7);
    assert_int_equal(b->flags, COMMAND_FAST);
    assert_int_equal(b->categories, ACL_CONNECTION);
    assert_ptr_equal(c->handler, form_handler);
    assert_int_equal(c->arity, -2);
    assert_ptr_equal(command_at(c->number), c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_find),
        cmocka_unit_test(test_find_any_byte),
        cmocka_unit_test(test_find_with_a_nul),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_arity),
        cmocka_unit_test(test_categories),
        cmocka_unit_test(test_bit_names),
        cmocka_unit_test(test_stats_reset),
        cmocka_unit_test(test_key_hash),
        cmocka_unit_test(test_rename),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_withdrawn),
        cmocka_unit_test(test_forms),
    };
    return cmocka_run_group_tests(tests, begin, NULL);
}
