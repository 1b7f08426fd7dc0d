/* SPDX-License-Identifier: BSD-3-Clause
 * The tests of test_reply_group.c again, where I/O threads read and write.
 */
#define PEERS_THREADS 3
#include "net/test_reply_group.c"
