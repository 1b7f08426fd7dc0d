/* SPDX-License-Identifier: BSD-3-Clause
 * Sets of users, for access/acl and access/acl_file.
 */
#ifndef EVENKEEL_ACCESS_ACL_INTERNAL_H
#define EVENKEEL_ACCESS_ACL_INTERNAL_H
#include <stdbool.h>
#include <stddef.h>

#include "base/string.h"

struct acl_user;
struct acl_users;
struct client;

struct acl_users *acl_users_create(void);
void acl_users_free(struct acl_users *users); /* and the users in it */
struct acl_user *acl_users_find(const struct acl_users *users, struct slice name);
/* The name must be new; the set owns the user. */
void acl_users_add(struct acl_users *users, struct acl_user *u);
/* A user who may do everything without a password, of the name "default". */
struct acl_user *acl_default_create(void);

/* The server's users. */
struct acl_users *acl_users_all(void);
/* Takes the place of all users, and owns them from now on: ACL LOAD. The default user keeps its
 * clients and gets the rights of the one of this name in the set (there must be one); clients of
 * all others are disconnected, `self` (may be NULL) after its reply. */
void acl_users_replace(struct acl_users *users, struct client *self);
/* After a user was changed: what its clients may do, and which of them must go. */
void acl_user_changed(struct acl_user *u, struct client *self);
#endif
