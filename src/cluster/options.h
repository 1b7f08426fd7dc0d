/* SPDX-License-Identifier: BSD-3-Clause
 * Options and INFO fields of cluster mode, which is not built yet.
 */
#ifndef EVENKEEL_CLUSTER_OPTIONS_H
#define EVENKEEL_CLUSTER_OPTIONS_H

/* Registers the rows. Once, at start. */
void cluster_options_register(void);
#endif
