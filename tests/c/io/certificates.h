/* SPDX-License-Identifier: BSD-3-Clause
 * Keys and certificates for tests of TLS, made by libssl in a folder: an authority (ca.crt) with
 * server, client (.crt, .key), and another authority (other.crt) with stranger. server-locked.key
 * is encrypted with "sesame".
 */
#ifndef EVENKEEL_TESTS_IO_CERTIFICATES_H
#define EVENKEEL_TESTS_IO_CERTIFICATES_H
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include "base/seed.h"

#define CERTIFICATES_SECONDS (24L * 3600)

static char certificates_folder[64];
static long certificates_serial;
static char certificates_paths[8][128]; /* of certificate_path */
static unsigned certificates_path_next;

struct certificate {
    EVP_PKEY *key;
    X509 *x509;
};

/* The path of a file in the folder; valid until the eighth call after it. */
static inline const char *certificate_path(const char *name) {
    char *path = certificates_paths[certificates_path_next++ % 8];
    snprintf(path, sizeof(certificates_paths[0]), "%s/%s", certificates_folder, name);
    return path;
}

static inline FILE *certificate_file(const char *name, const char *end) {
    char whole[64];
    snprintf(whole, sizeof(whole), "%s.%s", name, end);
    FILE *file = fopen(certificate_path(whole), "w");
    assert_non_null(file);
    return file;
}

static inline void certificate_write(const char *name, const struct certificate *c) {
    FILE *file = certificate_file(name, "crt");
    assert_true(PEM_write_X509(file, c->x509));
    fclose(file);
    file = certificate_file(name, "key");
    assert_true(PEM_write_PrivateKey(file, c->key, NULL, NULL, 0, NULL, NULL));
    fclose(file);
}

/* Signed by `issuer`; NULL = by itself. */
static inline struct certificate certificate_make(const char *name,
                                                  const struct certificate *issuer) {
    struct certificate c = {EVP_EC_gen("P-256"), X509_new()};
    assert_true(c.key && c.x509);
    X509_set_version(c.x509, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(c.x509), ++certificates_serial);
    X509_gmtime_adj(X509_getm_notBefore(c.x509), -CERTIFICATES_SECONDS);
    X509_gmtime_adj(X509_getm_notAfter(c.x509), CERTIFICATES_SECONDS);
    X509_set_pubkey(c.x509, c.key);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(c.x509), "CN", MBSTRING_ASC,
                               (const unsigned char *)name, -1, -1, 0);
    if (!issuer) {
        X509_EXTENSION *may_sign =
            X509V3_EXT_conf_nid(NULL, NULL, NID_basic_constraints, "critical,CA:TRUE");
        assert_true(may_sign && X509_add_ext(c.x509, may_sign, -1));
        X509_EXTENSION_free(may_sign);
        issuer = &c;
    }
    X509_set_issuer_name(c.x509, X509_get_subject_name(issuer->x509));
    assert_true(X509_sign(c.x509, issuer->key, EVP_sha256()) > 0);
    certificate_write(name, &c);
    return c;
}

static inline void certificate_free(struct certificate c) {
    EVP_PKEY_free(c.key);
    X509_free(c.x509);
}

/* After the first tls_configure: libssl must have its allocator first. */
static inline void certificates_make(void) {
    snprintf(certificates_folder, sizeof(certificates_folder), "/tmp/evenkeel-tls-XXXXXX");
    assert_non_null(mkdtemp(certificates_folder));
    struct certificate ca = certificate_make("ca", NULL), other = certificate_make("other", NULL);
    struct certificate server = certificate_make("server", &ca);
    FILE *file = certificate_file("server-locked", "key");
    assert_true(PEM_write_PrivateKey(file, server.key, EVP_aes_256_cbc(), NULL, 0, NULL,
                                     (char[]){"sesame"}));
    fclose(file);
    certificate_free(server);
    certificate_free(certificate_make("client", &ca));
    certificate_free(certificate_make("stranger", &other));
    certificate_free(ca);
    certificate_free(other);
}

static inline void certificates_remove(void) {
    static const char *const names[] = {"ca", "other", "server", "client", "stranger"};
    char name[64];
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        snprintf(name, sizeof(name), "%s.crt", names[i]);
        unlink(certificate_path(name));
        snprintf(name, sizeof(name), "%s.key", names[i]);
        unlink(certificate_path(name));
    }
    unlink(certificate_path("server-locked.key"));
    rmdir(certificates_folder);
}
#endif
