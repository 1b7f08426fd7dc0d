/* SPDX-License-Identifier: BSD-3-Clause
 * The simulation's program.
 *
 *   evenkeel-sim --seeds A-B [--jobs N] [--twice]    runs each; a line for each finding, then a sum
 *   evenkeel-sim --seed N [--trace] [--keep]         runs one, and tells what happens
 *
 * Each seed runs in a process of its own, forked from the same state, whose addresses are not
 * randomised; so a seed means the same run each time. --twice runs each seed again and compares.
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sim/headers.h"
#include "sim/history.h"
#include "sim/load.h"
#include "sim/network.h"
#include "sim/operator.h"
#include "sim/promise.h"
#include "sim/reshard.h"
#include "sim/roam.h"
#include "sim/scenario.h"
#include "sim/scheduler.h"
#include "sim/slots.h"
#include "sim/witness.h"
#include "sim/world.h"

#define JOBS_MAX 64
#define FOLDER_BYTES 128
#define OUT_FD 500
#define BASE "/dev/shm"
#define DRAWN (-1)
#define CLUSTER_NODES_MAX (LISTENERS_MAX / 2)
#define SHARDS_MIN 3
#define WATCHED_SEEDS 4 /* Sentinels watch in each so manieth seed */

static struct {
    unsigned long long first, last;
    int jobs, nodes, sentinels, cluster, shards;
    bool trace, keep, twice;
} options = {.jobs = 1, .sentinels = DRAWN};

/* What a seed's process tells. */
struct result {
    unsigned long long seed;
    uint64_t hash, turns, replies, numbers, full_syncs, partial_syncs, promises, promotions, saves;
    uint64_t redirections, moves;
    int64_t simulated_nsec;
    char finding[512];
};

static void remove_folder(const char *folder) {
    pid_t pid = fork();
    if (pid == 0) {
        execlp("rm", "rm", "-rf", folder, (char *)NULL);
        _exit(1);
    }
    waitpid(pid, NULL, 0);
}

/* Names of one length, lest a server's memory differ by it. */
static void make_folder(char *folder, unsigned long long seed, int turn) {
    snprintf(folder, FOLDER_BYTES, BASE "/evenkeel-sim-%010d-%020llu-%d",
             (int)getpid() % 1000000000, seed, turn);
    if (mkdir(folder, 0700)) {
        fprintf(stderr, "%s: %s\n", folder, strerror(errno));
        exit(2);
    }
}

static int draw_nodes(void) {
    unsigned at = (unsigned)draw(100);
    return at < 20 ? 1 : at < 45 ? 2 : at < 85 ? 3 : 4;
}

/* Not by the world's numbers, so that seeds without Sentinels do not change by them. */
static int choose_sentinels(unsigned long long seed) {
    if (options.sentinels != DRAWN) return options.sentinels;
    return seed % WATCHED_SEEDS ? 0 : seed / WATCHED_SEEDS % 3 ? 3 : 5;
}

static void run_seed(unsigned long long seed, int turn, int out) {
    struct result r = {.seed = seed};
    char folder[FOLDER_BYTES];
    make_folder(folder, seed, turn);
    world_make(seed, options.trace);
    network_make();
    int sentinels = choose_sentinels(seed), servers = options.nodes ? options.nodes : draw_nodes();
    if (sentinels && servers < 2) servers = 3;
    if (options.cluster) {
        servers = options.cluster;
        sentinels = 0;
    }
    if (options.shards) {
        servers = options.shards + 1 + (int)draw(CLUSTER_NODES_MAX - (uint64_t)options.shards);
        sentinels = 0;
        slots_set_shards(options.shards);
    }
    nodes_make(folder, servers + sentinels);
    int64_t begun = world->now_nsec;
    scenario_run(sentinels, options.cluster || options.shards);
    nodes_end();
    r.hash = world->hash;
    r.turns = world->turns;
    r.replies = load_replies() + roam_replies();
    r.redirections = roam_redirections();
    r.moves = reshard_moves();
    r.numbers = load_numbers();
    for (int node = 0; node < NODES_MAX; node++) {
        r.full_syncs += history_full_syncs(node);
        r.partial_syncs += history_partial_syncs(node);
    }
    r.promises = promises();
    r.promotions = operator_promotions() + witness_promotions() + headers_promotions();
    r.saves = world->saves;
    r.simulated_nsec = world->now_nsec - begun;
    memcpy(r.finding, world->finding, sizeof(r.finding));
    if (write(out, &r, sizeof(r)) != sizeof(r)) exit(2);
    if (!options.keep) remove_folder(folder);
}

/* Each job on a processor of its own: its processes take turns, and hand-over is cheapest there. */
static void stay_on_processor(int job) {
    cpu_set_t allowed, one;
    int found = 0, at = 0;
    if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return;
    int wanted = job % CPU_COUNT(&allowed);
    for (; at < CPU_SETSIZE; at++)
        if (CPU_ISSET(at, &allowed) && found++ == wanted) break;
    CPU_ZERO(&one);
    CPU_SET(at, &one);
    (void)sched_setaffinity(0, sizeof(one), &one);
}

static pid_t start_seed(unsigned long long seed, int turn, int job, int out) {
    fflush(NULL);
    pid_t pid = fork();
    if (pid != 0) return pid;
    stay_on_processor(job);
    /* Numbers of descriptors are the same in each seed's process. */
    if (dup2(out, OUT_FD) < 0 || close_range(3, OUT_FD - 1, 0) || close_range(OUT_FD + 1, ~0u, 0))
        exit(2);
    run_seed(seed, turn, OUT_FD);
    fflush(NULL);
    _exit(0);
}

static struct sum {
    unsigned long long done, found, differ;
    uint64_t turns, replies, numbers, full_syncs, partial_syncs, promises, promotions, saves;
    uint64_t redirections, moves;
    double simulated;
} sum;

static void add_result(const struct result *r, bool shown) {
    sum.done++;
    sum.turns += r->turns;
    sum.replies += r->replies;
    sum.numbers += r->numbers;
    sum.full_syncs += r->full_syncs;
    sum.partial_syncs += r->partial_syncs;
    sum.promises += r->promises;
    sum.promotions += r->promotions;
    sum.saves += r->saves;
    sum.redirections += r->redirections;
    sum.moves += r->moves;
    sum.simulated += (double)r->simulated_nsec / 1e9;
    sum.found += r->finding[0] != 0;
    if (r->finding[0] || shown)
        printf("seed %llu: %s (%016llx, %llu turns, %.1f s)\n", r->seed,
               r->finding[0] ? r->finding : "nothing found", (unsigned long long)r->hash,
               (unsigned long long)r->turns, (double)r->simulated_nsec / 1e9);
    fflush(stdout);
}

/* A seed and where it is. */
struct job {
    pid_t pid;
    int out, turn;
    unsigned long long seed;
    uint64_t hash;
};

static void start_job(struct job *j, unsigned long long seed, int turn, int number) {
    int ends[2];
    if (pipe(ends)) exit(2);
    j->seed = seed;
    j->turn = turn;
    j->pid = start_seed(seed, turn, number, ends[1]);
    close(ends[1]);
    j->out = ends[0];
}

/* True where the seed is to run again. */
static bool end_job(struct job *j, int status) {
    struct result r = {.seed = j->seed};
    if (read(j->out, &r, sizeof(r)) != sizeof(r))
        snprintf(r.finding, sizeof(r.finding), "the simulation itself has ended: status %x",
                 status);
    close(j->out);
    j->pid = 0;
    if (j->turn == 0) {
        add_result(&r, options.first == options.last);
        j->hash = r.hash;
        return options.twice;
    }
    if (r.hash == j->hash) return false;
    sum.differ++;
    printf("seed %llu: does not repeat itself: %016llx, then %016llx\n", r.seed,
           (unsigned long long)j->hash, (unsigned long long)r.hash);
    return false;
}

static struct job *job_of(struct job *jobs, pid_t pid) {
    for (int i = 0; i < options.jobs; i++)
        if (jobs[i].pid == pid) return &jobs[i];
    return NULL;
}

static void run_all(void) {
    struct job jobs[JOBS_MAX] = {0};
    unsigned long long next = options.first;
    int running = 0;
    for (int i = 0; i < options.jobs && next <= options.last; i++, running++)
        start_job(&jobs[i], next++, 0, i);
    while (running) {
        int status;
        pid_t pid = waitpid(-1, &status, 0);
        struct job *j = job_of(jobs, pid);
        if (!j) continue;
        int number = (int)(j - jobs);
        if (end_job(j, status))
            start_job(j, j->seed, 1, number);
        else if (next <= options.last)
            start_job(j, next++, 0, number);
        else
            running--;
    }
}

static int use(void) {
    fputs(
        "evenkeel-sim --seeds A-B [--jobs N] [--nodes N] [KIND] [--twice]\n"
        "evenkeel-sim --seed N [--trace] [--keep] [--nodes N] [KIND]\n"
        "KIND: --sentinels N | --cluster N | --shards N\n",
        stderr);
    return 2;
}

static bool read_options(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : "";
        if (!strcmp(name, "--trace")) {
            options.trace = true;
        } else if (!strcmp(name, "--keep")) {
            options.keep = true;
        } else if (!strcmp(name, "--twice")) {
            options.twice = true;
        } else if (!strcmp(name, "--jobs") && ++i < argc) {
            options.jobs = (int)strtol(value, NULL, 10);
        } else if (!strcmp(name, "--nodes") && ++i < argc) {
            options.nodes = (int)strtol(value, NULL, 10);
        } else if (!strcmp(name, "--sentinels") && ++i < argc) {
            options.sentinels = (int)strtol(value, NULL, 10);
        } else if (!strcmp(name, "--cluster") && ++i < argc) {
            options.cluster = (int)strtol(value, NULL, 10);
        } else if (!strcmp(name, "--shards") && ++i < argc) {
            options.shards = (int)strtol(value, NULL, 10);
        } else if (!strcmp(name, "--seed") && ++i < argc) {
            options.first = options.last = strtoull(value, NULL, 10);
        } else if (!strcmp(name, "--seeds") && ++i < argc) {
            char *end;
            options.first = strtoull(value, &end, 10);
            if (*end++ != '-') return false;
            options.last = strtoull(end, NULL, 10);
        } else {
            return false;
        }
    }
    return options.last > 0 && options.jobs > 0 && options.jobs <= JOBS_MAX && options.nodes >= 0 &&
           options.nodes <= NODES_MAX - 5 && options.sentinels >= DRAWN && options.sentinels <= 5 &&
           (options.cluster == 0 ||
            (options.cluster >= 2 && options.cluster <= CLUSTER_NODES_MAX)) &&
           (options.shards == 0 ||
            (options.shards >= SHARDS_MIN && options.shards < CLUSTER_NODES_MAX));
}

int main(int argc, char **argv) {
    if (!read_options(argc, argv)) return use();
    int persona = personality(0xffffffff);
    if (!(persona & ADDR_NO_RANDOMIZE) &&
        personality((unsigned long)persona | ADDR_NO_RANDOMIZE) >= 0)
        execv("/proc/self/exe", argv);
    struct timespec begun, ended;
    clock_gettime(CLOCK_MONOTONIC, &begun);
    run_all();
    clock_gettime(CLOCK_MONOTONIC, &ended);
    double seconds =
        (double)(ended.tv_sec - begun.tv_sec) + (double)(ended.tv_nsec - begun.tv_nsec) / 1e9;
    printf("%llu seeds in %.1f s (%.1f a second), %.0f simulated seconds, %llu turns\n", sum.done,
           seconds, (double)sum.done / seconds, sum.simulated, (unsigned long long)sum.turns);
    printf(
        "%llu replies, %llu numbers, %llu full and %llu partial syncs, "
        "%llu promises, %llu promotions, %llu saves looked at\n",
        (unsigned long long)sum.replies, (unsigned long long)sum.numbers,
        (unsigned long long)sum.full_syncs, (unsigned long long)sum.partial_syncs,
        (unsigned long long)sum.promises, (unsigned long long)sum.promotions,
        (unsigned long long)sum.saves);
    if (options.cluster || options.shards)
        printf("%llu redirections, %llu times keys moved\n", (unsigned long long)sum.redirections,
               (unsigned long long)sum.moves);
    printf("%llu passed, %llu failed\n", sum.done - sum.found, sum.found + sum.differ);
    return sum.found || sum.differ;
}
