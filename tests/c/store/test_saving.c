/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of store/saving: what a server that is read, and in which time passes, writes to the pages
 * that it shares with a child. They are counted as the kernel counts them: a page that the parent
 * has written to since the fork is the child's alone.
 */
#include "store/saving.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "ds/table.h"
#include "ds/timebuckets.h"
#include "store/key_map.h"
#include "store/keys.h"
#include "store/recency.h"

#ifdef EVENKEEL_SANITIZER
#define KEYS 20000
#else
#define KEYS 100000
#endif
#define PLAIN_KEYS (KEYS / 4) /* the last ones; they have no deadline */
#define PAGE_BYTES 4096
/* A deletion writes to a bucket, a segment, the entry and what the allocator keeps of it. */
#define PAGES_EACH 6
#define SECOND INT64_C(1000)
#define MINUTE (60 * SECOND)

static struct keyspace *ks;
static int64_t boundary, now;

/* ---- a child that saves ---- */

/* Pages that are its alone; negative where the kernel does not tell. */
static long pages_of(pid_t child) {
    char path[64], line[256];
    long kb = -1;
    snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", (int)child);
    FILE *file = fopen(path, "r");
    if (!file) return -1;
    while (fgets(line, sizeof(line), file))
        if (sscanf(line, "Private_Dirty: %ld kB", &kb) == 1) break;
    fclose(file);
    return kb < 0 ? -1 : kb * 1024 / PAGE_BYTES;
}

struct child {
    pid_t pid;
    long pages;
};

static struct child child_begin(void) {
    struct child c;
    c.pid = fork();
    assert_true(c.pid >= 0);
    if (c.pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails leaves none behind */
        for (;;) pause();
    }
    c.pages = pages_of(c.pid);
    return c;
}

/* Pages written to since it began. */
static long child_pages(const struct child *c) { return pages_of(c->pid) - c->pages; }

static void child_end(const struct child *c) {
    kill(c->pid, SIGKILL);
    assert_int_equal(waitpid(c->pid, NULL, 0), c->pid);
}

static bool can_count(void) {
#ifdef EVENKEEL_SANITIZER
    print_message("left out: a sanitizer's memory is not the server's\n");
    return false;
#else
    struct child c = child_begin();
    child_end(&c);
    if (c.pages < 0) print_message("left out: no /proc/<pid>/smaps_rollup here\n");
    return c.pages >= 0;
#endif
}

/* ---- what the server does meanwhile ---- */

static size_t expire_all_due(void) {
    size_t expired = 0;
    bool more = true;
    while (more) expired += keyspace_expire_due(ks, now, 100, &more);
    return expired;
}

static void move_clock(int64_t msec) {
    now += msec;
    clock_set_msec(now);
}

static void visit(struct entry *e, void *context) { ++*(size_t *)context; }

/* Time passes, with the work between turns, and each key is read, drawn and scanned. */
static size_t read_for_a_while(int64_t msec) {
    size_t expired = 0, seen = 0;
    uint64_t cursor = 0;
    for (int64_t end = now + msec; now < end;) {
        move_clock(100);
        expired += expire_all_due();
        keyspace_maintain(100);
    }
    for (unsigned i = 0; i < KEYS; i++) {
        struct key_text name;
        struct slice key = key_of(&name, i);
        told_read(ks, key, key_hash(key));
        if (i % 10 == 0) {
            keyspace_random(ks);
            keyspace_random_volatile(ks);
        }
    }
    do {
        cursor = keyspace_scan(ks, cursor, SIZE_MAX, visit, &seen);
    } while (cursor);
    assert_int_equal(seen, keyspace_count(ks));
    return expired;
}

static void set_min_fill(struct slice percent) {
    char reason[OPTION_REASON_BYTES];
    assert_true(option_set(option_find(SLICE("hashtable-min-fill")), &percent, 1,
                           OPTION_FROM_CONFIG_SET, reason, sizeof(reason)));
}

/* Keys that expire within four hours of a boundary that is a second ahead, none of them in the
 * first minutes; and a table that owes shrinking. */
static void fill(void) {
    boundary = (START_MSEC >> 24 << 24) + (1 << 24);
    now = boundary - SECOND;
    clock_set_msec(now);
    bool more;
    set_min_fill(SLICE("10"));
    for (unsigned i = 0; i < KEYS; i++) {
        int64_t deadline = boundary + 10 * MINUTE + (int64_t)random_below(220 * MINUTE);
        if (i >= KEYS - PLAIN_KEYS) deadline = ENTRY_NO_DEADLINE;
        key_store(ks, i, SLICE("a value of some forty bytes, as many are."), deadline);
    }
    keyspace_expire_due(ks, now, 1, &more);
    for (unsigned i = KEYS; i < 5 * KEYS / 2; i++) key_store(ks, i, SLICE(""), ENTRY_NO_DEADLINE);
    for (unsigned i = KEYS; i < 5 * KEYS / 2; i++) {
        struct key_text name;
        struct slice key = key_of(&name, i);
        told_delete(ks, key, key_hash(key));
    }
    memory_allocator_purge(); /* or it would come later, and count */
    set_min_fill(SLICE("50"));
    assert_true(keys_stats(ks).owes);
    keyspace_check(ks);
}

static long pages_of_dataset(void) { return (long)(memory_used(MEMORY_DATASET) / PAGE_BYTES); }

/* ---- the tests ---- */

/* Without the switch the same would write to most pages: so the count counts. */
static void test_time_and_reads_write_without_it(void **state) {
    if (!can_count()) skip();
    fill();
    struct child c = child_begin();
    assert_int_equal(read_for_a_while(2 * SECOND), 0);
    long pages = child_pages(&c);
    child_end(&c);
    print_message("not saving: %ld of %ld pages written\n", pages, pages_of_dataset());
    assert_true(pages > pages_of_dataset() / 2);
}

/* Each by itself is enough to write to many pages: the wheel alone. */
static void test_the_boundary_alone_writes_without_it(void **state) {
    if (!can_count()) skip();
    fill();
    struct child c = child_begin();
    move_clock(2 * SECOND);
    assert_int_equal(expire_all_due(), 0);
    long pages = child_pages(&c);
    child_end(&c);
    print_message("the boundary alone: %ld of %ld pages written\n", pages, pages_of_dataset());
    assert_true(pages > pages_of_dataset() / 3);
}

static void test_nothing_is_written(void **state) {
    if (!can_count()) skip();
    fill();
    saving_begin();
    struct child c = child_begin();
    assert_int_equal(read_for_a_while(9 * MINUTE), 0);
    long pages = child_pages(&c);
    print_message("saving: %ld of %ld pages written\n", pages, pages_of_dataset());
    assert_true(pages < 40 + pages_of_dataset() / 50);

    /* Keys become due: they go, and little else is written to. */
    size_t before = keyspace_count(ks);
    move_clock(MINUTE);
    size_t expired = 0;
    for (int i = 0; i < 20; i++) {
        move_clock(SECOND);
        expired += expire_all_due();
    }
    assert_true(expired > KEYS / 2000);
    assert_int_equal(keyspace_count(ks), before - expired);
    long more_pages = child_pages(&c) - pages;
    print_message("%zu keys expired: %ld pages more\n", expired, more_pages);
    assert_true(more_pages < 40 + PAGES_EACH * (long)expired);
    child_end(&c);
    saving_end();
}

struct due {
    int64_t now;
    size_t count;
};

static void count_due(void *element, void *context) {
    struct due *due = context;
    due->count += entry_has_deadline(element) && entry_deadline(element) <= due->now;
}

static size_t count_all_due(void) {
    struct due due = {now, 0};
    key_map_each(keyspace_map(ks), count_due, &due);
    return due.count;
}

static bool is_unsettled(void) {
    return timebuckets_settle((struct timebuckets *)keyspace_deadlines(ks), 0);
}

/* A long save: what is due goes in time by itself, or is hidden and goes when it is asked for; with
 * the end of the save all that was put off is done. */
static void test_expiry_goes_on(void **state) {
    fill();
    saving_begin();
    size_t expired = 0;
    for (int i = 0; i < 60; i++) {
        move_clock(MINUTE / 2 + (int64_t)random_below(MINUTE));
        if (i % 4 == 3) {
            for (unsigned k = 0; k < KEYS - PLAIN_KEYS; k += 7) {
                const struct entry *e = key_find(ks, k);
                assert_true(!e || entry_deadline(e) > now);
            }
        }
        size_t due = count_all_due(), gone = expire_all_due();
        assert_int_equal(gone, due);
        expired += gone;
        assert_true(keyspace_next_deadline(ks) > now);
        for (int j = 0; j < 50; j++)
            key_store(ks, (unsigned)random_below(KEYS - PLAIN_KEYS), SLICE("new"),
                      now + 1 + (int64_t)random_below(100 * MINUTE));
    }
    assert_true(expired > KEYS / 20);
    keyspace_check(ks);
    saving_end();
    keyspace_check(ks);
    size_t steps = 0;
    assert_true(is_unsettled());
    while (keyspace_maintain(10)) assert_true(++steps < KEYS);
    assert_false(is_unsettled());
    keyspace_check(ks);
    while (keyspace_count_volatile(ks)) {
        move_clock(10 * MINUTE);
        size_t due = count_all_due();
        assert_int_equal(expire_all_due(), due);
    }
    assert_int_equal(keyspace_count(ks), PLAIN_KEYS);
}

static unsigned recency_of(unsigned number) { return key_find(ks, number)->recency; }

/* One after the other and nested: all rests until the last one ends. */
static void test_saves_nest(void **state) {
    now = START_MSEC;
    for (unsigned i = 0; i < 100; i++) key_store(ks, i, SLICE("x"), ENTRY_NO_DEADLINE);
    unsigned noted = recency_of(1);
    assert_false(saving_now());
    saving_begin();
    saving_begin();
    assert_true(saving_now());
    saving_end();
    assert_true(saving_now());
    move_clock(5 * SECOND);
    keyspace_note_access(key_find(ks, 1));
    assert_int_equal(recency_of(1), noted);
    saving_end();
    assert_false(saving_now());
    keyspace_note_access(key_find(ks, 1));
    assert_int_equal(recency_of(1), noted + 5);
}

static int begin(void **state) {
    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0); /* a huge page would count as one, or as 512 */
    keys_open();
    ks = keyspace_at(0);
    return 0;
}

int main(void) {
    int by_slot = keys_in_both_forms();
#define TEST(test) cmocka_unit_test_setup_teardown(test, keys_begin, keys_nothing_left)
    const struct CMUnitTest tests[] = {
        TEST(test_time_and_reads_write_without_it),
        TEST(test_the_boundary_alone_writes_without_it),
        TEST(test_nothing_is_written),
        TEST(test_expiry_goes_on),
        TEST(test_saves_nest),
    };
    return by_slot + cmocka_run_group_tests(tests, begin, NULL);
}
