/* SPDX-License-Identifier: BSD-3-Clause
 * redis-cli's options as rows, and their defaults.
 */
#include "cli/cli_options.h"

#include "base/memory.h"
#include "base/string.h"

#define PLACE(field) TOOL_PLACE(struct cli_options, field)
#define INTERVAL_SEC_MOST 86400

static bool take_uri(void *settings, const char *value, char *reason, size_t reason_size) {
    struct cli_options *o = settings;
    if (!tool_connection_take_uri(&o->connection, value, reason, reason_size)) return false;
    o->password_on_line = o->password_on_line || strchr(value, '@');
    return true;
}

static bool take_pushes(void *settings, const char *value, char *reason, size_t reason_size) {
    struct cli_options *o = settings;
    o->show_pushes = !strcasecmp(value, "yes") || !strcasecmp(value, "y");
    if (o->show_pushes || !strcasecmp(value, "no") || !strcasecmp(value, "n")) return true;
    snprintf(reason, reason_size, "--show-pushes wants yes or no");
    return false;
}

static bool take_quoted_pattern(void *settings, const char *value, char *reason,
                                size_t reason_size) {
    struct cli_options *o = settings;
    struct buffer storage = {.class = MEMORY_OTHER};
    struct slice *words;
    bool quoted = *value == '"' || *value == '\'';
    o->pattern = value;
    if (!quoted) return true;
    int count = string_split_words(slice_of(value), &storage, &words);
    bool good = count == 1 && strlen(words[0].bytes) == words[0].length;
    if (good) o->pattern = slice_dup_c_string(words[0], MEMORY_OTHER);
    if (!good) {
        snprintf(reason, reason_size, "Invalid quoted string specified for --quoted-pattern.");
    }
    if (count >= 0) memory_free(words, MEMORY_OTHER);
    buffer_free(&storage);
    return good;
}

static const struct tool_option rows[] = {
    TOOL_CONNECTION_ROWS(struct cli_options, connection, take_uri),
    {.name = "--askpass",
     .help = "Ask for the password, without showing it.",
     .group = "Connection",
     .flag = PLACE(ask_password)},
    {.name = "--no-auth-warning",
     .help = "Say nothing of a password on the command line.",
     .group = "Connection",
     .flag = PLACE(no_auth_warning)},
    {.name = "-n",
     .argument = "db",
     .help = "Number of the database (0).",
     .group = "Connection",
     .number = PLACE(connection.database),
     .least = 0,
     .most = INT32_MAX},
    {.name = "-3", .help = "Speak RESP3.", .group = "Connection", .flag = PLACE(resp3)},
    {.name = "-c",
     .help = "Follow -MOVED and -ASK of a cluster.",
     .group = "Connection",
     .flag = PLACE(follow)},
    TOOL_TLS_ROWS(struct cli_options, connection),
    {.name = "-r",
     .argument = "times",
     .help = "Run the command so often; -1: for ever.",
     .group = "Commands",
     .number = PLACE(repeat),
     .least = -1,
     .most = INT64_MAX},
    {.name = "-i",
     .argument = "seconds",
     .help = "Wait so long between two runs of -r, samples or pages; 0.1 will do.",
     .group = "Commands",
     .real = PLACE(interval_sec),
     .least = 0,
     .most = INTERVAL_SEC_MOST,
     .flag = PLACE(interval_chosen)},
    {.name = "-x",
     .help = "Standard input is the last argument.",
     .group = "Commands",
     .flag = PLACE(last_from_input)},
    {.name = "--quoted-input",
     .help = "Arguments may be quoted: '\"\\x00\"' is a byte.",
     .group = "Commands",
     .flag = PLACE(quoted_input)},
    {.name = "-e",
     .help = "Exit status 1 where the server answers with an error.",
     .group = "Commands",
     .flag = PLACE(exit_by_error)},
    {.name = "--eval",
     .argument = "file",
     .help = "Run the Lua script in a file: --eval file key key , argument argument",
     .group = "Commands",
     .text = PLACE(file),
     .choice = PLACE(mode),
     .value = CLI_EVAL,
     .completes = "file"},
    {.name = "--ldb",
     .help = "With --eval: debug it; its changes are undone.",
     .group = "Commands",
     .flag = PLACE(debug_script)},
    {.name = "--ldb-sync-mode",
     .help = "With --eval: debug it while the server stands still; changes stay.",
     .group = "Commands",
     .flag = PLACE(debug_synchronously)},
    {.name = "--raw",
     .help = "Replies as they are; the default where the output is no terminal.",
     .group = "Output",
     .flag = PLACE(output_chosen),
     .choice = PLACE(output),
     .value = CLI_RAW},
    {.name = "--no-raw",
     .help = "Replies with their types; the default on a terminal.",
     .group = "Output",
     .flag = PLACE(output_chosen),
     .choice = PLACE(output),
     .value = CLI_FORMATTED},
    {.name = "--csv",
     .help = "Replies as comma-separated values.",
     .group = "Output",
     .flag = PLACE(output_chosen),
     .choice = PLACE(output),
     .value = CLI_CSV},
    {.name = "-d",
     .argument = "text",
     .help = "Between elements of a raw reply (a line end).",
     .group = "Output",
     .text = PLACE(delimiter)},
    {.name = "-D",
     .argument = "text",
     .help = "Behind each raw reply (a line end).",
     .group = "Output",
     .text = PLACE(reply_delimiter)},
    {.name = "--show-pushes",
     .argument = "yes|no",
     .help = "Show what the server sends unasked by RESP3; the default on a terminal.",
     .group = "Output",
     .take = take_pushes,
     .completes = "yes no"},
    {.name = "--verbose",
     .help = "Say on standard error which server was reached, and how.",
     .group = "Output",
     .flag = PLACE(verbose)},
    {.name = "--stat",
     .help = "A line of figures each second, or each -i seconds.",
     .group = "Watching",
     .choice = PLACE(mode),
     .value = CLI_STAT},
    {.name = "--latency",
     .help = "How long a PING takes, for ever; not on a terminal: one line after a second, or -i "
             "seconds.",
     .group = "Watching",
     .choice = PLACE(mode),
     .value = CLI_LATENCY},
    {.name = "--latency-history",
     .help = "How long a PING takes, a line for each 15 seconds, or -i seconds.",
     .group = "Watching",
     .choice = PLACE(mode),
     .value = CLI_LATENCY_HISTORY},
    {.name = "--latency-dist",
     .help = "How long PINGs take, a band of colours each second; wants 256 colours.",
     .group = "Watching",
     .choice = PLACE(mode),
     .value = CLI_LATENCY_DIST},
    {.name = "--intrinsic-latency",
     .argument = "seconds",
     .help = "How long this machine keeps a busy program waiting; needs no server.",
     .group = "Watching",
     .choice = PLACE(mode),
     .value = CLI_INTRINSIC_LATENCY,
     .number = PLACE(seconds),
     .least = 1,
     .most = INT32_MAX},
    {.name = "--lru-test",
     .argument = "keys",
     .help = "Use the server as a cache, a fifth of the keys four times of five. Writes keys!",
     .group = "Watching",
     .choice = PLACE(mode),
     .value = CLI_LRU_TEST,
     .number = PLACE(keys),
     .least = 1,
     .most = INT64_MAX},
    {.name = "--scan",
     .help = "All keys, by SCAN.",
     .group = "Keys",
     .choice = PLACE(mode),
     .value = CLI_SCAN},
    {.name = "--pattern",
     .argument = "pattern",
     .help = "Only keys that fit: for --scan, --bigkeys, --memkeys and --hotkeys.",
     .group = "Keys",
     .text = PLACE(pattern)},
    {.name = "--quoted-pattern",
     .argument = "pattern",
     .help = "A pattern as --pattern takes it, that may be quoted.",
     .group = "Keys",
     .text = PLACE(quoted_pattern),
     .take = take_quoted_pattern},
    {.name = "--bigkeys",
     .help = "The keys with the most elements, of each type.",
     .group = "Keys",
     .choice = PLACE(mode),
     .value = CLI_BIGKEYS},
    {.name = "--memkeys",
     .help = "The keys that take the most memory, of each type.",
     .group = "Keys",
     .choice = PLACE(mode),
     .value = CLI_MEMKEYS},
    {.name = "--memkeys-samples",
     .argument = "elements",
     .help = "As --memkeys, looking at so many elements of each key.",
     .group = "Keys",
     .choice = PLACE(mode),
     .value = CLI_MEMKEYS,
     .number = PLACE(samples),
     .least = 0,
     .most = INT64_MAX},
    {.name = "--hotkeys",
     .help = "The keys that are used most; wants an LFU maxmemory-policy.",
     .group = "Keys",
     .choice = PLACE(mode),
     .value = CLI_HOTKEYS},
    {.name = "--pipe",
     .help = "Send standard input, which is requests as the protocol has them.",
     .group = "Bulk",
     .choice = PLACE(mode),
     .value = CLI_PIPE},
    {.name = "--pipe-timeout",
     .argument = "seconds",
     .help = "Give up so long after the last reply (30); 0: never.",
     .group = "Bulk",
     .number = PLACE(pipe_timeout_sec),
     .least = 0,
     .most = INT32_MAX},
    {.name = "--rdb",
     .argument = "file",
     .help = "Fetch a snapshot into a file; -: to standard output.",
     .group = "Bulk",
     .choice = PLACE(mode),
     .value = CLI_RDB,
     .text = PLACE(file),
     .completes = "file"},
    {.name = "--replica",
     .other = "--slave",
     .help = "Show what a replica is sent.",
     .group = "Bulk",
     .choice = PLACE(mode),
     .value = CLI_REPLICA},
    {.name = "--cluster",
     .argument = "command ...",
     .help = "Make, check, repair and grow a cluster: see --cluster help.",
     .group = CTL_GROUP,
     .choice = PLACE(mode),
     .value = CLI_CLUSTER,
     .words = PLACE(cluster.command),
     .completes = CTL_COMMAND_NAMES},
    CTL_OPTION_ROWS(struct cli_options, cluster),
    {.name = "--help",
     .help = "Print this.",
     .group = "Other",
     .choice = PLACE(mode),
     .value = CLI_HELP},
    {.name = "--version",
     .other = "-v",
     .help = "Print the version.",
     .group = "Other",
     .choice = PLACE(mode),
     .value = CLI_VERSION},
};

static const char *const examples[] = {
    "redis-cli set greeting 'hello there'",
    "redis-cli -x set document < document.pdf",
    "redis-cli -r -1 -i 5 dbsize",
    "redis-cli --scan --pattern 'session:*' | wc -l",
    "redis-cli --eval take.lua stock:apples , 3",
    "redis-cli --cluster create 10.0.0.1:6379 10.0.0.2:6379 10.0.0.3:6379",
    NULL,
};

const struct tool_options cli_option_table = {
    .program = "redis-cli",
    .summary =
        "Sends a command to a Redis server and prints its reply. Without a command it reads "
        "them line by line: from the keyboard with editing, history, hints and help, or "
        "from what standard input is.",
    .synopsis = "[option ...] [command [argument ...]]",
    .rows = rows,
    .count = sizeof(rows) / sizeof(rows[0]),
    .examples = examples,
};

int cli_options_read(struct cli_options *o, int count, char *const *words,
                     char reason[TOOL_REASON_CHARS]) {
    *o = (struct cli_options){.delimiter = "\n",
                              .reply_delimiter = "\n",
                              .repeat = 1,
                              .pipe_timeout_sec = 30,
                              .cluster = CTL_OPTIONS_DEFAULT};
    tool_connection_init(&o->connection);
    const char *from_environment = o->connection.password;
    o->output_is_terminal = isatty(STDOUT_FILENO) || getenv("FAKETTY");
    o->input_is_terminal = isatty(STDIN_FILENO);
    o->show_pushes = o->output_is_terminal;
    /* -h alone asks for help, as people expect. */
    if (count == 1 && !strcmp(words[0], "-h")) {
        o->mode = CLI_HELP;
        return 1;
    }
    int used = tool_options_read(&cli_option_table, o, count, words, reason);
    if (!o->output_chosen) o->output = o->output_is_terminal ? CLI_FORMATTED : CLI_RAW;
    if (o->connection.password != from_environment) o->password_on_line = true;
    return used;
}
