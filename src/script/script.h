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
/* Makes the state that scripts run in. Once, when the clients' module is open. */
void script_open(void);

/* The script of this text, compiled where it is new. NULL after an error reply. */
MUST_USE struct cached_script *script_find_or_compile(struct call *call, struct slice text);
/* The same without a client: false where the text is no script, with the fault as text. */
MUST_USE bool script_add(struct slice text, char *reason, size_t reason_size);
/* Calls `visit` with the text of each script that is known, in no order. */
void script_each(void (*visit)(struct slice text, void *context), void *context);
/* Runs it and replies what it returns. Arguments from `first` on are its keys, as many as `keys`,
 * and after them its arguments. The call must be the one that runs, and hold no pointer into
 * entries. */
void script_run(struct call *call, struct cached_script *s, int first, int keys);
/* Log and replicas know the text, or do so when the running call's effects have been handed on. */
void script_note_told(struct cached_script *s);
/* Forgets all scripts, and what Lua has of them. O(memory of Lua), or, `lazily`, in the background.
 */
void script_flush(bool lazily);

enum script_end { SCRIPT_ENDS, SCRIPT_NONE_RUNS, SCRIPT_HAS_WRITTEN, SCRIPT_IS_REPEATED };
/* SCRIPT KILL: the script that runs ends with an error, soon. */
enum script_end script_kill(void);
#endif
