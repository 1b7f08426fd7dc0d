/* SPDX-License-Identifier: BSD-3-Clause
 * redis-check-rdb: the loader reads the file, and each thing that it reports is printed on a line:
 *
 *     [offset N] what the file has before this place
 *     [additional info] of a fault
 *     [info] sums
 *
 * These lines have the form of 6.2's, since scripts read them; the exit status says the rest. Every
 * check of a load is made; 6.2 makes fewer with `sanitize-dump-payload no`.
 */
#include "rdb/check_rdb.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/system.h"
#include "io/file_stream.h"
#include "rdb/rdb_load.h"

static void print_line(uint64_t offset, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void print_line(uint64_t offset, const char *format, ...) {
    va_list arguments;
    printf("[offset %" PRIu64 "] ", offset);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
}

/* ---- what the file has ---- */

/* Bytes that a line of text cannot show are escaped, so that foreign text stays on its line. */
static void print_text(struct slice text) {
    for (size_t i = 0; i < text.length; i++) {
        unsigned char byte = (unsigned char)text.bytes[i];
        if (byte >= ' ' && byte < 0x7f)
            putchar(byte);
        else
            printf("\\x%02x", byte);
    }
}

static void hear_auxiliary(uint64_t offset, struct slice name, struct slice value) {
    printf("[offset %" PRIu64 "] AUX FIELD ", offset);
    print_text(name);
    fputs(" = '", stdout);
    print_text(value);
    puts("'");
}

static void hear_database(uint64_t offset, uint64_t index) {
    print_line(offset, "Selecting DB ID %" PRIu64, index);
}

static void hear_module(uint64_t offset, const char *name) {
    print_line(offset, "MODULE AUX or value of '%s': passed over", name);
}

static void hear_empty(uint64_t offset, const char *key) {
    print_line(offset, "Key '%s' has no members: a server passes it over", key);
}

static void hear_checksum(uint64_t offset, enum rdb_checksum what) {
    if (what == RDB_CHECKSUM_RIGHT)
        print_line(offset, "Checksum OK");
    else
        print_line(offset, "RDB file was saved with checksum disabled: no check performed.");
}

static const struct rdb_listener listener = {hear_auxiliary, hear_database, hear_module, hear_empty,
                                             hear_checksum};

/* ---- what came of it ---- */

/* The words of 6.2. */
static const char *const stages[RDB_STAGES] = {[RDB_AT_START] = "start",
                                               [RDB_AT_MARK] = "read-type",
                                               [RDB_AT_DEADLINE] = "read-expire",
                                               [RDB_AT_KEY] = "read-key",
                                               [RDB_AT_VALUE] = "read-object-value",
                                               [RDB_AT_CHECKSUM] = "check-sum",
                                               [RDB_AT_LENGTH] = "read-len",
                                               [RDB_AT_AUXILIARY] = "read-aux",
                                               [RDB_AT_MODULE] = "read-module-aux"};

static void print_fault(const struct rdb_loaded *result) {
    puts("--- RDB ERROR DETECTED ---");
    print_line(result->offset, "%s", result->reason);
    printf("[additional info] While doing: %s\n", stages[result->stage]);
    if (result->has_key) printf("[additional info] Reading key '%s'\n", result->key);
    if (result->form != RDB_NO_FORM) {
        printf("[additional info] Reading type %d (%s)\n", result->form,
               rdb_form_name(result->form));
        printf("[additional info] The key begins at offset %" PRIu64 ", in database %" PRId64 "\n",
               result->key_offset, result->database);
    }
}

bool check_rdb_source(struct source *in) {
    struct rdb_loaded result;
    const struct rdb_loading how = {.checks_for = &listener};
    bool good = rdb_load(in, &how, &result);
    if (good)
        print_line(source_offset(in), "\\o/ RDB looks OK! \\o/");
    else
        print_fault(&result);
    printf("[info] %" PRIu64 " keys read\n[info] %" PRIu64 " expires\n[info] %" PRIu64
           " already expired\n",
           result.read, result.with_deadline, result.expired);
    return good;
}

int check_rdb(const char *path) {
    print_line(0, "Checking RDB file %s", path);
    int fd = system_open(path, O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0) {
        printf("Cannot open it: %s\n", strerror(errno));
        return 1;
    }
    struct file_source f;
    file_source_open(&f, fd, -1);
    bool good = check_rdb_source(&f.source);
    file_source_close(&f);
    system_close(fd);
    return good ? 0 : 1;
}
