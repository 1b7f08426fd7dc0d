/* SPDX-License-Identifier: BSD-3-Clause
 * Votes: which are given, which count, and that no epoch has two leaders.
 */
#include "sentinel/election.h"

#include "base/random.h"
#include "base/seed.h"
#include "sentinel/foreign_text.h"
#include "sentinel/scene.h"

/* ---- A vote is asked for ---- */

/* Candidates and leaders are named by the digit of their id; '\0' = none, '*' and others as such.
 */
static const struct vote_row {
    const char *what;
    uint64_t current, own_epoch;
    char own_leader;
    uint64_t asked;
    char candidate;
    uint64_t current_then;
    bool is_new;
    uint64_t epoch_then;
    char leader_then;
    bool for_another;
} vote_rows[] = {
    {"the first vote", 0, 0, 0, 1, '1', 1, true, 1, '1', true},
    {"a vote for ourselves", 0, 0, 0, 1, '0', 1, true, 1, '0', false},
    {"the current epoch, not voted in", 5, 4, '1', 5, '2', 5, true, 5, '2', true},
    {"a newer epoch", 5, 5, '1', 6, '2', 6, true, 6, '2', true},
    {"voted in this epoch", 5, 5, '1', 5, '2', 5, false, 5, '1', false},
    {"asked again by the one that has the vote", 5, 5, '1', 5, '1', 5, false, 5, '1', false},
    {"an epoch before the current one", 5, 3, '1', 4, '2', 5, false, 3, '1', false},
    {"an epoch before our vote", 5, 5, '1', 4, '2', 5, false, 5, '1', false},
    {"voted, but the name was lost in a restart", 5, 5, 0, 5, '2', 5, false, 5, 0, false},
    {"the next epoch after a restart", 5, 5, 0, 6, '2', 6, true, 6, '2', true},
    {"the last epoch", 5, 5, '1', SENTINEL_EPOCH_MAX, '2', SENTINEL_EPOCH_MAX, true,
     SENTINEL_EPOCH_MAX, '2', true},
    {"an absurd epoch", 5, 5, '1', SENTINEL_EPOCH_MAX + 1, '2', 5, false, 5, '1', false},
    {"the highest number", 5, 5, '1', UINT64_MAX, '2', 5, false, 5, '1', false},
    {"a candidate that is no id", 5, 4, '1', 6, 'x', 5, false, 4, '1', false},
    {"epoch 0", 0, 0, 0, 0, '1', 0, false, 0, 0, false},
};

static void id_of(char digit, char id[SENTINEL_ID_CHARS + 1]) {
    if (digit)
        scene_id(id, digit);
    else
        id[0] = '\0';
}

static void test_votes_are_given_once_an_epoch(void **state) {
    for (size_t at = 0; at < sizeof(vote_rows) / sizeof(vote_rows[0]); at++) {
        const struct vote_row *row = &vote_rows[at];
        char candidate[SENTINEL_ID_CHARS + 1], leader[SENTINEL_ID_CHARS + 1];
        struct scene s;
        scene_make(&s, 0, 0);
        s.primary.leader_epoch = row->own_epoch;
        id_of(row->own_leader, s.primary.leader);
        id_of(row->candidate, candidate);
        id_of(row->leader_then, leader);
        struct sentinel_vote vote =
            sentinel_election_vote(&s.primary, row->current, row->asked, candidate, ME);
        if (vote.current_epoch != row->current_then || vote.is_new != row->is_new ||
            vote.leader_epoch != row->epoch_then || strcmp(vote.leader, leader) != 0 ||
            vote.is_for_another != row->for_another)
            fail_msg("%s: current %llu, new %d, %.1s in %llu, for another %d", row->what,
                     (unsigned long long)vote.current_epoch, vote.is_new, vote.leader,
                     (unsigned long long)vote.leader_epoch, vote.is_for_another);
        sentinel_election_take(&s.primary, &vote);
        assert_string_equal(s.primary.leader, leader);
        assert_int_equal(s.primary.leader_epoch, row->epoch_then);
    }
}

static void test_a_candidate_of_another_length_gets_no_vote(void **state) {
    static const char *const texts[] = {"", "*", "abc", ME "0",
                                        "00000000000000000000 0000000000000000000"};
    struct scene s;
    scene_make(&s, 0, 0);
    for (size_t at = 0; at < sizeof(texts) / sizeof(texts[0]); at++) {
        struct sentinel_vote vote = sentinel_election_vote(&s.primary, 1, 2, texts[at], ME);
        assert_false(vote.is_new);
        assert_int_equal(vote.current_epoch, 1);
    }
}

/* ---- Votes are counted ---- */

/* `votes`: of the voters, from the first on, the digit of the one that each voted for in epoch 7;
 * '.' = it has not voted, 'o' = for us but in epoch 6, 'l' = for us but said too long ago. */
static const struct count_row {
    const char *votes;
    char own; /* our vote in epoch 7; '.' = none, 'o' = for us, in epoch 6 */
    int quorum;
    bool won;
    char favourite;
} count_rows[] = {
    {"", '0', 1, true, '0'},                                 /* alone */
    {"", '.', 1, false, '0'},                                /* even so only with a vote */
    {"", '0', 2, false, '0'},     {".", '0', 1, false, '0'}, /* one of two is no majority */
    {"0", '0', 1, true, '0'},     {"..", '0', 1, false, '0'},  {"0.", '0', 2, true, '0'},
    {"0.", '0', 3, false, '0'},                               /* a majority below the quorum */
    {"00", '0', 3, true, '0'},    {"0.", '.', 1, false, '0'}, /* without our own vote */
    {"00", '.', 2, true, '0'},    {"00", '1', 2, true, '0'},  /* our vote went elsewhere */
    {"00", 'o', 3, false, '0'},                               /* our vote is of another epoch */
    {"0...", '0', 2, false, '0'}, {"00..", '0', 2, true, '0'}, {"000.", '1', 2, true, '0'},
    {"0..", '0', 2, false, '0'}, /* two of four */
    {"00.", '0', 2, true, '0'},   {"o.", '0', 2, false, '0'},  {"oo", '0', 1, false, '0'},
    {"l.", '0', 2, false, '0'},   {"1", '0', 1, false, '1'},   {"11", '0', 1, false, '1'},
    {"12", '0', 1, false, '1'},                                /* the smallest id of several */
    {"21", '0', 1, false, '1'},   {"122", '0', 1, false, '2'}, /* the most votes */
    {"01", '.', 1, false, '0'},
};

static void test_votes_count_by_the_failovers_epoch(void **state) {
    for (size_t at = 0; at < sizeof(count_rows) / sizeof(count_rows[0]); at++) {
        const struct count_row *row = &count_rows[at];
        char favourite[SENTINEL_ID_CHARS + 1];
        struct scene s;
        scene_make(&s, 0, (int)strlen(row->votes));
        s.primary.quorum = row->quorum;
        for (int i = 0; row->votes[i]; i++) {
            char vote = row->votes[i];
            if (vote == '.') continue;
            scene_vote(&s.voters[i], vote == 'o' || vote == 'l' ? '0' : vote, vote == 'o' ? 6 : 7);
            if (vote == 'l') s.voters[i].said_at = NOW - 5001;
        }
        if (row->own != '.') {
            scene_id(s.primary.leader, row->own == 'o' ? '0' : row->own);
            s.primary.leader_epoch = row->own == 'o' ? 6 : 7;
        }
        scene_id(favourite, row->favourite);
        if (sentinel_election_is_won(&s.primary, 7, ME, NOW) != row->won)
            fail_msg("row %zu (%s): won is not %d", at, row->votes, row->won);
        assert_string_equal(sentinel_election_favourite(&s.primary, 7, ME, NOW), favourite);
    }
}

/* Sentinels ask each other in any order, forget the names of their votes, and ask again: of each
 * epoch at most one leads, because no vote changes within an epoch. */
#define GROUP 5
static void test_no_epoch_has_two_leaders(void **state) {
    seed_from_environment();
    for (int round = 0; round < 300; round++) {
        struct scene group[GROUP];
        uint64_t current[GROUP] = {0}, epochs[GROUP] = {0};
        char ids[GROUP][SENTINEL_ID_CHARS + 1];
        int leader_of[64];
        memset(leader_of, -1, sizeof(leader_of));
        for (int i = 0; i < GROUP; i++) {
            scene_make(&group[i], 0, GROUP - 1);
            scene_id(ids[i], (char)('0' + i));
        }
        for (int step = 0; step < 150; step++) {
            int asks = (int)random_below(GROUP), asked = (int)random_below(GROUP);
            struct primary *p = &group[asked].primary;
            if (random_below(8) == 0 && current[asks] < 60) epochs[asks] = ++current[asks];
            if (random_below(16) == 0) group[asked].primary.leader[0] = '\0'; /* a restart */
            if (!epochs[asks]) continue;
            struct sentinel_vote vote =
                sentinel_election_vote(p, current[asked], epochs[asks], ids[asks], ids[asked]);
            sentinel_election_take(p, &vote);
            current[asked] = vote.current_epoch;
            if (asked == asks) continue;
            struct voter *v = &group[asks].voters[asked > asks ? asked - 1 : asked];
            memcpy(v->leader, vote.leader, sizeof(v->leader));
            v->leader_epoch = vote.leader_epoch;
            v->said_at = NOW;
            if (!sentinel_election_is_won(&group[asks].primary, epochs[asks], ids[asks], NOW))
                continue;
            int *leader = &leader_of[epochs[asks]];
            assert_true(*leader < 0 || *leader == asks);
            *leader = asks;
        }
    }
}

/* ---- Two configurations of one epoch ---- */

static struct sentinel_address address_of(const char *ip, int port) {
    struct sentinel_address a;
    scene_address(&a, port);
    snprintf(a.ip, sizeof(a.ip), "%s", ip);
    return a;
}

static void test_two_addresses_of_one_epoch_take_new_ones(void **state) {
    const struct {
        const char *ours;
        int our_port;
        const char *theirs;
        int their_port;
        uint64_t config, current, taken;
    } rows[] = {
        {"10.0.0.1", 1, "10.0.0.2", 1, 3, 7, 8},
        {"10.0.0.2", 1, "10.0.0.1", 1, 3, 7, 9}, /* the greater address gets the higher epoch */
        {"10.0.0.1", 1, "10.0.0.1", 2, 3, 3, 4},
        {"10.0.0.1", 2, "10.0.0.1", 1, 3, 3, 5},
        {"10.0.0.1", 1, "10.0.0.2", 1, 9, 7, 10}, /* above both epochs */
        {"10.0.0.1", 1, "10.0.0.1", 1, 3, 7, 0},  /* the same */
        {"10.0.0.1", 1, "10.0.0.2", 1, 0, 7, 0},  /* the operators' configurations */
        {"", 1, "10.0.0.2", 1, 3, 7, 0},          /* names that are not known */
        {"10.0.0.1", 1, "", 1, 3, 7, 0},
        {"10.0.0.1", 1, "10.0.0.2", 1, 3, SENTINEL_EPOCH_MAX, 0},
        {"10.0.0.2", 1, "10.0.0.1", 1, 3, SENTINEL_EPOCH_MAX - 1, 0},
    };
    for (size_t at = 0; at < sizeof(rows) / sizeof(rows[0]); at++) {
        struct sentinel_address ours = address_of(rows[at].ours, rows[at].our_port),
                                theirs = address_of(rows[at].theirs, rows[at].their_port);
        uint64_t taken =
            sentinel_election_settle(&ours, &theirs, rows[at].config, rows[at].current);
        if (taken != rows[at].taken) fail_msg("row %zu: %llu", at, (unsigned long long)taken);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_votes_are_given_once_an_epoch),
        cmocka_unit_test(test_a_candidate_of_another_length_gets_no_vote),
        cmocka_unit_test(test_votes_count_by_the_failovers_epoch),
        cmocka_unit_test(test_no_epoch_has_two_leaders),
        cmocka_unit_test(test_two_addresses_of_one_epoch_take_new_ones)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
