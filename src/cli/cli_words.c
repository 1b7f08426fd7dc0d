/* SPDX-License-Identifier: BSD-3-Clause
 * Words of a command. Each unquoted word is an allocation of its own, because a command has few
 * words; the word from standard input is in a buffer.
 */
#include "cli/cli_words.h"

#include <errno.h>

#include "base/memory.h"
#include "base/system.h"

#define READ_BYTES 65536

void cli_words_init(struct cli_words *w) { *w = (struct cli_words){.storage.class = MEMORY_OTHER}; }

void cli_words_free(struct cli_words *w) {
    for (size_t i = 0; i < w->owned_count; i++) memory_free(w->owned[i], MEMORY_OTHER);
    memory_free(w->owned, MEMORY_OTHER);
    memory_free(w->words, MEMORY_OTHER);
    buffer_free(&w->storage);
    cli_words_init(w);
}

void cli_words_add(struct cli_words *w, struct slice word) {
    if (w->count == w->capacity) {
        w->capacity = w->capacity ? w->capacity * 2 : 16;
        w->words = memory_realloc(w->words, w->capacity * sizeof(*w->words), MEMORY_OTHER);
    }
    w->words[w->count++] = word;
}

static void add_copy(struct cli_words *w, struct slice word) {
    size_t bytes = (w->owned_count + 1) * sizeof(*w->owned);
    w->owned = memory_realloc(w->owned, bytes, MEMORY_OTHER);
    char *copy = slice_dup_c_string(word, MEMORY_OTHER);
    w->owned[w->owned_count++] = copy;
    cli_words_add(w, (struct slice){copy, word.length});
}

/* Adds "..." or '...' as one word without its quotes. */
static bool unquote_argument(struct cli_words *w, const char *argument) {
    struct buffer storage = {.class = MEMORY_OTHER};
    struct slice *parts;
    int count = string_split_words(slice_of(argument), &storage, &parts);
    if (count == 1) add_copy(w, parts[0]);
    if (count >= 0) memory_free(parts, MEMORY_OTHER);
    buffer_free(&storage);
    return count == 1;
}

bool cli_words_take_arguments(struct cli_words *w, int count, char *const *arguments, bool quoted) {
    for (int i = 0; i < count; i++) {
        bool in_quotes = arguments[i][0] == '"' || arguments[i][0] == '\'';
        if (!quoted || !in_quotes) {
            cli_words_add(w, slice_of(arguments[i]));
        } else if (!unquote_argument(w, arguments[i])) {
            return false;
        }
    }
    return true;
}

bool cli_words_take_input(struct cli_words *w) {
    for (;;) {
        char *to = buffer_reserve(&w->storage, READ_BYTES);
        ssize_t got = system_read(STDIN_FILENO, to, READ_BYTES);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return false;
        if (got == 0) break;
        w->storage.length += (size_t)got;
    }
    cli_words_add(w, buffer_slice(&w->storage));
    return true;
}
