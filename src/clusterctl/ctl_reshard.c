/* SPDX-License-Identifier: BSD-3-Clause
 * --cluster reshard.
 *
 * What the options do not say is asked. The questions and the plan change nothing.
 */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "clusterctl/ctl_check.h"
#include "clusterctl/ctl_commands.h"
#include "clusterctl/ctl_move.h"
#include "clusterctl/ctl_resume.h"
#include "clusterctl/ctl_shares.h"
#include "clusterctl/ctl_talk.h"

struct reshard {
    struct ctl_run *run;
    size_t wanted;
    struct ctl_node *to;
    struct ctl_node **from; /* has room for all nodes */
    size_t from_count;
    struct ctl_share *shares;
    size_t share_count;
};

/* --- the questions ---------------------------------------------------------------------------- */

/* The primary with this id; NULL, said why, where there is none. */
static struct ctl_node *require_primary(const struct ctl_run *r, const char *id) {
    struct ctl_node *node = ctl_cluster_find(&r->cluster, id);
    if (node && ctl_node_is_primary(node)) return node;
    ctl_say(CTL_BAD, "*** The specified node (%s) is not known or not a master, please retry.\n",
            id);
    return NULL;
}

static bool ask_count(struct reshard *s) {
    char question[80], answer[CTL_ANSWER_CHARS];
    int64_t number = s->run->options->slots;
    snprintf(question, sizeof(question), "How many slots do you want to move (from 1 to %d)? ",
             KEY_SLOTS);
    while (number < 1 || number > KEY_SLOTS) {
        if (!ctl_talk_read(question, answer)) return false;
        if (!number_parse_int64(answer, strlen(answer), &number)) number = 0;
    }
    s->wanted = (size_t)number;
    return true;
}

static bool ask_target(struct reshard *s) {
    char answer[CTL_ANSWER_CHARS];
    const char *id = s->run->options->to;
    while (id && !*id) id = NULL;
    while (!id || !*id) {
        if (!ctl_talk_read("What is the receiving node ID? ", answer)) return false;
        id = answer;
    }
    s->to = require_primary(s->run, id);
    return s->to != NULL;
}

/* Adds a source, unless it is one already. False, said why, where it cannot be one. */
static bool add_source(struct reshard *s, const char *id) {
    struct ctl_node *node = require_primary(s->run, id);
    if (!node) return false;
    if (node == s->to) {
        ctl_say(CTL_BAD, "*** It is not possible to use the target node as source node.\n");
        return false;
    }
    for (size_t i = 0; i < s->from_count; i++)
        if (s->from[i] == node) return true;
    s->from[s->from_count++] = node;
    return true;
}

static void add_all_sources(struct reshard *s) {
    s->from_count = 0;
    for (size_t i = 0; i < s->run->cluster.count; i++) {
        struct ctl_node *node = s->run->cluster.nodes[i];
        if (node != s->to && ctl_node_is_primary(node)) s->from[s->from_count++] = node;
    }
}

/* Takes the sources that the option names, parted by commas. */
static bool take_sources(struct reshard *s, const char *ids) {
    if (!strcmp(ids, "all")) {
        add_all_sources(s);
        return true;
    }
    while (*ids) {
        char id[CTL_ANSWER_CHARS];
        size_t length = strcspn(ids, ",");
        snprintf(id, sizeof(id), "%.*s", (int)length, ids);
        if (*id && !add_source(s, id)) return false;
        ids += length + (ids[length] == ',');
    }
    return true;
}

static bool ask_sources(struct reshard *s) {
    char question[64], answer[CTL_ANSWER_CHARS];
    ctl_say(CTL_PLAIN,
            "Please enter all the source node IDs.\n"
            "  Type 'all' to use all the nodes as source nodes for the hash slots.\n"
            "  Type 'done' once you entered all the source nodes IDs.\n");
    for (;;) {
        snprintf(question, sizeof(question), "Source node #%zu: ", s->from_count + 1);
        if (!ctl_talk_read(question, answer)) return false;
        if (!strcmp(answer, "done")) return true;
        if (!strcmp(answer, "all")) {
            add_all_sources(s);
            return true;
        }
        if (*answer) (void)add_source(s, answer); /* a wrong one may be typed again */
    }
}

static bool ask_all(struct reshard *s) {
    const char *from = s->run->options->from;
    if (!ask_count(s) || !ask_target(s)) return false;
    if (from && *from ? !take_sources(s, from) : !ask_sources(s)) return false;
    if (s->from_count) return true;
    ctl_complain("*** No source nodes given, operation aborted.\n");
    return false;
}

/* --- the plan --------------------------------------------------------------------------------- */

static void plan_shares(struct reshard *s) {
    const struct ctl_slots **slots =
        memory_alloc(s->from_count * sizeof(const struct ctl_slots *), MEMORY_OTHER);
    for (size_t i = 0; i < s->from_count; i++) slots[i] = &s->from[i]->self.slots;
    s->shares = memory_alloc((s->wanted + 1) * sizeof(*s->shares), MEMORY_OTHER);
    s->share_count = ctl_shares_plan(slots, s->from_count, s->wanted, s->shares);
    memory_free(slots, MEMORY_OTHER);
}

static void say_shares(const struct reshard *s) {
    ctl_say(CTL_PLAIN, "\nReady to move %zu slots.\n  Source nodes:\n", s->wanted);
    for (size_t i = 0; i < s->from_count; i++) ctl_cluster_say_node(s->from[i], "    ");
    ctl_say(CTL_PLAIN, "  Destination node:\n");
    ctl_cluster_say_node(s->to, "    ");
    ctl_say(CTL_PLAIN, "  Resharding plan:\n");
    for (size_t i = 0; i < s->share_count; i++)
        ctl_say(CTL_PLAIN, "    Moving slot %u from %s\n", s->shares[i].slot,
                s->from[s->shares[i].source]->self.id);
}

static bool confirm_plan(const struct reshard *s) {
    return s->run->yes ||
           ctl_talk_confirm("Do you want to proceed with the proposed reshard plan (yes/no)? ");
}

/* Moves the slots of the plan. False, said why, where that fails or is interrupted. */
static bool move_shares(const struct reshard *s) {
    for (size_t i = 0; i < s->share_count; i++) {
        const struct ctl_share *share = &s->shares[i];
        struct ctl_node *from = s->from[share->source];
        if (ctl_move_slot(s->run, from, s->to, share->slot, 0) == CTL_MOVED) continue;
        ctl_resume_say_stop(i, s->share_count, share->slot, from, s->to);
        ctl_say(CTL_PLAIN, "What is left by then: --cluster-to %s --cluster-slots %zu\n",
                s->to->self.id, s->share_count - i);
        return false;
    }
    return true;
}

int ctl_reshard(struct ctl_run *r) {
    size_t finished;
    if (!ctl_cluster_load(&r->cluster, r->host, r->port)) return 1;
    struct ctl_findings found = ctl_check_cluster(r, 0);
    if (!found.good && !found.half_moved) {
        bool never = ctl_resume_moves(r, &found, "resharding", NULL, &finished);
        return !never;
    }
    struct reshard s = {.run = r};
    s.from = memory_alloc(r->cluster.count * sizeof(struct ctl_node *), MEMORY_OTHER);
    ctl_talk_heed_interrupt(false);
    bool good = ask_all(&s);
    ctl_talk_heed_interrupt(true);
    good = good && ctl_resume_moves(r, &found, "resharding", s.to, &finished);
    if (good) {
        s.wanted -= finished < s.wanted ? finished : s.wanted;
        plan_shares(&s);
        say_shares(&s);
        good = confirm_plan(&s) && move_shares(&s);
    }
    memory_free(s.from, MEMORY_OTHER);
    memory_free(s.shares, MEMORY_OTHER);
    return !good;
}
