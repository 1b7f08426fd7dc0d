/* SPDX-License-Identifier: BSD-3-Clause
 * The types' rows, and digests.
 */
#include "value/value.h"

#include "base/panic.h"

static const struct value_type *rows[VALUE_KINDS];

void value_type_register(enum value_kind kind, const struct value_type *row) {
    ASSERT(kind < VALUE_KINDS && !rows[kind]);
    rows[kind] = row;
}

const struct value_type *value_type(unsigned kind) {
    ASSERT(kind < VALUE_KINDS && rows[kind]);
    return rows[kind];
}

/* Lowest byte first, whatever the machine. */
void value_digest_number(struct sha1 *s, uint64_t number) {
    unsigned char bytes[8];
    for (int i = 0; i < 8; i++) bytes[i] = (unsigned char)(number >> (8 * i));
    sha1_add(s, bytes, sizeof(bytes));
}

void value_digest_text(struct sha1 *s, struct slice text) {
    value_digest_number(s, text.length);
    sha1_add(s, text.bytes, text.length);
}

void value_digest_member(struct value_digest *d, struct slice first, const struct slice *second) {
    struct sha1 s;
    unsigned char digest[SHA1_BYTES];
    sha1_begin(&s);
    value_digest_text(&s, first);
    if (second) value_digest_text(&s, *second);
    sha1_end(&s, digest);
    for (int i = 0; i < SHA1_BYTES; i++) d->sum[i] ^= digest[i];
}
