/* SPDX-License-Identifier: BSD-3-Clause
 * The tests of test_reply_group.c again, of clients behind a transport.
 */
#define PEERS_MASKED
#include "net/test_reply_group.c"
