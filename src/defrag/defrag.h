/* SPDX-License-Identifier: BSD-3-Clause
 * Options and INFO fields of active defragmentation, until it is built.
 */
#ifndef EVENKEEL_STORE_DEFRAG_H
#define EVENKEEL_STORE_DEFRAG_H

/* Registers the rows. Once, at start. */
void defrag_register(void);
#endif
