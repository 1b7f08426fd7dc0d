/* SPDX-License-Identifier: BSD-3-Clause
 * Users in files: the option aclfile, or `user` lines of the configuration.
 */
#ifndef EVENKEEL_ACCESS_ACL_FILE_H
#define EVENKEEL_ACCESS_ACL_FILE_H
#include <stdbool.h>

#include "base/attributes.h"
#include "base/string.h"

struct acl_users;
struct client;

void acl_file_register(void); /* user, aclfile */
/* Creates the users that the configuration, or the file, describes. False, after a line in the log,
 * where these have a fault. Once, before clients connect. */
MUST_USE bool acl_file_open(void);
/* Whether aclfile is set. */
bool acl_file_is_set(void);
/* ACL LOAD: replaces all users by those of the file. Where the file has any fault, changes nothing:
 * false, with all faults appended to `error`. Clients of users other than the default one are
 * disconnected, `self` after its reply. */
MUST_USE bool acl_file_load(struct client *self, struct buffer *error);
/* ACL SAVE: writes the file; false, after a line in the log, where that fails. */
MUST_USE bool acl_file_save(void);

/* Reads a file's text into the set. Faults are appended to `errors`, with `name` as the file's
 * name; true if there is none. */
FOR_TESTS bool acl_file_parse(struct slice text, const char *name, struct acl_users *into,
                              struct buffer *errors);
/* Appends all users in the form of a file, a line each, ordered by name. */
FOR_TESTS void acl_file_print(struct buffer *out);
#endif
