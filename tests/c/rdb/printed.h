/* SPDX-License-Identifier: BSD-3-Clause
 * What a checker prints, files for it, and what it is answered.
 */
#ifndef EVENKEEL_TESTS_RDB_PRINTED_H
#define EVENKEEL_TESTS_RDB_PRINTED_H
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/faults.h"

#include "server/whole.h"

static char printed_folder[] = "/tmp/evenkeel-printed-XXXXXX";
static char printed_path[64], printed_answer[64];
static char printed[16384]; /* what was printed last */
static FILE *printed_to;
static int printed_stdout;

static int printed_open(void **state) {
    if (!mkdtemp(printed_folder)) return 1;
    snprintf(printed_path, sizeof(printed_path), "%s/file", printed_folder);
    snprintf(printed_answer, sizeof(printed_answer), "%s/answer", printed_folder);
    return whole_open();
}

static int printed_close(void **state) {
    unlink(printed_path);
    unlink(printed_answer);
    return rmdir(printed_folder);
}

static void write_bytes(const char *path, struct slice bytes) {
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes.bytes, 1, bytes.length, f), bytes.length);
    assert_int_equal(fclose(f), 0);
}

static void write_file(struct slice bytes) { write_bytes(printed_path, bytes); }

static inline size_t file_size(void) {
    struct stat status;
    assert_int_equal(stat(printed_path, &status), 0);
    return (size_t)status.st_size;
}

/* What is read from the standard input from here on. */
static inline void answer(const char *text) {
    write_bytes(printed_answer, slice_of(text));
    assert_non_null(freopen(printed_answer, "r", stdin));
}

static void printed_begin(void) {
    fflush(stdout);
    printed_stdout = dup(STDOUT_FILENO);
    printed_to = tmpfile();
    assert_non_null(printed_to);
    assert_true(dup2(fileno(printed_to), STDOUT_FILENO) >= 0);
}

static void printed_end(void) {
    fflush(stdout);
    assert_true(dup2(printed_stdout, STDOUT_FILENO) >= 0);
    close(printed_stdout);
    ssize_t length = pread(fileno(printed_to), printed, sizeof(printed) - 1, 0);
    assert_in_range(length, 0, sizeof(printed) - 2);
    printed[length] = '\0';
    fclose(printed_to);
}

static void assert_printed(const char *text) {
    if (!strstr(printed, text)) fail_msg("no \"%s\" in what was printed:\n%s", text, printed);
}

static inline void assert_not_printed(const char *text) {
    if (strstr(printed, text)) fail_msg("\"%s\" in what was printed:\n%s", text, printed);
}
#endif
