/* SPDX-License-Identifier: BSD-3-Clause
 * The message that Sentinels publish to find each other: eight fields, separated by commas.
 *
 *   ip , port , run id , current epoch , name , primary's ip , primary's port , config epoch
 *   '--- of the Sentinel that speaks ---'  '------------ of a primary that it watches ------------'
 *
 * Anyone who may publish to the channel can send such a message, so each field is tested before it
 * counts (foreign_text.h). A message with one bad field is dropped as a whole. So is one whose
 * config epoch is above its current epoch, because a configuration gets its epoch from an election:
 * whoever adopted both could hold a failover of its own for older than what it has.
 *
 * Invariants
 *  1. A message that sentinel_hello_parse accepts is the one that sentinel_hello_write makes of it.
 *  2. Neither function allocates; the slices of a parsed message lie in the text.
 */
#ifndef EVENKEEL_SENTINEL_HELLO_H
#define EVENKEEL_SENTINEL_HELLO_H
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/string.h"

struct sentinel_hello {
    struct slice host; /* of the Sentinel: an address, or a name that it announces */
    int port;
    struct slice run_id;
    uint64_t current_epoch;
    struct slice name; /* of the primary */
    struct slice primary_host;
    int primary_port;
    uint64_t config_epoch;
};

/* Reads a message. Returns false where the text has another number of fields or a field that cannot
 * be right; `hello` is undefined then. The name is not tested, because only a name that is watched
 * here counts, except that it is not empty. The slices are valid as long as the text is. */
MUST_USE bool sentinel_hello_parse(struct slice text, struct sentinel_hello *hello);
/* Appends the message to `out`. The hosts and the name must not have a comma in them. */
void sentinel_hello_write(const struct sentinel_hello *hello, struct buffer *out);
#endif
