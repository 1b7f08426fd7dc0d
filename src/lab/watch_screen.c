/* SPDX-License-Identifier: BSD-3-Clause
 * Drawing the screen. From the top it shows a line about the server, a line of headings, the
 * figures with the knobs at their right, a line with the last message or the text that is being
 * typed, and a line of keys.
 *
 * Invariants
 *  1. For every row the cursor is set to the row's begin, at most `columns` characters are written,
 *     and the rest of the row is cleared. So no text of an earlier picture stays, and the terminal
 *     never wraps or scrolls.
 *  2. All text is written by pen_text, which lets only printable ASCII through.
 *  3. The cursor is shown only while a value is being typed, at the end of the value.
 */
#include "lab/watch_screen.h"

#include <inttypes.h>
#include <math.h>

#include "lab/watch_panel.h"
#include "tools/figures.h"

#define VALUE_COLUMNS 10
#define GAP_COLUMNS 3
/* A smaller change is shown as none, because readings differ by more without a cause. */
#define CHANGE_PERCENT_MIN 0.5
/* Room for the text of a heading, a count or the like, with its NUL. */
#define SHORT_CHARS 64

static const char keys_help[] =
    "letter or arrows+Enter: set  Tab: before/since  M: mark  U: unmark  q: quit";

struct pen {
    struct buffer *out;
    int column, columns;
};

static void begin_row(struct pen *pen, int row) {
    buffer_printf(pen->out, "\033[%d;1H\033[0m", row);
    pen->column = 0;
}

/* Clears the rest of the row. A full row is left alone, because terminals would clear its last
 * column. */
static void end_row(struct pen *pen) {
    buffer_append_c_string(pen->out, pen->column < pen->columns ? "\033[0m\033[K" : "\033[0m");
}

static void style_bold(struct pen *pen) { buffer_append_c_string(pen->out, "\033[1m"); }
static void style_reverse(struct pen *pen) { buffer_append_c_string(pen->out, "\033[7m"); }
static void style_plain(struct pen *pen) { buffer_append_c_string(pen->out, "\033[0m"); }

/* Writes a text, cut to the row's width; bytes other than printable ASCII become "?". */
static void pen_text(struct pen *pen, const char *text) {
    for (; *text && pen->column < pen->columns; text++, pen->column++) {
        buffer_append_char(pen->out, *text >= ' ' && *text <= '~' ? *text : '?');
    }
}

static void pen_to(struct pen *pen, int column) {
    if (column > pen->columns) column = pen->columns;
    for (; pen->column < column; pen->column++) buffer_append_char(pen->out, ' ');
}

/* Writes a text that ends at `column`; blanks fill the columns before it. */
static void pen_right(struct pen *pen, const char *text, int column) {
    pen_to(pen, column - (int)strlen(text));
    pen_text(pen, text);
}

static void format_change(char out[SHORT_CHARS], double from, double to) {
    out[0] = '\0';
    if (isnan(from) || isnan(to)) return;
    double percent = from == 0 ? (to == 0 ? 0 : INFINITY) : (to - from) / fabs(from) * 100;
    if (fabs(percent) < CHANGE_PERCENT_MIN) {
        snprintf(out, SHORT_CHARS, "same");
    } else if (isinf(percent)) {
        snprintf(out, SHORT_CHARS, "from 0");
    } else if (percent >= 900) {
        snprintf(out, SHORT_CHARS, "x%.3g", to / from);
    } else {
        snprintf(out, SHORT_CHARS, "%+.0f%%", percent);
    }
}

static int figures_columns(bool comparing) {
    return FIGURES_LABEL_CHARS + VALUE_COLUMNS * (comparing ? 4 : 1);
}

static void draw_figure(struct pen *pen, const struct figures *f, size_t index, bool comparing) {
    const struct figure_row *row = figures_row(index);
    char text[FIGURES_TEXT_CHARS], change[SHORT_CHARS];
    int column = FIGURES_LABEL_CHARS;
    pen_text(pen, row->label);
    figures_format(text, row->unit, figures_now(f, index));
    style_bold(pen);
    pen_right(pen, text, column += VALUE_COLUMNS);
    style_plain(pen);
    if (!comparing) return;
    double earlier = figures_before(f, index), since = figures_since(f, index);
    figures_format(text, row->unit, earlier);
    pen_right(pen, text, column += VALUE_COLUMNS);
    figures_format(text, row->unit, since);
    pen_right(pen, text, column += VALUE_COLUMNS);
    format_change(change, earlier, since);
    pen_right(pen, change, column + VALUE_COLUMNS);
}

static void draw_knob(struct pen *pen, const struct panel_knob *knob, bool selected) {
    char mark[] = {knob->letter, ' ', knob->changed ? '*' : ' ', '\0'};
    if (selected) style_reverse(pen);
    pen_text(pen, mark);
    pen_text(pen, knob->name);
    pen_text(pen, " ");
    if (knob->changed) style_bold(pen);
    pen_text(pen, knob->value);
    style_plain(pen);
}

/* Fills `shown` with the knobs that the server has, in order. `first` becomes the first one to be
 * drawn, so that the selected knob is among those that fit. */
static size_t list_knobs(const struct panel *p, size_t room, size_t shown[PANEL_KNOBS_MAX],
                         size_t *first) {
    size_t count = 0, place = 0;
    for (size_t i = 0; i < p->count; i++) {
        if (!p->knobs[i].known) continue;
        if (i == p->selected) place = count;
        shown[count++] = i;
    }
    *first = place > room / 2 ? place - room / 2 : 0;
    if (*first + room > count) *first = count > room ? count - room : 0;
    return count;
}

static void draw_headings(struct pen *pen, const struct screen *s, size_t room, bool comparing,
                          bool knobs, size_t known) {
    char text[SHORT_CHARS];
    int column = FIGURES_LABEL_CHARS;
    if (room < figures_count()) {
        snprintf(text, sizeof(text), "%zu of %zu figures", room, figures_count());
        pen_text(pen, text);
    }
    pen_right(pen, "now", column += VALUE_COLUMNS);
    if (comparing) {
        snprintf(text, sizeof(text), "before/%" PRIu64, figures_before_samples(s->figures));
        pen_right(pen, text, column += VALUE_COLUMNS);
        snprintf(text, sizeof(text), "since/%" PRIu64, figures_since_samples(s->figures));
        pen_right(pen, text, column += VALUE_COLUMNS);
        pen_right(pen, "change", column += VALUE_COLUMNS);
    }
    if (!knobs) return;
    pen_to(pen, column + GAP_COLUMNS);
    pen_text(pen, known ? "knobs (*: changed here)" : "the server shows no knobs");
}

static void draw_body(struct pen *pen, const struct screen *s, int rows) {
    bool wide = pen->columns >= SCREEN_COLUMNS_WIDE, marked = figures_marked(s->figures);
    bool comparing = marked && (wide || s->panel->comparing);
    bool knobs = wide || !comparing;
    size_t room = (size_t)rows - 4, first, shown[PANEL_KNOBS_MAX];
    size_t known = list_knobs(s->panel, room, shown, &first);
    begin_row(pen, 2);
    draw_headings(pen, s, room, comparing, knobs, known);
    end_row(pen);
    for (size_t i = 0; i < room; i++) {
        begin_row(pen, 3 + (int)i);
        if (i < figures_count()) draw_figure(pen, s->figures, i, comparing);
        if (knobs && first + i < known) {
            size_t knob = shown[first + i];
            pen_to(pen, figures_columns(comparing) + GAP_COLUMNS);
            draw_knob(pen, &s->panel->knobs[knob], knob == s->panel->selected);
        }
        end_row(pen);
    }
}

static void draw_bottom(struct pen *pen, const struct panel *p, int rows) {
    begin_row(pen, rows);
    pen_text(pen, keys_help);
    end_row(pen);
    begin_row(pen, rows - 1);
    if (p->editing) {
        style_bold(pen);
        pen_text(pen, p->knobs[p->selected].name);
        pen_text(pen, " (");
        pen_text(pen, p->knobs[p->selected].value);
        pen_text(pen, ") = ");
        pen_text(pen, p->typed);
    } else {
        pen_text(pen, p->message);
    }
    end_row(pen);
    /* The cursor is at the end of the message row's text, because that row is drawn last. */
    buffer_append_c_string(pen->out, p->editing ? "\033[?25h" : "\033[?25l");
}

void screen_draw(const struct screen *s, int columns, int rows, struct buffer *out) {
    struct pen pen = {.out = out, .columns = columns};
    begin_row(&pen, 1);
    if (columns < SCREEN_COLUMNS_MIN || rows < SCREEN_ROWS_MIN) {
        pen_text(&pen, "The terminal is too small. q: quit");
        buffer_append_c_string(out, "\033[J\033[?25l");
        return;
    }
    style_reverse(&pen);
    /* An alarming state is written first, so that a narrow terminal does not cut it off. */
    pen_text(&pen, *s->state ? s->state : "redis-lab watch");
    pen_text(&pen, "  ");
    pen_text(&pen, s->server);
    pen_to(&pen, columns);
    end_row(&pen);
    draw_body(&pen, s, rows);
    draw_bottom(&pen, s->panel, rows);
}
