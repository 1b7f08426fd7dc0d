/* SPDX-License-Identifier: BSD-3-Clause
 * The cache of scripts: one block for each, in a table by its digest.
 */
#include "script/cache.h"

#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/relocation.h"
#include "base/sha.h"
#include "ds/table.h"
#include "metric/row.h"

/* The table tells scripts apart by this many digits of the digest; a lookup compares all of them.
 */
#define HASHED_CHARS 16

static struct table *scripts;        /* NULL while no script is cached */
static struct cached_script *latest; /* found by the last lookup, mostly by the next, too */

static uint64_t element_hash(const void *element) {
    const struct cached_script *s = element;
    return hash_bytes(s->sha, HASHED_CHARS);
}

static bool element_matches(const void *element, const void *key, size_t length) {
    const struct cached_script *s = element;
    return memcmp(s->sha, key, length) == 0;
}

enum memory_class cache_memory = MEMORY_OTHER;
static struct table_type type = {element_hash, element_matches, MEMORY_OTHER};

static void print_count(const struct metric_row *row, struct buffer *out) {
    buffer_printf(out, "%zu", scripts ? table_count(scripts) : 0);
}

static void print_bytes(const struct metric_row *row, struct buffer *out) {
    buffer_printf(out, "%zu", memory_used(cache_memory));
}

static void print_bytes_human(const struct metric_row *row, struct buffer *out) {
    char text[32];
    number_format_bytes_human(text, sizeof(text), memory_used(cache_memory));
    buffer_append_c_string(out, text);
}

static const struct metric_row metric_rows[] = {
    METRIC_PRINT("Memory", 190, "used_memory_scripts", METRIC_BYTES, print_bytes,
                 "Bytes of cached scripts."),
    METRIC_PRINT("Memory", 200, "used_memory_scripts_human", METRIC_INFO_ONLY, print_bytes_human,
                 "used_memory_scripts, with a unit."),
    METRIC_PRINT("Memory", 210, "number_of_cached_scripts", METRIC_GAUGE, print_count,
                 "Scripts that EVALSHA finds."),
};

void cache_register(void) {
    memory_class_register(&cache_memory, MEMORY_COUNTED);
    type.class = cache_memory;
    metric_register(metric_rows, sizeof(metric_rows) / sizeof(metric_rows[0]));
}

void cache_sha(struct slice text, char sha[static CACHE_SHA_CHARS]) {
    static const char hex[] = "0123456789abcdef";
    unsigned char digest[SHA1_BYTES];
    sha1_of(text, digest);
    for (size_t i = 0; i < SHA1_BYTES; i++) {
        *sha++ = hex[digest[i] >> 4];
        *sha++ = hex[digest[i] & 15];
    }
}

struct cached_script *cache_find(const char sha[static CACHE_SHA_CHARS]) {
    if (!scripts) return NULL;
    if (latest && element_matches(latest, sha, CACHE_SHA_CHARS)) return latest;
    struct cached_script *found =
        table_find(scripts, hash_bytes(sha, HASHED_CHARS), sha, CACHE_SHA_CHARS);
    if (found) latest = found;
    return found;
}

struct cached_script *cache_add(const char sha[static CACHE_SHA_CHARS], struct slice text,
                                int function) {
    struct cached_script *s = memory_alloc(sizeof(*s) + text.length, cache_memory);
    *s = (struct cached_script){.function = function, .length = text.length};
    memcpy(s->sha, sha, CACHE_SHA_CHARS);
    if (text.length) memcpy(s->text, text.bytes, text.length);
    if (!scripts) scripts = table_create(&type);
    table_insert(scripts, element_hash(s), s);
    return s;
}

/* ---- moving ---- */

static void relocate_scripts(struct table *t, const struct table_group *group, struct relocation *r,
                             void *context) {
    for (uint64_t left = group->wanted; left != 0; left &= left - 1) {
        unsigned i = (unsigned)__builtin_ctzll(left);
        struct cached_script *s = relocation_move(r, group->elements[i], cache_memory);
        table_slot_replace(group->slots[i], s);
    }
    latest = NULL;
}

uint64_t cache_relocate_some(uint64_t cursor, struct relocation *r) {
    if (!scripts) return 0;
    if (cursor == 0) scripts = table_relocate(scripts, r);
    do {
        cursor = table_relocate_some(scripts, cursor, r, relocate_scripts, NULL);
    } while (cursor != 0 && r->budget > 0);
    return cursor;
}

/* ---- all scripts ---- */

struct visit {
    void (*visit)(const struct cached_script *s, void *context);
    void *context;
};

static void visit_element(void *element, void *context) {
    const struct visit *v = context;
    v->visit(element, v->context);
}

void cache_each(void (*visit)(const struct cached_script *s, void *context), void *context) {
    if (scripts) table_each(scripts, visit_element, &(struct visit){visit, context});
}

static void cache_release(void *element, void *context) { memory_free(element, cache_memory); }

struct table *cache_take_all(void) {
    struct table *all = scripts;
    scripts = NULL;
    latest = NULL;
    return all;
}

void cache_free(struct table *all) {
    while (all && !table_free_step(all, SIZE_MAX, cache_release, NULL)) continue;
}
