/* SPDX-License-Identifier: BSD-3-Clause
 * Digests, as Redis 6.2 computes them: a data set has the same one on both servers.
 *
 * A value's digest begins with its type's number; the type's row adds the rest. A key's digest
 * begins with its name. The digest of all data is the exclusive or of the keys' digests, so that no
 * order or table size can change it; each database that has keys adds its number before them.
 */
#include "store/digest.h"

#include "store/entry.h"
#include "store/keyspace.h"

struct sum {
    int database;
    bool any; /* the database has a key */
    struct value_digest *digest;
};

static void add_value(const struct entry *e, struct value_digest *d) {
    struct string_value room;
    const struct value_type *type = value_type(e->type);
    value_digest_number(d, type->digest_number);
    type->digest(entry_value(e, &room), d);
    if (entry_has_deadline(e)) value_digest_part(d, SLICE("!!expire!!"));
}

void digest_value(const struct entry *e, unsigned char digest[SHA1_BYTES]) {
    struct value_digest d = {{0}};
    add_value(e, &d);
    memcpy(digest, d.sum, SHA1_BYTES);
}

static void add_entry(struct entry *e, void *context) {
    struct sum *sum = context;
    struct value_digest d = {{0}};
    if (!sum->any) value_digest_number(sum->digest, (uint32_t)sum->database);
    sum->any = true;
    value_digest_next(&d, entry_key(e));
    add_value(e, &d);
    value_digest_part(sum->digest, (struct slice){(const char *)d.sum, SHA1_BYTES});
}

void digest_all(unsigned char digest[SHA1_BYTES]) {
    struct value_digest d = {{0}};
    for (int i = 0; i < keyspace_databases(); i++) {
        struct sum sum = {i, false, &d};
        keyspace_each(keyspace_at(i), add_entry, &sum);
    }
    memcpy(digest, d.sum, SHA1_BYTES);
}
