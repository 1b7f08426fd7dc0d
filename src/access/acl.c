/* SPDX-License-Identifier: BSD-3-Clause
 * Users, their clients, and the check before each command.
 *
 * Speed: a client whose user may do everything has ACL_LIMITED clear, and exec/gates checks nothing
 * else. For other clients the command is a bit of the user; keys and channels are matched with
 * patterns only where not all are allowed.
 *
 * A client's user is in its client state, so that a client of the default user costs nothing. A
 * change of a user walks all clients, unless the user has none: it sets ACL_LIMITED anew, and
 * disconnects those of its clients that listen to a channel that the user has lost. Clients of a
 * deleted user are disconnected, too. The client whose command does that gets its reply first;
 * until then it has the default user and has not authenticated.
 *
 * As in 6.2, whether a password is needed at all is decided at each command: a client that
 * connected while a password was needed is let in while the default user needs none, and shut out
 * again afterwards.
 *
 * Invariants (acl_check_all)
 *  1. A client's user is in the set, unless the client is the one that still gets its reply.
 *  2. `clients` of a user other than the default one is the number of its clients.
 *  3. ACL_LIMITED is set exactly where the client's user is not ACL_USER_UNLIMITED.
 */
#include "access/acl.h"

#include "access/acl_internal.h"
#include "access/acl_log.h"
#include "access/acl_rules.h"
#include "base/hash.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/panic.h"
#include "command/command.h"
#include "command/command_keys.h"
#include "ds/table.h"
#include "net/reply.h"
#include "publish/pubsub.h"

#define DEFAULT_NAME "default"
#define ALL_FLAGS (uint32_t)(ACL_STRANGER | ACL_LIMITED)

struct acl_users {
    struct table *by_name;
};

static const char *const default_rules[] = {"+@all", "~*", "&*", "on", "nopass"};
static struct acl_users *users;
static struct acl_user *default_user;

/* ---- sets of users ---- */

static uint64_t element_hash(const void *element) {
    const struct acl_user *u = element;
    return hash_bytes(u->name.bytes, u->name.length);
}

static bool element_matches(const void *element, const void *key, size_t length) {
    const struct acl_user *u = element;
    return slice_equal(u->name, (struct slice){key, length});
}

static const struct table_type table_type = {element_hash, element_matches, MEMORY_OTHER};

struct acl_users *acl_users_create(void) {
    struct acl_users *set = memory_alloc(sizeof(*set), MEMORY_OTHER);
    set->by_name = table_create(&table_type);
    return set;
}

static void release_user(void *element, void *context) { acl_user_free(element); }

void acl_users_free(struct acl_users *set) {
    while (!table_free_step(set->by_name, SIZE_MAX, release_user, NULL)) continue;
    memory_free_sized(set, sizeof(*set), MEMORY_OTHER);
}

struct acl_user *acl_users_find(const struct acl_users *set, struct slice name) {
    return table_find(set->by_name, hash_bytes(name.bytes, name.length), name.bytes, name.length);
}

void acl_users_add(struct acl_users *set, struct acl_user *u) {
    table_insert(set->by_name, element_hash(u), u);
}

struct acl_user *acl_default_create(void) {
    struct acl_user *u = acl_user_create(SLICE(DEFAULT_NAME));
    for (size_t i = 0; i < sizeof(default_rules) / sizeof(default_rules[0]); i++) {
        enum acl_fault fault = acl_user_apply(u, slice_of(default_rules[i]));
        ASSERT(fault == ACL_RULE_TAKEN);
    }
    return u;
}

struct acl_users *acl_users_all(void) {
    return users;
}

const struct acl_user *acl_find(struct slice name) { return acl_users_find(users, name); }

struct gathered {
    const struct acl_user **items;
    size_t count;
};

static void gather_user(void *element, void *context) {
    struct gathered *g = context;
    g->items[g->count++] = element;
}

static int compare_names(const void *a, const void *b) {
    const struct acl_user *const *one = a, *const *other = b;
    return slice_compare((*one)->name, (*other)->name);
}

const struct acl_user **acl_users_by_name(size_t *count) {
    struct gathered g = {0};
    *count = table_count(users->by_name);
    g.items = memory_alloc(*count * sizeof(*g.items), MEMORY_OTHER);
    table_each(users->by_name, gather_user, &g);
    qsort(g.items, g.count, sizeof(*g.items), compare_names);
    return g.items;
}

/* ---- clients ---- */

const struct acl_user *acl_user_of(const struct client *c) {
    const struct acl_user *u = client_place(c, &acl_client_state);
    return u ? u : default_user;
}

static bool is_unlimited(const struct acl_user *u) {
    return (u->flags & ACL_USER_UNLIMITED) == ACL_USER_UNLIMITED;
}

static void mark_limits(struct client *c) {
    client_set_flags(c, &acl_client_state, ACL_LIMITED, !is_unlimited(acl_user_of(c)));
}

static void client_become_user(struct client *c, struct acl_user *u) {
    struct acl_user *old = client_place(c, &acl_client_state);
    if (old) old->clients--;
    if (u != default_user) u->clients++;
    client_set_place(c, &acl_client_state, u == default_user ? NULL : u);
    mark_limits(c);
}

/* Whether new clients need no password. */
static bool default_is_open(void) {
    return default_user->flags & ACL_USER_NOPASS && default_user->flags & ACL_USER_ON;
}

bool acl_default_has_password(void) { return !(default_user->flags & ACL_USER_NOPASS); }

void acl_reset(struct client *c) {
    client_become_user(c, default_user);
    client_set_flags(c, &acl_client_state, ACL_STRANGER, !default_is_open());
}

void acl_act_for(struct client *c, struct client *principal) {
    client_set_place(c, &acl_principal_state, principal);
    uint32_t flags = principal ? client_flags(principal, &acl_client_state) : ALL_FLAGS;
    client_set_flags(c, &acl_client_state, flags, true);
    client_set_flags(c, &acl_client_state, ALL_FLAGS & ~flags, false);
}

struct client *acl_principal(struct client *c) {
    struct client *principal = client_place(c, &acl_principal_state);
    return principal ? principal : c;
}

static void client_closes(struct client *c) {
    struct acl_user *u = client_place(c, &acl_client_state);
    if (!u) return;
    u->clients--;
    client_set_place(c, &acl_client_state, NULL);
}

struct client_state acl_client_state = {
    .name = "acl", .flags = 2, .has_place = true, .closing = client_closes};
/* The client for which a captured one acts. */
struct client_state acl_principal_state = {.name = "acl, principal", .has_place = true};

static struct acl_user *find_verified(struct slice name, struct slice password) {
    struct acl_user *u = acl_users_find(users, name);
    return u && u->flags & ACL_USER_ON && acl_user_has_password(u, password) ? u : NULL;
}

const struct acl_user *acl_verify(struct slice name, struct slice password) {
    return find_verified(name, password);
}

bool acl_user_may_run(const struct acl_user *u, const struct command *command) {
    return u->flags & ACL_USER_ON && acl_user_has_command(u, command);
}

bool acl_authenticate(struct client *c, struct slice name, struct slice password,
                      struct slice object, enum acl_context context) {
    struct acl_user *u = find_verified(name, password);
    if (!u) {
        acl_log_note(c, ACL_DENIED_AUTH, object, name, context);
        return false;
    }
    client_become_user(c, u);
    client_set_flags(c, &acl_client_state, ACL_STRANGER, false);
    return true;
}

/* ---- the check ---- */

struct keys_check {
    const struct acl_user *user;
    const struct slice *argv;
    int denied; /* the first argument that is denied; 0: none */
};

static bool check_key(int index, void *context) {
    struct keys_check *check = context;
    if (!acl_user_may_key(check->user, check->argv[index])) check->denied = index;
    return !check->denied;
}

static bool keys_allowed(const struct acl_user *u, const struct command *command, int argc,
                         const struct slice *argv, int *at) {
    struct keys_check check = {u, argv, 0};
    command_each_key(&(struct key_search){command, argc, argv, check_key, &check});
    *at = check.denied;
    return !check.denied;
}

static bool channels_allowed(const struct acl_user *u, const struct command *command, int argc,
                             const struct slice *argv, int *at) {
    int behind = command->channels == COMMAND_CHANNELS_FIRST ? 2 : argc;
    bool patterns = command->channels == COMMAND_CHANNELS_PATTERNS;
    for (int i = 1; i < behind && i < argc; i++) {
        *at = i;
        if (!acl_user_may_channel(u, argv[i], patterns)) return false;
    }
    return true;
}

static bool command_allowed(const struct acl_user *u, const struct command *command, int argc,
                            const struct slice *argv) {
    if (acl_user_has_command(u, command)) return true;
    return argc > 1 && u->subcommands_count && acl_user_has_subcommand(u, command, argv[1]);
}

enum acl_denial acl_check(const struct client *c, const struct command *command, int argc,
                          const struct slice *argv, int *at) {
    const struct acl_user *u = acl_user_of(c);
    *at = 0;
    if (command->flags & COMMAND_NO_AUTH) return ACL_ALLOWED;
    if (client_is_stranger(c)) return ACL_DENIED_COMMAND;
    if (is_unlimited(u)) return ACL_ALLOWED;
    if (!command_allowed(u, command, argc, argv)) return ACL_DENIED_COMMAND;
    if (!(u->flags & ACL_USER_ALL_KEYS) && command_has_keys(command) &&
        !keys_allowed(u, command, argc, argv, at))
        return ACL_DENIED_KEY;
    if (!(u->flags & ACL_USER_ALL_CHANNELS) && command->channels != COMMAND_CHANNELS_NONE &&
        !channels_allowed(u, command, argc, argv, at))
        return ACL_DENIED_CHANNEL;
    return ACL_ALLOWED;
}

static void note_denial(struct client *c, enum acl_denial denial, const struct command *command,
                        struct slice argument, enum acl_context context) {
    struct slice object = denial == ACL_DENIED_COMMAND ? slice_of(command->name) : argument;
    acl_log_note(c, denial, object, acl_user_of(c)->name, context);
}

enum acl_denial acl_admits(struct client *c, const struct command *command, int argc,
                           const struct slice *argv, enum acl_context context) {
    int at;
    enum acl_denial denial = acl_check(c, command, argc, argv, &at);
    if (denial != ACL_ALLOWED) note_denial(c, denial, command, argv[at], context);
    return denial;
}

/* ---- changes ---- */

static void disconnect_client(struct client *c, struct client *self) {
    if (c == self)
        client_close_after_reply(c);
    else
        client_close_later(c);
}

static bool channel_is_lost(struct slice channel, void *user) {
    return !acl_user_may_channel(user, channel, false);
}

static bool pattern_is_lost(struct slice pattern, void *user) {
    return !acl_user_may_channel(user, pattern, true);
}

static bool listens_to_lost(const struct client *c, struct acl_user *u) {
    if (!(c->flags & CLIENT_LISTENS) || u->flags & ACL_USER_ALL_CHANNELS) return false;
    return pubsub_any(c, PUBSUB_CHANNEL, channel_is_lost, u) ||
           pubsub_any(c, PUBSUB_PATTERN, pattern_is_lost, u);
}

void acl_user_changed(struct acl_user *u, struct client *self) {
    if (u == default_user) {
        uint32_t strange = default_is_open() ? 0 : ACL_STRANGER;
        uint32_t limited = is_unlimited(u) ? 0 : ACL_LIMITED;
        client_set_admission(&acl_client_state, strange | limited, strange);
    } else if (!u->clients) {
        return;
    }
    LIST_FOR_EACH (link, following, client_list()) {
        struct client *c = LIST_ENTRY(link, struct client, link);
        if (acl_user_of(c) != u) continue;
        mark_limits(c);
        if (listens_to_lost(c, u)) disconnect_client(c, self);
    }
}

bool acl_set_user(struct slice name, const struct slice *rules, size_t count, struct client *self,
                  struct buffer *error) {
    if (!acl_name_is_valid(name)) {
        buffer_append_c_string(error, "Usernames can't contain spaces or null characters");
        return false;
    }
    struct acl_user *u = acl_users_find(users, name), *changed = acl_user_create(name);
    if (u) acl_user_assign(changed, u);
    for (size_t i = 0; i < count; i++) {
        enum acl_fault fault = acl_user_apply(changed, rules[i]);
        if (fault == ACL_RULE_TAKEN) continue;
        buffer_printf(error, "Error in ACL SETUSER modifier '%.*s': %s", (int)rules[i].length,
                      rules[i].bytes, acl_fault_text(fault));
        acl_user_free(changed);
        return false;
    }
    if (u) {
        acl_user_assign(u, changed);
        acl_user_free(changed);
        acl_user_changed(u, self);
    } else {
        acl_users_add(users, changed);
    }
    return true;
}

/* Disconnects the clients of all users that are `leaving`, which have none then. */
static void disconnect_leaving(struct client *self) {
    LIST_FOR_EACH (link, following, client_list()) {
        struct client *c = LIST_ENTRY(link, struct client, link);
        if (!acl_user_of(c)->leaving) continue;
        /* Clients that are marked as closing, too: the user is freed now. */
        client_become_user(c, default_user);
        client_set_flags(c, &acl_client_state, ACL_STRANGER, true);
        disconnect_client(c, self);
    }
}

size_t acl_delete_users(const struct slice *names, size_t count, struct client *self) {
    struct acl_user **leaving = memory_alloc(count * sizeof(struct acl_user *), MEMORY_OTHER);
    size_t found = 0, clients = 0;
    for (size_t i = 0; i < count; i++) {
        struct acl_user *u = acl_users_find(users, names[i]);
        ASSERT(u != default_user);
        if (!u) continue;
        u->leaving = true;
        clients += u->clients;
        table_remove_element(users->by_name, element_hash(u), u);
        leaving[found++] = u;
    }
    if (clients) disconnect_leaving(self);
    for (size_t i = 0; i < found; i++) acl_user_free(leaving[i]);
    memory_free(leaving, MEMORY_OTHER);
    return found;
}

static void mark_leaving(void *element, void *context) {
    struct acl_user *u = element;
    u->leaving = u != default_user;
}

void acl_users_replace(struct acl_users *set, struct client *self) {
    struct acl_users *old = users;
    struct acl_user *new_default = acl_users_find(set, SLICE(DEFAULT_NAME));
    ASSERT(new_default);
    table_each(old->by_name, mark_leaving, NULL);
    disconnect_leaving(self);
    table_remove_element(old->by_name, element_hash(default_user), default_user);
    table_remove_element(set->by_name, element_hash(new_default), new_default);
    acl_user_assign(default_user, new_default);
    acl_user_free(new_default);
    acl_users_add(set, default_user);
    users = set;
    acl_users_free(old);
    acl_user_changed(default_user, self);
}

void acl_set_default_password(struct slice password) {
    struct buffer rule;
    buffer_init(&rule, MEMORY_OTHER);
    buffer_append_char(&rule, '>');
    buffer_append(&rule, password.bytes, password.length);
    acl_user_apply(default_user, SLICE("resetpass"));
    acl_user_apply(default_user, password.length ? buffer_slice(&rule) : SLICE("nopass"));
    explicit_bzero(rule.bytes, rule.length);
    buffer_free(&rule);
    acl_user_changed(default_user, NULL);
}

/* ---- begin ---- */

void acl_register(void) {
    acl_rules_register();
    users = acl_users_create();
    default_user = acl_default_create();
    acl_users_add(users, default_user);
}

/* ---- checks ---- */

static void check_user(void *element, void *context) {
    struct acl_user *u = element;
    size_t clients = 0;
    acl_user_check(u);
    ASSERT(!u->leaving);
    LIST_FOR_EACH (link, following, client_list()) {
        const struct client *c = LIST_ENTRY(link, struct client, link);
        clients += client_place(c, &acl_client_state) == u;
    }
    ASSERT_COMPARE(clients, ==, u->clients);
}

void acl_check_all(void) {
    table_each(users->by_name, check_user, NULL);
    ASSERT(acl_users_find(users, SLICE(DEFAULT_NAME)) == default_user);
    LIST_FOR_EACH (link, following, client_list()) {
        const struct client *c = LIST_ENTRY(link, struct client, link);
        const struct acl_user *u = acl_user_of(c);
        ASSERT(acl_users_find(users, u->name) == u);
        ASSERT(!(client_flags(c, &acl_client_state) & ACL_LIMITED) == is_unlimited(u));
    }
}
