/* SPDX-License-Identifier: BSD-3-Clause
 * redis-cli --lru-test: load that uses the server as a cache.
 */
#ifndef EVENKEEL_CLI_CLI_LOAD_H
#define EVENKEEL_CLI_CLI_LOAD_H
struct cli_options;

/* Reads keys "lru:N" and writes those that are missing, until it is interrupted. */
int cli_load_lru_run(const struct cli_options *o);
#endif
