/* SPDX-License-Identifier: BSD-3-Clause
 * The scripts that are known, by the SHA-1 of their text: compiled once, kept until SCRIPT FLUSH.
 */
#ifndef EVENKEEL_SCRIPT_CACHE_H
#define EVENKEEL_SCRIPT_CACHE_H
#include <stdint.h>

#include "base/attributes.h"
#include "base/string.h"

struct table;

#define CACHE_SHA_CHARS 40

struct cached_script {
    char sha[CACHE_SHA_CHARS]; /* hexadecimal, lower case */
    int function;              /* its place in Lua's registry */
    uint64_t told;             /* effects_audience() when log and replicas were sent the text; 0 */
    size_t length;
    char text[];
};

void cache_register(void); /* used_memory_scripts, number_of_cached_scripts */
/* In hexadecimal digits, without an end. */
void cache_sha(struct slice text, char sha[static CACHE_SHA_CHARS]);
/* NULL where there is none. O(1). */
struct cached_script *cache_find(const char sha[static CACHE_SHA_CHARS]);
/* There must be none of this text. It lives until cache_free. */
struct cached_script *cache_add(const char sha[static CACHE_SHA_CHARS], struct slice text,
                                int function);
/* Calls `visit` for each. */
void cache_each(void (*visit)(const struct cached_script *s, void *context), void *context);
/* Forgets all, and hands them over; NULL: there are none. Their functions are the caller's matter.
 */
MUST_USE struct table *cache_take_all(void);
/* Frees what was handed over, NULL included; from any thread. O(scripts). */
void cache_free(struct table *all);
#endif
