#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Makes keys and certificates for tests of TLS in a folder; what is there already stays.
#
# usage: tests/support/certificates.sh FOLDER
#
#   ca.crt                       an authority
#   server, client, redis        .crt and .key of it: for servers, for clients, for both
#   server-locked.key            the server's key, encrypted with "sesame"
#   curve.crt/.key               as redis, with a key of another kind (EC)
#   redis.dh                     parameters for DHE
#   other.crt, stranger.crt/.key another authority, and a client of it
set -eu
folder=${1:?usage: certificates.sh FOLDER}
mkdir -p "$folder"
cd "$folder"
[ -e done ] && exit 0

run() { openssl "$@" >/dev/null 2>openssl.log || { cat openssl.log >&2; exit 1; }; }
# RSA, since some tests choose ciphers that want it.
key() {
    case $1 in
    curve.key) run genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$1" ;;
    *) run genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out "$1" ;;
    esac
}

# authority NAME KEY SUBJECT
authority() {
    key "$2"
    run req -x509 -new -sha256 -key "$2" -days 3650 -subj "/O=Evenkeel tests/CN=$3" -out "$1"
}

# certificate NAME AUTHORITY AUTHORITY_KEY USES
certificate() {
    key "$1.key"
    run req -new -sha256 -key "$1.key" -subj "/O=Evenkeel tests/CN=$1" -out "$1.csr"
    printf 'keyUsage=digitalSignature,keyEncipherment\n%s\n' "$4" >"$1.ext"
    run x509 -req -sha256 -in "$1.csr" -CA "$2" -CAkey "$3" -CAcreateserial -days 3650 \
        -extfile "$1.ext" -out "$1.crt"
    rm "$1.csr" "$1.ext"
}

authority ca.crt ca.key "the authority"
authority other.crt other.key "another authority"
certificate server ca.crt ca.key "extendedKeyUsage=serverAuth"
certificate client ca.crt ca.key "extendedKeyUsage=clientAuth"
certificate redis ca.crt ca.key ""
certificate curve ca.crt ca.key ""
certificate stranger other.crt other.key ""
run pkey -aes256 -in server.key -passout pass:sesame -out server-locked.key
run genpkey -genparam -algorithm DH -pkeyopt group:ffdhe2048 -out redis.dh
rm -f openssl.log
: >done
