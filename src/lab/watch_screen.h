/* SPDX-License-Identifier: BSD-3-Clause
 * The screen of `redis-lab watch`: text with escape sequences, made from figures and panel alone.
 */
#ifndef EVENKEEL_LAB_WATCH_SCREEN_H
#define EVENKEEL_LAB_WATCH_SCREEN_H
#include "base/string.h"

struct figures;
struct panel;

struct screen {
    const char *server; /* address, name, version */
    const char *state;  /* what is wrong, such as "no answer for 2.1 s"; "" = nothing */
    const struct panel *panel;
    const struct figures *figures;
};

/* A terminal smaller than this shows only one line, which says that it is too small. */
#define SCREEN_COLUMNS_MIN 40
#define SCREEN_ROWS_MIN 6
/* From this width on the knobs and the comparison are shown side by side. */
#define SCREEN_COLUMNS_WIDE 108

/* Appends the whole screen for a terminal of that size. Of the server's texts only printable ASCII
 * reaches the terminal. O(columns x rows). */
void screen_draw(const struct screen *s, int columns, int rows, struct buffer *out);
#endif
