/* SPDX-License-Identifier: BSD-3-Clause
 * The conversation with the user: coloured lines, questions, interrupts.
 */
#ifndef EVENKEEL_CLUSTERCTL_CTL_TALK_H
#define EVENKEEL_CLUSTERCTL_CTL_TALK_H
#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"
#include "base/string.h"

#define CTL_ANSWER_CHARS 256

enum ctl_tone { CTL_PLAIN, CTL_INFO, CTL_GOOD, CTL_WARNING, CTL_BAD };

/* Prints on standard output, in the colour of the tone where TERM names an xterm. Text of another
 * machine must have been checked, or made fit to be shown, before. */
void ctl_say(enum ctl_tone tone, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Prints on standard error, behind what standard output has so far. */
void ctl_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Prints the bytes as they are. */
void ctl_talk_write(struct slice bytes);
/* Shows what was said so far. */
void ctl_talk_flush(void);
/* Asks for a line on standard input, of which no further byte is read; a longer line is cut.
 * Returns false if the input has ended. */
MUST_USE bool ctl_talk_read(const char *question, char answer[CTL_ANSWER_CHARS]);
/* Asks for "yes"; any other answer, and the end of the input, is a no. */
MUST_USE bool ctl_talk_confirm(const char *question);
/* With `heed` the first interrupt (Ctrl-C) is only noted, and a second one ends the program. */
void ctl_talk_heed_interrupt(bool heed);
bool ctl_talk_interrupted(void);
/* Waits for a second. */
void ctl_talk_pause(void);
/* Appends text of another machine: bytes that are not printable ASCII become dots. */
void ctl_talk_show(struct buffer *out, struct slice text);
#endif
