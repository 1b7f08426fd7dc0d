/* SPDX-License-Identifier: BSD-3-Clause
 * LOLWUT: a drawing of our own, different each time, and the version.
 *
 * A boat on the sea at night. The waves are three sines with random phases; the boat keeps even.
 * Versions 5 and 6 have a drawing; all others answer the version only, as 6.2 does.
 */
#include "commands/lolwut.h"

#include <math.h>

#include "base/random.h"
#include "base/version.h"
#include "command/arguments.h"
#include "command/call.h"
#include "command/command.h"
#include "command/row.h"
#include "net/client.h"
#include "net/reply.h"

#define VERSION_DEFAULT 6
#define VERSION_OTHER 5
#define COLUMNS_MAX 160
#define ROWS_MAX 80
#define STARS_MAX 1000
#define PARAMETERS 3
#define WAVES 3
#define BOAT_ROWS 5
#define BOAT_COLUMNS 9

static const char *const boat[BOAT_ROWS] = {
    "    |\\   ", "    | \\  ", "    |__\\ ", " ___|____", " \\______/",
};

struct drawing {
    int64_t columns, rows, stars;
    double phases[WAVES];
    char cells[ROWS_MAX][COLUMNS_MAX];
};

static int64_t clamp_size(int64_t value, int64_t low, int64_t high) {
    return value < low ? low : value > high ? high : value;
}

/* The water's level at a column, in rows from the top. */
static double water_surface(const struct drawing *d, int64_t column) {
    double x = (double)column, level = (double)d->rows * 0.6;
    return level + sin(x * 0.35 + d->phases[0]) + 0.6 * sin(x * 0.15 + d->phases[1]);
}

static char water_cell(const struct drawing *d, int64_t row, int64_t column) {
    double depth = (double)row - water_surface(d, column);
    if (depth < 0) return ' ';
    if (depth < 1) return '~';
    return sin((double)column * 0.5 + (double)row * 2.1 + d->phases[2]) > 0.7 ? '-' : ' ';
}

static void draw_boat(struct drawing *d) {
    int64_t left = (int64_t)random_below((uint64_t)(d->columns - BOAT_COLUMNS + 1));
    int64_t top = d->rows * 6 / 10 - BOAT_ROWS + 1;
    for (int row = 0; row < BOAT_ROWS; row++)
        for (int column = 0; column < BOAT_COLUMNS; column++)
            if (boat[row][column] != ' ') d->cells[top + row][left + column] = boat[row][column];
}

static void draw_picture(struct drawing *d) {
    for (int i = 0; i < WAVES; i++) d->phases[i] = random_double() * 6.28;
    for (int64_t row = 0; row < d->rows; row++)
        for (int64_t column = 0; column < d->columns; column++)
            d->cells[row][column] = water_cell(d, row, column);
    for (int64_t i = 0; i < d->stars; i++) {
        int64_t row = (int64_t)random_below((uint64_t)d->rows);
        int64_t column = (int64_t)random_below((uint64_t)d->columns);
        if ((double)row < water_surface(d, column) - 1) d->cells[row][column] = i % 3 ? '.' : '*';
    }
    if (d->columns >= BOAT_COLUMNS && d->rows >= 2 * BOAT_ROWS) draw_boat(d);
}

/* Parses columns, rows and (version 5 has three parameters) stars. False after an error reply. */
static bool parse_size(struct call *call, int first, int count, struct drawing *d) {
    int64_t values[PARAMETERS] = {66, 16, 12};
    for (int i = 0; i < count && first + i < call->argc; i++)
        if (!argument_int64(call, first + i, &values[i], NULL)) return false;
    d->columns = clamp_size(values[0], 1, COLUMNS_MAX);
    d->rows = clamp_size(values[1], 1, ROWS_MAX);
    d->stars = clamp_size(values[2], 0, STARS_MAX);
    return true;
}

static void command_lolwut(struct call *call) {
    int64_t version = VERSION_DEFAULT;
    int first = 1;
    if (call->argc > 2 && argument_is(call, 1, "version")) {
        if (!argument_int64(call, 2, &version, NULL)) return;
        first = 3;
    }
    struct drawing d;
    struct buffer text;
    bool drawn = version == VERSION_DEFAULT || version == VERSION_OTHER;
    int parameters = version == VERSION_OTHER ? PARAMETERS : PARAMETERS - 1;
    if (drawn && !parse_size(call, first, parameters, &d)) return;
    buffer_init(&text, MEMORY_OTHER);
    if (drawn) {
        draw_picture(&d);
        for (int64_t row = 0; row < d.rows; row++) {
            buffer_append(&text, d.cells[row], (size_t)d.columns);
            buffer_append_char(&text, '\n');
        }
        buffer_append_c_string(&text, "\nThe sea moves and the keel stays even. ");
    }
    buffer_append_c_string(&text, "Redis ver. " REDIS_VERSION "\n");
    reply_verbatim(call->client, buffer_slice(&text), "txt");
    buffer_free(&text);
}

static struct command rows[] = {
    COMMAND("lolwut", command_lolwut, -1, READ | FAST, NO_CATEGORY, NO_KEYS,
            "A drawing and the version; with VERSION, columns and rows."),
};

void commands_lolwut_register(void) { command_register(COMMAND_ROWS(rows)); }
