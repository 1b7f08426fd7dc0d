/* SPDX-License-Identifier: BSD-3-Clause
 * The command line of redis-cli.
 */
#ifndef EVENKEEL_CLI_CLI_OPTIONS_H
#define EVENKEEL_CLI_CLI_OPTIONS_H
#include <stdbool.h>
#include <stdint.h>

#include "clusterctl/ctl_options.h"
#include "tools/tool_connection.h"

enum cli_mode {
    CLI_COMMAND, /* the words after the options, or lines of standard input */
    CLI_STAT,
    CLI_LATENCY,
    CLI_LATENCY_HISTORY,
    CLI_LATENCY_DIST,
    CLI_INTRINSIC_LATENCY,
    CLI_LRU_TEST,
    CLI_SCAN,
    CLI_BIGKEYS,
    CLI_MEMKEYS,
    CLI_HOTKEYS,
    CLI_RDB,
    CLI_REPLICA,
    CLI_PIPE,
    CLI_EVAL,
    CLI_CLUSTER,
    CLI_HELP,
    CLI_VERSION,
};
enum cli_output { CLI_FORMATTED, CLI_RAW, CLI_CSV };

struct cli_options {
    struct tool_connection connection;
    int mode;           /* enum cli_mode */
    int output;         /* enum cli_output */
    bool output_chosen; /* --raw, --no-raw or --csv */
    bool output_is_terminal, input_is_terminal;
    const char *delimiter, *reply_delimiter;
    int64_t repeat; /* -1 = forever */
    double interval_sec;
    bool interval_chosen;
    bool resp3, last_from_input, follow, exit_by_error, quoted_input;
    bool show_pushes;
    bool ask_password, no_auth_warning, password_on_line;
    const char *file; /* of --rdb ("-" = standard output) and --eval */
    const char *pattern, *quoted_pattern;
    int64_t pipe_timeout_sec; /* 0 = for ever */
    int64_t samples;          /* of --memkeys; 0 = the server's choice */
    int64_t keys;             /* of --lru-test */
    int64_t seconds;          /* of --intrinsic-latency */
    bool debug_script, debug_synchronously;
    bool verbose;
    struct ctl_options cluster;
};

extern const struct tool_options cli_option_table;

/* Sets the defaults, parses the options and returns the number of words that they are; -1 with a
 * reason. Fields that depend on the terminal and the environment are set, too. */
MUST_USE int cli_options_read(struct cli_options *o, int count, char *const *words,
                              char reason[TOOL_REASON_CHARS]);
#endif
