/* SPDX-License-Identifier: BSD-3-Clause
 * Whether texts of a listpack differ: a table of places by the hash of the text there.
 *
 * It is at most half full and knows 32 bits of each hash, so that a text that is new is found to be
 * so, but for one in some million, without a look at another. The texts are foreign: hashes are
 * keyed, so that nobody can choose such as fall together.
 */
#ifndef EVENKEEL_DS_DISTINCT_H
#define EVENKEEL_DS_DISTINCT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/string.h"
#include "ds/listpack.h"

/* For so many texts it needs no memory of its own. */
#define DISTINCT_FEW 256

struct distinct {
    uint64_t *places; /* `few`, or of MEMORY_OTHER; 32 bits of hash, then the place, 0 = none */
    size_t mask, left;
    uint64_t few[2 * DISTINCT_FEW];
};

/* The key is drawn. Once, at start. */
void distinct_open(void);
/* For up to so many texts. O(most). */
void distinct_begin(struct distinct *d, size_t most);
/* The text at `at` of a listpack, which may still be built: false where one before equals it. */
MUST_USE bool distinct_add(struct distinct *d, const struct listpack *lp, uint32_t at,
                           struct slice text);
void distinct_end(struct distinct *d);
#endif
