/* SPDX-License-Identifier: BSD-3-Clause
 * Fuzzes the link to a primary: whatever a primary says, before, within and behind a copy, the
 * server goes on, follows it or tries again, and nothing of it is left when it follows nobody.
 *
 * Covers: src/replication/link.c src/replication/receive.c src/replication/apply.c
 *
 * The input's first byte chooses how copies are loaded, and whether connections begin with a good
 * greeting; the second, in pieces of how many bytes it is said. Then come connections, each ended
 * by
 * "\0\xff": what the primary says in it before it hangs up. Copies that are loaded straight from
 * the connection wait for their rest within one turn, so there all is said at once.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/panic.h"
#include "command/command.h"
#include "exec/edit.h"
#include "exec/pause.h"
#include "io/loop.h"
#include "io/socket.h"
#include "net/client.h"
#include "option/option.h"
#include "rdb/dump.h"
#include "replication/history.h"
#include "replication/link.h"
#include "replication/stream.h"
#include "server/mode.h"
#include "server/modes.h"
#include "store/keyspace.h"

#define NOW_USEC INT64_C(1750000000000000)
#define SAID_BYTES_MAX 60000 /* a socket takes as much at once */
#define CONNECTIONS_MAX 8
#define TURNS_AFTER 6
/* What the link keeps for its next connection. */
#define KEPT_BYTES 262144

int LLVMFuzzerInitialize(int *count, char ***arguments);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Of the stream's commands these run; others could leave the process or the folder. */
static const char *const allowed[] = {
    "set",  "incr",  "del",   "rpush",   "expire",    "select",  "multi",      "exec",  "discard",
    "ping", "watch", "blpop", "monitor", "subscribe", "publish", "flushall",   "reset", "quit",
    "get",  "spop",  "sadd",  "client",  "replconf",  "swapdb",  "xreadgroup", "info",  "role",
    "wait", "xadd",  "hello", "command", "auth",      "move",    "unsubscribe"};

static struct loop *loop;
static int listener, home = -1, folder = -1;
static int port;
static char path[] = "/tmp/evenkeel-fuzz-link-XXXXXX";
static size_t dataset_bytes, clients_bytes, replication_bytes;

static void note_baseline(void);

static void set(const char *name, const char *value) {
    char reason[OPTION_REASON_BYTES];
    struct slice word = slice_of(value);
    bool good = option_set(option_find(slice_of(name)), &word, 1, OPTION_FROM_CONFIG_SET, reason,
                           sizeof(reason));
    ASSERT(good);
}

static void set_at_start(const char *name, const char *value) {
    char reason[OPTION_REASON_BYTES];
    struct slice word = slice_of(value);
    bool good =
        option_set(option_find(slice_of(name)), &word, 1, OPTION_FROM_FILE, reason, sizeof(reason));
    ASSERT(good);
}

static bool is_allowed(const char *name) {
    for (size_t i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++)
        if (strcmp(name, allowed[i]) == 0) return true;
    return false;
}

static void remove_folder(void) {
    if (fchdir(folder) == 0) unlink("dump.rdb");
    rmdir(path);
}

static void make_folder(void) {
    home = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ASSERT(mkdtemp(path));
    folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ASSERT(home >= 0 && folder >= 0);
    atexit(remove_folder);
}

static void turns(int count) {
    for (int i = 0; i < count; i++) loop_turn(loop, 0);
}

static void pass_seconds(int count) {
    clock_advance_usec(count * 1000000);
    clock_refresh();
    turns(3);
}

int LLVMFuzzerInitialize(int *count, char ***arguments) {
    char reason[OPTION_REASON_BYTES];
    struct socket_peer local;
    signal(SIGPIPE, SIG_IGN);
    clock_use_fixed(NOW_USEC, 1000000000);
    clock_refresh();
    mode_register(&mode_server);
    set_at_start("loglevel", "warning");
    set_at_start("logfile", "/dev/null");
    for (size_t i = 0; i < command_count(); i++)
        if (!is_allowed(command_at(i)->name))
            ASSERT(command_rename(slice_of(command_at(i)->name), SLICE("")));
    loop = loop_create();
    ASSERT(mode_open(&mode_server, loop));
    dump_skip_checksums(true);
    listener = socket_listen_tcp("127.0.0.1", 0, 16, reason, sizeof(reason));
    ASSERT(listener >= 0 && socket_local_of(listener, &local));
    port = local.port;
    make_folder();
    note_baseline();
    return 0;
}

/* ---- one connection ---- */

/* -1: the server does not ask for one now. */
static int accept_link(void) {
    struct socket_peer peer;
    if (!link_is_replica()) link_follow("127.0.0.1", port);
    for (int i = 0; i < 3; i++) {
        turns(1);
        int fd = socket_accept(listener, &peer);
        if (fd >= 0) return fd;
        pass_seconds(1);
    }
    return -1;
}

static void take_answers(int fd) {
    char bytes[4096];
    while (read(fd, bytes, sizeof(bytes)) > 0) continue;
}

static void say(int fd, struct slice text) {
    for (size_t sent = 0; sent < text.length;) {
        ssize_t written = write(fd, text.bytes + sent, text.length - sent);
        if (written < 0 && errno != EAGAIN) return; /* the server has hung up */
        sent += written > 0 ? (size_t)written : 0;
        if (sent < text.length) turns(1);
    }
}

static void connection(struct slice text, bool greets, size_t piece, bool at_once) {
    int fd = accept_link();
    if (fd < 0) return;
    if (greets) say(fd, SLICE("+PONG\r\n+OK\r\n+OK\r\n"));
    for (size_t at = 0; at < text.length && !at_once; at += piece) {
        size_t left = text.length - at;
        say(fd, (struct slice){text.bytes + at, left < piece ? left : piece});
        turns(1);
        take_answers(fd);
    }
    if (at_once) say(fd, text);
    shutdown(fd, SHUT_WR);
    turns(TURNS_AFTER);
    if (text.length % 2) pass_seconds(2);
    take_answers(fd);
    close(fd);
    turns(2);
}

/* Up to the next mark; what is behind it is left. */
static struct slice next_connection(struct slice *rest) {
    const char *mark = rest->length ? memmem(rest->bytes, rest->length, "\0\xff", 2) : NULL;
    struct slice text = {rest->bytes, mark ? (size_t)(mark - rest->bytes) : rest->length};
    size_t taken = text.length + (mark ? 2 : 0);
    *rest = (struct slice){rest->bytes + taken, rest->length - taken};
    return text;
}

/* ---- afterwards ---- */

static void end_and_look(void) {
    struct socket_peer peer;
    link_stop_following();
    pause_end();
    client_close_all();
    turns(3);
    for (int fd; (fd = socket_accept(listener, &peer)) >= 0;) close(fd);
    ASSERT(link_state() == LINK_NONE && client_count() == 0);
    for (int i = 0; i < keyspace_databases(); i++) {
        keyspace_check(keyspace_at(i));
        (void)edit_flush(keyspace_at(i), LAZYFREE_NOW);
    }
    stream_close();
    history_begin();
    turns(1);
}

/* What a first connection makes and the next one uses again is no leak: it is made before all that
 * is compared with the memory of then. */
static void note_baseline(void) {
    ASSERT(fchdir(folder) == 0);
    connection(SLICE("+CONTINUE\r\nSET a b\r\n"), true, 10, false);
    end_and_look();
    dataset_bytes = memory_used(MEMORY_DATASET);
    clients_bytes = memory_used(MEMORY_CLIENTS);
    replication_bytes = memory_used(replication_memory);
    ASSERT(fchdir(home) == 0);
}

static void look_for_leaks(void) {
    ASSERT(memory_used(MEMORY_DATASET) == dataset_bytes);
    ASSERT(memory_used(MEMORY_CLIENTS) == clients_bytes);
    ASSERT(memory_used(replication_memory) <= replication_bytes + KEPT_BYTES);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const loads[] = {"disabled", "on-empty-db", "swapdb", "disabled"};
    if (size < 2) return 0;
    if (size > SAID_BYTES_MAX) size = SAID_BYTES_MAX;
    char *exact = memory_alloc(size, MEMORY_OTHER);
    memcpy(exact, data, size);
    struct slice rest = {exact + 2, size - 2};
    bool at_once = data[0] % 4 == 1 || data[0] % 4 == 2;
    ASSERT(fchdir(folder) == 0);
    set("repl-diskless-load", loads[data[0] % 4]);
    for (int i = 0; i < CONNECTIONS_MAX && rest.length; i++)
        connection(next_connection(&rest), data[0] & 4, 1 + (size_t)data[1] * data[1], at_once);
    end_and_look();
    look_for_leaks();
    memory_free(exact, MEMORY_OTHER);
    ASSERT(fchdir(home) == 0);
    return 0;
}
