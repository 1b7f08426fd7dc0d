/* SPDX-License-Identifier: BSD-3-Clause
 * The history file has plain lines, and only its owner may read it. Each line is appended as soon
 * as it was typed, so that sessions that run side by side do not overwrite each other's lines. A
 * file that has grown to twice CLI_HISTORY_LINES is cut when it is read.
 */
#include "cli/cli_history.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/string.h"
#include "base/system.h"

#define PATH_CHARS 4096

/* The path of the history file; "" where there is none. */
static const char *path_of(char path[PATH_CHARS]) {
    const char *chosen = getenv("REDISCLI_HISTFILE"), *home = getenv("HOME");
    path[0] = '\0';
    if (chosen && *chosen) {
        if (strcmp(chosen, "/dev/null") != 0) snprintf(path, PATH_CHARS, "%s", chosen);
    } else if (home && *home) {
        snprintf(path, PATH_CHARS, "%s/.rediscli_history", home);
    }
    return path;
}

static bool has_word(const struct slice *words, int count, const char *const *names) {
    for (int i = 0; i < count; i++) {
        for (const char *const *name = names; *name; name++) {
            if (slice_is(words[i], *name)) return true;
        }
    }
    return false;
}

static bool words_are_secret(const struct slice *words, int count) {
    static const char *const auth[] = {"auth", "auth2", NULL};
    static const char *const options[] = {
        "requirepass", "masterauth", "masteruser", "tls-key-file-pass", "tls-client-key-file-pass",
        NULL};
    if (slice_is(words[0], "auth")) return true;
    if (slice_is(words[0], "hello") || slice_is(words[0], "migrate")) {
        return has_word(words + 1, count - 1, auth);
    }
    if (slice_is(words[0], "config") && count > 2 && slice_is(words[1], "set")) {
        return has_word(words + 2, count - 2, options);
    }
    return slice_is(words[0], "acl") && count > 1 && slice_is(words[1], "setuser");
}

/* The secrets test for a line with an unclosed quote, whose words are therefore unknown. */
static bool line_may_be_secret(const char *line) {
    static const char *const names[] = {"auth", "hello", "migrate", "config", "acl"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcasestr(line, names[i])) return true;
    }
    return false;
}

bool cli_history_is_secret(const char *line) {
    struct buffer storage = {.class = MEMORY_OTHER};
    struct slice *words;
    int count = string_split_words(slice_of(line), &storage, &words);
    bool secret = count < 0 && line_may_be_secret(line);
    int64_t times;
    int first = count > 1 && number_parse_int64(words[0].bytes, words[0].length, &times);
    if (count > first) secret = words_are_secret(words + first, count - first);
    if (count >= 0) memory_free(words, MEMORY_OTHER);
    buffer_free(&storage);
    return secret;
}

/* Replaces the file by its last lines. They are written to a file with an unpredictable name, which
 * is then renamed. */
static void cut_file(const char *path, char **lines, size_t count) {
    char other[PATH_CHARS + 8];
    snprintf(other, sizeof(other), "%s.XXXXXX", path);
    int fd = mkostemp(other, O_CLOEXEC);
    if (fd < 0) return;
    struct buffer text = {.class = MEMORY_OTHER};
    for (size_t i = 0; i < count; i++) buffer_append_c_string(&text, lines[i]);
    bool whole = system_write(fd, text.bytes, text.length) == (ssize_t)text.length;
    system_close(fd);
    buffer_free(&text);
    if (!whole || system_rename(other, path) != 0) (void)unlink(other);
}

void cli_history_load(void (*take)(const char *line)) {
    char path[PATH_CHARS];
    char *lines[CLI_HISTORY_LINES] = {NULL}, *line = NULL;
    size_t read = 0, size = 0;
    FILE *file = *path_of(path) ? fopen(path, "re") : NULL;
    if (!file) return;
    while (getline(&line, &size, file) > 0) {
        char **place = &lines[read++ % CLI_HISTORY_LINES];
        memory_free(*place, MEMORY_OTHER);
        *place = memory_strdup(line, MEMORY_OTHER);
    }
    free(line);
    (void)fclose(file);
    size_t count = read < CLI_HISTORY_LINES ? read : CLI_HISTORY_LINES;
    size_t first = read < CLI_HISTORY_LINES ? 0 : read % CLI_HISTORY_LINES;
    char *ordered[CLI_HISTORY_LINES];
    for (size_t i = 0; i < count; i++) ordered[i] = lines[(first + i) % CLI_HISTORY_LINES];
    if (read >= 2 * CLI_HISTORY_LINES) cut_file(path, ordered, count);
    for (size_t i = 0; i < count; i++) {
        ordered[i][strcspn(ordered[i], "\n")] = '\0';
        take(ordered[i]);
        memory_free(ordered[i], MEMORY_OTHER);
    }
}

void cli_history_append(const char *line) {
    char path[PATH_CHARS];
    if (!*path_of(path)) return;
    int fd = system_open(path, O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0) return;
    /* An existing file may be readable for other users, so its mode is corrected; only that of a
     * regular file. */
    struct stat about;
    if (fstat(fd, &about) == 0 && S_ISREG(about.st_mode) && about.st_mode & 077) {
        (void)fchmod(fd, 0600);
    }
    struct buffer text = {.class = MEMORY_OTHER};
    buffer_append_c_string(&text, line);
    buffer_append_char(&text, '\n');
    /* A failed write is ignored, because a missing history line is not worth an error message. */
    ssize_t written = system_write(fd, text.bytes, text.length);
    (void)written;
    buffer_free(&text);
    system_close(fd);
}
