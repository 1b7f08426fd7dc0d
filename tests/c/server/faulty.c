/* SPDX-License-Identifier: BSD-3-Clause
 * The server's faults, told from outside: linked with the server in place of base/system.c.
 *
 * EVENKEEL_FAULTS names a file of lines, which is read again whenever it is another one (so write
 * it elsewhere and rename it):
 *   cut SEED BYTES PERCENT             transfers move 1 to BYTES bytes, PERCENT are interrupted
 *   fail CALL ERRNO AFTER TIMES PATH   read write accept epoll_ctl epoll_wait open close fsync
 *                                      rename truncate unlink fork; PATH: part of a path, or *
 *   slow MSEC PATH                     syncs take so long, and writes to that file wait for them
 *   rename BEFORE AFTER PATH           renames to it take so many milliseconds, before it has its
 * new name and after memory AFTER TIMES                 memory_try_ calls fail An empty file ends
 * all faults. Without the variable there are none.
 *
 * EVENKEEL_POWER="FOLDER NOTES" notes what happens to files below FOLDER, so that the power can be
 * cut once all of the server's processes were killed: with EVENKEEL_POWER_CUT=SEED besides, the
 * program only does that, and ends (io/power.h; SEED 0: the worst). Syncs are pretended then.
 */
#include "io/power.h"

#include <errno.h>

static const char *const call_names[FAULT_CALLS] = {"read",       "write",    "accept", "epoll_ctl",
                                                    "epoll_wait", "open",     "close",  "fsync",
                                                    "rename",     "truncate", "unlink", "fork"};
static char
    rules_path[PATH_MAX]; /* a copy: the title of the process is written over the variables */
static struct stat rules_now;
static bool rules_are_read;

static int error_of(const char *name) {
    for (int error = 1; error < 134; error++) {
        const char *known = strerrorname_np(error);
        if (known && strcmp(known, name) == 0) return error;
    }
    return 0;
}

static enum fault_call call_of(const char *name) {
    enum fault_call call = 0;
    while (call < FAULT_CALLS && strcmp(call_names[call], name) != 0) call++;
    return call;
}

/* False where it is not understood. */
static bool take_line(const char *line) {
    char call_name[16], error_name[16], path[128];
    unsigned long long seed;
    size_t bytes;
    unsigned first, second;
    if (sscanf(line, "cut %llu %zu %u", &seed, &bytes, &first) == 3) {
        faults_cut(seed, bytes, first);
    } else if (sscanf(line, "memory %u %u", &first, &second) == 2) {
        faults_refuse_memory(first, second);
    } else if (sscanf(line, "slow %u %127s", &first, path) == 2) {
        faults_slow((int)first, strcmp(path, "*") == 0 ? NULL : path);
    } else if (sscanf(line, "rename %u %u %127s", &first, &second, path) == 3) {
        faults_slow_renames((int)first, (int)second, strcmp(path, "*") == 0 ? NULL : path);
    } else if (sscanf(line, "fail %15s %15s %u %u %127s", call_name, error_name, &first, &second,
                      path) == 5) {
        enum fault_call call = call_of(call_name);
        int error = error_of(error_name);
        if (call == FAULT_CALLS || !error) return false;
        faults_fail(call, error, first, second, strcmp(path, "*") == 0 ? NULL : path);
    } else {
        return false;
    }
    return true;
}

static void read_rules(void) {
    char line[400];
    FILE *file = fopen(rules_path, "re");
    faults_clear();
    faults_memory_clear();
    while (file && fgets(line, sizeof(line), file)) {
        if (take_line(line)) continue;
        fprintf(stderr, "EVENKEEL_FAULTS: not understood: %s", line);
        abort();
    }
    if (file) (void)fclose(file);
}

/* Several threads come here; one reads. */
static void renew_rules(void) {
    struct stat now = {0};
    int saved_errno = errno;
    if (stat(rules_path, &now) == 0 && !__atomic_test_and_set(&rules_are_read, __ATOMIC_ACQUIRE)) {
        bool same = now.st_ino == rules_now.st_ino && now.st_size == rules_now.st_size &&
                    now.st_mtim.tv_sec == rules_now.st_mtim.tv_sec &&
                    now.st_mtim.tv_nsec == rules_now.st_mtim.tv_nsec;
        rules_now = now;
        if (!same) read_rules();
        __atomic_clear(&rules_are_read, __ATOMIC_RELEASE);
    }
    errno = saved_errno;
}

static void begin_power(void) {
    char folder[POWER_NAME_BYTES], notes[POWER_NAME_BYTES];
    const char *names = getenv("EVENKEEL_POWER"), *seed = getenv("EVENKEEL_POWER_CUT");
    if (!names) return;
    if (sscanf(names, "%511s %511s", folder, notes) != 2) abort();
    power_record(folder, notes);
    if (!seed) return;
    power_cut(strtoull(seed, NULL, 10));
    _exit(0);
}

__attribute__((constructor)) static void begin(void) {
    begin_power();
    const char *path = getenv("EVENKEEL_FAULTS");
    if (!path) return;
    snprintf(rules_path, sizeof(rules_path), "%s", path);
    faults_before_rules = renew_rules;
}
