/* SPDX-License-Identifier: BSD-3-Clause
 * Digests. Each key of each database has a SHA-1 of database, key and value, and that of all data
 * is their exclusive or, which neither an order nor a table's size can change. Two equal terms
 * would cancel each other out, but no database has a key twice.
 *
 * Lengths go before texts, so that no two contents are the same bytes.
 */
#include "store/digest.h"

#include "store/entry.h"
#include "store/keyspace.h"

struct sum {
    int database;
    unsigned char *digest;
};

void digest_value(const struct entry *e, unsigned char digest[SHA1_BYTES]) {
    struct string_value room;
    struct sha1 s;
    sha1_begin(&s);
    value_digest_text(&s, slice_of(entry_type_name(e)));
    value_type(e->type)->digest(entry_value(e, &room), &s);
    value_digest_number(&s, entry_has_deadline(e));
    sha1_end(&s, digest);
}

static void add_entry(struct entry *e, void *context) {
    struct sum *sum = context;
    unsigned char digest[SHA1_BYTES];
    struct sha1 s;
    digest_value(e, digest);
    sha1_begin(&s);
    value_digest_number(&s, (uint64_t)sum->database);
    value_digest_text(&s, entry_key(e));
    sha1_add(&s, digest, sizeof(digest));
    sha1_end(&s, digest);
    for (int i = 0; i < SHA1_BYTES; i++) sum->digest[i] ^= digest[i];
}

void digest_all(unsigned char digest[SHA1_BYTES]) {
    memset(digest, 0, SHA1_BYTES);
    for (int i = 0; i < keyspace_databases(); i++) {
        struct sum sum = {i, digest};
        keyspace_each(keyspace_at(i), add_entry, &sum);
    }
}
