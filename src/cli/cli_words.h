/* SPDX-License-Identifier: BSD-3-Clause
 * The words of a command: from the command line, from standard input, from a line that was typed.
 */
#ifndef EVENKEEL_CLI_CLI_WORDS_H
#define EVENKEEL_CLI_CLI_WORDS_H
#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"
#include "base/string.h"

struct cli_words {
    struct slice *words;
    size_t count, capacity;
    struct buffer storage; /* of what came from standard input */
    char **owned;          /* unquoted words */
    size_t owned_count;
};

void cli_words_init(struct cli_words *w);
void cli_words_free(struct cli_words *w);
/* `word` is borrowed. */
void cli_words_add(struct cli_words *w, struct slice word);
/* Borrows the arguments; with `quoted` those that begin with a quote are taken apart. False
 * where one is not well quoted. */
MUST_USE bool cli_words_take_arguments(struct cli_words *w, int count, char *const *arguments,
                                       bool quoted);
/* All of standard input is one more word, once for each `w`. False where it cannot be read (errno).
 */
MUST_USE bool cli_words_take_input(struct cli_words *w);
#endif
