/* SPDX-License-Identifier: BSD-3-Clause
 * ACL LOG: a list of at most acllog-max-len entries.
 *
 * A client that is denied the same thing again and again must not push all other entries out. So an
 * entry of the last minute with the same reason, context, object and user is updated, counted, and
 * moved to the front. As in 6.2 only the newest GROUP_ENTRIES are compared, so that the cost does
 * not depend on the log's length.
 *
 * Objects are foreign bytes: keys of any length, names of users that do not exist. A long one is
 * cut, and says so, because maxmemory does not bound the log.
 *
 * Invariant: `count` is the length of the list. It is above acllog-max-len only between a change of
 * the option and the next denial, as in 6.2.
 */
#include "access/acl_log.h"

#include "base/clock.h"
#include "base/list.h"
#include "base/memory.h"
#include "net/client.h"
#include "option/option.h"

#define GROUP_MSEC 60000
#define GROUP_ENTRIES 10 /* entries that are compared: 6.2's number */
/* The length at which an object or a user's name is cut; enough for any name given by a person. */
#define TEXT_BYTES_MAX 4096

struct logged {
    struct list_link link;
    struct acl_log_entry entry;
};

static struct list_link entries = {&entries, &entries};
static int64_t count, count_max;
static void (*describe)(struct client *c, struct buffer *out);

static const struct option_row option_rows[] = {
    OPTION_INT("acllog-max-len", &count_max, "128", 0, INT64_MAX, OPTION_MUTABLE, "security", 220,
               "Entries that ACL LOG keeps at most."),
};

void acl_log_register(void) {
    option_register(option_rows, sizeof(option_rows) / sizeof(option_rows[0]));
}

void acl_log_describe_clients(void (*append)(struct client *c, struct buffer *out)) {
    describe = append;
}

static const char *reason_of(enum acl_denial denial) {
    switch (denial) {
    case ACL_DENIED_COMMAND: return "command";
    case ACL_DENIED_KEY: return "key";
    case ACL_DENIED_CHANNEL: return "channel";
    case ACL_DENIED_AUTH: return "auth";
    case ACL_ALLOWED: break;
    }
    return "unknown";
}

static struct slice text_dup(struct slice text) {
    struct buffer cut;
    if (text.length <= TEXT_BYTES_MAX)
        return (struct slice){slice_dup_c_string(text, MEMORY_OTHER), text.length};
    buffer_init(&cut, MEMORY_OTHER);
    buffer_append(&cut, text.bytes, TEXT_BYTES_MAX);
    buffer_printf(&cut, "... (%zu more bytes)", text.length - TEXT_BYTES_MAX);
    return buffer_slice(&cut); /* the slice owns the block now */
}

static void text_free(struct slice text) { memory_free((char *)text.bytes, MEMORY_OTHER); }

static struct slice description_of(struct client *c) {
    struct buffer text;
    buffer_init(&text, MEMORY_OTHER);
    if (describe) describe(c, &text);
    struct slice copy = {slice_dup_c_string(buffer_slice(&text), MEMORY_OTHER), text.length};
    buffer_free(&text);
    return copy;
}

static void logged_drop(struct logged *l) {
    list_remove(&l->link);
    text_free(l->entry.object);
    text_free(l->entry.username);
    text_free(l->entry.client_info);
    memory_free_sized(l, sizeof(*l), MEMORY_OTHER);
    count--;
}

/* Compares reasons and contexts by address: each is one literal. */
static bool can_join(const struct acl_log_entry *old, const struct acl_log_entry *new) {
    return old->reason == new->reason &&
           old->context == new->context &&new->msec - old->msec <=
                               GROUP_MSEC &&slice_equal(old->object, new->object) &&
           slice_equal(old->username, new->username);
}

static struct logged *find_equal(const struct acl_log_entry *new) {
    int looked_at = 0;
    LIST_FOR_EACH (link, following, &entries) {
        struct logged *l = LIST_ENTRY(link, struct logged, link);
        if (can_join(&l->entry, new)) return l;
        if (++looked_at == GROUP_ENTRIES) break;
    }
    return NULL;
}

static const char *const context_names[] = {
    [ACL_TOPLEVEL] = "toplevel", [ACL_IN_TRANSACTION] = "multi", [ACL_IN_SCRIPT] = "lua"};

void acl_log_note(struct client *c, enum acl_denial denial, struct slice object,
                  struct slice username, enum acl_context context) {
    struct logged *l = memory_alloc(sizeof(*l), MEMORY_OTHER);
    l->entry = (struct acl_log_entry){
        .count = 1,
        .reason = reason_of(denial),
        .context = context_names[context],
        .object = text_dup(object),
        .username = text_dup(username),
        .client_info = description_of(c),
        .msec = clock_cached_msec(),
    };
    struct logged *equal = find_equal(&l->entry);
    if (equal) {
        l->entry.count += equal->entry.count;
        logged_drop(equal);
    }
    list_prepend(&entries, &l->link);
    count++;
    while (count > count_max) logged_drop(LIST_ENTRY(entries.previous, struct logged, link));
}

void acl_log_clear(void) {
    while (count) logged_drop(LIST_ENTRY(entries.next, struct logged, link));
}

int64_t acl_log_count(void) { return count; }

void acl_log_each(int64_t limit, void (*visit)(const struct acl_log_entry *entry, void *context),
                  void *context) {
    LIST_FOR_EACH (link, following, &entries) {
        if (limit-- <= 0) return;
        visit(&LIST_ENTRY(link, struct logged, link)->entry, context);
    }
}
