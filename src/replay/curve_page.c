/* SPDX-License-Identifier: BSD-3-Clause
 * A plot of SVG, and the figures as a table.
 *
 * The plot has no width of its own: text stands beside the SVG and not in it, and lines do not
 * scale. So one page serves a wide screen and a telephone.
 *
 * Invariant: each text that came from a file or the command line passes tool_page_append_text.
 */
#include "replay/curve_page.h"

#include <math.h>

#include "tools/tool_page.h"

#define WIDTH 1000 /* of the SVG's own units */
#define HEIGHT 400
#define GRID_LINES 4
/* The axis begins at a whole ten percent below the least value. */
#define AXIS_STEP 0.1

static const char head[] = TOOL_PAGE_BEGIN
    "redis-lab curve" TOOL_PAGE_STYLE
    ".plot{position:relative;height:min(60vh,440px);margin:14px 0 2px;border:1px solid var(--line);"
    "background:var(--back)}\n"
    ".plot svg{position:absolute;inset:0;width:100%;height:100%}\n"
    ".plot span{position:absolute;left:5px;font-size:12px;line-height:1;color:var(--soft);"
    "background:var(--back);padding:1px 3px;border-radius:3px}\n"
    ".plot path{fill:none;stroke-width:2;vector-effect:non-scaling-stroke;stroke-linejoin:round}\n"
    ".plot .grid{stroke:var(--line);stroke-width:1}\n"
    ".plot .exact,.key.exact{stroke-dasharray:6 4}\n"
    ".legend{display:flex;flex-wrap:wrap;gap:4px 18px;margin:0 0 4px}\n"
    ".legend div{display:flex;align-items:center;gap:7px}\n"
    ".scroll{overflow-x:auto}\n"
    "table{border-collapse:collapse;font-variant-numeric:tabular-nums;width:100%}\n"
    "th,td{text-align:right;padding:3px 8px;border-top:1px solid var(--line);white-space:nowrap}\n"
    "th{color:var(--soft);font-weight:600;font-size:13px;border-top:0}\n"
    "td.best{font-weight:700}\n"
    "</style></head><body>\n";

struct frame {
    double least_share, least_log, most_log; /* of the axes */
};

static double share_of(const struct curve_point *point, int series) {
    return series < 0 ? point->exact_lru_share : point->hit_share[series];
}

/* The colour and the dashes of a series; -1 is exact LRU. */
static const char *colour_of(int series) {
    static const char *const colours[CURVE_POLICIES] = {"var(--c0)", "var(--c1)", "var(--c2)",
                                                        "var(--c3)", "var(--c4)", "var(--c5)",
                                                        "var(--c6)", "var(--c7)"};
    return series < 0 ? "var(--ink)" : colours[series];
}

static const char *name_of(int series) {
    return series < 0 ? "exact LRU" : curve_policy_name((enum curve_policy)series);
}

static struct frame find_frame(const struct curve_result *result) {
    struct frame f = {1, INFINITY, -INFINITY};
    for (unsigned i = 0; i < result->point_count; i++) {
        const struct curve_point *point = &result->points[i];
        double place = log2(point->bytes > 1 ? point->bytes : 1);
        if (place < f.least_log) f.least_log = place;
        if (place > f.most_log) f.most_log = place;
        for (int s = -1; s < CURVE_POLICIES; s++)
            if (share_of(point, s) < f.least_share) f.least_share = share_of(point, s);
    }
    f.least_share = floor(f.least_share / AXIS_STEP) * AXIS_STEP;
    if (f.least_share >= 1) f.least_share = 1 - AXIS_STEP;
    if (f.most_log <= f.least_log) f.most_log = f.least_log + 1;
    return f;
}

static double place_of_size(const struct frame *f, double bytes) {
    return (log2(bytes > 1 ? bytes : 1) - f->least_log) / (f->most_log - f->least_log);
}

static double place_of_share(const struct frame *f, double share) {
    return 1 - (share - f->least_share) / (1 - f->least_share);
}

static void append_series(const struct curve_result *result, const struct frame *f, int series,
                          struct buffer *out) {
    char mark = 'M';
    buffer_printf(out, "<path%s style=\"stroke:%s\" d=\"", series < 0 ? " class=\"exact\"" : "",
                  colour_of(series));
    for (unsigned i = 0; i < result->point_count; i++) {
        double share = share_of(&result->points[i], series);
        if (isnan(share)) continue;
        buffer_printf(out, "%c%.1f %.1f", mark, place_of_size(f, result->points[i].bytes) * WIDTH,
                      place_of_share(f, share) * (HEIGHT - 8) + 4);
        mark = 'L';
    }
    buffer_append_c_string(out, "\"/>\n");
}

static void append_legend(struct buffer *out) {
    buffer_append_c_string(out, "<div class=\"legend\">");
    for (int s = -1; s < CURVE_POLICIES; s++)
        buffer_printf(out, "<div><span class=\"key\" style=\"background:%s\"></span>%s%s</div>",
                      colour_of(s), name_of(s), s < 0 ? " (dashed)" : "");
    buffer_append_c_string(out, "</div>\n");
}

static void append_plot(const struct curve_result *result, struct buffer *out) {
    struct frame f = find_frame(result);
    char size[CURVE_TEXT_CHARS];
    buffer_printf(out,
                  "<div class=\"plot\"><svg viewBox=\"0 0 %d %d\" preserveAspectRatio=\"none\" "
                  "aria-hidden=\"true\">\n",
                  WIDTH, HEIGHT);
    for (int i = 1; i < GRID_LINES; i++)
        buffer_printf(out, "<path class=\"grid\" d=\"M0 %dH%d\"/>\n", i * HEIGHT / GRID_LINES,
                      WIDTH);
    for (int s = CURVE_POLICIES - 1; s >= -1; s--) append_series(result, &f, s, out);
    buffer_append_c_string(out, "</svg>");
    for (int i = 0; i <= GRID_LINES; i++) {
        double share = f.least_share + (1 - f.least_share) * i / GRID_LINES;
        buffer_printf(out, "<span style=\"bottom:calc(%d%% - %dpx)\">%.1f %%</span>",
                      100 * i / GRID_LINES,
                      i == 0            ? -3
                      : i == GRID_LINES ? 17
                                        : 7,
                      100 * share);
    }
    buffer_append_c_string(out, "</div><div class=\"scale\">");
    for (int i = 0; i <= GRID_LINES; i++) {
        double place = f.least_log + (f.most_log - f.least_log) * i / GRID_LINES;
        curve_report_size(pow(2, place), size);
        buffer_printf(out, "<span>%s</span>", size);
    }
    buffer_append_c_string(out, "</div>\n");
}

static void append_cell(struct buffer *out, double share, bool is_best) {
    char text[CURVE_TEXT_CHARS];
    curve_report_share(share, text);
    buffer_printf(out, "<td%s>%s</td>", is_best ? " class=\"best\"" : "", text);
}

/* The highest value of a row's policies is bold; none where all are equal. */
static void append_table(const struct curve_result *result, struct buffer *out) {
    char size[CURVE_TEXT_CHARS];
    buffer_append_c_string(out, "<div class=\"scroll\"><table><tr><th>size</th>");
    for (int s = -1; s < CURVE_POLICIES; s++) buffer_printf(out, "<th>%s</th>", name_of(s));
    buffer_append_c_string(out, "</tr>\n");
    for (unsigned i = 0; i < result->point_count; i++) {
        const struct curve_point *point = &result->points[i];
        double most = 0, least = 1;
        for (unsigned p = 0; p < CURVE_POLICIES; p++) {
            if (point->hit_share[p] > most) most = point->hit_share[p];
            if (point->hit_share[p] < least) least = point->hit_share[p];
        }
        curve_report_size(point->bytes, size);
        buffer_printf(out, "<tr><td>%s</td>", i + 1 < result->point_count ? size : "all keys");
        for (int s = -1; s < CURVE_POLICIES; s++)
            append_cell(out, share_of(point, s),
                        s >= 0 && most > least && point->hit_share[s] == most);
        buffer_append_c_string(out, "</tr>\n");
    }
    buffer_append_c_string(out, "</table></div>\n");
}

void curve_page_write(const struct curve_report *r, struct buffer *out) {
    struct buffer notes = {.class = MEMORY_OTHER};
    curve_report_notes(r, &notes);
    buffer_append_c_string(out, head);
    buffer_append_c_string(out,
                           "<h1>redis-lab curve</h1>\n<p class=\"verdict\">Hits by memory for "
                           "keys and values, and by policy</p>\n<p class=\"soft\">");
    tool_page_append_text(out, notes.bytes);
    buffer_append_c_string(out, "</p>\n<section>\n");
    append_legend(out);
    append_plot(r->result, out);
    buffer_append_c_string(out, "</section>\n<section><h2>Hits in percent</h2>\n");
    append_table(r->result, out);
    buffer_append_c_string(out, "</section>\n</body></html>\n");
    buffer_free(&notes);
}
