/* SPDX-License-Identifier: BSD-3-Clause
 * The knobs of `redis-lab watch`, and the keys that select and change them. The panel uses no
 * terminal and no connection, so that tests can press the keys.
 */
#ifndef EVENKEEL_LAB_WATCH_PANEL_H
#define EVENKEEL_LAB_WATCH_PANEL_H
#include <stdbool.h>
#include <stddef.h>

#include "base/string.h"
#include "tools/terminal.h"

#define PANEL_KNOBS_MAX 25 /* each knob has a letter, and q is taken; asserted */
/* A longer value is shown cut and cannot be typed; the values of the knobs are far shorter. */
#define PANEL_VALUE_CHARS 64
#define PANEL_MESSAGE_CHARS 200

struct panel_knob {
    const char *name;
    char letter; /* the key that selects the knob */
    char value[PANEL_VALUE_CHARS];
    bool known;   /* the server has the option */
    bool changed; /* this tool has changed the option since it began */
};

struct panel {
    struct panel_knob knobs[PANEL_KNOBS_MAX];
    size_t count;
    size_t selected; /* a known knob, the one being edited, or 0 */
    bool editing, comparing;
    char typed[PANEL_VALUE_CHARS];
    size_t typed_length;
    char message[PANEL_MESSAGE_CHARS]; /* the result of the last action, or why it failed */
};

enum panel_action {
    PANEL_NOTHING, /* at most a redraw is needed */
    PANEL_QUIT,
    PANEL_SET, /* set the selected knob to the typed value, then call panel_set_done */
    PANEL_MARK,
    PANEL_UNMARK,
};

void panel_init(struct panel *p);
/* The patterns for CONFIG GET that together match all knobs; returns their number. */
size_t panel_patterns(const char *const **patterns);
/* Takes an option's name and value from CONFIG GET's reply; an option that is no knob is ignored.
 */
void panel_take_option(struct panel *p, struct slice name, struct slice value);
/* Forgets which knobs the server has: another server may have others. A value that is being typed
 * stays. */
void panel_forget_values(struct panel *p);
enum panel_action panel_key(struct panel *p, const struct terminal_key *key);
/* Takes the result of CONFIG SET for the knob: `error` is NULL or the text of the server's error.
 */
void panel_set_done(struct panel *p, size_t knob, const char *value, const char *error);
void panel_say(struct panel *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
#endif
