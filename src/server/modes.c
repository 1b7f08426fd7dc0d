/* SPDX-License-Identifier: BSD-3-Clause
 * The modes: a server, a Sentinel, the two checkers. mode.h says what a row is.
 *
 * The checkers are links to redis-server under other names, as 6.2 installs them. Each can also be
 * chosen by an option, because a host may have no such links. Names count before options, and
 * Sentinel's option counts wherever it stands, as in 6.2.
 */
#include "server/modes.h"

#include <stdio.h>
#include <string.h>

#include "aof/check_aof.h"
#include "base/manual.h"
#include "base/string.h"
#include "cluster/service.h"
#include "option/option.h"
#include "rdb/check_rdb.h"
#include "rdb/rdb_save.h"
#include "server/mode.h"
#include "server/sentinel.h"
#include "server/serve.h"
#include "server/startup.h"
#include "server/wiring.h"
#include "value/types.h"

/* ---- the checkers ---- */

/* The checkers decode values, so the types are registered, and rdbchecksum says whether checksums
 * count. */
static void (*const checker_registrations[])(void) = {value_register, rdb_save_register, NULL};

/* A checker's texts and its function. */
struct checker {
    struct manual manual;
    struct manual_word flag; /* may precede the path; a NULL name = there is no flag */
    const char *success;     /* what exit status 0 means */
    int (*run)(const char *path, bool flagged);
};

/* Prints the usage. Before the checker's own words stands the path of the program, or, where an
 * option chose the checker, the last part of that path and the option. */
static void checker_print_usage(const struct mode *mode, int argc, char **argv, const char *words) {
    const char *slash = strrchr(argv[0], '/');
    if (mode_is_called(mode, argc, argv))
        fprintf(stderr, "Usage: %s %s\n", argv[0], words);
    else
        fprintf(stderr, "Usage: %s %s %s\n", slash ? slash + 1 : argv[0], mode->option, words);
}

static void print_manual(const struct checker *checker) {
    struct buffer page;
    buffer_init(&page, MEMORY_OTHER);
    manual_begin(&page, &checker->manual);
    if (checker->flag.name) {
        manual_heading(&page, "Command line");
        manual_word(&page, &checker->flag);
    }
    manual_heading(&page, "Exit status");
    manual_word(&page, &(struct manual_word){"0", .help = checker->success});
    manual_word(&page,
                &(struct manual_word){"1", .help = "The file is damaged, or cannot be read."});
    manual_end(&page, &checker->manual);
    fwrite(page.bytes, 1, page.length, stdout);
    buffer_free(&page);
}

static int checker_run(const struct mode *mode, int argc, char **argv,
                       const struct checker *checker) {
    int first = mode_is_called(mode, argc, argv) ? 1 : 2, status = 0;
    const char *flag = checker->flag.name;
    bool flagged = flag && argc == first + 2 && strcmp(argv[first], flag) == 0;
    if (argc != first + 1 + flagged) {
        checker_print_usage(mode, argc, argv, checker->manual.synopsis);
        return 1;
    }
    if (strcmp(argv[first], "--describe-man") == 0)
        print_manual(checker);
    else
        status = checker->run(argv[first + flagged], flagged);
    return fflush(stdout) || ferror(stdout) ? 1 : status;
}

static int check_snapshot(const char *path, bool flagged) { return check_rdb(path); }

static const struct checker checker_rdb = {
    .manual = {.program = "redis-check-rdb",
               .summary = "Says whether a snapshot is sound, and where it is damaged. It reads and "
                          "decodes the whole file, and changes nothing. It is redis-server under "
                          "another name: redis-server --check-rdb does the same.",
               .synopsis = "<rdb-file-name>",
               .maker = "redis-server --check-rdb --describe-man"},
    .success = "The file is sound.",
    .run = check_snapshot};

static const struct checker checker_aof = {
    .manual = {.program = "redis-check-aof",
               .summary =
                   "Says whether an append only file is sound, and up to which place. It reads the "
                   "whole file, including a snapshot that the file begins with. It is redis-server "
                   "under another name: redis-server --check-aof does the same.",
               .synopsis = "[--fix] <file.aof>",
               .maker = "redis-server --check-aof --describe-man"},
    .flag = {"--fix", .help = "Cut the file behind its last whole command, after asking. The rest "
                              "is lost: keep a copy."},
    .success = "The file is sound, or --fix has made it so.",
    .run = check_aof};

static int run_check_rdb(const struct mode *mode, int argc, char **argv) {
    return checker_run(mode, argc, argv, &checker_rdb);
}

static int run_check_aof(const struct mode *mode, int argc, char **argv) {
    return checker_run(mode, argc, argv, &checker_aof);
}

static const struct mode mode_check_rdb = {.program = "redis-check-rdb",
                                           .option = "--check-rdb",
                                           .option_is_first = true,
                                           .registrations = checker_registrations,
                                           .run = run_check_rdb};

static const struct mode mode_check_aof = {.program = "redis-check-aof",
                                           .option = "--check-aof",
                                           .option_is_first = true,
                                           .registrations = checker_registrations,
                                           .run = run_check_aof};

/* ---- the server ---- */

/* Plain INFO shows all but Commandstats, as 6.2, and Latencystats, a section that 6.2 does not
 * have. */
static const struct mode_section sections[] = {
    {"Server", true},        {"Clients", true},     {"Memory", true},  {"Persistence", true},
    {"Stats", true},         {"Replication", true}, {"CPU", true},     {"Modules", true},
    {"Commandstats", false}, {"Errorstats", true},  {"Cluster", true}, {"Keyspace", true},
    {"Latencystats", false}, {NULL, false}};

static const char *const server_examples[] = {
    "redis-server --port 7000 --maxclients 500",
    "redis-server /etc/redis/redis.conf --loglevel verbose", "echo 'port 7000' | redis-server -",
    NULL};

static const struct manual server_manual = {
    .program = "redis-server",
    .summary =
        "Keeps data in memory and serves it by the protocol of Redis 6.2. The configuration is "
        "read from a file, from standard input and from the command line, in this order; the last "
        "value of an option counts.",
    .synopsis = "[file] [--option word ...] ... [-]",
    .maker = "redis-server --describe-man",
    .examples = server_examples};

static const struct option_scope server_scope = {
    .example_head =
        "# Configuration of Evenkeel. Every option stands here at its default: to change\n"
        "# one, take the # away and write the value. redis-server redis.conf starts with it.\n"
        "#\n"
        "# A line is a name and its words. Words with blanks go in \"double quotes\", in\n"
        "# which \\n, \\\", \\\\ and \\xFF have their usual meaning. Bytes may be written as "
        "100kb,\n"
        "# 64mb or 2gb (powers of 1024) and 100k, 64m or 2g (powers of 1000). Of an option\n"
        "# given twice the last counts. The command line comes after the file:\n"
        "# redis-server redis.conf --port 7000\n"
        "#\n"
        "# Made by: redis-server --describe-config-example\n\n",
    .reference_head =
        "# Options\n\n"
        "Made by `redis-server --describe-options`. `CONFIG SET` changes those marked yes while\n"
        "the server runs; bytes may be written with kb, mb and gb.\n"};

/* 6.2 marks lines with C before the configuration counts. */
const struct mode mode_server = {.name = "standalone",
                                 .product = "Redis",
                                 .title = "",
                                 .is_node = cluster_is_enabled,
                                 .port = "6379",
                                 .is_protected = true,
                                 .log_role_at_start = 'C',
                                 .log_role = 'M',
                                 .sections = sections,
                                 .has_other_sections = true,
                                 .manual = &server_manual,
                                 .words = startup_server_words,
                                 .scope = &server_scope,
                                 .registrations = wiring_registrations,
                                 .openings = wiring_openings,
                                 .run = serve,
                                 .configured = cluster_service_configured,
                                 .listening = startup_announce_loading,
                                 .load = serve_load,
                                 .loaded = serve_loaded,
                                 .stop = serve_stop,
                                 .finish = serve_finish};

const struct mode *const mode_table[] = {&mode_check_rdb, &mode_check_aof, &mode_sentinel,
                                         &mode_server, NULL};
