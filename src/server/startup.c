/* SPDX-License-Identifier: BSD-3-Clause
 * Starting.
 *
 * The command line has the form of Redis 6.2:
 *
 *     redis-server [file] [--option word...]... [-]
 *
 * The file is read first, then standard input (a "-" in the first or the last place), then the
 * options, which are converted to lines of configuration. The last value of an option counts. A
 * fault in any of them ends the process before anything is open.
 *
 * The path of the file is made absolute before it is read, because the option `dir` changes the
 * working directory.
 */
#include "server/startup.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <syslog.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/manual.h"
#include "base/memory.h"
#include "base/string.h"
#include "base/version.h"
#include "command/command.h"
#include "io/affinity.h"
#include "io/file.h"
#include "metric/exposition.h"
#include "metric/metric.h"
#include "net/listen.h"
#include "option/option.h"
#include "process/build_id.h"
#include "process/host.h"
#include "process/memory_test.h"
#include "process/oom_score.h"
#include "process/supervise.h"
#include "server/describe.h"
#include "server/mode.h"

/* Where a daemon writes its pid unless told otherwise: as 6.2. */
#define DAEMON_PIDFILE "/var/run/redis.pid"

static bool daemonize, show_logo, syslog_enabled, background_purge;
static bool begun; /* the daemon has forked: threads may be created */
static int log_level_option, syslog_facility;
static char *pidfile, *logfile, *syslog_ident;
static char *config_file, *executable;
static char *pidfile_written; /* absolute; NULL = none */
static int64_t started_nsec;

/* An absolute path of `path`, which may be relative to the working directory; the caller frees it
 * (MEMORY_OTHER). */
static char *startup_absolute_path(const char *path) {
    char folder[PATH_MAX];
    if (*path == '/' || !getcwd(folder, sizeof(folder))) return memory_strdup(path, MEMORY_OTHER);
    struct buffer whole;
    buffer_init(&whole, MEMORY_OTHER);
    buffer_printf(&whole, "%s/%s", strcmp(folder, "/") ? folder : "", path);
    char *copy = slice_dup_c_string(buffer_slice(&whole), MEMORY_OTHER);
    buffer_free(&whole);
    return copy;
}

const char *startup_config_file(void) { return config_file ? config_file : ""; }
const char *startup_executable(void) { return executable ? executable : ""; }
int64_t startup_uptime_seconds(void) {
    return (clock_monotonic_nsec() - started_nsec) / 1000000000;
}

/* ---- options ---- */

/* CONFIG SET splits the value at blanks; a path may contain blanks. */
static bool dir_parse(const struct option_row *row, const struct slice *words, size_t count,
                      char *reason, size_t reason_size) {
    bool from_default = option_source_now() == OPTION_FROM_DEFAULT;
    if (from_default) return true;
    struct buffer path;
    buffer_init(&path, MEMORY_OTHER);
    for (size_t i = 0; i < count; i++) {
        if (i) buffer_append_char(&path, ' ');
        buffer_append(&path, words[i].bytes, words[i].length);
    }
    bool done = chdir(path.bytes ? path.bytes : "") == 0;
    if (!done && option_source_now() == OPTION_FROM_CONFIG_SET)
        snprintf(reason, reason_size, "Changing directory: %s", strerror(errno));
    else if (!done)
        snprintf(reason, reason_size, "Can't chdir to '%s': %s", path.bytes ? path.bytes : "",
                 strerror(errno));
    buffer_free(&path);
    return done;
}

static void dir_print(const struct option_row *row, struct buffer *out) {
    char folder[PATH_MAX];
    buffer_append_c_string(out, getcwd(folder, sizeof(folder)) ? folder : "");
}

/* One word in quotes, as in 6.2, because a path may contain several blanks in a row. */
static void dir_rewrite(const struct option_row *row, struct buffer *out) {
    struct buffer folder;
    buffer_init(&folder, MEMORY_OTHER);
    dir_print(row, &folder);
    buffer_printf(out, "%s ", row->name);
    buffer_append_quoted(out, buffer_slice(&folder));
    buffer_append_char(out, '\n');
    buffer_free(&folder);
}

static bool apply_logfile(const struct option_row *row, char *reason, size_t reason_size) {
    if (log_set_file(logfile)) return true;
    snprintf(reason, reason_size, "Can't open the log file: %s", strerror(errno));
    return false;
}

static bool apply_loglevel(const struct option_row *row, char *reason, size_t reason_size) {
    log_set_level((enum log_level)log_level_option);
    return true;
}

static bool apply_syslog(const struct option_row *row, char *reason, size_t reason_size) {
    log_set_syslog(syslog_enabled, syslog_ident, syslog_facility);
    return true;
}

static bool apply_background_purge(const struct option_row *row, char *reason, size_t reason_size) {
    if (begun && !memory_set_background_purge(background_purge) && background_purge)
        log_verbose("The allocator has no background thread; jemalloc-bg-thread has no effect.");
    return true;
}

/* The option engine follows includes before it looks up rows; only a wrong include gets here. */
static bool include_parse(const struct option_row *row, const struct slice *words, size_t count,
                          char *reason, size_t reason_size) {
    snprintf(reason, reason_size, "wrong number of arguments");
    return false;
}

static bool rename_parse(const struct option_row *row, const struct slice *words, size_t count,
                         char *reason, size_t reason_size) {
    if (count != 2) return false;
    if (!command_find(words[0])) {
        snprintf(reason, reason_size, "No such command in rename-command");
        return false;
    }
    if (command_rename(words[0], words[1])) return true;
    snprintf(reason, reason_size, "Target command name already exists");
    return false;
}

static const struct option_name level_names[] = {{"debug", LOG_LEVEL_DEBUG},
                                                 {"verbose", LOG_LEVEL_VERBOSE},
                                                 {"notice", LOG_LEVEL_NOTICE},
                                                 {"warning", LOG_LEVEL_WARNING},
                                                 {NULL, 0}};

#define LOCAL_FACILITY(n) \
    { "local" #n, LOG_LOCAL##n }
static const struct option_name facility_names[] = {
    {"user", LOG_USER}, LOCAL_FACILITY(0), LOCAL_FACILITY(1), LOCAL_FACILITY(2), LOCAL_FACILITY(3),
    LOCAL_FACILITY(4),  LOCAL_FACILITY(5), LOCAL_FACILITY(6), LOCAL_FACILITY(7), {NULL, 0}};

static const struct option_row option_rows[] = {
    {.name = "include",
     .type = OPTION_TYPE_CUSTOM,
     .flags = OPTION_MULTI | OPTION_FILE_ONLY,
     .section = "general",
     .place = 5,
     .parse = include_parse,
     .help = "Reads another file in this place; a pattern (*.conf) reads all that fit. Later lines "
             "override earlier ones."},
    OPTION_BOOL("daemonize", &daemonize, false, 0, "process", 10,
                "Run in the background, without a terminal."),
    OPTION_STRING("pidfile", &pidfile, "", 0, "process", 20,
                  "File to write the process id into, removed at the end. A daemon without one "
                  "writes " DAEMON_PIDFILE "."),
    {.name = "dir",
     .type = OPTION_TYPE_CUSTOM,
     .flags = OPTION_MUTABLE,
     .section = "process",
     .place = 30,
     .fallback = "./",
     .parse = dir_parse,
     .print = dir_print,
     .rewrite = dir_rewrite,
     .help = "Working directory: where files without a path are read and written."},
    {.name = "jemalloc-bg-thread",
     .type = OPTION_TYPE_BOOL,
     .flags = OPTION_MUTABLE,
     .section = "memory",
     .place = 80,
     .fallback = "yes",
     .variable = &background_purge,
     .apply = apply_background_purge,
     .help = "Let the allocator give freed memory back to the system from a thread of its own, so "
             "that commands need not wait for that. Without effect in builds for a sanitizer, "
             "whose allocator has no such thread."},
    {.name = "loglevel",
     .type = OPTION_TYPE_ENUM,
     .flags = OPTION_MUTABLE,
     .section = "logging",
     .place = 10,
     .fallback = "notice",
     .variable = &log_level_option,
     .names = level_names,
     .apply = apply_loglevel,
     .help = "The least important messages that are logged."},
    {.name = "logfile",
     .type = OPTION_TYPE_STRING,
     .section = "logging",
     .place = 20,
     .fallback = "",
     .variable = &logfile,
     .apply = apply_logfile,
     .help = "File to which the log is appended; standard output if empty. It is opened for each "
             "line, so it may be moved away at any time."},
    OPTION_BOOL("always-show-logo", &show_logo, false, 0, "logging", 30,
                "Show the logo at start even if the log does not go to a terminal."),
    {.name = "syslog-enabled",
     .type = OPTION_TYPE_BOOL,
     .section = "logging",
     .place = 200,
     .fallback = "no",
     .variable = &syslog_enabled,
     .apply = apply_syslog,
     .help = "Log to syslog, too."},
    {.name = "syslog-ident",
     .type = OPTION_TYPE_STRING,
     .section = "logging",
     .place = 210,
     .fallback = "redis",
     .variable = &syslog_ident,
     .apply = apply_syslog,
     .help = "The name under which syslog shows the server."},
    {.name = "syslog-facility",
     .type = OPTION_TYPE_ENUM,
     .section = "logging",
     .place = 220,
     .fallback = "local0",
     .names = facility_names,
     .variable = &syslog_facility,
     .apply = apply_syslog,
     .help = "The facility of syslog that gets the lines."},
    {.name = "rename-command",
     .type = OPTION_TYPE_CUSTOM,
     .flags = OPTION_MULTI | OPTION_FILE_ONLY,
     .section = "security",
     .place = 20,
     .parse = rename_parse,
     .help = "Gives a command another name; \"\" removes it."},
};

void startup_register(void) {
    started_nsec = clock_monotonic_nsec();
    log_set_role(mode_current()->log_role_at_start);
    option_register(option_rows, sizeof(option_rows) / sizeof(option_rows[0]));
}

/* ---- what is printed instead of serving ---- */

static void print_version(void) {
    printf("Redis server v=%s sha=00000000:0 malloc=%s bits=%d build=%s\nEvenkeel %s\n",
           REDIS_VERSION, memory_allocator_name(), (int)(sizeof(void *) * CHAR_BIT), build_id(),
           EVENKEEL_VERSION);
}

static void write_manual(struct buffer *out) {
    const struct mode *mode = mode_current();
    manual_begin(out, mode->manual);
    manual_heading(out, "Command line");
    for (const struct startup_word *w = mode->words; w->word.name; w++) manual_word(out, &w->word);
    manual_heading(out, "Configuration");
    option_write_manual(out);
    manual_end(out, mode->manual);
}

/* The words that the command lines of all modes have. */
#define WORDS_OF_CONFIGURATION(file_help)                                           \
    {{"file", NULL, NULL, file_help}, NULL},                                        \
        {{"-", NULL, NULL, "read configuration from standard input, too"}, NULL}, { \
        {"--option", NULL, "word ...",                                              \
         "any option of the configuration; counts more than the file"},             \
            NULL                                                                    \
    }
#define WORDS_OF_PRINTING                                     \
    {{"-v", "--version", NULL, "print the version"}, NULL}, { \
        {"-h", "--help", NULL, "print this"}, NULL            \
    }
#define WORDS_OF_DOCUMENTS                                                                       \
    {{"--describe-config-example", NULL, NULL, "print a configuration file with every default"}, \
     option_write_example},                                                                      \
        {{"--describe-options", NULL, NULL, "print the reference of options, in Markdown"},      \
         option_write_reference},                                                                \
        {{"--describe-metrics", NULL, NULL, "print the reference of INFO fields"},               \
         metric_write_reference},                                                                \
        {{"--describe-scrape", NULL, NULL, "print the reference of scraped metrics"},            \
         exposition_write_reference},                                                            \
        {{"--describe-commands", NULL, NULL, "print the reference of commands"},                 \
         describe_commands},                                                                     \
    {                                                                                            \
        {"--describe-man", NULL, NULL, "print the manual page"}, write_manual                    \
    }

const struct startup_word startup_server_words[] = {
    WORDS_OF_CONFIGURATION("configuration; redis.conf in the source tree shows all"),
    WORDS_OF_PRINTING,
    {{"--sentinel", NULL, NULL, "watch servers, as redis-sentinel does"}, NULL},
    {{"--check-rdb", NULL, "file", "tell whether a snapshot is sound, as redis-check-rdb does"},
     NULL},
    {{"--check-aof", NULL, "[--fix] file",
      "tell whether an append only file is sound, as redis-check-aof does"},
     NULL},
    {{"--test-memory", NULL, "megabytes", "test so much of this machine's memory"}, NULL},
    WORDS_OF_DOCUMENTS,
    {{NULL, NULL, NULL, NULL}, NULL}};

const struct startup_word startup_sentinel_words[] = {
    WORDS_OF_CONFIGURATION("configuration, which must be writable; sentinel.conf shows it"),
    WORDS_OF_PRINTING,
    WORDS_OF_DOCUMENTS,
    {{NULL, NULL, NULL, NULL}, NULL}};

static void startup_print_usage(FILE *out) {
    const struct manual *manual = mode_current()->manual;
    fprintf(out, "Usage: %s %s\n\n", manual->program, manual->synopsis);
    for (const struct startup_word *w = mode_current()->words; w->word.name; w++) {
        const struct manual_word *word = &w->word;
        char names[64];
        snprintf(names, sizeof(names), "%s%s%s%s%s", word->name, word->other ? ", " : "",
                 word->other ? word->other : "", word->argument ? " " : "",
                 word->argument ? word->argument : "");
        fprintf(out, "  %-28s%s\n", names, word->help);
    }
    fputs("\nFor example:\n", out);
    for (const char *const *line = manual->examples; *line; line++) fprintf(out, "  %s\n", *line);
}

static bool print_description(const char *option) {
    for (const struct startup_word *row = mode_current()->words; row->word.name; row++) {
        if (!row->write || strcmp(option, row->word.name) != 0) continue;
        struct buffer text;
        buffer_init(&text, MEMORY_OTHER);
        row->write(&text);
        fwrite(text.bytes, 1, text.length, stdout);
        buffer_free(&text);
        return true;
    }
    return false;
}

bool startup_print_and_leave(int argc, char **argv, int *status) {
    *status = 0;
    if (argc < 2) return false;
    if (!strcmp(argv[1], "-v") || !strcmp(argv[1], "--version")) {
        print_version();
    } else if (!strcmp(argv[1], "-h") || !strcmp(argv[1], "--help")) {
        startup_print_usage(stdout);
    } else if (!strcmp(argv[1], "--test-memory")) {
        *status = memory_test_run(argc == 3 ? argv[2] : "");
    } else if (argc != 2 || !print_description(argv[1])) {
        return false;
    }
    if (fflush(stdout) || ferror(stdout)) *status = 1;
    return true;
}

/* ---- configuration ---- */

static bool is_dash(const char *word) { return word[0] == '-' && word[1] == 0; }

static bool read_standard_input(struct buffer *text) {
    size_t got;
    do {
        got = fread(buffer_reserve(text, 65536), 1, 65536, stdin);
        text->length += got;
    } while (got && text->length <= OPTION_FILE_BYTES_MAX);
    return !ferror(stdin) && text->length <= OPTION_FILE_BYTES_MAX;
}

/* The options of the command line as lines of configuration. Their first line has number 2, as 6.2
 * counts. */
static void options_to_lines(int argc, char **argv, struct buffer *lines) {
    buffer_append_char(lines, '\n');
    for (int i = 0; i < argc; i++) {
        if (argv[i][0] == '-' && argv[i][1] == '-') {
            buffer_printf(lines, "%s%s", i ? "\n" : "", argv[i] + 2);
        } else {
            buffer_append_char(lines, ' ');
            buffer_append_quoted(lines, slice_of(argv[i]));
        }
    }
    buffer_append_char(lines, '\n');
}

static void report_fault(const struct buffer *error) {
    if (error->length && error->bytes[0] != '\n') {
        log_warning("%.*s", (int)error->length - 1, error->bytes); /* without its line end */
    } else {
        fwrite(error->bytes, 1, error->length, stderr);
    }
}

static bool load_standard_input(struct buffer *error) {
    struct buffer text;
    log_warning("Reading configuration from standard input");
    buffer_init(&text, MEMORY_OTHER);
    bool loaded = read_standard_input(&text);
    if (!loaded) buffer_append_c_string(error, "Fatal error, can't read standard input\n");
    loaded = loaded && option_load_text(buffer_slice(&text), OPTION_FROM_FILE, error);
    buffer_free(&text);
    return loaded;
}

static bool load_command_line(int argc, char **argv, struct buffer *error) {
    struct buffer lines;
    buffer_init(&lines, MEMORY_OTHER);
    options_to_lines(argc, argv, &lines);
    bool loaded = option_load_text(buffer_slice(&lines), OPTION_FROM_COMMAND_LINE, error);
    buffer_free(&lines);
    return loaded;
}

bool startup_configure(int argc, char **argv) {
    struct buffer error;
    buffer_init(&error, MEMORY_OTHER);
    option_set_version(REDIS_VERSION);
    if (argc > 0) executable = startup_absolute_path(argv[0]);
    int first = 1, last = argc;
    bool from_stdin = false;
    if (first < last && is_dash(argv[last - 1])) {
        from_stdin = true;
        last--;
    }
    if (first < last && is_dash(argv[first])) {
        from_stdin = true;
        first++;
    } else if (first < last && argv[first][0] != '-') {
        config_file = startup_absolute_path(argv[first++]);
    }
    bool loaded = (!config_file || option_load_file(config_file, &error)) &&
                  (!from_stdin || load_standard_input(&error)) &&
                  (first >= last || load_command_line(last - first, argv + first, &error)) &&
                  option_load_deferred(&error);
    if (!loaded) report_fault(&error);
    buffer_free(&error);
    return loaded;
}

/* ---- begin ---- */

static bool become_daemon(void) {
    pid_t child = fork();
    if (child < 0) {
        log_warning("Can't run in the background: fork: %s", strerror(errno));
        return false;
    }
    if (child > 0) _exit(0);
    setsid();
    int null = open("/dev/null", O_RDWR);
    if (null < 0) return true;
    dup2(null, STDIN_FILENO);
    dup2(null, STDOUT_FILENO);
    dup2(null, STDERR_FILENO);
    if (null > STDERR_FILENO) close(null);
    return true;
}

bool startup_begin(int argc) {
    log_set_level((enum log_level)log_level_option);
    supervise_open();
    if (daemonize && !supervise_active() && !become_daemon()) return false;
    log_warning("Evenkeel %s is starting", EVENKEEL_VERSION);
    log_warning("Redis version=%s, bits=%d, commit=00000000, modified=0, pid=%d, just started",
                REDIS_VERSION, (int)(sizeof(void *) * CHAR_BIT), (int)getpid());
    if (argc == 1)
        log_warning(
            "No configuration is given: every option is at its default. A file may be "
            "named: %s /path/to/redis.conf",
            startup_executable());
    else
        log_warning("Configuration loaded");
    log_set_role(mode_current()->log_role);
    host_open();
    oom_score_open();
    begun = true;
    apply_background_purge(NULL, NULL, 0);
    return true;
}

/* ---- the end of the beginning ---- */

static void write_pidfile(void) {
    if (!*pidfile && daemonize) { /* CONFIG GET shows it and CONFIG REWRITE writes it, as in 6.2 */
        memory_free(pidfile, MEMORY_OTHER);
        pidfile = memory_strdup(DAEMON_PIDFILE, MEMORY_OTHER);
    }
    if (!*pidfile) return;
    FILE *file = fopen(pidfile, "we");
    if (!file || fprintf(file, "%d\n", (int)getpid()) < 0) {
        log_warning("The pid file %s cannot be written: %s", pidfile, strerror(errno));
    } else {
        pidfile_written = startup_absolute_path(pidfile);
    }
    if (file) (void)fclose(file);
}

void startup_remove_pidfile(bool says) {
    if (!pidfile_written) return;
    if (says) log_notice("Removing the pid file.");
    unlink(pidfile_written);
    memory_free(pidfile_written, MEMORY_OTHER);
    pidfile_written = NULL;
}

static int port_shown(void) { return listen_port() ? listen_port() : listen_tls_port(); }

/* A boat on an even keel, and what operators want to know first. */
static void show_the_logo(void) {
    char text[1024];
    snprintf(text, sizeof(text),
             "\n"
             "             |\\\n"
             "             | \\\n"
             "             |  \\         Evenkeel %s (as Redis %s) %d bit\n"
             "            /|   \\        Running in %s mode\n"
             "           / |____\\       Port: %d\n"
             "      ____/__|_______     PID: %d\n"
             "  ~~~~\\_____________/~~~~~~~~~\n"
             "    ~~~~~~~~~|~~~~~~~~~~~\n"
             "             ^\n\n",
             EVENKEEL_VERSION, REDIS_VERSION, (int)(sizeof(void *) * CHAR_BIT), mode_name(),
             port_shown(), (int)getpid());
    log_raw(LOG_LEVEL_NOTICE, text);
}

void startup_announce(void) {
    write_pidfile();
    bool terminal = !*logfile && isatty(STDOUT_FILENO);
    if (show_logo || terminal)
        show_the_logo();
    else
        log_notice("Running mode=%s, port=%d.", mode_name(), port_shown());
    affinity_apply(&affinity_server);
}

void startup_announce_loading(void) {
    log_warning("Server initialized");
    host_announce_warnings(listen_backlog());
}

static bool starts_with(const char *text, const char *start) {
    return strncmp(text, start, strlen(start)) == 0;
}

/* Whether the name is that of a temporary file of a save or a rewrite, ours or 6.2's. */
static bool is_temporary(const char *name) {
    const char *end = strrchr(name, '.');
    if (!end) return false;
    return (starts_with(name, "temp-") && strcmp(end, ".rdb") == 0) ||
           (starts_with(name, "temp-rewriteaof-") && strcmp(end, ".aof") == 0);
}

/* A killed server leaves temporary files as large as its data. They are not removed, because they
 * may belong to another server that is saving here. */
static void announce_leftovers(void) {
    char name[NAME_MAX + 1];
    size_t count = file_count_names(is_temporary, name);
    if (count)
        log_warning(
            "%zu temporary file%s of a save that was cut short, as %s, take%s space in this "
            "server's folder. Unless another server is saving there, delete %s.",
            count, count == 1 ? "" : "s", name, count == 1 ? "s" : "", count == 1 ? "it" : "them");
}

void startup_announce_ready(void) {
    announce_leftovers();
    if (port_shown()) log_notice("Ready to accept connections");
    if (*listen_unix_path())
        log_notice("The server is now ready to accept connections at %s", listen_unix_path());
}
