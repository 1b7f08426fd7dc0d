/* SPDX-License-Identifier: BSD-3-Clause
 * redis-cli's latency modes: the latency of PINGs, and the delays that this machine itself causes.
 */
#ifndef EVENKEEL_CLI_CLI_LATENCY_H
#define EVENKEEL_CLI_CLI_LATENCY_H
struct cli_options;

/* Each returns the program's exit status, or goes on until it is interrupted. */
int cli_latency_run(const struct cli_options *o); /* --latency, --latency-history */
int cli_latency_dist_run(const struct cli_options *o);
int cli_latency_intrinsic_run(const struct cli_options *o);
#endif
