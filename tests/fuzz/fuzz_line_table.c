/* SPDX-License-Identifier: BSD-3-Clause
 * Fuzzes the reader of line number programs: whatever the three sections hold, no read leaves them,
 * every text that is handed out ends within its section, and what is found does not depend on the
 * order in which places are asked for.
 *
 * Covers: src/process/line_table.c
 *
 * The input begins with two numbers of two bytes, lowest first: the sizes of .debug_line_str and of
 * .debug_str. These sections follow, and .debug_line is the rest. Each section is a block of its
 * own, so that the sanitizer sees a read beyond its end.
 */
#include "process/line_table.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/panic.h"

#define ADDRESS_FIRST 0xff0 /* the programs of the corpus begin at 0x1000 */
#define ADDRESS_STEP 3
#define PLACES 32

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct line_section take_section(const uint8_t **data, size_t *left, size_t size) {
    if (size > *left) size = *left;
    uint8_t *bytes = malloc(size ? size : 1);
    ASSERT(bytes);
    memcpy(bytes, *data, size);
    *data += size;
    *left -= size;
    return (struct line_section){bytes, size};
}

/* A text that is not within the sections, or has no end there, is read beyond a block here. */
static bool texts_equal(const char *a, const char *b) {
    return a && b ? strcmp(a, b) == 0 : a == b;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 4) return 0;
    size_t left = size - 4, line_texts = data[0] | (size_t)data[1] << 8,
           texts = data[2] | (size_t)data[3] << 8;
    struct line_table table;
    struct line_place rising[PLACES], falling[PLACES];
    data += 4;
    table.line_texts = take_section(&data, &left, line_texts);
    table.texts = take_section(&data, &left, texts);
    table.lines = take_section(&data, &left, left);
    for (size_t i = 0; i < PLACES; i++)
        rising[i].address = falling[PLACES - 1 - i].address = ADDRESS_FIRST + i * ADDRESS_STEP;
    line_table_find(&table, rising, PLACES);
    line_table_find(&table, falling, PLACES);
    for (size_t i = 0; i < PLACES; i++) {
        const struct line_place *one = &rising[i], *other = &falling[PLACES - 1 - i];
        ASSERT(one->line == other->line && (!one->line || one->file));
        ASSERT(texts_equal(one->file, other->file) && texts_equal(one->folder, other->folder));
    }
    free((void *)(uintptr_t)table.lines.bytes);
    free((void *)(uintptr_t)table.line_texts.bytes);
    free((void *)(uintptr_t)table.texts.bytes);
    return 0;
}
