/* SPDX-License-Identifier: BSD-3-Clause
 * Fuzzes foreign HyperLogLogs: strings that say they are one are read and changed without a step
 * beyond their bytes, and those whose runs are good stay good.
 *
 * Covers: src/ds/hyperloglog.c
 *
 * The input is the string; its last bytes are also the elements that are added.
 */
#include "base/memory.h"
#include "base/panic.h"
#include "ds/hyperloglog.h"

#define ADDITIONS_MAX 16

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char room[HYPERLOGLOG_ROOM_BYTES];
static uint8_t registers[HYPERLOGLOG_REGISTERS], others[HYPERLOGLOG_REGISTERS];

static void walk_runs(struct slice text) {
    struct hyperloglog_run run = {.at = HYPERLOGLOG_HEADER_BYTES};
    while (hyperloglog_run_at(text, &run)) {
        ASSERT(run.length > 0 && run.first + run.length <= HYPERLOGLOG_REGISTERS);
        ASSERT(run.at + run.bytes <= text.length);
        run.at += run.bytes;
        run.first += run.length;
    }
}

/* What is in the room after a change is as good as it was. */
static void check_room(size_t length, bool good) {
    struct slice text = {room, length};
    uint64_t cardinality;
    ASSERT(length <= sizeof(room) && hyperloglog_is_valid(text));
    bool counted = hyperloglog_count(text, &cardinality);
    ASSERT(counted || !good);
    if (!good) return;
    memset(others, 0, sizeof(others));
    ASSERT(hyperloglog_merge(others, text));
    ASSERT(hyperloglog_count_registers(others) == cardinality);
}

static void add_some(size_t length, bool good, const uint8_t *data, size_t size) {
    for (size_t i = 0; i < ADDITIONS_MAX && i < size; i++) {
        struct slice element = {(const char *)data + size - 1 - i, i + 1};
        size_t sparse_max = (size_t)data[size - 1 - i] * 16;
        enum hyperloglog_result result = hyperloglog_add(room, &length, element, sparse_max);
        ASSERT(result != HYPERLOGLOG_CORRUPT || !good);
        check_room(length, good);
        if (hyperloglog_is_dense(room)) ASSERT(hyperloglog_dense_has(room, element) || !good);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *exact = memory_alloc(size + 1, MEMORY_OTHER);
    struct slice text = {exact, size};
    uint64_t cardinality;
    if (size) memcpy(exact, data, size);
    if (hyperloglog_is_valid(text) && size <= sizeof(room)) {
        if (!hyperloglog_is_dense(exact)) walk_runs(text);
        memset(registers, 0, sizeof(registers));
        bool covered = hyperloglog_merge(registers, text); /* foreign bytes may follow */
        bool good = hyperloglog_count(text, &cardinality);
        ASSERT(covered || !good);
        if (good) ASSERT(hyperloglog_count_registers(registers) == cardinality);
        memcpy(room, exact, size);
        add_some(size, good, data, size);
        size_t length = size;
        memcpy(room, exact, size);
        bool dense = hyperloglog_make_dense(room, &length);
        ASSERT(dense == covered);
        check_room(length, dense);
        hyperloglog_keep_count(room, hyperloglog_count_registers(registers));
        hyperloglog_kept_count(room, &cardinality);
        length = hyperloglog_init(room);
        ASSERT(hyperloglog_raise(room, &length, registers, size % 4096));
        check_room(length, true);
    }
    memory_free(exact, MEMORY_OTHER);
    return 0;
}
