/* SPDX-License-Identifier: BSD-3-Clause
 * redis-lab: tools for those who tune a server. The first word says which.
 */
#include <stdio.h>
#include <string.h>

#include "base/version.h"
#include "experiment/experiment.h"
#include "lab/watch.h"
#include "replay/curve.h"
#include "replay/record.h"
#include "replay/replay.h"

static const char usage[] =
    "Usage: redis-lab watch [option ...]\n"
    "       redis-lab experiment [option ...]\n"
    "       redis-lab record [option ...] --out file\n"
    "       redis-lab replay file [option ...]\n"
    "       redis-lab curve file [option ...]\n"
    "\n"
    "  watch          the knobs of a running server and the figures they move\n"
    "                 (redis-lab watch --help lists its options)\n"
    "  experiment     which value of an option is best for a load: values are tried in turn\n"
    "                 (redis-lab experiment --help lists its options)\n"
    "  record         a sample of a server's requests, without values, to a file\n"
    "                 (redis-lab record --help lists its options)\n"
    "  replay         a recorded trace as the load of a server\n"
    "                 (redis-lab replay --help lists its options)\n"
    "  curve          hit ratios of all policies and sizes of memory, from a recorded trace\n"
    "                 (redis-lab curve --help lists its options)\n"
    "  -v, --version  print the version\n"
    "  -h, --help     print this\n"
    "\n"
    "The scenarios of the lab are run by make lab: see tests/measure/README.md.\n";

int main(int argc, char **argv) {
    if (argc >= 2 && !strcmp(argv[1], "watch")) return watch_run(argc - 2, argv + 2);
    if (argc >= 2 && !strcmp(argv[1], "experiment")) return experiment_run(argc - 2, argv + 2);
    if (argc >= 2 && !strcmp(argv[1], "record")) return record_run(argc - 2, argv + 2);
    if (argc >= 2 && !strcmp(argv[1], "replay")) return replay_run(argc - 2, argv + 2);
    if (argc >= 2 && !strcmp(argv[1], "curve")) return curve_run(argc - 2, argv + 2);
    if (argc == 2 && (!strcmp(argv[1], "-h") || !strcmp(argv[1], "--help"))) {
        return fputs(usage, stdout) < 0;
    }
    if (argc == 2 && (!strcmp(argv[1], "-v") || !strcmp(argv[1], "--version"))) {
        return printf("redis-lab %s\n", EVENKEEL_VERSION) < 0;
    }
    fputs(usage, stderr);
    return 2;
}
