/* SPDX-License-Identifier: BSD-3-Clause
 * What a user is denied, and in what.
 */
#ifndef EVENKEEL_ACCESS_ACL_DENIAL_H
#define EVENKEEL_ACCESS_ACL_DENIAL_H

enum acl_denial {
    ACL_ALLOWED,
    ACL_DENIED_COMMAND,
    ACL_DENIED_KEY,
    ACL_DENIED_CHANNEL,
    ACL_DENIED_AUTH, /* for ACL LOG: a password or user that is not right */
};

/* What a request is part of, as ACL LOG tells it. */
enum acl_context { ACL_TOPLEVEL, ACL_IN_TRANSACTION, ACL_IN_SCRIPT };
#endif
