/* SPDX-License-Identifier: BSD-3-Clause
 * The tests of test_run.c again, of clients behind a transport.
 */
#define PEERS_MASKED
#include "exec/test_run.c"
