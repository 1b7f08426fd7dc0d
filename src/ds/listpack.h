/* SPDX-License-Identifier: BSD-3-Clause
 * The listpack: a list of short texts and integers in one block of bytes.
 *
 * Small lists, sets, hashes, sorted sets and the macro nodes of streams are listpacks. Format
 * (specification by S. Sanfilippo, 2017): total bytes (4, lowest first), number of elements (2,
 * 65535 = count them), the elements, 0xff. An element is its encoding with its data, and behind
 * them their length, written so that it is read from its end. An element whose text is the
 * canonical decimal form of an int64 stands as an integer.
 *
 * The creator owns the listpack; class MEMORY_DATASET. A function that changes it takes the address
 * of the owner's pointer, because the block may move. An element is named by its offset, `at`; 0 is
 * no element, and as a result the place beyond either end. An offset stays valid until the listpack
 * is changed at or before it. Texts that are added must not lie in the listpack itself.
 *
 * Costs: a change moves the bytes behind it, O(bytes), and allocates only where the allocator's
 * good size changes. A step either way is O(1).
 */
#ifndef EVENKEEL_DS_LISTPACK_H
#define EVENKEEL_DS_LISTPACK_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/number.h"
#include "base/string.h"

#define LISTPACK_HEADER_BYTES 6
#define LISTPACK_EMPTY_BYTES (LISTPACK_HEADER_BYTES + 1)
/* The format's own limit is 4 GiB; a block that is rewritten on each change should be far
 * smaller. */
#define LISTPACK_BYTES_MAX ((size_t)1 << 30)

/* The block of bytes itself; see listpack_bytes. */
struct listpack;

/* An element as it is read: a text, valid until the next change, or the integer where `text.bytes`
 * is NULL. */
struct listpack_value {
    struct slice text;
    int64_t integer;
};

#define LISTPACK_SCRATCH NUMBER_INT64_CHARS
/* The element as text; an integer is printed into `scratch`. */
struct slice listpack_value_text(const struct listpack_value *v, char scratch[LISTPACK_SCRATCH]);

struct listpack *listpack_create(void);
/* NULL is allowed. */
void listpack_free(struct listpack *lp);
struct listpack *listpack_dup(const struct listpack *lp);
/* A copy of foreign bytes that listpack_validate found good. */
FOR_TESTS struct listpack *listpack_from_bytes(const void *bytes, size_t size);
/* A copy of foreign bytes. A wrong length behind the last element is corrected, because nothing
 * stands behind it that it could lead to. Returns NULL if anything else is wrong. O(size). */
MUST_USE struct listpack *listpack_from_foreign(const void *bytes, size_t size);

/* A read-only listpack over bytes that stay their owner's. */
static inline const struct listpack *listpack_view(const void *bytes) { return bytes; }

/* The bytes from header to end mark, and how many of them. */
const uint8_t *listpack_bytes(const struct listpack *lp);
size_t listpack_size(const struct listpack *lp);
/* Bytes of memory that the block takes. */
size_t listpack_memory(const struct listpack *lp);
/* O(1) up to 65,534 elements, a walk above. */
size_t listpack_count(const struct listpack *lp);
/* The bytes that an element of this text adds. */
size_t listpack_element_size(struct slice text);
/* The bytes of the element at `at`. */
size_t listpack_element_bytes(const struct listpack *lp, uint32_t at);
/* Whether so many further bytes of elements fit within LISTPACK_BYTES_MAX. */
bool listpack_has_room(const struct listpack *lp, size_t more_bytes);

/* The neighbour of the element `at`, or an end's element; 0 where there is none. */
uint32_t listpack_first(const struct listpack *lp);
uint32_t listpack_last(const struct listpack *lp);
uint32_t listpack_next(const struct listpack *lp, uint32_t at);
uint32_t listpack_prev(const struct listpack *lp, uint32_t at);
/* The element at `index`, from the end where it is negative (-1 = last); 0 where there is none.
 * O(elements), from the nearer end. */
uint32_t listpack_seek(const struct listpack *lp, int64_t index);
/* The element `count` further on; 0 beyond the end. */
uint32_t listpack_skip(const struct listpack *lp, uint32_t at, uint64_t count);
struct listpack_value listpack_get(const struct listpack *lp, uint32_t at);
/* The element at `*at`, which moves on to the next element. */
struct listpack_value listpack_take(const struct listpack *lp, uint32_t *at);
/* The integer at `*at`, which moves on to the next element. The element must be an integer. */
int64_t listpack_take_integer(const struct listpack *lp, uint32_t *at);
bool listpack_equal(const struct listpack *lp, uint32_t at, struct slice text);
/* The first element that equals the text, from `at` on (0 = none); skips `skip` elements after each
 * that it compares, so 1 finds a hash's field. 0 where there is none. */
uint32_t listpack_find(const struct listpack *lp, uint32_t at, struct slice text, size_t skip);

void listpack_append(struct listpack **lp, struct slice text);
/* Appends up to LISTPACK_BATCH elements at once; an empty text needs bytes that are not NULL. */
#define LISTPACK_BATCH 16
void listpack_append_batch(struct listpack **lp, const struct listpack_value *values, size_t count);
/* Builds a listpack from its first element to its last in a buffer. The result is that of
 * listpack_append for the same elements, at a fraction of the cost. */
#define LISTPACK_BUILD_BYTES 8192
struct listpack_builder {
    uint8_t *bytes, *next, *limit; /* `few`, or allocated (MEMORY_OTHER) */
    size_t count;
    uint8_t few[LISTPACK_BUILD_BYTES];
};
void listpack_build_begin(struct listpack_builder *b);
/* Returns false, with nothing added, if the listpack would have more than LISTPACK_BYTES_MAX
 * bytes. */
MUST_USE bool listpack_build_add(struct listpack_builder *b, const struct listpack_value *v);
/* The offset that the next element will have, and the elements so far, for listpack_equal. Valid
 * until the next element is added. */
static inline uint32_t listpack_build_place(const struct listpack_builder *b) {
    return (uint32_t)(b->next - b->bytes);
}
static inline const struct listpack *listpack_build_view(const struct listpack_builder *b) {
    return (const struct listpack *)(const void *)b->bytes;
}
/* Ends the builder: with the listpack, which the caller owns, or without one. */
MUST_USE struct listpack *listpack_build_end(struct listpack_builder *b);
void listpack_build_drop(struct listpack_builder *b);
/* Puts an element before `at` (0 = at the end), or behind it; returns the new element's offset. */
uint32_t listpack_insert_before(struct listpack **lp, uint32_t at, struct slice text);
uint32_t listpack_insert_after(struct listpack **lp, uint32_t at, struct slice text);
/* Replaces the element; its offset stays. */
void listpack_replace(struct listpack **lp, uint32_t at, struct slice text);
void listpack_replace_integer(struct listpack **lp, uint32_t at, int64_t integer);
/* Deletes up to `count` elements from `at` on. Returns the offset of the element that followed, 0
 * at the end. */
uint32_t listpack_delete_range(struct listpack **lp, uint32_t at, size_t count);
/* Copies the elements of `other` behind those of `lp`. */
void listpack_merge(struct listpack **lp, const struct listpack *other);
/* Cuts the listpack before `at`; returns a new one with the rest, which the caller owns. */
struct listpack *listpack_split(struct listpack **lp, uint32_t at);

/* Whether foreign bytes are a listpack: sizes, every element, the count. No function here reads
 * outside of bytes that have passed this check. `visit` (may be NULL) is called with each element
 * in turn; if it returns false, so does this function. O(size). */
FOR_TESTS bool listpack_validate(const void *bytes, size_t size,
                                 bool (*visit)(const struct listpack_value *v, size_t index,
                                               void *context),
                                 void *context);
/* Asserts the invariants; walks everything. */
void listpack_check(const struct listpack *lp);
#endif
