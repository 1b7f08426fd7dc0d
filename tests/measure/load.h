/* SPDX-License-Identifier: BSD-3-Clause
 * What the two loops of the load share, and the loops themselves.
 */
#ifndef EVENKEEL_MEASURE_LOAD_H
#define EVENKEEL_MEASURE_LOAD_H
#include <stddef.h>
#include <stdint.h>

#include "load_options.h"

#define READ_BYTES (256 * 1024)

extern struct load_options options;
extern char load_read_buffer[READ_BYTES];

/* Ends the program with a message and status 1: there is no half-valid result. */
void load_fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
uint64_t load_now_nsec(void);
uint64_t load_realtime_msec(void);
/* realloc that ends the program where there is no memory. */
void *load_grow(void *old, size_t bytes);
/* So many letters: no server can store a value of them as a number. The caller keeps them. */
char *load_filler(size_t bytes);
/* CPU time of the load so far. */
double load_cpu_seconds(void);

/* load_count.c: a closed loop that counts replies. load_record.c: requests on a schedule, each of
 * them recorded. Both print their result. */
void load_count(void);
void load_record(void);

#endif
