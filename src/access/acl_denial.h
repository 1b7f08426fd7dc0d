/* SPDX-License-Identifier: BSD-3-Clause
 * What a user is denied, and in which context.
 */
#ifndef EVENKEEL_ACCESS_ACL_DENIAL_H
#define EVENKEEL_ACCESS_ACL_DENIAL_H

enum acl_denial {
    ACL_ALLOWED,
    ACL_DENIED_COMMAND,
    ACL_DENIED_KEY,
    ACL_DENIED_CHANNEL,
    ACL_DENIED_AUTH, /* for ACL LOG: a wrong password or user */
};

/* What a request is a part of, as ACL LOG shows it. */
enum acl_context { ACL_TOPLEVEL, ACL_IN_TRANSACTION, ACL_IN_SCRIPT };
#endif
