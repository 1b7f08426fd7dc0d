/* SPDX-License-Identifier: BSD-3-Clause
 * Programs by name: links to redis-server that are called otherwise, as 6.2 installs them, are
 * another program; the same is to be had by an option, where no link is installed.
 */
#include "server/programs.h"

#include <stdio.h>
#include <string.h>

#include "aof/check_aof.h"
#include "rdb/check_rdb.h"

static int run_check_rdb(const char *path, bool flag) { return check_rdb(path); }

static const struct program {
    const char *name;   /* stands in the last part of the path by which it was called */
    const char *option; /* of redis-server, the first */
    const char *usage;  /* behind the name */
    const char *flag;   /* may stand before the path; NULL: none may */
    int (*run)(const char *path, bool flag);
} programs[] = {
    {"redis-check-rdb", "--check-rdb", "<rdb-file-name>", NULL, run_check_rdb},
    {"redis-check-aof", "--check-aof", "[--fix] <file.aof>", "--fix", check_aof},
};

static int run(const struct program *p, const char *called, int argc, char **argv) {
    bool flag = argc == 2 && p->flag && strcmp(argv[0], p->flag) == 0;
    if (argc != 1 + flag) {
        fprintf(stderr, "Usage: %s %s\n", called, p->usage);
        return 1;
    }
    int status = p->run(argv[flag], flag);
    return fflush(stdout) || ferror(stdout) ? 1 : status;
}

bool programs_run(int argc, char **argv, int *status) {
    const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL;
    const char *called = slash ? slash + 1 : argc > 0 ? argv[0] : "";
    for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
        const struct program *p = &programs[i];
        if (strstr(called, p->name)) {
            *status = run(p, argv[0], argc - 1, argv + 1);
            return true;
        }
        if (argc > 1 && strcmp(argv[1], p->option) == 0) {
            char words[64];
            snprintf(words, sizeof(words), "%s %s", called, p->option);
            *status = run(p, words, argc - 2, argv + 2);
            return true;
        }
    }
    return false;
}
