/* SPDX-License-Identifier: BSD-3-Clause
 * ACL LOG: denials, the newest first.
 */
#ifndef EVENKEEL_ACCESS_ACL_LOG_H
#define EVENKEEL_ACCESS_ACL_LOG_H
#include <stdint.h>

#include "access/acl_denial.h"
#include "base/string.h"

struct client;

struct acl_log_entry {
    uint64_t count; /* how often; the other members are of the last time */
    const char *reason, *context;
    struct slice object, username, client_info;
    int64_t msec; /* wall time */
};

void acl_log_register(void); /* acllog-max-len */
/* Sets the function that describes a client: CLIENT LIST's line without its line end. Once, at
 * start. */
void acl_log_describe_clients(void (*append)(struct client *c, struct buffer *out));

/* Adds an entry, or counts the denial in an equal entry of the last minute: see acl_log.c. */
void acl_log_note(struct client *c, enum acl_denial denial, struct slice object,
                  struct slice username, enum acl_context context);
void acl_log_clear(void);
int64_t acl_log_count(void);
/* Calls `visit` for up to `limit` entries, the newest first. */
void acl_log_each(int64_t limit, void (*visit)(const struct acl_log_entry *entry, void *context),
                  void *context);
#endif
