/* SPDX-License-Identifier: BSD-3-Clause
 * A password from the keyboard. A signal that ends the program restores the terminal first.
 */
#include "tools/tool_password.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <termios.h>

#include "base/memory.h"
#include "base/string.h"
#include "base/system.h"

static const int ending_signals[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP};
#define ENDING_SIGNALS (sizeof(ending_signals) / sizeof(ending_signals[0]))
static struct termios usual_terminal;

/* Restores the terminal, then ends the process by the same signal: SA_RESETHAND has already
 * restored the signal's default action. */
static void on_ending_signal(int sig) {
    (void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &usual_terminal);
    (void)raise(sig);
}

/* Turns echo off, and Ctrl-Z, because a suspended program would leave the shell a terminal without
 * echo. */
static void silence_terminal(struct sigaction before[ENDING_SIGNALS]) {
    struct termios quiet = usual_terminal;
    struct sigaction action = {.sa_handler = on_ending_signal, .sa_flags = (int)SA_RESETHAND};
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < ENDING_SIGNALS; i++) {
        (void)sigaction(ending_signals[i], NULL, &before[i]);
        if (before[i].sa_handler != SIG_IGN) (void)sigaction(ending_signals[i], &action, NULL);
    }
    quiet.c_lflag &= ~(tcflag_t)ECHO;
    quiet.c_cc[VSUSP] = _POSIX_VDISABLE;
    (void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &quiet);
}

static void restore_terminal(const struct sigaction before[ENDING_SIGNALS]) {
    (void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &usual_terminal);
    for (size_t i = 0; i < ENDING_SIGNALS; i++)
        (void)sigaction(ending_signals[i], &before[i], NULL);
}

/* Reads a line; NULL where there is none. */
static char *read_password(void) {
    struct buffer line = {.class = MEMORY_OTHER};
    for (;;) {
        char byte;
        ssize_t got = system_read(STDIN_FILENO, &byte, 1);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0 && !line.length) return NULL;
        if (got <= 0 || byte == '\n') break;
        buffer_append_char(&line, byte);
    }
    return line.bytes ? line.bytes : memory_strdup("", MEMORY_OTHER);
}

char *tool_password_ask(const char *question) {
    struct sigaction before[ENDING_SIGNALS];
    bool terminal = tcgetattr(STDIN_FILENO, &usual_terminal) == 0;
    if (terminal) {
        silence_terminal(before);
        fputs(question, stderr);
    }
    char *line = read_password();
    if (terminal) {
        restore_terminal(before);
        fputc('\n', stderr);
    }
    return line;
}
