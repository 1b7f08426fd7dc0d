/* SPDX-License-Identifier: BSD-3-Clause
 * SPOP with a count: what is taken out of a large set of integers is moved once, not once a member.
 */
#include "commands/set.h"

#include "base/number.h"
#include "server/whole.h"

#define MEMBERS 160000
/* A set of this fraction costs about as much less, where the cost is by the members; its square
 * less where each member that goes moves those behind it. */
#define FRACTION 8
#define RATIO_MAX (3 * FRACTION)
#define ROUNDS 5

static void fill(struct peer *p, int members) {
    struct buffer line = {.class = MEMORY_OTHER};
    char reply[20];
    buffer_printf(&line, "*%d\r\n$4\r\nsadd\r\n$1\r\nk\r\n", members + 2);
    for (int i = 0; i < members; i++) buffer_printf(&line, "$6\r\n%d\r\n", 100000 + i);
    peer_send(p, buffer_slice(&line));
    snprintf(reply, sizeof(reply), ":%d\r\n", members);
    peer_assert_got(p, slice_of(reply));
    buffer_free(&line);
}

/* Half of the members, each once, in no order; marks them. Consumes the reply. */
static void check_reply(struct peer *p, int members, bool *gone) {
    size_t replied = 0, ascending = 0;
    int64_t last = 0, member;
    peer_receive(p, SIZE_MAX);
    const char *text = p->got.bytes, *end = text + p->got.length;
    text = (const char *)memchr(text, '\n', p->got.length) + 1;
    for (; text < end; text += 8, replied++) {
        text = (const char *)memchr(text, '\n', (size_t)(end - text)) + 1;
        assert_true(number_parse_int64(text, 6, &member));
        assert_in_range(member, 100000, 100000 + members - 1);
        assert_false(gone[member - 100000]);
        gone[member - 100000] = true;
        ascending += member > last;
        last = member;
    }
    assert_int_equal(replied, members / 2);
    assert_in_range(ascending, members / 8, members * 3 / 8);
    buffer_clear(&p->got);
}

/* Thread's processor time of an SPOP of half of them. */
static int64_t cost(struct peer *p, int members) {
    bool *gone = memory_zalloc((size_t)members, MEMORY_OTHER);
    char line[40];
    fill(p, members);
    snprintf(line, sizeof(line), "spop k %d\r\n", members / 2);
    int64_t begin = clock_thread_cpu_nsec();
    peer_send(p, slice_of(line));
    int64_t taken = clock_thread_cpu_nsec() - begin;
    check_reply(p, members, gone);
    whole_say(p, "object encoding k", "$6\r\nintset\r\n");
    snprintf(line, sizeof(line), ":%d\r\n", members - members / 2);
    whole_say(p, "scard k", line);
    for (int i = 0; i < members; i += members / 200) {
        snprintf(line, sizeof(line), "sismember k %d", 100000 + i);
        whole_say(p, line, gone[i] ? ":0\r\n" : ":1\r\n");
    }
    whole_say(p, "del k", ":1\r\n");
    memory_free(gone, MEMORY_OTHER);
    return taken;
}

/* The least of some rounds, so that what else the machine does counts for little. */
static int64_t least_cost(struct peer *p, int members) {
    int64_t least = INT64_MAX;
    for (int round = 0; round < ROUNDS; round++) {
        int64_t taken = cost(p, members);
        if (taken < least) least = taken;
    }
    return least;
}

static void test_large_intset(void **state) {
    struct peer p = peer_connect();
    option_set_text("set-max-intset-entries", "1000000");
    int64_t small = least_cost(&p, MEMBERS / FRACTION), large = least_cost(&p, MEMBERS);
    print_message("# %lld and %lld us\n", (long long)small / 1000, (long long)large / 1000);
    assert_true(large < small * RATIO_MAX);
    option_set_text("set-max-intset-entries", "512");
    peer_close(&p);
}

static int open_all(void **state) { return whole_open(); }
static int end(void **state) { return whole_nothing_left(state); }

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_large_intset, whole_begin, end),
    };
    return cmocka_run_group_tests(tests, open_all, NULL);
}
