/* SPDX-License-Identifier: BSD-3-Clause
 * Modules' data in snapshots, for a server that has no modules: whose it is, and where it ends.
 */
#ifndef EVENKEEL_RDB_RDB_MODULE_H
#define EVENKEEL_RDB_RDB_MODULE_H
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"

struct source;

/* A type's name has 9 characters. */
#define RDB_MODULE_NAME_BYTES 10

/* Reads the number by which a module's data begins, and makes the type's name of it. False where
 * the source has a fault. */
MUST_USE bool rdb_module_read_name(struct source *in, char name[RDB_MODULE_NAME_BYTES]);
/* After that: passes over a value (of form SAVED_MODULE), or over what belongs to no key. Modules
 * before that form (SAVED_MODULE_OLD) do not say where a value ends. False where the source has a
 * fault, or was refused. O(data). */
MUST_USE bool rdb_module_skip(struct source *in);
MUST_USE bool rdb_module_skip_auxiliary(struct source *in);
#endif
