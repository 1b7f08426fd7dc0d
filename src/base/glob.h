/* SPDX-License-Identifier: BSD-3-Clause
 * Glob patterns as Redis 6.2 has them: * ? [abc] [^a-z] and \ to take a character as it is.
 */
#ifndef EVENKEEL_BASE_GLOB_H
#define EVENKEEL_BASE_GLOB_H
#include <stdbool.h>

#include "base/string.h"

/* Returns true if the whole text matches. O(pattern length * text length). `nocase` ignores ASCII
 * case. */
bool glob_match(struct slice pattern, struct slice text, bool nocase);
#endif
