/* SPDX-License-Identifier: BSD-3-Clause
 * The password of the default user.
 *
 * Setting one asks of new clients to authenticate; those that are connected stay as they are.
 * Clearing it lets in those that wait to authenticate.
 */
#include "exec/auth.h"

#include "net/client.h"
#include "option/option.h"

static char *password;

static bool apply_password(const struct option_row *row, char *reason, size_t reason_size) {
    client_set_authentication_required(auth_password_is_set());
    if (auth_password_is_set()) return true;
    LIST_FOR_EACH (link, following, client_list()) {
        LIST_ENTRY(link, struct client, link)->flags |= CLIENT_AUTHENTICATED;
    }
    return true;
}

static const struct option_row option_rows[] = {
    {.name = "requirepass",
     .type = OPTION_TYPE_STRING,
     .flags = OPTION_MUTABLE | OPTION_SECRET,
     .section = "security",
     .place = 10,
     .fallback = "",
     .variable = &password,
     .apply = apply_password,
     .help = "Password that clients must give with AUTH before anything else; none if empty. Since "
             "many passwords can be tried in a second, take a long random one."},
};

void auth_register(void) {
    option_register(option_rows, sizeof(option_rows) / sizeof(option_rows[0]));
}

bool auth_password_is_set(void) { return password && *password; }

bool auth_password_matches(struct slice given) {
    if (!auth_password_is_set()) return true;
    size_t length = strlen(password);
    if (given.length != length) return false;
    unsigned difference = 0;
    for (size_t i = 0; i < length; i++)
        difference |= (unsigned char)(given.bytes[i] ^ ((volatile const char *)password)[i]);
    return difference == 0;
}
