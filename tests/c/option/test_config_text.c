/* SPDX-License-Identifier: BSD-3-Clause
 * Reading and rewriting of configuration text.
 */
#include <errno.h>
#include <sys/stat.h>

#include "base/random.h"
#include "option/print_all.h"
#include "option/settings.h"

static bool flag;
static int64_t timeout, limit, kept, loaded_at;
static int color;
static char *name, *secret;
static struct buffer points; /* "a;b;c" of the points option */

static const struct option_name colors[] = {{"red", 1}, {"green", 2}, {NULL, 0}};

/* Any words that are not "bad"; "" empties the list. */
static bool points_parse(const struct option_row *row, const struct slice *words, size_t count,
                         char *reason, size_t reason_size) {
    for (size_t i = 0; i < count; i++) {
        if (!slice_is(words[i], "bad")) continue;
        snprintf(reason, reason_size, "Bad point");
        return false;
    }
    if (!option_is_repeated()) buffer_clear(&points);
    for (size_t i = 0; i < count; i++) {
        if (words[i].length == 0) continue;
        if (points.length > 0) buffer_append_char(&points, ' ');
        buffer_append(&points, words[i].bytes, words[i].length);
    }
    return true;
}

static void points_print(const struct option_row *row, struct buffer *out) {
    buffer_append(out, points.bytes, points.length);
}

static void points_rewrite(const struct option_row *row, struct buffer *out) {
    struct buffer storage;
    struct slice *words;
    buffer_init(&storage, MEMORY_OTHER);
    int count = string_split_words(buffer_slice(&points), &storage, &words);
    for (int i = 0; i < count; i++) {
        buffer_printf(out, "point %.*s\n", (int)words[i].length, words[i].bytes);
    }
    if (count <= 0) buffer_append_c_string(out, "point \"\"\n");
    memory_free(words, MEMORY_OTHER);
    buffer_free(&storage);
}

static bool loads_parse(const struct option_row *row, const struct slice *words, size_t count,
                        char *reason, size_t reason_size) {
    loaded_at++;
    return count == 1;
}

static const struct option_row rows[] = {
    {.name = "timeout",
     .alias = "zeit",
     .type = OPTION_TYPE_INT,
     .section = "a",
     .place = 10,
     .fallback = "0",
     .variable = &timeout,
     .low = 0,
     .high = 1000,
     .help = "Seconds."},
    OPTION_BYTES("limit", &limit, "0", 0, INT64_MAX, 0, "a", 20, "Bytes."),
    OPTION_BOOL("flag", &flag, false, 0, "a", 30, "A flag."),
    OPTION_ENUM("color", &color, "red", colors, 0, "a", 40, "A color."),
    OPTION_STRING("name", &name, "nobody", 0, "a", 50, "A name."),
    OPTION_STRING("secret", &secret, "", OPTION_SECRET, "a", 60, "A secret."),
    {.name = "point",
     .type = OPTION_TYPE_CUSTOM,
     .flags = OPTION_MULTI,
     .section = "b",
     .fallback = "p q",
     .help = "Points.",
     .parse = points_parse,
     .print = points_print,
     .rewrite = points_rewrite},
    {.name = "load",
     .type = OPTION_TYPE_CUSTOM,
     .flags = OPTION_MULTI | OPTION_FILE_ONLY,
     .section = "b",
     .help = "A directive.",
     .parse = loads_parse},
    OPTION_INT("kept", &kept, "3", 0, 9, OPTION_FILE_ONLY, "b", 5, "In files only."),
};

/* ---- a family: "watch place <name> <where>" in group 2, "watch delay <name> <ms>" in group 3,
 * "watch id <x>" in group 1. What is set is noted in `watched` as "id:x;place:a,b;..." ---- */

static struct buffer watched;   /* what was set, in this order */
static const char *watch_lines; /* what the family writes */

static bool watch_refuse(const struct option_row *row, const struct slice *words, size_t count,
                         char *reason, size_t reason_size) {
    if (count == 0) return true;
    snprintf(reason, reason_size, "Unknown watch word");
    return false;
}

static bool watch_parse(const struct option_row *row, const struct slice *words, size_t count,
                        char *reason, size_t reason_size) {
    if (count == 0 || slice_is(words[0], "bad")) {
        snprintf(reason, reason_size, "Bad watch");
        return false;
    }
    buffer_printf(&watched, "%s:", row->name + strlen("watch "));
    for (size_t i = 0; i < count; i++)
        buffer_printf(&watched, "%s%.*s", i ? "," : "", (int)words[i].length, words[i].bytes);
    buffer_append_char(&watched, ';');
    return true;
}

static void watch_rewrite(const struct option_row *row, struct buffer *out) {
    buffer_append_c_string(out, watch_lines);
}

#define WATCH(n, g)                                                                   \
    {                                                                                 \
        .name = (n), .type = OPTION_TYPE_CUSTOM, .section = "w",                      \
        .flags = OPTION_MULTI | OPTION_FILE_ONLY, .group = (g), .parse = watch_parse, \
        .words = "<name>", .help = "Watches."                                         \
    }
static const struct option_row watch_rows[] = {
    {.name = "watch",
     .type = OPTION_TYPE_CUSTOM,
     .flags = OPTION_FAMILY | OPTION_MULTI | OPTION_FILE_ONLY | OPTION_HIDDEN,
     .section = "w",
     .group = 3,
     .parse = watch_refuse,
     .rewrite = watch_rewrite,
     .help = "The family."},
    WATCH("watch id", 1),
    WATCH("watch place", 2),
    WATCH("watch delay", 3),
    WATCH("watch known-old", 3),
    WATCH("watch known", 3),
};

static void register_rows(void) {
    loaded_at = 0;
    option_register(rows, sizeof(rows) / sizeof(rows[0]));
}

static int setup(void **state) {
    buffer_init(&points, MEMORY_OTHER);
    option_set_version("6.2.16");
    register_rows();
    return 0;
}

static int teardown(void **state) {
    option_reset_all();
    buffer_free(&points);
    option_set_include_reader(NULL);
    return 0;
}

static void assert_fault_slice(struct slice text, const char *expected) {
    struct buffer error;
    buffer_init(&error, MEMORY_OTHER);
    assert_false(option_load_text(text, OPTION_FROM_FILE, &error));
    assert_string_equal(error.bytes, expected);
    buffer_free(&error);
}

static void assert_fault(const char *text, unsigned line, const char *shown, const char *reason) {
    struct buffer expected;
    buffer_init(&expected, MEMORY_OTHER);
    buffer_printf(&expected,
                  "\n*** FATAL CONFIG FILE ERROR (Redis 6.2.16) ***\n"
                  "Reading the configuration file, at line %u\n>>> '%s'\n%s\n",
                  line, shown, reason);
    assert_fault_slice(slice_of(text), expected.bytes);
    buffer_free(&expected);
}

static void assert_rewrites(const char *old_text, const char *expected) {
    struct buffer out, again;
    buffer_init(&out, MEMORY_OTHER);
    buffer_init(&again, MEMORY_OTHER);
    option_rewrite_text(slice_of(old_text), false, &out);
    assert_string_equal(out.bytes ? out.bytes : "", expected);
    option_rewrite_text(buffer_slice(&out), false, &again);
    assert_string_equal(again.bytes ? again.bytes : "", expected);
    buffer_free(&out);
    buffer_free(&again);
}

static void test_forms(void **state) {
    assert_loads(
        "# comment\n\n   \t\r\n  TimeOut \t 5  \r\nname \"a \\\"b\\\" \\x41\"\nlimit 2mb\n"
        "  # indented comment\nFLAG yes");
    assert_int_equal(timeout, 5);
    assert_string_equal(name, "a \"b\" A");
    assert_int_equal(limit, 2 << 20);
    assert_true(flag);
    assert_loads("");
    assert_loads("zeit 7\n");
    assert_int_equal(timeout, 7);
    assert_loads("timeout 8\ntimeout 9\n");
    assert_int_equal(timeout, 9);
    assert_loads("name ''\n");
    assert_string_equal(name, "");
}

static void test_multi(void **state) {
    assert_string_equal(points.bytes, "p q");
    assert_loads("point a\npoint b c\nload x\nload y\n");
    assert_string_equal(points.bytes, "a b c");
    assert_int_equal(loaded_at, 2);
    /* The command line goes on where the file ended. */
    assert_loads("point d\n");
    assert_string_equal(points.bytes, "a b c d");
}

static void test_faults(void **state) {
    static const char directive[] = "Bad directive or wrong number of arguments";
    assert_fault("bogus x\n", 1, "bogus x", directive);
    assert_fault("\n#\n  limit   x  \r\n", 3, "limit   x", "argument must be a memory value");
    assert_fault("limit 1 2", 1, "limit 1 2", "wrong number of arguments");
    assert_fault("limit", 1, "limit", "wrong number of arguments");
    assert_fault("limit \"1", 1, "limit \"1", "Unbalanced quotes in configuration line");
    assert_fault("limit \"1\"x", 1, "limit \"1\"x", "Unbalanced quotes in configuration line");
    assert_fault("timeout 1001", 1, "timeout 1001",
                 "argument must be between 0 and 1000 inclusive");
    assert_fault("point a bad", 1, "point a bad", "Bad point");
    assert_fault("load a b", 1, "load a b", directive); /* refused without a reason */
    assert_fault("kept 1 2", 1, "kept 1 2", directive);
    assert_fault("\"\" x", 1, "\"\" x", directive);
    assert_fault("include", 1, "include", directive);
    assert_fault("include a b", 1, "include a b", directive);
    /* What stood before the fault is set. */
    assert_fault("timeout 5\ntimeout x\n", 2, "timeout x",
                 "argument couldn't be parsed into an integer");
    assert_int_equal(timeout, 5);
    assert_fault_slice(SLICE("limit 1\0"),
                       "\n*** FATAL CONFIG FILE ERROR (Redis 6.2.16) ***\n"
                       "Reading the configuration file, at line 1\n>>> 'limit 1");
}

static void test_secrets_stay(void **state) {
    assert_fault("secret hush hush", 1, "secret (secret)", "wrong number of arguments");
    assert_fault("SECRET \"hush", 1, "secret (secret)", "Unbalanced quotes in configuration line");
    assert_fault("\"secret\" hush hush", 1, "secret (secret)", "wrong number of arguments");
    assert_fault("'secret' 'hush", 1, "secret (secret)", "Unbalanced quotes in configuration line");
}

static void test_long_line(void **state) {
    struct buffer text, error;
    buffer_init(&text, MEMORY_OTHER);
    buffer_init(&error, MEMORY_OTHER);
    buffer_append_c_string(&text, "name ");
    while (text.length < OPTION_LINE_BYTES_MAX) buffer_append_char(&text, 'x');
    /* The line fits, but the value would not in its quotes. */
    assert_false(option_load_text(buffer_slice(&text), OPTION_FROM_FILE, &error));
    assert_non_null(strstr(error.bytes, "argument is too long"));
    buffer_append_char(&text, 'x');
    buffer_clear(&error);
    assert_false(option_load_text(buffer_slice(&text), OPTION_FROM_FILE, &error));
    assert_non_null(strstr(error.bytes, "The line is too long"));
    assert_in_range(error.length, 1, 300);
    text.length -= 10;
    assert_true(option_load_text(buffer_slice(&text), OPTION_FROM_FILE, &error));
    buffer_free(&text);
    buffer_free(&error);
}

static unsigned included;

static bool read_included(const char *path, struct buffer *text) {
    included++;
    if (strcmp(path, "gone") == 0) {
        errno = ENOENT;
        return false;
    }
    if (strcmp(path, "self") == 0) buffer_append_c_string(text, "include self\n");
    if (strcmp(path, "twice") == 0) buffer_append_c_string(text, "include twice\ninclude twice\n");
    if (strcmp(path, "fan") == 0) {
        for (int i = 0; i < OPTION_INCLUDE_FILES_MAX; i++) {
            buffer_append_c_string(text, "include leaf\n");
        }
    }
    if (strcmp(path, "good") == 0) buffer_append_c_string(text, "timeout 12\nlimit 5");
    if (strcmp(path, "bad") == 0) buffer_append_c_string(text, "\ntimeout x\n");
    return true;
}

static void test_include(void **state) {
    option_set_include_reader(read_included);
    assert_loads("timeout 1\nINCLUDE good\nlimit 6\n");
    assert_int_equal(timeout, 12);
    assert_int_equal(limit, 6);
    assert_fault("include good\ninclude bad\n", 2, "timeout x",
                 "argument couldn't be parsed into an integer");
    assert_fault_slice(SLICE("include gone"),
                       "Fatal error, can't open config file 'gone': No such file or directory\n");
    included = 0;
    assert_fault("include self", 1, "include self", "include nests too deep");
    assert_int_equal(included, OPTION_INCLUDE_DEPTH_MAX);
    included = 0;
    assert_fault("include twice", 1, "include twice", "include nests too deep");
    included = 0;
    assert_fault("include fan", OPTION_INCLUDE_FILES_MAX, "include leaf",
                 "include reads too many files");
    assert_int_equal(included, OPTION_INCLUDE_FILES_MAX);
}

static void write_file(const char *folder, const char *file, const char *text) {
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", folder, file);
    FILE *out = fopen(path, "we");
    assert_non_null(out);
    assert_true(fputs(text, out) >= 0);
    assert_int_equal(fclose(out), 0);
}

static bool load_path(const char *folder, const char *file, struct buffer *error) {
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", folder, file);
    buffer_clear(error);
    return option_load_file(path, error);
}

static void test_files(void **state) {
    static const char *const files[] = {"main.conf", "10-a.conf", "20-b.conf", "odd[1].conf"};
    char folder[] = "/tmp/evenkeel-option-XXXXXX", path[256];
    struct buffer text, error;
    buffer_init(&text, MEMORY_OTHER);
    buffer_init(&error, MEMORY_OTHER);
    assert_non_null(mkdtemp(folder));
    write_file(folder, "10-a.conf", "timeout 10\nlimit 10\n");
    write_file(folder, "20-b.conf", "timeout 20\n");
    write_file(folder, "odd[1].conf", "color green\n");
    buffer_printf(&text, "include %s/[12]0-?.conf\ninclude \"%s/odd[1].conf\"\n", folder, folder);
    buffer_printf(&text, "include %s/*.none\nflag yes\n", folder);
    write_file(folder, "main.conf", text.bytes);
    if (!load_path(folder, "main.conf", &error)) fail_msg("%s", error.bytes);
    assert_int_equal(timeout, 20);
    assert_int_equal(limit, 10);
    assert_int_equal(color, 2);
    assert_true(flag);

    write_file(folder, "20-b.conf", "timeout x\n");
    assert_false(load_path(folder, "main.conf", &error));
    assert_non_null(strstr(error.bytes, ">>> 'timeout x'"));
    assert_false(load_path(folder, "none.conf", &error));
    assert_non_null(
        strstr(error.bytes, "Fatal error, can't open config file '/tmp/evenkeel-option-"));
    assert_non_null(strstr(error.bytes, "none.conf': No such file or directory\n"));
    assert_false(load_path(folder, "", &error)); /* a folder */

    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s", folder, files[i]);
        assert_int_equal(unlink(path), 0);
    }
    assert_int_equal(rmdir(folder), 0);
    buffer_free(&text);
    buffer_free(&error);
}

static void test_rewrite_keeps(void **state) {
    static const char text[] =
        "# head\n\n\ntimeout 5\n  # indented\ninclude /some/file\nload x\nunknown \"a\nlimit "
        "1gb\n\n# end\n";
    option_set_include_reader(read_included);
    assert_loads("timeout 6\nlimit 3000\nload x\n");
    assert_rewrites(text,
                    "# head\n\n\ntimeout 6\n# indented\ninclude /some/file\nload x\nunknown \"a\n"
                    "limit 3000\n\n# end\n");
    assert_rewrites("", "# Generated by CONFIG REWRITE\ntimeout 6\nlimit 3000\n");
}

static void test_rewrite_forms(void **state) {
    assert_loads("limit 1500kb\nname \"a \\x01\\\"\"\ncolor green\nflag yes\nsecret s\nkept 4\n");
    assert_rewrites("LIMIT 1\r\n\r\n# no end",
                    "limit 1500kb\n\n# no end\n# Generated by CONFIG REWRITE\nflag yes\n"
                    "color green\nname \"a \\x01\\\"\"\nsecret \"s\"\nkept 4\n");
    assert_loads("limit 3gb\n");
    assert_rewrites(
        "limit 1\nname a\nflag no\ncolor \"red\"\nsecret s\nkept 1\n",
        "limit 3gb\nname \"a \\x01\\\"\"\nflag yes\ncolor green\nsecret \"s\"\nkept 4\n");
}

static void test_rewrite_lines(void **state) {
    /* Doubled ones vanish, an alias' line takes the row's own name, a default stays where it stood.
     */
    assert_loads("timeout 6\n");
    assert_rewrites("zeit 1\n#c\ntimeout 2\nlimit 0\nTIMEOUT 3\n", "timeout 6\n#c\nlimit 0\n");
    /* Fewer lines than before, as many, more, none. */
    assert_loads("point a\npoint b\n");
    assert_rewrites("timeout 6\npoint x\n#1\npoint y\n#2\npoint z\n#3\n",
                    "timeout 6\npoint a\n#1\npoint b\n#2\n#3\n");
    assert_rewrites("timeout 6\npoint x y\n#1\n", "timeout 6\npoint a\npoint b\n#1\n");
    assert_rewrites("timeout 6\n#1\n",
                    "timeout 6\n#1\n# Generated by CONFIG REWRITE\npoint a\npoint b\n");
    assert_rewrites("timeout 6\n# Generated by CONFIG REWRITE\nlimit 0\n",
                    "timeout 6\n# Generated by CONFIG REWRITE\nlimit 0\npoint a\npoint b\n");
    assert_loads("point \"\"\n");
    assert_string_equal(points.bytes, "a b");
}

/* What an included file set and CONFIG SET changed must not be set back by the next start. */
static void test_rewrite_included(void **state) {
    static const char text[] = "timeout 1\nlimit 1\ninclude good\nflag yes\ntimeout 2\n";
    char reason[OPTION_REASON_BYTES];
    struct slice word = SLICE("0");
    option_set_include_reader(read_included);
    assert_loads(text);
    assert_true(option_set(option_find(SLICE("limit")), &word, 1, OPTION_FROM_FILE, reason,
                           sizeof(reason)));
    assert_rewrites(text,
                    "include good\nflag yes\ntimeout 2\n# Generated by CONFIG REWRITE\nlimit 0\n");
}

static void test_rewrite_all(void **state) {
    struct buffer out;
    buffer_init(&out, MEMORY_OTHER);
    option_rewrite_text(SLICE("#\nflag no\n"), true, &out);
    assert_string_equal(out.bytes,
                        "#\nflag no\n# Generated by CONFIG REWRITE\ntimeout 0\nlimit 0\ncolor red\n"
                        "name \"nobody\"\nsecret \"\"\npoint p\npoint q\nkept 3\n");
    buffer_free(&out);
}

/* Every option as CONFIG GET shows it. */
static void setup_watch(void) {
    option_register(watch_rows, sizeof(watch_rows) / sizeof(watch_rows[0]));
    buffer_clear(&watched);
}

static void assert_watched(const char *text, const char *expected) {
    struct buffer error;
    buffer_init(&error, MEMORY_OTHER);
    buffer_clear(&watched);
    assert_true(option_load_text(slice_of(text), OPTION_FROM_FILE, &error));
    assert_int_equal(watched.length, 0); /* all of them wait */
    assert_true(option_load_deferred(&error));
    buffer_append_char(&watched, 0);
    assert_string_equal(watched.bytes, expected);
    assert_int_equal(error.length, 0);
    buffer_free(&error);
}

static void test_family_groups(void **state) {
    setup_watch();
    assert_watched(
        "watch delay a 1\nwatch place a here\nWATCH ID x\nwatch Known a \"b c\"\n"
        "timeout 5\nwatch place b there\nwatch id y\nwatch\n",
        "id:x;id:y;place:a,here;place:b,there;delay:a,1;known:a,b c;");
    assert_int_equal(timeout, 5);
    assert_watched("", ""); /* nothing waits any more */
}

static void assert_watch_fault(const char *text, const char *expected) {
    struct buffer error;
    buffer_init(&error, MEMORY_OTHER);
    assert_true(option_load_text(slice_of(text), OPTION_FROM_FILE, &error));
    assert_false(option_load_deferred(&error));
    buffer_append_char(&error, 0);
    assert_string_equal(error.bytes, expected);
    buffer_free(&error);
    assert_watched("", "");
}

static void test_family_faults(void **state) {
    setup_watch();
    assert_watch_fault(
        "\nwatch delay bad 1\nwatch place bad\n",
        "\n*** FATAL CONFIG FILE ERROR (Redis 6.2.16) ***\n"
        "Reading the configuration file, at line 3\n>>> 'watch place bad'\nBad watch\n");
    assert_watch_fault("watch bogus \"1 2\"\n",
                       "\n*** FATAL CONFIG FILE ERROR (Redis 6.2.16) ***\n"
                       "Reading the configuration file, at line 1\n>>> 'watch bogus \"1 2\"'\n"
                       "Unknown watch word\n");
    /* A fault of another option comes first, and a line that cannot be split does not wait. */
    assert_fault("watch place bad\ntimeout x\n", 2, "timeout x",
                 "argument couldn't be parsed into an integer");
    assert_fault("watch place \"a\n", 1, "watch place \"a",
                 "Unbalanced quotes in configuration line");
    struct buffer error;
    buffer_init(&error, MEMORY_OTHER);
    assert_false(option_load_deferred(&error)); /* the one that waits since then */
    buffer_free(&error);
}

static void test_family_rewrite(void **state) {
    setup_watch();
    watch_lines =
        "watch id x\nwatch place a 1\nwatch delay a 2\nwatch place b 3\nwatch delay b 4\n";
    /* In place, whatever name the old line has; what is left follows in the family's order. */
    assert_rewrites(
        "# c\nwatch delay q 9\n\nwatch PLACE z 7\ntimeout 0\n",
        "# c\nwatch delay a 2\n\nwatch place a 1\ntimeout 0\n"
        "# Generated by CONFIG REWRITE\nwatch id x\nwatch place b 3\nwatch delay b 4\n");
    /* Old lines for which none is left; words that no directive has; names that begin alike. */
    assert_rewrites(
        "watch place 1\nwatch place 2\nwatch place 3\n# c\nwatch known-old a\n"
        "watch bogus\n\n\nwatch known b\n# d\nwatch delay 1\nwatch delay 2\n"
        "watch id \"x y\"\nwatch\n",
        "watch place a 1\nwatch place b 3\n\n# c\n\n# d\nwatch delay a 2\n"
        "watch delay b 4\nwatch id x\n\n");
    assert_rewrites("watch known a\n# c\n",
                    "# c\n# Generated by CONFIG REWRITE\n"
                    "watch id x\nwatch place a 1\nwatch delay a 2\nwatch place b 3\n"
                    "watch delay b 4\n");
    watch_lines = "";
    assert_rewrites("# c\nwatch place 1\n\nwatch id 2\n# d\n", "# c\n\n# d\n");
}

/* Lines that come and go for long leave at most one empty line beside each line that stays. */
static void test_family_churn(void **state) {
    struct buffer old, new, lines;
    setup_watch();
    buffer_init(&old, MEMORY_OTHER);
    buffer_init(&new, MEMORY_OTHER);
    buffer_init(&lines, MEMORY_OTHER);
    random_seed(12345); /* any seed will do: the bound holds after every round */
    for (int round = 0; round < 500; round++) {
        buffer_clear(&lines);
        for (int i = 0; i < 6; i++) {
            const char *const names[] = {"known", "place", "delay"};
            if (random_below(2)) buffer_printf(&lines, "watch %s %d\n", names[i % 3], i);
        }
        buffer_append_char(&lines, 0);
        watch_lines = lines.bytes;
        buffer_clear(&new);
        option_rewrite_text(buffer_slice(&old), false, &new);
        buffer_clear(&old);
        buffer_append(&old, new.bytes, new.length);
    }
    assert_in_range(old.length, 0, 6 * (sizeof("watch delay 1\n") + 1) + 64);
    buffer_free(&old);
    buffer_free(&new);
    buffer_free(&lines);
}

/* What load_line would refuse for its length. */
static void test_text_fits(void **state) {
    struct buffer text;
    buffer_init(&text, MEMORY_OTHER);
    buffer_append_c_string(&text, "flag no\n");
    memset(buffer_reserve(&text, OPTION_LINE_BYTES_MAX), 'x', OPTION_LINE_BYTES_MAX);
    text.length += OPTION_LINE_BYTES_MAX;
    assert_true(option_text_fits(buffer_slice(&text)));
    buffer_append_c_string(&text, "\nflag no\n");
    assert_true(option_text_fits(buffer_slice(&text)));
    text.bytes[text.length - strlen("\nflag no\n")] = 'x';
    assert_false(option_text_fits(buffer_slice(&text)));
    buffer_free(&text);
}

static void append_random_line(struct buffer *text) {
    static const char *const lines[] = {"timeout %u", "zeit %u", "limit %ukb", "limit %u",
                                        "point x%u",  "# %u",    "",           "load %u"};
    unsigned number = (unsigned)random_below(1000);
    char value[8];
    switch (random_below(4)) {
    case 0:
        for (size_t i = 0; i < sizeof(value); i++) value[i] = (char)(1 + random_below(255));
        buffer_append_c_string(text, random_below(2) ? "name " : "secret ");
        buffer_append_quoted(text, (struct slice){value, random_below(sizeof(value) + 1)});
        break;
    case 1: buffer_append_c_string(text, random_below(2) ? "flag yes" : "flag no"); break;
    default: {
        struct buffer line;
        buffer_init(&line, MEMORY_OTHER);
        const char *form = lines[random_below(sizeof(lines) / sizeof(lines[0]))];
        const char *mark = strchr(form, '%');
        buffer_append(&line, form, mark ? (size_t)(mark - form) : strlen(form));
        if (mark) buffer_printf(&line, "%u%s", number, mark + 2);
        buffer_append(text, line.bytes, line.length);
        buffer_free(&line);
    }
    }
    buffer_append_char(text, '\n');
}

static void test_round_trip(void **state) {
    const char *given = getenv("SEED");
    uint64_t seed = given ? strtoull(given, NULL, 10) : 20260117;
    print_message("SEED=%llu\n", (unsigned long long)seed);
    random_seed(seed);
    struct buffer text, out, before, after;
    buffer_init(&text, MEMORY_OTHER);
    buffer_init(&out, MEMORY_OTHER);
    buffer_init(&before, MEMORY_OTHER);
    buffer_init(&after, MEMORY_OTHER);
    for (int round = 0; round < 500; round++) {
        buffer_clear(&text);
        buffer_clear(&out);
        for (uint64_t i = random_below(20); i > 0; i--) append_random_line(&text);
        buffer_append_char(&text, '\n');
        assert_loads(text.bytes);
        print_all(&before);
        option_rewrite_text(buffer_slice(&text), random_below(2), &out);
        option_reset_all();
        register_rows();
        assert_loads(out.bytes);
        print_all(&after);
        assert_string_equal(after.bytes, before.bytes);
        option_reset_all();
        register_rows();
    }
    buffer_free(&text);
    buffer_free(&out);
    buffer_free(&before);
    buffer_free(&after);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_forms, setup, teardown),
        cmocka_unit_test_setup_teardown(test_multi, setup, teardown),
        cmocka_unit_test_setup_teardown(test_faults, setup, teardown),
        cmocka_unit_test_setup_teardown(test_secrets_stay, setup, teardown),
        cmocka_unit_test_setup_teardown(test_long_line, setup, teardown),
        cmocka_unit_test_setup_teardown(test_include, setup, teardown),
        cmocka_unit_test_setup_teardown(test_files, setup, teardown),
        cmocka_unit_test_setup_teardown(test_rewrite_keeps, setup, teardown),
        cmocka_unit_test_setup_teardown(test_rewrite_forms, setup, teardown),
        cmocka_unit_test_setup_teardown(test_rewrite_lines, setup, teardown),
        cmocka_unit_test_setup_teardown(test_rewrite_included, setup, teardown),
        cmocka_unit_test_setup_teardown(test_rewrite_all, setup, teardown),
        cmocka_unit_test_setup_teardown(test_family_groups, setup, teardown),
        cmocka_unit_test_setup_teardown(test_family_faults, setup, teardown),
        cmocka_unit_test_setup_teardown(test_family_rewrite, setup, teardown),
        cmocka_unit_test_setup_teardown(test_family_churn, setup, teardown),
        cmocka_unit_test_setup_teardown(test_text_fits, setup, teardown),
        cmocka_unit_test_setup_teardown(test_round_trip, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
