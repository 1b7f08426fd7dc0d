/* SPDX-License-Identifier: BSD-3-Clause
 * Scripts within snapshots. saved_scripts.h has the idea.
 */
#include "server/saved_scripts.h"

#include <stdio.h>

#include "rdb/rdb_fields.h"
#include "replication/saved_history.h"
#include "script/script.h"

static void say_script(struct slice text, void *values) { rdb_field_say(values, text); }

static void save_scripts(struct rdb_field_values *values) {
    if (saved_history_is_told()) script_each(say_script, values);
}

static bool load_script(struct slice text, char *reason, size_t reason_size) {
    char fault[128];
    if (script_add(text, fault, sizeof(fault))) return true;
    snprintf(reason, reason_size, "a script cannot be compiled: %s", fault);
    return false;
}

const struct rdb_field saved_scripts = {"lua", true, save_scripts, load_script};
