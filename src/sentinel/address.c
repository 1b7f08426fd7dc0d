/* SPDX-License-Identifier: BSD-3-Clause
 * Addresses and names. address.h has the idea and the states of a name.
 *
 * Invariants
 *  1. `lookup` of a name is not NULL exactly while it is looked up; then its watcher has an
 *     interest.
 *  2. `names` has at most NAMES_MAX entries, the one that was asked for last in front.
 */
#include "sentinel/address.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/panic.h"
#include "io/lookup.h"
#include "io/loop.h"
#include "sentinel/settings.h"

/* Each watched name is asked for at every reconnection, so that the names that give way are those
 * that foreign messages mention. */
#define NAMES_MAX 4096
/* Lookups that wait for an answer: a silent resolver may not collect descriptors without end. */
#define LOOKUPS_MAX 256
#define AGAIN_MSEC 1000
#define REASON_CHARS 128

struct host_name {
    struct list_link link;
    struct loop_watcher watcher;
    struct lookup *lookup;
    int64_t asked; /* when the last lookup began */
    bool answered, found;
    char ip[SOCKET_ADDRESS_CHARS];
    char host[];
};

static struct list_link names = {&names, &names};
static size_t name_count, lookup_count;
static struct loop *address_loop;
static void (*tell_answered)(const char *host);

void sentinel_address_open(struct loop *loop, void (*answered)(const char *host)) {
    address_loop = loop;
    tell_answered = answered;
}

/* ---- names ---- */

static void end_lookup(struct host_name *n) {
    loop_unwatch(address_loop, &n->watcher);
    n->lookup = NULL;
    lookup_count--;
}

static void name_ready(struct loop_watcher *watcher, unsigned ready) {
    struct host_name *n = LIST_ENTRY(watcher, struct host_name, watcher);
    char ip[SOCKET_ADDRESS_CHARS], reason[REASON_CHARS];
    struct lookup *lookup = n->lookup;
    end_lookup(n);
    list_remove(&n->link); /* in front, so that it does not give way while it is told of */
    list_prepend(&names, &n->link);
    bool found = lookup_take(lookup, ip, reason, sizeof(reason));
    bool news = !n->answered || (found && (!n->found || strcmp(ip, n->ip) != 0));
    if (!found && (!n->answered || n->found))
        log_warning("The name '%s' is not found: %s", n->host, reason);
    /* A number that was found once holds until there is another one. */
    if (found) snprintf(n->ip, sizeof(n->ip), "%s", ip);
    n->found = found || n->found;
    n->answered = true;
    if (news && tell_answered) tell_answered(n->host);
}

static void begin_lookup(struct host_name *n) {
    char reason[REASON_CHARS];
    if (n->lookup || !address_loop || lookup_count == LOOKUPS_MAX) return;
    n->asked = clock_monotonic_msec();
    n->lookup = lookup_begin(n->host, reason, sizeof(reason));
    if (!n->lookup) return;
    lookup_count++;
    n->watcher = (struct loop_watcher){.fd = lookup_fd(n->lookup), .callback = name_ready};
    if (loop_watch(address_loop, &n->watcher, LOOP_READABLE)) return;
    lookup_drop(n->lookup);
    end_lookup(n);
}

static void drop_name(struct host_name *n) {
    if (n->lookup) {
        lookup_drop(n->lookup);
        end_lookup(n);
    }
    list_remove(&n->link);
    name_count--;
    memory_free(n, MEMORY_OTHER);
}

static struct host_name *add_name(struct slice host) {
    struct host_name *n = memory_zalloc(sizeof(*n) + host.length + 1, MEMORY_OTHER);
    memcpy(n->host, host.bytes, host.length);
    n->host[host.length] = '\0';
    if (name_count == NAMES_MAX) drop_name(LIST_ENTRY(names.previous, struct host_name, link));
    list_prepend(&names, &n->link);
    name_count++;
    return n;
}

static struct host_name *find_name(struct slice host) {
    LIST_FOR_EACH (link, following, &names) {
        struct host_name *n = LIST_ENTRY(link, struct host_name, link);
        if (slice_is(host, n->host)) return n;
    }
    return NULL;
}

/* Whether the text has the form of a host: no blank and no control character stands in it, because
 * it becomes a word of a line of the file, of INFO and of hello messages. */
static bool has_host_form(struct slice host) {
    if (host.length == 0 || host.length > SENTINEL_HOST_CHARS_MAX) return false;
    for (size_t i = 0; i < host.length; i++) {
        unsigned char c = (unsigned char)host.bytes[i];
        if (c <= ' ' || c >= 127 || c == ',' || c == '"' || c == '\'' || c == '\\') return false;
    }
    return true;
}

/* The host that was read last, and the number that it is, "" = none. A list of replicas compares
 * one host with many addresses. */
static char last_host[SOCKET_ADDRESS_CHARS], last_number[SOCKET_ADDRESS_CHARS];

/* Takes the host's number in its usual form if the host is a number. A number has several forms,
 * and two forms of one address must not be taken for two addresses. */
static bool take_number(struct slice host, char ip[SOCKET_ADDRESS_CHARS]) {
    if (host.length >= sizeof(last_host)) return false;
    if (!slice_is(host, last_host)) {
        memcpy(last_host, host.bytes, host.length);
        last_host[host.length] = '\0';
        if (!socket_read_address(last_host, last_number)) last_number[0] = '\0';
    }
    if (!last_number[0]) return false;
    memcpy(ip, last_number, sizeof(last_number));
    return true;
}

bool sentinel_address_allows(struct slice host) {
    char ip[SOCKET_ADDRESS_CHARS];
    return has_host_form(host) && (take_number(host, ip) || sentinel_settings()->resolve_hostnames);
}

enum sentinel_host sentinel_address_find(struct slice host, char ip[SOCKET_ADDRESS_CHARS]) {
    if (!has_host_form(host)) return SENTINEL_HOST_REFUSED;
    if (take_number(host, ip)) return SENTINEL_HOST_KNOWN;
    if (!sentinel_settings()->resolve_hostnames) return SENTINEL_HOST_REFUSED;
    struct host_name *n = find_name(host);
    if (!n) n = add_name(host);
    list_remove(&n->link);
    list_prepend(&names, &n->link);
    if (!n->asked || clock_monotonic_msec() - n->asked > AGAIN_MSEC) begin_lookup(n);
    if (!n->found) return n->answered ? SENTINEL_HOST_UNKNOWN : SENTINEL_HOST_WAITS;
    memcpy(ip, n->ip, sizeof(n->ip));
    return SENTINEL_HOST_KNOWN;
}

/* ---- addresses ---- */

void sentinel_address_clear(struct sentinel_address *a) {
    memory_free(a->host, MEMORY_OTHER);
    *a = (struct sentinel_address){0};
}

bool sentinel_address_refresh(struct sentinel_address *a) {
    return sentinel_address_find(slice_of(a->host), a->ip) == SENTINEL_HOST_KNOWN;
}

void sentinel_address_set(struct sentinel_address *a, struct slice host, int port) {
    char *copy = slice_dup_c_string(host, MEMORY_OTHER);
    sentinel_address_clear(a);
    a->host = copy;
    a->port = port;
    if (!sentinel_address_refresh(a)) a->ip[0] = '\0';
}

void sentinel_address_copy(struct sentinel_address *to, const struct sentinel_address *from) {
    struct sentinel_address copy = *from;
    copy.host = memory_strdup(from->host, MEMORY_OTHER);
    sentinel_address_clear(to);
    *to = copy;
}

bool sentinel_address_is(const struct sentinel_address *a, struct slice host, int port) {
    char ip[SOCKET_ADDRESS_CHARS];
    if (a->port != port) return false;
    if (slice_is(host, a->host)) return true;
    return a->ip[0] && sentinel_address_find(host, ip) == SENTINEL_HOST_KNOWN &&
           strcasecmp(a->ip, ip) == 0;
}

bool sentinel_address_equal(const struct sentinel_address *a, const struct sentinel_address *b) {
    if (a->port != b->port) return false;
    return strcasecmp(a->host, b->host) == 0 || (a->ip[0] && strcasecmp(a->ip, b->ip) == 0);
}

const char *sentinel_address_shown(const struct sentinel_address *a) {
    return sentinel_settings()->announce_hostnames || !a->ip[0] ? a->host : a->ip;
}
