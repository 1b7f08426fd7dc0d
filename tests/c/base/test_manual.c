/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of base/manual: the whole of a page, and that no text becomes a command of roff.
 */
#include "base/manual.h"

#include "base/seed.h"
#include "base/string.h"
#include "base/version.h"

static void test_a_page_is_whole(void **state) {
    static const char *const examples[] = {"try --more", ".hidden", NULL};
    const struct manual page = {"try", "Tries 6.2. And more.", "[-x]", "try --describe-man",
                                examples};
    struct buffer out;
    buffer_init(&out, MEMORY_OTHER);
    manual_begin(&out, &page);
    manual_heading(&out, "Words");
    manual_subheading(&out, "Few");
    manual_word(&out, &(struct manual_word){"-x", "--ex", "a-b", "'Quoted' \\ text."});
    manual_word(&out, &(struct manual_word){"-y", .help = "Plain."});
    manual_end(&out, &page);
    assert_string_equal(out.bytes,
                        ".\\\" SPDX-License-Identifier: BSD-3-Clause\n"
                        ".\\\" Made from the program's own table: try --describe-man\n"
                        ".TH try 1 \"\" \"Evenkeel " EVENKEEL_VERSION
                        "\"\n"
                        ".SH NAME\ntry \\- Tries 6.2\n.SH SYNOPSIS\n\\fBtry\\fR [\\-x]\n"
                        ".SH DESCRIPTION\nTries 6.2. And more.\n"
                        ".SH \"Words\"\n.SS \"Few\"\n"
                        ".TP\n\\fB\\-x\\fR, \\fB\\-\\-ex\\fR \\fIa\\-b\\fR\n"
                        "\\&'Quoted' \\e text.\n"
                        ".TP\n\\fB\\-y\\fR\nPlain.\n"
                        ".SH EXAMPLES\n.nf\ntry \\-\\-more\n\\&.hidden\n.fi\n");
    buffer_free(&out);
}

static void test_a_page_without_examples_has_no_heading_for_them(void **state) {
    const struct manual page = {"try", "Tries.", "", "try --describe-man", NULL};
    struct buffer out;
    buffer_init(&out, MEMORY_OTHER);
    manual_end(&out, &page);
    assert_int_equal(out.length, 0);
    buffer_free(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_page_is_whole),
        cmocka_unit_test(test_a_page_without_examples_has_no_heading_for_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
