/* SPDX-License-Identifier: BSD-3-Clause
 * How long the next sync waits for more writes. aof_gather.h has the idea.
 */
#include "aof/aof_gather.h"

/* The share of a sync's time for which the next one may wait. Of clients that do not wait for
 * replies, a third would come within a wait so long, which is less than the half that is asked
 * for. */
#define SYNC_SHARE 2

static struct gather {
    uint64_t wanted;    /* when this record is reached, as many have come as had left */
    int64_t until_nsec; /* the wait ends then at the latest */
    uint64_t begun;     /* the record at which the wait began */
    unsigned skips;     /* how many next syncs do not wait */
    unsigned last_skips;
} gather;

void aof_gather_reset(void) { gather = (struct gather){0}; }

void aof_gather_released(uint64_t units, uint64_t record, int64_t now_nsec, int64_t sync_nsec) {
    int64_t nsec = sync_nsec / SYNC_SHARE;
    gather.wanted = record + units;
    gather.until_nsec = now_nsec + (nsec < AOF_GATHER_NSEC_MAX ? nsec : AOF_GATHER_NSEC_MAX);
}

int64_t aof_gather_begin(uint64_t record, int64_t now_nsec) {
    if (aof_gather_is_complete(record) || now_nsec >= gather.until_nsec) return 0;
    if (gather.skips) {
        gather.skips--;
        return 0;
    }
    gather.begun = record;
    return gather.until_nsec - now_nsec;
}

bool aof_gather_is_complete(uint64_t record) { return record >= gather.wanted; }

void aof_gather_ended(uint64_t record) {
    bool in_vain = (record - gather.begun) * 2 < gather.wanted - gather.begun;
    unsigned more = gather.last_skips ? gather.last_skips * 2 : 1;
    if (more > AOF_GATHER_SKIPS_MAX) more = AOF_GATHER_SKIPS_MAX;
    gather.skips = gather.last_skips = in_vain ? more : 0;
}
