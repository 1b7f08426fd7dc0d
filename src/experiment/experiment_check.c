/* SPDX-License-Identifier: BSD-3-Clause
 * Old values, and values that are tried for an instant.
 *
 * A value is set and set back within one transaction, so that no other client's command meets it;
 * an option that acts when it is set (maxmemory, appendonly) acts all the same. A value that the
 * server has already is not tried, because a configuration file may name options that only a start
 * can set.
 */
#include "experiment/experiment_check.h"

#include "base/memory.h"

/* A value that the server takes, and how CONFIG GET prints it. */
struct experiment_tried {
    unsigned knob;
    char *value, *canonical;
};

static const char *find_canonical(void *context, unsigned knob, const char *value) {
    const struct experiment_check *check = context;
    for (unsigned i = 0; i < check->tried_count; i++) {
        const struct experiment_tried *tried = &check->tried[i];
        if (tried->knob == knob && !strcmp(tried->value, value)) return tried->canonical;
    }
    return NULL;
}

static void note_tried(struct experiment_check *check, unsigned knob, const char *value,
                       const char *canonical) {
    size_t bytes = (check->tried_count + 1) * sizeof(*check->tried);
    check->tried = memory_realloc(check->tried, bytes, MEMORY_OTHER);
    check->tried[check->tried_count++] = (struct experiment_tried){
        knob, memory_strdup(value, MEMORY_OTHER), memory_strdup(canonical, MEMORY_OTHER)};
}

static bool refuse_check(enum tool_config_status status, const char *knob, const char *value,
                         const char *why, char reason[TOOL_REASON_CHARS]) {
    switch (status) {
    case TOOL_CONFIG_GOOD: return true;
    case TOOL_CONFIG_UNKNOWN:
        snprintf(reason, TOOL_REASON_CHARS, "the server has no option %.100s%s%.300s", knob,
                 *why ? "; " : "", why);
        break;
    case TOOL_CONFIG_AT_START:
        snprintf(reason, TOOL_REASON_CHARS,
                 "%.100s can only be set when a server starts: --start tries it on servers that "
                 "this tool starts",
                 knob);
        break;
    case TOOL_CONFIG_REFUSED:
        snprintf(reason, TOOL_REASON_CHARS,
                 "the server refuses CONFIG %s %.100s%s%.100s: "
                 "%.250s",
                 value ? "SET" : "GET", knob, value ? " " : "", value ? value : "", why);
        break;
    case TOOL_CONFIG_LOST: snprintf(reason, TOOL_REASON_CHARS, "%.400s", why); break;
    }
    return false;
}

static bool read_old_values(struct experiment_check *check, const struct experiment_plan *plan,
                            struct tool_link *link, char reason[TOOL_REASON_CHARS]) {
    struct buffer value = {.class = MEMORY_OTHER};
    bool good = true;
    for (unsigned k = 0; good && k < plan->knob_count; k++) {
        char why[TOOL_REASON_CHARS] = "";
        good = refuse_check(tool_config_get(link, plan->knobs[k], &value, why), plan->knobs[k],
                            NULL, why, reason);
        if (good) check->old[k] = memory_strdup(value.bytes, MEMORY_OTHER);
    }
    buffer_free(&value);
    return good;
}

static bool try_one_value(struct experiment_check *check, const struct experiment_plan *plan,
                          unsigned knob, const char *value, struct tool_link *link,
                          char reason[TOOL_REASON_CHARS]) {
    const struct tool_value wanted = {plan->knobs[knob], value};
    struct buffer canonical = {.class = MEMORY_OTHER};
    char why[TOOL_REASON_CHARS] = "";
    if (find_canonical(check, knob, value)) return true;
    if (!strcmp(value, check->old[knob])) {
        note_tried(check, knob, value, value);
        return true;
    }
    bool good = refuse_check(tool_config_try(link, &wanted, check->old[knob], &canonical, why),
                             wanted.name, value, why, reason);
    if (good) note_tried(check, knob, value, canonical.bytes);
    buffer_free(&canonical);
    return good;
}

bool experiment_check_run(struct experiment_check *check, struct experiment_plan *plan,
                          struct tool_link *link, char reason[TOOL_REASON_CHARS]) {
    *check = (struct experiment_check){0};
    if (!read_old_values(check, plan, link, reason)) return false;
    for (unsigned arm = 0; arm < plan->arm_count; arm++) {
        for (unsigned k = 0; k < plan->knob_count; k++) {
            const char *value = plan->arms[arm].values[k];
            if (value && !try_one_value(check, plan, k, value, link, reason)) return false;
        }
    }
    experiment_plan_compare_old(plan, (const char *const *)check->old, find_canonical, check);
    return true;
}

bool experiment_check_started(struct experiment_plan *plan, struct tool_link *link,
                              char reason[TOOL_REASON_CHARS]) {
    struct buffer value = {.class = MEMORY_OTHER};
    char why[TOOL_REASON_CHARS] = "";
    bool asks = plan->knob_count == 1 && !plan->arms[0].values[0];
    bool good = !asks || refuse_check(tool_config_get(link, plan->knobs[0], &value, why),
                                      plan->knobs[0], NULL, why, reason);
    if (good) experiment_plan_name_started(plan, asks ? value.bytes : NULL);
    buffer_free(&value);
    return good;
}

void experiment_check_free(struct experiment_check *check) {
    for (unsigned i = 0; i < check->tried_count; i++) {
        memory_free(check->tried[i].value, MEMORY_OTHER);
        memory_free(check->tried[i].canonical, MEMORY_OTHER);
    }
    memory_free(check->tried, MEMORY_OTHER);
    for (unsigned k = 0; k < EXPERIMENT_KNOBS_MAX; k++) memory_free(check->old[k], MEMORY_OTHER);
    *check = (struct experiment_check){0};
}
