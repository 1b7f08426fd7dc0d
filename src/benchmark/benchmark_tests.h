/* SPDX-License-Identifier: BSD-3-Clause
 * The tests that redis-benchmark knows by name.
 */
#ifndef EVENKEEL_BENCHMARK_BENCHMARK_TESTS_H
#define EVENKEEL_BENCHMARK_BENCHMARK_TESTS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "benchmark/benchmark_request.h"

size_t benchmark_test_count(void);
const char *benchmark_test_title(size_t test);
/* Whether `names`, separated by commas, has a name of the test; case is ignored, NULL names all
 * tests. */
bool benchmark_test_is_chosen(size_t test, const char *names);
/* The first of `names` that is no test's name, and its length; NULL if all are known. O(names *
 * tests). */
const char *benchmark_tests_unknown(const char *names, size_t *length);
/* Makes the test's request, with a value of `value_bytes` bytes; `draws` as in
 * benchmark_request_of_words; with `tags` its keys have BENCHMARK_TAG_WORD. */
void benchmark_test_request(size_t test, size_t value_bytes, bool draws, bool tags,
                            struct benchmark_request *request);
#endif
