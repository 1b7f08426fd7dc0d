/* SPDX-License-Identifier: BSD-3-Clause
 * Zipmaps to listpacks.
 *
 * The format: a byte with the number of pairs (254 and above = count them), pairs, 0xff. A pair is
 * the length of its field, the field, the length of its value, a byte with the number of unused
 * bytes, the value, and the unused bytes. A length is one byte below 254, or 254 and four bytes,
 * lowest first.
 */
#include "ds/zipmap.h"

#include <stdint.h>

#include "ds/listpack.h"

#define END_MARK 0xff
#define LONG_LENGTH 254

/* The bytes still to be read, without the end mark. */
struct reader {
    const uint8_t *at, *end;
};

static bool zipmap_has(const struct reader *r, size_t bytes) {
    return (size_t)(r->end - r->at) >= bytes;
}

static bool read_length(struct reader *r, size_t *length) {
    if (!zipmap_has(r, 1)) return false;
    *length = *r->at++;
    if (*length < LONG_LENGTH) return true;
    if (*length > LONG_LENGTH || !zipmap_has(r, 4)) return false;
    *length = r->at[0] | (size_t)r->at[1] << 8 | (size_t)r->at[2] << 16 | (size_t)r->at[3] << 24;
    r->at += 4;
    return true;
}

static bool take_text(struct reader *r, size_t length, struct listpack **lp) {
    struct slice text = {(const char *)r->at, length};
    if (!zipmap_has(r, length) || !listpack_has_room(*lp, listpack_element_size(text)))
        return false;
    listpack_append(lp, text);
    r->at += length;
    return true;
}

static bool take_pair(struct reader *r, struct listpack **lp) {
    size_t length;
    if (!read_length(r, &length) || !take_text(r, length, lp)) return false;
    if (!read_length(r, &length) || !zipmap_has(r, 1)) return false;
    size_t unused = *r->at++;
    if (!take_text(r, length, lp) || !zipmap_has(r, unused)) return false;
    r->at += unused;
    return true;
}

struct listpack *zipmap_to_listpack(const void *foreign, size_t size) {
    const uint8_t *bytes = foreign;
    if (size < 2 || size > LISTPACK_BYTES_MAX / 2 || bytes[size - 1] != END_MARK) return NULL;
    struct reader r = {bytes + 1, bytes + size - 1};
    struct listpack *lp = listpack_create();
    size_t pairs = 0;
    bool good = true;
    for (; good && r.at < r.end; pairs++) good = take_pair(&r, &lp);
    if (good && (bytes[0] >= LONG_LENGTH || bytes[0] == pairs)) return lp;
    listpack_free(lp);
    return NULL;
}
