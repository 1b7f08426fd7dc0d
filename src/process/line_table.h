/* SPDX-License-Identifier: BSD-3-Clause
 * Source lines of addresses, from a program's debugging information.
 */
#ifndef EVENKEEL_PROCESS_LINE_TABLE_H
#define EVENKEEL_PROCESS_LINE_TABLE_H
#include <stddef.h>
#include <stdint.h>

/* One call finds the lines of at most so many addresses. */
#define LINE_TABLE_PLACES_MAX 128

/* A section of the program's file, as it stands in memory; {NULL, 0} where the file has none. */
struct line_section {
    const uint8_t *bytes;
    size_t size;
};

/* The sections .debug_line, .debug_line_str and .debug_str, uncompressed. */
struct line_table {
    struct line_section lines, line_texts, texts;
};

/* The caller sets `address`, which is an address in the program's file. `line` is 0 where no line
 * was found. Texts stand in the sections; `folder` is NULL where `file` is the whole path. */
struct line_place {
    uint64_t address;
    const char *folder, *file;
    uint64_t line;
};

/* Finds the lines of all places in one pass, O(size of .debug_line). Does not allocate, takes no
 * lock: may be called in a signal handler. The sections may hold any bytes: damaged ones give no
 * lines or wrong ones. */
void line_table_find(const struct line_table *table, struct line_place *places, size_t count);
#endif
