/* SPDX-License-Identifier: BSD-3-Clause
 * The tests of test_reply.c again, where I/O threads read and write.
 */
#define PEERS_THREADS 3
#include "net/test_reply.c"
