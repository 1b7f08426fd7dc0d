/* SPDX-License-Identifier: BSD-3-Clause
 * A block of bytes that knows its length: large values, and large arguments on their way to
 * become one. One allocation; only the owner knows the class of its memory.
 */
#ifndef EVENKEEL_BASE_BLOB_H
#define EVENKEEL_BASE_BLOB_H
#include <stddef.h>

#include "base/memory.h"
#include "base/string.h"

struct blob {
    size_t length;
    size_t capacity; /* bytes that fit */
    char bytes[];
};

static inline size_t blob_allocation(size_t capacity) { return sizeof(struct blob) + capacity; }
static inline struct blob *blob_in(void *block, size_t good) {
    struct blob *b = block;
    b->length = 0;
    b->capacity = good - sizeof(struct blob);
    return b;
}
/* A blob of length 0 with room for `capacity` bytes at least. Never NULL. */
static inline struct blob *blob_create(size_t capacity, enum memory_class class) {
    size_t good = memory_good_size(blob_allocation(capacity));
    return blob_in(memory_alloc(good, class), good);
}
/* A blob of length 0 with room for `capacity` bytes at least; NULL if there is no memory. */
static inline struct blob *blob_try_create(size_t capacity, enum memory_class class) {
    size_t good = memory_good_size(blob_allocation(capacity));
    void *block = memory_try_alloc(good, class);
    return block ? blob_in(block, good) : NULL;
}
static inline void blob_free(struct blob *b, enum memory_class class) {
    if (b) memory_free_sized(b, blob_allocation(b->capacity), class);
}
/* The bytes of memory that the blob takes. */
static inline size_t blob_bytes(const struct blob *b) { return blob_allocation(b->capacity); }
static inline struct slice blob_slice(const struct blob *b) {
    return (struct slice){b->bytes, b->length};
}
#endif
