/* SPDX-License-Identifier: BSD-3-Clause
 * A replica that the simulation plays. player.h has the idea.
 */
#include "sim/player.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "sim/history.h"
#include "sim/network.h"
#include "sim/scheduler.h"
#include "sim/world.h"

#define PAUSE_NSEC (700 * NSEC_PER_MSEC)
#define PLAYERS_MAX 2

static struct player {
    struct actor actor; /* first */
    int node, primary, link;
    bool greeted, asked;
    long answered;   /* bytes of answers to the greeting */
    bool lies;       /* asks for a history that is not there */
    unsigned copies; /* that were begun, when `had` was looked at */
    struct history_position had;
} players[PLAYERS_MAX];
static int count;

/* As with a server: where a copy has begun and not come whole, there is nothing to go on from. */
static void close_link(struct player *p) {
    struct history_position now = history_of_link(p->link);
    if (now.streams || p->copies != history_full_syncs(p->node)) p->had = now;
    p->copies = history_full_syncs(p->node);
    network_release(p->link, 0);
    p->link = -1;
}

static void say(struct player *p, const char *text) {
    long sent = network_send(p->link, 0, text, strlen(text));
    if (sent >= 0 && (size_t)sent == strlen(text)) return;
    close_link(p); /* half a request is of no use */
}

static void ask(struct player *p) {
    char request[256];
    p->asked = true;
    struct history_position want = p->had;
    p->lies = want.streams && once_in(12);
    if (p->lies) {
        if (chance(50))
            want.id[draw(HISTORY_ID_CHARS)] = 'x';
        else
            want.place += 100000000;
    } else if (!want.streams || once_in(10)) {
        want = (struct history_position){.id = "?", .place = -1};
    }
    snprintf(request, sizeof(request), "PSYNC %s %lld\r\n", want.id, want.place);
    say(p, request);
}

static void greet(struct player *p) {
    p->greeted = true;
    say(p, "REPLCONF listening-port 7100\r\nREPLCONF capa eof capa psync2\r\n");
}

static void acknowledge(struct player *p) {
    char request[128], digits[32];
    struct history_position now = history_of_link(p->link);
    if (!now.streams) return;
    int length = snprintf(digits, sizeof(digits), "%lld", now.place - 1);
    snprintf(request, sizeof(request), "*3\r\n$8\r\nREPLCONF\r\n$3\r\nACK\r\n$%d\r\n%s\r\n", length,
             digits);
    say(p, request);
}

static uint32_t ready(const struct player *p) {
    return p->link < 0 ? 0 : network_ready(p->link, 0);
}

static bool is_ready(const struct actor *a) {
    const struct player *p = (const struct player *)a;
    uint32_t now = ready(p);
    return now & (EPOLLIN | EPOLLERR) || (now & EPOLLOUT && !p->greeted);
}

static void read_some(struct player *p) {
    char bytes[16384];
    long got = network_receive(p->link, 0, bytes, sizeof(bytes));
    if (got == 0 || (got < 0 && errno != EAGAIN)) {
        close_link(p);
        return;
    }
    p->answered += got;
    if (!p->asked && p->answered == 2 * (long)strlen("+OK\r\n")) ask(p);
    if (p->lies && got >= 9 && memcmp(bytes, "+CONTINUE", 9) == 0)
        find("node %d says +CONTINUE to one who asked for a history that is not there", p->primary);
}

static void act(struct actor *a) {
    struct player *p = (struct player *)a;
    uint32_t now = ready(p);
    if (p->link < 0) {
        if (world->now_nsec < a->due_nsec) return;
        p->greeted = p->asked = false;
        p->answered = 0;
        p->link = network_call(p->node, p->primary, network_port(p->primary));
    } else if (now & (EPOLLIN | EPOLLERR)) {
        read_some(p);
    } else if (now & EPOLLOUT && !p->greeted) {
        greet(p);
    } else if (world->now_nsec >= a->due_nsec) {
        if (network->links[p->link].ends[1].node != p->primary || once_in(40))
            close_link(p);
        else
            acknowledge(p);
    } else {
        return;
    }
    if (world->now_nsec >= a->due_nsec || p->link < 0)
        a->due_nsec = world->now_nsec + draw_scale(PAUSE_NSEC);
}

void player_start(int node, int primary) {
    if (count == PLAYERS_MAX) abort();
    struct player *p = &players[count++];
    world->nodes[node].up = true;
    *p = (struct player){
        .actor = {.due_nsec = world->now_nsec + draw_scale(PAUSE_NSEC),
                  .is_ready = is_ready,
                  .act = act},
        .node = node,
        .primary = primary,
        .link = -1,
    };
    scheduler_add(&p->actor);
}

void player_turn_to(int primary) {
    for (int i = 0; i < count; i++) players[i].primary = primary;
}

int players_count(void) { return count; }
