/* SPDX-License-Identifier: BSD-3-Clause
 * Scripts: the queue's bounds, retries and their delays under a clock that the test moves, exit
 * codes, the limit of time, and what a real child is handed: words, descriptors, signals.
 *
 * The scripts are written by the test; each notes its calls in a file of its own.
 */
#include "sentinel/script.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "io/child.h"
#include "sentinel/event.h"
#include "sentinel/watching.h"

/* A turn waits 10 ms at most, and less where a child has a timer: a child that needs a minute
 * hangs. */
#define LOOP_TURNS_MAX 60000

static struct loop *loop;
static struct primary *p;
static char folder[] = "/tmp/evenkeel-script-XXXXXX";
static char script_path[64], notes_path[64], notes_text[8192];

static void pass_msec(int64_t msec) {
    clock_advance_usec(msec * 1000);
    clock_refresh();
}

/* Makes the script run these lines of shell; `$NOTES` is its file. */
static void write_script(const char *lines) {
    FILE *file = fopen(script_path, "we");
    assert_non_null(file);
    fprintf(file, "#!/bin/sh\nNOTES=%s\n%s\n", notes_path, lines);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(script_path, 0700), 0);
    unlink(notes_path);
}

static const char *read_notes(void) {
    char *const text = notes_text;
    text[0] = '\0';
    int fd = open(notes_path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return text;
    ssize_t got = read(fd, text, sizeof(notes_text) - 1);
    text[got > 0 ? got : 0] = '\0';
    close(fd);
    return text;
}

/* Turns the loop until so many scripts run. The fixed time stands. */
static void turn_until_running(size_t count) {
    for (int i = 0; i < LOOP_TURNS_MAX && sentinel_script_running() != count; i++)
        loop_turn(loop, 10);
    assert_int_equal(sentinel_script_running(), count);
}

static size_t notes_lines(void) {
    size_t lines = 0;
    for (const char *at = read_notes(); *at; at++) lines += *at == '\n';
    return lines;
}

/* Waits until the scripts that run have written so many lines. */
static void await_lines(size_t count) {
    for (int i = 0; i < LOOP_TURNS_MAX && notes_lines() < count; i++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    assert_int_equal(notes_lines(), count);
}

/* Runs what is due, and waits for its end. */
static void run_due(void) {
    sentinel_script_step();
    turn_until_running(0);
}

static void call_script(const char *text) {
    sentinel_event(EVENT_MONITOR, &p->instance, "%s", text);
}

static const struct child_observer *const no_observers[] = {NULL};

static int begin(void **state) {
    watching_begin();
    loop = loop_create();
    child_open(loop, no_observers);
    sentinel_script_open();
    p = watching_add("m", 7000, 1);
    p->notification_script = memory_strdup(script_path, MEMORY_OTHER);
    p->reconfig_script = memory_strdup(script_path, MEMORY_OTHER);
    write_script("echo \"$*\" >>$NOTES");
    return 0;
}

/* Empties the queue: every call ends with its next run. */
static void drain_queue(void) {
    write_script("exit 0");
    for (int i = 0; i < 300 && sentinel_script_queued(); i++) {
        pass_msec(INT64_C(100000000));
        run_due();
    }
    assert_int_equal(sentinel_script_queued(), 0);
}

static int end(void **state) {
    drain_queue();
    child_open(NULL, NULL);
    loop_free(loop);
    sentinel_event_set_notifier(NULL);
    watching_end();
    return 0;
}

static void test_words(void **state) {
    struct sentinel_address from = {.port = 1}, to = {.port = 2};
    sentinel_address_set(&from, SLICE("127.0.0.1"), 7000);
    sentinel_address_set(&to, SLICE("127.0.0.2"), 7001);
    call_script("quorum 1");
    sentinel_script_reconfigure(p, true, &from, &to);
    sentinel_script_reconfigure(p, false, &from, &to);
    sentinel_event(EVENT_TILT, NULL, "x");           /* about nothing: no script */
    sentinel_event(EVENT_SLAVE, &p->instance, NULL); /* no warning: no script */
    assert_int_equal(sentinel_script_queued(), 3);
    assert_int_equal(sentinel_script_running(), 0);
    run_due();
    assert_int_equal(sentinel_script_queued(), 0);
    const char *notes = read_notes(); /* they ran side by side, so in any order */
    assert_non_null(strstr(notes, "+monitor master m 127.0.0.1 7000 quorum 1\n"));
    assert_non_null(strstr(notes, "m leader start 127.0.0.1 7000 127.0.0.2 7001\n"));
    assert_non_null(strstr(notes, "m observer start 127.0.0.1 7000 127.0.0.2 7001\n"));
    sentinel_address_clear(&from);
    sentinel_address_clear(&to);
}

/* Exit code 1 and signals: ten runs, 30 s, 60 s, 120 s ... after each other. */
static void assert_retries(const char *lines, const char *error) {
    int64_t delay = 30000;
    write_script(lines);
    call_script("x");
    watching_forget();
    for (int run = 1; run < 10; run++, delay *= 2) {
        run_due();
        assert_int_equal(sentinel_script_queued(), 1);
        pass_msec(delay - 1);
        sentinel_script_step();
        assert_int_equal(sentinel_script_running(), 0);
        pass_msec(1);
    }
    assert_string_equal(watching_told, "");
    run_due();
    assert_int_equal(sentinel_script_queued(), 0);
    char expected[200];
    snprintf(expected, sizeof(expected), "-script-error %s %s\n", script_path, error);
    assert_string_equal(watching_told, expected);
}

static void test_retries(void **state) {
    assert_retries("exit 1", "0 1");
    assert_retries("kill -9 $$", "9 0");
}

static void assert_ends_at_once(const char *lines, const char *error) {
    char expected[200] = "";
    write_script(lines);
    call_script("x");
    watching_forget();
    run_due();
    assert_int_equal(sentinel_script_queued(), 0);
    if (*error) snprintf(expected, sizeof(expected), "-script-error %s %s\n", script_path, error);
    assert_string_equal(watching_told, expected);
}

static void test_codes_that_are_final(void **state) {
    assert_ends_at_once("exit 0", "");
    assert_ends_at_once("exit 2", "0 2");
    assert_ends_at_once("exit 77", "0 77");
    write_script("");
    assert_int_equal(chmod(script_path, 0600), 0); /* root may execute nothing without an x */
    call_script("x");
    watching_forget();
    run_due();
    assert_int_equal(sentinel_script_queued(), 0);
    assert_non_null(strstr(watching_told, " 0 2\n"));
}

static void test_a_script_that_lasts_is_killed(void **state) {
    char expected[200];
    write_script("echo on >>$NOTES\nwhile :; do sleep 1; done");
    call_script("x");
    watching_forget();
    sentinel_script_step();
    assert_int_equal(sentinel_script_running(), 1);
    pass_msec(60000);
    sentinel_script_step();
    assert_string_equal(watching_told, "");
    pass_msec(1);
    sentinel_script_step();
    sentinel_script_step(); /* said once */
    snprintf(expected, sizeof(expected), "-script-timeout %s ", script_path);
    assert_non_null(strstr(watching_told, expected));
    assert_ptr_equal(strchr(watching_told, '\n'), strrchr(watching_told, '\n'));
    turn_until_running(0);
    assert_int_equal(sentinel_script_queued(), 1); /* a signal ended it: again */
}

static void test_bounds(void **state) {
    write_script("echo \"$2\" >>$NOTES\nwhile [ -e $NOTES ]; do sleep 0.02; done");
    for (int i = 0; i < 16; i++) call_script("runs");
    sentinel_script_step();
    assert_int_equal(sentinel_script_running(), 16);
    for (int i = 0; i < 240; i++) call_script("waits");
    assert_int_equal(sentinel_script_queued(), 256);
    sentinel_script_step();
    assert_int_equal(sentinel_script_running(), 16); /* no place is free */
    /* A further one takes the place of the oldest that waits, never of one that runs. */
    for (int i = 0; i < 240; i++) call_script("later");
    assert_int_equal(sentinel_script_queued(), 256);
    assert_int_equal(sentinel_script_running(), 16);
    await_lines(16);                      /* none writes the file anew from now on */
    write_script("echo \"$2\" >>$NOTES"); /* without the file the running ones end */
    turn_until_running(0);
    assert_int_equal(sentinel_script_queued(), 240);
    for (int i = 0; i < 15; i++) run_due();
    assert_int_equal(sentinel_script_queued(), 0);
    assert_null(strstr(read_notes(), "waits"));
    assert_non_null(strstr(read_notes(), "later"));
}

/* Nothing of this process but its words, environment and first three descriptors. */
static void test_nothing_is_inherited(void **state) {
    int leaked = open("/dev/null", O_RDONLY); /* not closed by an exec */
    assert_true(leaked > 2);
    setenv("EVENKEEL_SCRIPT_TEST", "kept", 1);
    signal(SIGPIPE, SIG_IGN);
    write_script(
        "echo \"$EVENKEEL_SCRIPT_TEST\" >>$NOTES\n"
        "(cd /proc/self/fd && for fd in *; do [ $fd -gt 9 ] || [ -e /proc/$$/fd/$fd ] && "
        "echo fd-$fd; done | sort -u) >>$NOTES\n"
        /* Of a program that the shell runs, because the shell blocks signals while it waits. */
        "grep -E 'Sig(Ign|Blk)' /proc/self/status >>$NOTES");
    call_script("x");
    run_due();
    const char *notes = read_notes();
    char name[32];
    snprintf(name, sizeof(name), "fd-%d\n", leaked);
    assert_non_null(strstr(notes, "kept\n"));
    assert_null(strstr(notes, name));
    assert_non_null(strstr(notes, "SigBlk:\t0000000000000000\n"));
    const char *ignored = strstr(notes, "SigIgn:\t");
    assert_non_null(ignored);
    /* Above SIGSYS there are those that the C library keeps for itself. */
    assert_int_equal(strtoull(ignored + strlen("SigIgn:\t"), NULL, 16) & 0x7fffffff, 0);
    close(leaked);
}

static int begin_group(void **state) {
    if (!mkdtemp(folder)) return -1;
    snprintf(script_path, sizeof(script_path), "%s/script", folder);
    snprintf(notes_path, sizeof(notes_path), "%s/notes", folder);
    return 0;
}

static int end_group(void **state) {
    unlink(script_path);
    unlink(notes_path);
    return rmdir(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_words, begin, end),
        cmocka_unit_test_setup_teardown(test_retries, begin, end),
        cmocka_unit_test_setup_teardown(test_codes_that_are_final, begin, end),
        cmocka_unit_test_setup_teardown(test_a_script_that_lasts_is_killed, begin, end),
        cmocka_unit_test_setup_teardown(test_bounds, begin, end),
        cmocka_unit_test_setup_teardown(test_nothing_is_inherited, begin, end),
    };
    return cmocka_run_group_tests_name("sentinel/script", tests, begin_group, end_group);
}
