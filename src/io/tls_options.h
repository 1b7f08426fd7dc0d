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

void tls_options_register(void);
/* At the start, when all options have been read: makes the contexts where anything needs them.
 * Before this, values are only kept. False, with lines in the log, where that is impossible. */
MUST_USE bool tls_options_open(void);
/* Whether clients are accepted over TLS. True: the contexts are there, made where they were not;
 * false with a reason, and a line in the log, where that is impossible, and nothing has changed. */
bool tls_options_serve(bool serves, char *reason, size_t reason_size);
/* What connections to a primary, and to other servers that keys move to, go over: NULL = plain
 * sockets. As tls-replication and tls-cluster say. */
const struct connection_transport *tls_for_replication(void);
const struct connection_transport *tls_for_cluster(void);
#endif
