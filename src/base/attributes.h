/* SPDX-License-Identifier: BSD-3-Clause
 * What the compiler is told of functions.
 */
#ifndef EVENKEEL_BASE_ATTRIBUTES_H
#define EVENKEEL_BASE_ATTRIBUTES_H

/* Before a declaration whose result nobody may drop: what went wrong outside, or where the thing is
 * from now on. A cast to void does not count as a use; who means to drop it gives it a name, and
 * says why. */
#define MUST_USE __attribute__((warn_unused_result))

/* Before the declaration of what only tests call from outside its file: checks of invariants,
 * clocks that stand still, refusals of memory, views of a state. tests/lint/exports.py refuses an
 * export without the mark that no other file of src/ needs, and a mark that no test needs. */
#define FOR_TESTS
#endif
