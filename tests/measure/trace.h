/* SPDX-License-Identifier: BSD-3-Clause
 * A trace of requests, read whole: one line a request, "time operation key size ttl".
 */
#ifndef EVENKEEL_MEASURE_TRACE_H
#define EVENKEEL_MEASURE_TRACE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum trace_operation { TRACE_GET, TRACE_SET, TRACE_DEL };

struct trace_row {
    double time_s;
    const char *key;
    uint32_t key_length;
    uint32_t size;  /* of the value that a SET, or the SET after a missed GET, writes */
    uint32_t ttl_s; /* 0 = none */
    enum trace_operation operation;
};

struct trace {
    char *text;
    struct trace_row *rows; /* keys point into `text` */
    size_t count;
};

/* Reads the file. Lines that begin with # are left out; a size or TTL that is missing is 0. Times
 * never fall, sizes and TTLs are at most 2^31. On failure returns false and the reason, with the
 * line's number, in `reason`; nothing is then held. */
bool trace_read(struct trace *trace, const char *path, char *reason, size_t reason_size);
void trace_free(struct trace *trace);

#endif
