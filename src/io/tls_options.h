/* SPDX-License-Identifier: BSD-3-Clause
 * The server's TLS options, except tls-port (net/listen.h). The TLS contexts are made from them,
 * and are made anew when one of them is set.
 */
#ifndef EVENKEEL_IO_TLS_OPTIONS_H
#define EVENKEEL_IO_TLS_OPTIONS_H
#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"

struct connection_transport;
struct option_row;

/* A module above this folder that connects to other servers, or accepts connections that are no
 * clients, over TLS if an option of its own says so. The module declares this struct, static, and
 * the option's row beside its own code: a bool in the section tls whose `variable` is `wanted` and
 * whose `apply` is tls_options_apply. */
struct tls_user {
    bool wanted;
    bool accepts;          /* it accepts connections; else it connects */
    struct tls_user *next; /* written by tls_options_add_user */
};

void tls_options_register(void);
/* Makes the contexts, if a port or a user needs them. Called at start, when all options have been
 * read; before this call values are only kept. Returns false, with lines in the log, if the
 * contexts cannot be made. */
MUST_USE bool tls_options_open(void);
/* Sets whether clients are accepted over TLS. Returns true if that holds now; contexts that are
 * needed and missing were made. Returns false, with a reason and a line in the log, if they cannot
 * be made; nothing has changed then. */
bool tls_options_serve(bool serves, char *reason, size_t reason_size);
/* Adds a user, for good. Called once for each user, where its module registers the option. */
void tls_options_add_user(struct tls_user *user);
/* The transport of the user's connections; NULL = plain sockets. */
const struct connection_transport *tls_for(const struct tls_user *user);
/* The `apply` of an option's row whose value the contexts are made from: makes the contexts anew,
 * if a port or a user needs them. */
bool tls_options_apply(const struct option_row *row, char *reason, size_t reason_size);
#endif
