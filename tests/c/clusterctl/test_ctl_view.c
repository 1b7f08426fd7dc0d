/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of clusterctl/ctl_view: lines that 6.2 and 7.x send, lines that are refused, signatures.
 */
#include "clusterctl/ctl_view.h"

#include "base/seed.h"

#define ID_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define ID_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define ID_C "cccccccccccccccccccccccccccccccccccccccc"
#define OWN ID_A " 127.0.0.1:7000@17000 myself,master - 0 0 1 connected"

static struct ctl_view view;
static char reason[CTL_VIEW_REASON_CHARS];
static struct buffer out = {.class = MEMORY_OTHER};

static void parse_view(const char *text) {
    assert_true(ctl_view_parse(&view, slice_of(text), reason));
}

static void test_lines(void **state) {
    parse_view(OWN " 0-5 9 [7->-" ID_B "] [8-<-" ID_B "]\n" ID_B
                   " ::1:7001@17001,name slave,fail?,nofailover,new " ID_A " 0 1 2 disconnected\n");
    const struct ctl_line *own = ctl_view_myself(&view), *other = &view.lines[1];
    assert_int_equal(view.count, 2);
    assert_string_equal(own->host, "127.0.0.1");
    assert_true(own->port == 7000 && own->bus_port == 17000 && own->epoch == 1);
    assert_int_equal(ctl_slots_count(&own->slots), 7);
    assert_int_equal(own->open_count, 2);
    assert_true(ctl_line_find_open(own, 7)->migrating && !ctl_line_find_open(own, 8)->migrating);
    assert_string_equal(ctl_line_find_open(own, 8)->peer, ID_B);
    assert_null(ctl_line_find_open(own, 9));
    assert_string_equal(other->host, "::1");
    assert_string_equal(other->primary, ID_A);
    assert_int_equal(other->flags, CTL_REPLICA | CTL_PFAIL | CTL_NOFAILOVER | CTL_DISCONNECTED);
    buffer_clear(&out);
    ctl_line_flags(other, &out);
    assert_string_equal(out.bytes, "slave,fail?,nofailover");
    ctl_view_free(&view);
    parse_view("\r\n" ID_A " :0@0 myself,master - 0 0 0 connected\r\n\n");
    assert_string_equal(ctl_view_myself(&view)->host, "");
    ctl_view_free(&view);
}

static void test_refused(void **state) {
    const char *const texts[] = {
        "",
        "\n",
        ID_B " 127.0.0.1:1@2 master - 0 0 1 connected",
        OWN "\n" OWN,
        "aaaa 127.0.0.1:1@2 myself,master - 0 0 1 connected",
        "A" ID_A " 127.0.0.1:1@2 myself,master - 0 0 1 connected",
        ID_A " 127.0.0.1:1@2 myself,master - 0 0 1",
        ID_A " 127.0.0.1@2 myself,master - 0 0 1 connected",
        ID_A " 127.0.0.1:70000@2 myself,master - 0 0 1 connected",
        ID_A " 127.0.0.1:1@x myself,master - 0 0 1 connected",
        ID_A " \033[2J:1@2 myself,master - 0 0 1 connected",
        ID_A " 127.0.0.1:1@2 myself,master b 0 0 1 connected",
        ID_A " 127.0.0.1:1@2 myself,master - 0 0 -1 connected",
        OWN " 16384",
        OWN " 5-4",
        OWN " [",
        OWN " []",
        OWN " [5->-" ID_B,
        OWN " [5->-bbb]",
        OWN " [5-x-" ID_B "]",
        OWN " [5-6->-" ID_B "]",
        OWN " [5->-" ID_B "] [5-<-" ID_B "]",
        OWN " [16384->-" ID_B "]",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        reason[0] = '\0';
        assert_false(ctl_view_parse(&view, slice_of(texts[i]), reason));
        assert_true(reason[0]);
    }
}

static void test_cut(void **state) {
    const char text[] = OWN " 0-5 [7->-" ID_B "]";
    for (size_t length = 0; length < sizeof(text); length++)
        if (ctl_view_parse(&view, (struct slice){text, length}, reason)) ctl_view_free(&view);
}

static void sign_view(const char *text) {
    parse_view(text);
    buffer_clear(&out);
    ctl_view_sign(&view, &out);
    ctl_view_free(&view);
}

static void test_sign(void **state) {
    const char *wanted = ID_A ":[0-1]|" ID_B ":[3]|";
    sign_view(OWN " 0-1\n" ID_C " h:1@2 slave " ID_A " 0 0 9 connected\n" ID_B
                  " h:1@2 master - 0 0 1 connected 3");
    assert_string_equal(out.bytes, wanted);
    sign_view(ID_B " h:1@2 master,fail? - 5 6 7 disconnected 3\n" OWN " 0-1 [0->-" ID_B "]");
    assert_string_equal(out.bytes, wanted);
}

static void test_marks(void **state) {
    struct ctl_line line = {0};
    ctl_line_open(&line, 5, true, ID_A);
    ctl_line_open(&line, 6, false, ID_B);
    ctl_line_open(&line, 5, false, ID_B);
    assert_int_equal(line.open_count, 2);
    assert_false(ctl_line_find_open(&line, 5)->migrating);
    ctl_line_close(&line, 6);
    ctl_line_close(&line, 7);
    assert_int_equal(line.open_count, 1);
    ctl_line_free(&line);
}

static void test_addresses(void **state) {
    const struct {
        const char *text, *host;
        int port;
    } rows[] = {
        {"127.0.0.1:7000", "127.0.0.1", 7000},
        {"name:1", "name", 1},
        {"[::1]:7000", "::1", 7000},
        {"::1:7000", "::1", 7000},
        {"name", NULL, 0},
        {"name:", NULL, 0},
        {":7000", NULL, 0},
        {"name:0", NULL, 0},
        {"name:65536", NULL, 0},
        {"na me:1", NULL, 0},
        {"[]:1", NULL, 0},
        {"", NULL, 0},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char host[CTL_HOST_CHARS];
        int port;
        bool good = ctl_address_parse(slice_of(rows[i].text), host, &port);
        assert_int_equal(good, rows[i].host != NULL);
        if (!good) continue;
        assert_string_equal(host, rows[i].host);
        assert_int_equal(port, rows[i].port);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines), cmocka_unit_test(test_refused),
        cmocka_unit_test(test_cut),   cmocka_unit_test(test_sign),
        cmocka_unit_test(test_marks), cmocka_unit_test(test_addresses)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
