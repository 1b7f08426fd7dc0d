/* SPDX-License-Identifier: BSD-3-Clause
 * The tests of test_reply_group.c again, where each read and write is cut short and interrupted now
 * and then.
 */
#define PEERS_CUT 65536
#include "net/test_reply_group.c"
