/* SPDX-License-Identifier: BSD-3-Clause
 * --cluster import: the keys of a server that is no node, by SCAN there and MIGRATE of each key to
 * the node that owns its slot.
 *
 * Keys that the source gets meanwhile may be missed, as SCAN promises no more.
 */
#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "clusterctl/ctl_check.h"
#include "clusterctl/ctl_commands.h"
#include "clusterctl/ctl_talk.h"
#include "tools/tool_connection.h"
#include "tools/tool_password.h"

#define SCAN_COUNT 1000
#define WORDS_MAX 12

/* A page of SCAN, copied. */
struct page {
    struct buffer cursor, bytes;
    size_t *ends; /* of each key, in `bytes` */
    size_t count;
};

static void free_page(struct page *p) {
    buffer_free(&p->bytes);
    memory_free(p->ends, MEMORY_OTHER);
    p->ends = NULL;
    p->count = 0;
}

/* Copies the reply to SCAN; false where it is none. */
static bool copy_page(struct page *p, const struct peer_reply *reply) {
    if (reply->type != PEER_ARRAY || reply->children != 2) return false;
    const struct peer_reply *cursor = peer_reply_first(reply), *keys = peer_reply_next(cursor);
    if (cursor->type != PEER_BULK || keys->type != PEER_ARRAY) return false;
    buffer_clear(&p->cursor);
    buffer_append(&p->cursor, cursor->text.bytes, cursor->text.length);
    p->ends = memory_alloc((keys->children + 1) * sizeof(*p->ends), MEMORY_OTHER);
    const struct peer_reply *key = keys->children ? peer_reply_first(keys) : NULL;
    for (; p->count < keys->children; key = peer_reply_next(key)) {
        if (key->type != PEER_BULK) return false;
        buffer_append(&p->bytes, key->text.bytes, key->text.length);
        p->ends[p->count++] = p->bytes.length;
    }
    return true;
}

static struct ctl_node *owner_of(const struct ctl_cluster *c, struct slice key) {
    unsigned slot = key_slot_of(key);
    for (size_t i = 0; i < c->count; i++)
        if (ctl_node_is_primary(c->nodes[i]) && ctl_slots_has(&c->nodes[i]->self.slots, slot))
            return c->nodes[i];
    return NULL;
}

static bool send_migrate(struct ctl_run *r, struct ctl_node *source, const struct ctl_node *to,
                         struct slice key) {
    const struct tool_connection *login = to->login;
    char port[NUMBER_INT64_CHARS], timeout[NUMBER_INT64_CHARS];
    struct slice words[WORDS_MAX];
    size_t count = 0;
    words[count++] = SLICE("MIGRATE");
    words[count++] = slice_of(to->host);
    words[count++] = (struct slice){port, number_format_int64(port, to->port)};
    words[count++] = key;
    words[count++] = SLICE("0");
    words[count++] =
        (struct slice){timeout, number_format_int64(timeout, r->options->timeout_msec)};
    if (r->options->copy) words[count++] = SLICE("COPY");
    if (r->options->replace) words[count++] = SLICE("REPLACE");
    if (login->password) {
        words[count++] = login->user ? SLICE("AUTH2") : SLICE("AUTH");
        if (login->user) words[count++] = slice_of(login->user);
        words[count++] = slice_of(login->password);
    }
    return ctl_node_ask(source, words, count) != NULL;
}

static bool import_key(struct ctl_run *r, struct ctl_node *source, struct slice key) {
    struct buffer shown = {.class = MEMORY_OTHER};
    const struct ctl_node *to = owner_of(&r->cluster, key);
    ctl_talk_show(&shown, key);
    ctl_say(CTL_PLAIN, "Migrating %s to %s: ", shown.length ? shown.bytes : "",
            to ? to->name : "?");
    ctl_talk_flush();
    buffer_free(&shown);
    if (!to) {
        ctl_say(CTL_BAD, "no primary has the key's slot\n");
        return false;
    }
    if (!send_migrate(r, source, to, key)) {
        ctl_say(CTL_BAD, "Source %s replied with error:\n%s\n", source->name, source->error);
        return false;
    }
    ctl_say(CTL_GOOD, "OK\n");
    return true;
}

static bool import_page(struct ctl_run *r, struct ctl_node *source, const struct page *p) {
    for (size_t i = 0, begin = 0; i < p->count; begin = p->ends[i++]) {
        if (ctl_talk_interrupted()) {
            ctl_say(CTL_WARNING, "*** Stopped. Run the command again to go on.\n");
            return false;
        }
        struct slice key = {p->bytes.bytes + begin, p->ends[i] - begin};
        if (!import_key(r, source, key)) return false;
    }
    return true;
}

static bool import_all(struct ctl_run *r, struct ctl_node *source) {
    struct page page = {.cursor.class = MEMORY_OTHER, .bytes.class = MEMORY_OTHER};
    bool good = true;
    buffer_append_char(&page.cursor, '0');
    do {
        char count[NUMBER_INT64_CHARS];
        struct slice words[] = {SLICE("SCAN"),
                                buffer_slice(&page.cursor),
                                SLICE("COUNT"),
                                {count, number_format_int64(count, SCAN_COUNT)}};
        const struct peer_reply *reply = ctl_node_ask(source, words, 4);
        good = reply && copy_page(&page, reply);
        if (!good) {
            ctl_say(CTL_BAD, "Source %s replied with error:\n%s\n", source->name,
                    reply ? "the reply to SCAN is no page of keys" : source->error);
        }
        good = good && import_page(r, source, &page);
        free_page(&page);
        page.bytes.class = MEMORY_OTHER;
    } while (good && !slice_equal(buffer_slice(&page.cursor), SLICE("0")));
    buffer_free(&page.cursor);
    return good;
}

static bool import_from(struct ctl_run *r, struct ctl_node *source) {
    if (!ctl_node_connect(source, ".")) return false;
    const struct peer_reply *info = ctl_node_ask_line(source, "INFO");
    if (!info || info->type != PEER_BULK) {
        if (info) snprintf(source->error, sizeof(source->error), "the reply to INFO is no text");
        ctl_say(CTL_BAD, "Source %s replied with error:\n%s\n", source->name, source->error);
        return false;
    }
    if (memmem(info->text.bytes, info->text.length, "cluster_enabled:1", 17)) {
        ctl_say(CTL_BAD, "[ERR] The source node should not be a cluster node.\n");
        return false;
    }
    int64_t keys = ctl_node_count_all_keys(source);
    if (keys < 0) return false;
    ctl_say(CTL_WARNING, "*** Importing %" PRId64 " keys from DB 0\n", keys);
    return import_all(r, source);
}

int ctl_import(struct ctl_run *r) {
    const struct ctl_options *o = r->options;
    char host[CTL_HOST_CHARS];
    int port;
    if (!o->from) {
        ctl_complain("[ERR] Option '--cluster-from' is required for subcommand 'import'.\n");
        return 1;
    }
    if (!ctl_address_parse(slice_of(o->from), host, &port)) {
        ctl_complain(
            "[ERR] Invalid --cluster-from host. You need to pass a valid address (ie. "
            "120.0.0.1:7000).\n");
        return 1;
    }
    struct tool_connection login = *r->cluster.login;
    login.user = o->from_user;
    login.password = o->from_password;
    if (o->from_ask_password)
        login.password = tool_password_ask("Please input import source node password: ");
    ctl_say(CTL_INFO, ">>> Importing data from %s:%d to cluster %s:%d\n", host, port, r->host,
            r->port);
    if (!ctl_cluster_load(&r->cluster, r->host, r->port) || !ctl_check_cluster(r, 0).good) return 1;
    struct ctl_node *source = ctl_node_create(host, port, &login);
    bool good = import_from(r, source);
    ctl_node_free(source);
    return !good;
}
