/* SPDX-License-Identifier: BSD-3-Clause
 * Access control: users, which client is which user, and what it may run.
 *
 * A client has a user from the beginning: the default one, unless it authenticates as another.
 * ACL_LIMITED is set while its user may not do everything: only then there is something to
 * check. What a user is made of, and the rules that change it, is access/acl_rules'.
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
/* Flags of a client. Clear, both: it may do everything. */
enum acl_flags {
    ACL_STRANGER = 1 << 0, /* it has not authenticated, and had to when it came; see acl.c */
    ACL_LIMITED = 1 << 1,  /* its user may not do everything */
};

/* Makes the default user, who may do everything. */
void acl_register(void);

/* ---- who is who ---- */

/* Never NULL. */
const struct acl_user *acl_user_of(const struct client *c);
/* NULL where there is none. */
const struct acl_user *acl_find(struct slice name);
/* Whether AUTH with a password alone makes sense: it is about the default user. */
bool acl_default_has_password(void);
/* Makes it the client's user, where the password is right and the user is on; otherwise notes it
 * in ACL LOG (`object` is the command as it was called) and returns false. */
MUST_USE bool acl_authenticate(struct client *c, struct slice name, struct slice password,
                               struct slice object, enum acl_context context);
/* RESET: as if it had just connected. */
void acl_reset(struct client *c);
/* A captured client acts for another one, whose rights are asked then; NULL: for nobody any more.
 * Before the other one closes. */
void acl_act_for(struct client *c, struct client *principal);
/* For which it acts; itself where it does for nobody. */
struct client *acl_principal(struct client *c);

/* ---- what it may run ---- */

/* Whether the client may run this; `*at` gets the argument (key or channel) that is denied. Notes
 * nothing. One test for who may do everything; otherwise O(keys * patterns). */
FOR_TESTS enum acl_denial acl_check(const struct client *c, const struct command *command, int argc,
                                    const struct slice *argv, int *at);
/* The same, and notes in ACL LOG what is denied. Who must authenticate first is another matter: the
 * caller looks, and the caller replies. */
enum acl_denial acl_admits(struct client *c, const struct command *command, int argc,
                           const struct slice *argv, enum acl_context context);

/* ---- changing users ---- */

/* ACL SETUSER: makes or changes a user by rules, by all or none: false with the reason, in 6.2's
 * words, appended to `error`. Clients that listen to channels that it may not listen to any more
 * are disconnected: `self`, the caller's client, after its reply. O(clients of the server) where
 * the user has any. */
MUST_USE bool acl_set_user(struct slice name, const struct slice *rules, size_t count,
                           struct client *self, struct buffer *error);
/* ACL DELUSER: returns how many there were of these. Their clients are disconnected, `self` after
 * its reply. The default user must not be among them. */
size_t acl_delete_users(const struct slice *names, size_t count, struct client *self);
/* The option requirepass: "" lets everybody in as the default user. */
void acl_set_default_password(struct slice password);

/* All users, ordered by name; the caller frees the array (MEMORY_OTHER). */
const struct acl_user **acl_users_by_name(size_t *count);

/* Asserts the invariants; walks everything. */
FOR_TESTS void acl_check_all(void);
#endif
