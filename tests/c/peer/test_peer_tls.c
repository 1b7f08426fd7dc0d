/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of peer/peer_tls: what the words of command lines come to.
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
    assert_null(connection_open(&tls_transport, 0, CONNECTION_ACCEPTS, MEMORY_OTHER, reason,
                                sizeof(reason)));
    tls.key_file = "/no/such/file";
    tls.cert_file = "/no/such/file";
    assert_false(peer_tls_open(&tls, reason, sizeof(reason)));
    tls_forget();
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_open)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
