/* SPDX-License-Identifier: BSD-3-Clause
 * Finds equal texts in a listpack: a hash table of places, by the hash of the text at each place.
 *
 * The table is at most half full and holds 32 bits of each hash, so that a new text is compared
 * with another one hardly ever, once in some million. The texts are foreign, so hashes are keyed:
 * nobody can choose texts that collide.
 */
#ifndef EVENKEEL_DS_DISTINCT_H
#define EVENKEEL_DS_DISTINCT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/string.h"
#include "ds/listpack.h"

/* Up to so many texts need no allocation. */
#define DISTINCT_FEW 256

struct distinct {
    uint64_t *places; /* `few`, or of MEMORY_OTHER; 32 bits of hash, then the place, 0 = none */
    size_t mask, left;
    uint64_t few[2 * DISTINCT_FEW];
};

/* Draws the hash's key. Called once, at start. */
void distinct_open(void);
/* Begins with no text, for up to `most` of them. O(most). */
void distinct_begin(struct distinct *d, size_t most);
/* Adds the text at `at` of a listpack, which may still be under construction: false if an equal
 * text was added before. */
MUST_USE bool distinct_add(struct distinct *d, const struct listpack *lp, uint32_t at,
                           struct slice text);
void distinct_end(struct distinct *d);
#endif
