/* SPDX-License-Identifier: BSD-3-Clause
 * How instances are shown. instance.h has the data.
 */
#include "sentinel/instance.h"

static const char *const kind_names[] = {
    [INSTANCE_PRIMARY] = "master", [INSTANCE_REPLICA] = "slave", [INSTANCE_SENTINEL] = "sentinel"};

static void show_place(const struct instance *i, struct buffer *out) {
    buffer_printf(out, "%s %s %d", i->name, sentinel_address_shown(&i->address), i->address.port);
}

void instance_show(const struct instance *i, struct buffer *out) {
    buffer_printf(out, "%s ", kind_names[i->kind]);
    show_place(i, out);
    if (i->kind == INSTANCE_PRIMARY) return;
    buffer_append_c_string(out, " @ ");
    show_place(&i->primary->instance, out);
}

static void show_word(struct buffer *out, size_t start, const char *word) {
    if (out->length > start) buffer_append_char(out, ',');
    buffer_append_c_string(out, word);
}

void instance_show_flags(const struct instance *i, struct buffer *out) {
    static const struct {
        enum instance_flag flag;
        const char *name;
    } later[] = {
        {INSTANCE_SAYS_DOWN, "master_down"},
        {INSTANCE_IN_FAILOVER, "failover_in_progress"},
        {INSTANCE_PROMOTED, "promoted"},
        {INSTANCE_RECONF_SENT, "reconf_sent"},
        {INSTANCE_RECONF_IN_PROGRESS, "reconf_inprog"},
        {INSTANCE_RECONF_DONE, "reconf_done"},
        {INSTANCE_FORCED, "force_failover"},
        {INSTANCE_SCRIPT_KILL_SENT, "script_kill_sent"},
    };
    size_t start = out->length;
    if (i->flags & INSTANCE_S_DOWN) show_word(out, start, "s_down");
    if (i->flags & INSTANCE_O_DOWN) show_word(out, start, "o_down");
    show_word(out, start, kind_names[i->kind]);
    if (!i->signs->connected) show_word(out, start, "disconnected");
    for (size_t k = 0; k < sizeof(later) / sizeof(later[0]); k++)
        if (i->flags & later[k].flag) show_word(out, start, later[k].name);
}
