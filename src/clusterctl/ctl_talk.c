/* SPDX-License-Identifier: BSD-3-Clause
 * The conversation with the user.
 */
#include "clusterctl/ctl_talk.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/system.h"

static volatile sig_atomic_t was_interrupted;

static const char *const colours[] = {
    [CTL_INFO] = "\033[29;1m",
    [CTL_GOOD] = "\033[32;1m",
    [CTL_WARNING] = "\033[33;1m",
    [CTL_BAD] = "\033[31;1m",
};

static bool has_colours(void) {
    const char *terminal = getenv("TERM");
    return terminal && strstr(terminal, "xterm");
}

void ctl_say(enum ctl_tone tone, const char *format, ...) {
    bool coloured = colours[tone] && has_colours();
    va_list arguments;
    va_start(arguments, format);
    if (coloured) fputs(colours[tone], stdout);
    vprintf(format, arguments);
    if (coloured) fputs("\033[0m", stdout);
    va_end(arguments);
}

void ctl_talk_write(struct slice bytes) {
    if (bytes.length) fwrite(bytes.bytes, 1, bytes.length, stdout);
}

void ctl_talk_flush(void) { (void)fflush(stdout); }

void ctl_complain(const char *format, ...) {
    va_list arguments;
    ctl_talk_flush();
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
}

bool ctl_talk_read(const char *question, char answer[CTL_ANSWER_CHARS]) {
    size_t length = 0;
    fputs(question, stdout);
    ctl_talk_flush();
    for (;;) {
        char byte;
        ssize_t got = system_read(STDIN_FILENO, &byte, 1);
        if (got < 0 && errno == EINTR && !was_interrupted) continue;
        if (got <= 0 && !length) return false;
        if (got <= 0 || byte == '\n') break;
        if (byte != '\r' && length < CTL_ANSWER_CHARS - 1) answer[length++] = byte;
    }
    answer[length] = '\0';
    return true;
}

bool ctl_talk_confirm(const char *question) {
    char answer[CTL_ANSWER_CHARS];
    return ctl_talk_read(question, answer) && !strcasecmp(answer, "yes");
}

static void note_interrupt(int sig) { was_interrupted = 1; }

void ctl_talk_heed_interrupt(bool heed) {
    struct sigaction action = {.sa_handler = heed ? note_interrupt : SIG_DFL,
                               .sa_flags = (int)SA_RESETHAND};
    sigemptyset(&action.sa_mask);
    was_interrupted = 0;
    (void)sigaction(SIGINT, &action, NULL);
}

bool ctl_talk_interrupted(void) { return was_interrupted; }

void ctl_talk_pause(void) {
    struct timespec left = {.tv_sec = 1};
    ctl_talk_flush();
    while (nanosleep(&left, &left) != 0 && errno == EINTR && !was_interrupted) {
    }
}

void ctl_talk_show(struct buffer *out, struct slice text) {
    for (size_t i = 0; i < text.length; i++) {
        char c = text.bytes[i];
        buffer_append_char(out, c >= ' ' && c <= '~' ? c : '.');
    }
}
