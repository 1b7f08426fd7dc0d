/* SPDX-License-Identifier: BSD-3-Clause
 * Fuzzes the HTTP request of metrics-port: a prefix is incomplete, or answered as the whole is;
 * what is found lies in the input; credentials decode without a byte too many.
 *
 * Covers: src/scrape/http.c
 *
 * Each prefix is parsed from a block of its own length, so that a read behind it is seen.
 */
#include <stdint.h>
#include <string.h>

#include "base/memory.h"
#include "base/panic.h"
#include "scrape/http.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Prefixes that are tried: all of a short input, and some of a long one. */
#define PREFIXES_MAX 300

static enum http_status parse_copy(const uint8_t *data, size_t size) {
    struct http_request request;
    char *copy = memory_alloc(size, MEMORY_OTHER), storage[HTTP_REQUEST_BYTES_MAX];
    if (size) memcpy(copy, data, size);
    enum http_status status = http_parse((struct slice){copy, size}, &request);
    if (status == HTTP_OK) {
        struct slice user, password;
        ASSERT(request.path.length && request.path.bytes[0] == '/');
        if (http_parse_basic(request.authorization, storage, &user, &password))
            ASSERT(user.length + password.length < request.authorization.length);
    }
    ASSERT(status == HTTP_INCOMPLETE || *http_status_text(status));
    memory_free(copy, MEMORY_OTHER);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    enum http_status whole = parse_copy(data, size);
    size_t step = size / PREFIXES_MAX + 1;
    for (size_t length = 0; length < size; length += step) {
        enum http_status part = parse_copy(data, length);
        ASSERT(part == HTTP_INCOMPLETE || part == whole);
    }
    return 0;
}
