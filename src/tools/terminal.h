/* SPDX-License-Identifier: BSD-3-Clause
 * The terminal: single keys, its size, the alternate screen, and its state restored at the end.
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
    TERMINAL_KEY_OTHER, /* the caller ignores it */
};
struct terminal_key {
    enum terminal_key_kind kind;
    char text;
};

/* Decodes the first key of `bytes`, which one terminal_read gave. Returns the number of bytes that
 * the key took, at least 1; `length` must be above 0. An escape byte at the end of `bytes` is the
 * Escape key, because the terminal sends the whole sequence of a key at once. */
size_t terminal_decode_key(const char *bytes, size_t length, struct terminal_key *key);

/* Returns true if standard input and standard output are both a terminal. */
bool terminal_is_there(void);
/* Takes the terminal: no echo, no line editing, the alternate screen. Signals (resize, suspend,
 * quit) wake `loop`. A panic or a crash of this process restores the terminal, and so does a second
 * SIGINT or SIGTERM, which ends the process at once. Returns false if the terminal cannot be taken.
 */
bool terminal_open(struct loop *loop);
/* Restores the terminal and forgets the loop; does nothing when the terminal is not open.
 * Async-signal-safe. */
void terminal_close(void);
/* The terminal's size; 80 columns by 24 rows where the terminal reports none. */
void terminal_size(int *columns, int *rows);
/* Returns true once after the size changed. */
bool terminal_take_resized(void);
/* Returns true after SIGQUIT or SIGHUP, which ask the program to end. SIGINT and SIGTERM belong to
 * io/signals. */
bool terminal_quit_requested(void);
/* After a suspend (Ctrl-Z): restores the terminal, stops the process, and takes the terminal again
 * when the process continues. Returns true if that happened: the caller redraws the whole screen.
 */
bool terminal_suspend_if_asked(void);
/* Returns true once after the process continues from a stop that was no Ctrl-Z (SIGSTOP): the
 * terminal was taken again, because the shell may have changed its attributes. The caller redraws
 * the whole screen. */
bool terminal_take_continued(void);
/* Writes all of `text`; may block on a slow terminal. Returns false if the terminal is gone. */
bool terminal_write(struct slice text);
/* Reads the keys that are pending, `length` 0 where none is; never blocks. Returns false if the
 * terminal is gone. */
MUST_USE bool terminal_read(char *bytes, size_t size, size_t *length);
#endif
