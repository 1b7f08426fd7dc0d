/* SPDX-License-Identifier: BSD-3-Clause
 * Options and INFO fields of I/O threads, until these are built.
 */
#ifndef EVENKEEL_IO_THREADS_H
#define EVENKEEL_IO_THREADS_H

/* Registers the rows. Once, at start. */
void threads_register(void);
#endif
