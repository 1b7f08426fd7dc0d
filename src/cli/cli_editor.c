/* SPDX-License-Identifier: BSD-3-Clause
 * libedit, and a hint behind the cursor of which libedit knows nothing.
 *
 * libedit has drawn the line and written it before it asks for the next character. That is when the
 * hint is drawn, in what is left of the cursor's row, and the cursor put back; before the character
 * is handed over the hint is erased. So the picture that libedit has of the screen stays true.
 *
 * Invariants
 *  1. A hint never reaches the row's last column: the cursor stays in its row.
 *  2. While characters wait to be read (a paste) no hint is drawn.
 *  3. A terminal that is dumb, or not told of, gets no hints.
 *  4. While a line is edited, signals are let in only where the next character is waited for: an
 *     interrupt, the news that the terminal has another size, and those by which libedit puts the
 *     terminal back.
 *  5. The terminal hands over each key by itself before the prompt is written. Else a key that is
 *     typed as soon as the prompt is seen would be the terminal's: Ctrl-D would be lost, and
 *     letters would be shown twice.
 *  6. When libedit hears of a size, the line is drawn anew from its prompt on, because libedit
 *     keeps the place of the cursor, which may not exist in its new picture of the screen, and
 *     would write beyond that picture.
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
static sigset_t usual_signals; /* as blocked while no line is edited */
static volatile sig_atomic_t resized;
static size_t known_columns; /* to libedit */
static struct buffer line;   /* the last one given */
static char *plain_line;     /* of getline */
static size_t plain_size;

/* --- hints ------------------------------------------------------------------------------------ */

/* Columns of UTF-8, or of bytes in another encoding. */
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

/* True where a hint is on the screen now. */
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

/* In place of libedit's, which it sets when a line begins. */
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

/* The row of the cursor, counted from the prompt's row, in a terminal of so many columns. */
static size_t cursor_row(size_t columns) {
    const LineInfo *now = el_line(editor);
    size_t before = columns_of(now->buffer, (size_t)(now->cursor - now->buffer));
    return (strlen(shown_prompt) + before) / columns;
}

/* Erases the line and its prompt; the cursor is then where the prompt began. Some terminals break
 * the rows of a line anew when their size changes, and others do not: of both answers the one with
 * fewer rows is taken, because what stands above the prompt must stay. */
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

/* Draws the line anew, without its hint, where the terminal's size has changed. */
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

/* Reads a byte, as read(2) does; EINTR also for an interrupt that came before. */
static ssize_t read_byte(char *byte) {
    struct pollfd ready = {.fd = STDIN_FILENO, .events = POLLIN};
    listen_for_size();
    if (ppoll(&ready, 1, NULL, &usual_signals) < 0) return -1;
    return system_read(STDIN_FILENO, byte, 1);
}

/* One character, its bytes gathered; 0 at the end, or after an interrupt; -1 where it fails. */
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
        /* A byte that is no character of this encoding stands for itself. */
        if (used == (size_t)-1) *c = (unsigned char)byte;
        if (used == 0) *c = L'\0';
        return 1;
    }
}

/* --- completion ------------------------------------------------------------------------------- */

#define OFFERS_MAX 256
struct offers {
    char *lines[OFFERS_MAX];
    size_t count, common; /* bytes that all begin with */
};

static void take_offer(void *context, const char *whole) {
    struct offers *o = context;
    if (o->count == OFFERS_MAX) return;
    size_t same = 0;
    while (o->count && same < o->common && o->lines[0][same] == whole[same]) same++;
    o->common = o->count ? same : strlen(whole);
    o->lines[o->count++] = memory_strdup(whole, MEMORY_OTHER);
}

/* In columns, below the line. */
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
    /* libedit does not change it. */
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
    /* The terminal is put back when a signal ends or stops the program, and follows its size. */
    el_set(editor, EL_SIGNAL, 1);
    el_set(editor, EL_EDITOR, "emacs");
    el_set(editor, EL_PROMPT, prompt_now);
    el_set(editor, EL_HIST, history, past);
    el_set(editor, EL_GETCFN, read_character);
    /* The narrow form would keep copies of its texts for good. */
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
