/* SPDX-License-Identifier: BSD-3-Clause
 * redis-cli: sends commands to a server, and has modes that observe a server.
 */
#include <errno.h>

#include "base/memory.h"
#include "base/random.h"
#include "base/system.h"
#include "base/version.h"
#include "cli/cli_copy.h"
#include "cli/cli_eval.h"
#include "cli/cli_keys.h"
#include "cli/cli_latency.h"
#include "cli/cli_lines.h"
#include "cli/cli_link.h"
#include "cli/cli_load.h"
#include "cli/cli_options.h"
#include "cli/cli_pipe.h"
#include "cli/cli_run.h"
#include "cli/cli_stat.h"
#include "cli/cli_words.h"
#include "clusterctl/ctl.h"
#include "tools/tool_password.h"

static struct cli_options options;

/* --- the password ----------------------------------------------------------------------------- */

static bool settle_password(void) {
    if (options.ask_password) {
        options.password_on_line = false;
        char *password = tool_password_ask("Please input password: ");
        if (password) options.connection.password = password;
        if (password) return true;
        fprintf(stderr, "redis-cli: no password was given\n");
        return false;
    }
    if (options.password_on_line && !options.no_auth_warning) {
        fputs(
            "Warning: Using a password with '-a' or '-u' option on the command line interface "
            "may not be safe.\n",
            stderr);
    }
    return true;
}

/* --- one command ------------------------------------------------------------------------------ */

/* Collects a command's words from the arguments and, with -x, from standard input. False with a
 * message. */
static bool gather_words(struct cli_words *words, int count, char **arguments) {
    if (!cli_words_take_arguments(words, count, arguments, options.quoted_input)) {
        printf("Invalid quoted string\n");
        return false;
    }
    if (options.last_from_input && !cli_words_take_input(words)) {
        fprintf(stderr, "Standard input cannot be read: %s\n", strerror(errno));
        return false;
    }
    return true;
}

static int run_words(int count, char **arguments) {
    struct cli_words words;
    int status = 1;
    cli_words_init(&words);
    bool good = gather_words(&words, count, arguments);
    if (good && cli_lines_show_help(words.words, words.count)) {
        status = 0;
    } else if (good && cli_run_connect() && cli_link_is_greeted()) {
        enum cli_outcome outcome = cli_run(words.words, words.count, options.repeat);
        status = outcome == CLI_LOST || (outcome == CLI_REFUSED && options.exit_by_error);
    }
    cli_words_free(&words);
    return status;
}

static int print_help(const struct cli_options *o) {
    tool_options_print_help(&cli_option_table, stdout);
    return 0;
}

static int print_version(const struct cli_options *o) {
    return printf("redis-cli %s (Evenkeel %s)\n", REDIS_VERSION, EVENKEEL_VERSION) < 0;
}

static int run_cluster(const struct cli_options *o) { return ctl_run(&o->cluster, &o->connection); }

struct mode {
    int (*run)(const struct cli_options *o);
    bool offline;   /* needs no server */
    bool has_links; /* connects by itself, to any number of servers */
};
static const struct mode modes[] = {
    [CLI_STAT] = {cli_stat_run},
    [CLI_LATENCY] = {cli_latency_run},
    [CLI_LATENCY_HISTORY] = {cli_latency_run},
    [CLI_LATENCY_DIST] = {cli_latency_dist_run},
    [CLI_INTRINSIC_LATENCY] = {cli_latency_intrinsic_run, true},
    [CLI_LRU_TEST] = {cli_load_lru_run},
    [CLI_SCAN] = {cli_keys_scan_run},
    [CLI_BIGKEYS] = {cli_keys_big_run},
    [CLI_MEMKEYS] = {cli_keys_big_run},
    [CLI_HOTKEYS] = {cli_keys_hot_run},
    [CLI_RDB] = {cli_copy_rdb_run},
    [CLI_REPLICA] = {cli_copy_replica_run},
    [CLI_PIPE] = {cli_pipe_run},
    [CLI_CLUSTER] = {run_cluster, .has_links = true},
    [CLI_HELP] = {print_help, true},
    [CLI_VERSION] = {print_version, true},
};

static int run_program(int count, char **arguments) {
    if (modes[options.mode].has_links) return modes[options.mode].run(&options);
    if (options.mode == CLI_EVAL) {
        int status = cli_eval_run(&options, count, arguments);
        bool stays = options.debug_script || options.debug_synchronously;
        return stays && !status && options.input_is_terminal ? cli_lines_run(&options) : status;
    }
    if (options.mode != CLI_COMMAND) {
        if (!cli_run_connect() || !cli_link_is_greeted()) return 1;
        return modes[options.mode].run(&options);
    }
    if (count) return run_words(count, arguments);
    return cli_lines_run(&options);
}

int main(int argc, char **argv) {
    char reason[TOOL_REASON_CHARS];
    uint64_t seed;
    if (tool_options_describe(&cli_option_table, argc, argv)) return 0;
    int used = cli_options_read(&options, argc - 1, argv + 1, reason);
    if (used < 0) {
        fprintf(stderr, "redis-cli: %s\nSee redis-cli --help.\n", reason);
        return 1;
    }
    if (modes[options.mode].offline) {
        return modes[options.mode].run(&options);
    }
    if (!settle_password()) return 1;
    if (!peer_tls_open(&options.connection.tls, reason, sizeof(reason))) {
        fprintf(stderr, "redis-cli: TLS: %s\n", reason);
        return 1;
    }
    random_secret(&seed, sizeof(seed));
    random_seed(seed);
    cli_link_init(&options.connection, options.resp3, options.verbose, cli_run_show_push);
    cli_run_init(&options);
    int status = run_program(argc - 1 - used, argv + 1 + used);
    return fflush(stdout) != 0 || ferror(stdout) ? 1 : status;
}
