/* SPDX-License-Identifier: BSD-3-Clause
 * The server's options of TLS, tls-port excepted (net/listen.h): what its contexts are made from,
 * and made anew from when one of them is set.
 */
#ifndef EVENKEEL_IO_TLS_OPTIONS_H
#define EVENKEEL_IO_TLS_OPTIONS_H
#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"

struct connection_transport;
struct option_row;

/* Something of a folder above that connects to other servers, over TLS where an option of its own
 * says so. The folder declares it, static, and the option's row beside its own code: a bool in the
 * section tls, `variable` being `wanted` here and `apply` tls_options_apply. */
struct tls_user {
    bool wanted;
    struct tls_user *next; /* tls_options_add_user's */
};

void tls_options_register(void);
/* At the start, when all options have been read: makes the contexts where anything needs them.
 * Before this, values are only kept. False, with lines in the log, where that is impossible. */
MUST_USE bool tls_options_open(void);
/* Whether clients are accepted over TLS. True: the contexts are there, made where they were not;
 * false with a reason, and a line in the log, where that is impossible, and nothing has changed. */
bool tls_options_serve(bool serves, char *reason, size_t reason_size);
/* Once for each user, where its folder registers the option. */
void tls_options_add_user(struct tls_user *user);
/* What the user's connections go over: NULL = plain sockets. */
const struct connection_transport *tls_for(const struct tls_user *user);
/* After a value is set that contexts are made from: makes them anew where anything needs them. For
 * an option's row. */
bool tls_options_apply(const struct option_row *row, char *reason, size_t reason_size);
#endif
