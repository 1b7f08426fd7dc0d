/* SPDX-License-Identifier: BSD-3-Clause
 * HyperLogLog: how many different elements were added, in at most 12 KiB, with a standard error of
 * 0.81 %.
 *
 * It lives in the bytes of a string, in the format of Redis 6.2, since such strings travel between
 * servers:
 *
 *   "HYLL" | encoding (0 dense, 1 sparse) | 3 bytes unused | cardinality as last counted, 8 bytes,
 *   little-endian, its highest bit set when out of date | registers
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
/* Room for any sparse form, at worst foreign runs that take two bytes for one zero each, and for
 * the byte behind the runs, which hyperloglog_make_dense looks at. A dense form fits, too. */
#define HYPERLOGLOG_ROOM_BYTES (HYPERLOGLOG_HEADER_BYTES + 2 * HYPERLOGLOG_REGISTERS + 1)
/* The estimate for foreign registers that no number of elements gives: the lowest int64, as 6.2
 * replies on this hardware. */
#define HYPERLOGLOG_BEYOND (UINT64_C(1) << 63)

enum hyperloglog_result { HYPERLOGLOG_SAME, HYPERLOGLOG_CHANGED, HYPERLOGLOG_CORRUPT };

/* Returns true if the bytes have a header, and a dense form its length. The runs of a sparse form
 * are checked by the functions that walk them. */
bool hyperloglog_is_valid(struct slice bytes);
bool hyperloglog_is_dense(const char *bytes);
/* Writes an empty sparse form; returns its length. */
size_t hyperloglog_init(char *bytes);

/* Adds an element to `*length` bytes in a room of HYPERLOGLOG_ROOM_BYTES (a dense form needs its
 * own length only). A sparse form becomes dense when it would grow beyond `sparse_max` bytes or
 * needs a register above 32. A change marks the kept cardinality as out of date. O(1) dense,
 * O(length) sparse. */
enum hyperloglog_result hyperloglog_add(char *bytes, size_t *length, struct slice element,
                                        size_t sparse_max);
/* Returns true if adding the element to a dense form would change nothing. */
bool hyperloglog_dense_has(const char *bytes, struct slice element);
/* Turns a sparse form into a dense one, in the same room. False, with nothing changed, where the
 * runs do not cover the registers or are followed by bytes that do not begin with a run of values
 * (those 6.2 ignores). */
bool hyperloglog_make_dense(char *bytes, size_t *length);
/* Raises each of `registers` to that of `bytes`, which must be valid. Returns false if runs are
 * corrupt; some registers may be raised even then. */
bool hyperloglog_merge(uint8_t registers[HYPERLOGLOG_REGISTERS], struct slice bytes);
/* Raises the registers of `*length` bytes, in a room of HYPERLOGLOG_ROOM_BYTES, to `registers`, in
 * the way that hyperloglog_add would. Returns false if runs are corrupt. */
bool hyperloglog_raise(char *bytes, size_t *length, const uint8_t registers[HYPERLOGLOG_REGISTERS],
                       size_t sparse_max);

/* The estimate; false if runs are corrupt, or followed by anything. O(registers). */
bool hyperloglog_count(struct slice bytes, uint64_t *cardinality);
uint64_t hyperloglog_count_registers(const uint8_t registers[HYPERLOGLOG_REGISTERS]);
/* The cardinality as last counted; false if it is out of date, as HYPERLOGLOG_BEYOND always
 * is. */
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
/* Reads the run that begins at `run->at` with register `run->first` into the other members. False
 * at the end, where the run is cut off, and where it goes beyond the last register. Begin with at =
 * HYPERLOGLOG_HEADER_BYTES and first = 0. */
bool hyperloglog_run_at(struct slice bytes, struct hyperloglog_run *run);
#endif
