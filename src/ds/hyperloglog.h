/* SPDX-License-Identifier: BSD-3-Clause
 * HyperLogLog: how many different elements were added, in at most 12 KiB, with a standard error of
 * 0.81 %.
 *
 * It lives in the bytes of a string, in the format of Redis 6.2, since such strings travel between
 * servers:
 *
 *   "HYLL" | encoding (0 dense, 1 sparse) | 3 bytes unused | cardinality as last counted, 8 bytes,
 *   little-endian, its highest bit set where it is out of date | registers
 *
 * Dense: 16,384 registers of 6 bits, from the low bits of each byte on. Sparse: runs of equal
 * registers: 00nnnnnn = n+1 zeros; 01nnnnnn nnnnnnnn = n+1 zeros; 1vvvvvnn = n+1 registers of v+1.
 *
 * Sources: Flajolet and others, "HyperLogLog" (2007); Heule and others, "HyperLogLog in practice"
 * (2013: 64-bit hashes, sparse registers); Ertl, "New cardinality estimation algorithms for
 * HyperLogLog sketches" (2017: the estimator); MurmurHash2, 64-bit variant A, by Appleby.
 */
#ifndef EVENKEEL_DS_HYPERLOGLOG_H
#define EVENKEEL_DS_HYPERLOGLOG_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/string.h"

#define HYPERLOGLOG_REGISTERS 16384
#define HYPERLOGLOG_HEADER_BYTES 16
#define HYPERLOGLOG_DENSE_BYTES (HYPERLOGLOG_HEADER_BYTES + HYPERLOGLOG_REGISTERS * 6 / 8)
/* The largest value of a register: 50 bits of hash, all zero, and one. */
#define HYPERLOGLOG_VALUE_MAX 51
/* Room that any runs need, foreign ones of a zero in two bytes each at worst, with the byte behind
 * them, which decides what is done about those (hyperloglog_make_dense). A dense one fits, too. */
#define HYPERLOGLOG_ROOM_BYTES (HYPERLOGLOG_HEADER_BYTES + 2 * HYPERLOGLOG_REGISTERS + 1)
/* The estimate of registers that no count of elements gives: as 6.2 on this hardware, the lowest
 * int64. */
#define HYPERLOGLOG_BEYOND (UINT64_C(1) << 63)

enum hyperloglog_result { HYPERLOGLOG_SAME, HYPERLOGLOG_CHANGED, HYPERLOGLOG_CORRUPT };

/* True where the bytes have a header, and the length of a dense one. The runs of a sparse one are
 * looked at by what walks them. */
bool hyperloglog_is_valid(struct slice bytes);
bool hyperloglog_is_dense(const char *bytes);
/* An empty sparse one; returns its length. */
size_t hyperloglog_init(char *bytes);

/* Adds an element to `*length` bytes in a room of HYPERLOGLOG_ROOM_BYTES (a dense one needs its own
 * length only). A sparse one becomes dense when it would grow beyond `sparse_max` bytes or needs a
 * register above 32. Changed, the kept cardinality is out of date. O(1) dense, O(length) sparse. */
enum hyperloglog_result hyperloglog_add(char *bytes, size_t *length, struct slice element,
                                        size_t sparse_max);
/* True where adding the element to a dense one would change nothing. */
bool hyperloglog_dense_has(const char *bytes, struct slice element);
/* Makes it dense, in the same room. False, with nothing changed, where its runs are corrupt: do not
 * cover the registers, or are followed by something else than a run of values, which 6.2 passes
 * over. */
bool hyperloglog_make_dense(char *bytes, size_t *length);
/* Raises each of `registers` to that of `bytes`, which must be valid; false where runs are corrupt:
 * some registers may be raised then. */
bool hyperloglog_merge(uint8_t registers[HYPERLOGLOG_REGISTERS], struct slice bytes);
/* Raises the registers of `*length` bytes (in a room as above) to `registers`, in the way that
 * hyperloglog_add would. False where runs are corrupt. */
bool hyperloglog_raise(char *bytes, size_t *length, const uint8_t registers[HYPERLOGLOG_REGISTERS],
                       size_t sparse_max);

/* The estimate; false where runs are corrupt, or followed by anything. O(registers). */
bool hyperloglog_count(struct slice bytes, uint64_t *cardinality);
uint64_t hyperloglog_count_registers(const uint8_t registers[HYPERLOGLOG_REGISTERS]);
/* The cardinality as last counted; false where it is out of date, as HYPERLOGLOG_BEYOND always is.
 */
bool hyperloglog_kept_count(const char *bytes, uint64_t *cardinality);
void hyperloglog_keep_count(char *bytes, uint64_t cardinality);
void hyperloglog_forget_count(char *bytes);

/* One run of a sparse form. */
struct hyperloglog_run {
    size_t at;      /* offset of its first byte */
    size_t bytes;   /* 1 or 2 */
    unsigned first; /* register */
    unsigned length;
    uint8_t value; /* 0: zeros */
};
/* The run that begins at `run->at` with register `run->first`, whose other members it sets; false
 * at the end, and where the bytes do not hold one or it passes the last register. Begin with at =
 * HYPERLOGLOG_HEADER_BYTES and first = 0. */
bool hyperloglog_run_at(struct slice bytes, struct hyperloglog_run *run);
#endif
