/* SPDX-License-Identifier: BSD-3-Clause
 * Modes. mode.h has the idea, server/modes.c the tables.
 */
#include "server/mode.h"

#include <string.h>

#include "base/panic.h"
#include "command/command.h"
#include "metric/metric.h"
#include "option/option.h"

static const struct mode *current;

/* ---- which ---- */

bool mode_is_called(const struct mode *mode, int argc, char **argv) {
    return mode->program && argc > 0 && strstr(argv[0], mode->program);
}

static bool has_option(const struct mode *mode, int argc, char **argv) {
    int end = mode->option_is_first && argc > 2 ? 2 : argc;
    if (!mode->option) return false;
    for (int i = 1; i < end; i++)
        if (strcmp(argv[i], mode->option) == 0) return true;
    return false;
}

static bool mode_fits(const struct mode *mode, int argc, char **argv) {
    return (!mode->program && !mode->option) || mode_is_called(mode, argc, argv) ||
           has_option(mode, argc, argv);
}

const struct mode *mode_choose(const struct mode *const *modes, int argc, char **argv) {
    while (*modes && !mode_fits(*modes, argc, argv)) modes++;
    ASSERT(*modes);
    return *modes;
}

/* ---- what there is ---- */

void mode_register(const struct mode *mode) {
    ASSERT(!current);
    current = mode;
    for (const struct mode_section *s = mode->sections; s && s->name; s++)
        metric_declare_section(s->name, s->standard);
    if (!mode->has_other_sections) metric_close_sections();
    command_set_forms(mode->commands);
    if (mode->scope) option_set_scope(mode->scope);
    for (void (*const *add)(void) = mode->registrations; *add; add++) (*add)();
}

bool mode_open(const struct mode *mode, struct loop *loop) {
    ASSERT(mode == current);
    for (bool (*const *open)(struct loop *) = mode->openings; *open; open++)
        if (!(*open)(loop)) return false;
    return true;
}

const struct mode *mode_current(void) { return current; }

static bool is_node(void) { return current->is_node && current->is_node(); }
const char *mode_name(void) { return is_node() ? "cluster" : current->name; }
const char *mode_title(void) { return is_node() ? "[cluster]" : current->title; }
