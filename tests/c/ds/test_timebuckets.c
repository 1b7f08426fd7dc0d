/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of ds/timebuckets: against a model with clocks of every sort, extreme deadlines, the bounds
 * of single calls, what it weighs, what it answers exactly, fairness of picks, and the walk.
 *
 * SEED=n runs the same random choices again; each run prints its seed. The model is the elements
 * themselves: each knows whether it is inside. The index's work is counted in the callback that
 * sets a reference, since that is what touches an element's memory.
 */
#include "ds/timebuckets.h"

#include "base/seed.h"

#ifdef EVENKEEL_SANITIZER
#define MANY 100000
#else
#define MANY 1000000
#endif
#define HOUR_MSEC INT64_C(3600000)
#define YEAR_MSEC (INT64_C(365) * 24 * HOUR_MSEC)
/* A wall clock of 2025, as the index meets it. */
#define NOW_MSEC INT64_C(1750000000000)
#define SINGLE_BYTES_MAX 65536

/* What a call may touch: a removal fills one hole and renumbers two segments of 62. */
#define REMOVE_WORK_MAX (1 + 2 * 62)
/* A step of settling fills a segment's gaps and renumbers twice; a peek after a rest does one. */
#define SETTLE_WORK_MAX (62 + 2 * (2 * 62))
#define PEEK_WORK_MAX (SETTLE_WORK_MAX + TIMEBUCKETS_CASCADE_MAX * (1 + REMOVE_WORK_MAX))

struct element {
    int64_t deadline;
    uint32_t reference;
    uint32_t hits;
    bool inside;
};

static size_t work; /* references set since it was last cleared */
static bool resting;
static size_t largest_alloc, largest_free;

static int64_t element_deadline(const void *element) {
    return ((const struct element *)element)->deadline;
}
static uint32_t element_reference(const void *element) {
    return ((const struct element *)element)->reference;
}
static void element_set_reference(void *element, uint32_t reference) {
    ((struct element *)element)->reference = reference;
    work++;
}

static const struct timebuckets_type type = {element_deadline, element_reference,
                                             element_set_reference, MEMORY_DATASET};

/* ---- Elements and what is done with them ---- */

static struct element *elements_make(size_t count) {
    return memory_zalloc(count * sizeof(struct element), MEMORY_OTHER);
}

static void elements_free(struct element *elements) { memory_free(elements, MEMORY_OTHER); }

static void rest(bool on) {
    resting = on;
    timebuckets_set_resting(on);
}

static void put(struct timebuckets *t, struct element *e, int64_t deadline) {
    e->deadline = deadline;
    e->inside = true;
    work = 0;
    timebuckets_insert(t, e);
    assert_int_equal(work, 1);
}

static void take(struct timebuckets *t, struct element *e) {
    work = 0;
    timebuckets_remove(t, e);
    e->inside = false;
    assert_true(work <= (resting ? 0 : REMOVE_WORK_MAX));
}

static struct element *peek(struct timebuckets *t, int64_t now, bool *more) {
    work = 0;
    struct element *e = timebuckets_peek_due(t, now, more);
    assert_true(work <= (resting ? 0 : PEEK_WORK_MAX));
    if (e != NULL) {
        assert_true(e->inside);
        assert_true(e->deadline <= now);
    }
    return e;
}

/* Takes all that is due, with a bound on the calls that find nothing; returns how many. */
static size_t take_all_due(struct timebuckets *t, int64_t now) {
    size_t taken = 0, calls_without = 0;
    size_t calls_max = 16 + 11 * timebuckets_count(t) / (TIMEBUCKETS_CASCADE_MAX / 2);
    bool more = true;
    while (more) {
        struct element *e = peek(t, now, &more);
        if (e != NULL) {
            take(t, e);
            taken++;
            more = true;
        } else {
            assert_true(++calls_without <= calls_max);
        }
    }
    return taken;
}

static void note_alloc(size_t bytes) {
    if (bytes > largest_alloc) largest_alloc = bytes;
}
static void note_free(size_t bytes) {
    if (bytes > largest_free) largest_free = bytes;
}
static const struct memory_hook hook = {note_alloc, note_free};

static void largest_begin(void) {
    largest_alloc = largest_free = 0;
    memory_set_hook(&hook);
}

static void largest_end(void) {
    memory_set_hook(NULL);
    assert_true(largest_alloc <= SINGLE_BYTES_MAX);
    assert_true(largest_free <= SINGLE_BYTES_MAX);
}

static int64_t sum_clamped(int64_t a, int64_t b) {
    int64_t sum;
    if (__builtin_add_overflow(a, b, &sum)) return b > 0 ? INT64_MAX : INT64_MIN;
    return sum;
}

/* Any magnitude is as likely as any other, up to 2^bits_max. */
static int64_t random_span(unsigned bits_max) {
    return (int64_t)(random_u64() >> (64 - 1 - random_below(bits_max)));
}

static void count_visit(void *element, void *context) {
    ((struct element *)element)->hits++;
    ++*(size_t *)context;
}

/* ---- Against the model ---- */

enum clock_sort { CLOCK_FORWARD, CLOCK_JUMPS, CLOCK_HOSTILE, CLOCK_SORTS };

#define POOL 700
#define ROUNDS 45
#define STEPS 4000

struct trial {
    struct timebuckets *t;
    struct element *pool;
    size_t inside;
    int64_t now, latest;
    enum clock_sort clock;
};

static const int64_t extremes[] = {INT64_MIN, INT64_MIN + 1, -1, 0, 1, INT64_MAX - 1, INT64_MAX};
#define EXTREMES (sizeof(extremes) / sizeof(extremes[0]))

static int64_t random_deadline(const struct trial *trial) {
    switch (random_below(16)) {
    case 0: return trial->clock == CLOCK_HOSTILE ? extremes[random_below(EXTREMES)] : 0;
    case 1: return sum_clamped(trial->now, -random_span(62));
    case 2: return sum_clamped(trial->now, random_span(62));
    case 3: return sum_clamped(trial->latest, random_span(20));
    default: return sum_clamped(trial->now, random_span(34));
    }
}

static void move_clock(struct trial *trial) {
    if (trial->clock == CLOCK_JUMPS && random_below(8) == 0) {
        int64_t hours = (int64_t)random_below(48) - 24;
        trial->now = sum_clamped(trial->now, hours * HOUR_MSEC);
    } else if (trial->clock == CLOCK_HOSTILE && random_below(40) == 0) {
        trial->now = random_below(2) ? NOW_MSEC : extremes[random_below(EXTREMES)];
    } else {
        trial->now = sum_clamped(trial->now, random_span(26));
    }
    if (trial->now > trial->latest) trial->latest = trial->now;
}

static size_t model_due(const struct trial *trial) {
    size_t due = 0;
    for (size_t i = 0; i < POOL; i++)
        due += trial->pool[i].inside && trial->pool[i].deadline <= trial->now;
    return due;
}

static void check_against_model(const struct trial *trial) {
    int64_t earliest = INT64_MAX;
    for (size_t i = 0; i < POOL; i++) {
        const struct element *e = &trial->pool[i];
        if (e->inside && e->deadline < earliest) earliest = e->deadline;
    }
    assert_int_equal(timebuckets_count(trial->t), trial->inside);
    assert_true(timebuckets_next_deadline(trial->t) <= earliest);
    assert_true(timebuckets_due(trial->t, trial->now) <= trial->inside);
    struct element *any = timebuckets_random(trial->t);
    assert_true(trial->inside ? any->inside : any == NULL);
}

/* Nothing was found: then nothing is due. While the clock is behind the latest one seen, a call
 * only promises to look at some of what is late; looking again must come round to all. */
static void check_found_nothing(struct trial *trial) {
    if (trial->now >= trial->latest) {
        assert_int_equal(model_due(trial), 0);
        assert_int_equal(timebuckets_due(trial->t, trial->now), 0);
        return;
    }
    bool more;
    for (size_t i = 0; i < 2 + 2 * POOL / 62; i++)
        if (peek(trial->t, trial->now, &more) != NULL) return;
    assert_true(more || model_due(trial) == 0);
}

/* Several at once: all different, all due, and each can be removed in turn. */
static void step_group(struct trial *trial) {
    void *group[40];
    bool more;
    size_t max = 1 + random_below(40);
    size_t count = timebuckets_peek_due_group(trial->t, trial->now, group, max, &more);
    assert_true(count <= max);
    if (!count && !more) check_found_nothing(trial);
    for (size_t i = 0; i < count; i++) {
        struct element *e = group[i];
        assert_true(e->inside && e->deadline <= trial->now);
        take(trial->t, e);
        trial->inside--;
    }
}

static void step_peek(struct trial *trial) {
    bool more;
    if (random_below(8) == 0) {
        step_group(trial);
        return;
    }
    struct element *e = peek(trial->t, trial->now, &more);
    if (e == NULL) {
        if (!more) check_found_nothing(trial);
        return;
    }
    if (random_below(8) == 0) return; /* it stays for the next call */
    take(trial->t, e);
    trial->inside--;
}

static void step(struct trial *trial) {
    struct element *e = &trial->pool[random_below(POOL)];
    switch (random_below(8)) {
    case 0: move_clock(trial); break;
    case 1:
    case 2:
    case 3: step_peek(trial); break;
    case 4:
        if (e->inside) {
            take(trial->t, e);
            trial->inside--;
        }
        break;
    default:
        if (e->inside)
            take(trial->t, e);
        else
            trial->inside++;
        put(trial->t, e, random_deadline(trial));
        break;
    }
}

/* Removes nearly all at times, so that an empty index and what is being drained meet. */
static void thin_out(struct trial *trial, uint64_t keep_one_in) {
    for (size_t i = 0; i < POOL; i++) {
        struct element *e = &trial->pool[i];
        if (!e->inside || (keep_one_in && random_below(keep_one_in) == 0)) continue;
        take(trial->t, e);
        trial->inside--;
    }
}

/* `rests`: at times the index rests for some steps. */
static void run_model(bool rests) {
    largest_begin();
    for (int round = 0; round < ROUNDS; round++) {
        struct trial trial = {.clock = (enum clock_sort)(round % CLOCK_SORTS)};
        trial.t = timebuckets_create(&type);
        trial.pool = elements_make(POOL);
        trial.now = trial.latest = random_below(2) ? NOW_MSEC : random_span(42);
        for (int i = 0; i < STEPS; i++) {
            step(&trial);
            if (i % 50 == 0) check_against_model(&trial);
            if (i % 200 == 0) timebuckets_check(trial.t);
            if (rests && random_below(resting ? 300 : 100) == 0) rest(!resting);
            if (rests && random_below(4) == 0) timebuckets_settle(trial.t, random_below(3));
            if (random_below(700) == 0) thin_out(&trial, random_below(3) * 20);
        }
        timebuckets_check(trial.t);
        if (random_below(2)) rest(false);
        timebuckets_free(trial.t);
        elements_free(trial.pool);
    }
    rest(false);
    largest_end();
}

static void test_model(void **state) { run_model(false); }
static void test_model_that_rests(void **state) { run_model(true); }

/* ---- The clock ---- */

/* A bucket whose elements are all removed while it is drained must not be drained for ever once it
 * is filled again. */
static void test_drained_bucket_vanishes(void **state) {
    struct timebuckets *t = timebuckets_create(&type);
    struct element *pool = elements_make(500);
    int64_t slot = NOW_MSEC / 4096 * 4096 + 4096; /* where a slot of 64 ms begins, in a new 4 s */
    bool more;
    assert_null(peek(t, slot - 4096, &more));
    for (int i = 0; i < 500; i++) put(t, &pool[i], slot + 3 * 64 + 60);
    assert_null(peek(t, slot + 3 * 64, &more));
    assert_true(more);
    for (int i = 0; i < 500; i++) take(t, &pool[i]);
    timebuckets_check(t);
    assert_null(peek(t, slot + 2 * 4096, &more));
    assert_false(more);
    for (int i = 0; i < 100; i++) put(t, &pool[i], slot + 2 * 4096 + 3 * 64 + 1);
    assert_int_equal(take_all_due(t, slot + 3 * 4096), 100);
    timebuckets_free(t);
    elements_free(pool);
}

static void test_clock_that_was_far_ahead(void **state) {
    struct timebuckets *t = timebuckets_create(&type);
    struct element *pool = elements_make(1000);
    bool more;
    for (int i = 0; i < 1000; i++) put(t, &pool[i], NOW_MSEC + i);
    assert_int_equal(take_all_due(t, INT64_MAX), 1000);
    assert_null(peek(t, NOW_MSEC, &more));
    /* Empty, it follows the clock back; so what comes now is found in time, and not before. */
    for (int i = 0; i < 1000; i++) put(t, &pool[i], NOW_MSEC + 10 * i);
    assert_int_equal(take_all_due(t, NOW_MSEC + 4999), 500);
    assert_true(timebuckets_next_deadline(t) <= NOW_MSEC + 5000);
    assert_true(timebuckets_next_deadline(t) >= NOW_MSEC + 4000);
    timebuckets_check(t);
    timebuckets_free(t);
    elements_free(pool);
}

/* The clock went back: what is due by it is found among many that are not, in rounds. */
static void test_clock_behind_with_many_early(void **state) {
    struct timebuckets *t = timebuckets_create(&type);
    struct element *pool = elements_make(20000);
    bool more;
    put(t, &pool[0], NOW_MSEC + YEAR_MSEC);
    assert_null(peek(t, NOW_MSEC, &more));
    for (int i = 1; i < 10000; i++) put(t, &pool[i], NOW_MSEC + YEAR_MSEC + i);
    for (int i = 10000; i < 20000; i++) put(t, &pool[i], NOW_MSEC - HOUR_MSEC + i);
    int64_t now = NOW_MSEC - HOUR_MSEC + 10000 + 99; /* a hundred of them */
    size_t found = 0;
    for (int call = 0; call < 2 * 10000 / 32 + 200 && found < 100; call++) {
        struct element *e = peek(t, now, &more);
        if (e == NULL) continue;
        take(t, e);
        found++;
    }
    assert_int_equal(found, 100);
    timebuckets_check(t);
    assert_int_equal(take_all_due(t, NOW_MSEC), 10000 - 100);
    timebuckets_free(t);
    elements_free(pool);
}

static void test_extreme_deadlines(void **state) {
    struct timebuckets *t = timebuckets_create(&type);
    struct element *pool = elements_make(EXTREMES * EXTREMES);
    bool more;
    assert_int_equal(timebuckets_next_deadline(t), INT64_MAX);
    assert_null(timebuckets_random(t));
    assert_null(peek(t, INT64_MIN, &more));
    size_t count = 0;
    for (size_t clock = 0; clock < EXTREMES; clock++) {
        for (size_t i = 0; i < EXTREMES; i++) put(t, &pool[count++], extremes[i]);
        timebuckets_check(t);
        assert_true(timebuckets_due(t, extremes[clock]) <= count);
        struct element *e = peek(t, extremes[clock], &more);
        assert_non_null(e);
        timebuckets_check(t);
    }
    assert_int_equal(take_all_due(t, INT64_MAX), count);
    assert_int_equal(timebuckets_count(t), 0);
    timebuckets_free(t);
    elements_free(pool);
}

/* Each element moves at most once a level on its way, and each comes when it is due. */
static void test_whole_way(void **state) {
    struct timebuckets *t = timebuckets_create(&type);
    size_t count = MANY / 10, taken = 0, total_work = 0, calls = 0;
    struct element *pool = elements_make(count);
    for (size_t i = 0; i < count; i++)
        put(t, &pool[i], NOW_MSEC + (int64_t)random_below(24 * HOUR_MSEC));
    for (int64_t now = NOW_MSEC; taken < count; now += 1 + random_span(20)) {
        bool more = true;
        while (more) {
            struct element *e = peek(t, now, &more);
            total_work += work;
            calls++;
            if (e == NULL) continue;
            take(t, e);
            total_work += work;
            taken++;
            more = true;
        }
        assert_true(now < NOW_MSEC + 25 * HOUR_MSEC);
    }
    assert_true(total_work <= 11 * count);
    assert_true(calls <= 3 * count);
    timebuckets_free(t);
    elements_free(pool);
}

/* ---- What it promises to know exactly ---- */

static void test_due_counts(void **state) {
    struct timebuckets *t = timebuckets_create(&type);
    struct element *pool = elements_make(10000);
    int64_t start = NOW_MSEC / 64 * 64;
    bool more;
    assert_null(peek(t, start, &more));
    for (int i = 0; i < 64; i++) put(t, &pool[i], start + i);
    for (int i = 0; i < 64; i++) assert_int_equal(timebuckets_due(t, start + i), i + 1);
    assert_int_equal(timebuckets_due(t, start - 1), 0);
    assert_int_equal(take_all_due(t, start + 63), 64);
    assert_int_equal(timebuckets_due(t, start + 63), 0);

    /* Spread evenly over an hour: passed buckets count whole, the last by its share. */
    for (int i = 0; i < 10000; i++) put(t, &pool[i], start + 64 + i * HOUR_MSEC / 10000);
    for (int tenth = 1; tenth <= 10; tenth++) {
        size_t due = timebuckets_due(t, start + 64 + tenth * HOUR_MSEC / 10);
        assert_true(due + 100 >= 1000u * (unsigned)tenth);
        assert_true(due <= 1000u * (unsigned)tenth + 100);
    }
    assert_int_equal(timebuckets_due(t, start + 2 * HOUR_MSEC), 10000);
    assert_int_equal(timebuckets_due(t, INT64_MAX), 10000);
    timebuckets_free(t);
    elements_free(pool);
}

static void test_next_deadline(void **state) {
    struct timebuckets *t = timebuckets_create(&type);
    struct element e = {0};
    bool more;
    for (int i = 0; i < 20000; i++) {
        int64_t now = NOW_MSEC + i * HOUR_MSEC / 100, far = random_span(40);
        assert_null(peek(t, now, &more));
        put(t, &e, now + far);
        int64_t bound = timebuckets_next_deadline(t);
        assert_true(bound <= e.deadline);
        /* And not so early that the caller would spin: the way is halved 64-fold a step. */
        int steps = 0;
        for (int64_t at = now; at < e.deadline; at = bound, steps++) {
            assert_true(steps <= 11);
            bound = timebuckets_next_deadline(t);
            assert_true(bound > at && bound <= e.deadline);
            struct element *due = peek(t, bound, &more);
            assert_true(due == (bound == e.deadline ? &e : NULL));
        }
        take(t, &e);
    }
    timebuckets_free(t);
}

/* ---- What it weighs ---- */

/* A million changes of one element's deadline leave nothing behind. */
static void test_changes_leave_no_garbage(void **state) {
    struct timebuckets *t = timebuckets_create(&type);
    struct element *pool = elements_make(101);
    for (int i = 0; i < 100; i++) put(t, &pool[i], NOW_MSEC + random_span(40));
    struct element *one = &pool[100];
    put(t, one, NOW_MSEC);
    size_t bytes = timebuckets_bytes(t);
    for (int i = 0; i < MANY; i++) {
        take(t, one);
        put(t, one, NOW_MSEC + random_span(40));
        assert_true(timebuckets_bytes(t) <= bytes + 2048);
    }
    timebuckets_check(t);
    assert_int_equal(timebuckets_count(t), 101);
    timebuckets_free(t);
    elements_free(pool);
}

static void check_bytes(const struct timebuckets *t, size_t used_before) {
    assert_int_equal(timebuckets_bytes(t), memory_used(MEMORY_DATASET) - used_before);
}

static void test_weight_and_density(void **state) {
    size_t used_before = memory_used(MEMORY_DATASET);
    struct element *pool = elements_make(MANY);
    uint32_t *order = memory_alloc(MANY * sizeof(*order), MEMORY_OTHER);
    largest_begin();
    struct timebuckets *t = timebuckets_create(&type);
    bool more;
    assert_null(peek(t, NOW_MSEC, &more));
    for (size_t i = 0; i < MANY; i++)
        put(t, &pool[i], NOW_MSEC + (int64_t)random_below(6 * HOUR_MSEC));
    check_bytes(t, used_before);
    double each = (double)timebuckets_bytes(t) / MANY + sizeof(uint32_t);
    print_message("%d elements, deadlines within hours: %.2f bytes each\n", MANY, each);
    assert_true(each <= 14);

    /* Down to a thousand in random order; `take` holds each step's work to its bound. */
    for (uint32_t i = 0; i < MANY; i++) order[i] = i;
    for (uint32_t left = MANY; left > 1000; left--) {
        uint32_t pick = (uint32_t)random_below(left);
        take(t, &pool[order[pick]]);
        order[pick] = order[left - 1];
    }
    timebuckets_check(t);
    check_bytes(t, used_before);
    print_message("1000 left: %zu bytes\n", timebuckets_bytes(t));
    assert_true(timebuckets_bytes(t) <= 262144);
    timebuckets_free(t);
    largest_end();
    assert_int_equal(memory_used(MEMORY_DATASET), used_before);
    memory_free(order, MEMORY_OTHER);
    elements_free(pool);
}

static void test_weight_over_years(void **state) {
    struct timebuckets *t = timebuckets_create(&type);
    struct element *pool = elements_make(10000);
    bool more;
    assert_null(peek(t, NOW_MSEC, &more));
    for (size_t i = 0; i < 10000; i++)
        put(t, &pool[i], NOW_MSEC + (int64_t)random_below(5 * YEAR_MSEC));
    double each = (double)timebuckets_bytes(t) / 10000 + sizeof(uint32_t);
    print_message("10000 elements, deadlines over five years: %.2f bytes each\n", each);
    assert_true(each <= 14.5);
    timebuckets_free(t);
    elements_free(pool);
}

/* Removals from the oldest numbers on must not leave them empty for ever: the walk and random picks
 * count on numbers that are dense. */
static void test_numbers_stay_dense(void **state) {
    struct timebuckets *t = timebuckets_create(&type);
    struct element *pool = elements_make(MANY / 10);
    bool more;
    assert_null(peek(t, NOW_MSEC, &more));
    for (size_t i = 0; i < MANY / 10; i++) put(t, &pool[i], NOW_MSEC + 1 + (int64_t)(i / 100) * 64);
    for (size_t i = 0; i < MANY / 10 - 100; i++) take(t, &pool[i]);
    timebuckets_check(t);
    /* A hundred elements stand in two segments at most; the rest of the numbers are few. */
    size_t calls = 0, visited = 0;
    uint64_t cursor = 0;
    do {
        cursor = timebuckets_walk(t, cursor, count_visit, &visited);
        calls++;
    } while (cursor);
    assert_int_equal(visited, 100);
    assert_true(calls <= 4);
    timebuckets_free(t);
    elements_free(pool);
}

/* ---- Sampling and walking ---- */

static void check_fair(struct timebuckets *t, struct element *pool, size_t count) {
    enum { DRAWS_EACH = 200 };
    for (size_t i = 0; i < count; i++) pool[i].hits = 0;
    for (size_t i = 0; i < DRAWS_EACH * count; i++) {
        struct element *e = timebuckets_random(t);
        assert_true(e->inside);
        e->hits++;
    }
    double chi_square = 0;
    for (size_t i = 0; i < count; i++) {
        double off = (double)pool[i].hits - DRAWS_EACH;
        chi_square += off * off / DRAWS_EACH;
    }
    /* Mean count - 1, variance twice that: nine deviations leave no room for chance. */
    double freedom = (double)count - 1;
    print_message("%zu elements: chi-square %.0f\n", count, chi_square);
    assert_true((chi_square - freedom) * (chi_square - freedom) <= 81 * 2 * freedom);
}

static void test_random_is_fair(void **state) {
    struct timebuckets *t = timebuckets_create(&type);
    struct element *pool = elements_make(2000);
    bool more;
    assert_null(peek(t, NOW_MSEC, &more));
    for (int i = 0; i < 2000; i++) put(t, &pool[i], NOW_MSEC + 1 + random_span(38));
    check_fair(t, pool, 2000);
    for (int i = 300; i < 2000; i++) take(t, &pool[i]);
    check_fair(t, pool, 300);
    timebuckets_free(t);
    /* Thin: sixty buckets with one element and one with as many as all of them. */
    t = timebuckets_create(&type);
    assert_null(peek(t, NOW_MSEC / 4096 * 4096, &more));
    for (int i = 0; i < 60; i++) put(t, &pool[i], NOW_MSEC / 4096 * 4096 + 64 * (i + 1));
    for (int i = 60; i < 120; i++) put(t, &pool[i], NOW_MSEC + YEAR_MSEC);
    check_fair(t, pool, 120);
    timebuckets_free(t);
    elements_free(pool);
}

static void test_walk_visits_each_once(void **state) {
    for (size_t count = 0; count <= 20000; count = count * 3 + 1) {
        struct timebuckets *t = timebuckets_create(&type);
        struct element *pool = elements_make(count + 1);
        for (size_t i = 0; i < count; i++) put(t, &pool[i], NOW_MSEC + random_span(38));
        for (size_t i = 0; i < count; i += 1 + random_below(3)) take(t, &pool[i]);
        uint64_t cursor = 0;
        do {
            size_t visited = 0;
            cursor = timebuckets_walk(t, cursor, count_visit, &visited);
            assert_true(visited <= 62);
        } while (cursor);
        for (size_t i = 0; i < count; i++) assert_int_equal(pool[i].hits, pool[i].inside);
        timebuckets_free(t);
        elements_free(pool);
    }
}

static void test_free_step(void **state) {
    size_t used_before = memory_used(MEMORY_DATASET);
    struct timebuckets *t = timebuckets_create(&type);
    struct element *pool = elements_make(MANY / 4);
    for (size_t i = 0; i < MANY / 4; i++) put(t, &pool[i], NOW_MSEC + random_span(38));
    for (size_t i = 0; i < MANY / 4; i += 5) take(t, &pool[i]);
    size_t steps = 0, used = memory_used(MEMORY_DATASET);
    while (!timebuckets_free_step(t, 620)) {
        size_t now_used = memory_used(MEMORY_DATASET);
        /* Eleven segments of 512 bytes, and pages of 64 KiB that they leave. */
        assert_true(used - now_used <= 11 * 512 + 65536);
        used = now_used;
        steps++;
    }
    assert_true(steps >= MANY / 4 * 8 / 10 / (620 + 62) / 2);
    assert_int_equal(memory_used(MEMORY_DATASET), used_before);
    timebuckets_free(NULL);
    elements_free(pool);
}

/* ---- Resting ---- */

/* Takes what is due at a time, all of it, and nothing else; returns how many. */
static size_t take_exactly(struct timebuckets *t, const struct element *pool, size_t count,
                           int64_t now) {
    size_t due = 0, left = 0;
    for (size_t i = 0; i < count; i++) due += pool[i].inside && pool[i].deadline <= now;
    size_t taken = take_all_due(t, now);
    assert_int_equal(taken, due);
    for (size_t i = 0; i < count; i++) left += pool[i].inside;
    assert_int_equal(timebuckets_count(t), left);
    assert_int_equal(timebuckets_due(t, now), 0);
    return taken;
}

/* A long rest, over boundaries of 4 s, 4 min and 5 h: all comes in time. Elements come, go and get
 * other deadlines meanwhile. */
static void test_rest_over_boundaries(void **state) {
    struct timebuckets *t = timebuckets_create(&type);
    size_t count = MANY / 20, taken = 0;
    struct element *pool = elements_make(count);
    int64_t boundary = NOW_MSEC >> 24 << 24, now = boundary - 3000;
    bool more;
    assert_null(peek(t, now, &more));
    for (size_t i = 0; i < count; i++)
        put(t, &pool[i], now + 1 + (int64_t)random_below(6 * HOUR_MSEC));
    rest(true);
    for (int round = 0; round < 60; round++) {
        now += 1 + (round < 30 ? random_span(12) : random_span(21));
        taken += take_exactly(t, pool, count, now);
        assert_true(timebuckets_next_deadline(t) > now);
        for (int i = 0; i < 200; i++) {
            struct element *e = &pool[random_below(count)];
            if (e->inside) take(t, e);
            if (random_below(4)) put(t, e, now + random_span(24));
        }
        if (round % 20 == 0) timebuckets_check(t);
    }
    assert_true(now > boundary && taken > 0);
    rest(false);
    timebuckets_check(t);
    while (timebuckets_count(t)) {
        now += 1 + random_span(23);
        take_exactly(t, pool, count, now);
    }
    while (timebuckets_settle(t, 1)) continue;
    timebuckets_check(t);
    timebuckets_free(t);
    elements_free(pool);
}

/* Who looks when something may be due looks in vain at most once a level for each element. */
static void test_rest_wakes_in_time(void **state) {
    struct timebuckets *t = timebuckets_create(&type);
    struct element pool[20];
    bool more;
    assert_null(peek(t, NOW_MSEC, &more));
    for (int i = 0; i < 20; i++) put(t, &pool[i], NOW_MSEC + 1 + random_span(30));
    rest(true);
    size_t taken = 0, calls = 0;
    while (taken < 20) {
        int64_t now = timebuckets_next_deadline(t);
        assert_true(++calls <= 20 * 12);
        for (int i = 0; i < 20; i++) assert_true(!pool[i].inside || pool[i].deadline >= now);
        taken += take_all_due(t, now);
    }
    rest(false);
    timebuckets_free(t);
}

/* The rest begins while a bucket is being drained, and draining goes on after it. */
static void test_rest_amid_draining(void **state) {
    struct timebuckets *t = timebuckets_create(&type);
    size_t count = 5000;
    struct element *pool = elements_make(count);
    int64_t slot = NOW_MSEC / 262144 * 262144 + 262144;
    bool more;
    assert_null(peek(t, slot - 1, &more));
    for (size_t i = 0; i < count; i++) put(t, &pool[i], slot + 4096 + (int64_t)random_below(4096));
    assert_null(peek(t, slot + 4096, &more));
    assert_true(more);
    rest(true);
    for (int64_t now = slot + 4096; now < slot + 6144; now += 1 + random_span(7))
        take_exactly(t, pool, count, now);
    assert_in_range(timebuckets_count(t), count / 3, 2 * count / 3);
    timebuckets_check(t);
    rest(false);
    for (int64_t now = slot + 6144; timebuckets_count(t); now += 1 + random_span(7))
        take_exactly(t, pool, count, now);
    timebuckets_free(t);
    elements_free(pool);
}

/* The segment at which listing is to go on is freed. */
static void test_rest_loses_its_place(void **state) {
    struct timebuckets *t = timebuckets_create(&type);
    size_t count = 2000;
    struct element *pool = elements_make(count);
    int64_t slot = NOW_MSEC / 262144 * 262144 + 262144;
    bool more;
    assert_null(peek(t, slot - 1, &more));
    for (size_t i = 0; i < count; i++) put(t, &pool[i], slot + 100 + (int64_t)i);
    rest(true);
    assert_null(peek(t, slot + 5, &more));
    assert_true(more);
    /* Listing goes from the newest on. */
    for (size_t i = 500; i < count; i++) take(t, &pool[i]);
    assert_int_equal(take_exactly(t, pool, count, slot + 100 + 249), 250);
    assert_int_equal(take_exactly(t, pool, count, slot + 100 + 499), 250);
    rest(false);
    timebuckets_free(t);
    elements_free(pool);
}

/* Nine of ten go during a rest: draws find those that are left, and stay fair; afterwards the index
 * becomes as dense as if it had never rested, in steps. */
static void test_rest_leaves_gaps(void **state) {
    size_t count = 20000, kept = count / 10, steps = 0, used_before = memory_used(MEMORY_DATASET);
    struct timebuckets *t = timebuckets_create(&type);
    struct element *pool = elements_make(count);
    /* Those that stay are strewn over all segments: 7919 is a prime. */
    for (size_t i = 0; i < count; i++)
        put(t, &pool[i * 7919 % count], NOW_MSEC + (int64_t)random_below(HOUR_MSEC));
    rest(true);
    for (size_t i = kept; i < count; i++) take(t, &pool[i]);
    timebuckets_check(t);
    check_fair(t, pool, kept);
    size_t visited = 0, bytes = timebuckets_bytes(t);
    uint64_t cursor = 0;
    do {
        cursor = timebuckets_walk(t, cursor, count_visit, &visited);
    } while (cursor);
    assert_int_equal(visited, kept);
    assert_false(timebuckets_settle(t, 1)); /* not while it rests */
    rest(false);
    do {
        work = 0;
        steps++;
    } while (timebuckets_settle(t, 1) && work <= SETTLE_WORK_MAX);
    assert_true(work <= SETTLE_WORK_MAX && steps > 10);
    timebuckets_check(t);
    assert_true(timebuckets_bytes(t) < bytes);
    check_fair(t, pool, kept);
    assert_int_equal(take_all_due(t, NOW_MSEC + HOUR_MSEC), kept);
    timebuckets_free(t);
    assert_int_equal(memory_used(MEMORY_DATASET), used_before);
    elements_free(pool);
}

static int begin(void **state) {
    seed_from_environment();
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_model),
        cmocka_unit_test(test_model_that_rests),
        cmocka_unit_test(test_drained_bucket_vanishes),
        cmocka_unit_test(test_clock_that_was_far_ahead),
        cmocka_unit_test(test_clock_behind_with_many_early),
        cmocka_unit_test(test_extreme_deadlines),
        cmocka_unit_test(test_whole_way),
        cmocka_unit_test(test_due_counts),
        cmocka_unit_test(test_next_deadline),
        cmocka_unit_test(test_changes_leave_no_garbage),
        cmocka_unit_test(test_weight_and_density),
        cmocka_unit_test(test_weight_over_years),
        cmocka_unit_test(test_numbers_stay_dense),
        cmocka_unit_test(test_random_is_fair),
        cmocka_unit_test(test_walk_visits_each_once),
        cmocka_unit_test(test_free_step),
        cmocka_unit_test(test_rest_over_boundaries),
        cmocka_unit_test(test_rest_wakes_in_time),
        cmocka_unit_test(test_rest_amid_draining),
        cmocka_unit_test(test_rest_loses_its_place),
        cmocka_unit_test(test_rest_leaves_gaps),
    };
    return cmocka_run_group_tests(tests, begin, NULL);
}
