/* SPDX-License-Identifier: BSD-3-Clause
 * The server's address and login: defaults, and the parts of a URI.
 */
#include "tools/tool_connection.h"

#include "base/memory.h"
#include "base/number.h"
#include "base/string.h"
#include "peer/peer_client.h"

void tool_connection_init(struct tool_connection *c) {
    *c = (struct tool_connection){
        .host = "127.0.0.1", .port = 6379, .password = getenv("REDISCLI_AUTH")};
}

static int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    c = string_lower(c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Decodes %XX. NULL where a % is not followed by two hexadecimal digits, or where a decoded byte is
 * NUL. */
static char *decode_percent(struct slice part) {
    char *out = memory_alloc(part.length + 1, MEMORY_OTHER);
    size_t length = 0;
    for (size_t i = 0; i < part.length; i++) {
        char c = part.bytes[i];
        if (c == '%') {
            int high = i + 2 < part.length ? hex_digit(part.bytes[i + 1]) : -1;
            int low = high >= 0 ? hex_digit(part.bytes[i + 2]) : -1;
            if (low < 0 || (high == 0 && low == 0)) {
                memory_free(out, MEMORY_OTHER);
                return NULL;
            }
            c = (char)(high * 16 + low);
            i += 2;
        }
        out[length++] = c;
    }
    out[length] = '\0';
    return out;
}

/* Moves the part before the first `mark` from `rest` to `part` and drops the mark. False where
 * `rest` has no mark. */
static bool split_at(struct slice *rest, char mark, struct slice *part) {
    const char *at = memchr(rest->bytes, mark, rest->length);
    if (!at) return false;
    *part = (struct slice){rest->bytes, (size_t)(at - rest->bytes)};
    rest->length -= part->length + 1;
    rest->bytes = at + 1;
    return true;
}

static bool take_text(const char **place, struct slice part) {
    if (!part.length) return true;
    *place = decode_percent(part);
    return *place != NULL;
}

static bool take_uri_number(int64_t *place, struct slice part, int64_t most) {
    return !part.length ||
           (number_parse_int64(part.bytes, part.length, place) && *place >= 0 && *place <= most);
}

/* user:password, or a password alone. */
static bool take_login(struct tool_connection *c, struct slice login) {
    struct slice user;
    if (split_at(&login, ':', &user) && !take_text(&c->user, user)) return false;
    return take_text(&c->password, login);
}

/* host:port, where the host may be an IPv6 address in brackets. */
static bool take_place(struct tool_connection *c, struct slice place) {
    struct slice host;
    if (place.length && place.bytes[0] == '[') {
        place.bytes++;
        place.length--;
        if (!split_at(&place, ']', &host)) return false;
        if (place.length && place.bytes[0] != ':') return false;
        if (place.length) place = (struct slice){place.bytes + 1, place.length - 1};
    } else if (!split_at(&place, ':', &host)) {
        host = place;
        place.length = 0;
    }
    return take_text(&c->host, host) && take_uri_number(&c->port, place, 65535);
}

bool tool_connection_take_uri(struct tool_connection *c, const char *uri, char *reason,
                              size_t reason_size) {
    static const char plain[] = "redis://", secure[] = "rediss://";
    struct slice rest = slice_of(uri), login, place;
    bool tls = !strncasecmp(uri, secure, sizeof(secure) - 1);
    if (!tls && strncasecmp(uri, plain, sizeof(plain) - 1) != 0) {
        snprintf(reason, reason_size, "Invalid URI scheme: redis:// or rediss:// is wanted");
        return false;
    }
    size_t scheme = (tls ? sizeof(secure) : sizeof(plain)) - 1;
    rest = (struct slice){rest.bytes + scheme, rest.length - scheme};
    c->tls.enabled = c->tls.enabled || tls;
    bool good = !split_at(&rest, '@', &login) || take_login(c, login);
    if (!split_at(&rest, '/', &place)) {
        place = rest;
        rest.length = 0;
    }
    good = good && take_place(c, place) && take_uri_number(&c->database, rest, INT32_MAX);
    if (!good) snprintf(reason, reason_size, "Invalid URI: redis://user:password@host:port/db");
    return good;
}

struct peer_address tool_connection_address(const struct tool_connection *c) {
    return (struct peer_address){.host = c->host,
                                 .port = (int)c->port,
                                 .path = c->path,
                                 .transport = peer_tls_transport(&c->tls)};
}

const char *tool_connection_error(const struct peer_client *client) {
    const char *error = peer_client_error(client), *behind = strstr(error, ": ");
    if (!strcmp(error, "the other side closed the connection")) {
        return "Server closed the connection";
    }
    return behind && strncmp(error, "protocol", 8) != 0 ? behind + 2 : error;
}
