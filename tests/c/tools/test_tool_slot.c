/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of tools/tool_slot: slots that Redis 6.2 answers to CLUSTER KEYSLOT.
 */
#include "tools/tool_slot.h"

#include "base/seed.h"

static const struct {
    const char *key;
    unsigned slot;
} rows[] = {
    {"", 0},           {"123456789", 0x31c3}, {"a", 15495},          {"{}a", 10875},
    {"x{}{a}", 15756}, {"{a", 10276},         {"x{{a}}y", 10276},    {"{{a", 221},
    {"x{a}y}", 15495}, {"foo", 12182},        {"key9184688", 10923},
};

static void test_slots(void **state) {
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_int_equal(tool_slot_of_key(slice_of(rows[i].key)), rows[i].slot % TOOL_SLOTS);
    assert_int_equal(tool_slot_of_key((struct slice){"a\0b", 1}), 15495);
    assert_int_equal(tool_slot_of_key((struct slice){0}), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_slots)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
