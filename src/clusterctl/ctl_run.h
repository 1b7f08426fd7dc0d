/* SPDX-License-Identifier: BSD-3-Clause
 * What all commands of --cluster share while one of them runs.
 */
#ifndef EVENKEEL_CLUSTERCTL_CTL_RUN_H
#define EVENKEEL_CLUSTERCTL_CTL_RUN_H
#include "clusterctl/ctl_cluster.h"
#include "clusterctl/ctl_options.h"

struct ctl_run {
    const struct ctl_options *options;
    bool yes;           /* questions are answered yes: --cluster-yes, or the environment */
    char *const *words; /* the command's arguments, without its name */
    int count;
    char host[CTL_HOST_CHARS]; /* of the node that the command line names */
    int port;
    struct ctl_cluster cluster;
};
#endif
