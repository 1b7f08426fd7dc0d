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
/* Whether the test is among these names, separated by commas, case ignored; NULL names all. */
bool benchmark_test_is_chosen(size_t test, const char *names);
/* The first of the names that no test has; NULL where there is none. O(names * tests). */
const char *benchmark_tests_unknown(const char *names, size_t *length);
/* The test's request, with a value of so many bytes. */
void benchmark_test_request(size_t test, size_t value_bytes, bool draws,
                            struct benchmark_request *request);
#endif
