/* SPDX-License-Identifier: BSD-3-Clause
 * redis-cli as a replica: --rdb fetches a snapshot, --replica shows the commands that follow one.
 */
#ifndef EVENKEEL_CLI_CLI_COPY_H
#define EVENKEEL_CLI_CLI_COPY_H
struct cli_options;

/* Both return the program's exit status. --replica goes on until the connection ends. */
int cli_copy_rdb_run(const struct cli_options *o);
int cli_copy_replica_run(const struct cli_options *o);
#endif
