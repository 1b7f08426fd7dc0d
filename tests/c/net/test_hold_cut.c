/* SPDX-License-Identifier: BSD-3-Clause
 * The tests of test_hold.c again, with each read and write cut short and interrupted now and then.
 */
#define PEERS_CUT 65536
#include "net/test_hold.c"
