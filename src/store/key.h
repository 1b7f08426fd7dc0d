/* SPDX-License-Identifier: BSD-3-Clause
 * A key: its database, its bytes, and their hash, which is computed once.
 */
#ifndef EVENKEEL_STORE_KEY_H
#define EVENKEEL_STORE_KEY_H
#include <stdint.h>

#include "base/string.h"

struct keyspace;

struct key {
    struct keyspace *keyspace;
    struct slice name; /* borrowed */
    uint64_t hash;     /* hash_bytes(name) */
};
#endif
