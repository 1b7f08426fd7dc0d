/* SPDX-License-Identifier: BSD-3-Clause
 * The knobs of `redis-lab watch` and what the keyboard does to them; knows no terminal and no
 * connection, so that tests can press the keys.
 */
#ifndef EVENKEEL_LAB_WATCH_PANEL_H
#define EVENKEEL_LAB_WATCH_PANEL_H
#include <stdbool.h>
#include <stddef.h>

#include "base/string.h"
#include "tools/terminal.h"

#define PANEL_KNOBS_MAX 25 /* letters of the alphabet but q; asserted */
/* A value that is longer is shown cut, and cannot be typed; none of the knobs' comes near. */
#define PANEL_VALUE_CHARS 64
#define PANEL_MESSAGE_CHARS 200

struct panel_knob {
    const char *name;
    char letter; /* that selects it */
    char value[PANEL_VALUE_CHARS];
    bool known;   /* the server has it */
    bool changed; /* by us, since the tool began */
};

struct panel {
    struct panel_knob knobs[PANEL_KNOBS_MAX];
    size_t count;
    size_t selected; /* a known knob, the one being edited, or 0 */
    bool editing, comparing;
    char typed[PANEL_VALUE_CHARS];
    size_t typed_length;
    char message[PANEL_MESSAGE_CHARS]; /* what was done last, or why not */
};

enum panel_action {
    PANEL_NOTHING, /* perhaps something to draw anew */
    PANEL_QUIT,
    PANEL_SET, /* the typed value is to be given to the selected knob; panel_set_done follows */
    PANEL_MARK,
    PANEL_UNMARK,
};

void panel_init(struct panel *p);
/* The patterns that CONFIG GET is to be asked for to see all knobs. */
size_t panel_patterns(const char *const **patterns);
/* A pair of CONFIG GET's reply; options that are no knobs are passed over. */
void panel_take_option(struct panel *p, struct slice name, struct slice value);
/* Forgets which knobs the server has: another server may have others. A value that is being typed
 * stays. */
void panel_forget_values(struct panel *p);
enum panel_action panel_key(struct panel *p, const struct terminal_key *key);
/* How CONFIG SET of the knob went: `error` NULL, or the server's words. */
void panel_set_done(struct panel *p, size_t knob, const char *value, const char *error);
void panel_say(struct panel *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
#endif
