/* SPDX-License-Identifier: BSD-3-Clause
 * What tests of the log's file share: a folder of their own, options, and a host that notes what it
 * is told.
 */
#ifndef EVENKEEL_TESTS_AOF_AOF_UNIT_H
#define EVENKEEL_TESTS_AOF_AOF_UNIT_H
#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <sys/stat.h>

#include "base/faults.h"
#include "base/seed.h"

#include "aof/aof_options.h"
#include "aof/aof_writer.h"
#include "base/clock.h"
#include "base/log.h"
#include "io/background.h"
#include "io/file.h"
#include "option/option.h"

#define UNIT_TEXT_BYTES ((size_t)4 << 20)
#define UNIT_RECORDS_MAX 65536

static struct {
    uint64_t record, allowed;
    bool holds;
    int error;
    unsigned holds_told, failing_told, deaths;
    jmp_buf at_death;
    char text[UNIT_TEXT_BYTES]; /* all that was appended */
    size_t length;
    size_t lengths[UNIT_RECORDS_MAX]; /* of the text when a record ended */
} told;

static char unit_folder[] = "/tmp/evenkeel-aof-XXXXXX";
static char unit_path[128];

static uint64_t host_record(void) { return told.record; }
static void host_allow(uint64_t record) {
    assert_true(record <= told.record);
    if (record > told.allowed) told.allowed = record;
}
static void host_hold(bool hold) {
    told.holds = hold;
    told.holds_told++;
}
static void host_failing(int error) {
    told.error = error;
    told.failing_told++;
}
static void __attribute__((noreturn)) host_die(void) {
    told.deaths++;
    longjmp(told.at_death, 1);
}
static void host_wake(void) {}

static const struct aof_writer_host unit_host = {host_record,  host_allow, host_hold,
                                                 host_failing, host_die,   host_wake};

static void set_option(const char *name, const char *value) {
    char reason[OPTION_REASON_BYTES];
    const struct slice word = slice_of(value);
    assert_true(option_set(option_find(slice_of(name)), &word, 1, OPTION_FROM_CONFIG_SET, reason,
                           sizeof(reason)));
}

static int open_log(const char *path) {
    int fd = system_open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    return fd;
}

/* A unit of `length` bytes: another record. */
static void append(size_t length) {
    char *out = aof_queue_reserve(&aof_writer_queue, length);
    assert_true(told.length + length <= UNIT_TEXT_BYTES);
    for (size_t i = 0; i < length; i++) {
        char c = (char)('a' + (told.length + i) * 7 / 3 % 26);
        out[i] = told.text[told.length + i] = c;
    }
    told.length += length;
    aof_queue_commit(&aof_writer_queue, out + length);
    told.record++;
    assert_true(told.record < UNIT_RECORDS_MAX);
    told.lengths[told.record] = told.length;
}

/* So many bytes of it were answered for. */
static inline size_t answered(void) { return told.lengths[told.allowed]; }

/* What the file has is what was appended, up to some byte, or all. */
static size_t assert_prefix(const char *path) {
    struct buffer b;
    buffer_init(&b, MEMORY_OTHER);
    assert_true(file_read(path, UNIT_TEXT_BYTES * 2, &b));
    assert_true(b.length <= told.length);
    if (b.length) assert_memory_equal(b.bytes, told.text, b.length);
    size_t length = b.length;
    buffer_free(&b);
    return length;
}

static inline void assert_whole(const char *path) {
    assert_int_equal(assert_prefix(path), told.length);
}

/* The other thread has done what it was asked for, and that is noted. */
static void settle(void) {
    background_drain(&aof_writer_jobs);
    aof_writer_turn();
}

/* Syncs wait while the gate is shut. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool shut;
    unsigned waiting;
} gate = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false, 0};

static void at_gate(const struct fault_change *change) {
    if (change->call != FAULT_FSYNC) return;
    pthread_mutex_lock(&gate.lock);
    gate.waiting++;
    pthread_cond_broadcast(&gate.changed);
    while (gate.shut) pthread_cond_wait(&gate.changed, &gate.lock);
    gate.waiting--;
    pthread_mutex_unlock(&gate.lock);
}

static void set_gate(bool shut) {
    pthread_mutex_lock(&gate.lock);
    gate.shut = shut;
    pthread_cond_broadcast(&gate.changed);
    pthread_mutex_unlock(&gate.lock);
}

static inline void await_sync(void) {
    pthread_mutex_lock(&gate.lock);
    while (!gate.waiting) pthread_cond_wait(&gate.changed, &gate.lock);
    pthread_mutex_unlock(&gate.lock);
}

static int unit_setup(void **state) {
    log_set_level(LOG_LEVEL_WARNING);
    faults_before_change = at_gate;
    clock_use_fixed(INT64_C(1700000000000000), INT64_C(1000000000000));
    aof_options_register(NULL);
    assert_non_null(mkdtemp(unit_folder));
    snprintf(unit_path, sizeof(unit_path), "%s/log.aof", unit_folder);
    return 0;
}

static int unit_teardown(void **state) {
    background_stop();
    option_reset_all();
    char command[160];
    snprintf(command, sizeof(command), "rm -rf %s", unit_folder);
    return system(command);
}

/* Before each test: no file, options as they are by default. */
static int unit_begin(void **state) {
    faults_clear();
    set_gate(false);
    unlink(unit_path);
    memset(&told, 0, sizeof(told));
    set_option("appendfsync", "everysec");
    set_option("aof-write-thread", "no");
    set_option("aof-queue-age-max", "2000");
    set_option("aof-queue-bytes-max", "256mb");
    aof_writer_open(&unit_host, open_log(unit_path), 0);
    return 0;
}

static int unit_end(void **state) {
    set_gate(false);
    faults_clear();
    if (aof_writer_is_open()) aof_writer_close();
    background_drain(&aof_writer_jobs);
    background_drain(&background_close);
    return 0;
}
#endif
