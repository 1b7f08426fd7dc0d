/* SPDX-License-Identifier: BSD-3-Clause
 * The types' rows, and digests.
 */
#include "value/value.h"

#include "base/panic.h"

static const struct value_type *rows[VALUE_KINDS];

unsigned value_type_register(enum value_kind wanted, const struct value_type *row) {
    unsigned kind = wanted;
    if (wanted == VALUE_KIND_NEXT)
        while (kind < VALUE_KINDS && rows[kind]) kind++;
    if (kind >= VALUE_KINDS || rows[kind]) return VALUE_KINDS;
    rows[kind] = row;
    return kind;
}

const struct value_type *value_type(unsigned kind) {
    ASSERT(kind < VALUE_KINDS && rows[kind]);
    return rows[kind];
}

static struct slice digest_slice(const struct value_digest *d) {
    return (struct slice){(const char *)d->sum, SHA1_BYTES};
}

void value_digest_part(struct value_digest *d, struct slice text) {
    unsigned char sum[SHA1_BYTES];
    sha1_of(text, sum);
    for (int i = 0; i < SHA1_BYTES; i++) d->sum[i] ^= sum[i];
}

void value_digest_next(struct value_digest *d, struct slice text) {
    value_digest_part(d, text);
    sha1_of(digest_slice(d), d->sum);
}

void value_digest_pair(struct value_digest *d, struct slice first, struct slice second) {
    struct value_digest member = {{0}};
    value_digest_next(&member, first);
    value_digest_next(&member, second);
    value_digest_part(d, digest_slice(&member));
}

void value_digest_number(struct value_digest *d, uint32_t number) {
    char bytes[4];
    for (int i = 0; i < 4; i++) bytes[i] = (char)(number >> (24 - 8 * i));
    value_digest_next(d, (struct slice){bytes, sizeof(bytes)});
}
