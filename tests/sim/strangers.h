/* SPDX-License-Identifier: BSD-3-Clause
 * Strangers at the bus of a cluster: they connect to nodes and send what no node has sent just now.
 *
 *   | what           | how                                                                       |
 *   | -------------- | ------------------------------------------------------------------------- |
 *   | old frames     | as they came to that node before, of nodes that it knows                  |
 *   | torn ones      | the beginning of such a frame, then nothing, or the end of the connection  |
 *   | bent ones      | of an id that no node has, with some bytes changed anywhere               |
 *   | malformed ones | of nodes that it knows, with a field that makes the whole frame worthless |
 *   | those of 7.x   | of such an id, with extensions, or of types that 6.2 does not know        |
 *
 * Whoever reaches the port of the bus can claim the id of any node: 6.2 has no defence but that the
 * port is not to be reached. So a frame that claims one is as that node has said it, or is to be
 * ignored as a whole. A frame goes only to the node to which it was sent: a vote does not name its
 * candidate, so that another one would count it. A node that plays its part has the address of its
 * connection until the true one speaks: clients may be sent there.
 */
#ifndef EVENKEEL_TESTS_SIM_STRANGERS_H
#define EVENKEEL_TESTS_SIM_STRANGERS_H
#include <stdint.h>

/* From now on frames are kept. Each sends something each `every_nsec` on average. */
void strangers_start(int64_t every_nsec);
void strangers_end(void);
#endif
