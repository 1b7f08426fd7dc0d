/* SPDX-License-Identifier: BSD-3-Clause
 * The process title.
 *
 * The kernel shows as command line the memory in which it put the arguments when the program began;
 * the environment follows them. Both are copied at start, and the title is written over the
 * originals, cut to their size. The copies live as long as the process.
 *
 * A template is text with variables in braces: {title} (how the program was called), and the
 * variables that title_register was given.
 */
#include "process/title.h"

#include "base/memory.h"
#include "base/string.h"
#include "option/option.h"

extern char **environ;

static char *area; /* the memory of the original arguments; NULL = not known, no title */
static size_t area_bytes;
static char **arguments; /* the copy */
static const char *program = "";
static bool enabled, written;
static char *template;
static const struct title_variable *variables;

/* ---- the template ---- */

static bool is_name(struct slice text, const char *name) {
    return slice_equal(text, slice_of(name));
}

/* Appends a variable's value. Returns false if no variable has the name. */
static bool append_variable(struct slice name, const char *title, struct buffer *out) {
    if (is_name(name, "title")) {
        buffer_append_c_string(out, title);
        return true;
    }
    for (const struct title_variable *v = variables; v->name; v++) {
        if (!is_name(name, v->name)) continue;
        v->append(out);
        return true;
    }
    return false;
}

/* Appends the title that the template gives, without blanks at its ends; "{{" in a template is a
 * brace. Returns false if the template is not well formed or names an unknown variable. */
static bool expand_template(struct slice text, const char *title, struct buffer *out) {
    for (size_t i = 0; i < text.length; i++) {
        if (text.bytes[i] != '{' || (i + 1 < text.length && text.bytes[i + 1] == '{')) {
            i += text.bytes[i] == '{';
            buffer_append_char(out, text.bytes[i]);
            continue;
        }
        const char *start = text.bytes + i + 1;
        const char *end = memchr(start, '}', text.length - i - 1);
        if (!end || !append_variable((struct slice){start, (size_t)(end - start)}, title, out))
            return false;
        i = (size_t)(end - text.bytes);
    }
    while (out->length && out->bytes[out->length - 1] == ' ') out->length--;
    size_t leading = 0;
    while (leading < out->length && out->bytes[leading] == ' ') leading++;
    out->length -= leading;
    if (leading) memmove(out->bytes, out->bytes + leading, out->length);
    return true;
}

/* As in 6.2, a template must give some text even if the program's name is empty, so {title} alone
 * is refused. */
static bool check_template(const struct option_row *row, struct slice value, char *reason,
                           size_t reason_size) {
    struct buffer out;
    buffer_init(&out, MEMORY_OTHER);
    bool good = expand_template(value, "", &out) && out.length;
    buffer_free(&out);
    if (!good)
        snprintf(reason, reason_size, "template format is invalid or contains unknown variables");
    return good;
}

static bool apply_template(const struct option_row *row, char *reason, size_t reason_size) {
    title_refresh();
    return true;
}

static const struct option_row option_rows[] = {
    OPTION_BOOL("set-proc-title", &enabled, true, 0, "process", 60,
                "Show address and mode in the process title (ps, top)."),
    {.name = "proc-title-template",
     .type = OPTION_TYPE_STRING,
     .flags = OPTION_MUTABLE,
     .section = "process",
     .place = 70,
     .fallback = "{title} {listen-addr} {server-mode}",
     .variable = &template,
     .check = check_template,
     .apply = apply_template,
     .help = "The process title. Variables: {title} (how the program was called), {listen-addr}, "
             "{server-mode}, {port}, {tls-port}, {unixsocket}, {config-file}."},
};

void title_register(const struct title_variable *others) {
    variables = others;
    option_register(option_rows, sizeof(option_rows) / sizeof(option_rows[0]));
}

/* ---- the place ---- */

/* Returns a copy of `count` strings, which a NULL ends. */
static char **copy_strings(char *const *strings, size_t count) {
    char **copy = memory_alloc((count + 1) * sizeof(*copy), MEMORY_OTHER);
    for (size_t i = 0; i < count; i++) copy[i] = memory_strdup(strings[i], MEMORY_OTHER);
    copy[count] = NULL;
    return copy;
}

/* Extends the area over strings that follow it without a gap. */
static void grow_area(char *const *strings) {
    for (; *strings && *strings == area + area_bytes; strings++) area_bytes += strlen(*strings) + 1;
}

char **title_take_arguments(int argc, char **argv) {
    arguments = copy_strings(argv, (size_t)argc);
    size_t count = 0;
    while (environ && environ[count]) count++;
    if (argc > 0) {
        program = arguments[0];
        area = argv[0];
        grow_area(argv);
        if (environ) grow_area(environ);
    }
    if (environ) environ = copy_strings(environ, count);
    return arguments;
}

void title_write(void) {
    written = true;
    if (!enabled || !area || area_bytes < 2) return;
    struct buffer title;
    buffer_init(&title, MEMORY_OTHER);
    expand_template(slice_of(template), program, &title);
    size_t length = title.length < area_bytes - 1 ? title.length : area_bytes - 1;
    memset(area, 0, area_bytes);
    if (length) memcpy(area, title.bytes, length);
    buffer_free(&title);
}

void title_write_child(const char *title) {
    program = title;
    title_write();
}

void title_refresh(void) {
    if (written) title_write();
}
