/* SPDX-License-Identifier: BSD-3-Clause
 * A key that is named again and again: it is walked and looked up once. What is counted is the
 * thread's processor time of a command that names it 512 times, against one that names it once; the
 * least of several rounds, so that what else the machine does counts for little.
 *
 * And the results: what as many operations on doubles in a row give.
 */
#include "commands/zset_combine.h"

#include "base/number.h"
#include "server/whole.h"

#define MEMBERS 20000
#define REPEATS 512
#define ROUNDS 5
/* Above 40 where each time is a walk or a lookup of its own, else 1 to 4; and above 90, else about
 * 20 where it is a sum of its own. */
#define RATIO_MAX 14
#define SUMS_RATIO_MAX 45

static void fill(struct peer *p, const char *key, int first) {
    struct buffer line = {.class = MEMORY_OTHER};
    char reply[20];
    buffer_printf(&line, "*%d\r\n$4\r\nzadd\r\n$1\r\n%s\r\n", 2 * MEMBERS + 2, key);
    for (int i = 0; i < MEMBERS; i++)
        buffer_printf(&line, "$7\r\n%07d\r\n$6\r\nm%05d\r\n", i + 1, first + i);
    peer_send(p, buffer_slice(&line));
    snprintf(reply, sizeof(reply), ":%d\r\n", MEMBERS);
    peer_assert_got(p, slice_of(reply));
    buffer_free(&line);
}

static void append_keys(struct buffer *line, const char *key, int count) {
    for (int i = 0; i < count; i++) buffer_printf(line, " %s", key);
}

/* Of `command keys first repeated...`, into `to`: the least of some rounds. */
static int64_t cost(struct peer *p, const char *command, const char *first, int count) {
    struct buffer line = {.class = MEMORY_OTHER};
    int64_t least = INT64_MAX;
    buffer_printf(&line, "%s to %d%s", command, count + (first[0] != 0), first);
    append_keys(&line, "k", count);
    buffer_append_c_string(&line, "\r\n");
    for (int round = 0; round < ROUNDS; round++) {
        int64_t begin = clock_thread_cpu_nsec();
        peer_send(p, buffer_slice(&line));
        int64_t taken = clock_thread_cpu_nsec() - begin;
        if (taken < least) least = taken;
        peer_receive(p, SIZE_MAX);
        assert_true(p->got.length > 2 && p->got.bytes[0] == ':');
        buffer_clear(&p->got);
    }
    buffer_free(&line);
    return least;
}

static const struct {
    const char *command, *first;
    int64_t ratio_max;
} cases[] = {{"zunionstore", "", RATIO_MAX},
             {"zunionstore", " o", RATIO_MAX},
             {"zinterstore", "", SUMS_RATIO_MAX},
             {"zdiffstore", " o", RATIO_MAX}};

static void test_repeated_sources(void **state) {
    struct peer p = peer_connect();
    fill(&p, "k", 0);
    fill(&p, "o", MEMBERS / 2);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int64_t once = cost(&p, cases[i].command, cases[i].first, 1);
        int64_t often = cost(&p, cases[i].command, cases[i].first, REPEATS);
        print_message("# %lld and %lld us\n", (long long)once / 1000, (long long)often / 1000);
        assert_true(often < once * cases[i].ratio_max);
    }
    whole_say(&p, "zunionstore to 3 k k k weights 1 2 -4", ":20000\r\n");
    whole_say(&p, "zscore to m00004", "$2\r\n-5\r\n");
    whole_say(&p, "zunionstore to 4 k o k k weights 1 10 2 3 aggregate max", ":30000\r\n");
    whole_say(&p, "zscore to m10000", "$5\r\n30003\r\n");
    whole_say(&p, "zinterstore to 4 k o o k weights 1 10 100 2", ":10000\r\n");
    whole_say(&p, "zscore to m10000", "$5\r\n30113\r\n");
    whole_say(&p, "zdiffstore to 4 k o o o", ":10000\r\n");
    whole_say(&p, "zdiffstore to 3 k o k", ":0\r\n");
    whole_say(&p, "zadd a 0.1 m", ":1\r\n");
    whole_say(&p, "zunionstore to 3 a a a", ":1\r\n");
    whole_say(&p, "zscore to m", "$19\r\n0.30000000000000004\r\n");
    whole_say(&p, "zunionstore to 2 a a weights -1 0", ":1\r\n");
    whole_say(&p, "zscore to m", "$20\r\n-0.10000000000000001\r\n");
    whole_say(&p, "zadd b 9007199254740992 m", ":1\r\n"); /* 2 to the 53: sums are rounded */
    whole_say(&p, "zadd one 1 m", ":1\r\n");
    whole_say(&p, "zunionstore to 4 b one one one", ":1\r\n");
    whole_say(&p, "zscore to m", "$16\r\n9007199254740992\r\n");
    whole_say(&p, "zunionstore to 4 one one one b", ":1\r\n");
    whole_say(&p, "zscore to m", "$16\r\n9007199254740996\r\n");
    peer_close(&p);
}

static int open_all(void **state) { return whole_open(); }
static int end(void **state) { return whole_nothing_left(state); }

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_repeated_sources, whole_begin, end),
    };
    return cmocka_run_group_tests(tests, open_all, NULL);
}
