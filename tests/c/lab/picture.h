/* SPDX-License-Identifier: BSD-3-Clause
 * A terminal for tests: takes what screen_draw writes and keeps the characters on the screen.
 * Knows the sequences that the tools use, and nothing else: another one, a character outside of
 * the screen or one that is not printable ends the process.
 */
#ifndef EVENKEEL_TESTS_LAB_PICTURE_H
#define EVENKEEL_TESTS_LAB_PICTURE_H
#include "base/panic.h"
#include "base/string.h"

#define PICTURE_COLUMNS_MAX 300
#define PICTURE_ROWS_MAX 120
#define PICTURE_OLD '\1' /* stands for what was on the screen before */

struct picture {
    int columns, rows, column, row;
    bool cursor_shown;
    char cells[PICTURE_ROWS_MAX][PICTURE_COLUMNS_MAX + 1];
};

/* Full of something that a picture must write over. */
static inline void picture_begin(struct picture *p, int columns, int rows) {
    ASSERT(columns >= 1 && columns <= PICTURE_COLUMNS_MAX && rows >= 1 && rows <= PICTURE_ROWS_MAX);
    *p = (struct picture){.columns = columns, .rows = rows};
    for (int row = 0; row < rows; row++) memset(p->cells[row], PICTURE_OLD, (size_t)columns);
}

static inline void picture_clear_behind(struct picture *p) {
    if (p->column < p->columns) {
        memset(p->cells[p->row] + p->column, ' ', (size_t)(p->columns - p->column));
    }
}

/* The sequence behind "ESC ["; returns where it ends. */
static inline const char *picture_sequence(struct picture *p, const char *at, const char *end) {
    int numbers[2] = {0, 0}, count = 0;
    bool private = at < end && *at == '?';
    if (private) at++;
    for (; at < end && (isdigit((unsigned char)*at) || *at == ';'); at++) {
        if (*at == ';') {
            count++;
        } else {
            ASSERT(count < 2 && numbers[count] < 100000);
            numbers[count] = numbers[count] * 10 + *at - '0';
        }
    }
    ASSERT(at < end);
    switch (*at) {
    case 'H':
        p->row = numbers[0] - 1;
        p->column = numbers[1] - 1;
        ASSERT(p->row >= 0 && p->row < p->rows && p->column == 0);
        break;
    case 'K':
        ASSERT(p->column < p->columns); /* else real terminals clear the last column */
        picture_clear_behind(p);
        break;
    case 'J':
        picture_clear_behind(p);
        for (int row = p->row + 1; row < p->rows; row++) {
            memset(p->cells[row], ' ', (size_t)p->columns);
        }
        break;
    case 'm': ASSERT(numbers[0] == 0 || numbers[0] == 1 || numbers[0] == 7); break;
    case 'h':
    case 'l':
        ASSERT(private && numbers[0] == 25);
        p->cursor_shown = *at == 'h';
        break;
    default: PANIC("a sequence that ends in %c", *at);
    }
    return at + 1;
}

static inline void picture_write(struct picture *p, struct slice text) {
    const char *at = text.bytes, *end = text.bytes + text.length;
    while (at < end) {
        if (*at == '\033') {
            ASSERT(at + 1 < end && at[1] == '[');
            at = picture_sequence(p, at + 2, end);
            continue;
        }
        ASSERT_COMPARE(*at, >=, ' ');
        ASSERT_COMPARE(*at, <=, '~');
        ASSERT_COMPARE(p->column, <, p->columns);
        p->cells[p->row][p->column++] = *at++;
    }
}

/* Nothing of what was there before is left. */
static inline bool picture_is_whole(const struct picture *p) {
    for (int row = 0; row < p->rows; row++) {
        if (memchr(p->cells[row], PICTURE_OLD, (size_t)p->columns)) return false;
    }
    return true;
}

static inline bool picture_shows(const struct picture *p, const char *text) {
    for (int row = 0; row < p->rows; row++) {
        if (strstr(p->cells[row], text)) return true;
    }
    return false;
}
#endif
