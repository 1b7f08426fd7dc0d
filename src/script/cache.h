/* SPDX-License-Identifier: BSD-3-Clause
 * The cache of scripts, by the SHA-1 of their text: each is compiled once and kept until SCRIPT
 * FLUSH.
 */
#ifndef EVENKEEL_SCRIPT_CACHE_H
#define EVENKEEL_SCRIPT_CACHE_H
#include <stdint.h>

#include "base/attributes.h"
#include "base/memory.h"
#include "base/string.h"

struct relocation;
struct table;

#define CACHE_SHA_CHARS 40

struct cached_script {
    char sha[CACHE_SHA_CHARS]; /* hexadecimal, lower case */
    int function;              /* index of the compiled function in Lua's registry */
    /* effects_audience() when log and replicas were sent the text; 0: they were not */
    uint64_t told;
    size_t length;
    char text[];
};

/* The class of cached scripts. */
extern enum memory_class cache_memory;

/* Registers used_memory_scripts, number_of_cached_scripts and the class of memory. Once, at
 * start. */
void cache_register(void);
/* Writes the SHA-1 of the text in hexadecimal digits, without a NUL. */
void cache_sha(struct slice text, char sha[static CACHE_SHA_CHARS]);
/* The script with this SHA-1; NULL if there is none. O(1). */
struct cached_script *cache_find(const char sha[static CACHE_SHA_CHARS]);
/* Adds a script, which must not be there. It lives until cache_free, and may move between calls. */
struct cached_script *cache_add(const char sha[static CACHE_SHA_CHARS], struct slice text,
                                int function);
/* Moves the scripts and their table out of the allocator's sparse slabs: a relocation_part. */
uint64_t cache_relocate_some(uint64_t cursor, struct relocation *r);
/* Calls `visit` for each script. */
void cache_each(void (*visit)(const struct cached_script *s, void *context), void *context);
/* Removes all scripts and hands them over; NULL if there are none. The caller frees their functions
 * in Lua. */
MUST_USE struct table *cache_take_all(void);
/* Frees scripts that cache_take_all has handed over, or NULL; by any thread. O(scripts). */
void cache_free(struct table *all);
#endif
