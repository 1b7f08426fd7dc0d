/* SPDX-License-Identifier: BSD-3-Clause
 * Blocks that know their length. */
#include "base/blob.h"

#include "seed.h"

static void test_blob(void **state) {
    size_t before = memory_used(MEMORY_DATASET);
    for (size_t capacity = 0; capacity < 200000; capacity = capacity * 2 + 7) {
        struct blob *b = blob_create(capacity, MEMORY_DATASET);
        assert_int_equal(b->length, 0);
        assert_true(b->capacity >= capacity);
        assert_int_equal(blob_bytes(b), memory_good_size(blob_allocation(capacity)));
        assert_int_equal(memory_used(MEMORY_DATASET) - before, blob_bytes(b));
        memset(b->bytes, 'x', b->capacity); /* all of it may be written */
        b->length = capacity;
        assert_ptr_equal(blob_slice(b).bytes, b->bytes);
        assert_int_equal(blob_slice(b).length, capacity);
        blob_free(b, MEMORY_DATASET);
        assert_int_equal(memory_used(MEMORY_DATASET), before);
    }
    blob_free(NULL, MEMORY_DATASET);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_blob)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
