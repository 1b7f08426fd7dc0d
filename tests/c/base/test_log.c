/* SPDX-License-Identifier: BSD-3-Clause
 * The log's lines, targets and levels, with the clock standing still. */
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "faults.h"
#include "seed.h"

/* A fixed zone with daylight saving time, which needs no zone files. */
#define ZONE "EST5EDT,M3.2.0,M11.1.0"
#define MOMENT INT64_C(1795239669956789) /* 21 Nov 2026 00:41:09.956 in that zone */

static char folder[] = "/tmp/test_log.XXXXXX";
static char path[100], contents[20000], endless[5000];

static int make_folder(void **state) {
    setenv("TZ", ZONE, 1);
    tzset();
    umask(022); /* the mode of files is looked at */
    if (mkdtemp(folder) == NULL) return -1;
    snprintf(path, sizeof(path), "%s/log", folder);
    return 0;
}

static int remove_folder(void **state) { return rmdir(folder); }

static int open_log(void **state) {
    clock_use_fixed(MOMENT, 0);
    log_set_level(LOG_LEVEL_DEBUG);
    log_set_role('M');
    return log_set_file(path) ? 0 : -1;
}

static int close_log(void **state) {
    clock_use_system();
    return log_set_file("") && unlink(path) == 0 ? 0 : -1;
}

/* What the log holds now; it is empty afterwards. */
static const char *take_log(void) {
    int file = open(path, O_RDWR);
    assert_true(file >= 0);
    ssize_t length = read(file, contents, sizeof(contents) - 1);
    assert_true(length >= 0);
    contents[length] = '\0';
    assert_int_equal(ftruncate(file, 0), 0);
    close(file);
    return contents;
}

static void assert_line(const char *rest) {
    char expected[3000];
    snprintf(expected, sizeof(expected), "%d:%s\n", (int)getpid(), rest);
    assert_string_equal(take_log(), expected);
}

static void test_line_format(void **state) {
    log_notice("text %d", 5);
    assert_line("M 21 Nov 2026 00:41:09.956 * text 5");
    log_debug("a");
    assert_line("M 21 Nov 2026 00:41:09.956 . a");
    log_verbose("b");
    assert_line("M 21 Nov 2026 00:41:09.956 - b");
    log_set_role('S');
    log_warning("c");
    assert_line("S 21 Nov 2026 00:41:09.956 # c");
    log_raw(LOG_LEVEL_WARNING, "as\nit is %d\n");
    assert_string_equal(take_log(), "as\nit is %d\n");
    struct stat facts;
    assert_int_equal(stat(path, &facts), 0);
    assert_int_equal(facts.st_mode & 0777, 0644);
}

static void test_from_signal(void **state) {
    log_set_level(LOG_LEVEL_WARNING);
    log_from_signal("Received it");
    assert_line("signal-handler (1795239669) Received it");
    char text[3000];
    memset(text, 'x', sizeof(text));
    text[2999] = '\0';
    errno = 1234;
    log_from_signal(text);
    assert_int_equal(errno, 1234);
    size_t head = strcspn(take_log(), "x");
    assert_int_equal(strlen(contents), head + LOG_LINE_BYTES_MAX - 1 + 1);
}

static void test_levels(void **state) {
    for (int lowest = LOG_LEVEL_DEBUG; lowest <= LOG_LEVEL_WARNING; lowest++) {
        log_set_level((enum log_level)lowest);
        assert_int_equal(log_level(), lowest);
        for (int level = LOG_LEVEL_DEBUG; level <= LOG_LEVEL_WARNING; level++) {
            log_message((enum log_level)level, "x");
            log_raw((enum log_level)level, "y\n");
            assert_int_equal(strstr(take_log(), "x\ny\n") != NULL, level >= lowest);
        }
    }
}

static void test_long_text_is_cut(void **state) {
    char text[3000];
    memset(text, 'x', sizeof(text));
    for (int length = LOG_LINE_BYTES_MAX - 3; length < LOG_LINE_BYTES_MAX + 3; length++) {
        log_notice("%.*s", length, text);
        size_t head = strcspn(take_log(), "x");
        int kept = length < LOG_LINE_BYTES_MAX ? length : LOG_LINE_BYTES_MAX - 1;
        assert_int_equal(strspn(contents + head, "x"), kept);
        assert_string_equal(contents + head + kept, "\n");
    }
}

static void test_targets(void **state) {
    char other[200];
    snprintf(other, sizeof(other), "%s/none/log", folder);
    errno = 0;
    assert_false(log_set_file(other));
    assert_int_equal(errno, ENOENT);
    log_notice("still here");
    assert_non_null(strstr(take_log(), "still here"));
    memset(endless, 'x', sizeof(endless) - 1);
    assert_false(log_set_file(endless));
    assert_int_equal(errno, ENAMETOOLONG);
    /* Rotation: the next line makes the file anew. */
    snprintf(other, sizeof(other), "%s/rotated", folder);
    log_notice("first");
    assert_int_equal(rename(path, other), 0);
    log_notice("second");
    assert_null(strstr(take_log(), "first"));
    assert_non_null(strstr(contents, "second"));
    assert_int_equal(unlink(other), 0);
}

static void log_to_standard_output(void) {
    assert_true(log_set_file(NULL));
    log_notice("to the terminal");
}

static void log_to_closed_output(void) {
    assert_true(log_set_file(""));
    close(STDOUT_FILENO);
    log_notice("to nobody");
}

static void test_standard_output(void **state) {
    char out[1000];
    assert_int_equal(run_in_child(log_to_standard_output, out, sizeof(out)), 0);
    assert_non_null(strstr(out, "M 21 Nov 2026 00:41:09.956 * to the terminal\n"));
    assert_string_equal(take_log(), "");
    assert_int_equal(run_in_child(log_to_closed_output, out, sizeof(out)), 0);
}

/* Against the C library's calendar: leap days, ends of years, both changes of the clock. */
static void test_dates(void **state) {
    static const int64_t special[] = {18001,      951782399,  951782400,  951868800,  978325199,
                                      978325200,  1709182799, 1709183999, 1709269200, 1741503599,
                                      1741503600, 1762063199, 1762063200, 1762066799, 1762066800,
                                      4107560400, 4107542399, 4102462800, 4102444799, 253402300799};
    seed_from_environment();
    for (size_t i = 0; i < 4000; i++) {
        size_t count = sizeof(special) / sizeof(special[0]);
        int64_t moment = i < count ? special[i] : 100000 + (int64_t)random_below(8000000000);
        int msec = (int)random_below(1000);
        clock_use_fixed(moment * 1000000 + msec * 1000, 0);
        log_notice("x");
        time_t seconds = (time_t)moment;
        struct tm local;
        localtime_r(&seconds, &local);
        char date[100], rest[200];
        strftime(date, sizeof(date), "%d %b %Y %H:%M:%S", &local);
        snprintf(rest, sizeof(rest), "M %s.%03d * x", date, msec);
        assert_line(rest);
    }
}

static void test_syslog_can_be_switched(void **state) {
    log_set_syslog(true, "test_log", 8); /* LOG_USER */
    log_notice("to both");
    assert_non_null(strstr(take_log(), "to both"));
    log_set_syslog(false, NULL, 0);
    log_notice("to one");
    assert_non_null(strstr(take_log(), "to one"));
}

#define WITH_LOG(function) cmocka_unit_test_setup_teardown(function, open_log, close_log)

/* Writes that take a byte, or are interrupted, still give whole lines. */
static void test_in_pieces(void **state) {
    faults_cut(1, 3, 30);
    log_notice("in pieces");
    faults_clear();
    assert_line("M 21 Nov 2026 00:41:09.956 * in pieces");
}

/* A file that cannot be opened is refused, and the log goes on to the old one; one that cannot be
 * written any more loses lines, not the caller's errno. */
static void test_failing_file(void **state) {
    faults_fail(FAULT_OPEN, EACCES, 0, 1, "other");
    assert_false(log_set_file("/tmp/other"));
    assert_int_equal(errno, EACCES);
    faults_fail(FAULT_WRITE, ENOSPC, 0, 1, "test_log");
    errno = ERANGE;
    log_notice("lost");
    faults_fail(FAULT_OPEN, EMFILE, 0, 1, "test_log");
    log_notice("lost too");
    assert_int_equal(errno, ERANGE);
    faults_clear();
    log_notice("written");
    assert_line("M 21 Nov 2026 00:41:09.956 * written");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_LOG(test_line_format), WITH_LOG(test_from_signal),
        WITH_LOG(test_levels),      WITH_LOG(test_long_text_is_cut),
        WITH_LOG(test_targets),     WITH_LOG(test_standard_output),
        WITH_LOG(test_dates),       WITH_LOG(test_syslog_can_be_switched),
        WITH_LOG(test_in_pieces),   WITH_LOG(test_failing_file),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
