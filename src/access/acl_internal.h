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
/* Creates the user "default", who may do everything without a password. */
struct acl_user *acl_default_create(void);

/* The server's users. */
struct acl_users *acl_users_all(void);
/* ACL LOAD: replaces all users by this set, which is owned from now on. The default user keeps its
 * clients and gets the rights of the set's default user, which must exist. Clients of all other
 * users are disconnected, `self` (may be NULL) after its reply. */
void acl_users_replace(struct acl_users *users, struct client *self);
/* To be called after a user was changed: sets its clients' flags, and disconnects those that listen
 * to channels that it has lost, `self` (may be NULL) after its reply. */
void acl_user_changed(struct acl_user *u, struct client *self);
#endif
