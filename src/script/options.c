/* SPDX-License-Identifier: BSD-3-Clause
 * What configurations and tools know of scripts before they are built (option/missing.h).
 */
#include "script/options.h"

#include "base/number.h"
#include "metric/row.h"
#include "option/missing.h"

static int64_t lua_time_limit_ms;
static bool lua_replicate_commands;

static const struct option_row option_rows[] = {
    MISSING_INT(
        "lua-time-limit", NULL, &lua_time_limit_ms, "5000", 0, INT64_MAX, OPTION_MUTABLE, "scripts",
        10, "Milliseconds after which a script counts as slow and other clients are told BUSY."),
    MISSING_BOOL("lua-replicate-commands", NULL, &lua_replicate_commands, "yes",
                 OPTION_MUTABLE | OPTION_HIDDEN, "scripts", 20, NULL,
                 "Replicate what a script wrote and not the script."),
};

static void print_human(struct buffer *out, uint64_t bytes) {
    char text[32];
    number_format_bytes_human(text, sizeof(text), bytes);
    buffer_append_c_string(out, text);
}
static void print_zero_human(struct buffer *out) { print_human(out, 0); }
static void print_scripts(struct buffer *out) {
    buffer_printf(out, "%zu", memory_used(MEMORY_SCRIPTS));
}
static void print_scripts_human(struct buffer *out) {
    print_human(out, memory_used(MEMORY_SCRIPTS));
}

static const struct metric_row metric_rows[] = {
    METRIC_NOTHING("Memory", 170, "used_memory_lua"),
    METRIC_PRINT("Memory", 180, "used_memory_lua_human", print_zero_human,
                 "Always 0: not built yet."),
    METRIC_PRINT("Memory", 190, "used_memory_scripts", print_scripts, "Bytes of scripts."),
    METRIC_PRINT("Memory", 200, "used_memory_scripts_human", print_scripts_human,
                 "The same, with a unit."),
    METRIC_NOTHING("Memory", 210, "number_of_cached_scripts"),
};

void script_options_register(void) {
    option_register(option_rows, sizeof(option_rows) / sizeof(option_rows[0]));
    metric_register(metric_rows, sizeof(metric_rows) / sizeof(metric_rows[0]));
}
