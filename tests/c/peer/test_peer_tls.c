/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of peer/peer_tls: the words of command lines, and what they come to.
 */
#include "peer/peer_tls.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "io/connection.h"
#include "io/tls.h"

static struct peer_tls tls;
static char reason[256];

static int begin(void **state) {
    tls = (struct peer_tls){0};
    return 0;
}

static int take(char *word, char *value) {
    char *words[] = {(char[]){"redis-cli"}, word, value};
    return peer_tls_option(&tls, value ? 3 : 2, words, 1);
}

static void test_words(void **state) {
    assert_int_equal(take((char[]){"--tls"}, NULL), 1);
    assert_true(tls.enabled);
    assert_int_equal(take((char[]){"--insecure"}, (char[]){"x"}), 1);
    assert_true(tls.insecure);
    assert_int_equal(take((char[]){"-h"}, (char[]){"x"}), 0);
    assert_int_equal(take((char[]){"--tl"}, (char[]){"x"}), 0);
}

static void test_values(void **state) {
    const struct {
        const char *word;
        const char **place;
    } rows[] = {
        {"--cacert", &tls.ca_file},
        {"--cacertdir", &tls.ca_dir},
        {"--cert", &tls.cert_file},
        {"--key", &tls.key_file},
        {"--sni", &tls.server_name},
        {"--tls-ciphers", &tls.ciphers},
        {"--tls-ciphersuites", &tls.ciphersuites},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char word[32], value[] = "value";
        snprintf(word, sizeof(word), "%s", rows[i].word);
        assert_null(*rows[i].place);
        assert_int_equal(take(word, NULL), -1);
        assert_null(*rows[i].place);
        assert_int_equal(take(word, value), 2);
        assert_ptr_equal(*rows[i].place, value);
    }
    assert_false(tls.enabled);
}

static void test_open(void **state) {
    tls.ca_file = "/no/such/file";
    assert_true(peer_tls_open(&tls, reason, sizeof(reason))); /* nobody asks for TLS */
    assert_null(peer_tls_transport(&tls));
    tls.enabled = true;
    assert_false(peer_tls_open(&tls, reason, sizeof(reason)));
    assert_non_null(strstr(reason, "Failed to configure CA certificate(s) file/directory: "));
    tls.insecure = true; /* nobody's certificate is looked at */
    assert_true(peer_tls_open(&tls, reason, sizeof(reason)));
    assert_ptr_equal(peer_tls_transport(&tls), &tls_transport);
    assert_false(tls_can_accept());
    tls.key_file = "/no/such/file";
    tls.cert_file = "/no/such/file";
    assert_false(peer_tls_open(&tls, reason, sizeof(reason)));
    tls_forget();
}

#define TEST(function) cmocka_unit_test_setup(function, begin)

int main(void) {
    const struct CMUnitTest tests[] = {TEST(test_words), TEST(test_values), TEST(test_open)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
