/* SPDX-License-Identifier: BSD-3-Clause
 * Option tables: parsing a command line by their rows, and printing the rows.
 *
 * Invariants
 *  1. The reason for which a value is refused names the option, so that the tool can print the
 *     reason unchanged.
 *  2. Help is at most HELP_COLUMNS wide; an option's name that is too long for its column has a
 *     line of its own.
 */
#include "tools/tool_options.h"

#include <inttypes.h>

#include "base/manual.h"
#include "base/number.h"
#include "base/panic.h"
#include "base/string.h"

#define HELP_COLUMNS 79
#define NAMES_COLUMNS 26
#define NAMES_CHARS 128

static const struct tool_option *find_row(const struct tool_options *options, const char *word) {
    for (size_t i = 0; i < options->count; i++) {
        const struct tool_option *row = &options->rows[i];
        if (!strcmp(row->name, word) || (row->other && !strcmp(row->other, word))) return row;
    }
    return NULL;
}

static bool take_number(const struct tool_option *row, char *base, const char *word,
                        const char *value, char *reason) {
    int64_t number;
    ASSERT(value); /* a row with a number names its argument */
    if (number_parse_int64(value, strlen(value), &number) && number >= row->least &&
        number <= row->most) {
        *(int64_t *)(base + row->number - 1) = number;
        return true;
    }
    int used =
        snprintf(reason, TOOL_REASON_CHARS, "%s wants a number from %" PRId64, word, row->least);
    if (row->most != INT64_MAX) {
        snprintf(reason + used, TOOL_REASON_CHARS - (size_t)used, " to %" PRId64, row->most);
    }
    return false;
}

static bool take_real(const struct tool_option *row, char *base, const char *word,
                      const char *value, char *reason) {
    double real;
    ASSERT(value);
    if (number_parse_double(value, strlen(value), &real) && real >= (double)row->least &&
        real <= (double)row->most) {
        *(double *)(base + row->real - 1) = real;
        return true;
    }
    snprintf(reason, TOOL_REASON_CHARS,
             "%s wants a number from %" PRId64 " to %" PRId64 ", with decimals or without", word,
             row->least, row->most);
    return false;
}

static bool take_option(const struct tool_option *row, void *settings, const char *word,
                        const char *value, char *reason) {
    char *base = settings;
    if (row->number && !take_number(row, base, word, value, reason)) return false;
    if (row->real && !take_real(row, base, word, value, reason)) return false;
    if (row->flag) *(bool *)(base + row->flag - 1) = true;
    if (row->choice) *(int *)(base + row->choice - 1) = row->value;
    if (row->text) *(const char **)(base + row->text - 1) = value;
    return !row->take || row->take(settings, value, reason, TOOL_REASON_CHARS);
}

/* Gives the words from `at` on to the option. Returns the place behind them; -1 with a reason. */
static int take_words(const struct tool_option *row, void *settings, int count, char *const *words,
                      int at, char *reason) {
    struct tool_words *place = (struct tool_words *)((char *)settings + row->words - 1);
    if (place->count) {
        snprintf(reason, TOOL_REASON_CHARS, "%s is given twice", row->name);
        return -1;
    }
    place->words = words + at;
    while (at < count && words[at][0] != '-') at++;
    place->count = (int)(words + at - place->words);
    if (place->count) return at;
    snprintf(reason, TOOL_REASON_CHARS, "%s wants a value: <%s>", row->name, row->argument);
    return -1;
}

int tool_options_read(const struct tool_options *options, void *settings, int count,
                      char *const *words, char reason[TOOL_REASON_CHARS]) {
    reason[0] = '\0';
    int at = 0;
    while (at < count && words[at][0] == '-' && words[at][1]) {
        const char *word = words[at++], *value = NULL;
        if (!strcmp(word, "--")) break;
        const struct tool_option *row = find_row(options, word);
        if (!row) {
            snprintf(reason, TOOL_REASON_CHARS, "unknown option %s", word);
            return -1;
        }
        if (row->words) {
            at = take_words(row, settings, count, words, at, reason);
            if (at < 0) return -1;
        } else if (row->argument) {
            if (at == count) {
                snprintf(reason, TOOL_REASON_CHARS, "%s wants a value: <%s>", word, row->argument);
                return -1;
            }
            value = words[at++];
        }
        if (!take_option(row, settings, word, value, reason)) return -1;
    }
    return at;
}

bool tool_options_read_with_file(const struct tool_options *options, void *settings, int count,
                                 char *const *words, const char **file,
                                 char reason[TOOL_REASON_CHARS]) {
    int first = count > 0 && words[0][0] != '-';
    int taken = tool_options_read(options, settings, count - first, words + first, reason);
    if (taken < 0) return false;
    taken += first;
    *file = first ? words[0] : NULL;
    if (!first && taken < count) *file = words[taken++];
    if (taken == count) return true;
    snprintf(reason, TOOL_REASON_CHARS, "%.100s is no option", words[taken]);
    return false;
}

/* --- help ------------------------------------------------------------------------------------- */

static void format_names(const struct tool_option *row, char out[NAMES_CHARS]) {
    snprintf(out, NAMES_CHARS, "%s%s%s%s%s%s", row->name, row->other ? ", " : "",
             row->other ? row->other : "", row->argument ? " <" : "",
             row->argument ? row->argument : "", row->argument ? ">" : "");
}

/* Prints the words of `text`, the first at column `column`; each further line begins at `margin`.
 */
static void print_wrapped(FILE *out, const char *text, size_t column, size_t margin) {
    while (*text) {
        size_t word = strcspn(text, " ");
        if (column > margin && column + 1 + word > HELP_COLUMNS) {
            fprintf(out, "\n%*s", (int)margin, "");
            column = margin;
        } else if (column > margin) {
            fputc(' ', out);
            column++;
        }
        fwrite(text, 1, word, out);
        column += word;
        text += word;
        text += strspn(text, " ");
    }
    fputc('\n', out);
}

static void print_row(FILE *out, const struct tool_option *row) {
    char names[NAMES_CHARS];
    format_names(row, names);
    size_t length = strlen(names);
    if (length + 3 > NAMES_COLUMNS) {
        fprintf(out, "  %s\n%*s", names, NAMES_COLUMNS, "");
    } else {
        fprintf(out, "  %-*s", NAMES_COLUMNS - 2, names);
    }
    print_wrapped(out, row->help, NAMES_COLUMNS, NAMES_COLUMNS);
}

void tool_options_print_help(const struct tool_options *options, FILE *out) {
    fprintf(out, "Usage: %s %s\n\n", options->program, options->synopsis);
    print_wrapped(out, options->summary, 0, 0);
    const char *group = "";
    for (size_t i = 0; i < options->count; i++) {
        const struct tool_option *row = &options->rows[i];
        if (strcmp(group, row->group) != 0) fprintf(out, "\n%s:\n", row->group);
        group = row->group;
        print_row(out, row);
    }
    if (!options->examples) return;
    fputs("\nExamples:\n", out);
    for (const char *const *line = options->examples; *line; line++) fprintf(out, "  %s\n", *line);
}

/* --- the manual page, and the shell ----------------------------------------------------------- */

static void print_man(const struct tool_options *options) {
    struct buffer maker, page;
    buffer_init(&maker, MEMORY_OTHER);
    buffer_init(&page, MEMORY_OTHER);
    buffer_printf(&maker, "%s --describe-man", options->program);
    const struct manual manual = {.program = options->program,
                                  .summary = options->summary,
                                  .synopsis = options->synopsis,
                                  .maker = maker.bytes,
                                  .examples = options->examples};
    manual_begin(&page, &manual);
    const char *group = "";
    for (size_t i = 0; i < options->count; i++) {
        const struct tool_option *row = &options->rows[i];
        if (strcmp(group, row->group) != 0) manual_heading(&page, row->group);
        group = row->group;
        manual_word(&page, &(struct manual_word){row->name, row->other, row->argument, row->help});
    }
    manual_end(&page, &manual);
    fwrite(page.bytes, 1, page.length, stdout);
    buffer_free(&page);
    buffer_free(&maker);
}

/* Prints what bash offers as an option's value: files, folders or hosts that bash completes itself,
 * or the words of `completes`. */
static void print_completion_row(const struct tool_option *row) {
    const char *offers = row->completes ? row->completes : "";
    if (!row->argument) return;
    printf("    %s%s%s) ", row->name, row->other ? "|" : "", row->other ? row->other : "");
    if (!strcmp(offers, "file")) {
        fputs("COMPREPLY=($(compgen -f -- \"$word\"))", stdout);
    } else if (!strcmp(offers, "folder")) {
        fputs("COMPREPLY=($(compgen -d -- \"$word\"))", stdout);
    } else if (!strcmp(offers, "host")) {
        fputs("COMPREPLY=($(compgen -A hostname -- \"$word\"))", stdout);
    } else {
        printf("COMPREPLY=($(compgen -W '%s' -- \"$word\"))", offers);
    }
    fputs("; return ;;\n", stdout);
}

static void print_completion(const struct tool_options *options) {
    const char *program = options->program;
    printf(
        "# SPDX-License-Identifier: BSD-3-Clause\n"
        "# Made from the program's own table: %s --describe-completion\n"
        "_evenkeel_%.*s_%s() {\n"
        "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
        "    COMPREPLY=()\n    case $before in\n",
        program, (int)strcspn(program, "-"), program, program + strcspn(program, "-") + 1);
    for (size_t i = 0; i < options->count; i++) print_completion_row(&options->rows[i]);
    fputs("    esac\n    case $word in\n    -*) COMPREPLY=($(compgen -W '", stdout);
    for (size_t i = 0; i < options->count; i++) {
        const struct tool_option *row = &options->rows[i];
        printf("%s%s%s%s", i ? " " : "", row->name, row->other ? " " : "",
               row->other ? row->other : "");
    }
    printf("' -- \"$word\")) ;;\n    esac\n}\ncomplete -F _evenkeel_%.*s_%s %s\n",
           (int)strcspn(program, "-"), program, program + strcspn(program, "-") + 1, program);
}

bool tool_options_describe(const struct tool_options *options, int argc, char *const *argv) {
    bool man = argc == 2 && !strcmp(argv[1], "--describe-man");
    bool completion = argc == 2 && !strcmp(argv[1], "--describe-completion");
    if (man) print_man(options);
    if (completion) print_completion(options);
    return man || completion;
}
