/* SPDX-License-Identifier: BSD-3-Clause
 * Access control: users, which client is which user, and what it may run.
 *
 * A client always has a user: the default user, unless it authenticates as another one. ACL_LIMITED
 * is set while the client's user may not do everything; only then commands are checked.
 * access/acl_rules has the parts of a user and the rules that change them.
 */
#ifndef EVENKEEL_ACCESS_ACL_H
#define EVENKEEL_ACCESS_ACL_H
#include <stdbool.h>
#include <stddef.h>

#include "access/acl_denial.h"
#include "base/attributes.h"
#include "base/string.h"
#include "net/client.h"

struct acl_user;
struct command;

extern struct client_state acl_client_state, acl_principal_state; /* for server/wiring */
/* Flags of a client. With both clear it may do everything. */
enum acl_flags {
    ACL_STRANGER = 1 << 0, /* has not authenticated, but had to when it connected; see acl.c */
    ACL_LIMITED = 1 << 1,  /* its user may not do everything */
};

/* Creates the default user, who may do everything. */
void acl_register(void);

/* ---- users and their clients ---- */

/* The client's user; never NULL. */
const struct acl_user *acl_user_of(const struct client *c);
/* The user of this name; NULL if there is none. */
const struct acl_user *acl_find(struct slice name);
/* Whether the default user has a password, so that AUTH with a password alone makes sense. */
bool acl_default_has_password(void);
/* Makes the named user the client's, if the password is right and the user is on. Otherwise returns
 * false and notes the attempt in ACL LOG (`object` is the command's name as it was sent). */
MUST_USE bool acl_authenticate(struct client *c, struct slice name, struct slice password,
                               struct slice object, enum acl_context context);
/* The user of this name, if it is on and the password is right, for connections that are no
 * clients; otherwise NULL. Notes nothing in ACL LOG. */
const struct acl_user *acl_verify(struct slice name, struct slice password);
/* Whether the user is on and may run the command. */
bool acl_user_may_run(const struct acl_user *u, const struct command *command);
/* RESET: the client's user becomes what it is for a new connection. */
void acl_reset(struct client *c);
/* Makes a captured client act for another one, whose rights apply then; NULL ends that. It must be
 * ended before the other client closes. */
void acl_act_for(struct client *c, struct client *principal);
/* The client for which `c` acts; `c` itself where it acts for none. */
struct client *acl_principal(struct client *c);

/* ---- the check ---- */

/* Whether the client may run the command; `*at` becomes the argument (key or channel) that is
 * denied. Notes nothing. One test for a client that may do everything; otherwise O(keys *
 * patterns). */
FOR_TESTS enum acl_denial acl_check(const struct client *c, const struct command *command, int argc,
                                    const struct slice *argv, int *at);
/* Whether the client may run the command; notes a denial in ACL LOG. Does not check whether the
 * client must authenticate first: the caller does that, and replies. One test for a client that may
 * do everything; otherwise O(keys * patterns). */
enum acl_denial acl_admits(struct client *c, const struct command *command, int argc,
                           const struct slice *argv, enum acl_context context);

/* ---- changing users ---- */

/* ACL SETUSER: creates or changes a user by rules, by all of them or none: false with the reason,
 * in 6.2's words, appended to `error`. The user's clients that listen to channels that it has lost
 * are disconnected; `self`, the caller's client, after its reply. O(clients of the server) where
 * the user has any. */
MUST_USE bool acl_set_user(struct slice name, const struct slice *rules, size_t count,
                           struct client *self, struct buffer *error);
/* ACL DELUSER: deletes users; returns how many of the names existed. Their clients are
 * disconnected, `self` after its reply. The default user must not be among them. */
size_t acl_delete_users(const struct slice *names, size_t count, struct client *self);
/* The option requirepass: "" lets every client in as the default user. */
void acl_set_default_password(struct slice password);

/* All users, ordered by name; the caller frees the array (MEMORY_OTHER). */
const struct acl_user **acl_users_by_name(size_t *count);

/* Asserts the invariants; walks everything. */
FOR_TESTS void acl_check_all(void);
#endif
