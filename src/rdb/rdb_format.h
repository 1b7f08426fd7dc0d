/* SPDX-License-Identifier: BSD-3-Clause
 * What writing and reading snapshots share: the marks of RDB files.
 */
#ifndef EVENKEEL_RDB_RDB_FORMAT_H
#define EVENKEEL_RDB_RDB_FORMAT_H
#include <stdint.h>

#define RDB_MAGIC "REDIS"

/* What stands where a key's form does. */
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

/* For tests: waits after the key with this number; a negative delay is one microsecond after so
 * many keys. */
void rdb_delay(int64_t usec, uint64_t key);
#endif
