/* SPDX-License-Identifier: BSD-3-Clause
 * Modules' data in snapshots.
 *
 * A number of 64 bits names the type: 9 characters of 6 bits each, the first one highest, then the
 * version of the encoding in 10 bits. Parts follow, each behind a mark, up to the mark of the end:
 *
 *   signed, unsigned   a length (value/saved.h)
 *   float, double      4 and 8 bytes
 *   text               a text
 *
 * Data that belongs to no key begins with an unsigned part, which says whether it was written
 * before the keys or after them.
 *
 * Source of the format: files that modules for Redis 6.2 have written.
 */
#include "rdb/rdb_module.h"

#include "base/stream.h"
#include "base/string.h"
#include "value/saved.h"

#define VERSION_BITS 10
#define CHARACTER_BITS 6

enum part { PART_END, PART_SIGNED, PART_UNSIGNED, PART_FLOAT, PART_DOUBLE, PART_TEXT };

bool rdb_module_read_name(struct source *in, char name[RDB_MODULE_NAME_BYTES]) {
    const char *characters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    uint64_t id;
    bool good = saved_read_length(in, &id);
    id = good ? id >> VERSION_BITS : 0;
    name[RDB_MODULE_NAME_BYTES - 1] = '\0';
    for (int i = RDB_MODULE_NAME_BYTES - 2; i >= 0; i--) {
        name[i] = characters[id & ((1u << CHARACTER_BITS) - 1)];
        id >>= CHARACTER_BITS;
    }
    return good;
}

static bool skip_part(struct source *in, uint64_t part, struct buffer *store) {
    struct slice text;
    uint64_t number;
    switch (part) {
    case PART_SIGNED:
    case PART_UNSIGNED: return saved_read_length(in, &number);
    case PART_FLOAT: return source_skip(in, 4);
    case PART_DOUBLE: return source_skip(in, 8);
    case PART_TEXT: return saved_read_text(in, store, &text);
    default: return source_refuse(in, "a part of a module's data has an unknown mark");
    }
}

bool rdb_module_skip(struct source *in) {
    struct buffer store;
    uint64_t part;
    bool good;
    buffer_init(&store, MEMORY_OTHER);
    do {
        good = saved_read_length(in, &part);
        if (good && part != PART_END) good = skip_part(in, part, &store);
    } while (good && part != PART_END);
    buffer_free(&store);
    return good;
}

bool rdb_module_skip_auxiliary(struct source *in) {
    uint64_t part, when;
    if (!saved_read_length(in, &part)) return false;
    if (part != PART_UNSIGNED)
        return source_refuse(in, "a module's data does not say when it is due");
    return saved_read_length(in, &when) && rdb_module_skip(in);
}
