/* SPDX-License-Identifier: BSD-3-Clause
 * Fuzzes a Sentinel's reading of INFO: all that is found lies in the text and within its range, and
 * reading again finds the same.
 *
 * Covers: src/sentinel/info_reading.c, src/sentinel/foreign_text.c
 *
 * The text is read from a block of its own length, so that a read behind it is seen.
 */
#include <stdint.h>
#include <string.h>

#include "base/memory.h"
#include "base/panic.h"
#include "sentinel/foreign_text.h"
#include "sentinel/info_reading.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct sentinel_info info, again;

static void check_host(struct slice host, struct slice text) {
    ASSERT(host.bytes >= text.bytes && host.bytes + host.length <= text.bytes + text.length);
    ASSERT(sentinel_foreign_is_host(host));
}

static void check_info(struct slice text) {
    ASSERT(info.run_id.length == 0 || info.run_id.length == SENTINEL_ID_CHARS);
    if (info.has & SENTINEL_INFO_HAS_HOST) check_host(info.primary_host, text);
    if (info.has & SENTINEL_INFO_HAS_PORT)
        ASSERT(info.primary_port > 0 && info.primary_port < 65536);
    ASSERT(info.priority >= 0 && info.offset >= 0 && info.link_down_msec >= -1000);
    ASSERT(info.replica_count <= SENTINEL_REPLICAS_MAX);
    ASSERT(info.replicas_left_out == 0 || info.replica_count == SENTINEL_REPLICAS_MAX);
    for (size_t at = 0; at < info.replica_count; at++) {
        check_host(info.replicas[at].host, text);
        ASSERT(info.replicas[at].port > 0 && info.replicas[at].port < 65536);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *copy = memory_alloc(size, MEMORY_OTHER);
    struct slice text = {copy, size};
    if (size) memcpy(copy, data, size);
    sentinel_info_read(text, &info);
    check_info(text);
    memset(&again, 0xff, sizeof(again));
    sentinel_info_read(text, &again);
    ASSERT(again.role == info.role && again.has == info.has);
    ASSERT(again.replica_count == info.replica_count && again.offset == info.offset);
    memory_free(copy, MEMORY_OTHER);
    return 0;
}
