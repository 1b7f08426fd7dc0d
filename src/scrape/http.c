/* SPDX-License-Identifier: BSD-3-Clause
 * The parser goes line by line and answers at the first fault, so that a program that speaks
 * another protocol is refused at once. It is strict where proxies and servers are known to differ:
 * folded lines, blanks before a colon, a second Host or Authorization, and bare CRs are refused.
 *
 * Invariant: the answer to a prefix of the input is HTTP_INCOMPLETE, or the answer to all of it. So
 * lines are judged in their order, and a line only when its end is there; the one exception, bytes
 * that no request line can have, is what a complete first line is asked first.
 */
#include "scrape/http.h"

#include <string.h>

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static bool is_token_char(char c) {
    bool letter = string_lower(c) >= 'a' && string_lower(c) <= 'z';
    return c && (letter || is_digit(c) || strchr("!#$%&'*+-.^_`|~", c));
}

static bool is_token(struct slice text) {
    for (size_t i = 0; i < text.length; i++)
        if (!is_token_char(text.bytes[i])) return false;
    return text.length > 0;
}

static bool is_blank(char c) { return c == ' ' || c == '\t'; }

static bool starts_with(struct slice text, struct slice prefix) {
    return text.length >= prefix.length &&
           slice_equal_nocase((struct slice){text.bytes, prefix.length}, prefix);
}

static struct slice slice_from(struct slice text, size_t start) {
    return (struct slice){text.bytes + start, text.length - start};
}

/* Whether a line, or its beginning, has only bytes that text may have. */
static bool is_text(struct slice line) {
    for (size_t i = 0; i < line.length; i++) {
        unsigned char c = (unsigned char)line.bytes[i];
        if ((c < ' ' && c != '\t') || c == 127) return false;
    }
    return true;
}

/* Takes the next line off the input, without its end. False if it is not complete; then `line` is
 * what has come of it, without a CR at the end. */
static bool take_line(struct slice *input, struct slice *line) {
    const char *end = input->length ? memchr(input->bytes, '\n', input->length) : NULL;
    *line = (struct slice){input->bytes, end ? (size_t)(end - input->bytes) : input->length};
    if (end) *input = slice_from(*input, line->length + 1);
    if (line->length && line->bytes[line->length - 1] == '\r') line->length--;
    return end != NULL;
}

/* ---- the request line ---- */

/* Takes the word in front of the first space. False if there is no space. */
static bool take_word(struct slice *line, struct slice *word) {
    const char *space = line->length ? memchr(line->bytes, ' ', line->length) : NULL;
    if (!space) return false;
    *word = (struct slice){line->bytes, (size_t)(space - line->bytes)};
    *line = slice_from(*line, word->length + 1);
    return true;
}

/* "/metrics?x=y" and "http://host/metrics" have the path "/metrics". */
static bool parse_target(struct slice target, struct slice *path) {
    for (size_t i = 0; i < target.length; i++)
        if ((unsigned char)target.bytes[i] <= ' ' || (unsigned char)target.bytes[i] >= 127)
            return false;
    size_t scheme = starts_with(target, SLICE("http://"))    ? 7
                    : starts_with(target, SLICE("https://")) ? 8
                                                             : 0;
    if (scheme) {
        target = slice_from(target, scheme);
        size_t host = 0;
        while (host < target.length && !strchr("/?", target.bytes[host])) host++;
        if (!host) return false;
        target = slice_from(target, host);
        if (!target.length || target.bytes[0] == '?') target = SLICE("/");
    }
    if (!target.length || target.bytes[0] != '/') return false;
    const char *query = memchr(target.bytes, '?', target.length);
    *path = (struct slice){target.bytes, query ? (size_t)(query - target.bytes) : target.length};
    return true;
}

static enum http_status parse_request_line(struct slice line, struct http_request *request,
                                           bool *needs_host) {
    struct slice method, target;
    if (!is_text(line) || !take_word(&line, &method) || !take_word(&line, &target))
        return HTTP_BAD_REQUEST;
    bool formed = line.length == 8 && memcmp(line.bytes, "HTTP/", 5) == 0 &&
                  is_digit(line.bytes[5]) && line.bytes[6] == '.' && is_digit(line.bytes[7]);
    if (!formed || !is_token(method)) return HTTP_BAD_REQUEST;
    if (line.bytes[5] != '1') return HTTP_NOT_SUPPORTED;
    request->head = slice_equal(method, SLICE("HEAD"));
    if (!request->head && !slice_equal(method, SLICE("GET"))) return HTTP_NOT_ALLOWED;
    if (!parse_target(target, &request->path)) return HTTP_BAD_REQUEST;
    *needs_host = line.bytes[7] != '0';
    return HTTP_OK;
}

/* ---- headers ---- */

/* Notes a header that counts here. False if the line is no header, or may not come again. */
static bool parse_header(struct slice line, struct http_request *request, unsigned *hosts) {
    const char *colon = memchr(line.bytes, ':', line.length);
    if (!colon || !is_text(line)) return false;
    struct slice name = {line.bytes, (size_t)(colon - line.bytes)};
    struct slice value = slice_from(line, name.length + 1);
    if (!is_token(name)) return false; /* so is a folded line */
    while (value.length && is_blank(value.bytes[0])) value = slice_from(value, 1);
    while (value.length && is_blank(value.bytes[value.length - 1])) value.length--;
    if (slice_is(name, "host")) return ++*hosts == 1;
    if (!slice_is(name, "authorization")) return true;
    if (request->authorization.length || !value.length) return false;
    request->authorization = value;
    return true;
}

enum http_status http_parse(struct slice input, struct http_request *request) {
    enum http_status unfinished = HTTP_INCOMPLETE;
    if (input.length >= HTTP_REQUEST_BYTES_MAX) {
        input.length = HTTP_REQUEST_BYTES_MAX;
        unfinished = HTTP_TOO_LARGE;
    }
    struct slice line;
    unsigned hosts = 0;
    bool needs_host = false;
    *request = (struct http_request){0};
    if (!take_line(&input, &line)) return is_text(line) ? unfinished : HTTP_BAD_REQUEST;
    enum http_status status = parse_request_line(line, request, &needs_host);
    if (status != HTTP_OK) return status;
    while (take_line(&input, &line)) {
        if (!line.length) return needs_host && !hosts ? HTTP_BAD_REQUEST : HTTP_OK;
        if (!parse_header(line, request, &hosts)) return HTTP_BAD_REQUEST;
    }
    return unfinished;
}

/* ---- Basic ---- */

static int base64_value(char c) {
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c ? strchr(letters, c) : NULL;
    return at ? (int)(at - letters) : -1;
}

/* Decodes base64 to `out`, which has room for three quarters of the text. Padding may be missing.
 * False if the text has another byte. */
static bool decode_base64(struct slice text, char *out, size_t *length) {
    unsigned bits = 0, value = 0;
    for (unsigned i = 0; i < 2 && text.length && text.bytes[text.length - 1] == '='; i++)
        text.length--;
    *length = 0;
    for (size_t i = 0; i < text.length; i++) {
        int six = base64_value(text.bytes[i]);
        if (six < 0) return false;
        value = (value << 6 | (unsigned)six) & 0xffff;
        bits += 6;
        if (bits < 8) continue;
        bits -= 8;
        out[(*length)++] = (char)(value >> bits & 0xff);
    }
    return bits < 6; /* six bits alone are no byte */
}

bool http_parse_basic(struct slice authorization, char *storage, struct slice *user,
                      struct slice *password) {
    static const struct slice scheme = {"basic ", 6};
    size_t length;
    if (!starts_with(authorization, scheme)) return false;
    struct slice text = slice_from(authorization, scheme.length);
    while (text.length && text.bytes[0] == ' ') text = slice_from(text, 1);
    if (text.length > HTTP_REQUEST_BYTES_MAX || !decode_base64(text, storage, &length))
        return false;
    const char *colon = length ? memchr(storage, ':', length) : NULL;
    if (!colon) return false;
    *user = (struct slice){storage, (size_t)(colon - storage)};
    *password = (struct slice){colon + 1, length - user->length - 1};
    return true;
}

const char *http_status_text(enum http_status status) {
    switch (status) {
    case HTTP_INCOMPLETE: break;
    case HTTP_OK: return "OK";
    case HTTP_BAD_REQUEST: return "Bad Request";
    case HTTP_UNAUTHORIZED: return "Unauthorized";
    case HTTP_FORBIDDEN: return "Forbidden";
    case HTTP_NOT_FOUND: return "Not Found";
    case HTTP_NOT_ALLOWED: return "Method Not Allowed";
    case HTTP_TOO_LARGE: return "Request Header Fields Too Large";
    case HTTP_NOT_SUPPORTED: return "HTTP Version Not Supported";
    }
    return "";
}
