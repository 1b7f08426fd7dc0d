/* SPDX-License-Identifier: BSD-3-Clause
 * The part that the files of the option engine share: the value forms and the registry's marks.
 */
#ifndef EVENKEEL_OPTION_OPTION_INTERNAL_H
#define EVENKEEL_OPTION_OPTION_INTERNAL_H
#include "base/attributes.h"
#include "option/option.h"

#define OPTION_REASON_DIRECTIVE "Bad directive or wrong number of arguments"

/* Appends the default in a file's form, for the generated texts. */
void option_append_fallback(const struct option_row *row, struct buffer *out);
/* Appends the whole lines that a rewritten file has for this row now, each ended by \n; nothing
 * where the row has no value to write. Returns false if the file's own lines must be kept as they
 * stand. */
MUST_USE bool option_append_lines(const struct option_row *row, struct buffer *out);
/* Finds the row of a line's words: that which the first two words name, or else that which the
 * first word names; NULL if there is none. `*taken` is how many words the name has. */
const struct option_row *option_find_directive(const struct slice *words, size_t count,
                                               size_t *taken);
/* The present scope; its heads are "" until one is set. */
const struct option_scope *option_scope(void);
/* Whether the row's section is in the scope. */
bool option_is_in_scope(const struct option_row *row);
/* The row's place in option_at's order. */
size_t option_index_of(const struct option_row *row);
/* An included file has set the row: a rewritten file must set it behind its includes. */
void option_mark_included(const struct option_row *row);
bool option_is_included(size_t index);
#endif
