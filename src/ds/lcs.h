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

/* Cells of the comparison, length times length in whole words, that are worked on at most: half a
 * second, and 4 GiB where the ranges are wanted. */
#define LCS_CELLS_MAX (UINT64_C(1) << 35)

struct lcs;

/* Compares; the texts must live as long as the result. `with_ranges`: lcs_previous will be asked.
 * NULL where that would be too large or there is no memory. O(a / 64 * b) time; with ranges as many
 * bits of memory as there are cells. */
struct lcs *lcs_create(struct slice a, struct slice b, bool with_ranges);
void lcs_free(struct lcs *lcs);
/* Bytes that both have in common. */
size_t lcs_length(const struct lcs *lcs);

/* `length` equal bytes, from a_start on in the one text and b_start on in the other. */
struct lcs_range {
    size_t a_start, b_start, length;
};
/* The ranges, from the last to the first; false where there are no more. Where several common
 * subsequences are equally long, they are the ones that 6.2 finds. */
bool lcs_previous(struct lcs *lcs, struct lcs_range *range);
#endif
