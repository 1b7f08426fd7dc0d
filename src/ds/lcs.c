/* SPDX-License-Identifier: BSD-3-Clause
 * The longest common subsequence, 64 cells of the comparison at a time.
 *
 * Let L(i, j) be the length for the first i bytes of `a` and the first j of `b`. A row i is kept as
 * one bit a column: bit j - 1 is 0 where L(i, j) is larger than L(i, j - 1), by one then, and 1
 * where they are equal. With M, the columns whose byte equals a[i - 1], the row follows from the
 * one before it:
 *
 *     row = (row + (row & M)) | (row & ~M)
 *
 * where + carries from word to word. L(i, blen) is the number of zeros.
 *
 * The way back from the end: where the bytes are equal, both belong to the sequence. Where they are
 * not, 6.2 drops the byte of `a` if L(i - 1, j) > L(i, j - 1), else that of `b`. Then L(i, j) is
 * the larger of the two, so the condition says just that L(i, j) > L(i, j - 1): one bit of row i.
 * So only the rows must be kept, 1/32 of a table of numbers.
 *
 * Invariants
 *  1. Bits of a row beyond b's length are 1.
 *  2. M exists only for bytes that occur in `a`, so all M together take no more memory than the
 *     rows.
 *  3. The walk back still has to visit a[0 .. at_a) and b[0 .. at_b).
 */
#include "ds/lcs.h"

#define WORD_BITS 64
#define BYTE_VALUES 256

struct lcs {
    struct slice a, b;
    size_t words;   /* of a row */
    uint64_t *rows; /* all, or the last one only */
    bool all_rows;
    size_t length;
    size_t at_a, at_b;
};

/* ---- matches ---- */

struct matches {
    uint64_t *words;                  /* a row for each distinct byte of a */
    const uint64_t *row[BYTE_VALUES]; /* NULL where the byte is not in a */
};

static bool matches_init(struct matches *m, struct slice a, struct slice b, size_t words) {
    bool wanted[BYTE_VALUES] = {false};
    size_t distinct = 0, used = 0;
    for (size_t i = 0; i < a.length; i++) {
        bool *w = &wanted[(unsigned char)a.bytes[i]];
        distinct += !*w;
        *w = true;
    }
    size_t bytes = distinct * words * sizeof(uint64_t);
    m->words = memory_try_alloc(bytes, MEMORY_OTHER);
    if (!m->words) return false;
    memset(m->words, 0, bytes);
    uint64_t *rows[BYTE_VALUES];
    for (size_t value = 0; value < BYTE_VALUES; value++) {
        rows[value] = wanted[value] ? m->words + used++ * words : NULL;
        m->row[value] = rows[value];
    }
    for (size_t j = 0; j < b.length; j++) {
        uint64_t *row = rows[(unsigned char)b.bytes[j]];
        if (row) row[j / WORD_BITS] |= UINT64_C(1) << j % WORD_BITS;
    }
    return true;
}

/* ---- rows ---- */

static void row_next(const uint64_t *row, const uint64_t *match, size_t words, uint64_t *next) {
    unsigned char carry = 0;
    for (size_t w = 0; w < words; w++) {
        uint64_t old = row[w], both = old & match[w], sum;
        unsigned char over = __builtin_add_overflow(old, both, &sum);
        over |= __builtin_add_overflow(sum, (uint64_t)carry, &sum);
        carry = over;
        next[w] = sum | (old & ~match[w]);
    }
}

static size_t count_zeros(const uint64_t *row, size_t columns) {
    size_t count = 0;
    for (size_t j = 0; j < columns; j += WORD_BITS) {
        uint64_t inverse = ~row[j / WORD_BITS];
        if (columns - j < WORD_BITS) inverse &= (UINT64_C(1) << (columns - j)) - 1;
        count += (size_t)__builtin_popcountll(inverse);
    }
    return count;
}

static void lcs_compute_rows(struct lcs *lcs, const struct matches *m, uint64_t *first) {
    const uint64_t *row = first;
    for (size_t i = 0; i < lcs->a.length; i++) {
        uint64_t *next = lcs->rows + (lcs->all_rows ? i * lcs->words : 0);
        row_next(row, m->row[(unsigned char)lcs->a.bytes[i]], lcs->words, next);
        row = next;
    }
    lcs->length = count_zeros(row, lcs->b.length);
}

struct lcs *lcs_create(struct slice a, struct slice b, bool with_ranges) {
    size_t words = b.length / WORD_BITS + (b.length % WORD_BITS != 0);
    uint64_t cells; /* whole words are worked on */
    if (__builtin_mul_overflow((uint64_t)words * WORD_BITS, (uint64_t)a.length, &cells) ||
        cells > LCS_CELLS_MAX)
        return NULL;
    struct lcs *lcs = memory_zalloc(sizeof(*lcs), MEMORY_OTHER);
    lcs->a = a;
    lcs->b = b;
    lcs->at_a = a.length;
    lcs->at_b = b.length;
    lcs->all_rows = with_ranges;
    if (!cells) return lcs;

    lcs->words = words;
    size_t row_bytes = words * sizeof(uint64_t);
    struct matches matches;
    uint64_t *first = memory_try_alloc(row_bytes, MEMORY_OTHER);
    lcs->rows = memory_try_alloc(with_ranges ? a.length * row_bytes : row_bytes, MEMORY_OTHER);
    bool enough = first && lcs->rows && matches_init(&matches, a, b, words);
    if (enough) {
        memset(first, 0xff, row_bytes);
        lcs_compute_rows(lcs, &matches, first);
        memory_free(matches.words, MEMORY_OTHER);
    }
    memory_free(first, MEMORY_OTHER);
    if (enough) return lcs;
    lcs_free(lcs);
    return NULL;
}

void lcs_free(struct lcs *lcs) {
    memory_free(lcs->rows, MEMORY_OTHER);
    memory_free(lcs, MEMORY_OTHER);
}

size_t lcs_length(const struct lcs *lcs) { return lcs->length; }

/* ---- the way back ---- */

static bool bytes_equal(const struct lcs *lcs) {
    return lcs->a.bytes[lcs->at_a - 1] == lcs->b.bytes[lcs->at_b - 1];
}

bool lcs_previous(struct lcs *lcs, struct lcs_range *range) {
    while (lcs->at_a && lcs->at_b && !bytes_equal(lcs)) {
        const uint64_t *row = lcs->rows + (lcs->at_a - 1) * lcs->words;
        size_t column = lcs->at_b - 1;
        bool equal_to_left = row[column / WORD_BITS] >> column % WORD_BITS & 1;
        if (equal_to_left)
            lcs->at_b--;
        else
            lcs->at_a--;
    }
    range->length = 0;
    while (lcs->at_a && lcs->at_b && bytes_equal(lcs)) {
        lcs->at_a--;
        lcs->at_b--;
        range->length++;
    }
    range->a_start = lcs->at_a;
    range->b_start = lcs->at_b;
    return range->length > 0;
}
