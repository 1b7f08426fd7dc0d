/* SPDX-License-Identifier: BSD-3-Clause
 * Hello messages. hello.h has the idea.
 */
#include "sentinel/hello.h"

#include <inttypes.h>
#include <string.h>

#include "base/panic.h"
#include "sentinel/foreign_text.h"

enum field {
    FIELD_HOST,
    FIELD_PORT,
    FIELD_RUN_ID,
    FIELD_CURRENT_EPOCH,
    FIELD_NAME,
    FIELD_PRIMARY_HOST,
    FIELD_PRIMARY_PORT,
    FIELD_CONFIG_EPOCH,
    FIELDS
};

/* Returns false where there are more or fewer than FIELDS fields. */
static bool split_fields(struct slice text, struct slice fields[FIELDS]) {
    for (size_t i = 0; i < FIELDS; i++) {
        const char *comma = text.length ? memchr(text.bytes, ',', text.length) : NULL;
        bool is_last = i == FIELDS - 1;
        if (is_last != !comma) return false;
        size_t length = comma ? (size_t)(comma - text.bytes) : text.length;
        fields[i] = (struct slice){text.bytes, length};
        if (is_last) return true;
        text = (struct slice){comma + 1, text.length - length - 1};
    }
    return false;
}

bool sentinel_hello_parse(struct slice text, struct sentinel_hello *hello) {
    struct slice fields[FIELDS];
    if (!split_fields(text, fields)) return false;
    hello->host = fields[FIELD_HOST];
    hello->run_id = fields[FIELD_RUN_ID];
    hello->name = fields[FIELD_NAME];
    hello->primary_host = fields[FIELD_PRIMARY_HOST];
    return sentinel_foreign_is_host(hello->host) && sentinel_foreign_is_id(hello->run_id) &&
           hello->name.length > 0 && sentinel_foreign_is_host(hello->primary_host) &&
           sentinel_foreign_port(fields[FIELD_PORT], &hello->port) &&
           sentinel_foreign_port(fields[FIELD_PRIMARY_PORT], &hello->primary_port) &&
           sentinel_foreign_epoch(fields[FIELD_CURRENT_EPOCH], &hello->current_epoch) &&
           sentinel_foreign_epoch(fields[FIELD_CONFIG_EPOCH], &hello->config_epoch) &&
           hello->config_epoch <= hello->current_epoch;
}

static void append_field(struct buffer *out, struct slice field) {
    ASSERT(field.length && !memchr(field.bytes, ',', field.length));
    buffer_append(out, field.bytes, field.length);
    buffer_append_char(out, ',');
}

void sentinel_hello_write(const struct sentinel_hello *hello, struct buffer *out) {
    append_field(out, hello->host);
    buffer_printf(out, "%d,", hello->port);
    append_field(out, hello->run_id);
    buffer_printf(out, "%" PRIu64 ",", hello->current_epoch);
    append_field(out, hello->name);
    append_field(out, hello->primary_host);
    buffer_printf(out, "%d,%" PRIu64, hello->primary_port, hello->config_epoch);
}
