/* SPDX-License-Identifier: BSD-3-Clause
 * Loading the append-only file. aof_load.h has the idea.
 *
 *   "REDIS..."?  --yes--> rdb_load --.
 *        |                           v
 *        `---------no---------> the next command <--------------------.
 *                                    | MULTI: is its EXEC there?      |
 *                                    |   no: the file is cut off here |
 *                                    `-----> run ---------------------'
 *
 * Before a transaction runs, the loader looks ahead for its EXEC. So no part of a half transaction
 * is done, and a whole one needs no memory, however long it is.
 *
 * A file that was cut off loses what stands behind `whole`, the end of the last command or
 * transaction that was run. Every other fault refuses the load and is logged with its place. So
 * does a command that no server writes into a log, and a database that does not exist, because the
 * commands behind it would change another one. A command that is answered with an error changes
 * nothing and is logged, as in 6.2.
 */
#include "aof/aof_load.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "aof/aof_options.h"
#include "aof/aof_read.h"
#include "base/checksum.h"
#include "base/log.h"
#include "base/panic.h"
#include "base/system.h"
#include "command/call_make.h"
#include "command/command.h"
#include "exec/effects.h"
#include "exec/run.h"
#include "io/file.h"
#include "io/file_stream.h"
#include "net/capture.h"
#include "net/client.h"
#include "rdb/loading.h"
#include "rdb/rdb_format.h"
#include "rdb/rdb_load.h"
#include "store/keyspace.h"

/* At most so many commands that were answered with an error are logged by name; the others are
 * counted. */
#define ERRORS_SAID 10
#define SHOWN_BYTES 128

struct load {
    const char *path;
    struct file_source file;
    struct aof_reader reader;
    struct capture capture; /* whose client runs the commands */
    uint64_t whole;         /* all before this offset was loaded and may stay in the file */
    uint64_t commands, errors;
    bool within;  /* the next command stands between MULTI and EXEC */
    bool refused; /* a command */
    /* Why the load was refused; logged last, because tools and people look at the log's last
     * line. */
    char last_words[512];
};

/* ---- what the log is told ---- */

static int shown_length(struct slice text) {
    return text.length < SHOWN_BYTES ? (int)text.length : SHOWN_BYTES;
}

static void say_fault(const struct load *l) {
    log_warning("%s: at offset %" PRIu64 ": %s", l->path, l->reader.offset, l->reader.fault);
}

static void end_with(struct load *l, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void end_with(struct load *l, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(l->last_words, sizeof(l->last_words), format, arguments);
    va_end(arguments);
}

static enum aof_loaded refuse_format(struct load *l) {
    say_fault(l);
    end_with(
        l,
        "Bad file format reading the append only file: make a backup of your AOF file, then use "
        "./redis-check-aof --fix <filename>");
    return AOF_REFUSED;
}

static enum aof_loaded refuse_read(struct load *l) {
    if (loading_is_cut_short())
        log_notice("The server is to stop: %s is loaded no further", l->path);
    else
        end_with(l, "Unrecoverable error reading the append only file: %s", l->reader.fault);
    return AOF_REFUSED;
}

/* ---- errors that commands are answered with ---- */

static void note_command_error(struct capture *capture, struct slice text) {
    struct load *l = (struct load *)((char *)capture - offsetof(struct load, capture));
    if (++l->errors > ERRORS_SAID) return;
    log_warning(
        "== CRITICAL == This server is sending an error to its AOF-loading-client: '%.*s' "
        "after processing the command '%.*s' at offset %" PRIu64,
        shown_length(text), text.bytes, shown_length(l->reader.argv[0]), l->reader.argv[0].bytes,
        l->reader.begin);
}

static void say_errors(const struct load *l) {
    if (l->errors <= ERRORS_SAID) return;
    log_warning("== CRITICAL == %" PRIu64 " commands of %s were answered with an error", l->errors,
                l->path);
}

static void no_integer(struct capture *capture, int64_t value) {}
static void no_text(struct capture *capture, struct slice text) {}
static void no_group(struct capture *capture, enum capture_group group, int64_t count) {}
static void no_null(struct capture *capture) {}
static void no_boolean(struct capture *capture, bool value) {}
static void no_verbatim(struct capture *capture, struct slice text, const char *type) {}

static const struct capture_forms only_errors = {
    .integer = no_integer,
    .bulk = no_text,
    .status = no_text,
    .error = note_command_error,
    .group = no_group,
    .null = no_null,
    .boolean = no_boolean,
    .number = no_text,
    .big_number = no_text,
    .verbatim = no_verbatim,
};

/* ---- one command ---- */

/* A log has the commands' own names, whatever rename-command calls them now. */
static struct command *find_command(struct slice name) {
    struct command *command = command_find(name);
    for (size_t i = 0; !command && i < command_count(); i++) {
        struct command *one = command_at(i);
        if (slice_equal_nocase(name, slice_of(one->name))) command = one;
    }
    return command;
}

/* Whether a log may have the command: it may change data, or only reads. */
static bool belongs_in_log(const struct command *command) {
    if (command->flags & (COMMAND_WRITE | COMMAND_MAY_REPLICATE)) return true;
    return !(command->flags & (COMMAND_ADMIN | COMMAND_NOSCRIPT));
}

/* Refuses the load because of this command. Returns false. */
static bool refuse_command(struct load *l, const char *why) {
    struct slice name = l->reader.argv[0];
    log_warning("%s: at offset %" PRIu64 ": the load ends here", l->path, l->reader.begin);
    end_with(l, "%s '%.*s' reading the append only file", why, shown_length(name), name.bytes);
    l->refused = true;
    return false;
}

static bool run_command(struct load *l) {
    const struct aof_reader *r = &l->reader;
    struct command *command = find_command(r->argv[0]);
    if (!command) return refuse_command(l, "Unknown command");
    if (!command_arity_fits(command, r->argc))
        return refuse_command(l, "Wrong number of arguments for command");
    if (!belongs_in_log(command)) return refuse_command(l, "No log has the command");
    struct call call;
    call_make(&call, CALL_LOG, l->capture.client,
              (struct call_parts){
                  .command = command, .argc = r->argc, .argv = r->argv, .blobs = r->blobs});
    uint64_t errors = l->errors;
    enum gate_verdict verdict = call_run(&call);
    ASSERT(verdict == GATE_OPEN);
    if (l->errors != errors && !strcmp(command->name, "select"))
        return refuse_command(l, "There is no such database:");
    l->commands++;
    return true;
}

/* ---- transactions ---- */

static enum aof_read find_exec(struct aof_reader *r) {
    enum aof_read status;
    do {
        status = aof_read(r);
    } while (status == AOF_READ_COMMAND && !(r->argc == 1 && aof_read_is(r, "exec")));
    return status;
}

/* Whether the EXEC lies in memory, behind the MULTI that was read. */
static bool exec_is_near(struct load *l) {
    struct slice window = source_window(&l->file.source);
    struct source near;
    struct aof_reader r;
    slice_source_init(&near, (struct slice){window.bytes + l->reader.taken,
                                            window.length - (size_t)l->reader.taken});
    aof_reader_open(&r, &near);
    r.only_names = true;
    bool found = find_exec(&r) == AOF_READ_COMMAND;
    aof_reader_close(&r);
    return found;
}

static enum aof_read note_failure(struct load *l) {
    snprintf(l->reader.fault, sizeof(l->reader.fault), "%s", strerror(errno));
    return AOF_READ_FAILED;
}

/* Looks for the EXEC in the file, and restores the file's place. */
static enum aof_read find_exec_ahead(struct load *l) {
    struct file_source ahead;
    struct aof_reader r;
    int fd = l->file.fd;
    off_t place = lseek(fd, 0, SEEK_CUR);
    if (place < 0 || lseek(fd, (off_t)l->reader.end, SEEK_SET) < 0) return note_failure(l);
    file_source_open(&ahead, fd, -1);
    loading_watch_ahead(&ahead.source);
    aof_reader_open(&r, &ahead.source);
    r.only_names = true;
    enum aof_read status = find_exec(&r);
    if (status != AOF_READ_COMMAND) {
        snprintf(l->reader.fault, sizeof(l->reader.fault), "%s", r.fault);
        l->reader.offset = l->reader.end + r.offset;
    }
    aof_reader_close(&r);
    file_source_close(&ahead);
    return lseek(fd, place, SEEK_SET) < 0 ? note_failure(l) : status;
}

static enum aof_read begin_transaction(struct load *l) {
    if (l->within) { /* its EXEC ends both transactions, as in 6.2 */
        note_command_error(&l->capture, SLICE("ERR MULTI calls can not be nested"));
        return AOF_READ_COMMAND;
    }
    l->within = exec_is_near(l);
    if (l->within) return AOF_READ_COMMAND;
    enum aof_read status = find_exec_ahead(l);
    l->within = status == AOF_READ_COMMAND;
    if (status != AOF_READ_END && status != AOF_READ_CUT) return status;
    log_warning("Revert incomplete MULTI/EXEC transaction in AOF file");
    snprintf(l->reader.fault, sizeof(l->reader.fault), "Reached EOF before reading EXEC for MULTI");
    l->reader.offset = l->reader.begin;
    return AOF_READ_CUT;
}

static void end_transaction(struct load *l) {
    if (!l->within) note_command_error(&l->capture, SLICE("ERR EXEC without MULTI"));
    l->within = false;
}

/* ---- the whole file ---- */

/* AOF_READ_COMMAND: the command was done. */
static enum aof_read take_command(struct load *l) {
    struct aof_reader *r = &l->reader;
    enum aof_read status = AOF_READ_COMMAND;
    if (r->argc == 1 && aof_read_is(r, "multi"))
        status = begin_transaction(l);
    else if (r->argc == 1 && aof_read_is(r, "exec"))
        end_transaction(l);
    else if (!run_command(l))
        status = AOF_READ_BAD;
    if (status == AOF_READ_COMMAND && !l->within) l->whole = r->end;
    return status;
}

static void pause_for_tests(struct load *l) {
    int64_t usec = rdb_load_delay_usec();
    if (__builtin_expect(usec == 0, 1)) return;
    rdb_delay(usec, l->commands);
    loading_look();
}

static enum aof_read take_commands(struct load *l) {
    enum aof_read status;
    do {
        status = aof_read(&l->reader);
        if (status == AOF_READ_COMMAND) status = take_command(l);
        pause_for_tests(l);
        loading_advance(source_offset(&l->file.source));
    } while (status == AOF_READ_COMMAND && !loading_is_cut_short());
    if (loading_is_cut_short()) return AOF_READ_FAILED;
    /* The EXEC was there when it was looked for, so a file that lacks it now was changed. */
    return l->within && status != AOF_READ_BAD ? AOF_READ_FAILED : status;
}

static void log_fault(const struct rdb_loaded *result) {
    struct buffer text;
    buffer_init(&text, MEMORY_OTHER);
    rdb_describe_fault(result, &text);
    log_warning("Error reading the RDB preamble of the AOF file, AOF loading aborted: %s",
                text.bytes);
    buffer_free(&text);
}

/* False after a line in the log. */
static bool load_preamble(struct load *l) {
    static const struct rdb_loading how = {.keeps_expired = true};
    struct source *in = &l->file.source;
    struct rdb_loaded result;
    if (source_at_end(in)) return true;
    struct slice window = source_window(in);
    if (window.length < strlen(RDB_MAGIC) || memcmp(window.bytes, RDB_MAGIC, strlen(RDB_MAGIC)))
        return true;
    log_notice("Reading RDB preamble from AOF file...");
    bool good = rdb_load(in, &how, &result);
    source_checksum_begin(in, NULL, 0);
    l->whole = source_offset(in);
    if (good) log_notice("Reading the remaining AOF tail...");
    if (good) return true;
    if (loading_is_cut_short())
        log_notice("The server is to stop: %s is loaded no further", l->path);
    else
        log_fault(&result);
    return false;
}

/* Cuts off what follows the last whole command. */
static bool cut_loaded_log(const struct load *l) {
    bool good = file_truncate(l->file.fd, (off_t)l->whole) && file_sync(l->file.fd);
    if (!good) log_warning("Error truncating the AOF file: %s", strerror(errno));
    return good;
}

static enum aof_loaded end_of_cut_file(struct load *l) {
    say_fault(l);
    if (aof_options()->load_truncated) {
        log_warning("!!! Warning: short read while loading the AOF file !!!");
        log_warning("!!! Truncating the AOF at offset %" PRIu64 " !!!", l->whole);
        if (cut_loaded_log(l)) {
            log_warning("AOF loaded anyway because aof-load-truncated is enabled");
            return AOF_TRUNCATED;
        }
    }
    end_with(
        l,
        "Unexpected end of file reading the append only file. You can: 1) Make a backup of your "
        "AOF file, then use ./redis-check-aof --fix <filename>. 2) Alternatively you can set the "
        "'aof-load-truncated' configuration option to yes and restart the server.");
    return AOF_REFUSED;
}

static enum aof_loaded load_all(struct load *l) {
    if (!load_preamble(l)) return AOF_REFUSED;
    enum aof_read status = take_commands(l);
    say_errors(l);
    if (l->refused) return AOF_REFUSED;
    switch (status) {
    case AOF_READ_END: return AOF_LOADED;
    case AOF_READ_CUT: return end_of_cut_file(l);
    case AOF_READ_BAD: return refuse_format(l);
    default: return refuse_read(l);
    }
}

int aof_load_open(const char *path) {
    char first;
    int fd = system_open(path, O_RDWR | O_CLOEXEC, 0); /* writable, so that it can be cut off */
    if (fd < 0 && (errno == EACCES || errno == EROFS))
        fd = system_open(path, O_RDONLY | O_CLOEXEC, 0);
    if (fd >= 0 && file_read_at(fd, &first, 1, 0) >= 0) return fd;
    int error = errno;
    if (fd >= 0) system_close(fd);
    if (error != ENOENT)
        log_warning("Fatal error: can't open the append log file for reading: %s", strerror(error));
    errno = error;
    return -1;
}

enum aof_loaded aof_load_take(const char *path, int fd) {
    struct load l = {.path = path};
    struct source *in = &l.file.source;
    file_source_open(&l.file, fd, -1);
    bool known = in->length != SOURCE_LENGTH_UNKNOWN;
    enum aof_loaded loaded = AOF_EMPTY;
    if (!known || in->length > 0) {
        aof_reader_open(&l.reader, in);
        capture_open_typed(&l.capture, &only_errors);
        effects_limit(0);
        loading_begin("append only file", known ? in->length : 0);
        loading_watch(in);
        loaded = load_all(&l);
        loading_end(loaded != AOF_REFUSED);
        if (l.last_words[0]) log_warning("%s", l.last_words);
        effects_limit(EFFECT_BOTH);
        capture_close(&l.capture);
        aof_reader_close(&l.reader);
    }
    file_source_close(&l.file);
    system_close(fd);
    return loaded;
}

enum aof_loaded aof_load(const char *path) {
    int fd = aof_load_open(path);
    if (fd < 0) return errno == ENOENT ? AOF_NONE : AOF_REFUSED;
    return aof_load_take(path, fd);
}
