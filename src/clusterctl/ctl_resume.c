/* SPDX-License-Identifier: BSD-3-Clause
 * Going on after an interrupt, or after a node was lost.
 */
#include "clusterctl/ctl_resume.h"

#include "clusterctl/ctl_move.h"
#include "clusterctl/ctl_talk.h"

static bool finish_moves(struct ctl_run *r, const struct ctl_slots *open,
                         const struct ctl_node *wanted, size_t *finished) {
    for (int slot = ctl_slots_next(open, 0); slot >= 0;
         slot = ctl_slots_next(open, (unsigned)slot + 1)) {
        struct ctl_node *from, *to;
        if (!ctl_check_find_move(&r->cluster, (unsigned)slot, &from, &to)) return false;
        if (ctl_move_slot(r, from, to, (unsigned)slot, 0) != CTL_MOVED) {
            ctl_resume_say_stop(*finished, ctl_slots_count(open), (unsigned)slot, from, to);
            return false;
        }
        *finished += !wanted || to == wanted;
    }
    return true;
}

bool ctl_resume_moves(struct ctl_run *r, const struct ctl_findings *found, const char *what,
                      const struct ctl_node *to, size_t *finished) {
    *finished = 0;
    if (found->good) return true;
    if (found->half_moved) {
        ctl_say(CTL_WARNING, "*** An earlier move has left %u slot(s) open.\n",
                ctl_slots_count(&found->open));
        if (r->yes || ctl_talk_confirm("Finish moving them first? (type 'yes' to accept): "))
            return finish_moves(r, &found->open, to, finished);
    }
    ctl_say(CTL_BAD, "*** Please fix your cluster problems before %s\n", what);
    return false;
}

void ctl_resume_say_stop(size_t moved, size_t planned, unsigned slot, const struct ctl_node *from,
                         const struct ctl_node *to) {
    ctl_say(CTL_WARNING,
            "*** Stopped: %zu of %zu slots are moved. Slot %u is open between %s and %s.\n", moved,
            planned, slot, from->name, to->name);
    ctl_say(CTL_PLAIN,
            "Run the command again to go on: it finishes the open slot first. Or close the slot by "
            "--cluster fix.\n");
}
