/* SPDX-License-Identifier: BSD-3-Clause
 * Receiving a full copy. receive.h has the idea.
 *
 *   (none) --begin--> HEADER --"$..."--> FILE --all of it came--> (due) --load--> (none)
 *                        |                                          ^
 *                        +---to be loaded as it comes---------------+
 *
 * Invariants
 *  1. `file` is open exactly in FILE and until it was loaded; it is removed unless it has become
 *     the snapshot.
 *  2. In a copy with a mark, `tail` has the last bytes that came. A copy that ends with the mark is
 *     whole, because the primary sends nothing behind it before we acknowledge it.
 *  3. The old data is deleted, or set aside, only when the copy is there, or its loading begins.
 */
#include "replication/receive.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "aof/aof.h"
#include "aof/aof_options.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/number.h"
#include "base/panic.h"
#include "base/stream.h"
#include "base/system.h"
#include "exec/edit.h"
#include "io/file.h"
#include "io/file_stream.h"
#include "metric/row.h"
#include "option/option.h"
#include "peer/peer_client.h"
#include "rdb/loading.h"
#include "rdb/rdb_load.h"
#include "replication/full_sync.h"
#include "replication/history.h"
#include "replication/primary.h"
#include "save/saver.h"
#include "save/snapshot.h"
#include "store/keyspace.h"

#define MARK_CHARS 40
/* A header is shorter; a longer line is no header. */
#define HEADER_BYTES_MAX 1024
#define SHOWN_BYTES 128
/* At most twice these bytes are dirty while a file is written: as 6.2. */
#define SYNC_EVERY_BYTES ((uint64_t)8 << 20)
#define FILE_MODE 0644
#define TEMPORARY_NAME_BYTES 64
/* How much is read at a time where a copy is loaded as it comes, and how long to wait for the
 * socket before clients are served. */
#define WINDOW_BYTES 65536
#define WAIT_MSEC 5
#define LENGTH_UNKNOWN (-1)

enum stage { NONE, HEADER, FILE_COMES, DUE };
enum diskless_load { DISKLESS_NEVER, DISKLESS_EMPTY, DISKLESS_SWAP };

static int diskless_load;
static bool lazy_flush;

static struct {
    enum stage stage;
    struct peer_client *client;
    int64_t total; /* bytes; LENGTH_UNKNOWN before the header, or with a mark */
    bool has_mark;
    char mark[MARK_CHARS], tail[MARK_CHARS];
    uint64_t received; /* bytes, the mark included */
    int64_t heard_sec, said_sec;
    bool is_loaded; /* receive_load runs */
    bool stopped;   /* receive_stop was called within a load */

    struct file_replacement file;
    struct file_sink sink;
    bool sink_is_open;

    struct source source;
    char *window;
} copy = {.file = {.fd = -1}};

int64_t receive_heard_sec(void) { return copy.heard_sec; }

/* ---- end ---- */

static void close_sink(void) {
    if (copy.sink_is_open) file_sink_close(&copy.sink);
    copy.sink_is_open = false;
}

static void drop_file(void) {
    close_sink();
    if (copy.file.fd >= 0) file_replacement_cancel(&copy.file);
    copy.file.fd = -1;
}

void receive_stop(void) {
    if (loading_is_under_way()) {
        copy.stopped = true;
        return;
    }
    drop_file();
    memory_free(copy.window, replication_memory);
    copy.window = NULL;
    copy.stage = NONE;
    copy.client = NULL;
}

static enum receive_state receive_fail(void) {
    receive_stop();
    return RECEIVE_FAILED;
}

/* ---- begin ---- */

static bool loads_as_it_comes(void) {
    size_t keys = 0;
    for (int i = 0; i < keyspace_databases(); i++) keys += keyspace_count(keyspace_at(i));
    return diskless_load == DISKLESS_SWAP || (diskless_load == DISKLESS_EMPTY && !keys);
}

/* The names include the present folder, because `dir` may change until the copy is there. */
static bool open_file(void) {
    char folder[PATH_MAX], temporary[PATH_MAX + TEMPORARY_NAME_BYTES], path[2 * PATH_MAX];
    file_present_folder(folder);
    snprintf(temporary, sizeof(temporary), "%s/temp-%" PRId64 ".%d.rdb", folder,
             clock_wall_usec() / 1000000, (int)getpid());
    snprintf(path, sizeof(path), "%s/%s", folder, snapshot_path());
    if (!file_replacement_begin(&copy.file, path, temporary, FILE_MODE)) {
        copy.file.fd = -1;
        log_warning("Opening the temp file needed for MASTER <-> REPLICA synchronization: %s",
                    strerror(errno));
        return false;
    }
    file_sink_open(&copy.sink, copy.file.fd, -1);
    file_sink_set_sync(&copy.sink, SYNC_EVERY_BYTES, false);
    copy.sink_is_open = true;
    return true;
}

bool receive_begin(struct peer_client *client) {
    ASSERT(copy.stage == NONE);
    if (!loads_as_it_comes() && !open_file()) return false;
    copy.stage = HEADER;
    copy.client = client;
    copy.total = LENGTH_UNKNOWN;
    copy.has_mark = copy.stopped = false;
    copy.received = 0;
    copy.heard_sec = clock_monotonic_sec();
    return true;
}

/* ---- the header ---- */

static bool is_mark(struct slice line) {
    return line.length == strlen("$EOF:") + MARK_CHARS && memcmp(line.bytes, "$EOF:", 5) == 0;
}

static bool read_header(struct slice line) {
    char text[SHOWN_BYTES];
    int64_t length;
    if (line.length && line.bytes[0] == '-') {
        log_warning("MASTER aborted replication with an error: %s",
                    string_show(line, text, sizeof(text)) + 1);
        return false;
    }
    copy.has_mark = is_mark(line);
    const char *how = copy.sink_is_open ? "to disk" : "to parser";
    if (copy.has_mark) {
        memcpy(copy.mark, line.bytes + strlen("$EOF:"), MARK_CHARS);
        memset(copy.tail, 0, MARK_CHARS);
        log_notice("MASTER <-> REPLICA sync: receiving streamed RDB from master with EOF %s", how);
        return true;
    }
    if (line.length < 2 || line.bytes[0] != '$' ||
        !number_parse_int64(line.bytes + 1, line.length - 1, &length) || length < 0) {
        log_warning(
            "Bad protocol from MASTER, the first byte is not '$' (we received '%s'), are you sure "
            "the host and port are right?",
            string_show(line, text, sizeof(text)));
        return false;
    }
    copy.total = length;
    log_notice("MASTER <-> REPLICA sync: receiving %" PRId64 " bytes from master %s", length, how);
    return true;
}

/* Line ends before the header only show that the primary lives. */
static enum receive_state take_header(void) {
    struct slice input = peer_client_input(copy.client);
    const char *end;
    while (input.length && (input.bytes[0] == '\n' || input.bytes[0] == '\r')) {
        input.bytes++;
        input.length--;
        peer_client_consume(copy.client, 1);
    }
    end = input.length ? memchr(input.bytes, '\n', input.length) : NULL;
    if (!end && input.length < HEADER_BYTES_MAX) return RECEIVE_COMES;
    struct slice line = {input.bytes, end ? (size_t)(end - input.bytes) : input.length};
    if (line.length && line.bytes[line.length - 1] == '\r') line.length--;
    if (!read_header(line)) return receive_fail();
    peer_client_consume(copy.client, (size_t)(end - input.bytes) + 1);
    copy.stage = copy.sink_is_open ? FILE_COMES : DUE;
    return copy.stage == DUE ? RECEIVE_DUE : RECEIVE_COMES;
}

/* ---- to a file ---- */

static void keep_tail(struct slice bytes) {
    if (bytes.length >= MARK_CHARS) {
        memcpy(copy.tail, bytes.bytes + bytes.length - MARK_CHARS, MARK_CHARS);
        return;
    }
    memmove(copy.tail, copy.tail + bytes.length, MARK_CHARS - bytes.length);
    memcpy(copy.tail + MARK_CHARS - bytes.length, bytes.bytes, bytes.length);
}

static bool is_whole(void) {
    if (copy.has_mark)
        return copy.received >= MARK_CHARS && memcmp(copy.tail, copy.mark, MARK_CHARS) == 0;
    return copy.received == (uint64_t)copy.total;
}

/* Completes the file, without the mark. */
static bool end_file(void) {
    bool good = sink_flush(&copy.sink.sink);
    if (!good)
        log_warning(
            "Write error or short write writing to the DB dump file needed for MASTER <-> REPLICA "
            "synchronization: %s",
            strerror(sink_error(&copy.sink.sink)));
    close_sink();
    if (!good || !copy.has_mark) return good;
    good = file_truncate(copy.file.fd, (off_t)(copy.received - MARK_CHARS));
    if (!good)
        log_warning("Error truncating the RDB file received from the master for SYNC: %s",
                    strerror(errno));
    return good;
}

static enum receive_state take_file(void) {
    struct slice input = peer_client_input(copy.client);
    uint64_t left = copy.has_mark ? UINT64_MAX : (uint64_t)copy.total - copy.received;
    if (input.length > left) input.length = (size_t)left;
    sink_write(&copy.sink.sink, input.bytes, input.length);
    if (copy.has_mark) keep_tail(input);
    copy.received += input.length;
    peer_client_consume(copy.client, input.length);
    if (!is_whole() && !sink_error(&copy.sink.sink)) return RECEIVE_COMES;
    if (!end_file()) return receive_fail();
    copy.stage = DUE;
    return RECEIVE_DUE;
}

enum receive_state receive_take(void) {
    enum receive_state state = RECEIVE_COMES;
    if (copy.stage == NONE || copy.stage == DUE)
        return copy.stage == DUE ? RECEIVE_DUE : RECEIVE_NONE;
    if (peer_client_input(copy.client).length) copy.heard_sec = clock_monotonic_sec();
    if (copy.stage == HEADER) state = take_header();
    if (copy.stage == FILE_COMES) state = take_file();
    return state;
}

/* ---- straight from the connection ---- */

static bool gives_up(void) {
    bool silent = clock_monotonic_sec() - copy.heard_sec > primary_timeout_sec();
    if (silent) errno = ETIMEDOUT;
    if (copy.stopped || loading_is_cut_short()) errno = ECANCELED;
    return silent || copy.stopped || loading_is_cut_short();
}

/* Reads from the primary; while it waits, clients are served. */
static ssize_t read_client(struct source *s, void *bytes, size_t length) {
    for (;;) {
        struct slice input = peer_client_input(copy.client);
        if (!copy.has_mark && length > (uint64_t)copy.total - copy.received)
            length = (size_t)((uint64_t)copy.total - copy.received);
        if (input.length > length) input.length = length;
        if (input.length || !length) {
            if (input.length) memcpy(bytes, input.bytes, input.length);
            peer_client_consume(copy.client, input.length);
            copy.received += input.length;
            copy.heard_sec = clock_monotonic_sec();
            return (ssize_t)input.length;
        }
        if (peer_client_state(copy.client) == PEER_CLIENT_CLOSED) return 0;
        if (gives_up()) return -1;
        if (peer_client_turn(copy.client, WAIT_MSEC) && !peer_client_input(copy.client).length)
            loading_look();
    }
}

static const struct source_type client_source = {read_client};

/* Reads the mark behind the copy, if there is one. */
static bool read_mark(void) {
    char mark[MARK_CHARS];
    if (!copy.has_mark) return true;
    if (source_read(&copy.source, mark, MARK_CHARS) && memcmp(mark, copy.mark, MARK_CHARS) == 0)
        return true;
    log_warning("Replication stream EOF marker is broken");
    return false;
}

/* ---- loading ---- */

static void log_fault(const struct rdb_loaded *result) {
    struct buffer text = {.class = MEMORY_OTHER};
    rdb_describe_fault(result, &text);
    log_warning("Internal error in RDB reading offset %" PRIu64 ": %s", result->offset, text.bytes);
    buffer_free(&text);
}

static bool load_from(struct source *in) {
    static const struct rdb_loading how = {.keeps_expired = true};
    struct rdb_loaded result;
    bool good = rdb_load(in, &how, &result);
    if (!good && !loading_is_cut_short()) log_fault(&result);
    return good;
}

/* Opens the received file for reading; -1 after a line in the log. */
static int open_copy(void) {
    int fd = system_open(copy.file.temporary, O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0) log_warning("Opening the received copy: %s", strerror(errno));
    return fd;
}

static bool load_file(int fd) {
    struct file_source f;
    file_source_open(&f, fd, -1);
    loading_begin("copy of the primary's data", f.source.length);
    bool good = load_from(&f.source);
    loading_end(good);
    file_source_close(&f);
    if (!good) log_warning("Failed trying to load the MASTER synchronization DB from disk");
    return good;
}

static bool load_stream(void) {
    copy.window = memory_alloc(WINDOW_BYTES, replication_memory);
    source_init(&copy.source, &client_source, copy.window, WINDOW_BYTES,
                copy.has_mark ? SOURCE_LENGTH_UNKNOWN : (uint64_t)copy.total);
    loading_begin("copy of the primary's data", copy.has_mark ? 0 : (uint64_t)copy.total);
    bool good = load_from(&copy.source);
    if (!good) log_warning("Failed trying to load the MASTER synchronization DB from socket");
    source_checksum_begin(&copy.source, NULL, 0);
    good = good && read_mark();
    loading_end(good);
    return good;
}

static void flush_all(enum lazyfree_way way) {
    for (int i = 0; i < keyspace_databases(); i++) (void)edit_flush(keyspace_at(i), way);
}

/* Makes the loaded file the snapshot, unless files for replication are to be removed. */
static void keep_file(void) {
    if (full_sync_removes_files() && !aof_options()->enabled) {
        log_notice(
            "Removing the RDB file obtained from the master. This replica has persistence "
            "disabled");
        drop_file();
        return;
    }
    snapshot_end_child(); /* which would replace the file by the old data */
    if (file_replacement_commit(&copy.file))
        snapshot_note_reloaded();
    else
        log_warning(
            "Failed trying to rename the temp DB into %s in MASTER <-> REPLICA synchronization: "
            "%s",
            snapshot_path(), strerror(errno));
    copy.file.fd = -1;
}

/* Tells the primary each second, while its copy is loaded, that this server lives. */
static void receive_keep_alive(void) {
    static const struct slice line_end = {"\n", 1};
    if (!copy.is_loaded || !copy.client || copy.stopped || clock_monotonic_sec() == copy.said_sec)
        return;
    copy.said_sec = clock_monotonic_sec();
    peer_client_send_bytes(copy.client, line_end);
    (void)peer_client_turn(copy.client, 0); /* a closed connection is noticed when more is read */
}

const struct loading_observer receive_loading_observer = {.before_turn = receive_keep_alive};

static enum receive_loaded load_from_file(enum lazyfree_way way) {
    int fd = open_copy();
    if (fd < 0) return RECEIVE_LOST_NOTHING;
    flush_all(way);
    log_notice("MASTER <-> REPLICA sync: Loading DB in memory");
    bool good = load_file(fd);
    system_close(fd);
    if (good)
        keep_file();
    else
        flush_all(way);
    return good ? RECEIVE_LOADED : RECEIVE_LOST_DATA;
}

static enum receive_loaded load_from_stream(enum lazyfree_way way) {
    struct keyspace_aside *aside = NULL;
    if (diskless_load == DISKLESS_SWAP)
        aside = edit_set_aside();
    else
        flush_all(way);
    log_notice("MASTER <-> REPLICA sync: Loading DB in memory");
    bool good = load_stream();
    if (!good) flush_all(way);
    if (aside && good) edit_drop_aside(aside, way);
    if (aside && !good) edit_take_back(aside);
    if (good) return RECEIVE_LOADED;
    return aside ? RECEIVE_LOST_NOTHING : RECEIVE_LOST_DATA;
}

enum receive_loaded receive_load(struct slice *early) {
    enum lazyfree_way way = lazy_flush ? LAZYFREE_LATER : LAZYFREE_NOW;
    bool from_file = copy.file.fd >= 0;
    ASSERT(copy.stage == DUE);
    log_notice("MASTER <-> REPLICA sync: Flushing old data");
    saver_end_walk(); /* a walk over data that is about to be replaced */
    copy.is_loaded = true;
    enum receive_loaded loaded = from_file ? load_from_file(way) : load_from_stream(way);
    copy.is_loaded = false;
    *early = from_file ? (struct slice){"", 0} : source_window(&copy.source);
    copy.stage = NONE;
    drop_file(); /* the file, unless it has become the snapshot */
    return loaded;
}

/* ---- options and INFO ---- */

static const struct option_name diskless_names[] = {{"disabled", DISKLESS_NEVER},
                                                    {"on-empty-db", DISKLESS_EMPTY},
                                                    {"swapdb", DISKLESS_SWAP},
                                                    {NULL, 0}};

static const struct option_row option_rows[] = {
    OPTION_ENUM("repl-diskless-load", &diskless_load, "disabled", diskless_names, OPTION_MUTABLE,
                "replication", 80,
                "Load a full copy straight from the connection: never (disabled), if there is no "
                "data (on-empty-db), or beside the old data, which comes back if the copy turns "
                "out bad (swapdb)."),
    {.name = "replica-lazy-flush",
     .alias = "slave-lazy-flush",
     .type = OPTION_TYPE_BOOL,
     .flags = OPTION_MUTABLE,
     .section = "replication",
     .place = 200,
     .fallback = "no",
     .variable = &lazy_flush,
     .help = "Free a replica's old data in the background before a full copy is loaded."},
};

static bool receive_copy_comes(void) { return copy.stage != NONE || loading_is_under_way(); }
static bool is_shown(void) { return copy.client && receive_copy_comes(); }

static void print_total(const struct metric_row *row, struct buffer *out) {
    buffer_printf(out, "%" PRId64, copy.has_mark ? 0 : copy.total);
}
static void print_left(const struct metric_row *row, struct buffer *out) {
    int64_t total = copy.has_mark ? 0 : copy.total;
    buffer_printf(out, "%" PRId64, total - (int64_t)copy.received);
}
static void print_share(const struct metric_row *row, struct buffer *out) {
    bool known = !copy.has_mark && copy.total > 0;
    buffer_printf(out, "%.2f", known ? (double)copy.received / (double)copy.total * 100 : 0.0);
}
static void print_heard(const struct metric_row *row, struct buffer *out) {
    buffer_printf(out, "%" PRId64, clock_monotonic_sec() - copy.heard_sec);
}

#define WHILE_RECEIVING(p, n, m, t, var, fn, h)                                           \
    {                                                                                     \
        .section = "Replication", .place = (p), .name = (n), .measure = (m), .type = (t), \
        .variable = (var), .print = (fn), .present = is_shown, .help = (h)                \
    }

static const struct metric_row metric_rows[] = {
    WHILE_RECEIVING(17, "master_sync_total_bytes", METRIC_BYTES, METRIC_FUNCTION, NULL, print_total,
                    "While a copy is received: its bytes; 0: not known."),
    WHILE_RECEIVING(17, "master_sync_read_bytes", METRIC_BYTES, METRIC_UINT64, &copy.received, NULL,
                    "While a copy is received: bytes that have come."),
    WHILE_RECEIVING(17, "master_sync_left_bytes", METRIC_BYTES, METRIC_FUNCTION, NULL, print_left,
                    "While a copy is received: bytes that are still to come."),
    WHILE_RECEIVING(17, "master_sync_perc", METRIC_PERCENT, METRIC_FUNCTION, NULL, print_share,
                    "While a copy is received: the share that has come, in percent."),
    WHILE_RECEIVING(17, "master_sync_last_io_seconds_ago", METRIC_SECONDS, METRIC_FUNCTION, NULL,
                    print_heard, "While a copy is received: seconds since its last bytes came."),
};

void receive_register(void) {
    option_register(option_rows, sizeof(option_rows) / sizeof(option_rows[0]));
    metric_register(metric_rows, sizeof(metric_rows) / sizeof(metric_rows[0]));
}
