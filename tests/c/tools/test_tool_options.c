/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of tools/tool_options and tools/tool_connection: what rows take and refuse, help's width,
 * addresses as a URI.
 */
#include "tools/tool_options.h"

#include "base/seed.h"
#include "tools/tool_connection.h"

struct settings {
    struct tool_connection connection;
    const char *text;
    int64_t number;
    double real;
    bool flag, asked;
    int mode;
    struct tool_words words;
};

static bool refuse(void *settings, const char *value, char *reason, size_t reason_size) {
    snprintf(reason, reason_size, "no %s", value);
    return false;
}

static bool ask(void *settings, const char *value, char *reason, size_t reason_size) {
    assert_null(value);
    ((struct settings *)settings)->asked = true;
    return true;
}

#define PLACE(field) TOOL_PLACE(struct settings, field)
static const struct tool_option rows[] = {
    TOOL_CONNECTION_ROWS(struct settings, connection, refuse),
    {.name = "-t",
     .other = "--text",
     .argument = "x",
     .help = "A.",
     .group = "B",
     .text = PLACE(text),
     .choice = PLACE(mode),
     .value = 7},
    {.name = "-n",
     .argument = "n",
     .help = "A number, whose sentence is so long that it cannot "
             "stand in one line of eighty columns.",
     .group = "B",
     .number = PLACE(number),
     .least = -1,
     .most = 9},
    {.name = "--more",
     .argument = "n",
     .help = "A.",
     .group = "B",
     .number = PLACE(number),
     .least = 1,
     .most = INT64_MAX},
    {.name = "-r", .argument = "r", .help = "A.", .group = "B", .real = PLACE(real), .most = 2},
    {.name = "-f", .help = "A.", .group = "B", .flag = PLACE(flag), .take = ask},
    {.name = "--a-name-that-is-too-long", .help = "A.", .group = "B", .flag = PLACE(flag)},
    {.name = "--words",
     .argument = "word ...",
     .help = "A.",
     .group = "B",
     .flag = PLACE(flag),
     .words = PLACE(words)},
};
static const char *const examples[] = {"tool get", NULL};
static const struct tool_options options = {
    "tool", "A tool.", "[option ...]", rows, sizeof(rows) / sizeof(rows[0]), examples};

static struct settings s;
static char reason[TOOL_REASON_CHARS];
static char line_text[256]; /* settings borrow from it */

static int read_line(const char *line) {
    char *words[32], *at = line_text;
    int count = 0;
    snprintf(line_text, sizeof(line_text), "%s", line);
    s = (struct settings){0};
    for (char *word; (word = strsep(&at, " "));) {
        if (*word) words[count++] = word;
    }
    return tool_options_read(&options, &s, count, words, reason);
}

static void test_places(void **state) {
    assert_int_equal(read_line("-t one -n -1 -r 0.5 -f -p 7 get -f"), 9);
    assert_string_equal(s.text, "one");
    assert_int_equal(s.mode, 7);
    assert_int_equal(s.number, -1);
    assert_true(s.real == 0.5 && s.flag && s.asked);
    assert_int_equal(s.connection.port, 7);
    assert_int_equal(read_line("--text two - -f"), 2);
    assert_string_equal(s.text, "two");
    assert_false(s.flag);
    assert_int_equal(read_line("-- -f"), 1);
    assert_false(s.flag);
    assert_int_equal(read_line("--words a b -t x get"), 5);
    assert_true(s.flag && s.words.count == 2);
    assert_string_equal(s.words.words[1], "b");
    assert_string_equal(s.text, "x");
    assert_int_equal(read_line("--words a"), 2);
    assert_int_equal(s.words.count, 1);
    assert_int_equal(read_line(""), 0);
}

static void check_refused(const char *line, const char *why) {
    assert_int_equal(read_line(line), -1);
    assert_string_equal(reason, why);
}

static void test_refused(void **state) {
    check_refused("--nope", "unknown option --nope");
    check_refused("-f -t", "-t wants a value: <x>");
    check_refused("--words", "--words wants a value: <word ...>");
    check_refused("--words -f", "--words wants a value: <word ...>");
    check_refused("--words a --words b", "--words is given twice");
    check_refused("-n 10", "-n wants a number from -1 to 9");
    check_refused("-n -2", "-n wants a number from -1 to 9");
    check_refused("-n 1x", "-n wants a number from -1 to 9");
    check_refused("--more 0", "--more wants a number from 1");
    check_refused("-r 2.5", "-r wants a number from 0 to 2, with decimals or without");
    check_refused("-u redis://", "no redis://");
}

/* No line of help is wider than a terminal, and all rows are in it. */
static void test_help(void **state) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    tool_options_print_help(&options, out);
    fclose(out);
    for (size_t i = 0; i < options.count; i++) assert_non_null(strstr(text, rows[i].name));
    assert_non_null(strstr(text, "\n  -t, --text <x>          A.\n"));
    assert_non_null(strstr(text, "\n  --a-name-that-is-too-long\n                          A.\n"));
    assert_non_null(strstr(text, "\nExamples:\n  tool get\n"));
    for (const char *line = text; *line;) {
        size_t length = strcspn(line, "\n");
        assert_true(length < 80);
        line += length + 1;
    }
    free(text);
}

struct place {
    const char *uri, *host, *user, *password;
    int port, database;
    bool tls;
};

/* The texts of a connection live as long as the program: so do the connections that have them. */
static struct tool_connection connections[64];
static size_t connection_count;

static struct tool_connection *new_connection(void) {
    assert_true(connection_count < sizeof(connections) / sizeof(connections[0]));
    tool_connection_init(&connections[connection_count]);
    return &connections[connection_count++];
}

static void test_uris(void **state) {
    static const struct place places[] = {
        {"redis://", "127.0.0.1", NULL, NULL, 6379, 0, false},
        {"rediss://h", "h", NULL, NULL, 6379, 0, true},
        {"REDIS://h:1/2", "h", NULL, NULL, 1, 2, false},
        {"redis://pw@h", "h", NULL, "pw", 6379, 0, false},
        {"redis://:pw@h:7000", "h", NULL, "pw", 7000, 0, false},
        {"redis://me:p%40%2fw@h/", "h", "me", "p@/w", 6379, 0, false},
        {"redis://[::1]:7/3", "::1", NULL, NULL, 7, 3, false},
        {"redis://[::1]", "::1", NULL, NULL, 6379, 0, false},
        {"redis:///5", "127.0.0.1", NULL, NULL, 6379, 5, false},
    };
    unsetenv("REDISCLI_AUTH");
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        const struct place *p = &places[i];
        struct tool_connection *c = new_connection();
        assert_true(tool_connection_take_uri(c, p->uri, reason, sizeof(reason)));
        assert_string_equal(c->host, p->host);
        assert_string_equal(c->user ? c->user : "-", p->user ? p->user : "-");
        assert_string_equal(c->password ? c->password : "-", p->password ? p->password : "-");
        assert_int_equal(c->port, p->port);
        assert_int_equal(c->database, p->database);
        assert_int_equal(c->tls.enabled, p->tls);
    }
}

static void test_bad_uris(void **state) {
    static const char *const uris[] = {"http://h",        "h",
                                       "redis://h:x",     "redis://h:99999",
                                       "redis://h/x",     "redis://%4@h",
                                       "redis://%00pw@h", "redis://%zz@h",
                                       "redis://[::1",    "redis://[::1]7",
                                       "redis://h/-1"};
    for (size_t i = 0; i < sizeof(uris) / sizeof(uris[0]); i++) {
        struct tool_connection *c = new_connection();
        reason[0] = '\0';
        assert_false(tool_connection_take_uri(c, uris[i], reason, sizeof(reason)));
        assert_true(reason[0]);
    }
}

static const struct {
    char *words[4];
    int count;
    const char *file; /* NULL: none */
    bool flag, good;
} file_lines[] = {
    {{"a", "-f"}, 2, "a", true, true},   {{"-f", "a"}, 2, "a", true, true},
    {{"-f"}, 1, NULL, true, true},       {{NULL}, 0, NULL, false, true},
    {{"a", "b"}, 2, "a", false, false},  {{"-f", "a", "b"}, 3, "a", true, false},
    {{"-", "-f"}, 2, "-", false, false}, {{"a", "-x"}, 2, NULL, false, false},
};

static void test_file(void **state) {
    for (size_t i = 0; i < sizeof(file_lines) / sizeof(file_lines[0]); i++) {
        const char *file = NULL;
        s = (struct settings){0};
        bool good = tool_options_read_with_file(&options, &s, file_lines[i].count,
                                                file_lines[i].words, &file, reason);
        assert_int_equal(good, file_lines[i].good);
        assert_int_equal(s.flag, file_lines[i].flag);
        assert_int_equal(*reason != 0, !good);
        if (file_lines[i].file) assert_string_equal(file, file_lines[i].file);
        if (good && !file_lines[i].file) assert_null(file);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_file), cmocka_unit_test(test_places), cmocka_unit_test(test_refused),
        cmocka_unit_test(test_help), cmocka_unit_test(test_uris),   cmocka_unit_test(test_bad_uris),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
