/* SPDX-License-Identifier: BSD-3-Clause
 * The option requirepass, which was there before there were users: setting it gives the default
 * user this one password, and clearing it lets everybody in. What ACL SETUSER makes of that user's
 * passwords later does not show in the option: as 6.2.
 *
 * Clients that are connected stay as they are. A password may hold any bytes, so the option is no
 * text of the engine's.
 */
#include "access/auth.h"

#include <stdio.h>

#include "access/acl.h"
#include "option/option.h"

/* So that it fits into a line of a file, each byte taking four when quoted. */
#define PASSWORD_BYTES_MAX (OPTION_LINE_BYTES_MAX / 8)

static struct buffer password = {.class = MEMORY_OTHER}; /* empty = none */

/* CONFIG SET's value comes split at each blank: put together again. A line has one word. */
static bool password_parse(const struct option_row *row, const struct slice *words, size_t count,
                           char *reason, size_t reason_size) {
    bool split = option_source_now() == OPTION_FROM_CONFIG_SET;
    size_t length = 0;
    if (count > 1 && !split) return false;
    for (size_t i = 0; i < count; i++) length += words[i].length + 1;
    if (length > PASSWORD_BYTES_MAX) {
        snprintf(reason, reason_size, "a password has at most %d bytes", PASSWORD_BYTES_MAX - 1);
        return false;
    }
    buffer_clear(&password);
    for (size_t i = 0; i < count; i++) {
        if (i) buffer_append_char(&password, ' ');
        buffer_append(&password, words[i].bytes, words[i].length);
    }
    return true;
}

static void password_print(const struct option_row *row, struct buffer *out) {
    buffer_append(out, password.bytes, password.length);
}

static void password_rewrite(const struct option_row *row, struct buffer *out) {
    buffer_printf(out, "%s ", row->name);
    buffer_append_quoted(out, buffer_slice(&password));
    buffer_append_char(out, '\n');
}

static bool apply_password(const struct option_row *row, char *reason, size_t reason_size) {
    acl_set_default_password(buffer_slice(&password));
    return true;
}

static const struct option_row option_rows[] = {
    {.name = "requirepass",
     .type = OPTION_TYPE_CUSTOM,
     .flags = OPTION_MUTABLE | OPTION_SECRET,
     .section = "security",
     .place = 10,
     .fallback = "",
     .parse = password_parse,
     .print = password_print,
     .rewrite = password_rewrite,
     .apply = apply_password,
     .help = "Password that clients must give with AUTH before anything else; none if empty. Since "
             "many passwords can be tried in a second, take a long random one."},
};

void auth_register(void) {
    option_register(option_rows, sizeof(option_rows) / sizeof(option_rows[0]));
}
