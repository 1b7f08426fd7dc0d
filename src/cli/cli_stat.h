/* SPDX-License-Identifier: BSD-3-Clause
 * redis-cli --stat: a line of figures from INFO each interval.
 */
#ifndef EVENKEEL_CLI_CLI_STAT_H
#define EVENKEEL_CLI_CLI_STAT_H
struct cli_options;

/* Goes on until the connection ends, which ends the program. */
int cli_stat_run(const struct cli_options *o);
#endif
