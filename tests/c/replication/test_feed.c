/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of replication/feed: each reader gets every byte once and in order, what is kept can be
 * asked for, and memory is that of one copy.
 *
 * SEED=n runs the same random choices again; each run prints its seed.
 */
#include "replication/feed.h"

#include <string.h>
#include <sys/uio.h>

#include "base/random.h"
#include "base/seed.h"

#define PIECES 8
#define FROM 1000

/* The feed's class: one that nothing else allocates in. */
static enum memory_class own = MEMORY_OTHER;
static struct feed *feed;
static size_t used_before;
static char bytes[200000];

static int setup(void **state) {
    memory_class_register(&own, MEMORY_UNCOUNTED);
    used_before = memory_used(own);
    return 0;
}

static int teardown(void **state) {
    feed_free(feed);
    feed = NULL;
    assert_int_equal(memory_used(own), used_before);
    return 0;
}

/* The byte at a place of the test's stream. */
static char byte_at(int64_t place) { return (char)((uint64_t)place * 2654435761u >> 13); }

static void append(size_t length) {
    assert_true(length <= sizeof(bytes));
    for (size_t i = 0; i < length; i++) bytes[i] = byte_at(feed_end(feed) + (int64_t)i);
    feed_append(feed, bytes, length);
    feed_check(feed);
}

/* Takes up to `most` bytes and looks at each; returns how many came. */
static size_t take(struct feed_reader *reader, size_t most) {
    struct iovec pieces[PIECES];
    size_t taken = 0;
    int count = feed_pieces(reader, pieces, PIECES, most);
    for (int i = 0; i < count; i++) {
        const char *piece = pieces[i].iov_base;
        for (size_t at = 0; at < pieces[i].iov_len; at++, taken++)
            assert_int_equal(piece[at], byte_at(reader->place + (int64_t)taken));
    }
    assert_true(taken <= most);
    if (taken) feed_take(reader, taken);
    feed_check(feed);
    return taken;
}

static void test_new(void **state) {
    feed = feed_create(own, FROM, 50000);
    struct feed_reader reader = {0};
    assert_int_equal(feed_begin(feed), FROM);
    assert_int_equal(feed_end(feed), FROM);
    assert_false(feed_follow(&reader, feed, FROM - 1));
    assert_false(feed_follow(&reader, feed, FROM + 1));
    assert_true(feed_follow(&reader, feed, FROM));
    assert_int_equal(take(&reader, 100), 0);
    append(3);
    assert_int_equal(feed_lag(&reader), 3);
    assert_int_equal(take(&reader, 2), 2);
    assert_int_equal(take(&reader, 2), 1);
    feed_leave(&reader);
    feed_leave(&reader);
    assert_int_equal(feed_lag(&reader), 0);
    assert_int_equal(reader.place, FROM + 3);
}

/* What is kept can be asked for, to the byte, wherever blocks end. */
static void test_kept(void **state) {
    static const size_t kept_values[] = {
        0, 1, FEED_BLOCK_BYTES - 1, FEED_BLOCK_BYTES, FEED_BLOCK_BYTES + 1, 3 * FEED_BLOCK_BYTES};
    for (size_t k = 0; k < sizeof(kept_values) / sizeof(kept_values[0]); k++) {
        size_t kept = kept_values[k];
        feed = feed_create(own, FROM, kept);
        for (int round = 0; round < 12; round++) {
            struct feed_reader reader = {0};
            append(FEED_BLOCK_BYTES / 2);
            size_t written = (size_t)(feed_end(feed) - FROM);
            assert_int_equal(feed_kept_bytes(feed), written < kept ? written : kept);
            assert_false(feed_follow(&reader, feed, feed_begin(feed) - 1));
            assert_true(feed_follow(&reader, feed, feed_begin(feed)));
            for (size_t left = feed_kept_bytes(feed); left;) left -= take(&reader, left);
            feed_leave(&reader);
            assert_int_equal(feed_held_memory(feed), 0);
        }
        feed_free(feed);
        feed = NULL;
    }
}

/* Less is kept at once; more only from what is still there. */
static void test_kept_changes(void **state) {
    feed = feed_create(own, 0, 10 * FEED_BLOCK_BYTES);
    append(10 * FEED_BLOCK_BYTES);
    feed_set_kept(feed, 100);
    assert_int_equal(feed_kept_bytes(feed), 100);
    feed_set_kept(feed, 10 * FEED_BLOCK_BYTES);
    assert_in_range(feed_kept_bytes(feed), 100, 2 * FEED_BLOCK_BYTES);
    struct feed_reader reader = {0};
    assert_true(feed_follow(&reader, feed, feed_begin(feed)));
    assert_true(take(&reader, 100) > 0);
    feed_leave(&reader);
}

/* A reader that is far behind holds blocks, once for all; when it goes they leave the sum at once
 * and memory in steps. */
static void test_held(void **state) {
    enum { BLOCKS = 3 * FEED_FREE_STEP_BLOCKS };
    struct feed_reader slow = {0}, slower = {0}, quick = {0};
    feed = feed_create(own, 0, FEED_BLOCK_BYTES);
    assert_true(feed_follow(&slow, feed, 0) && feed_follow(&slower, feed, 0));
    assert_true(feed_follow(&quick, feed, 0));
    for (int i = 0; i < BLOCKS; i++) {
        append(FEED_BLOCK_BYTES);
        assert_int_equal(take(&quick, FEED_BLOCK_BYTES), FEED_BLOCK_BYTES);
    }
    assert_int_equal(take(&slow, FEED_BLOCK_BYTES), FEED_BLOCK_BYTES);
    size_t block = memory_good_size(FEED_BLOCK_BYTES + 16);
    assert_int_equal(feed_held_memory(feed), (BLOCKS - 1) * block);
    assert_true(memory_used(own) - used_before < (BLOCKS + 2) * block);
    feed_leave(&slower);
    assert_int_equal(feed_held_memory(feed), (BLOCKS - 2) * block);
    feed_leave(&slow);
    assert_int_equal(feed_held_memory(feed), 0);
    assert_true(memory_used(own) - used_before < 4 * block);
    assert_int_equal(memory_used(MEMORY_LEAVING), (BLOCKS - 1) * block);
    assert_true(feed_free_step(feed));
    assert_int_equal(memory_used(MEMORY_LEAVING), (BLOCKS - 1 - FEED_FREE_STEP_BLOCKS) * block);
    while (feed_free_step(feed)) continue;
    assert_int_equal(memory_used(MEMORY_LEAVING), 0);
    feed_leave(&quick);
}

/* Nobody gets what may not leave yet. */
static void test_limit(void **state) {
    struct feed_reader reader = {0};
    feed = feed_create(own, 0, 100000);
    assert_true(feed_follow(&reader, feed, 0));
    feed_set_limit(feed, 0);
    append(50000);
    assert_int_equal(take(&reader, 100000), 0);
    feed_set_limit(feed, 20000);
    assert_int_equal(take(&reader, 100000), 20000);
    assert_int_equal(take(&reader, 100000), 0);
    feed_set_limit(feed, INT64_MAX);
    assert_int_equal(take(&reader, 100000), 30000);
    feed_leave(&reader);
}

static void test_restart(void **state) {
    struct feed_reader reader = {0};
    feed = feed_create(own, 0, 100000);
    append(70000);
    feed_restart(feed, 5000);
    assert_int_equal(feed_begin(feed), 5000);
    assert_int_equal(feed_end(feed), 5000);
    append(10);
    assert_false(feed_follow(&reader, feed, 4999));
    assert_true(feed_follow(&reader, feed, 5000));
    assert_int_equal(take(&reader, 100), 10);
    feed_leave(&reader);
}

/* Readers come, take, fall behind and go, and the backlog's size changes. */
static void test_random(void **state) {
    enum { READERS = 12 };
    struct feed_reader readers[READERS] = {{0}};
    feed = feed_create(own, FROM, 60000);
    for (int i = 0; i < 20000; i++) {
        struct feed_reader *reader = &readers[random_below(READERS)];
        uint64_t what = random_below(100);
        if (what < 30) {
            append(random_below(random_below(20) ? 3000 : 100000));
        } else if (what < 90) {
            (void)take(reader, 1 + random_below(60000));
        } else if (what < 94) {
            feed_leave(reader);
        } else if (what < 99) {
            int64_t span = feed_end(feed) - feed_begin(feed) + 1;
            int64_t place = feed_begin(feed) + (int64_t)random_below((uint64_t)span);
            if (!reader->feed) assert_true(feed_follow(reader, feed, place));
        } else {
            feed_set_kept(feed, random_below(200000));
        }
        if (random_below(50) == 0) (void)feed_free_step(feed);
    }
    for (int i = 0; i < READERS; i++) feed_leave(&readers[i]);
    assert_int_equal(feed_held_memory(feed), 0);
}

/* Who comes late may follow with a reader that stands before what is kept. */
static void test_follow_reader(void **state) {
    struct feed_reader slow = {0}, late = {0};
    feed = feed_create(own, FROM, 1000);
    assert_true(feed_follow(&slow, feed, FROM));
    append(5 * FEED_BLOCK_BYTES);
    assert_int_equal(take(&slow, FEED_BLOCK_BYTES + 10), FEED_BLOCK_BYTES + 10);
    assert_false(feed_follow(&late, feed, slow.place));
    feed_follow_reader(&late, &slow);
    feed_check(feed);
    feed_leave(&slow);
    assert_int_equal(feed_lag(&late), 4 * FEED_BLOCK_BYTES - 10);
    while (feed_lag(&late)) assert_true(take(&late, 10000) > 0);
    feed_leave(&late);
    assert_int_equal(feed_held_memory(feed), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(test_new),   TEST(test_kept),    TEST(test_kept_changes), TEST(test_held),
        TEST(test_limit), TEST(test_restart), TEST(test_random),       TEST(test_follow_reader),
    };
    seed_from_environment();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
