/* SPDX-License-Identifier: BSD-3-Clause
 * The panel's state: the knobs, the selected knob, the text that is being typed.
 *
 *     looking --letter, Enter--> editing --Enter--> PANEL_SET, looking
 *        ^                          |
 *        +---- Escape, nothing typed + Enter
 *
 * Invariants
 *  1. typed[0..typed_length) are printable ASCII characters, which a NUL follows.
 *  2. Only Enter and Escape end editing, and the selected knob does not change before. So a typed
 *     value never reaches another knob, even if the connection is lost and opened again meanwhile.
 *  3. A knob's letter never changes, so that users can learn it. A knob that the server lacks is
 *     not shown.
 */
#include "lab/watch_panel.h"

#include <stdarg.h>

#include "base/panic.h"

/* The knobs are options of docs/tuning.md, in its order except for the last. */
static const char *const knob_names[] = {
    "maxmemory",
    "maxmemory-policy",
    "maxmemory-eviction-cpu-budget",
    "maxmemory-exclude-client-buffers",
    "maxmemory-ceiling",
    "maxmemory-soft-limit",
    "maxmemory-eviction-algorithm",
    "maxmemory-clients",
    "maxmemory-eviction-tenacity",
    "maxmemory-samples",
    "lazyfree-lazy-eviction",
    "active-expire-algorithm",
    "active-expire-sample-size",
    "active-expire-effort",
    "active-expire-dbs-per-cycle",
    "hz",
    "lazyfree-lazy-expire",
    "lazyfree-lazy-server-del",
    "lazyfree-lazy-user-del",
    "lazyfree-lazy-user-flush",
    "resize-hashtables",
    "hashtable-min-fill",
    "activerehashing",
    "latency-attribution",
    "snapshot-cpu-budget",
};
#define KNOBS (sizeof(knob_names) / sizeof(knob_names[0]))
_Static_assert(KNOBS <= PANEL_KNOBS_MAX, "a knob needs a letter");

/* The patterns together match every knob, and few other options. */
static const char *const patterns[] = {"maxmemory*",         "lazyfree*", "active*",
                                       "*hashtable*",        "hz",        "latency-attribution",
                                       "snapshot-cpu-budget"};

size_t panel_patterns(const char *const **out) {
    *out = patterns;
    return sizeof(patterns) / sizeof(patterns[0]);
}

void panel_init(struct panel *p) {
    static const char letters[] = "abcdefghijklmnoprstuvwxyz";
    *p = (struct panel){.count = KNOBS};
    for (size_t i = 0; i < KNOBS; i++) {
        p->knobs[i].name = knob_names[i];
        p->knobs[i].letter = letters[i];
    }
}

void panel_say(struct panel *p, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(p->message, sizeof(p->message), format, arguments);
    va_end(arguments);
}

void panel_take_option(struct panel *p, struct slice name, struct slice value) {
    for (size_t i = 0; i < p->count; i++) {
        struct panel_knob *knob = &p->knobs[i];
        if (!slice_is(name, knob->name)) continue;
        snprintf(knob->value, sizeof(knob->value), "%.*s",
                 (int)(value.length < PANEL_VALUE_CHARS ? value.length : PANEL_VALUE_CHARS),
                 value.bytes);
        knob->known = true;
        if (!p->knobs[p->selected].known && !p->editing) p->selected = i;
        return;
    }
}

void panel_forget_values(struct panel *p) {
    for (size_t i = 0; i < p->count; i++) p->knobs[i].known = p->knobs[i].changed = false;
    if (!p->editing) p->selected = 0;
}

/* Moves the selection to the next known knob in the direction of `step`, if there is one. */
static void move_selection(struct panel *p, int step) {
    for (size_t at = p->selected + (size_t)step; at < p->count; at += (size_t)step) {
        if (!p->knobs[at].known) continue;
        p->selected = at;
        return;
    }
}

static void begin_editing(struct panel *p, size_t knob) {
    p->selected = knob;
    p->editing = true;
    p->comparing = false;
    p->typed_length = 0;
    p->typed[0] = '\0';
    panel_say(p, "New value of %s, then Enter; Escape leaves it.", p->knobs[knob].name);
}

static enum panel_action key_while_editing(struct panel *p, const struct terminal_key *key) {
    switch (key->kind) {
    case TERMINAL_KEY_ENTER:
        p->editing = false;
        if (p->typed_length) return PANEL_SET;
        panel_say(p, "%s stays as it is.", p->knobs[p->selected].name);
        return PANEL_NOTHING;
    case TERMINAL_KEY_ESCAPE:
        p->editing = false;
        panel_say(p, "%s stays as it is.", p->knobs[p->selected].name);
        return PANEL_NOTHING;
    case TERMINAL_KEY_BACKSPACE:
        if (p->typed_length) p->typed[--p->typed_length] = '\0';
        return PANEL_NOTHING;
    case TERMINAL_KEY_TEXT:
        if (p->typed_length + 1 < sizeof(p->typed)) {
            p->typed[p->typed_length++] = key->text;
            p->typed[p->typed_length] = '\0';
        }
        return PANEL_NOTHING;
    default: return PANEL_NOTHING;
    }
}

static enum panel_action key_of_text(struct panel *p, char text) {
    if (text == 'q' || text == 'Q') return PANEL_QUIT;
    if (text == 'M') return PANEL_MARK;
    if (text == 'U') return PANEL_UNMARK;
    for (size_t i = 0; i < p->count; i++) {
        if (p->knobs[i].letter != text) continue;
        if (p->knobs[i].known) {
            begin_editing(p, i);
        } else {
            panel_say(p, "This server has no %s.", p->knobs[i].name);
        }
    }
    return PANEL_NOTHING;
}

enum panel_action panel_key(struct panel *p, const struct terminal_key *key) {
    if (p->editing) return key_while_editing(p, key);
    switch (key->kind) {
    case TERMINAL_KEY_TEXT: return key_of_text(p, key->text);
    case TERMINAL_KEY_UP: move_selection(p, -1); break;
    case TERMINAL_KEY_DOWN: move_selection(p, 1); break;
    case TERMINAL_KEY_TAB: p->comparing = !p->comparing; break;
    case TERMINAL_KEY_ENTER:
        if (p->knobs[p->selected].known) begin_editing(p, p->selected);
        break;
    default: break;
    }
    return PANEL_NOTHING;
}

void panel_set_done(struct panel *p, size_t knob, const char *value, const char *error) {
    ASSERT(knob < p->count);
    if (error) {
        /* Errors of 6.2 repeat the option and the value before the reason. */
        const char *reason = strstr(error, " - ");
        panel_say(p, "%s %s: %s", p->knobs[knob].name, value, reason ? reason + 3 : error);
        return;
    }
    panel_say(p, "%s: %s -> %s", p->knobs[knob].name, p->knobs[knob].value, value);
    p->knobs[knob].changed = true;
    p->comparing = true;
}
