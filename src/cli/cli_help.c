/* SPDX-License-Identifier: BSD-3-Clause
 * Help, hints and completions from two tables: cli_commands.h has the arguments, written by hand;
 * cli_summaries.h has the summaries, made from the server's rows.
 */
#include "cli/cli_help.h"

#include <strings.h>

#include "base/version.h"
#include "cli/cli_commands.h"
#include "cli/cli_summaries.h"

#define NAME_CHARS 64
#define WORDS_MAX 64
#define HELP_COLUMNS 79
#define GROUPS_COLUMN 17

#define SUMMARIES (sizeof(cli_summaries) / sizeof(cli_summaries[0]))

static const char general_begin[] = "redis-cli " REDIS_VERSION " (Evenkeel " EVENKEEL_VERSION
                                    ")\n"
                                    "  help COMMAND    what a command takes and does\n"
                                    "  help @GROUP     all commands of a group:\n";
static const char general_end[] =
    "  TAB             completes a command, or a topic of help\n"
    "  5 COMMAND       runs a command five times\n"
    "  :set hints      arguments are shown behind the cursor; :set nohints\n"
    "  connect HOST PORT, clear, quit\n"
    "The file ~/.redisclirc may have :set lines.\n";

/* The summary of a command; for a subcommand that of its command. */
static const struct cli_summary *summary_of(const char *name) {
    size_t length = strcspn(name, " ");
    for (size_t i = 0; i < SUMMARIES; i++) {
        const struct cli_summary *s = &cli_summaries[i];
        if (strlen(s->name) == length && !strncasecmp(s->name, name, length)) return s;
    }
    return NULL;
}

/* --- help ------------------------------------------------------------------------------------- */

static void append_upper(struct buffer *out, const char *text) {
    for (; *text; text++) {
        buffer_append_char(out, (char)toupper((unsigned char)*text));
    }
}

static void print_command(struct buffer *out, const struct cli_command *command, bool colours) {
    const struct cli_summary *summary = summary_of(command->name);
    buffer_append_c_string(out, colours ? "\n  \033[1m" : "\n  ");
    append_upper(out, command->name);
    buffer_printf(out, colours ? "\033[0m \033[90m%s\033[0m\n" : " %s\n", command->arguments);
    if (!summary) return;
    buffer_printf(out, colours ? "  \033[33msummary:\033[0m %s\n" : "  summary: %s\n",
                  summary->text);
    buffer_printf(out, colours ? "  \033[33mgroup:\033[0m %s\n" : "  group: %s\n", summary->group);
}

/* Whether the row is the first one of its group. */
static bool is_new_group(size_t row) {
    size_t earlier = 0;
    while (strcmp(cli_summaries[earlier].group, cli_summaries[row].group) != 0) earlier++;
    return earlier == row;
}

static void print_groups(struct buffer *out) {
    size_t column = GROUPS_COLUMN;
    buffer_printf(out, "%*s", GROUPS_COLUMN, "");
    for (size_t i = 0; i < SUMMARIES; i++) {
        const char *group = cli_summaries[i].group;
        if (!is_new_group(i)) continue;
        if (column + 1 + strlen(group) > HELP_COLUMNS) {
            buffer_printf(out, "\n%*s", GROUPS_COLUMN, "");
            column = GROUPS_COLUMN;
        }
        buffer_printf(out, " %s", group);
        column += 1 + strlen(group);
    }
    buffer_append_char(out, '\n');
}

static void print_general(struct buffer *out) {
    buffer_append_c_string(out, general_begin);
    print_groups(out);
    buffer_append_c_string(out, general_end);
}

/* Joins the words to one name: "client kill". */
static void join_words(char name[NAME_CHARS], const struct slice *words, size_t count) {
    size_t used = 0;
    name[0] = '\0';
    for (size_t i = 0; i < count && used < NAME_CHARS; i++) {
        used += (size_t)snprintf(name + used, NAME_CHARS - used, "%s%.*s", i ? " " : "",
                                 (int)words[i].length, words[i].bytes);
    }
}

static bool begins_with(const char *text, const char *with) {
    return !strncasecmp(text, with, strlen(with));
}

void cli_help_print(struct buffer *out, const struct slice *words, size_t count, bool colours) {
    size_t rows;
    const struct cli_command *commands = cli_commands(&rows);
    char name[NAME_CHARS];
    bool found = false;
    if (!count) {
        print_general(out);
        return;
    }
    join_words(name, words, count);
    for (size_t i = 0; i < rows; i++) {
        const struct cli_summary *summary = summary_of(commands[i].name);
        bool fits =
            name[0] == '@'
                ? summary && !strcasecmp(summary->group, name + 1) && !strchr(commands[i].name, ' ')
                : begins_with(commands[i].name, name) &&
                      (!commands[i].name[strlen(name)] || commands[i].name[strlen(name)] == ' ');
        if (fits) print_command(out, &commands[i], colours);
        found = found || fits;
    }
    buffer_append_c_string(out, found ? "\n" : "No such topic; \"help\" says what there is.\n");
}

/* --- hints ------------------------------------------------------------------------------------ */

/* Splits the line at blanks. Quotes are ordinary bytes here, because a hint need not be exact. */
static size_t split_words(struct slice line, struct slice words[WORDS_MAX]) {
    size_t count = 0, at = 0;
    while (at < line.length && count < WORDS_MAX) {
        while (at < line.length && line.bytes[at] == ' ') at++;
        size_t begin = at;
        while (at < line.length && line.bytes[at] != ' ') at++;
        if (at > begin) words[count++] = (struct slice){line.bytes + begin, at - begin};
    }
    return count;
}

/* The row with the longest name with which the words begin; `used` becomes the number of words in
 * that name. */
static const struct cli_command *find_command(const struct slice *words, size_t count,
                                              size_t *used) {
    size_t rows;
    const struct cli_command *commands = cli_commands(&rows);
    for (size_t length = count < 2 ? count : 2; length; length--) {
        char name[NAME_CHARS];
        join_words(name, words, length);
        for (size_t i = 0; i < rows; i++) {
            if (strcasecmp(commands[i].name, name) != 0) continue;
            *used = length;
            return &commands[i];
        }
    }
    return NULL;
}

/* The text after its first argument, which is a word or everything up to the closing bracket. */
static const char *skip_argument(const char *text) {
    int depth = 0;
    for (; *text && (depth || *text != ' '); text++) depth += (*text == '[') - (*text == ']');
    return text + strspn(text, " ");
}

void cli_help_hint(struct buffer *out, struct slice line) {
    struct slice words[WORDS_MAX];
    size_t used = 0, count = split_words(line, words);
    const struct cli_command *command = count ? find_command(words, count, &used) : NULL;
    if (!command) return;
    const char *rest = command->arguments;
    /* The hint keeps all arguments from the first optional one on. */
    for (size_t i = used; i < count && *rest && *rest != '['; i++) rest = skip_argument(rest);
    if (*rest && line.bytes[line.length - 1] != ' ') buffer_append_char(out, ' ');
    buffer_append_c_string(out, rest);
}

/* --- completions ------------------------------------------------------------------------------ */

struct completion {
    void (*take)(void *context, const char *whole);
    void *context;
    struct slice line;
    size_t typed; /* the length of the line's beginning that is not completed: "help " */
    bool upper;
};

static void offer_completion(const struct completion *c, const char *name) {
    char whole[NAME_CHARS * 2];
    size_t part = c->line.length - c->typed;
    if (strlen(name) < part || strncasecmp(name, c->line.bytes + c->typed, part) != 0) return;
    snprintf(whole, sizeof(whole), "%.*s%s", (int)c->typed, c->line.bytes, name);
    for (char *at = whole + c->typed; c->upper && *at; at++) {
        *at = (char)toupper((unsigned char)*at);
    }
    c->take(c->context, whole);
}

void cli_help_complete(struct slice line, void (*take)(void *context, const char *whole),
                       void *context) {
    size_t rows;
    const struct cli_command *commands = cli_commands(&rows);
    struct completion c = {take, context, line, 0, false};
    bool helps = line.length >= 5 && !strncasecmp(line.bytes, "help ", 5);
    if (helps) c.typed = 5;
    /* Completions are in capitals where the first letter of the typed word is one. */
    c.upper = line.length > c.typed && line.bytes[c.typed] >= 'A' && line.bytes[c.typed] <= 'Z';
    bool second = memchr(line.bytes + c.typed, ' ', line.length - c.typed) != NULL;
    for (size_t i = 0; i < rows; i++) {
        /* Subcommands are offered only after their command and a blank were typed. */
        if (!strchr(commands[i].name, ' ') == second) continue;
        offer_completion(&c, commands[i].name);
    }
    for (size_t i = 0; helps && !second && i < SUMMARIES; i++) {
        char topic[NAME_CHARS];
        snprintf(topic, sizeof(topic), "@%s", cli_summaries[i].group);
        if (is_new_group(i)) offer_completion(&c, topic);
    }
    if (!helps && !second) offer_completion(&c, "help");
}
