/* SPDX-License-Identifier: BSD-3-Clause
 * HTTP requests: just enough of RFC 9112 to be scraped. Pure functions over bytes of strangers.
 */
#ifndef EVENKEEL_SCRAPE_HTTP_H
#define EVENKEEL_SCRAPE_HTTP_H
#include <stdbool.h>

#include "base/string.h"

/* The longest request, line and headers together; a longer one is refused. Prometheus sends some
 * 300 bytes, and a proxy in between adds a few hundred. */
#define HTTP_REQUEST_BYTES_MAX 8192

enum http_status {
    HTTP_INCOMPLETE = 0, /* no answer yet: more bytes are needed */
    HTTP_OK = 200,
    HTTP_BAD_REQUEST = 400,
    HTTP_UNAUTHORIZED = 401,
    HTTP_FORBIDDEN = 403,
    HTTP_NOT_FOUND = 404,
    HTTP_NOT_ALLOWED = 405,
    HTTP_TOO_LARGE = 431,
    HTTP_NOT_SUPPORTED = 505,
};

/* Slices point into the input. */
struct http_request {
    bool head;                  /* HEAD; else GET */
    struct slice path;          /* without query and host */
    struct slice authorization; /* the header's value; empty = there was none */
};

/* Parses what has come so far of a request. HTTP_INCOMPLETE until the empty line behind the headers
 * is there, or until the bytes show a fault: then the status to refuse with. HTTP_OK fills in
 * `request`. More bytes never change an answer other than HTTP_INCOMPLETE. A body is not looked at.
 * O(length). */
enum http_status http_parse(struct slice input, struct http_request *request);
/* Decodes the value of an Authorization header of the scheme Basic. False if it is no such value.
 * The slices point into `storage`, which has room for HTTP_REQUEST_BYTES_MAX bytes. */
bool http_parse_basic(struct slice authorization, char *storage, struct slice *user,
                      struct slice *password);
/* The reason phrase: "Not Found". */
const char *http_status_text(enum http_status status);
#endif
