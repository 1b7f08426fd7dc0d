/* SPDX-License-Identifier: BSD-3-Clause
 * The words of a command: from the command line and from standard input.
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
    struct buffer storage; /* the word from standard input */
    char **owned;          /* unquoted words */
    size_t owned_count;
};

void cli_words_init(struct cli_words *w);
void cli_words_free(struct cli_words *w);
/* `word` is borrowed. */
void cli_words_add(struct cli_words *w, struct slice word);
/* Adds the arguments, which are borrowed; with `quoted` an argument that begins with a quote is
 * unquoted. Returns false if an argument's quotes are wrong. */
MUST_USE bool cli_words_take_arguments(struct cli_words *w, int count, char *const *arguments,
                                       bool quoted);
/* Adds all of standard input as one word; at most once for each `w`. Returns false if standard
 * input cannot be read (errno). */
MUST_USE bool cli_words_take_input(struct cli_words *w);
#endif
