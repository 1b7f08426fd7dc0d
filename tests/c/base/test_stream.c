/* SPDX-License-Identifier: BSD-3-Clause
 * Sinks and sources over memory, and over types that count, cut and fail.
 *
 * SEED=n runs the same random choices again; each run prints its seed.
 */
#include "base/stream.h"

#include <errno.h>

#include "base/seed.h"

/* A sum that knows the order of the bytes. */
static uint64_t order_sum(uint64_t sum, const void *bytes, size_t length) {
    const unsigned char *at = bytes;
    for (size_t i = 0; i < length; i++) sum = sum * 31 + at[i] + 1;
    return sum;
}

#define TEXT_BYTES 5000
static char text[TEXT_BYTES];

static size_t draw(size_t below) { return (size_t)random_below(below); }

/* ---- A sink and a source of a test's own ---- */

static struct {
    char taken[TEXT_BYTES * 2];
    size_t length, calls;
    size_t fails_at; /* bytes after which a call fails with ENOSPC */
} drain_log;

static bool drain_take(struct sink *s, const void *more, size_t length) {
    struct slice window = sink_window(s);
    drain_log.calls++;
    if (drain_log.length + window.length + length > drain_log.fails_at) {
        errno = ENOSPC;
        return false;
    }
    memcpy(drain_log.taken + drain_log.length, window.bytes, window.length);
    if (length) memcpy(drain_log.taken + drain_log.length + window.length, more, length);
    drain_log.length += window.length + length;
    return true;
}

static const struct sink_type taking = {.drain = drain_take};

static void taking_begin(struct sink *s, char *window, size_t window_bytes) {
    memset(&drain_log, 0, sizeof(drain_log));
    drain_log.fails_at = sizeof(drain_log.taken);
    sink_init(s, &taking, window, window_bytes);
}

static struct {
    size_t at, length, calls;
    int error; /* instead of the end */
} feed;

static ssize_t feed_read(struct source *s, void *bytes, size_t length) {
    feed.calls++;
    if (feed.at == feed.length) {
        errno = feed.error;
        return feed.error ? -1 : 0;
    }
    size_t given = 1 + draw(length);
    if (given > feed.length - feed.at) given = feed.length - feed.at;
    memcpy(bytes, text + feed.at, given);
    feed.at += given;
    return (ssize_t)given;
}

static const struct source_type feeding = {feed_read};

static void feeding_begin(struct source *s, char *window, size_t window_bytes, size_t length) {
    memset(&feed, 0, sizeof(feed));
    feed.length = length;
    source_init(s, &feeding, window, window_bytes, SOURCE_LENGTH_UNKNOWN);
}

/* ---- Sinks ---- */

static void test_sink_any_pieces(void **state) {
    char window[64];
    for (size_t room = 0; room <= sizeof(window); room++) {
        struct sink s;
        size_t at = 0;
        taking_begin(&s, window, room);
        sink_checksum_begin(&s, order_sum, 7);
        while (at < TEXT_BYTES) {
            size_t length = draw(100);
            if (length > TEXT_BYTES - at) length = TEXT_BYTES - at;
            sink_write(&s, text + at, length);
            at += length;
            assert_int_equal(sink_written(&s), at);
            if (draw(10) == 0) {
                assert_int_equal(sink_checksum(&s), order_sum(7, text, at));
            }
        }
        assert_true(sink_flush(&s));
        assert_int_equal(drain_log.length, TEXT_BYTES);
        assert_memory_equal(drain_log.taken, text, TEXT_BYTES);
        assert_int_equal(sink_checksum(&s), order_sum(7, text, TEXT_BYTES));
    }
}

static void test_sink_small_writes_share_a_call(void **state) {
    char window[64];
    struct sink s;
    taking_begin(&s, window, sizeof(window));
    for (int i = 0; i < 640; i++) sink_write_byte(&s, (unsigned char)i);
    assert_true(sink_flush(&s));
    assert_int_equal(drain_log.calls, 10);
}

static void test_sink_fails_once_and_for_all(void **state) {
    char window[16];
    struct sink s;
    taking_begin(&s, window, sizeof(window));
    drain_log.fails_at = 40;
    for (int i = 0; i < 100; i++) sink_write(&s, text, 10);
    assert_int_equal(sink_error(&s), ENOSPC);
    size_t calls = drain_log.calls;
    errno = 0;
    assert_false(sink_flush(&s));
    assert_int_equal(errno, ENOSPC);
    assert_int_equal(drain_log.calls, calls);
    assert_true(drain_log.length <= 40);
    assert_int_equal(sink_written(&s), 1000);
    sink_fail(&s, EIO);
    assert_int_equal(sink_error(&s), ENOSPC);
}

static void test_sink_failed_by_the_writer(void **state) {
    char window[16];
    struct sink s;
    taking_begin(&s, window, sizeof(window));
    sink_write(&s, "abc", 3);
    sink_fail(&s, ECANCELED);
    assert_false(sink_flush(&s));
    assert_int_equal(errno, ECANCELED);
    assert_int_equal(drain_log.calls, 0);
}

static void test_buffer_sink(void **state) {
    struct buffer out;
    buffer_init(&out, MEMORY_OTHER);
    buffer_append_c_string(&out, "before");
    struct buffer_sink b;
    buffer_sink_init(&b, &out);
    sink_checksum_begin(&b.sink, order_sum, 0);
    size_t at = 0;
    while (at < TEXT_BYTES) {
        size_t length = draw(draw(4) ? 9 : 900);
        if (length > TEXT_BYTES - at) length = TEXT_BYTES - at;
        sink_write(&b.sink, text + at, length);
        at += length;
    }
    assert_true(sink_flush(&b.sink));
    assert_int_equal(out.length, 6 + TEXT_BYTES);
    assert_memory_equal(out.bytes, "before", 6);
    assert_memory_equal(out.bytes + 6, text, TEXT_BYTES);
    assert_int_equal(sink_checksum(&b.sink), order_sum(0, text, TEXT_BYTES));
    assert_int_equal(sink_written(&b.sink), TEXT_BYTES);
    buffer_free(&out);
}

/* ---- Sources ---- */

/* Reads `left` bytes from offset `at` of the text, each way there is. */
static void read_everything(struct source *s, size_t at, size_t left) {
    char bytes[300];
    while (left) {
        size_t length = draw(draw(3) ? 8 : sizeof(bytes));
        if (length > left) length = left;
        const char *taken = draw(4) == 0 ? source_take(s, length) : NULL;
        assert_int_equal(s->status, SOURCE_GOOD);
        if (taken) {
            assert_memory_equal(taken, text + at, length);
        } else if (draw(5) == 0) {
            assert_true(source_skip(s, length));
        } else {
            assert_true(source_read(s, bytes, length));
            assert_memory_equal(bytes, text + at, length);
        }
        struct slice window = source_window(s);
        if (window.length) assert_memory_equal(window.bytes, text + at + length, window.length);
        at += length;
        left -= length;
        assert_int_equal(source_offset(s), at);
        if (draw(10) == 0) assert_int_equal(source_checksum(s), order_sum(3, text, at));
    }
}

static void test_source_any_pieces(void **state) {
    char window[64], byte;
    for (size_t room = 1; room <= sizeof(window); room++) {
        struct source s;
        feeding_begin(&s, window, room, TEXT_BYTES);
        source_checksum_begin(&s, order_sum, 3);
        read_everything(&s, 0, TEXT_BYTES);
        assert_int_equal(source_checksum(&s), order_sum(3, text, TEXT_BYTES));
        assert_true(source_at_end(&s));
        assert_int_equal(s.status, SOURCE_GOOD);
        assert_false(source_read(&s, &byte, 1));
        assert_int_equal(s.status, SOURCE_ENDED);
        assert_true(source_at_end(&s));
        assert_int_equal(source_offset(&s), TEXT_BYTES);
    }
}

static void test_source_cut_off(void **state) {
    char window[16], bytes[100];
    struct source s;
    feeding_begin(&s, window, sizeof(window), 120);
    assert_true(source_read(&s, bytes, 100));
    memset(bytes, 'x', sizeof(bytes));
    assert_false(source_read(&s, bytes, 21));
    for (int i = 0; i < 21; i++) assert_int_equal(bytes[i], 0);
    assert_int_equal(s.status, SOURCE_ENDED);
    assert_int_equal(source_offset(&s), 120);
    assert_string_equal(source_fault(&s), "ended too early");
    feeding_begin(&s, window, sizeof(window), 12);
    assert_null(source_take(&s, 13));
    assert_int_equal(s.status, SOURCE_ENDED);
    assert_int_equal(source_offset(&s), 12);
    feeding_begin(&s, window, sizeof(window), 12);
    assert_false(source_skip(&s, UINT64_MAX));
    assert_int_equal(s.status, SOURCE_ENDED);
}

static void test_source_take_beyond_the_window(void **state) {
    char window[16], bytes[17];
    struct source s;
    feeding_begin(&s, window, sizeof(window), 100);
    assert_null(source_take(&s, 17));
    assert_int_equal(s.status, SOURCE_GOOD);
    assert_int_equal(source_offset(&s), 0);
    assert_true(source_read(&s, bytes, 17));
    assert_non_null(source_take(&s, 16));
}

static void test_source_failing(void **state) {
    char window[16], bytes[64];
    struct source s;
    feeding_begin(&s, window, sizeof(window), 20);
    feed.error = EIO;
    assert_false(source_read(&s, bytes, 64));
    assert_int_equal(s.status, SOURCE_FAILED);
    assert_int_equal(s.error, EIO);
    size_t calls = feed.calls;
    assert_false(source_read(&s, bytes, 1));
    assert_false(source_skip(&s, 1));
    assert_null(source_take(&s, 1));
    assert_false(source_at_end(&s));
    assert_false(source_refuse(&s, "later"));
    assert_int_equal(s.status, SOURCE_FAILED);
    assert_int_equal(feed.calls, calls);
    feeding_begin(&s, window, sizeof(window), 0);
    feed.error = EIO;
    assert_false(source_at_end(&s));
    assert_int_equal(s.status, SOURCE_FAILED);
}

static void test_source_refused(void **state) {
    char window[16], bytes[8];
    struct source s;
    feeding_begin(&s, window, sizeof(window), 100);
    assert_true(source_read(&s, bytes, 5));
    assert_false(source_refuse(&s, "no such type"));
    assert_string_equal(source_fault(&s), "no such type");
    assert_int_equal(s.status, SOURCE_CORRUPT);
    assert_int_equal(source_offset(&s), 5);
    assert_int_equal(source_window(&s).length, 0);
    assert_false(source_read(&s, bytes, 1));
}

static void test_slice_source(void **state) {
    struct source s;
    char byte;
    slice_source_init(&s, (struct slice){text, TEXT_BYTES});
    source_checksum_begin(&s, order_sum, 3);
    assert_int_equal(source_left_max(&s), TEXT_BYTES);
    read_everything(&s, 0, 1000);
    assert_int_equal(source_left_max(&s), TEXT_BYTES - 1000);
    assert_ptr_equal(source_take(&s, 3000), text + 1000);
    read_everything(&s, 4000, 1000);
    assert_true(source_at_end(&s));
    assert_null(source_take(&s, 1));
    assert_int_equal(s.status, SOURCE_ENDED);
    slice_source_init(&s, (struct slice){NULL, 0});
    assert_true(source_at_end(&s));
    assert_true(source_read(&s, NULL, 0));
    assert_false(source_read(&s, &byte, 1));
}

static uint64_t told_at;
static void tell(struct source *s, void *argument) {
    size_t *most = argument;
    assert_true(s->fetched - told_at <= *most);
    told_at = s->fetched;
    if (told_at > 4000) source_refuse(s, "enough");
}

static void test_progress(void **state) {
    char window[64];
    char bytes[2000];
    struct source s;
    size_t most = 50;
    told_at = 0;
    feeding_begin(&s, window, sizeof(window), TEXT_BYTES);
    source_watch(&s, most, tell, &most);
    assert_true(source_read(&s, bytes, 2000));
    for (int i = 0; i < 1000; i++) assert_true(source_read(&s, bytes, 1));
    assert_true(told_at >= 3000);
    assert_false(source_read(&s, bytes, 2000));
    assert_int_equal(s.status, SOURCE_CORRUPT);
    assert_true(told_at <= 4050);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sink_any_pieces),
        cmocka_unit_test(test_sink_small_writes_share_a_call),
        cmocka_unit_test(test_sink_fails_once_and_for_all),
        cmocka_unit_test(test_sink_failed_by_the_writer),
        cmocka_unit_test(test_buffer_sink),
        cmocka_unit_test(test_source_any_pieces),
        cmocka_unit_test(test_source_cut_off),
        cmocka_unit_test(test_source_take_beyond_the_window),
        cmocka_unit_test(test_source_failing),
        cmocka_unit_test(test_source_refused),
        cmocka_unit_test(test_slice_source),
        cmocka_unit_test(test_progress),
    };
    seed_from_environment();
    for (size_t i = 0; i < TEXT_BYTES; i++) text[i] = (char)draw(256);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
