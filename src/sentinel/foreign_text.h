/* SPDX-License-Identifier: BSD-3-Clause
 * Fields of texts that other machines send: hosts, ports, epochs, ids.
 *
 * A field that passes these tests can be written into a line of the configuration file and into an
 * event: it has no blank, no quote, no comma and no byte that cannot be printed.
 */
#ifndef EVENKEEL_SENTINEL_FOREIGN_TEXT_H
#define EVENKEEL_SENTINEL_FOREIGN_TEXT_H
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/string.h"
#include "sentinel/address.h"

/* No count of elections reaches this epoch. A higher one in a message is a fault or an attack: a
 * Sentinel that adopted the highest number could never take the next one. */
#define SENTINEL_EPOCH_MAX ((uint64_t)INT64_MAX)

/* Returns whether the text is an address or a name of a host as far as its characters tell: 1 to
 * SENTINEL_HOST_CHARS_MAX letters, digits, and . : - _ % */
bool sentinel_foreign_is_host(struct slice text);
/* Returns whether the text is a run id: SENTINEL_ID_CHARS hexadecimal digits. */
bool sentinel_foreign_is_id(struct slice text);
/* Reads a port, 1 to 65535. Returns false, with `port` unchanged, for any other text. */
MUST_USE bool sentinel_foreign_port(struct slice text, int *port);
/* Reads an epoch, 0 to SENTINEL_EPOCH_MAX. Returns false, with `epoch` unchanged, for any other
 * text. */
MUST_USE bool sentinel_foreign_epoch(struct slice text, uint64_t *epoch);
#endif
