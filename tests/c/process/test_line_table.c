/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of process/line_table: programs of DWARF 4 and 5 that are written here byte by byte, and
 * the same ones cut off and with drawn damage, each in a block of its own that ends where they end.
 */
#include "process/line_table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/random.h"
#include "base/seed.h"

#define TRIALS 20000

static uint8_t bytes[512];
static size_t length;

static const uint8_t folders[] = "/build\0src/exec";

static void put(uint64_t value, size_t size) {
    memcpy(bytes + length, &value, size);
    length += size;
}

static void put_text(const char *text) {
    memcpy(bytes + length, text, strlen(text) + 1);
    length += strlen(text) + 1;
}

static size_t begin_unit(unsigned version) {
    put(0, 4);
    size_t begin = length;
    put(version, 2);
    if (version >= 5) put(8, 2); /* addresses of 8 bytes, no segments */
    put(0, 4);
    return begin;
}

static void fill_in(size_t at, size_t value) {
    uint32_t small = (uint32_t)value;
    memcpy(bytes + at, &small, sizeof(small));
}

static void put_machine(void) {
    static const uint8_t operands[] = {0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1};
    put(1, 1);           /* bytes of an instruction */
    put(1, 1);           /* operations of an instruction */
    put(1, 1);           /* rows begin statements */
    put((uint8_t)-5, 1); /* the least step of a line */
    put(14, 1);          /* how many steps of a line there are */
    put(13, 1);          /* the first special opcode */
    for (size_t i = 0; i < sizeof(operands); i++) put(operands[i], 1);
}

/* 0x1000: line 10 of file `first`; 0x1004: line 12; 0x1010: line 300 of `second`; ends at 0x1020.
 */
static void put_program(uint8_t first, uint8_t second) {
    put(0, 1);
    put(9, 1);
    put(2, 1);
    put(0x1000, 8);
    put(4, 1);
    put(first, 1);
    put(3, 1);
    put(9, 1);
    put(1, 1);
    put(13 + 5 + 2 + 4 * 14, 1);
    put(2, 1);
    put(12, 1);
    put(4, 1);
    put(second, 1);
    put(3, 1);
    put(0xa0, 1); /* 288, as two bytes of LEB128 */
    put(0x02, 1);
    put(1, 1);
    put(2, 1);
    put(16, 1);
    put(0, 1);
    put(1, 1);
    put(1, 1);
}

static void end_header(size_t begin, unsigned version) {
    size_t at = begin + (version >= 5 ? 4 : 2);
    fill_in(at, length - at - 4);
}

static void write_version_5(void) {
    length = 0;
    size_t begin = begin_unit(5);
    put_machine();
    put(1, 1);
    put(1, 1);
    put(0x1f, 1); /* a path, in .debug_line_str */
    put(2, 1);
    put(0, 4);
    put(7, 4);
    put(2, 1);
    put(1, 1);
    put(0x08, 1); /* a path, here */
    put(2, 1);
    put(0x0b, 1); /* a folder, one byte */
    put(3, 1);
    put_text("unused.c");
    put(0, 1);
    put_text("run.c");
    put(1, 1);
    put_text("src/base/list.h");
    put(0, 1);
    end_header(begin, 5);
    put_program(1, 2);
    fill_in(begin - 4, length - begin);
}

static void write_version_4(void) {
    length = 0;
    size_t begin = begin_unit(4);
    put_machine();
    put_text("src/exec");
    put(0, 1);
    put_text("run.c");
    put(1, 1);
    put(0, 2);
    put_text("/usr/include/list.h");
    put(1, 1);
    put(0, 2);
    put(0, 1);
    end_header(begin, 4);
    put_program(1, 2);
    fill_in(begin - 4, length - begin);
}

static struct line_place places[] = {{0x101f}, {0x1004}, {0xfff},  {0x1003}, {0x1020},
                                     {0x1000}, {0x100f}, {0x1010}, {0}};
#define PLACES (sizeof(places) / sizeof(places[0]))

static void find_in(const uint8_t *lines, size_t size) {
    struct line_table table = {{lines, size}, {folders, sizeof(folders)}, {NULL, 0}};
    line_table_find(&table, places, PLACES);
}

static void assert_place(size_t index, const char *folder, const char *file, uint64_t line) {
    const struct line_place *p = &places[index];
    assert_int_equal(p->line, line);
    if (!line) return;
    assert_string_equal(p->file, file);
    if (folder)
        assert_string_equal(p->folder, folder);
    else
        assert_null(p->folder);
}

static void assert_places(const char *second) {
    assert_place(0, NULL, second, 300);
    assert_place(1, "src/exec", "run.c", 12);
    assert_place(2, NULL, NULL, 0);
    assert_place(3, "src/exec", "run.c", 10);
    assert_place(4, NULL, NULL, 0);
    assert_place(5, "src/exec", "run.c", 10);
    assert_place(6, "src/exec", "run.c", 12);
    assert_place(7, NULL, second, 300);
    assert_place(8, NULL, NULL, 0);
}

static void test_version_5(void **state) {
    write_version_5();
    find_in(bytes, length);
    assert_places("src/base/list.h");
}

static void test_version_4(void **state) {
    write_version_4();
    find_in(bytes, length);
    assert_places("/usr/include/list.h");
}

static void test_no_sections(void **state) {
    struct line_table none = {0};
    line_table_find(&none, places, PLACES);
    for (size_t i = 0; i < PLACES; i++) assert_int_equal(places[i].line, 0);
    line_table_find(&none, places, 0);
}

/* Texts that were found are read, so that a sanitizer sees whether they end within their section.
 */
static void find_in_copy(size_t size) {
    uint8_t *copy = malloc(size ? size : 1);
    size_t read = 0;
    memcpy(copy, bytes, size);
    find_in(copy, size);
    for (size_t i = 0; i < PLACES; i++) {
        if (!places[i].line) continue;
        read += strlen(places[i].file);
        if (places[i].folder) read += strlen(places[i].folder);
    }
    assert_in_range(read, 0, PLACES * 2 * sizeof(bytes));
    free(copy);
}

static void damage(void (*write)(void)) {
    for (int trial = 0; trial < TRIALS; trial++) {
        write();
        for (uint64_t i = 1 + random_below(4); i; i--)
            bytes[random_below(length)] = random_below(2) ? (uint8_t)random_u64() : 0xff;
        find_in_copy(random_below(2) ? length : (size_t)random_below(length + 1));
    }
}

static void test_cut_off(void **state) {
    write_version_5();
    for (size_t size = 0; size < length; size++) find_in_copy(size);
    write_version_4();
    for (size_t size = 0; size < length; size++) find_in_copy(size);
}

static void test_damage(void **state) {
    seed_from_environment();
    damage(write_version_5);
    damage(write_version_4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_version_5),   cmocka_unit_test(test_version_4),
        cmocka_unit_test(test_no_sections), cmocka_unit_test(test_cut_off),
        cmocka_unit_test(test_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
