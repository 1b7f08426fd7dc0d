/* SPDX-License-Identifier: BSD-3-Clause
 * PUBLISH over the bus. relay.h has the idea.
 */
#include "cluster/relay.h"

#include "bus/compose.h"
#include "cluster/service.h"
#include "publish/pubsub.h"

static size_t tell_others(struct slice channel, struct slice message) {
    if (cluster_here()) (void)cluster_say_publish(cluster_here(), channel, message);
    return 0;
}

static bool is_node(void) { return cluster_here() != NULL; }

const struct pubsub_observer cluster_relay = {.published = tell_others,
                                              .reaches_replicas = is_node};
