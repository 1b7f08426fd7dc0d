/* SPDX-License-Identifier: BSD-3-Clause
 * The tests of test_batch.c again, of clients behind a transport that I/O threads call.
 */
#define PEERS_THREADS 3
#define PEERS_MASKED
#include "net/test_batch.c"
