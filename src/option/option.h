/* SPDX-License-Identifier: BSD-3-Clause
 * The option engine: parses, checks, applies, prints and rewrites options, and knows no option.
 *
 * A module declares a table of rows beside the variables that they steer and registers it once.
 * redis.conf, the command line, CONFIG GET/SET/REWRITE and docs/options.md are all made from the
 * rows. A set is checked whole before anything changes: a value out of range, or an `apply` that
 * refuses, leaves the old value in place.
 *
 *     static bool lazy_expire;                       // the variable
 *     static const struct option_row rows[] = {
 *         OPTION_BOOL("lazyfree-lazy-expire", &lazy_expire, false, OPTION_MUTABLE, "lazyfree", 20,
 *                     "Free the value of an expired key in the background."),
 *     };
 *     void expire_register(void) { option_register(rows, sizeof(rows) / sizeof(rows[0])); }
 *
 * A family is a set of directives that share their first word. Each is a row with a name of two
 * words ("sentinel monitor"); its `parse` gets the words behind them. One more row has the first
 * word alone and OPTION_FAMILY: its `parse` gets the lines whose second word names no row (it may
 * refuse them with its own reason), and its `rewrite` writes the present lines of the whole family,
 * in the order that new lines have. A rewritten file keeps these lines in place: each replaces the
 * first old line with the same two words that no other new line has replaced.
 */
#ifndef EVENKEEL_OPTION_OPTION_H
#define EVENKEEL_OPTION_OPTION_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/string.h"

enum option_type {
    OPTION_TYPE_BOOL,  /* bool *: "yes" or "no" */
    OPTION_TYPE_INT,   /* int64_t *: decimal, low..high */
    OPTION_TYPE_BYTES, /* int64_t *: bytes with unit suffix, low..high; larger than int64 clamps */
    OPTION_TYPE_OCTAL, /* int64_t *: an octal number, low..high */
    OPTION_TYPE_BYTES_OR_PERCENT, /* int64_t *: bytes >= 0, or a percentage kept as its negative */
    OPTION_TYPE_ENUM,             /* int *: one of `names` */
    OPTION_TYPE_STRING, /* char **: owned by the engine, MEMORY_OTHER; never NULL, "" = unset */
    OPTION_TYPE_CUSTOM  /* through parse and print */
};

enum option_flags {
    OPTION_MUTABLE = 1 << 0,   /* CONFIG SET may change it */
    OPTION_SECRET = 1 << 1,    /* never logged */
    OPTION_MULTI = 1 << 2,     /* takes all words of a line, may stand in a file more than once */
    OPTION_FILE_ONLY = 1 << 3, /* a directive: not in CONFIG GET (include, rename-command, user) */
    OPTION_HIDDEN = 1 << 4,    /* in CONFIG GET, not in the generated redis.conf */
    OPTION_MISSING = 1 << 5,   /* its feature is not built. With `refusal`, every value but the
                                  default is refused with it (a custom row's parse does that
                                  itself); without, values are taken and kept */
    OPTION_ALIAS_FIRST = 1 << 6, /* CONFIG GET shows the name only to patterns that the alias does
                                    not fit: as 6.2 does with slaveof */
    OPTION_ALWAYS_WRITTEN = 1 << 7, /* CONFIG REWRITE adds it to a file also at its default */
    OPTION_FAMILY = 1 << 8, /* writes the lines of all directives whose first word is its name
                               ("sentinel" those of "sentinel monitor"): see below */
};

struct option_name {
    const char *name;
    int value;
};

struct option_row {
    const char *name;
    const char *alias; /* or NULL; CONFIG GET shows both names, as 6.2 */
    enum option_type type;
    unsigned flags;
    const char *section;  /* heading in redis.conf: "network", "memory" ... */
    int place;            /* order within the section */
    const char *fallback; /* the default, as text */
    void *variable;
    const void *context; /* distinguishes rows with the same functions */
    int64_t low, high;
    const struct option_name *names; /* enum: ends with a NULL name */
    const char *help;                /* one or more sentences, wrapped where it is printed */
    const char *words; /* custom: how the words of a line look ("<name> <ip>"), for the documents;
                          NULL = the default shows it */
    /* 0: a line is set where it stands. 1 to OPTION_GROUPS: lines of files and of the command line
     * wait for option_load_deferred. Directives only, which stand in no CONFIG SET. */
    unsigned group;
    /* Called after the variable has its new value, to put that into effect. False with a reason:
     * the old value is restored. May be NULL. Not called for the default at start. */
    bool (*apply)(const struct option_row *row, char *reason, size_t reason_size);
    /* Called before anything changes, for checks beyond the range; `value` is the new value's text.
     * May be NULL. */
    bool (*check)(const struct option_row *row, struct slice value, char *reason,
                  size_t reason_size);
    /* OPTION_TYPE_CUSTOM only. `words` are the values of one line (CONFIG SET splits its one value
     * by blanks). Parse checks all before it changes anything. */
    bool (*parse)(const struct option_row *row, const struct slice *words, size_t count,
                  char *reason, size_t reason_size);
    void (*print)(const struct option_row *row, struct buffer *out); /* CONFIG GET's value */
    /* Custom only: writes the whole directive line(s), each with its \n, for a rewritten file;
     * NULL: "name value". Custom directives without print and rewrite stay in the file as they
     * stand. */
    void (*rewrite)(const struct option_row *row, struct buffer *out);
    const char *refusal; /* OPTION_MISSING: the sentence */
};

#define OPTION_BOOL(n, var, dflt, fl, sect, pl, h)                                              \
    {                                                                                           \
        .name = (n), .type = OPTION_TYPE_BOOL, .flags = (fl), .section = (sect), .place = (pl), \
        .fallback = (dflt) ? "yes" : "no", .variable = (var), .help = (h)                       \
    }
#define OPTION_INT(n, var, dflt, lo, hi, fl, sect, pl, h)                                      \
    {                                                                                          \
        .name = (n), .type = OPTION_TYPE_INT, .flags = (fl), .section = (sect), .place = (pl), \
        .fallback = (dflt), .variable = (var), .low = (lo), .high = (hi), .help = (h)          \
    }
#define OPTION_BYTES(n, var, dflt, lo, hi, fl, sect, pl, h)                                      \
    {                                                                                            \
        .name = (n), .type = OPTION_TYPE_BYTES, .flags = (fl), .section = (sect), .place = (pl), \
        .fallback = (dflt), .variable = (var), .low = (lo), .high = (hi), .help = (h)            \
    }
#define OPTION_ENUM(n, var, dflt, vals, fl, sect, pl, h)                                        \
    {                                                                                           \
        .name = (n), .type = OPTION_TYPE_ENUM, .flags = (fl), .section = (sect), .place = (pl), \
        .fallback = (dflt), .variable = (var), .names = (vals), .help = (h)                     \
    }
#define OPTION_STRING(n, var, dflt, fl, sect, pl, h)                                              \
    {                                                                                             \
        .name = (n), .type = OPTION_TYPE_STRING, .flags = (fl), .section = (sect), .place = (pl), \
        .fallback = (dflt), .variable = (var), .help = (h)                                        \
    }

/* Rows are borrowed for good. Sets each variable to its default, which must be in its range. False
 * where a name or an alias is taken, and then no row is taken and no variable set. */
MUST_USE bool option_try_register(const struct option_row *rows, size_t count);
/* Ends the process: rows of the server's own are refused only by our fault. */
_Noreturn void option_refused(const struct option_row *rows);
/* At start. */
static inline void option_register(const struct option_row *rows, size_t count) {
    if (!option_try_register(rows, count)) option_refused(rows);
}
/* Finds a row by name or alias, case ignored; NULL if there is none. */
const struct option_row *option_find(struct slice name);
size_t option_count(void);
/* The row at `index`, in the order of sections (as first registered) and places. */
const struct option_row *option_at(size_t index);

enum option_source {
    OPTION_FROM_FILE,
    OPTION_FROM_COMMAND_LINE,
    OPTION_FROM_CONFIG_SET,
    OPTION_FROM_DEFAULT /* the row's fallback, at registration */
};
/* False with a reason in the words of 6.2 ("argument must be 'yes' or 'no'") and nothing changed.
 * The reason may be empty: 6.2 then answers CONFIG SET without one, and a file's line with "Bad
 * directive or wrong number of arguments". A custom row's one value from CONFIG SET (and its
 * fallback) is split at each single blank, as 6.2 does; two blanks give an empty word, and "" gives
 * one empty word. Where a custom row's `apply` refuses, the text that `print` wrote before the
 * change is parsed again, so `parse` must accept the text of `print`. `reason_size` > 0;
 * OPTION_REASON_BYTES is enough for all. */
#define OPTION_REASON_BYTES 512
MUST_USE bool option_set(const struct option_row *row, const struct slice *words, size_t count,
                         enum option_source source, char *reason, size_t reason_size);
/* Returns where the value comes from that option_set is storing. For parse, check and apply. */
enum option_source option_source_now(void);
/* Returns whether an earlier line of a file or of the command line has set the row that option_set
 * is setting, since the row was registered. The parse of an OPTION_MULTI row then adds to its
 * value, and otherwise begins with an empty one. */
bool option_is_repeated(void);

/* For a custom row whose `variable` is a struct buffer: a value of any bytes, as passwords are. It
 * has so many bytes at most that it fits into a line of a file, each byte taking four when
 * quoted. */
#define OPTION_ANY_BYTES_MAX (OPTION_LINE_BYTES_MAX / 8)
bool option_any_bytes_parse(const struct option_row *row, const struct slice *words, size_t count,
                            char *reason, size_t reason_size);
void option_any_bytes_print(const struct option_row *row, struct buffer *out);
void option_any_bytes_rewrite(const struct option_row *row, struct buffer *out);

/* A `check` for names of files in the working directory: refuses a path. */
bool option_check_filename(const struct option_row *row, struct slice value, char *reason,
                           size_t reason_size);
/* The value as CONFIG GET shows it; nothing for a row without a value. */
void option_print(const struct option_row *row, struct buffer *out);
/* For custom rows: reads a size as OPTION_TYPE_BYTES does, and appends a size in a file's form
 * ("0", "1500kb", "3gb", "1001"). */
bool option_parse_bytes(struct slice word, int64_t *bytes);
void option_append_bytes(struct buffer *out, int64_t bytes);
/* Returns true if the value is the default's. */
bool option_is_default(const struct option_row *row);
/* Takes registered rows away while the server runs: their names are free again, and are unknown to
 * files and CONFIG. A string's variable becomes NULL. Not from within a row's own functions. O(rows
 * of all). */
FOR_TESTS void option_unregister(const struct option_row *rows, size_t count);
/* Frees strings and forgets all rows; for leak-free ends of tests. */
FOR_TESTS void option_reset_all(void);

/* The version that error texts name ("6.2.16"); borrowed for good. */
void option_set_version(const char *version);

/* Reads configuration text (a file's contents, standard input, or the command line turned into
 * lines). `include` is followed; its path may be a glob pattern, and a pattern that matches
 * nothing includes nothing. The first fault stops it, and the lines before it stay set: false, with
 * line number, line (an OPTION_SECRET value is left out) and reason appended to `error` in 6.2's
 * form, which begins with an empty line:
 *
 *   *** FATAL CONFIG FILE ERROR (Redis 6.2.16) ***
 *   Reading the configuration file, at line 3
 *   >>> 'maxmemory x'
 *   argument must be a memory value
 *
 * or, where a file cannot be read: Fatal error, can't open config file 'x': No such file or ...
 */
#define OPTION_LINE_BYTES_MAX 65536 /* a longer line is a fault */
#define OPTION_FILE_BYTES_MAX (64 << 20)
#define OPTION_INCLUDE_DEPTH_MAX 16
#define OPTION_INCLUDE_FILES_MAX 1000 /* in one load */
MUST_USE bool option_load_text(struct slice text, enum option_source source, struct buffer *error);
MUST_USE bool option_load_file(const char *path, struct buffer *error);
/* Sets the lines that have waited since they were read: those of group 1 first, then those of group
 * 2, and so on; within a group in the order in which they were read. Call it once, when file and
 * command line are read. False with `error` as above, at the number that the line had where it
 * stood; no line waits any more. */
#define OPTION_GROUPS 3
MUST_USE bool option_load_deferred(struct buffer *error);
/* From now on `include` reads through `read` (which gets patterns as they stand and appends the
 * file to `text`; false with errno set where it cannot); NULL = the file system. For tests. */
FOR_TESTS void option_set_include_reader(bool (*read)(const char *path, struct buffer *text));

/* A rewritten file's text, appended to `out`. The old text's comments, blank lines, order and lines
 * that no row knows stay; an option's first line is replaced by "name value" as it is now (the
 * row's own name even where an alias stood there, lower case, bytes as kb, mb or gb where they
 * divide), its other lines vanish; options that are not at their default follow at the end under
 * one "# Generated by CONFIG REWRITE" heading. `force_all` writes defaults too. The lines of a
 * family are replaced one by one; an old line without a new one becomes an empty line, and empty
 * lines beside it go. Line ends become \n. */
void option_rewrite_text(struct slice old_text, bool force_all, struct buffer *out);

/* Whether the text is within the limits of a file that is loaded: its size, and the length of each
 * line. A value of a custom row may have grown beyond them since it was set. */
bool option_text_fits(struct slice text);

/* Which of the registered options concern a mode of the program. Others are accepted and kept, but
 * no document has them, and none is added to a rewritten file. */
struct option_scope {
    const char *const *sections; /* in the documents' order, ended by NULL; NULL = all */
    /* How the documents begin. */
    const char *example_head;   /* comment lines, each with its \n */
    const char *reference_head; /* Markdown */
};
/* Borrowed for as long as the process lives. Until it is called, all options are of concern. */
void option_set_scope(const struct option_scope *scope);
/* The generated documents: redis.conf with every option commented at its default, the reference
 * page in Markdown, and the options' part of the server's manual page, a subheading a section. */
void option_write_example(struct buffer *out);
void option_write_reference(struct buffer *out);
void option_write_manual(struct buffer *out);
#endif
