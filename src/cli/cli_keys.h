/* SPDX-License-Identifier: BSD-3-Clause
 * redis-cli over all keys: --scan, --bigkeys, --memkeys, --hotkeys.
 */
#ifndef EVENKEEL_CLI_CLI_KEYS_H
#define EVENKEEL_CLI_CLI_KEYS_H
struct cli_options;

/* Each returns the program's exit status. */
int cli_keys_scan_run(const struct cli_options *o);
int cli_keys_big_run(const struct cli_options *o); /* and --memkeys */
int cli_keys_hot_run(const struct cli_options *o);
#endif
