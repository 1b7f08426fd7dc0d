/* SPDX-License-Identifier: BSD-3-Clause
 * Attributes of functions, for the compiler and for the lint.
 */
#ifndef EVENKEEL_BASE_ATTRIBUTES_H
#define EVENKEEL_BASE_ATTRIBUTES_H

/* Stands before a declaration whose result the caller may not drop: a failure that comes from
 * outside, or a thing's new address. A cast to void does not count as a use: a caller that means to
 * drop the result assigns it to a named variable and says why. */
#define MUST_USE __attribute__((warn_unused_result))

/* Stands before the declaration of a function that only tests call from outside its file: checks of
 * invariants, clocks that stand still, refusals of memory, views of a state. tests/lint/exports.py
 * refuses an export that no other file of src/ needs and that lacks this mark, and a mark that no
 * test needs. */
#define FOR_TESTS
#endif
