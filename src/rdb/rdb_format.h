/* SPDX-License-Identifier: BSD-3-Clause
 * The marks of RDB files, for writing and for reading snapshots.
 */
#ifndef EVENKEEL_RDB_RDB_FORMAT_H
#define EVENKEEL_RDB_RDB_FORMAT_H
#include <stdint.h>

#define RDB_MAGIC "REDIS"

/* A mark stands where the form of a key can stand. */
enum rdb_mark {
    RDB_MODULE_AUX = 247,
    RDB_IDLE,      /* of the next key: seconds, a length */
    RDB_FREQUENCY, /* of the next key: a byte */
    RDB_AUX,       /* a name and a value, both texts */
    RDB_SIZES,     /* keys, and keys with deadlines, of this database */
    RDB_DEADLINE_MSEC,
    RDB_DEADLINE_SEC, /* old */
    RDB_DATABASE,
    RDB_END
};

/* For tests: waits `usec` after the key with this number; with a negative number -N, one
 * microsecond after every N keys. */
void rdb_delay(int64_t usec, uint64_t key);
#endif
