/* SPDX-License-Identifier: BSD-3-Clause
 * Scripts: compiling, running, ending them.
 */
#ifndef EVENKEEL_SCRIPT_SCRIPT_H
#define EVENKEEL_SCRIPT_SCRIPT_H
#include <stdbool.h>

#include "base/attributes.h"
#include "base/string.h"

struct cached_script;
struct call;

void script_register(void); /* options and metrics of all of script/ */
/* Creates the state that scripts run in. Once, after the clients' module is open. */
void script_open(void);

/* The script with this text, which is compiled if it is new. NULL after an error reply. */
MUST_USE struct cached_script *script_find_or_compile(struct call *call, struct slice text);
/* Adds the script with this text to the cache, without a client. False, with a reason, if it does
 * not compile. */
MUST_USE bool script_add(struct slice text, char *reason, size_t reason_size);
/* Calls `visit` with the text of each script in the cache, in no order. */
void script_each(void (*visit)(struct slice text, void *context), void *context);
/* Runs the script and replies what it returns. The call's arguments from `first` on are the
 * script's keys, `keys` of them, and then its arguments. The call must be the one that runs, and
 * hold no pointer into entries. */
void script_run(struct call *call, struct cached_script *s, int first, int keys);
/* Notes that log and replicas have the script's text, or will have it when the effects of the
 * running call have been handed on. */
void script_note_told(struct cached_script *s);
/* Removes all scripts and frees Lua's memory of them: O(memory of Lua), or, `lazily`, in the
 * background. */
void script_flush(bool lazily);

enum script_end { SCRIPT_ENDS, SCRIPT_NONE_RUNS, SCRIPT_HAS_WRITTEN, SCRIPT_IS_REPEATED };
/* SCRIPT KILL: makes the script that runs end with an error soon. */
enum script_end script_kill(void);
#endif
