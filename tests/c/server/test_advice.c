/* SPDX-License-Identifier: BSD-3-Clause
 * Each option that advice names exists, takes each value that its experiment tries, and can be set
 * while the server runs; each finding has one advice.
 */
#include "server/whole.h"

#include "base/relocation.h"
#include "option/option.h"
#include "report/advice.h"

static void assert_takes(const struct option_row *row, struct slice value) {
    char reason[256] = "";
    if (!option_set(row, &value, 1, OPTION_FROM_CONFIG_SET, reason, sizeof(reason)))
        fail_msg("%s does not take %.*s: %s", row->name, (int)value.length, value.bytes, reason);
}

static bool none_is_chosen(const void *block) { return false; }

/* activedefrag is refused where the allocator cannot tell which blocks are to move. */
static void test_options(void **state) {
    size_t options = 0;
    relocation_set_chooser(none_is_chosen, 0);
    for (size_t i = 0; advice_at(i); i++) {
        const struct advice *advice = advice_at(i);
        assert_ptr_equal(advice_find(advice->finding), advice);
        assert_int_equal(advice->option != NULL, advice->values != NULL);
        assert_int_equal(advice->option != NULL, advice->direction != NULL);
        assert_true(advice->text || advice->option);
        if (!advice->option) continue;
        const struct option_row *row = option_find(slice_of(advice->option));
        if (!row) fail_msg("there is no option %s", advice->option);
        assert_true(row->flags & OPTION_MUTABLE);
        struct buffer before = {.class = MEMORY_OTHER};
        option_print(row, &before);
        size_t values = 0;
        for (const char *at = advice->values; *at; values++) {
            struct slice value = {at, strcspn(at, ",")};
            assert_takes(row, value);
            at += value.length + (at[value.length] == ',');
        }
        assert_true(values >= 2);
        assert_takes(row, buffer_slice(&before));
        buffer_free(&before);
        options++;
    }
    relocation_set_chooser(NULL, 0);
    assert_true(options > 10);
    assert_null(advice_find("nosuch"));
}

static void assert_option(const char *finding, const char *expected) {
    struct buffer out = {.class = MEMORY_OTHER};
    advice_append_option(advice_find(finding), &out);
    assert_string_equal(out.bytes, expected);
    buffer_free(&out);
}

static void test_texts(void **state) {
    assert_option("fork",
                  "Option: snapshot-method; set it to walk; a save needs no child then, and "
                  "takes longer. Try: redis-lab experiment --set snapshot-method=fork,walk "
                  "--each-block BGSAVE");
    assert_option("off-cpu", "No option moves this.");
}

static int open_all(void **state) { return whole_open(); }

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_options),
        cmocka_unit_test(test_texts),
    };
    return cmocka_run_group_tests(tests, open_all, NULL);
}
