/* SPDX-License-Identifier: BSD-3-Clause
 * Table, verdict, JSON and CSV.
 *
 * Invariants
 *  1. A figure that is unknown is "-" in the table, null in JSON, and empty in CSV.
 *  2. Labels and names hold no control character: string_show has replaced them.
 */
#include "experiment/experiment_report.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define NAME_COLUMNS 20
#define VALUE_COLUMNS 10
#define SPREAD_COLUMNS 20

/* --- the table -------------------------------------------------------------------------------- */

bool experiment_report_shows(const struct experiment_record *r, unsigned figure) {
    static const char *const usual[] = {"p50_usec",       "p99_usec",         "p999_usec",
                                        "max_usec",       "requests_per_sec", "probe_p50_usec",
                                        "probe_p99_usec", "probe_max_usec",   "ops_per_sec",
                                        "hit_percent",    "evicted_per_sec"};
    if (!experiment_record_is_known(r, figure)) return false;
    if (figure == r->goal || experiment_record_figure_differs(r, figure)) return true;
    for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++)
        if (!strcmp(usual[i], experiment_figure_row(figure)->name)) return true;
    return false;
}

static void append_number(struct buffer *out, unsigned figure, double value) {
    char text[FIGURES_TEXT_CHARS];
    figures_format(text, experiment_figure_row(figure)->unit, value);
    buffer_append_c_string(out, text);
}

/* A difference of a share is in percentage points; other differences are in the figure's unit. */
static void append_delta(struct buffer *out, unsigned figure, bool is_ratio, double value) {
    bool is_share = experiment_figure_is_share(figure);
    if (isnan(value)) {
        buffer_append_char(out, '-');
    } else if (is_ratio && value >= 9.995) {
        buffer_printf(out, "x%.1f", value + 1);
    } else if (is_ratio || is_share) {
        buffer_printf(out, "%+.1f%s", is_share ? value : value * 100, is_share ? "pt" : "%");
    } else {
        if (value > 0) buffer_append_char(out, '+');
        append_number(out, figure, value);
    }
}

void experiment_report_change(const struct experiment_record *r, unsigned figure, unsigned from,
                              unsigned to, struct buffer *out) {
    struct experiment_change change = experiment_change_of(&r->figures, figure, from, to);
    append_delta(out, figure, change.is_ratio, change.median);
    if (isnan(change.median)) return;
    buffer_append_c_string(out, " [");
    append_delta(out, figure, change.is_ratio, change.low);
    buffer_append_c_string(out, ", ");
    append_delta(out, figure, change.is_ratio, change.high);
    buffer_append_char(out, ']');
}

static void pad_to(struct buffer *out, size_t from, size_t columns) {
    while (out->length - from < columns) buffer_append_char(out, ' ');
}

static void append_arm_line(const struct experiment_record *r, unsigned figure, unsigned arm,
                            size_t label_columns, struct buffer *out) {
    struct experiment_spread spread = experiment_record_spread(r, figure, arm);
    size_t from = out->length;
    buffer_printf(out, "  %s", r->plan->arms[arm].label);
    pad_to(out, from, label_columns + 3);
    from = out->length;
    append_number(out, figure, spread.median);
    pad_to(out, from, VALUE_COLUMNS);
    from = out->length;
    append_number(out, figure, spread.low);
    buffer_append_c_string(out, " .. ");
    append_number(out, figure, spread.high);
    pad_to(out, from, SPREAD_COLUMNS);
    if (arm == r->plan->reference) {
        buffer_append_c_string(out, r->plan->arms[arm].is_old ? " (as it was)" : " (reference)");
    } else {
        buffer_append_char(out, ' ');
        experiment_report_change(r, figure, r->plan->reference, arm, out);
        if (experiment_record_differs(r, figure, r->plan->reference, arm))
            buffer_printf(out, "  * p=%.4f",
                          experiment_record_p(r, figure, r->plan->reference, arm));
    }
    buffer_append_char(out, '\n');
}

static void append_figure(const struct experiment_record *r, unsigned figure, size_t columns,
                          struct buffer *out) {
    const struct figure_row *row = experiment_figure_row(figure);
    buffer_printf(out, "\n%s%s  (%s)\n", row->label, figure == r->goal ? ", the goal" : "",
                  row->help);
    for (unsigned arm = 0; arm < r->plan->arm_count; arm++)
        append_arm_line(r, figure, arm, columns, out);
}

void experiment_report_table(const struct experiment_record *r, struct buffer *out) {
    size_t columns = 0;
    for (unsigned arm = 0; arm < r->plan->arm_count; arm++) {
        size_t length = strlen(r->plan->arms[arm].label);
        if (length > columns) columns = length;
    }
    if (r->rounds) {
        buffer_printf(out,
                      "%u round%s of %u; each line: the median over the rounds, its quartiles, and "
                      "the change\nagainst the reference within rounds with its 95%% interval. "
                      "*: the change stands out of\nthe noise (p at most %g, all comparisons "
                      "counted).\n",
                      r->rounds, r->rounds == 1 ? "" : "s", r->plan->rounds, EXPERIMENT_LIMIT_P);
        append_figure(r, r->goal, columns, out);
        for (unsigned figure = 0; figure < experiment_figure_count(); figure++)
            if (figure != r->goal && experiment_report_shows(r, figure))
                append_figure(r, figure, columns, out);
        buffer_append_char(out, '\n');
    }
    experiment_report_verdict(r, out);
    buffer_append_char(out, '\n');
}

/* --- the verdict ------------------------------------------------------------------------------ */

/* The arms that are not told from the best one by the goal. */
static void append_ties(const struct experiment_record *r, struct buffer *out) {
    unsigned count = 0;
    for (unsigned arm = 0; arm < r->plan->arm_count; arm++) {
        if (arm == (unsigned)r->best ||
            experiment_record_differs(r, r->goal, arm, (unsigned)r->best))
            continue;
        buffer_printf(out, "%s%s",
                      count++ ? ", " : " Not to be told from it: ", r->plan->arms[arm].label);
    }
    if (count) buffer_append_char(out, '.');
}

static void append_best(const struct experiment_record *r, struct buffer *out) {
    unsigned best = (unsigned)r->best, reference = r->plan->reference;
    const struct figure_row *row = experiment_figure_row(r->goal);
    const struct experiment_arm *arms = r->plan->arms;
    buffer_printf(out, "Best by %s: %s, ", row->label, arms[best].label);
    append_number(out, r->goal, experiment_record_spread(r, r->goal, best).median);
    if (best == reference) {
        buffer_printf(out, ", %s.", arms[best].is_old ? "as it was" : "the reference");
    } else {
        buffer_append_c_string(out, " against ");
        append_number(out, r->goal, experiment_record_spread(r, r->goal, reference).median);
        buffer_printf(out, " of %s (", arms[reference].label);
        experiment_report_change(r, r->goal, reference, best, out);
        buffer_append_c_string(out, ").");
    }
    append_ties(r, out);
}

void experiment_report_verdict(const struct experiment_record *r, struct buffer *out) {
    unsigned least = experiment_rounds_least(r->plan->arm_count);
    const char *label = experiment_figure_row(r->goal)->label;
    if (!r->rounds) {
        buffer_append_c_string(out, "No round is complete: nothing can be said.");
    } else if (r->rounds < least) {
        buffer_printf(out, "With %u round%s nothing can be told from noise: --rounds %u at least.",
                      r->rounds, r->rounds == 1 ? "" : "s", least);
    } else if (!experiment_record_is_known(r, r->goal)) {
        buffer_printf(out, "The goal, %s, is unknown for this server.", label);
    } else if (!experiment_record_figure_differs(r, r->goal)) {
        buffer_printf(out, "No difference in %s stands out of the noise.", label);
    } else if (r->best < 0) {
        buffer_printf(out, "Differences in %s stand out; neither more nor less of it is better.",
                      label);
    } else {
        append_best(r, out);
    }
    if (r->late_blocks)
        buffer_printf(out,
                      " In %u of %u blocks this machine could not keep up with the load: their "
                      "latencies are in part the tool's own.",
                      r->late_blocks, r->block_count);
    if (!r->trace) return;
    if (r->trace_passes) {
        buffer_printf(out, " The load was through its trace %" PRIu64 " time%s.", r->trace_passes,
                      r->trace_passes == 1 ? "" : "s");
    } else {
        buffer_append_c_string(out, " The load was not through its trace once.");
    }
}

/* --- JSON and CSV ----------------------------------------------------------------------------- */

static void append_json_text(struct buffer *out, const char *text) {
    buffer_append_char(out, '"');
    for (const char *at = text; *at; at++) {
        if (*at == '"' || *at == '\\') buffer_append_char(out, '\\');
        if ((uint8_t)*at < 0x20) {
            buffer_printf(out, "\\u%04x", (unsigned)(uint8_t)*at);
        } else {
            buffer_append_char(out, *at);
        }
    }
    buffer_append_char(out, '"');
}

static void append_json_number(struct buffer *out, double value) {
    if (isfinite(value)) {
        buffer_printf(out, "%.10g", value);
    } else {
        buffer_append_c_string(out, "null");
    }
}

static void append_json_spread(const struct experiment_record *r, unsigned figure, unsigned arm,
                               struct buffer *out) {
    struct experiment_spread spread = experiment_record_spread(r, figure, arm);
    struct experiment_change change =
        experiment_change_of(&r->figures, figure, r->plan->reference, arm);
    buffer_append_c_string(out, "{\"median\":");
    append_json_number(out, spread.median);
    buffer_append_c_string(out, ",\"quartiles\":[");
    append_json_number(out, spread.low);
    buffer_append_char(out, ',');
    append_json_number(out, spread.high);
    buffer_printf(out, "],\"%s\":", change.is_ratio ? "change_ratio" : "change");
    append_json_number(out, change.median);
    buffer_append_c_string(out, ",\"interval\":[");
    append_json_number(out, change.low);
    buffer_append_char(out, ',');
    append_json_number(out, change.high);
    buffer_append_c_string(out, "],\"p\":");
    append_json_number(out, experiment_record_p(r, figure, r->plan->reference, arm));
    buffer_printf(out, ",\"differs\":%s}",
                  experiment_record_differs(r, figure, r->plan->reference, arm) ? "true" : "false");
}

static void append_json_arms(const struct experiment_record *r, struct buffer *out) {
    const struct experiment_plan *plan = r->plan;
    buffer_append_c_string(out, "\"arms\":[");
    for (unsigned arm = 0; arm < plan->arm_count; arm++) {
        unsigned count = 0;
        buffer_append_c_string(out, arm ? ",{\"label\":" : "{\"label\":");
        append_json_text(out, plan->arms[arm].label);
        buffer_printf(out, ",\"as_it_was\":%s,\"figures\":{",
                      plan->arms[arm].is_old ? "true" : "false");
        for (unsigned figure = 0; r->rounds && figure < experiment_figure_count(); figure++) {
            if (!experiment_record_is_known(r, figure)) continue;
            buffer_printf(out, "%s\"%s\":", count++ ? "," : "",
                          experiment_figure_row(figure)->name);
            append_json_spread(r, figure, arm, out);
        }
        buffer_append_c_string(out, "}}");
    }
    buffer_append_char(out, ']');
}

static void append_json_blocks(const struct experiment_record *r, struct buffer *out) {
    buffer_append_c_string(out, "\"blocks\":[");
    for (unsigned i = 0; i < r->block_count; i++) {
        const struct experiment_block *block = &r->blocks[i];
        unsigned count = 0;
        buffer_printf(out, "%s{\"round\":%u,\"arm\":%u,\"set_s\":%.3f,\"begin_s\":%.3f,",
                      i ? "," : "", block->round, block->arm, block->set_s, block->begin_s);
        buffer_printf(out, "\"end_s\":%.3f,\"values\":{", block->end_s);
        for (unsigned figure = 0; figure < experiment_figure_count(); figure++) {
            if (isnan(block->values[figure])) continue;
            buffer_printf(out, "%s\"%s\":", count++ ? "," : "",
                          experiment_figure_row(figure)->name);
            append_json_number(out, block->values[figure]);
        }
        buffer_append_c_string(out, "}}");
    }
    buffer_append_char(out, ']');
}

void experiment_report_json(const struct experiment_record *r, struct buffer *out) {
    static const char *const outcomes[] = {"complete", "stopped", "interrupted", "failed"};
    struct buffer verdict = {.class = MEMORY_OTHER};
    experiment_report_verdict(r, &verdict);
    buffer_printf(out, "{\"outcome\":\"%s\",\"reason\":", outcomes[r->outcome]);
    append_json_text(out, r->reason);
    buffer_printf(out, ",\"seed\":%" PRIu64 ",\"block_s\":%g,\"settle_s\":%g,", r->seed, r->block_s,
                  r->settle_s);
    if (r->trace) {
        buffer_append_c_string(out, "\"trace\":{\"file\":");
        append_json_text(out, r->trace);
        buffer_printf(out, ",\"passes\":%" PRIu64 "},", r->trace_passes);
    }
    buffer_printf(out, "\"began_msec\":%" PRId64 ",\"rounds\":%u,\"rounds_planned\":%u,",
                  r->began_wall_msec, r->rounds, r->plan->rounds);
    buffer_printf(out,
                  "\"late_blocks\":%u,\"goal\":\"%s\",\"reference\":%u,\"best\":", r->late_blocks,
                  experiment_figure_row(r->goal)->name, r->plan->reference);
    buffer_printf(out, r->best < 0 ? "null" : "%d", r->best);
    buffer_printf(out, ",\"differs\":%s,\"verdict\":",
                  r->rounds && experiment_record_figure_differs(r, r->goal) ? "true" : "false");
    append_json_text(out, verdict.bytes);
    buffer_append_c_string(out, ",\"servers\":[");
    for (unsigned i = 0; i < r->server_count; i++) {
        buffer_append_c_string(out, i ? ",{\"address\":" : "{\"address\":");
        append_json_text(out, r->servers[i]);
        buffer_append_c_string(out, ",\"version\":");
        append_json_text(out, r->versions[i]);
        buffer_append_char(out, '}');
    }
    buffer_append_c_string(out, "],");
    append_json_arms(r, out);
    buffer_append_char(out, ',');
    append_json_blocks(r, out);
    buffer_append_c_string(out, "}\n");
    buffer_free(&verdict);
}

void experiment_report_csv(const struct experiment_record *r, struct buffer *out) {
    buffer_append_c_string(out, "round,arm,label,set_s,begin_s,end_s");
    for (unsigned figure = 0; figure < experiment_figure_count(); figure++)
        buffer_printf(out, ",%s", experiment_figure_row(figure)->name);
    buffer_append_char(out, '\n');
    for (unsigned i = 0; i < r->block_count; i++) {
        const struct experiment_block *block = &r->blocks[i];
        buffer_printf(out, "%u,%u,\"", block->round + 1, block->arm);
        for (const char *at = r->plan->arms[block->arm].label; *at; at++) {
            if (*at == '"') buffer_append_char(out, '"');
            buffer_append_char(out, *at);
        }
        buffer_printf(out, "\",%.3f,%.3f,%.3f", block->set_s, block->begin_s, block->end_s);
        for (unsigned figure = 0; figure < experiment_figure_count(); figure++) {
            buffer_append_char(out, ',');
            if (isfinite(block->values[figure])) buffer_printf(out, "%.10g", block->values[figure]);
        }
        buffer_append_char(out, '\n');
    }
}
