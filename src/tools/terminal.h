/* SPDX-License-Identifier: BSD-3-Clause
 * The terminal: keys one by one, its size, a screen of our own, and everything put back at the end.
 */
#ifndef EVENKEEL_TOOLS_TERMINAL_H
#define EVENKEEL_TOOLS_TERMINAL_H
#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"
#include "base/string.h"

struct loop;

enum terminal_key_kind {
    TERMINAL_KEY_TEXT, /* printable ASCII, in `text` */
    TERMINAL_KEY_ENTER,
    TERMINAL_KEY_ESCAPE,
    TERMINAL_KEY_BACKSPACE,
    TERMINAL_KEY_TAB,
    TERMINAL_KEY_UP,
    TERMINAL_KEY_DOWN,
    TERMINAL_KEY_OTHER, /* to be passed over */
};
struct terminal_key {
    enum terminal_key_kind kind;
    char text;
};

/* The first key of what was read at once; returns how many bytes it took (at least 1; `length` must
 * be above 0). An escape byte that ends the bytes is the Escape key: what a key sends comes whole.
 */
size_t terminal_decode_key(const char *bytes, size_t length, struct terminal_key *key);

/* True where standard input and output are a terminal. */
bool terminal_is_there(void);
/* Takes the terminal: no echo, no line editing, another screen. Signals (a new size, suspend, quit)
 * wake `loop`. Errors and crashes of this process put the terminal back, and so does a second
 * SIGINT or SIGTERM, which ends the process at once. False where it cannot. */
bool terminal_open(struct loop *loop);
/* Puts everything back and forgets the loop; harmless when not open. Async-signal-safe. */
void terminal_close(void);
/* The terminal's size; 80 by 24 where it does not tell. */
void terminal_size(int *columns, int *rows);
/* True once after the size changed. */
bool terminal_take_resized(void);
/* True after a signal that asks the program to end (SIGQUIT, SIGHUP; the others are io/signals').
 */
bool terminal_quit_requested(void);
/* After a suspend (Ctrl-Z): gives the terminal back, stops the process, takes it again when the
 * process goes on. True where that happened: all is to be drawn anew. */
bool terminal_suspend_if_asked(void);
/* True once after the process was stopped otherwise (SIGSTOP) and goes on: the terminal is taken
 * again, because the shell may have changed its attributes; all is to be drawn anew. */
bool terminal_take_continued(void);
/* Writes all; may wait for a slow terminal. False where it is gone. */
bool terminal_write(struct slice text);
/* The keys that wait, `length` 0 where there are none; never waits. False: the terminal is gone. */
MUST_USE bool terminal_read(char *bytes, size_t size, size_t *length);
#endif
