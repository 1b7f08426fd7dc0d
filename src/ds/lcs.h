/* SPDX-License-Identifier: BSD-3-Clause
 * The longest common subsequence of two texts, and the ranges in which it stands in both.
 *
 * Source of the algorithm: Hyyro, "Bit-parallel LCS-length computation revisited" (2004), after
 * Crochemore and others (2001).
 */
#ifndef EVENKEEL_DS_LCS_H
#define EVENKEEL_DS_LCS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/string.h"

/* The most cells that a comparison may have: length times length, in whole words. So many take half
 * a second, and 4 GiB where the ranges are wanted. */
#define LCS_CELLS_MAX (UINT64_C(1) << 35)

struct lcs;

/* Compares the texts, which must live as long as the result. `with_ranges`: lcs_previous will be
 * called. Returns NULL if there are more than LCS_CELLS_MAX cells, or no memory. O(a / 64 * b)
 * time; with ranges one bit of memory a cell. */
struct lcs *lcs_create(struct slice a, struct slice b, bool with_ranges);
void lcs_free(struct lcs *lcs);
/* The length of the longest common subsequence in bytes. */
size_t lcs_length(const struct lcs *lcs);

/* `length` equal bytes, from a_start on in `a` and from b_start on in `b`. */
struct lcs_range {
    size_t a_start, b_start, length;
};
/* The next range, from the last to the first; false if there are no more. Where several common
 * subsequences are equally long, the ranges are those that 6.2 finds. */
bool lcs_previous(struct lcs *lcs, struct lcs_range *range);
#endif
