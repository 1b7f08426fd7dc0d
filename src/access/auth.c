/* SPDX-License-Identifier: BSD-3-Clause
 * The option requirepass: setting it gives the default user this one password, and clearing it lets
 * every client in. ACL SETUSER's later changes of that user's passwords do not show in the option,
 * as in 6.2.
 *
 * Connected clients stay as they are. A password may hold any bytes, so the option is a custom row,
 * not a string of the engine.
 */
#include "access/auth.h"

#include "access/acl.h"
#include "option/option.h"

static struct buffer password = {.class = MEMORY_OTHER}; /* empty = none */

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
     .variable = &password,
     .parse = option_any_bytes_parse,
     .print = option_any_bytes_print,
     .rewrite = option_any_bytes_rewrite,
     .apply = apply_password,
     .help = "Password that clients must give with AUTH before anything else; none if empty. Since "
             "many passwords can be tried in a second, take a long random one."},
};

void auth_register(void) {
    option_register(option_rows, sizeof(option_rows) / sizeof(option_rows[0]));
}
