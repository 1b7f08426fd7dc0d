/* SPDX-License-Identifier: BSD-3-Clause
 * libedit, and a hint after the cursor that libedit does not know of.
 *
 * libedit has drawn and written the line before it asks read_character for the next character.
 * read_character then draws the hint in the rest of the cursor's row and moves the cursor back.
 * Before it returns the character it erases the hint. So the screen always has what libedit
 * expects.
 *
 * Invariants
 *  1. A hint never reaches the row's last column, so that the cursor stays in its row.
 *  2. While more characters are pending (a paste) no hint is drawn.
 *  3. A terminal whose TERM is "dumb" or not set gets no hints.
 *  4. While a line is edited, these signals are blocked except during the wait for the next
 *     character: SIGINT, SIGWINCH, and those for which libedit restores the terminal.
 *  5. The terminal is in single-key mode before the prompt is written. Otherwise the terminal
 *     driver would handle a key that is typed as soon as the prompt appears: Ctrl-D would be lost,
 *     and letters would be shown twice.
 *  6. When libedit learns a new size, the line is redrawn from its prompt on, because libedit keeps
 *     the old position of the cursor. That position may lie outside of libedit's new screen buffer,
 *     and libedit would write beyond the buffer.
 */
#include "cli/cli_editor.h"

#include <errno.h>
#include <histedit.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <wchar.h>

#include "base/memory.h"
#include "base/string.h"
#include "base/system.h"
#include "cli/cli_help.h"
#include "cli/cli_history.h"
#include "cli/cli_link.h"
#include "tools/terminal.h"

static EditLine *editor; /* NULL = standard input is no terminal */
static History *past;
static const char *shown_prompt = "";
static bool hints = true, can_draw;
static sigset_t usual_signals; /* the signal mask while no line is edited */
static volatile sig_atomic_t resized;
static size_t known_columns; /* the width that libedit was told */
static struct buffer line;   /* the line that cli_editor_read returned last */
static char *plain_line;     /* getline's buffer */
static size_t plain_size;

/* --- hints ------------------------------------------------------------------------------------ */

/* The columns that the text takes on the screen. Bytes that are invalid in the locale's encoding
 * take one column each. */
static size_t columns_of(const char *text, size_t length) {
    size_t columns = 0;
    mbstate_t state = {0};
    while (length) {
        wchar_t c;
        size_t used = mbrtowc(&c, text, length, &state);
        if (used == 0 || used > length) return columns + length;
        int width = wcwidth(c);
        columns += width > 0 ? (size_t)width : 0;
        text += used;
        length -= used;
    }
    return columns;
}

static bool input_waits(void) {
    struct pollfd ready = {.fd = STDIN_FILENO, .events = POLLIN};
    return poll(&ready, 1, 0) > 0;
}

/* Draws the hint for the present line, if any. True where a hint was drawn. */
static bool draw_hint(void) {
    const LineInfo *now = el_line(editor);
    size_t length = (size_t)(now->lastchar - now->buffer);
    struct buffer hint = {.class = MEMORY_OTHER};
    int columns, rows;
    if (!hints || !can_draw || !length || now->cursor != now->lastchar || input_waits()) {
        return false;
    }
    cli_help_hint(&hint, (struct slice){now->buffer, length});
    terminal_size(&columns, &rows);
    size_t at = (strlen(shown_prompt) + columns_of(now->buffer, length)) % (size_t)columns;
    size_t room = (size_t)columns - 1 - at;
    if (hint.length > room) hint.length = room;
    bool draws = hint.length > 0 && at > 0;
    if (draws) {
        struct buffer out = {.class = MEMORY_OTHER};
        buffer_printf(&out, "\033[90m%.*s\033[0m\033[%zuD", (int)hint.length, hint.bytes,
                      hint.length);
        draws = terminal_write(buffer_slice(&out));
        buffer_free(&out);
    }
    buffer_free(&hint);
    return draws;
}

/* --- size ------------------------------------------------------------------------------------- */

static void on_resize(int sig) { resized = 1; }

/* Sets our handler in place of libedit's, which libedit sets when a line begins. */
static void listen_for_size(void) {
    struct sigaction action = {.sa_handler = on_resize};
    sigemptyset(&action.sa_mask);
    (void)sigaction(SIGWINCH, &action, NULL);
}

static void tell_size(void) {
    int columns, rows;
    terminal_size(&columns, &rows);
    known_columns = (size_t)columns;
    el_resize(editor);
}

/* The row of the cursor, counted from the prompt's row, in a terminal with `columns` columns. */
static size_t cursor_row(size_t columns) {
    const LineInfo *now = el_line(editor);
    size_t before = columns_of(now->buffer, (size_t)(now->cursor - now->buffer));
    return (strlen(shown_prompt) + before) / columns;
}

/* Erases the line and its prompt; the cursor is then where the prompt began. Some terminals rewrap
 * a long line when their size changes, and others do not. The smaller of both row numbers is used,
 * because the text above the prompt must not be erased. */
static void erase_line(size_t columns) {
    size_t as_drawn = cursor_row(known_columns), broken_anew = cursor_row(columns);
    size_t up = as_drawn < broken_anew ? as_drawn : broken_anew;
    struct buffer out = {.class = MEMORY_OTHER};
    buffer_append_char(&out, '\r');
    if (!can_draw) {
        buffer_append_char(&out, '\n');
    } else {
        if (up) buffer_printf(&out, "\033[%zuA", up);
        buffer_append_c_string(&out, "\033[J");
    }
    (void)terminal_write(buffer_slice(&out));
    buffer_free(&out);
}

/* Where the terminal's size has changed, redraws the line without its hint and returns true. */
static bool follow_size(void) {
    int columns, rows;
    if (!resized) return false;
    resized = 0;
    terminal_size(&columns, &rows);
    erase_line((size_t)columns);
    tell_size();
    el_set(editor, EL_REFRESH);
    return true;
}

/* --- characters ------------------------------------------------------------------------------- */

/* Reads a byte, as read(2) does. EINTR also where the signal arrived before the call, because the
 * signals are unblocked only during ppoll. */
static ssize_t read_byte(char *byte) {
    struct pollfd ready = {.fd = STDIN_FILENO, .events = POLLIN};
    listen_for_size();
    if (ppoll(&ready, 1, NULL, &usual_signals) < 0) return -1;
    return system_read(STDIN_FILENO, byte, 1);
}

/* libedit's EL_GETCFN: reads the bytes of one character and returns 1; 0 at the end of input, after
 * an interrupt or an error. */
static int read_character(EditLine *unused, wchar_t *c) {
    mbstate_t state = {0};
    bool drawn = draw_hint();
    for (;;) {
        char byte;
        ssize_t got = read_byte(&byte);
        if (got < 0 && errno == EINTR && !cli_link_take_interrupt()) {
            if (follow_size()) drawn = draw_hint();
            continue;
        }
        if (drawn && !terminal_write(SLICE("\033[K"))) return 0;
        drawn = false;
        if (got <= 0) return 0;
        size_t used = mbrtowc(c, &byte, 1, &state);
        if (used == (size_t)-2) continue;
        /* A byte that is invalid in this encoding becomes the character of its number. */
        if (used == (size_t)-1) *c = (unsigned char)byte;
        if (used == 0) *c = L'\0';
        return 1;
    }
}

/* --- completion ------------------------------------------------------------------------------- */

#define OFFERS_MAX 256
struct offers {
    char *lines[OFFERS_MAX];
    size_t count, common; /* `common`: the length of the prefix that all lines share */
};

static void take_offer(void *context, const char *whole) {
    struct offers *o = context;
    if (o->count == OFFERS_MAX) return;
    size_t same = 0;
    while (o->count && same < o->common && o->lines[0][same] == whole[same]) same++;
    o->common = o->count ? same : strlen(whole);
    o->lines[o->count++] = memory_strdup(whole, MEMORY_OTHER);
}

/* Lists the offers below the line, in columns. */
static void list_offers(const struct offers *o) {
    int columns, rows;
    size_t widest = 0;
    struct buffer out = {.class = MEMORY_OTHER};
    terminal_size(&columns, &rows);
    for (size_t i = 0; i < o->count; i++) {
        size_t length = strlen(o->lines[i]);
        if (length > widest) widest = length;
    }
    size_t across = (size_t)columns / (widest + 2);
    if (!across) across = 1;
    for (size_t i = 0; i < o->count; i++) {
        if (i % across == 0) buffer_append_c_string(&out, "\r\n");
        buffer_printf(&out, "%-*s", (int)widest + 2, o->lines[i]);
    }
    buffer_append_c_string(&out, "\r\n");
    (void)terminal_write(buffer_slice(&out));
    buffer_free(&out);
}

static unsigned char complete_line(EditLine *e, int key) {
    const LineInfo *now = el_line(e);
    struct slice typed = {now->buffer, (size_t)(now->cursor - now->buffer)};
    struct offers o = {.count = 0};
    unsigned char result = CC_ERROR;
    if (!hints || !typed.length || now->cursor != now->lastchar) return CC_ERROR;
    cli_help_complete(typed, take_offer, &o);
    if (o.count && o.common > typed.length) {
        o.lines[0][o.common] = '\0';
        if (el_insertstr(e, o.lines[0] + typed.length) == 0) result = CC_REFRESH;
    } else if (o.count > 1) {
        list_offers(&o);
        result = CC_REDISPLAY;
    }
    if (o.count == 1 && result == CC_REFRESH) (void)el_insertstr(e, " ");
    for (size_t i = 0; i < o.count; i++) memory_free(o.lines[i], MEMORY_OTHER);
    return result;
}

/* --- lines ------------------------------------------------------------------------------------ */

static char *prompt_now(EditLine *unused) {
    /* The cast drops const, because libedit does not change the prompt. */
    return (char *)(uintptr_t)shown_prompt;
}

static void remember_line(const char *text) {
    HistEvent event;
    history(past, &event, H_ENTER, text);
}

void cli_editor_open(void) {
    HistEvent event;
    const char *terminal = getenv("TERM");
    if (editor || !terminal_is_there()) return;
    (void)setlocale(LC_CTYPE, "");
    can_draw = terminal && *terminal && strcmp(terminal, "dumb") != 0;
    editor = el_init("redis-cli", stdin, stdout, stderr);
    if (!editor) return;
    past = history_init();
    history(past, &event, H_SETSIZE, CLI_HISTORY_LINES);
    history(past, &event, H_SETUNIQUE, 1);
    /* libedit restores the terminal when a signal ends or stops the program. */
    el_set(editor, EL_SIGNAL, 1);
    el_set(editor, EL_EDITOR, "emacs");
    el_set(editor, EL_PROMPT, prompt_now);
    el_set(editor, EL_HIST, history, past);
    el_set(editor, EL_GETCFN, read_character);
    /* el_wset, because el_set would make copies of the texts that are never freed. */
    el_wset(editor, EL_ADDFN, L"cli-complete", L"Complete a command", complete_line);
    el_set(editor, EL_BIND, "\t", "cli-complete", NULL);
    el_set(editor, EL_BIND, "^R", "em-inc-search-prev", NULL);
    el_set(editor, EL_BIND, "\033[3~", "ed-delete-next-char", NULL);
    cli_history_load(remember_line);
}

void cli_editor_close(void) {
    if (!editor) return;
    el_end(editor);
    history_end(past);
    editor = NULL;
    buffer_free(&line);
}

void cli_editor_show_hints(bool on) { hints = on; }

static const char *read_plain(void) {
    ssize_t length = getline(&plain_line, &plain_size, stdin);
    if (length <= 0) {
        free(plain_line);
        plain_line = NULL;
        plain_size = 0;
        return NULL;
    }
    if (plain_line[length - 1] == '\n') plain_line[length - 1] = '\0';
    return plain_line;
}

static const int editing_signals[] = {SIGINT, SIGWINCH, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP};
#define EDITING_SIGNALS (sizeof(editing_signals) / sizeof(editing_signals[0]))

const char *cli_editor_read(const char *prompt) {
    int length = 0;
    if (!editor) return read_plain();
    shown_prompt = prompt;
    sigset_t let_in;
    sigemptyset(&let_in);
    for (size_t i = 0; i < EDITING_SIGNALS; i++) sigaddset(&let_in, editing_signals[i]);
    (void)sigprocmask(SIG_BLOCK, &let_in, &usual_signals);
    cli_link_heed_interrupt(true);
    el_set(editor, EL_PREP_TERM, 1);
    resized = 0;
    tell_size();
    const char *typed = el_gets(editor, &length);
    (void)sigprocmask(SIG_SETMASK, &usual_signals, NULL);
    cli_link_heed_interrupt(false);
    if (!typed || length <= 0) {
        (void)terminal_write(SLICE("\n"));
        return NULL;
    }
    line.class = MEMORY_OTHER;
    buffer_clear(&line);
    buffer_append(&line, typed, (size_t)length);
    while (line.length && strchr("\r\n", line.bytes[line.length - 1])) {
        line.bytes[--line.length] = '\0';
    }
    return line.bytes;
}

void cli_editor_remember(const char *text) {
    if (!editor || !*text || cli_history_is_secret(text)) return;
    remember_line(text);
    cli_history_append(text);
}
