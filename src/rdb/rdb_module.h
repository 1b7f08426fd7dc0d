/* SPDX-License-Identifier: BSD-3-Clause
 * Modules' data in snapshots, for a server that has no modules: which module wrote it, and where it
 * ends.
 */
#ifndef EVENKEEL_RDB_RDB_MODULE_H
#define EVENKEEL_RDB_RDB_MODULE_H
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"

struct source;

/* A type's name has 9 characters. */
#define RDB_MODULE_NAME_BYTES 10

/* Reads the number with which a module's data begins, and converts it to the type's name. False
 * where the source has a fault. */
MUST_USE bool rdb_module_read_name(struct source *in, char name[RDB_MODULE_NAME_BYTES]);
/* After rdb_module_read_name: skips a value (of form SAVED_MODULE), or data that belongs to no key.
 * Data of the older form SAVED_MODULE_OLD cannot be skipped, because it does not say where it ends.
 * Returns false if the source has a fault or was refused. O(data). */
MUST_USE bool rdb_module_skip(struct source *in);
MUST_USE bool rdb_module_skip_auxiliary(struct source *in);
#endif
