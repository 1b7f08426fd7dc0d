/* SPDX-License-Identifier: BSD-3-Clause
 * MONITOR: the list of clients that monitor, and the line of a command.
 *
 *   +1795231086.611656 [0 127.0.0.1:44770] "set" "k" "v"
 *
 * A line begins with the time at which it is sent. The brackets hold the database and the client's
 * address, which is "lua" for a script, and has "unix:" before it for a client of a unix socket.
 * Commands with the flag `admin` are not shown; a secret argument is replaced by a mark.
 *
 * Invariants
 *  1. A client is in the list if and only if it has MONITOR_ON.
 *  2. `texts` holds the arguments of the calls that are running and will be shown, the outermost
 *     first; between commands it is empty. It keeps up to TEXT_BYTES_KEPT bytes of memory while
 *     there are monitors; more is freed after the line.
 *  3. OBSERVED_BY_MONITOR is set if and only if the list has a client.
 */
#include "report/monitor.h"

#include "base/clock.h"
#include "base/list.h"
#include "command/call.h"
#include "command/command.h"
#include "net/client.h"
#include "net/reply.h"
#include "report/observed.h"

#define TEXT_BYTES_KEPT 1024

struct monitor {
    struct list_link link;
    struct client *client;
};

static struct list_link monitors = {&monitors, &monitors};
static struct buffer texts = {.class = MEMORY_OTHER};

bool monitor_add(struct client *c) {
    if (client_flags(c, &monitor_client_state) & MONITOR_ON || c->flags & CLIENT_CLOSING)
        return false;
    struct monitor *m = memory_alloc(sizeof(*m), MEMORY_OTHER);
    m->client = c;
    list_append(&monitors, &m->link);
    observed_set(OBSERVED_BY_MONITOR, true);
    client_set_flags(c, &monitor_client_state, MONITOR_ON, true);
    client_set_never_idle(c, true);
    return true;
}

void monitor_remove(struct client *c) {
    if (!(client_flags(c, &monitor_client_state) & MONITOR_ON)) return;
    client_set_flags(c, &monitor_client_state, MONITOR_ON, false);
    client_set_never_idle(c, false);
    LIST_FOR_EACH (link, following, &monitors) {
        struct monitor *m = LIST_ENTRY(link, struct monitor, link);
        if (m->client != c) continue;
        list_remove(link);
        memory_free(m, MEMORY_OTHER);
    }
    if (!list_is_empty(&monitors)) return;
    observed_set(OBSERVED_BY_MONITOR, false);
    buffer_free(&texts);
}

struct client_state monitor_client_state = {
    .name = "monitor", .flags = 1, .letters = "O", .closing = monitor_remove};

static void note_call(const struct call *call) {
    for (int i = 0; i < call->argc; i++) {
        buffer_append_char(&texts, ' ');
        buffer_append_quoted(&texts, call_argument_shown(call, i));
    }
    buffer_append_c_string(&texts, "\r\n");
}

size_t monitor_before(const struct call *call) {
    const unsigned hidden = COMMAND_ADMIN | COMMAND_SKIP_MONITOR | COMMAND_UNLISTED;
    size_t mark = texts.length;
    if (!list_is_empty(&monitors) && !(call->command->flags & hidden)) note_call(call);
    return mark;
}

void monitor_show(const struct call *call) {
    size_t mark = texts.length;
    if (list_is_empty(&monitors)) return;
    note_call(call);
    monitor_after(call, mark);
}

static void append_head(struct buffer *out, struct client *c) {
    int64_t now = clock_wall_usec();
    buffer_printf(out, "+%lld.%06lld [%d %s", (long long)(now / 1000000),
                  (long long)(now % 1000000), c->database, c->flags & CLIENT_UNIX ? "unix:" : "");
    if (c->flags & CLIENT_CAPTURED) {
        buffer_append_c_string(out, "lua");
    } else if (c->flags & CLIENT_UNIX) {
        struct buffer address;
        buffer_init(&address, MEMORY_OTHER);
        client_append_address(c, &address);
        buffer_append(out, address.bytes, address.length - 2); /* without the port, ":0" */
        buffer_free(&address);
    } else {
        client_append_address(c, out);
    }
    buffer_append_char(out, ']');
}

void monitor_after(const struct call *call, size_t mark) {
    if (__builtin_expect(texts.length <= mark, 1)) return;
    struct buffer line;
    buffer_init(&line, MEMORY_OTHER);
    append_head(&line, call->client);
    buffer_append(&line, texts.bytes + mark, texts.length - mark);
    texts.length = mark;
    if (texts.capacity > TEXT_BYTES_KEPT && !mark) buffer_free(&texts);
    LIST_FOR_EACH (link, following, &monitors)
        reply_raw(LIST_ENTRY(link, struct monitor, link)->client, line.bytes, line.length);
    buffer_free(&line);
}
