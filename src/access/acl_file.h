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
/* Takes the users that the configuration, or the file, tells of. False after a line in the log
 * where they are at fault. Once, before clients connect. */
MUST_USE bool acl_file_open(void);
/* Whether aclfile is set. */
bool acl_file_is_set(void);
/* ACL LOAD: all users as the file has them, or, where anything in it is at fault, no change: false
 * with all faults appended to `error`. Clients of users other than the default one are
 * disconnected, `self` after its reply. */
MUST_USE bool acl_file_load(struct client *self, struct buffer *error);
/* ACL SAVE: false after a line in the log. */
MUST_USE bool acl_file_save(void);

/* Reads a file's text into the set. `name` is the file's, for the faults, which are appended to
 * `errors`; true where there is none. */
FOR_TESTS bool acl_file_parse(struct slice text, const char *name, struct acl_users *into,
                              struct buffer *errors);
/* All users as a file has them, a line each, ordered by name. */
FOR_TESTS void acl_file_print(struct buffer *out);
#endif
