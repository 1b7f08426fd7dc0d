/* SPDX-License-Identifier: BSD-3-Clause
 * Terminal control by termios and the escape sequences of ECMA-48 (and DEC's private modes 25 and
 * 1049, which every terminal emulator in use knows).
 *
 * Invariants
 *  1. While `opened` is set, `before` has the attributes that the terminal had before it was taken.
 *  2. Every end of the process except SIGKILL passes through terminal_close: the ordinary end, the
 *     panic hook, the crash handler.
 *  3. Signal handlers only set flags and wake the loop. A second SIGINT or SIGTERM is the
 *     exception: its handler restores the terminal and ends the process, because a write that
 *     blocks on a frozen terminal keeps the loop from running.
 *
 * Descriptors stay blocking, because standard input and output are usually one open file that the
 * shell shares: O_NONBLOCK would reach the shell.
 */
#include "tools/terminal.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <termios.h>

#include "base/panic.h"
#include "io/loop.h"
#include "io/signals.h"

/* enter_screen: the alternate screen, cursor hidden. leave_screen: the usual screen, with default
 * attributes and the cursor shown. */
static const char enter_screen[] = "\033[?1049h\033[?25l\033[2J";
static const char leave_screen[] = "\033[0m\033[?25h\033[?1049l";

#define GIVE_BACK_MSEC 500

static struct termios before;
static atomic_int opened, resized, suspend, continued, quit;
static _Atomic(struct loop *) wake_loop;

static enum terminal_key_kind kind_of_sequence(char final) {
    if (final == 'A') return TERMINAL_KEY_UP;
    if (final == 'B') return TERMINAL_KEY_DOWN;
    return TERMINAL_KEY_OTHER;
}

/* Decodes "ESC [ parameters final" or "ESC O final"; a sequence that is cut short takes all bytes.
 */
static size_t decode_escape(const char *bytes, size_t length, struct terminal_key *key) {
    key->kind = TERMINAL_KEY_ESCAPE;
    if (length == 1 || (bytes[1] != '[' && bytes[1] != 'O')) return 1;
    size_t at = 2;
    while (at < length && bytes[1] == '[' && bytes[at] >= 0x20 && bytes[at] < 0x40) at++;
    key->kind = at < length ? kind_of_sequence(bytes[at]) : TERMINAL_KEY_OTHER;
    return at < length ? at + 1 : length;
}

size_t terminal_decode_key(const char *bytes, size_t length, struct terminal_key *key) {
    ASSERT(length > 0);
    char first = bytes[0];
    *key = (struct terminal_key){TERMINAL_KEY_OTHER, 0};
    if (first == '\033') return decode_escape(bytes, length, key);
    if (first == '\r' || first == '\n') key->kind = TERMINAL_KEY_ENTER;
    if (first == 0x7f || first == '\b') key->kind = TERMINAL_KEY_BACKSPACE;
    if (first == '\t') key->kind = TERMINAL_KEY_TAB;
    if (first >= ' ' && first <= '~') *key = (struct terminal_key){TERMINAL_KEY_TEXT, first};
    return 1;
}

bool terminal_is_there(void) { return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO); }

static void on_signal(int sig) {
    int saved_errno = errno;
    if (sig == SIGWINCH) atomic_store(&resized, 1);
    if (sig == SIGTSTP) atomic_store(&suspend, 1);
    if (sig == SIGCONT) atomic_store(&continued, 1);
    if (sig == SIGQUIT || sig == SIGHUP) atomic_store(&quit, 1);
    struct loop *loop = atomic_load(&wake_loop);
    if (loop) loop_wake(loop);
    errno = saved_errno;
}

static void on_panic(const char *title, const char *detail, const char *file, int line) {
    terminal_close();
    fprintf(stderr, "redis-lab: %s: %s (%s:%d)\n", title, detail, file, line);
}

static void on_crash(int sig, siginfo_t *info, void *ucontext) { terminal_close(); }

/* The loop handles the first signal. A second one ends the process here, because the loop may be
 * blocked in a write to a frozen terminal. */
static void on_shutdown_signal(int sig, int earlier) {
    if (!earlier) return;
    terminal_close();
    signals_default_and_raise(sig);
}

static void listen_to_signals(void) {
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    ASSERT(sigaction(SIGWINCH, &action, NULL) == 0);
    ASSERT(sigaction(SIGTSTP, &action, NULL) == 0);
    ASSERT(sigaction(SIGCONT, &action, NULL) == 0);
    ASSERT(sigaction(SIGQUIT, &action, NULL) == 0);
    ASSERT(sigaction(SIGHUP, &action, NULL) == 0);
    signals_set_shutdown_observer(on_shutdown_signal);
    panic_set_hook(on_panic);
    signals_set_crash_handler(on_crash);
}

/* Sets attributes that hand over single keys; Ctrl-C and Ctrl-Z still raise signals. Such a signal
 * drops the pending keys, so a read may find none after poll reported some: VMIN is 0 so that the
 * read does not block then. */
static bool take_screen(void) {
    struct termios ours = before;
    ours.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    ours.c_iflag &= ~(tcflag_t)(ICRNL | IXON);
    ours.c_cc[VMIN] = 0;
    ours.c_cc[VTIME] = 0;
    if (tcsetattr(STDIN_FILENO, TCSANOW, &ours) != 0) return false;
    atomic_store(&opened, 1);
    return terminal_write((struct slice){enter_screen, sizeof(enter_screen) - 1});
}

bool terminal_open(struct loop *loop) {
    if (!terminal_is_there() || tcgetattr(STDIN_FILENO, &before) != 0) return false;
    atomic_store(&wake_loop, loop);
    listen_to_signals();
    if (take_screen()) return true;
    terminal_close();
    return false;
}

static void give_back(void) {
    if (!atomic_exchange(&opened, 0)) return;
    (void)tcsetattr(STDIN_FILENO, TCSANOW, &before);
    /* A terminal that takes no output for GIVE_BACK_MSEC is frozen or gone. */
    struct pollfd ready = {.fd = STDOUT_FILENO, .events = POLLOUT};
    if (poll(&ready, 1, GIVE_BACK_MSEC) <= 0) return;
    ssize_t written = write(STDOUT_FILENO, leave_screen, sizeof(leave_screen) - 1);
    (void)written;
}

void terminal_close(void) {
    atomic_store(&wake_loop, NULL);
    give_back();
}

void terminal_size(int *columns, int *rows) {
    struct winsize size = {0};
    bool told = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col && size.ws_row;
    *columns = told ? size.ws_col : 80;
    *rows = told ? size.ws_row : 24;
}

bool terminal_take_resized(void) { return atomic_exchange(&resized, 0); }
bool terminal_quit_requested(void) { return atomic_load(&quit); }

bool terminal_suspend_if_asked(void) {
    if (!atomic_exchange(&suspend, 0)) return false;
    give_back();
    raise(SIGSTOP);
    atomic_store(&continued, 0);
    /* The shell may have changed the attributes while this process was stopped. */
    if (tcgetattr(STDIN_FILENO, &before) == 0) take_screen();
    return true;
}

bool terminal_take_continued(void) {
    if (!atomic_exchange(&continued, 0) || !atomic_load(&opened)) return false;
    take_screen();
    return true;
}

bool terminal_write(struct slice text) {
    while (text.length) {
        ssize_t written = write(STDOUT_FILENO, text.bytes, text.length);
        if (written < 0 && errno == EAGAIN) {
            struct pollfd ready = {.fd = STDOUT_FILENO, .events = POLLOUT};
            (void)poll(&ready, 1, -1);
        } else if (written < 0 && errno != EINTR) {
            return false;
        } else if (written > 0) {
            text.bytes += written;
            text.length -= (size_t)written;
        }
    }
    return true;
}

bool terminal_read(char *bytes, size_t size, size_t *length) {
    struct pollfd state = {.fd = STDIN_FILENO};
    ssize_t got = read(STDIN_FILENO, bytes, size);
    *length = got > 0 ? (size_t)got : 0;
    if (got < 0) return errno == EINTR || errno == EAGAIN;
    /* A read of 0 bytes means no pending key or a terminal that is gone: poll tells which. */
    return got > 0 || poll(&state, 1, 0) == 0;
}
