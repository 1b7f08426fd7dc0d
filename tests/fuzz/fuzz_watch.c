/* SPDX-License-Identifier: BSD-3-Clause
 * Fuzzes what `redis-lab watch` makes of a server's words and of keys: any text as INFO, as options
 * and as errors gives a picture that a terminal can bear.
 *
 * Covers: src/tools/figures.c src/lab/watch_screen.c src/lab/watch_panel.c
 *
 * The input: two bytes with the terminal's size, one with the number of bytes that are keys, those
 * keys, and the text. The picture is checked by tests/c/lab/picture.h.
 */
#include <ctype.h>

#include "../c/lab/picture.h"
#include "lab/watch_panel.h"
#include "lab/watch_screen.h"
#include "tools/figures.h"

#define TEXT_BYTES_MAX 20000

static struct picture picture;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void press_keys(struct panel *panel, struct figures *figures, const char *keys,
                       size_t length) {
    for (size_t at = 0; at < length;) {
        struct terminal_key key;
        at += terminal_decode_key(keys + at, length - at, &key);
        enum panel_action action = panel_key(panel, &key);
        if (action == PANEL_SET) {
            panel_set_done(panel, panel->selected, panel->typed,
                           at % 2 ? panel->knobs[panel->selected].value : NULL);
        }
        if (action == PANEL_MARK) figures_mark(figures, 2);
        if (action == PANEL_UNMARK) figures_unmark(figures);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 3 || size < 3 + (size_t)data[2]) return 0;
    int columns = 1 + data[0] % PICTURE_COLUMNS_MAX, rows = 1 + data[1] % PICTURE_ROWS_MAX;
    struct slice text = {(const char *)data + 3 + data[2], size - 3 - data[2]};
    if (text.length > TEXT_BYTES_MAX) text.length = TEXT_BYTES_MAX;

    struct panel panel;
    struct figures *figures = figures_create();
    struct buffer out, server;
    buffer_init(&out, MEMORY_OTHER);
    buffer_init(&server, MEMORY_OTHER);
    buffer_append(&server, text.bytes, text.length);
    panel_init(&panel);
    for (size_t i = 0; i < panel.count; i++) {
        struct slice value;
        if (figures_find(text, panel.knobs[i].name, &value)) {
            panel_take_option(&panel, slice_of(panel.knobs[i].name), value);
        }
    }
    /* The second reading is the first one's second half, so that some figures grow or go. */
    struct slice half = {text.bytes + text.length / 2, text.length - text.length / 2};
    struct figures_measured measured = {.now_nsec = 1, .probes = 1, .probe_p50_usec = 1e300};
    figures_add(figures, half, &measured);
    measured.now_nsec = 2;
    figures_add(figures, text, &measured);
    press_keys(&panel, figures, (const char *)data + 3, data[2]);
    measured.now_nsec = 3;
    figures_add(figures, half, &measured);

    picture_begin(&picture, columns, rows);
    screen_draw(&(struct screen){server.bytes, "state", &panel, figures}, columns, rows, &out);
    picture_write(&picture, buffer_slice(&out));
    ASSERT(picture_is_whole(&picture));
    figures_csv_line(figures, 0, &out);
    buffer_free(&out);
    buffer_free(&server);
    figures_free(figures);
    return 0;
}
