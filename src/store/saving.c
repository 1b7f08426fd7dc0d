/* SPDX-License-Identifier: BSD-3-Clause
 * The switch for everything that would write to pages that a saving child shares.
 */
#include "store/saving.h"

#include "base/panic.h"
#include "ds/table.h"
#include "ds/timebuckets.h"
#include "io/child.h"
#include "store/keyspace.h"
#include "store/recency.h"

static int savers;

static void set_resting(bool on) {
    table_set_resize(on ? TABLE_RESIZE_AVOID : TABLE_RESIZE_FREE);
    recency_freeze(on);
    timebuckets_set_resting(on);
}

void saving_begin(void) {
    if (savers++ == 0) set_resting(true);
}

void saving_end(void) {
    ASSERT_COMPARE(savers, >, 0);
    if (--savers) return;
    set_resting(false);
    keyspace_settle();
}

bool saving_now(void) { return savers != 0; }

/* A debugger's child does not save, and may live for as long as a user debugs a script. */
static void begin_for(const struct child_kind *kind) {
    if (!kind->beside) saving_begin();
}

static void end_for(const struct child_kind *kind) {
    if (!kind->beside) saving_end();
}

const struct child_observer saving_child_observer = {.before_fork = begin_for, .gone = end_for};
