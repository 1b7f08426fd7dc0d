/* SPDX-License-Identifier: BSD-3-Clause
 * Saves that walk, looked at: saves.h has the idea.
 */
#include "sim/saves.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/stream.h"
#include "io/background.h"
#include "rdb/rdb_load.h"
#include "sim/world.h"
#include "store/digest.h"
#include "store/entry.h"
#include "store/frontier.h"
#include "store/keyspace.h"
#include "store/keyspace_change.h"

#define PATH_BYTES 64

/* How a child says what it found. */
enum { EQUAL, DAMAGED, DIFFERENT };

static struct saver_job job; /* as it was given */
static uint64_t sum_at_begin;

/* A key with all that a snapshot has of it. */
struct sum {
    int database;
    uint64_t value;
};

static void add_entry(struct entry *e, void *context) {
    struct sum *sum = context;
    struct {
        uint64_t key;
        int64_t database, deadline;
        unsigned char digest[SHA1_BYTES];
    } all;
    memset(&all, 0, sizeof(all));
    struct slice key = entry_key(e);
    all.key = hash_bytes(key.bytes, key.length);
    all.database = sum->database;
    all.deadline = entry_deadline(e);
    digest_value(e, all.digest);
    sum->value += hash_bytes(&all, sizeof(all));
}

/* Of all data, keys that are due included. */
static uint64_t sum_up(void) {
    struct sum sum = {0};
    bool shown = keyspace_show_due(true);
    for (; sum.database < keyspace_databases(); sum.database++)
        keyspace_each(keyspace_at(sum.database), add_entry, &sum);
    keyspace_show_due(shown);
    return sum.value;
}

/* In a child: the simulation goes on without it. */
static int load_and_compare(struct slice file) {
    const struct rdb_loading how = {.keeps_expired = true};
    struct rdb_loaded loaded;
    struct source in;
    background_in_child();
    frontier_forget();
    for (int i = 0; i < keyspace_databases(); i++) keyspace_flush(keyspace_at(i), LAZYFREE_NOW);
    slice_source_init(&in, file);
    if (!rdb_load(&in, &how, &loaded)) return DAMAGED;
    return sum_up() == sum_at_begin ? EQUAL : DIFFERENT;
}

static void look_at(int fd) {
    struct stat about;
    int status = 0;
    if (fstat(fd, &about) || !S_ISREG(about.st_mode)) return;
    struct slice file = {NULL, (size_t)about.st_size};
    char *bytes = malloc(file.length + 1);
    char name[PATH_BYTES];
    snprintf(name, sizeof(name), "/proc/self/fd/%d", fd); /* which is for writing */
    int again = open(name, O_RDONLY | O_CLOEXEC);
    if (!bytes || again < 0 || pread(again, bytes, file.length, 0) != about.st_size) abort();
    close(again);
    file.bytes = bytes;
    pid_t pid = fork();
    if (pid == 0) syscall(SYS_exit_group, load_and_compare(file));
    if (pid < 0 || syscall(SYS_wait4, pid, &status, 0, NULL) != pid) abort();
    free(bytes);
    note("saves looked at", self->node, about.st_size, 0);
    world->saves++;
    if (!WIFEXITED(status) || WEXITSTATUS(status) == DAMAGED)
        find("what node %d has saved by a walk cannot be loaded", self->node);
    else if (WEXITSTATUS(status) != EQUAL)
        find("what node %d has saved by a walk is not the data of its beginning", self->node);
}

static int open_file(void *argument, int id) { return job.open(argument, id); }

static bool close_file(void *argument, int fd, int error) {
    if (!error && job.format != SAVER_COMMANDS) look_at(fd);
    return job.close(argument, fd, error);
}

void __wrap_walk_begin(const struct saver_job *given, int id, void (*wake)(void)) {
    job = *given;
    sum_at_begin = sum_up();
    struct saver_job looked_at = job;
    looked_at.open = open_file;
    looked_at.close = close_file;
    __real_walk_begin(&looked_at, id, wake);
}
