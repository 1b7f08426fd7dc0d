/* SPDX-License-Identifier: BSD-3-Clause
 * INFO is lines of name:value.
 */
#include "replay/replay_info.h"

#include "base/number.h"
#include "base/string.h"

/* The value of the field; bytes NULL where there is none. */
static struct slice find_field(const char *info, const char *name) {
    size_t length = strlen(name);
    for (const char *at = info; *at; at += strcspn(at, "\n"), at += *at == '\n')
        if (!strncmp(at, name, length) && at[length] == ':')
            return (struct slice){at + length + 1, strcspn(at + length + 1, "\r\n")};
    return (struct slice){0};
}

int64_t replay_info_number(const char *info, const char *name) {
    struct slice value = find_field(info, name);
    int64_t number;
    bool good = value.bytes && number_parse_int64(value.bytes, value.length, &number);
    return good && number >= 0 ? number : -1;
}

void replay_info_text(const char *info, const char *name, char *out, size_t size) {
    struct slice value = find_field(info, name);
    if (!value.bytes) value = SLICE("");
    string_show(value, out, size);
}

void replay_info_server(const char *info, char *out, size_t size) {
    char own[32], redis[32];
    replay_info_text(info, "evenkeel_version", own, sizeof(own));
    replay_info_text(info, "redis_version", redis, sizeof(redis));
    snprintf(out, size, "%s%s%sRedis %s", *own ? "Evenkeel " : "", own, *own ? ", " : "",
             *redis ? redis : "of an unknown version");
}
