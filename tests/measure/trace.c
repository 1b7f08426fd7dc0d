/* SPDX-License-Identifier: BSD-3-Clause
 * A trace of requests, read whole: one line a request, "time operation key size ttl".
 *
 * Words are parted by blanks. `time` is in seconds since any moment, `operation` is get, set or
 * del, the key any word, `size` the value's bytes, `ttl` whole seconds. The file stays in memory,
 * so that replaying it reads nothing from a disk; a row costs 40 bytes beside its text.
 */
#include "trace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIGURE_MAX 0x80000000u

static char *read_trace_file(const char *path, char *reason, size_t reason_size) {
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    size_t used = 0, room = 1 << 16;
    while (file && (text = realloc(text, room + 1))) {
        used += fread(text + used, 1, room - used, file);
        if (used < room) break;
        room *= 2;
    }
    if (!file || !text || ferror(file)) {
        snprintf(reason, reason_size, "%s: %s", path, strerror(errno));
        free(text);
        text = NULL;
    } else {
        text[used] = 0;
    }
    if (file) fclose(file);
    return text;
}

static char *skip_blanks(char *at) {
    while (*at == ' ' || *at == '\t' || *at == '\r') at++;
    return at;
}

/* An optional whole number. */
static bool read_figure(char **at, uint32_t *figure) {
    *at = skip_blanks(*at);
    *figure = 0;
    if (**at == 0) return true;
    char *end;
    unsigned long long number = strtoull(*at, &end, 10);
    if (end == *at || **at == '-' || number > FIGURE_MAX) return false;
    *figure = (uint32_t)number;
    *at = end;
    return true;
}

static bool read_operation(const char *word, size_t length, enum trace_operation *operation) {
    static const char *const names[] = {"get", "set", "del"};
    for (int i = TRACE_GET; i <= TRACE_DEL; i++) {
        if (length != 3 || strncasecmp(word, names[i], 3)) continue;
        *operation = (enum trace_operation)i;
        return true;
    }
    return false;
}

/* One line, ended by a zero byte. */
static bool read_row(char *line, struct trace_row *row) {
    char *at;
    row->time_s = strtod(line, &at);
    if (at == line || !(row->time_s >= 0)) return false;
    char *word = skip_blanks(at);
    at = word + strcspn(word, " \t\r");
    if (!read_operation(word, (size_t)(at - word), &row->operation)) return false;
    row->key = at = skip_blanks(at);
    row->key_length = (uint32_t)strcspn(at, " \t\r");
    at += row->key_length;
    return row->key_length && read_figure(&at, &row->size) && read_figure(&at, &row->ttl_s) &&
           *skip_blanks(at) == 0;
}

bool trace_read(struct trace *trace, const char *path, char *reason, size_t reason_size) {
    *trace = (struct trace){.text = read_trace_file(path, reason, reason_size)};
    if (!trace->text) return false;
    size_t room = 0, number = 0;
    for (char *line = trace->text, *next; line; line = next) {
        number++;
        next = strchr(line, '\n');
        if (next) *next++ = 0;
        if (*line == '#' || *skip_blanks(line) == 0) continue;
        if (trace->count == room) {
            room = room ? 2 * room : 1024;
            trace->rows = realloc(trace->rows, room * sizeof(*trace->rows));
            if (!trace->rows) abort(); /* a test tool: nothing to save */
        }
        struct trace_row *row = &trace->rows[trace->count];
        if (read_row(line, row) && (!trace->count || row->time_s >= row[-1].time_s)) {
            trace->count++;
            continue;
        }
        snprintf(reason, reason_size, "%s:%zu: not a \"time operation key size ttl\" in order",
                 path, number);
        trace_free(trace);
        return false;
    }
    return true;
}

void trace_free(struct trace *trace) {
    free(trace->text);
    free(trace->rows);
    *trace = (struct trace){0};
}
