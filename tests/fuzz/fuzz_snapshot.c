/* SPDX-License-Identifier: BSD-3-Clause
 * Fuzzes the loading of snapshots: a file loads whole, and then what it gave, saved again, loads to
 * the same data; or it is refused at a place and with a reason. No byte stays in memory after
 * either.
 *
 * Covers: src/rdb/rdb_load.c src/rdb/rdb_save.c
 *
 * The input is a file; its checksum is not looked at.
 */
#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/panic.h"
#include "base/stream.h"
#include "exec/edit.h"
#include "option/option.h"
#include "rdb/dump.h"
#include "rdb/rdb_load.h"
#include "rdb/rdb_save.h"
#include "server/mode.h"
#include "server/modes.h"
#include "store/digest.h"
#include "store/keyspace.h"

/* Of a file's own time, so that deadlines lie before and behind it. */
#define NOW_USEC INT64_C(1750000000000000)

int LLVMFuzzerInitialize(int *count, char ***arguments);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerInitialize(int *count, char ***arguments) {
    struct slice quiet = SLICE("warning"), nowhere = SLICE("/dev/null");
    char reason[OPTION_REASON_BYTES];
    mode_register(&mode_server);
    ASSERT(option_set(option_find(SLICE("loglevel")), &quiet, 1, OPTION_FROM_FILE, reason,
                      sizeof(reason)));
    ASSERT(option_set(option_find(SLICE("logfile")), &nowhere, 1, OPTION_FROM_FILE, reason,
                      sizeof(reason)));
    keyspace_open();
    clock_use_fixed(NOW_USEC, 1000000000);
    clock_refresh();
    dump_skip_checksums(true);
    return 0;
}

static void empty(void) {
    for (int i = 0; i < keyspace_databases(); i++) (void)edit_flush(keyspace_at(i), LAZYFREE_NOW);
}

static bool load(struct slice file, struct rdb_loaded *result) {
    struct source in;
    const struct rdb_loading how = {.replaces = false};
    slice_source_init(&in, file);
    bool good = rdb_load(&in, &how, result);
    ASSERT(good == (result->reason[0] == '\0'));
    ASSERT(result->offset <= file.length);
    return good;
}

/* What stands in the databases is the same after a save and a load. */
static void save_and_load(void) {
    unsigned char before[SHA1_BYTES], after[SHA1_BYTES];
    struct rdb_loaded result;
    struct buffer out;
    struct buffer_sink b;
    digest_all(before);
    buffer_init(&out, MEMORY_OTHER);
    buffer_sink_init(&b, &out);
    ASSERT(rdb_save(&b.sink));
    empty();
    ASSERT(load(buffer_slice(&out), &result));
    digest_all(after);
    ASSERT(memcmp(before, after, SHA1_BYTES) == 0);
    buffer_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct rdb_loaded result;
    uint8_t *exact = memory_alloc(size + 1, MEMORY_OTHER);
    size_t before = memory_used(MEMORY_DATASET);
    memcpy(exact, data, size);
    if (load((struct slice){(const char *)exact, size}, &result)) save_and_load();
    empty();
    for (int i = 0; i < keyspace_databases(); i++) keyspace_check(keyspace_at(i));
    ASSERT(memory_used(MEMORY_DATASET) == before);
    memory_free(exact, MEMORY_OTHER);
    return 0;
}
