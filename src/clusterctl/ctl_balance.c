/* SPDX-License-Identifier: BSD-3-Clause
 * The plan of a rebalance.
 */
#include "clusterctl/ctl_balance.h"

#include <math.h>

#include "base/key_slot.h"
#include "base/memory.h"

static bool is_far(const struct ctl_scale *scale, int part, double threshold_percent) {
    if (!scale->slots) return part > 1;
    return fabs(100.0 - 100.0 * part / scale->slots) > threshold_percent;
}

/* Takes the slots that no part has from the balances of those that lack slots, or lack none. */
static void spread_rest(struct ctl_scale *scales, size_t count, int rest) {
    bool goes_on = true;
    while (rest > 0 && goes_on) {
        goes_on = false;
        for (size_t i = 0; i < count && rest > 0; i++) {
            if (!scales[i].takes_part || scales[i].balance > 0) continue;
            scales[i].balance--;
            rest--;
            goes_on = true;
        }
    }
}

bool ctl_balance_weigh(struct ctl_scale *scales, size_t count, double threshold_percent) {
    double weights = 0;
    bool far = false;
    int rest = 0;
    for (size_t i = 0; i < count; i++)
        if (scales[i].takes_part) weights += scales[i].weight;
    for (size_t i = 0; i < count; i++) {
        struct ctl_scale *scale = &scales[i];
        scale->balance = 0;
        if (!scale->takes_part) continue;
        int part = (int)(KEY_SLOTS / weights * scale->weight);
        scale->balance = (int)scale->slots - part;
        rest += scale->balance;
        far = far || is_far(scale, part, threshold_percent);
    }
    spread_rest(scales, count, rest);
    return far;
}

/* Orders the indices by balance, the least first; equal ones keep their order. */
static void order_scales(const struct ctl_scale *scales, size_t count, size_t *order) {
    for (size_t i = 0; i < count; i++) {
        size_t at = i;
        for (; at && scales[order[at - 1]].balance > scales[i].balance; at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
}

size_t ctl_balance_plan(const struct ctl_scale *scales, size_t count,
                        struct ctl_transfer *transfers) {
    size_t *order = memory_alloc((count + 1) * sizeof(*order), MEMORY_OTHER), planned = 0;
    int *left = memory_alloc((count + 1) * sizeof(*left), MEMORY_OTHER);
    for (size_t i = 0; i < count; i++) left[i] = scales[i].balance;
    order_scales(scales, count, order);
    size_t low = 0, high = count;
    while (low + 1 < high) {
        int lacks = -left[order[low]], has = left[order[high - 1]];
        int moved = lacks < has ? lacks : has;
        if (moved > 0) {
            transfers[planned++] =
                (struct ctl_transfer){order[high - 1], order[low], (unsigned)moved};
            left[order[low]] += moved;
            left[order[high - 1]] -= moved;
        }
        if (left[order[low]] >= 0) low++;
        if (left[order[high - 1]] <= 0) high--;
    }
    memory_free(order, MEMORY_OTHER);
    memory_free(left, MEMORY_OTHER);
    return planned;
}
