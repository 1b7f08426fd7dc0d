/* SPDX-License-Identifier: BSD-3-Clause
 * HTML with charts of SVG and positioned elements.
 *
 * A chart has no width of its own: positions are shares of its box, text stands beside the SVG and
 * not in it, and lines do not scale. So one page serves a wide screen and a telephone. Colours are
 * variables that follow the reader's preference for dark or light.
 *
 * Invariant: each text that came from a server, a file or the command line passes
 * tool_page_append_text.
 */
#include "experiment/experiment_page.h"

#include <inttypes.h>
#include <math.h>
#include <time.h>

#include "experiment/experiment_report.h"
#include "tools/tool_page.h"

/* More points than a screen has columns show nothing more. */
#define POINTS_MAX 1500
/* The greatest by the least value from which on a latency's axis is logarithmic. */
#define LOGARITHMIC_FROM 20
#define CHART_HEIGHT 100 /* of the SVG's own units; its width is 1000 */

static const char head[] = TOOL_PAGE_BEGIN
    "redis-lab experiment" TOOL_PAGE_STYLE
    ".arm{display:grid;grid-template-columns:minmax(90px,170px) 90px minmax(120px,1fr) 250px;"
    "gap:12px;align-items:center;padding:4px 0;border-top:1px solid var(--line)}\n"
    ".arm:first-of-type{border-top:0}\n"
    ".name{display:flex;align-items:center;gap:8px;overflow-wrap:anywhere}\n"
    ".name b{font-weight:600}\n"
    ".value{font-variant-numeric:tabular-nums;text-align:right}\n"
    ".change{font-size:13px;font-variant-numeric:tabular-nums;color:var(--soft)}\n"
    ".change.stands{color:var(--ink);font-weight:600}\n"
    ".strip{position:relative;height:22px}\n"
    ".strip:before{content:'';position:absolute;left:0;right:0;top:50%;border-top:1px solid "
    "var(--line)}\n"
    ".strip i{position:absolute;top:7px;width:8px;height:8px;margin-left:-4px;border-radius:4px;"
    "opacity:.55}\n"
    ".strip u{position:absolute;top:2px;width:3px;height:18px;margin-left:-1.5px;"
    "border-radius:2px}\n"
    ".plot{position:relative;height:150px;margin:14px 0 2px;border:1px solid var(--line);"
    "background:var(--back)}\n"
    ".plot svg{position:absolute;inset:0;width:100%;height:100%}\n"
    ".plot span{position:absolute;left:5px;font-size:12px;line-height:1;color:var(--soft);"
    "background:var(--back);padding:1px 3px;border-radius:3px}\n"
    ".plot path{fill:none;stroke:var(--ink);stroke-width:1.4;vector-effect:non-scaling-stroke;"
    "stroke-linejoin:round}\n"
    ".plot rect{opacity:.22}\n"
    "@media(max-width:760px){.arm{grid-template-columns:1fr auto;gap:2px 12px}"
    ".strip,.change{grid-column:1/-1}.verdict{font-size:18px}}\n"
    "</style></head><body>\n";

/* --- texts ------------------------------------------------------------------------------------ */

static void append_value(struct buffer *out, unsigned figure, double value) {
    char text[FIGURES_TEXT_CHARS];
    figures_format(text, experiment_figure_row(figure)->unit, value);
    tool_page_append_text(out, text);
}

static void append_heading(const struct experiment_record *r, struct buffer *out) {
    struct buffer verdict = {.class = MEMORY_OTHER};
    char when[64];
    time_t seconds = (time_t)(r->began_wall_msec / 1000);
    struct tm broken;
    experiment_report_verdict(r, &verdict);
    if (!gmtime_r(&seconds, &broken) ||
        !strftime(when, sizeof(when), "%d %B %Y, %H:%M UTC", &broken))
        *when = '\0';
    buffer_append_c_string(out, "<h1>redis-lab experiment</h1>\n<p class=\"verdict\">");
    tool_page_append_text(out, verdict.bytes);
    buffer_append_c_string(out, "</p>\n<p class=\"soft\">");
    for (unsigned i = 0; i < r->server_count; i++) {
        tool_page_append_text(out, r->servers[i]);
        buffer_append_c_string(out, ", ");
        tool_page_append_text(out, r->versions[i]);
        buffer_append_c_string(out, "; ");
    }
    buffer_printf(out,
                  "%s; %u of %u rounds, blocks of %g s after %g s of settling; seed %" PRIu64
                  ". Bold: the change stands out of the noise.",
                  when, r->rounds, r->plan->rounds, r->block_s, r->settle_s, r->seed);
    if (*r->reason) {
        buffer_append_c_string(out, " Ended early: ");
        tool_page_append_text(out, r->reason);
        buffer_append_char(out, '.');
    }
    buffer_append_c_string(out, "</p>\n");
    buffer_free(&verdict);
}

/* --- axes ------------------------------------------------------------------------------------- */

struct axis {
    double least, most;
    bool is_logarithmic;
};

static void widen_axis(struct axis *axis, double value) {
    if (!isfinite(value)) return;
    if (isnan(axis->least) || value < axis->least) axis->least = value;
    if (isnan(axis->most) || value > axis->most) axis->most = value;
}

/* Completes an axis that spans its values. A linear axis of values above 0 begins at 0. */
static void finish_axis(struct axis *axis, unsigned figure) {
    bool is_time = experiment_figure_row(figure)->unit == FIGURE_USEC;
    if (isnan(axis->least)) axis->least = axis->most = 0;
    axis->is_logarithmic =
        is_time && axis->least > 0 && axis->most > LOGARITHMIC_FROM * axis->least;
    if (!axis->is_logarithmic && axis->least > 0) axis->least = 0;
    if (axis->most <= axis->least) axis->most = axis->least + 1;
}

/* The value's place, from 0 to 1. */
static double axis_place(const struct axis *axis, double value) {
    if (axis->is_logarithmic) return log(value / axis->least) / log(axis->most / axis->least);
    return (value - axis->least) / (axis->most - axis->least);
}

/* The value at a place. */
static double axis_value(const struct axis *axis, double place) {
    if (axis->is_logarithmic) return axis->least * pow(axis->most / axis->least, place);
    return axis->least + place * (axis->most - axis->least);
}

/* --- the blocks' values ----------------------------------------------------------------------- */

static void append_strip(const struct experiment_record *r, unsigned figure, unsigned arm,
                         const struct axis *axis, struct buffer *out) {
    struct experiment_spread spread = experiment_record_spread(r, figure, arm);
    buffer_append_c_string(out, "<div class=\"strip\">");
    for (unsigned i = 0; i < r->rounds * r->plan->arm_count; i++) {
        double value = r->blocks[i].values[figure];
        if (r->blocks[i].arm != arm || !isfinite(value)) continue;
        buffer_printf(out, "<i style=\"left:%.2f%%;background:var(--c%u)\" title=\"",
                      axis_place(axis, value) * 100, arm % TOOL_PAGE_COLOURS);
        append_value(out, figure, value);
        buffer_append_c_string(out, "\"></i>");
    }
    if (isfinite(spread.median))
        buffer_printf(out, "<u style=\"left:%.2f%%;background:var(--c%u)\"></u>",
                      axis_place(axis, spread.median) * 100, arm % TOOL_PAGE_COLOURS);
    buffer_append_c_string(out, "</div>");
}

static void append_arm(const struct experiment_record *r, unsigned figure, unsigned arm,
                       const struct axis *axis, struct buffer *out) {
    unsigned reference = r->plan->reference;
    bool stands = experiment_record_differs(r, figure, reference, arm);
    buffer_printf(out,
                  "<div class=\"arm\"><div class=\"name\"><span class=\"key\" "
                  "style=\"background:var(--c%u)\"></span><b>",
                  arm % TOOL_PAGE_COLOURS);
    tool_page_append_text(out, r->plan->arms[arm].label);
    buffer_append_c_string(out, "</b></div><div class=\"value\">");
    append_value(out, figure, experiment_record_spread(r, figure, arm).median);
    buffer_append_c_string(out, "</div>");
    append_strip(r, figure, arm, axis, out);
    buffer_printf(out, "<div class=\"change%s\">", stands ? " stands" : "");
    if (arm == reference) {
        buffer_append_c_string(out, r->plan->arms[arm].is_old ? "as it was" : "reference");
    } else {
        struct buffer change = {.class = MEMORY_OTHER};
        experiment_report_change(r, figure, reference, arm, &change);
        tool_page_append_text(out, change.bytes);
        if (stands) buffer_printf(out, " p=%.4f", experiment_record_p(r, figure, reference, arm));
        buffer_free(&change);
    }
    buffer_append_c_string(out, "</div></div>\n");
}

static void append_arms(const struct experiment_record *r, unsigned figure, struct buffer *out) {
    struct axis axis = {NAN, NAN, false};
    for (unsigned i = 0; i < r->rounds * r->plan->arm_count; i++)
        widen_axis(&axis, r->blocks[i].values[figure]);
    finish_axis(&axis, figure);
    for (unsigned arm = 0; arm < r->plan->arm_count; arm++) append_arm(r, figure, arm, &axis, out);
    buffer_append_c_string(out, "<div class=\"scale\"><span>each block, from ");
    append_value(out, figure, axis.least);
    buffer_append_c_string(out, "</span><span>to ");
    append_value(out, figure, axis.most);
    buffer_append_c_string(
        out, axis.is_logarithmic ? ", logarithmic</span></div>\n" : "</span></div>\n");
}

/* --- timelines -------------------------------------------------------------------------------- */

static void append_shades(const struct experiment_record *r, double seconds, struct buffer *out) {
    for (unsigned i = 0; i < r->block_count; i++) {
        const struct experiment_block *block = &r->blocks[i];
        buffer_printf(
            out, "<rect x=\"%.2f\" y=\"0\" width=\"%.2f\" height=\"%d\" fill=\"var(--c%u)\"/>",
            block->begin_s / seconds * 1000, (block->end_s - block->begin_s) / seconds * 1000,
            CHART_HEIGHT, block->arm % TOOL_PAGE_COLOURS);
    }
}

/* The greatest of the samples that one point stands for; NaN where all are unknown. */
static double point_value(const struct experiment_record *r, unsigned figure, unsigned from,
                          unsigned to) {
    double most = NAN;
    for (unsigned i = from; i < to && i < r->sample_count; i++) {
        double value = r->samples[i].values[figure];
        if (isfinite(value) && !(value <= most)) most = value;
    }
    return most;
}

static void append_path(const struct experiment_record *r, unsigned figure, double seconds,
                        const struct axis *axis, struct buffer *out) {
    unsigned step = (r->sample_count + POINTS_MAX - 1) / POINTS_MAX;
    bool joined = false;
    buffer_append_c_string(out, "<path d=\"");
    for (unsigned i = 0; i < r->sample_count; i += step) {
        double value = point_value(r, figure, i, i + step);
        if (isfinite(value) && !(axis->is_logarithmic && value <= 0)) {
            buffer_printf(out, "%c%.1f %.1f", joined ? 'L' : 'M',
                          r->samples[i].at_s / seconds * 1000,
                          (1 - axis_place(axis, value)) * (CHART_HEIGHT - 8) + 4);
            joined = true;
        } else {
            joined = false;
        }
    }
    buffer_append_c_string(out, "\"/>");
}

static void append_timeline(const struct experiment_record *r, unsigned figure,
                            struct buffer *out) {
    struct axis axis = {NAN, NAN, false};
    double seconds = 0;
    for (unsigned i = 0; i < r->sample_count; i++) {
        widen_axis(&axis, r->samples[i].values[figure]);
        if (r->samples[i].at_s > seconds) seconds = r->samples[i].at_s;
    }
    if (isnan(axis.least) || seconds <= 0) return;
    finish_axis(&axis, figure);
    if (r->block_count && r->blocks[r->block_count - 1].end_s > seconds)
        seconds = r->blocks[r->block_count - 1].end_s;
    buffer_printf(out,
                  "<div class=\"plot\"><svg viewBox=\"0 0 1000 %d\" "
                  "preserveAspectRatio=\"none\" aria-hidden=\"true\">",
                  CHART_HEIGHT);
    append_shades(r, seconds, out);
    append_path(r, figure, seconds, &axis, out);
    buffer_append_c_string(out, "</svg>");
    for (unsigned i = 0; i < 3; i++) {
        static const char *const places[] = {"bottom:3px", "top:calc(50% - 7px)", "top:3px"};
        buffer_printf(out, "<span style=\"%s\">", places[i]);
        append_value(out, figure, axis_value(&axis, i / 2.0));
        buffer_append_c_string(out, "</span>");
    }
    buffer_printf(out, "</div><div class=\"scale\"><span>0 s%s</span><span>%.0f s</span></div>\n",
                  axis.is_logarithmic ? ", logarithmic" : "", seconds);
}

/* --- the page --------------------------------------------------------------------------------- */

static void append_section(const struct experiment_record *r, unsigned figure, struct buffer *out) {
    const struct figure_row *row = experiment_figure_row(figure);
    buffer_append_c_string(out, "<section><h2>");
    tool_page_append_text(out, row->label);
    buffer_append_c_string(out, figure == r->goal ? ", the goal</h2>" : "</h2>");
    buffer_append_c_string(out, "<p class=\"soft\">");
    tool_page_append_text(out, row->help);
    buffer_append_c_string(out, "</p>\n");
    append_arms(r, figure, out);
    append_timeline(r, figure, out);
    buffer_append_c_string(out, "</section>\n");
}

void experiment_page_write(const struct experiment_record *r, struct buffer *out) {
    buffer_append_c_string(out, head);
    append_heading(r, out);
    if (r->rounds) {
        append_section(r, r->goal, out);
        for (unsigned figure = 0; figure < experiment_figure_count(); figure++)
            if (figure != r->goal && experiment_report_shows(r, figure))
                append_section(r, figure, out);
    }
    buffer_append_c_string(out, "</body></html>\n");
}
