/* SPDX-License-Identifier: BSD-3-Clause
 * What the tests of steal and throttling share: a tree of files as a machine or a container has
 * them, from which host_cpu_read reads.
 */
#ifndef EVENKEEL_TESTS_REPORT_HOST_FILES_H
#define EVENKEEL_TESTS_REPORT_HOST_FILES_H
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/host_cpu.h"

static char host_root[64];

/* Writes a file below the root, its folders too. */
static inline void host_put(const char *path, const char *text) {
    char whole[256];
    snprintf(whole, sizeof(whole), "%s%s", host_root, path);
    for (char *slash = whole + strlen(host_root) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = 0;
        mkdir(whole, 0700);
        *slash = '/';
    }
    FILE *f = fopen(whole, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static inline int host_begin(void **state) {
    snprintf(host_root, sizeof(host_root), "/tmp/test_host_cpu.XXXXXX");
    if (!mkdtemp(host_root)) return -1;
    host_cpu_set_root(host_root);
    return 0;
}

static inline int host_end(void **state) {
    char command[128];
    snprintf(command, sizeof(command), "rm -r %s", host_root);
    host_cpu_set_root("");
    return system(command);
}
#endif
