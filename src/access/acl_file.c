/* SPDX-License-Identifier: BSD-3-Clause
 * Users in files.
 *
 * A file of users (aclfile) has a line for each: `user <name> <rule> ...`, separated by blanks,
 * without quotes, because no name and no printed rule holds a blank. Lines of the configuration
 * have the same words, and there quotes count. Users may be described by the file or by the
 * configuration, not by both. A line about an existing user (the default user always exists) resets
 * it first.
 *
 * The configuration is read before the server is open: its lines are tried on a scratch user, kept,
 * and applied by acl_file_open. The first reading accepts unknown commands, because commands may be
 * added later.
 *
 * Loading is all or nothing: the file is read into a set of its own, which takes the users' place
 * only if nothing in it is at fault. All faults are reported at once, up to a bound.
 */
#include "access/acl_file.h"

#include <errno.h>

#include "access/acl.h"
#include "access/acl_internal.h"
#include "access/acl_rules.h"
#include "base/list.h"
#include "base/log.h"
#include "base/memory.h"
#include "io/file.h"
#include "option/option.h"

/* A new file is readable for its owner only, because it holds digests of passwords. */
#define FILE_MODE 0600
#define FILE_BYTES_MAX (64 << 20)
/* The most faults that are reported; a file of another kind has one in each line. */
#define FAULTS_TOLD_MAX 100
#define NO_CHANGE \
    "WARNING: ACL errors detected, no change to the previously active ACL rules was performed"

/* A `user` line of the configuration. */
struct declaration {
    struct list_link link;
    size_t count;
    struct slice words[]; /* name and rules, allocated one by one */
};

static struct list_link declarations = {&declarations, &declarations};
static bool opened; /* the declarations have been applied */
static char *file;

bool acl_file_is_set(void) { return *file; }

/* ---- lines of the configuration ---- */

static bool declaration_check(const struct slice *rules, size_t count, char *reason,
                              size_t reason_size) {
    struct acl_user *scratch = acl_user_create(SLICE(""));
    bool taken = true;
    for (size_t i = 0; i < count && taken; i++) {
        enum acl_fault fault = acl_user_apply(scratch, rules[i]);
        taken = fault == ACL_RULE_TAKEN || fault == ACL_RULE_UNKNOWN_COMMAND;
        if (!taken)
            snprintf(reason, reason_size, "Error in user declaration '%.*s': %s",
                     (int)rules[i].length, rules[i].bytes, acl_fault_text(fault));
    }
    acl_user_free(scratch);
    return taken;
}

static bool user_parse(const struct option_row *row, const struct slice *words, size_t count,
                       char *reason, size_t reason_size) {
    if (!count || !declaration_check(words + 1, count - 1, reason, reason_size)) return false;
    struct declaration *d = memory_alloc(sizeof(*d) + count * sizeof(d->words[0]), MEMORY_OTHER);
    d->count = count;
    for (size_t i = 0; i < count; i++)
        d->words[i] = (struct slice){slice_dup_c_string(words[i], MEMORY_OTHER), words[i].length};
    list_append(&declarations, &d->link);
    return true;
}

static void declaration_free(struct declaration *d) {
    list_remove(&d->link);
    for (size_t i = 0; i < d->count; i++) {
        explicit_bzero((char *)d->words[i].bytes, d->words[i].length);
        memory_free((char *)d->words[i].bytes, MEMORY_OTHER);
    }
    memory_free(d, MEMORY_OTHER);
}

/* The user of this name in the set, reset where it is there already. */
static struct acl_user *user_begin(struct acl_users *set, struct slice name) {
    struct acl_user *u = acl_users_find(set, name);
    if (u) {
        acl_user_apply(u, SLICE("reset"));
    } else {
        u = acl_user_create(name);
        acl_users_add(set, u);
    }
    return u;
}

static bool declaration_apply(const struct declaration *d) {
    struct slice name = d->words[0];
    if (!acl_name_is_valid(name)) {
        log_warning("Spaces not allowed in ACL usernames");
        return false;
    }
    struct acl_user *u = user_begin(acl_users_all(), name);
    for (size_t i = 1; i < d->count; i++) {
        enum acl_fault fault = acl_user_apply(u, d->words[i]);
        if (fault == ACL_RULE_TAKEN) continue;
        log_warning("Error loading ACL rule '%.*s' for the user named '%.*s': %s",
                    (int)d->words[i].length, d->words[i].bytes, (int)name.length, name.bytes,
                    acl_fault_text(fault));
        return false;
    }
    if (!(u->flags & ACL_USER_ON))
        log_notice(
            "The user '%.*s' is disabled (there is no 'on' modifier in the user description). Make "
            "sure this is not a configuration error.",
            (int)name.length, name.bytes);
    acl_user_changed(u, NULL);
    return true;
}

bool acl_file_open(void) {
    struct buffer error;
    bool done = true;
    opened = true;
    if (acl_file_is_set() && !list_is_empty(&declarations)) {
        log_warning(
            "Configuring Redis with users defined in redis.conf and at the same setting an ACL "
            "file path is invalid. This setup is very likely to lead to configuration errors and "
            "security holes, please define either an ACL file or declare users directly in your "
            "redis.conf, but not both.");
        return false;
    }
    LIST_FOR_EACH (link, following, &declarations) {
        struct declaration *d = LIST_ENTRY(link, struct declaration, link);
        done = done && declaration_apply(d);
        declaration_free(d);
    }
    if (!done) log_warning("Critical error while loading ACLs. Exiting.");
    if (!acl_file_is_set()) return done;
    buffer_init(&error, MEMORY_OTHER);
    done = acl_file_load(NULL, &error);
    if (!done)
        log_warning("Aborting Redis startup because of ACL errors: %.*s", (int)error.length,
                    error.bytes);
    buffer_free(&error);
    return done;
}

/* ---- writing ---- */

/* Whether the word needs quotes in a configuration file. */
static bool needs_quotes(struct slice word) {
    for (size_t i = 0; i < word.length; i++)
        if (!isgraph((unsigned char)word.bytes[i]) || strchr("\"'\\", word.bytes[i])) return true;
    return !word.length;
}

static void append_word(struct slice word, bool quote, struct buffer *out) {
    buffer_append_char(out, ' ');
    if (quote && needs_quotes(word))
        buffer_append_quoted(out, word);
    else
        buffer_append(out, word.bytes, word.length);
}

/* Appends a user's line; `quote`: with the quotes of a configuration file. */
static void append_user(const struct acl_user *u, bool quote, struct buffer *out) {
    struct buffer rules;
    buffer_init(&rules, MEMORY_OTHER);
    acl_user_append_rules(u, &rules);
    buffer_append_c_string(out, "user");
    append_word(u->name, quote, out);
    const char *end = rules.bytes + rules.length;
    for (const char *word = rules.bytes, *blank; word < end; word = blank + 1) {
        blank = memchr(word, ' ', (size_t)(end - word));
        if (!blank) blank = end;
        append_word((struct slice){word, (size_t)(blank - word)}, quote, out);
    }
    buffer_append_char(out, '\n');
    buffer_free(&rules);
}

static void append_users(bool quote, struct buffer *out) {
    size_t count;
    const struct acl_user **all = acl_users_by_name(&count);
    for (size_t i = 0; i < count; i++) append_user(all[i], quote, out);
    memory_free(all, MEMORY_OTHER);
}

void acl_file_print(struct buffer *out) { append_users(false, out); }

bool acl_file_save(void) {
    struct buffer text;
    buffer_init(&text, MEMORY_OTHER);
    acl_file_print(&text);
    bool done = file_replace(file, buffer_slice(&text), FILE_MODE);
    if (!done) log_warning("ACL SAVE: writing the ACL file '%s': %s", file, strerror(errno));
    buffer_free(&text);
    return done;
}

/* The lines for CONFIG REWRITE; none where aclfile is set. */
static void user_rewrite(const struct option_row *row, struct buffer *out) {
    if (opened && !acl_file_is_set()) append_users(true, out);
}

/* ---- reading ---- */

/* The state of reading a file. */
struct reading {
    const char *name;
    unsigned line;
    struct buffer *errors;
    size_t faults;
};

/* Begins a fault's text; false where FAULTS_TOLD_MAX have been reported. */
static bool fault_begin(struct reading *r) { return r->faults++ < FAULTS_TOLD_MAX; }

static struct slice trim_line(struct slice text) {
    while (text.length && strchr(" \t\r\n", text.bytes[0]) && text.bytes[0])
        text = (struct slice){text.bytes + 1, text.length - 1};
    while (text.length && strchr(" \t\r\n", text.bytes[text.length - 1]) &&
           text.bytes[text.length - 1])
        text.length--;
    return text;
}

/* Takes the piece before the next `separator` off `text`; false at the text's end. */
static bool next_piece(struct slice *text, char separator, struct slice *piece) {
    if (!text->bytes) return false;
    const char *end = text->length ? memchr(text->bytes, separator, text->length) : NULL;
    piece->bytes = text->bytes;
    piece->length = end ? (size_t)(end - text->bytes) : text->length;
    if (end)
        *text = (struct slice){end + 1, text->length - piece->length - 1};
    else
        *text = (struct slice){NULL, 0};
    return true;
}

static void read_rules(struct reading *r, struct acl_user *u, struct slice rest) {
    struct slice rule;
    while (next_piece(&rest, ' ', &rule)) {
        enum acl_fault fault = acl_user_apply(u, rule);
        if (fault != ACL_RULE_TAKEN && fault_begin(r))
            buffer_printf(r->errors, "%s:%u: %s. ", r->name, r->line, acl_fault_text(fault));
    }
}

static void read_line(struct reading *r, struct acl_users *into, struct slice line) {
    struct slice word, name;
    bool begins = next_piece(&line, ' ', &word) && slice_equal(word, SLICE("user"));
    if (!begins || !next_piece(&line, ' ', &name)) {
        if (fault_begin(r))
            buffer_printf(r->errors,
                          "%s:%u should start with user keyword followed by the username. ",
                          r->name, r->line);
    } else if (!acl_name_is_valid(name)) {
        if (fault_begin(r))
            buffer_printf(r->errors, "'%s:%u: username '%.*s' contains invalid characters. ",
                          r->name, r->line, (int)name.length, name.bytes);
    } else {
        read_rules(r, user_begin(into, name), line);
    }
}

bool acl_file_parse(struct slice text, const char *name, struct acl_users *into,
                    struct buffer *errors) {
    struct reading r = {.name = name, .errors = errors};
    struct slice line;
    while (next_piece(&text, '\n', &line)) {
        r.line++;
        line = trim_line(line);
        if (line.length) read_line(&r, into, line);
    }
    if (r.faults > FAULTS_TOLD_MAX)
        buffer_printf(errors, "%zu more errors. ", r.faults - FAULTS_TOLD_MAX);
    return !r.faults;
}

bool acl_file_load(struct client *self, struct buffer *error) {
    struct buffer text;
    buffer_init(&text, MEMORY_OTHER);
    bool done = file_read(file, FILE_BYTES_MAX, &text);
    if (!done) {
        buffer_printf(error, "Error loading ACLs, opening file '%s': %s", file, strerror(errno));
    } else {
        struct acl_users *read = acl_users_create();
        acl_users_add(read, acl_default_create());
        done = acl_file_parse(buffer_slice(&text), file, read, error);
        if (!done) buffer_append_c_string(error, NO_CHANGE);
        if (done)
            acl_users_replace(read, self);
        else
            acl_users_free(read);
    }
    buffer_free(&text);
    return done;
}

/* ---- rows ---- */

static const struct option_row option_rows[] = {
    {.name = "user",
     .type = OPTION_TYPE_CUSTOM,
     .flags = OPTION_FILE_ONLY | OPTION_MULTI | OPTION_SECRET,
     .section = "security",
     .place = 200,
     .parse = user_parse,
     .print = user_rewrite,
     .rewrite = user_rewrite,
     .help = "A user's name and the rules that say what it may do, as ACL SETUSER takes them: user "
             "worker on >password ~jobs:* +@list. May stand more than once."},
    OPTION_STRING("aclfile", &file, "", 0, "security", 210,
                  "A file with the users instead of user lines here, read by ACL LOAD and written "
                  "by ACL SAVE."),
};

void acl_file_register(void) {
    option_register(option_rows, sizeof(option_rows) / sizeof(option_rows[0]));
}
