/* SPDX-License-Identifier: BSD-3-Clause
 * redis-check-aof. What it prints has the form of 6.2's lines, since scripts read them:
 *
 *     0x              1b: Expected prefix '*', got: '!'
 *     AOF analyzed: size=30, ok_up_to=27, ok_up_to_line=8, diff=3
 *
 * A file is sound up to its last whole command that stands outside a transaction, or ends one. So a
 * file that --fix has cut can be loaded with aof-load-truncated no. Commands are not run, and so
 * not judged.
 *
 * A server may be writing to the file. Bytes that it adds during the check are not read. Where the
 * file has grown, its end may be sound after all, so the check only reports the growth and cuts off
 * nothing.
 */
#include "aof/check_aof.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "aof/aof_read.h"
#include "base/system.h"
#include "io/file.h"
#include "io/file_stream.h"
#include "rdb/check_rdb.h"
#include "rdb/rdb_format.h"

static void print_fault(uint64_t offset, const char *fault) {
    printf("0x%16" PRIx64 ": %s\n", offset, fault);
}

/* Whether the file begins with a snapshot. */
static bool has_preamble(struct source *in) {
    if (source_at_end(in)) return false;
    struct slice window = source_window(in);
    return window.length >= strlen(RDB_MAGIC) &&
           !memcmp(window.bytes, RDB_MAGIC, strlen(RDB_MAGIC));
}

static bool check_preamble(struct source *in) {
    if (!has_preamble(in)) return true;
    puts("The AOF appears to start with an RDB preamble.\nChecking the RDB preamble to start:");
    bool good = check_rdb_source(in);
    source_checksum_begin(in, NULL, 0);
    puts(good ? "RDB preamble is OK, proceeding with AOF tail..."
              : "RDB preamble of AOF file is not sane, aborting.");
    return good;
}

/* Why the command is wrong at its place; NULL = it is not. */
static const char *check_frame(const struct aof_reader *r, bool *within) {
    if (aof_read_is(r, "multi")) {
        if (*within) return "Unexpected MULTI";
        *within = true;
    } else if (aof_read_is(r, "exec")) {
        if (!*within) return "Unexpected EXEC";
        *within = false;
    }
    return NULL;
}

/* Sets `*sound` to where the commands are sound up to. False where reading failed, which is no
 * fault of the file. */
static bool check_commands(struct aof_reader *r, uint64_t *sound) {
    const char *fault = NULL;
    enum aof_read status;
    bool within = false;
    *sound = source_offset(r->in);
    while (!fault && (status = aof_read(r)) == AOF_READ_COMMAND) {
        fault = check_frame(r, &within);
        if (!fault && !within) *sound = r->end;
    }
    if (fault)
        print_fault(r->begin, fault);
    else if (status != AOF_READ_END)
        print_fault(r->offset, r->fault);
    else if (within)
        print_fault(r->begin, "Reached EOF before reading EXEC for MULTI");
    return fault || status != AOF_READ_FAILED;
}

/* The first character of the answer counts. */
static bool is_confirmed(void) {
    char answer[2];
    fputs("Continue? [y/N]: ", stdout);
    fflush(stdout);
    return fgets(answer, sizeof(answer), stdin) && (answer[0] == 'y' || answer[0] == 'Y');
}

static bool has_changed(int fd, uint64_t size) {
    struct stat about;
    if (fstat(fd, &about) == 0 && (uint64_t)about.st_size == size) return false;
    puts("The file is being written to: its size has changed since. Check it when nobody does.");
    return true;
}

static bool cut_checked_log(int fd, uint64_t size, uint64_t sound) {
    printf("This will shrink the AOF from %" PRIu64 " bytes, with %" PRIu64 " bytes, to %" PRIu64
           " bytes\n",
           size, size - sound, sound);
    if (!is_confirmed()) {
        puts("Aborting...");
        return false;
    }
    if (has_changed(fd, size)) return false;
    bool good = file_truncate(fd, (off_t)sound) && file_sync(fd);
    puts(good ? "Successfully truncated AOF" : "Failed to truncate AOF");
    return good;
}

static bool check_and_fix(int fd, struct source *in, bool fix) {
    struct aof_reader r;
    uint64_t size = in->length, sound;
    if (!check_preamble(in)) return false;
    aof_reader_open(&r, in);
    r.only_names = true;
    bool good = check_commands(&r, &sound);
    printf("AOF analyzed: size=%" PRIu64 ", ok_up_to=%" PRIu64 ", ok_up_to_line=%" PRIu64
           ", diff=%" PRIu64 "\n",
           size, sound, r.line, size - sound);
    aof_reader_close(&r);
    if (!good) return false;
    if (sound == size) {
        puts("AOF is valid");
        return true;
    }
    if (has_changed(fd, size)) return false;
    if (fix) return cut_checked_log(fd, size, sound);
    puts("AOF is not valid. Use the --fix option to try fixing it.");
    return false;
}

int check_aof(const char *path, bool fix) {
    struct file_source f;
    /* O_NONBLOCK: a pipe without a writer is opened at once, too, and refused below.
     */
    int fd = system_open(path, (fix ? O_RDWR : O_RDONLY) | O_NONBLOCK | O_CLOEXEC, 0);
    if (fd < 0) {
        printf("Cannot open file: %s\n", path);
        return 1;
    }
    file_source_open(&f, fd, -1);
    file_source_end_at_length(&f);
    bool good = false;
    if (f.source.length == SOURCE_LENGTH_UNKNOWN)
        printf("Not a regular file: %s\n", path);
    else if (f.source.length == 0)
        printf("Empty file: %s\n", path);
    else
        good = check_and_fix(fd, &f.source, fix);
    file_source_close(&f);
    system_close(fd);
    return good ? 0 : 1;
}
