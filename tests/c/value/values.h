/* SPDX-License-Identifier: BSD-3-Clause
 * What the tests of value/ share: options, memory that must come back, digests.
 */
#ifndef EVENKEEL_TESTS_VALUE_VALUES_H
#define EVENKEEL_TESTS_VALUE_VALUES_H
#include "base/seed.h"

#include "base/memory.h"
#include "option/option.h"
#include "value/value.h"

static size_t used_before;

static int setup(void **state) {
    used_before = memory_used(MEMORY_DATASET);
    return 0;
}

static int teardown(void **state) {
    assert_int_equal(memory_used(MEMORY_DATASET), used_before);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static inline void set_option(const char *name, const char *value) {
    char reason[OPTION_REASON_BYTES];
    struct slice word = slice_of(value);
    assert_true(option_set(option_find(slice_of(name)), &word, 1, OPTION_FROM_CONFIG_SET, reason,
                           sizeof(reason)));
}

static inline void digest_of(enum value_kind kind, struct value v, unsigned char out[SHA1_BYTES]) {
    struct value_digest d = {{0}};
    value_type(kind)->digest(v, &d);
    memcpy(out, d.sum, SHA1_BYTES);
}

static inline bool digests_equal(enum value_kind kind, struct value a, struct value b) {
    unsigned char first[SHA1_BYTES], second[SHA1_BYTES];
    digest_of(kind, a, first);
    digest_of(kind, b, second);
    return memcmp(first, second, SHA1_BYTES) == 0;
}

/* The encoding's name, as OBJECT ENCODING shows it. */
static inline const char *encoding_of(enum value_kind kind, struct value v) {
    return value_type(kind)->encodings[v.encoding];
}
#endif
